//! `python-syntax`: every matching file is what CPython's `compile` accepts.
//!
//! The parser is Ruff's, with its checks of what Python calls syntax errors although no grammar tells them (`return`
//! outside a function, `nonlocal` without a binding); those need to know the scopes, which is `scopes.rs`. What Ruff
//! lets through is `rules.rs` and `jumps.rs`, and what it refuses although Python takes it, `soft.rs`. What is nested too deep for the parser's recursion is found before it runs (`depth.rs`).

mod bindings;
mod codes;
mod depth;
mod encoding;
mod jumps;
mod rules;
mod scopes;
mod soft;

use depth::Beyond;
use gatehost_sdk::{About, File, FileVerifier, Finding, Verdict};
use ruff_python_ast::PythonVersion;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use serde::Deserialize;

struct PythonSyntax;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    version: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { version: PythonVersion::PY314.to_string() }
    }
}

impl FileVerifier for PythonSyntax {
    type Settings = Settings;
    const ABOUT: About =
        About::new("python-syntax", env!("CARGO_PKG_VERSION"), "Every file is valid Python (as CPython compiles it).")
            .files(&["**/*.py", "**/*.pyi", "**/*.pyw"])
            .settings_schema(include_str!("settings.json"));

    fn check(file: &File, settings: Settings) -> Verdict {
        match settings.version.parse() {
            Ok(version) => judge(file, version),
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
    }
    // Taking a deep tree down recurses, and the memory goes with the instance.
    std::mem::forget(parsed);
    errors
}

#[cfg(test)]
mod tests;
