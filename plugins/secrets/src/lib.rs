//! `secrets`: no file contains a credential of a well-known shape.
//!
//! Only shapes that their issuers made recognisable are looked for (`shapes.rs`): a prefix, a length, an alphabet. A word
//! such as `password` beside any value is not, because most of those are no secrets. Private keys are found however a
//! program spells them (`keys.rs`). What is plainly a placeholder or a published example does not count, and a private key
//! or a JSON Web Token among tests is a warning (`examples.rs`).
//!
//! There are two ways to say that something is no secret: a comment `gate:allow-secret` on its line or on the line above,
//! and the key of the finding in the setting `baseline`. A finding names the kind, the place and the length, and never the
//! secret itself: reports travel further than files.
//!
//! Files that are not UTF-8 are searched too: UTF-16 as the text that it is, and of others what is legible.

mod digest;
mod examples;
mod keys;
mod marks;
mod shapes;

use gatehost_sdk::{About, File, FileVerifier, Finding, Level, Place, TextPosition, Verdict};
use regex::Regex;
use serde::Deserialize;
use shapes::{RULES, SHAPES, Shape};
use std::ops::Range;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "allow": {
      "description": "Regular expressions; what matches one of them, whole or in part, is known not to be a secret.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "maxItems": 200,
      "default": []
    },
    "baseline": {
      "description": "Keys of findings that are known and let be, such as `sha256:9f86d081884c7d65`. A finding's hint says its key.",
      "type": "array",
      "items": { "type": "string", "pattern": "^sha256:[0-9a-f]{16}$" },
      "maxItems": 10000,
      "default": []
    },
    "skip": {
      "description": "Kinds that are not looked for, by the code of their findings, such as `jwt`.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 100 },
      "default": []
    },
    "in_tests": {
      "description": "What a private key or a JSON Web Token weighs among tests, examples and documentation, which often make their own.",
      "enum": ["error", "warning", "note", "ignore"],
      "default": "warning"
    }
  },
  "additionalProperties": false
}"#;

/// How many findings of one kind a file is reported with.
const MOST_FINDINGS: usize = 50;

/// What allows a secret on its line, or on the line below.
const ALLOWED: &str = "gate:allow-secret";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    allow: Vec<String>,
    baseline: Vec<String>,
    skip: Vec<String>,
    in_tests: Weight,
}

impl Default for Settings {
    fn default() -> Self {
        Self { allow: Vec::new(), baseline: Vec::new(), skip: Vec::new(), in_tests: Weight::Warning }
    }
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Error,
    Warning,
    Note,
    Ignore,
}

struct Secrets;

impl FileVerifier for Secrets {
    type Settings = Settings;
    const ABOUT: About =
        About::new("secrets", env!("CARGO_PKG_VERSION"), "No file contains a credential of a well-known shape.")
            .files(&["**/*"])
            .settings_schema(SETTINGS_SCHEMA)
            .rules(&RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        judge(file, &settings)
    }
}

gatehost_sdk::export_file_verifier!(Secrets);

fn judge(file: &File, settings: &Settings) -> Verdict {
    if let Some(unknown) = settings.skip.iter().find(|code| !SHAPES.iter().any(|shape| shape.code == code.as_str())) {
        return Verdict::abstain(format!("`skip` names `{unknown}`, which is not a kind of secret"));
    }
    let mut allow = Vec::new();
    for pattern in &settings.allow {
        match rules::expression(pattern, |_| {}) {
            Ok(pattern) => allow.push(pattern),
            Err(why) => return Verdict::abstain(format!("`allow` has `{pattern}`: {why}")),
        }
    }
    let searched = |text: &str, has_lines: bool| {
        let place = |at: usize| {
            let TextPosition { line, column } = TextPosition::of(text, at);
            let place = Place::file(&file.path);
            if has_lines { place.position(line, column) } else { place }
        };
        let search = Search { text, settings, allow: &allow, in_tests: examples::is_test(&file.path) };
        search.all().map(|found| found.into_iter().map(|(at, finding)| finding.at(place(at))).collect::<Vec<_>>())
    };
    let legible = file.readable();
    let mut found = legible.as_ref().map_or(Ok(Vec::new()), |text| searched(text, true));
    // What starts like UTF-16 need not be it.
    if file.text().is_none() && found.as_ref().is_ok_and(Vec::is_empty) {
        found = searched(&String::from_utf8_lossy(file.bytes()), false);
    }
    match found {
        Ok(findings) => findings.into(),
        Err(why) => Verdict::abstain(why),
    }
}

/// A search of one text.
struct Search<'a> {
    text: &'a str,
    settings: &'a Settings,
    allow: &'a [Regex],
    in_tests: bool,
}

impl Search<'_> {
    /// What is found, each with where it starts, in the order of the text; or why a shape cannot be looked for.
    fn all(&self) -> Result<Vec<(usize, Finding)>, String> {
        let mut findings = Vec::new();
        // Compiling a pattern costs more than looking for its mark, and most files have none.
        for shape in marks::present(self.text) {
            if self.settings.skip.iter().any(|code| code == shape.code) {
                continue;
            }
            let places = match shape.pattern {
                "" => keys::find(self.text),
                pattern => {
                    let pattern = rules::expression(pattern, |_| {})
                        .map_err(|why| format!("the pattern for `{}` cannot be used: {why}", shape.code))?;
                    let found = pattern.captures_iter(self.text);
                    let secret = found.filter_map(|found| found.name("secret").or_else(|| found.get(0)));
                    secret.map(|secret| secret.range()).collect()
                }
            };
            findings.extend(places.into_iter().filter_map(|place| self.finding(shape, place)).take(MOST_FINDINGS));
        }
        findings.sort_by_key(|&(at, _)| at);
        Ok(findings)
    }

    /// The finding for a secret at a place, unless something says that it is none.
    fn finding(&self, shape: &Shape, place: Range<usize>) -> Option<(usize, Finding)> {
        let (at, secret) = (place.start, &self.text[place]);
        let key = digest::key(secret);
        let known = examples::is_placeholder(secret)
            || self.allow.iter().any(|allow| allow.is_match(secret))
            || self.settings.baseline.contains(&key)
            || self.is_allowed(at);
        let weight = if self.in_tests && examples::TESTS_MAKE.contains(&shape.code) {
            self.settings.in_tests
        } else {
            Weight::Error
        };
        let level = match weight {
            Weight::Error => Level::Error,
            Weight::Warning => Level::Warning,
            Weight::Note => Level::Note,
            Weight::Ignore => return None,
        };
        let start = if shape.shown.is_empty() { String::new() } else { format!(" that start with `{}`", shape.shown) };
        let message = format!("found what looks like {}: {} characters{start}", shape.name, secret.len());
        let hint = format!(
            "remove it, and revoke it where it was ever shared; where it is no secret, write `{ALLOWED}` in a comment on its \
             line, or add `{key}` to `baseline`"
        );
        (!known).then(|| (at, Finding { level, ..Finding::error(shape.code, message).key(key).hint(hint) }))
    }

    /// Whether a comment allows what starts here: on its line, or on the line above.
    fn is_allowed(&self, at: usize) -> bool {
        let line = self.text[..at].rfind('\n').unwrap_or(0);
        let above = self.text[..line].rfind('\n').unwrap_or(0);
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        self.text[above..end].contains(ALLOWED)
    }
}

#[cfg(test)]
mod tests;
