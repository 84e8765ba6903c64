//! `yaml-syntax`: every matching file is a stream of YAML documents.
//!
//! The parser is granit-parser (YAML 1.2). It produces events and expands no alias. libyaml, which most programs use, accepts
//! less; `stream.rs` checks for that. After an error, the next document is read. `quick.rs` recognises most valid files without the
//! parser.

mod continued;
mod kind;
mod quick;
mod stream;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::text::from_utf16;
use gatehost_sdk::{About, File, FileVerifier, Finding, Level, Place, Rule, Severity, TextPosition, Verdict};

/// After how many findings no further document is read.
const MOST_FINDINGS: usize = 50;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The level of a key that occurs twice in one mapping. YAML forbids it; most readers use the last one.
        duplicate_keys: Severity = Severity::Warning,
        /// The level of `: value` without a key. YAML 1.2 allows it; libyaml refuses it.
        empty_keys: Severity = Severity::Error,
        /// The level of an entry of `[…]` or `{…}` that starts a line and is not indented further than the block around
        /// it. YAML forbids it; libyaml accepts it.
        flow_indentation: Severity = Severity::Error,
    }
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
    Rule::error("syntax", "The file is not valid YAML."),
    Rule::error("indentation", "The indentation of a line is invalid."),
    Rule::error("tab", "A tab is used where YAML allows only spaces.").help("Indent with spaces."),
    Rule::error("expected-key", "A line of a mapping has no key."),
    Rule::error("unexpected-colon", "A colon starts a value where no value is allowed.")
        .help("Put the value in quotes."),
    Rule::error("unexpected-character", "No value can start with this character.").help("Put the value in quotes."),
    Rule::error("unclosed-string", "A string in quotes is not closed."),
    Rule::error("unclosed-bracket", "A bracket is not closed."),
    Rule::error("unexpected-bracket", "A closing bracket has no opening bracket."),
    Rule::error("unexpected-end", "The file ends within a collection."),
    Rule::error("bad-escape", "A string has an escape that YAML does not allow."),
    Rule::error("control-character", "A control character is not allowed."),
    Rule::error("unknown-anchor", "An alias refers to an anchor that is not defined before it."),
    Rule::error("unknown-tag-handle", "A tag's handle is not declared."),
    Rule::warning("duplicate-key", "A key occurs twice in one mapping."),
    Rule::error("empty-key", "A value has no key."),
    Rule::error("too-deep", "The nesting is deeper than 1,000 levels, the limit of libyaml."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

struct YamlSyntax;

impl FileVerifier for YamlSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("yaml-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid YAML, with one document or more.")
            .files(&["**/*.yaml", "**/*.yml"])
            .settings::<Settings>()
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
gatehost_sdk::use_arena!();

fn judge(path: &str, text: &str, settings: &Settings) -> Verdict {
    if quick::is_yaml(text) { Verdict::pass() } else { parsed(path, text, settings) }
}

/// Returns the verdict of the parser.
fn parsed(path: &str, text: &str, settings: &Settings) -> Verdict {
    let (indented, findings) = continued::read(text, |text| findings(text, settings));
    let findings = findings.into_iter().map(|found| Problem { at: indented.in_file(found.at), ..found });
    findings.map(|found| found.at(path, text)).collect::<Vec<_>>().into()
}

/// What is wrong with a text, document by document.
fn findings(text: &str, settings: &Settings) -> Vec<Problem> {
    let mut findings = Vec::new();
    let mut start = 0;
    while let Some(at) = stream::read(text, start, settings, &mut findings) {
        // A directive holds for the document after it, so a stream that has one cannot be entered in the middle.
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
struct Problem {
    level: Level,
    code: &'static str,
    message: String,
    hint: Option<&'static str>,
    at: usize,
    /// A string goes on in a line that is not indented.
    is_continued: bool,
}

impl Problem {
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
