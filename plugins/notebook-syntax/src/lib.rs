//! `notebook-syntax`: every matching file is a Jupyter notebook of format 4.
//!
//! Three looks: is it JSON (serde_json, which needs no stack for nested values), is it of a version that is known here,
//! and has it the shape that the version's schema asks for (`shape.rs`, `judge.rs`). Every value is kept as the piece of
//! the text that it is, and so every finding has its place.

mod judge;
mod numbers;
mod shape;
mod value;

use gatehost_sdk::{About, File, FileVerifier, Finding, Level, Verdict};
use judge::Judge;
use serde::Deserialize;
use serde_json::value::RawValue;
use value::Members;

/// The newest minor version whose schema is known here. A newer one may have more keys.
const NEWEST_MINOR: u64 = 5;
/// The most findings that are worth reading.
const MOST_FINDINGS: usize = 50;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {}

struct NotebookSyntax;

impl FileVerifier for NotebookSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "notebook-syntax",
        env!("CARGO_PKG_VERSION"),
        "Every file is a Jupyter notebook (nbformat 4): JSON, and the cells and outputs that its schema asks for.",
    )
    .files(&["**/*.ipynb"]);

    fn check(file: &File, _: Settings) -> Verdict {
        match file.utf8("a notebook") {
            Ok(text) => judge(file, text),
            Err(finding) => finding.into(),
        }
    }
}

gatehost_sdk::export_file_verifier!(NotebookSyntax);

fn judge(file: &File, text: &str) -> Verdict {
    if text.starts_with('\u{FEFF}') {
        let message = "the file starts with a byte order mark; a notebook must not";
        let hint = "save the file as UTF-8 without a byte order mark";
        return Finding::error("byte-order-mark", message).at(file.place_of(0)).hint(hint).into();
    }
    if text.trim_ascii().is_empty() {
        return Finding::error("empty", "the file is empty; expected a notebook").at(file.place_of(0)).into();
    }
    let (json, mut findings) = numbers::replaced(text);
    let whole: &RawValue = match serde_json::from_str(&json) {
        Ok(whole) => whole,
        Err(error) => return syntax(file, &json, &error).into(),
    };
    let Some(members) = Members::of(whole) else {
        let message = "expected an object with `cells`, `metadata`, `nbformat` and `nbformat_minor`";
        return Finding::error("wrong-type", message).at(file.place_of(value::offset(&json, whole))).into();
    };
    // Other versions have other shapes. One that is none is for the judge to say.
    match members.get("nbformat").and_then(value::whole_number) {
        Some(version) if version != 4 => {
            return Verdict::abstain(format!("nbformat {version}; this verifier knows nbformat 4"));
        }
        _ => {}
    }
    let minor = members.get("nbformat_minor").and_then(value::whole_number).unwrap_or(0);
    findings.extend(Judge::new(&json, minor).notebook(whole));
    verdict(file, findings)
}

fn verdict(file: &File, mut findings: Vec<(usize, Finding)>) -> Verdict {
    findings.sort_by_key(|(at, _)| *at);
    // An error must not be crowded out by warnings.
    let (errors, others): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|(_, finding)| finding.level == Level::Error);
    let findings = errors.into_iter().chain(others).take(MOST_FINDINGS);
    findings.map(|(at, finding)| finding.at(file.place_of(at))).collect::<Vec<_>>().into()
}

fn syntax(file: &File, text: &str, error: &serde_json::Error) -> Finding {
    let whole = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let code = if error.is_eof() { "unexpected-end" } else { "syntax" };
    let message = format!("not JSON: {}", whole.strip_suffix(&suffix).unwrap_or(&whole));
    // Lines count from 1, columns are bytes; column 0 is the end of the line before.
    let line_start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let before = usize::from(!whole.starts_with("control character"));
    let at = text.floor_char_boundary((line_start + error.column().saturating_sub(before)).min(text.len()));
    Finding::error(code, message).at(file.place_of(at))
}

#[cfg(test)]
mod tests;
