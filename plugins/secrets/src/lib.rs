//! `secrets`: no file contains a credential of a well-known format.
//!
//! The verifier looks only for formats that their issuers made recognisable (`shapes.rs`): a prefix, a length, an alphabet. It
//! does not report a word such as `password` next to a value, because most of those values are not secrets. It finds private
//! keys in many spellings (`keys.rs`). Placeholders and published examples do not count, and a private key or a JSON Web Token in
//! tests is a warning (`examples.rs`).
//!
//! To allow a finding, write a comment `gate:allow-secret` on its line or the line above, or add its key to the setting
//! `baseline`. A finding contains the kind, the place and the length, but never the secret, because reports are shared more
//! widely than files.
//!
//! Files that are not UTF-8 are searched too: UTF-16 is decoded, and in others the legible parts are searched.

mod digest;
mod examples;
mod keys;
mod marks;
mod shapes;

use gatehost_sdk::{About, File, FileVerifier, Finding, Place, Severity, TextPosition, Verdict};
use regex::Regex;
use shapes::{RULES, SHAPES, Shape};
use std::ops::Range;

gatehost_sdk::settings! {
    struct Settings {
        /// Regular expressions. A match, whole or in part, is not a secret.
        allow: Vec<String> = [] => { maxItems: 200 } each { minLength: 1, maxLength: 1000 },
        /// Keys of findings to accept, such as `sha256:9f86d081884c7d65`. The hint of a finding contains its key.
        baseline: Vec<String> = [] => { maxItems: 10000 } each { pattern: "^sha256:[0-9a-f]{16}$" },
        /// Kinds of secrets to ignore, by the code of their findings, such as `jwt`.
        skip: Vec<String> = [] => {} each { minLength: 1, maxLength: 100 },
        /// The level of a private key or a JSON Web Token in tests, examples and documentation, which often contain
        /// generated ones.
        in_tests: Severity = Severity::Warning,
    }
}

/// How many findings of one kind a file is reported with.
const MOST_FINDINGS: usize = 50;

/// What allows a secret on its line, or on the line below.
const ALLOWED: &str = "gate:allow-secret";

struct Secrets;

impl FileVerifier for Secrets {
    type Settings = Settings;
    const ABOUT: About =
        About::new("secrets", env!("CARGO_PKG_VERSION"), "No file contains a credential of a well-known format.")
            .files(&["**/*"])
            .settings::<Settings>()
            .rules(&RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        judge(file, &settings)
    }
}

gatehost_sdk::export_file_verifier!(Secrets);
gatehost_sdk::use_arena!();

fn judge(file: &File, settings: &Settings) -> Verdict {
    if let Some(unknown) = settings.skip.iter().find(|code| !SHAPES.iter().any(|shape| shape.code == code.as_str())) {
        return Verdict::abstain(format!("the setting `skip` names `{unknown}`, which is not a kind of secret"));
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
        let severity = if self.in_tests && examples::TESTS_MAKE.contains(&shape.code) {
            self.settings.in_tests
        } else {
            Severity::Error
        };
        let level = severity.level()?;
        // A private key may be spelled in other ways.
        let unknown = shape.shown.is_empty() || shape.pattern.is_empty() && !secret.starts_with(shape.shown);
        let start = if unknown { String::new() } else { format!(" that start with `{}`", shape.shown) };
        let message = format!("possible secret: {}, {} characters{start}", shape.name, secret.len());
        let hint = format!(
            "remove it, and revoke it if it was ever shared; if it is not a secret, write `{ALLOWED}` in a comment on its \
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
