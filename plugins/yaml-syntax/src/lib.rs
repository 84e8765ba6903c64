//! `yaml-syntax`: every matching file is a stream of YAML documents.
//!
//! The parser is granit-parser's (YAML 1.2): it hands out events and expands no alias. Where it takes more than libyaml,
//! which most programs read YAML with, `stream.rs` looks closer. After an error the next document is read as well.

mod continued;
mod kind;
mod stream;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::text::from_utf16;
use gatehost_sdk::{About, File, FileVerifier, Finding, Level, Place, Rule, TextPosition, Verdict};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = concat!(
    r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "duplicate_keys": {
      "description": "What a key weighs that a mapping has twice. YAML forbids it; most readers take the last.",
      "enum": ["error", "warning", "note", "ignore"],
      "default": "warning"
    },
    "empty_keys": {
      "description": "What `: value` without a key weighs. YAML 1.2 allows it; libyaml refuses it.",
      "enum": ["error", "warning", "note", "ignore"],
      "default": "error"
    },
    "flow_indentation": {
      "description": "What an entry of `[…]` or `{…}` weighs whose line is not indented further than the block around it. YAML refuses it; libyaml takes it.",
      "enum": ["error", "warning", "note", "ignore"],
      "default": "error"
    },
    "#,
    gatehost_sdk::strict_schema!(),
    r#"
  },
  "additionalProperties": false
}"#
);

/// After how many findings no further document is read.
const MOST_FINDINGS: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    duplicate_keys: Weight,
    empty_keys: Weight,
    flow_indentation: Weight,
    strict: bool,
}

const FORMAT: Format = Format {
    name: "YAML",
    known_as: &["yaml", "yml", "json"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::BehindLine,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "the file is not YAML"),
    Rule::error("indentation", "a line is indented in a way that YAML does not allow"),
    Rule::error("tab", "a tab stands where YAML allows spaces only").help("indent with spaces"),
    Rule::error("expected-key", "a line of a mapping has no key"),
    Rule::error("unexpected-colon", "a colon starts a value where none can stand").help("put the value in quotes"),
    Rule::error("unexpected-character", "no value can start with this character").help("put the value in quotes"),
    Rule::error("unclosed-string", "a string in quotes is not closed"),
    Rule::error("unclosed-bracket", "a bracket is not closed"),
    Rule::error("unexpected-bracket", "a bracket closes nothing"),
    Rule::error("unexpected-end", "the file ends within a collection"),
    Rule::error("bad-escape", "a string has an escape that YAML does not know"),
    Rule::error("control-character", "a control character that YAML does not allow"),
    Rule::error("unknown-anchor", "an alias names an anchor that is not defined before it"),
    Rule::error("unknown-tag-handle", "a tag's handle is not declared"),
    Rule::warning("duplicate-key", "a key is there twice in one mapping"),
    Rule::error("empty-key", "a value has no key"),
    Rule::error("too-deep", "the file is nested deeper than 1,000 levels, where libyaml stops"),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

impl Default for Settings {
    fn default() -> Self {
        Self {
            duplicate_keys: Weight::Warning,
            empty_keys: Weight::Error,
            flow_indentation: Weight::Error,
            strict: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Error,
    Warning,
    Note,
    Ignore,
}

impl Weight {
    fn level(self) -> Option<Level> {
        match self {
            Self::Error => Some(Level::Error),
            Self::Warning => Some(Level::Warning),
            Self::Note => Some(Level::Note),
            Self::Ignore => None,
        }
    }
}

struct YamlSyntax;

impl FileVerifier for YamlSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("yaml-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid YAML, in one document or more.")
            .files(&["**/*.yaml", "**/*.yml"])
            .settings_schema(SETTINGS_SCHEMA)
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        // YAML may be UTF-16, though few readers know.
        let decoded = from_utf16(file.bytes());
        let text = match &decoded {
            Some(text) => text,
            None => match file.utf8("YAML") {
                Ok(text) => text,
                Err(finding) => return finding.into(),
            },
        };
        file.unless_foreign(text, &FORMAT, settings.strict, judge(&file.path, text, &settings))
    }
}

gatehost_sdk::export_file_verifier!(YamlSyntax);

fn judge(path: &str, text: &str, settings: &Settings) -> Verdict {
    let (indented, findings) = continued::read(text, |text| findings(text, settings));
    let findings = findings.into_iter().map(|found| Found { at: indented.in_file(found.at), ..found });
    findings.map(|found| found.at(path, text)).collect::<Vec<_>>().into()
}

/// What is wrong with a text, document by document.
fn findings(text: &str, settings: &Settings) -> Vec<Found> {
    let mut findings = Vec::new();
    let mut start = 0;
    while let Some(at) = stream::read(text, start, settings, &mut findings) {
        // A directive holds for the document behind it, so a stream that has one cannot be entered in the middle.
        if findings.len() >= MOST_FINDINGS || text.lines().any(|line| line.starts_with('%')) {
            break;
        }
        match next_document(text, at.max(start + 1)) {
            Some(next) => start = next,
            None => break,
        }
    }
    findings
}

/// The next line from `at` on that starts a document, whatever was open.
fn next_document(text: &str, at: usize) -> Option<usize> {
    // The error may be that a document starts here.
    let mut from = text.floor_char_boundary(at.saturating_sub(1));
    loop {
        from += text[from..].find("\n---")? + 1;
        if from >= at && text[from + 3..].chars().next().is_none_or(char::is_whitespace) {
            return Some(from);
        }
    }
}

/// Something that was found, at a byte of the text.
struct Found {
    level: Level,
    code: &'static str,
    message: String,
    hint: Option<&'static str>,
    at: usize,
    /// A string goes on in a line that is not indented.
    is_continued: bool,
}

impl Found {
    fn at(self, path: &str, text: &str) -> Finding {
        let TextPosition { line, column } = TextPosition::of(text, self.at);
        let finding = match self.level {
            Level::Error => Finding::error(self.code, self.message),
            Level::Warning => Finding::warning(self.code, self.message),
            Level::Note => Finding::note(self.code, self.message),
        };
        let finding = finding.at(Place::file(path).position(line, column));
        match self.hint {
            Some(hint) => finding.hint(hint),
            None => finding,
        }
    }
}

#[cfg(test)]
mod tests;
