//! `python-syntax`: every matching file is Python that CPython's `compile` accepts.
//!
//! The parser is Ruff's, together with its semantic syntax errors (`return` outside a function, `nonlocal` without a binding),
//! which need the scopes of `scopes.rs`. `rules.rs`, `jumps.rs` and `blocks.rs` find errors that Ruff accepts, and `soft.rs`
//! drops errors for code that Python accepts. Before the parser runs, `depth.rs` scans for nesting that is too deep for its
//! recursion.

mod bindings;
mod blocks;
mod codes;
mod depth;
mod encoding;
mod jumps;
mod rules;
mod scopes;
mod soft;

use depth::LimitExceeded;
use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use ruff_python_ast::PythonVersion;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

struct PythonSyntax;

gatehost_sdk::syntax_settings! {
    struct Settings {
        /// The Python version that the files must run on. Newer syntax is an error.
        version: String = "3.14" => {
            enum: ["3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"],
        },
    }
}

const FORMAT: Format = Format {
    name: "Python",
    known_as: &["python", "pypy", "py"],
    comments: &["#"],
    quotes: &['"', '\''],
    has_braces: true,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("expected-token", "A token is missing or unexpected."),
    Rule::error("expected-expression", "An expression is missing."),
    Rule::error("unclosed-string", "A string is not closed."),
    Rule::error("unexpected-end", "The file ends within a statement."),
    Rule::error("indentation", "The indentation of a line does not fit its block."),
    Rule::error("invalid-target", "The target of an assignment or a deletion is invalid."),
    Rule::error("interpolated-string", "An f-string or a t-string is malformed."),
    Rule::error("string-escape", "An escape in a string is malformed."),
    Rule::error("nul", "The file has a NUL character."),
    Rule::error("version", "The syntax is newer than the version of Python."),
    Rule::error("outside-function", "`return`, `yield` or `await` is outside a function."),
    Rule::error("outside-loop", "`break` or `continue` is outside a loop."),
    Rule::error("duplicate-name", "A parameter, a keyword argument or a type parameter occurs twice."),
    Rule::error("declaration", "`global` or `nonlocal` contradicts another use of the name."),
    Rule::error("future-import", "`from __future__` is not at the beginning, or imports an unknown feature."),
    Rule::error("invalid", "Python's compiler rejects the code, although the grammar allows it."),
    Rule::error("encoding", "The file is not in the encoding that it declares."),
    Rule::error("syntax", "The file is not valid Python."),
    Rule::error("too-deep", "The nesting is deeper than Python allows; as a note: deeper than the verifier supports."),
    Rule::TOO_LONG,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

impl FileVerifier for PythonSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("python-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid Python (as CPython compiles it).")
            .files(&["**/*.py", "**/*.pyi", "**/*.pyw"])
            .settings::<Settings>()
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match settings.version.parse() {
            Ok(version) => {
                let text = file.readable();
                file.unless_foreign(text.as_deref().unwrap_or_default(), &FORMAT, settings.strict, judge(file, version))
            }
            Err(why) => Verdict::abstain(format!("the setting `version` is invalid (`{}`): {why}", settings.version)),
        }
    }
}

gatehost_sdk::export_file_verifier!(PythonSyntax);
// Trees are built once and never freed.
gatehost_sdk::use_arena!();

fn judge(file: &File, version: PythonVersion) -> Verdict {
    match encoding::decoded(file) {
        Ok(None) => of_text(file, version),
        Ok(Some(decoded)) => of_text(&decoded, version),
        Err(verdict) => *verdict,
    }
}

fn of_text(file: &File, version: PythonVersion) -> Verdict {
    let text = match file.utf8("Python") {
        Ok(text) => text,
        Err(finding) => return finding.into(),
    };
    if let Some(nul) = text.find('\0') {
        return Finding::error("nul", "found a NUL character, which Python does not allow")
            .at(file.place_of(nul))
            .into();
    }
    match depth::first_beyond(text) {
        None => {}
        Some((at, LimitExceeded::Python(limit))) => {
            let message = format!("{limit}, the limit of Python");
            return Finding::error("too-deep", message).at(file.place_of(at)).into();
        }
        Some((at, LimitExceeded::Stack)) => return file.too_deep(at),
        Some((at, LimitExceeded::Tokens)) => return file.too_long(at, depth::MOST_TOKENS),
    }
    file.verdict(errors(text, version, file.path.ends_with(".pyi")))
}

/// Everything that is wrong, each beside its byte.
fn errors(text: &str, version: PythonVersion, is_stub: bool) -> Vec<(usize, Finding)> {
    let options = ParseOptions::from(Mode::Module).with_target_version(version);
    let parsed = parse_unchecked(text, options);
    let at = |range: ruff_text_size::TextRange| usize::from(range.start());
    let ruff_python_ast::Mod::Module(module) = parsed.syntax() else { return Vec::new() };
    let grammar: Vec<_> = soft::errors(parsed.errors(), &module.body, text).collect();
    let mut errors: Vec<(usize, Finding)> =
        grammar.iter().map(|error| (at(error.location), codes::of_parse_error(error))).collect();
    let newer = parsed.unsupported_syntax_errors().iter().filter(|error| soft::is_unsupported(error));
    errors.extend(newer.map(|error| (at(error.range), codes::of_version(error))));
    // What a broken tree means is anybody's guess.
    if grammar.is_empty() {
        let found = scopes::errors(&module.body, text, version, is_stub);
        errors.extend(found.iter().map(|error| (at(error.range), codes::of_meaning(error))));
        errors.extend(rules::errors(&module.body, text, version));
        errors.extend(jumps::errors(&module.body));
        errors.extend(blocks::errors(&module.body, version));
    }
    // Dropping a deep tree recurses; the memory goes with the instance.
    std::mem::forget(parsed);
    errors
}

#[cfg(test)]
mod tests;
