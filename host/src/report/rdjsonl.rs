//! One diagnostic a line, as reviewdog reads them.
//!
//! Its columns count bytes and ours count characters, and a record does not hold the text that would tell one from the
//! other. So only the columns that are certain are written: the first of a line. A fix is suggested where all its columns
//! are such, which replaces whole lines.

use super::view;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::verdict::{Edit, Fix, Level, Place};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the report.
pub(super) fn rdjsonl(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    for member in view::checks(record) {
        for finding in member.findings() {
            let mut code = json!({ "value": member.rule(&finding.code) });
            if let Some(url) = &finding.url {
                code["url"] = json!(url);
            }
            let location = match &finding.place {
                Some(place) => location(place),
                None => json!({ "path": view::fallback_path(record) }),
            };
            let mut line = json!({
                "message": view::text(finding),
                "location": location,
                "severity": severity(member.level(finding)),
                "code": code,
                "source": { "name": "gate" },
            });
            if let Some(fix) = finding.fix.as_ref().filter(|fix| fix.edits.iter().all(is_of_lines)) {
                line["suggestions"] = suggestions(fix);
            }
            writeln!(out, "{line}")?;
        }
    }
    for member in view::blockers(record) {
        let explained = member.findings().any(|finding| finding.level == Level::Error);
        if !explained || member.node.outcome != Outcome::Fail {
            let line = json!({
                "message": format!("`{}`: {}: {}", member.node.name, member.node.outcome.as_str(), member.summary()),
                "location": { "path": view::fallback_path(record) },
                "severity": "ERROR",
                "code": { "value": member.rule(member.node.outcome.as_str()) },
                "source": { "name": "gate" },
            });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "ERROR",
        Level::Warning => "WARNING",
        Level::Note => "INFO",
    }
}

fn location(place: &Place) -> Value {
    let Some(line) = place.line else { return json!({ "path": place.path }) };
    let mut range = json!({ "start": position(line, place.column) });
    if let Some(end) = place.end_line {
        range["end"] = position(end, place.end_column);
    }
    json!({ "path": place.path, "range": range })
}

fn position(line: u32, column: Option<u32>) -> Value {
    if column == Some(1) { json!({ "line": line, "column": 1 }) } else { json!({ "line": line }) }
}

fn is_of_lines(edit: &Edit) -> bool {
    edit.start_column == 1 && edit.end_column == 1
}

fn suggestions(fix: &Fix) -> Value {
    let suggestion = |edit: &Edit| {
        json!({
            "range": {
                "start": { "line": edit.start_line, "column": 1 },
                "end": { "line": edit.end_line, "column": 1 },
            },
            "text": edit.replacement,
        })
    };
    fix.edits.iter().map(suggestion).collect()
}
