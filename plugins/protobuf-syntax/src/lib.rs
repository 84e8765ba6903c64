//! `protobuf-syntax`: every matching file is a protocol file (`.proto`) that protoc's parser accepts: proto2, proto3 and
//! editions.
//!
//! A checker of our own, since the grammar is small. It stops at the first error. Whether names are defined and numbers
//! unique is not a question of syntax.

mod grammar;
mod tokens;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use grammar::Reader;
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = concat!(
    r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "#,
    gatehost_sdk::strict_schema!(),
    r#"
  },
  "additionalProperties": false
}"#
);

const FORMAT: Format = Format {
    name: "a protocol file",
    known_as: &["protobuf", "proto"],
    comments: &["//"],
    quotes: &['"', '\''],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("expected-token", "something else stands where a token is expected"),
    Rule::error("unexpected-end", "the file ends within a statement"),
    Rule::error("unclosed-string", "a string is not closed on its line"),
    Rule::error("unclosed-comment", "a comment is not closed"),
    Rule::error("bad-escape", "a string has an escape that is none"),
    Rule::error("bad-number", "a number that is none"),
    Rule::error("bad-character", "a character that is no part of a protocol file"),
    Rule::error("syntax", "the file declares a syntax that there is not"),
    Rule::error("too-deep", "messages are nested deeper than protoc reads"),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    strict: bool,
}

/// An error, at this byte.
#[derive(Debug)]
pub(crate) struct Fault {
    at: usize,
    code: &'static str,
    message: String,
}

pub(crate) fn fault(at: usize, code: &'static str, message: impl Into<String>) -> Fault {
    Fault { at, code, message: message.into() }
}

struct ProtobufSyntax;

impl FileVerifier for ProtobufSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "protobuf-syntax",
        env!("CARGO_PKG_VERSION"),
        "Every file is a valid protocol file (as protoc parses it).",
    )
    .files(&["**/*.proto"])
    .settings_schema(SETTINGS_SCHEMA)
    .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match file.utf8("a protocol file") {
            Ok(text) => file.unless_foreign(text, &FORMAT, settings.strict, judge(file, text)),
            Err(finding) => finding.into(),
        }
    }
}

gatehost_sdk::export_file_verifier!(ProtobufSyntax);

fn judge(file: &File, whole: &str) -> Verdict {
    let text = whole.strip_prefix('\u{FEFF}').unwrap_or(whole);
    let skipped = whole.len() - text.len();
    match tokens::tokens(text).and_then(|tokens| Reader::new(tokens).file()) {
        Ok(()) => Verdict::pass(),
        Err(Fault { at, code, message }) => Finding::error(code, message).at(file.place_of(skipped + at)).into(),
    }
}

#[cfg(test)]
mod tests;
