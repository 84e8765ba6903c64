//! `protobuf-syntax`: every matching file is a `.proto` file that protoc's parser accepts: proto2, proto3 and editions.
//!
//! The checker is our own, because the grammar is small. It stops at the first error. It does not check that names are defined
//! or numbers unique, which is not syntax.

mod grammar;
mod reader;
mod tokens;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use reader::Reader;

const FORMAT: Format = Format {
    name: "a Protocol Buffers file",
    known_as: &["protobuf", "proto"],
    comments: &["//"],
    quotes: &['"', '\''],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("expected-token", "A token is missing or unexpected."),
    Rule::error("unexpected-end", "The file ends within a statement."),
    Rule::error("unclosed-string", "A string is not closed on its line."),
    Rule::error("unclosed-comment", "A comment is not closed."),
    Rule::error("bad-escape", "A string has an invalid escape."),
    Rule::error("bad-number", "A number is malformed."),
    Rule::error("bad-character", "A character is not allowed."),
    Rule::error("syntax", "The file declares an unknown syntax."),
    Rule::error("too-deep", "Messages are nested deeper than protoc allows."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

gatehost_sdk::syntax_settings! {
    struct Settings {}
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
        "Every file is a valid Protocol Buffers file (as protoc parses it).",
    )
    .files(&["**/*.proto"])
    .settings::<Settings>()
    .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text))
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
