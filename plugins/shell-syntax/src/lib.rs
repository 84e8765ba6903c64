//! `shell-syntax`: every matching file is a script that bash, or a POSIX shell, can read.
//!
//! A checker of our own: the parser of shells that there is for Rust builds trees and brings sixty packages with it. It
//! reads what `bash -n` reads: quotes, expansions, commands inside `$(…)`, here-documents, compound commands, `[[ … ]]`. What
//! bash looks at only when it runs a script (arithmetic, `${…}`, backticks, the text of here-documents) is only read up
//! to its end.

mod commands;
mod condition;
mod words;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use serde::Deserialize;
use words::Reader;

const SETTINGS_SCHEMA: &str = concat!(
    r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "dialect": {
      "description": "Which shell reads the files. `bash` takes nearly all that a POSIX shell takes; `posix` takes what dash takes, without arrays, `[[ … ]]` and `function`.",
      "enum": ["bash", "posix"],
      "default": "bash"
    },
    "#,
    gatehost_sdk::strict_schema!(),
    r#"
  },
  "additionalProperties": false
}"#
);

const FORMAT: Format = Format {
    name: "a shell script",
    known_as: &["ash", "bash", "dash", "sh", "shell-script"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("unexpected-token", "something else stands where a command, a word or a keyword is expected"),
    Rule::error("unexpected-end", "the file ends within a command"),
    Rule::error("unclosed-string", "a quote or a backtick is not closed"),
    Rule::error("unclosed-expansion", "a bracket of an expansion is not closed"),
    Rule::error("bad-name", "a variable or a function has a name that a POSIX shell does not take"),
    Rule::error("syntax", "a conditional or a loop is not complete"),
    Rule::TOO_DEEP,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    dialect: Dialect,
    strict: bool,
}

/// A kind of shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dialect {
    /// bash, version 5.2.
    #[default]
    Bash,
    /// A shell with what POSIX asks for, such as dash.
    Posix,
}

/// Why reading ended.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// An error, at this byte.
    Wrong { at: usize, code: &'static str, message: String },
    /// Nested too deep, at this byte.
    TooDeep(usize),
}

impl Stop {
    pub(crate) fn wrong(at: usize, code: &'static str, message: impl Into<String>) -> Self {
        Self::Wrong { at, code, message: message.into() }
    }
}

struct ShellSyntax;

impl FileVerifier for ShellSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("shell-syntax", env!("CARGO_PKG_VERSION"), "Every file is a valid script of bash or a POSIX shell.")
            .files(&["**/*.sh", "**/*.bash"])
            .settings_schema(SETTINGS_SCHEMA)
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        // A shell reads bytes, and so scripts in other encodings that have ASCII below 0x80.
        match file.utf8("a shell script") {
            Err(finding) if finding.code == "utf-16" || file.bytes().contains(&0) => finding.into(),
            _ => {
                let verdict = judge(file, settings.dialect);
                file.unless_foreign(&String::from_utf8_lossy(file.bytes()), &FORMAT, settings.strict, verdict)
            }
        }
    }
}

gatehost_sdk::export_file_verifier!(ShellSyntax);

fn judge(file: &File, dialect: Dialect) -> Verdict {
    let whole = file.bytes();
    let body = whole.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(whole);
    let skipped = whole.len() - body.len();
    let (at, code, message) = match Reader::new(body, dialect).file() {
        Ok(()) => return Verdict::pass(),
        Err(Stop::TooDeep(at)) => return file.too_deep(skipped + at),
        Err(Stop::Wrong { at, code, message }) => (at.min(body.len()), code, message),
    };
    let finding = Finding::error(code, message).at(file.place_of(skipped + at));
    // `then` is no keyword where a carriage return is its last letter.
    if body.windows(2).any(|pair| pair == b"\r\n") {
        return finding
            .hint(
                "the lines end with CRLF, and a shell takes the CR for a part of the last word: save the file with LF",
            )
            .into();
    }
    finding.into()
}

#[cfg(test)]
mod tests;
