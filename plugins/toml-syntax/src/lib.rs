//! `toml-syntax`: every matching file is a TOML document.
//!
//! The parser is that of the `toml` crate (TOML 1.1). It goes over a text twice: `events.rs` reads the grammar and every
//! value, goes on after an error, and knows what TOML 1.0 did not have; then the document is put together, which finds
//! keys that are there twice.

mod events;
mod older;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use serde::Deserialize;
use toml::de::DeTable;

const SETTINGS_SCHEMA: &str = concat!(
    r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "version": {
      "description": "The version of TOML. `1.0` refuses what readers of 1.0 do not know: line breaks and a last comma in inline tables, `\\e` and `\\x`, times without seconds.",
      "enum": ["1.0", "1.1"],
      "default": "1.1"
    },
    "#,
    gatehost_sdk::strict_schema!(),
    r#"
  },
  "additionalProperties": false
}"#
);

/// How many findings are reported.
const MOST_FINDINGS: usize = 50;
/// How deep arrays and inline tables may be nested: what the parser's own document takes.
const MOST_NESTING: u32 = 80;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    version: Version,
    strict: bool,
}

const FORMAT: Format = Format {
    name: "TOML",
    known_as: &["toml"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "the file is not TOML"),
    Rule::error("duplicate-key", "a key or a table is there twice"),
    Rule::error("toml-1-0", "TOML 1.0 does not have this; TOML 1.1 does"),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum Version {
    #[serde(rename = "1.0")]
    V1_0,
    #[default]
    #[serde(rename = "1.1")]
    V1_1,
}

/// Up to which size a file is read: in the worst case the parser needs forty times as much.
const MOST_BYTES: usize = 4 << 20;

struct TomlSyntax;

impl FileVerifier for TomlSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("toml-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid TOML (1.1, or 1.0).")
            .files(&[
                "**/*.toml",
                "**/Cargo.lock",
                "**/poetry.lock",
                "**/uv.lock",
                "**/pdm.lock",
                "**/Pipfile",
                "**/Gopkg.lock",
            ])
            .settings_schema(SETTINGS_SCHEMA)
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match file.utf8("TOML") {
            Ok(text) => file.unless_foreign(text, &FORMAT, settings.strict, judge(file, text, settings.version)),
            Err(finding) => finding.into(),
        }
    }
}

gatehost_sdk::export_file_verifier!(TomlSyntax);

fn judge(file: &File, text: &str, version: Version) -> Verdict {
    if text.len() > MOST_BYTES {
        return Verdict::abstain("larger than 4 MiB, which is more than this verifier reads");
    }
    let mut problems = events::problems(text, version);
    if problems.iter().all(|problem| problem.code != "syntax") {
        problems.extend(document_problem(text));
    }
    problems.sort_by_key(|problem| problem.at);
    // What is said twice of one place is said once.
    problems.dedup_by_key(|problem| problem.at);
    if let Some(first) = problems.first()
        && first.code == "too-deep"
    {
        return Verdict::abstain(format!("{}; this verifier reads {MOST_NESTING} levels", first.message));
    }
    let findings = problems.into_iter().take(MOST_FINDINGS);
    findings
        .map(|problem| Finding::error(problem.code, problem.message).at(file.place_of(problem.at)))
        .collect::<Vec<_>>()
        .into()
}

/// What is wrong, and at which byte.
struct Problem {
    code: &'static str,
    message: String,
    at: usize,
}

/// What only the whole document shows.
fn document_problem(text: &str) -> Option<Problem> {
    let error = DeTable::parse(text).err()?;
    let code = match error.message() {
        deep if deep.contains("recurs") => "too-deep",
        twice if twice.contains("duplicate") || twice.contains("extend") => "duplicate-key",
        _ => "syntax",
    };
    Some(Problem { code, message: error.message().to_owned(), at: error.span().map_or(0, |span| span.start) })
}

#[cfg(test)]
mod tests;
