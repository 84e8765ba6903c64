//! `python-syntax`: every matching file is what CPython's `compile` accepts.
//!
//! The parser is Ruff's, with its checks of what Python calls syntax errors although no grammar tells them (`return`
//! outside a function, `nonlocal` without a binding); those need to know the scopes, which is `scopes.rs`. What Ruff
//! lets through is `rules.rs`, `jumps.rs` and `blocks.rs`, and what it refuses although Python takes it, `soft.rs`. What is
//! nested too deep for the parser's recursion is found before it runs (`depth.rs`).

mod bindings;
mod blocks;
mod codes;
mod depth;
mod encoding;
mod jumps;
mod rules;
mod scopes;
mod soft;

use depth::Beyond;
use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Rule, Verdict};
use ruff_python_ast::PythonVersion;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use serde::Deserialize;

struct PythonSyntax;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    version: String,
    strict: bool,
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
    Rule::error("expected-token", "something else stands where a token is expected"),
    Rule::error("expected-expression", "an expression is missing"),
    Rule::error("unclosed-string", "a string is not closed"),
    Rule::error("unexpected-end", "the file ends within a statement"),
    Rule::error("indentation", "a line is indented in a way that its block does not allow"),
    Rule::error("invalid-target", "nothing can be assigned to this, or it cannot be deleted"),
    Rule::error("interpolated-string", "an f-string or a t-string is malformed"),
    Rule::error("string-escape", "an escape in a string is malformed"),
    Rule::error("nul", "the file has a NUL character"),
    Rule::error("version", "the syntax is newer than the version of Python"),
    Rule::error("outside-function", "`return`, `yield` or `await` stands outside a function"),
    Rule::error("outside-loop", "`break` or `continue` stands outside a loop"),
    Rule::error("duplicate-name", "a parameter, a keyword or a type parameter is there twice"),
    Rule::error("declaration", "`global` or `nonlocal` contradicts another use of the name"),
    Rule::error("future-import", "`from __future__` is too late, or names what does not exist"),
    Rule::error("invalid", "the grammar allows it, and Python's compiler does not"),
    Rule::error("encoding", "the file contradicts the encoding that it declares"),
    Rule::error("syntax", "the file is not Python"),
    Rule::error("too-deep", "nested deeper than Python allows; as a note: deeper than the verifier can follow"),
    Rule::TOO_LONG,
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

impl Default for Settings {
    fn default() -> Self {
        Self { version: PythonVersion::PY314.to_string(), strict: false }
    }
}

impl FileVerifier for PythonSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("python-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid Python (as CPython compiles it).")
            .files(&["**/*.py", "**/*.pyi", "**/*.pyw"])
            .settings_schema(include_str!("settings.json"))
            .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        match settings.version.parse() {
            Ok(version) => {
                let text = file.readable();
                file.unless_foreign(text.as_deref().unwrap_or_default(), &FORMAT, settings.strict, judge(file, version))
            }
            Err(why) => Verdict::abstain(format!("cannot read the version `{}`: {why}", settings.version)),
        }
    }
}

gatehost_sdk::export_file_verifier!(PythonSyntax);
// Trees are built once and never taken down.
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
        return Finding::error("nul", "found a NUL; Python source has none").at(file.place_of(nul)).into();
    }
    match depth::first_beyond(text) {
        None => {}
        Some((at, Beyond::Python(limit))) => {
            let message = format!("{limit}; Python allows no more");
            return Finding::error("too-deep", message).at(file.place_of(at)).into();
        }
        Some((at, Beyond::Stack)) => return file.too_deep(at),
        Some((at, Beyond::Tokens)) => return file.too_long(at, depth::MOST_TOKENS),
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
    // Taking a deep tree down recurses, and the memory goes with the instance.
    std::mem::forget(parsed);
    errors
}

#[cfg(test)]
mod tests;
