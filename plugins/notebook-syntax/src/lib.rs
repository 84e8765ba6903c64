//! `notebook-syntax`: every matching file is a Jupyter notebook of nbformat 4.
//!
//! The verifier parses JSON with serde_json, which needs no stack for nested values, checks the version, and compares the values
//! with the schema of the version (`shape.rs`, `judge.rs`). Every value is kept as a slice of the text, so every finding has a
//! place.

mod judge;
mod numbers;
mod shape;
mod value;

use gatehost_sdk::foreign::{Format, Reading};
use gatehost_sdk::{About, File, FileVerifier, Finding, Level, Rule, Verdict};
use judge::Judge;
use serde_json::value::RawValue;
use value::Members;

/// The newest minor version whose schema is known here. A newer one may have more keys.
const NEWEST_MINOR: u64 = 5;
/// The most findings that are worth reading.
const MOST_FINDINGS: usize = 50;

gatehost_sdk::syntax_settings! {
    struct Settings {}
}

const FORMAT: Format = Format {
    name: "a notebook",
    known_as: &["json"],
    comments: &[],
    quotes: &['"'],
    has_braces: false,
    reading: Reading::AtMark,
};

const RULES: &[Rule] = &[
    Rule::error("syntax", "The file is not JSON."),
    Rule::error("unexpected-end", "The file ends within a value."),
    Rule::error("empty", "The file is empty."),
    Rule::error("byte-order-mark", "The file starts with a byte order mark.")
        .help("Save the file as UTF-8 without a byte order mark."),
    Rule::error("missing-key", "A required key is missing."),
    Rule::error("unknown-key", "A key is not in the schema."),
    Rule::error("wrong-type", "A value does not have the type that the schema requires."),
    Rule::error("unknown-type", "The type of a cell or an output is unknown."),
    Rule::warning("duplicate-key", "A key occurs twice in one object."),
    Rule::warning("missing-id", "A cell has no `id`, which nbformat 4.5 requires."),
    Rule::warning("duplicate-id", "Two cells have the same `id`."),
    Rule::warning("not-json-number", "A number is `NaN` or `Infinity`, which Jupyter accepts but JSON does not."),
    Rule::NOT_UTF_8,
    Rule::UTF_16,
];

struct NotebookSyntax;

impl FileVerifier for NotebookSyntax {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "notebook-syntax",
        env!("CARGO_PKG_VERSION"),
        "Every file is a Jupyter notebook (nbformat 4): JSON with the cells and outputs that its schema requires.",
    )
    .files(&["**/*.ipynb"])
    .settings::<Settings>()
    .rules(RULES);

    fn check(file: &File, settings: Settings) -> Verdict {
        file.judged_as(&FORMAT, settings.strict, |text| judge(file, text))
    }
}

gatehost_sdk::export_file_verifier!(NotebookSyntax);
gatehost_sdk::use_arena!();

fn judge(file: &File, text: &str) -> Verdict {
    if text.starts_with('\u{FEFF}') {
        let message = "the file starts with a byte order mark, which a notebook must not have";
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
            return Verdict::abstain(format!(
                "the notebook is nbformat {version}; this verifier supports only nbformat 4"
            ));
        }
        _ => {}
    }
    let minor = members.get("nbformat_minor").and_then(value::whole_number).unwrap_or(0);
    findings.extend(Judge::new(&json, minor).notebook(whole, &members));
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
