//! `shell-syntax`: every matching file is a script that bash or a POSIX shell can read.
//!
//! The checker is our own, because the shell parser for Rust builds trees and has sixty dependencies. It reads what `bash -n`
//! reads: quotes, expansions, commands inside `$(…)`, here-documents, compound commands, `[[ … ]]`. It only skips to the end of
//! what bash parses at run time: arithmetic, `${…}`, backticks, the text of here-documents.

mod commands;
mod condition;
mod words;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use words::Reader;

const FORMAT: Format = Format {
    name: "a shell script",
    known_as: &["ash", "bash", "dash", "sh", "shell-script"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("unexpected-token", "A command, a word or a keyword is missing or unexpected."),
    Rule::error("unexpected-end", "The file ends within a command."),
    Rule::error("unclosed-string", "A quote or a backtick is not closed."),
    Rule::error("unclosed-expansion", "A bracket of an expansion is not closed."),
    Rule::error("bad-name", "A variable or a function has a name that POSIX does not allow."),
    Rule::error("syntax", "A conditional or a loop is incomplete."),
    Rule::TOO_DEEP,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The shell that reads the files. `bash` accepts nearly everything that a POSIX shell accepts. `posix` accepts what
        /// dash accepts: no arrays, no `[[ … ]]`, no `function`.
        dialect: Dialect = Dialect::Bash,
    }
}

gatehost_sdk::settings! {
    /// A kind of shell.
    pub(crate) enum Dialect {
        /// bash, version 5.2.
        Bash = "bash",
        /// A shell with what POSIX requires, such as dash.
        Posix = "posix",
    }
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
        About::new("shell-syntax", env!("CARGO_PKG_VERSION"), "Every file is a valid bash or POSIX shell script.")
            .files(&["**/*.sh", "**/*.bash"])
            .settings::<Settings>()
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
            .hint("the lines end with CRLF, and a shell reads the CR as part of the last word; save the file with LF")
            .into();
    }
    finding.into()
}

#[cfg(test)]
mod tests;
