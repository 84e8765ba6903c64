//! One diagnostic per line, as reviewdog reads them.
//!
//! Its columns count bytes and those of a finding count characters, so the line itself is needed. It is read from the folder of
//! the project, and only from a file that has the digest in the record. Otherwise a diagnostic has no column but the first, and a
//! fix is suggested only if it replaces whole lines.

use super::view;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::text;
use crate::verdict::{Fix, Level, Place};
use crate::workspace::Workspace;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The most bytes of a file that are read.
const MAX_BYTES: u64 = 64 << 20;

/// Writes the report. `root` is the folder that the paths of the record are relative to.
pub(super) fn rdjsonl(out: &mut dyn Write, record: &Record, root: &Path) -> io::Result<()> {
    let mut columns = ByteColumns::new(record, root);
    for member in view::checks(record) {
        for finding in member.findings() {
            let mut code = json!({ "value": member.rule(&finding.code) });
            if let Some(url) = finding.url.as_deref().and_then(text::link) {
                code["url"] = json!(url);
            }
            let location = match &finding.place {
                Some(place) => location(place, &mut columns),
                None => json!({ "path": view::fallback_path(record) }),
            };
            let mut line = json!({
                "message": view::text(finding),
                "location": location,
                "severity": severity(member.level(finding)),
                "code": code,
                "source": { "name": "gate" },
            });
            let fix = finding.fix.as_ref().zip(finding.place.as_ref());
            if let Some(suggestions) = fix.and_then(|(fix, place)| suggestions(fix, &place.path, &mut columns)) {
                line["suggestions"] = suggestions;
            }
            writeln!(out, "{}", text::json_line(&line)?)?;
        }
    }
    for member in view::blockers(record) {
        let explained = member.findings().any(|finding| finding.level == Level::Error);
        if !explained || member.node.outcome != Outcome::Fail {
            let line = json!({
                "message": format!("`{}`: {}: {}", member.node.name, member.node.outcome.as_str(), member.noted_summary()),
                "location": { "path": view::fallback_path(record) },
                "severity": "ERROR",
                "code": { "value": member.rule(member.node.outcome.as_str()) },
                "source": { "name": "gate" },
            });
            writeln!(out, "{}", text::json_line(&line)?)?;
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

fn location(place: &Place, columns: &mut ByteColumns<'_>) -> Value {
    let Some(line) = place.line else { return json!({ "path": place.path }) };
    let mut position =
        |line: u32, column: Option<u32>| match column.and_then(|column| columns.of(&place.path, line, column)) {
            Some(column) => json!({ "line": line, "column": column }),
            None => json!({ "line": line }),
        };
    let mut range = json!({ "start": position(line, place.column) });
    if let Some(end) = place.end_line {
        range["end"] = position(end, place.end_column);
    }
    json!({ "path": place.path, "range": range })
}

/// Returns the edits of a fix, if the place of each is certain.
fn suggestions(fix: &Fix, path: &str, columns: &mut ByteColumns<'_>) -> Option<Value> {
    let mut position = |line, column| Some(json!({ "line": line, "column": columns.of(path, line, column)? }));
    let edits = fix.edits.iter().map(|edit| {
        let (start, end) = (position(edit.start_line, edit.start_column)?, position(edit.end_line, edit.end_column)?);
        Some(json!({ "range": { "start": start, "end": end }, "text": edit.replacement }))
    });
    edits.collect::<Option<Vec<Value>>>().map(Value::from)
}

/// Turns columns in characters into columns in bytes.
struct ByteColumns<'r> {
    workspace: Option<Workspace>,
    /// The digests of the checked files, by path.
    digests: BTreeMap<&'r str, &'r str>,
    /// The files that were read; nothing for a file that is not the checked one.
    texts: BTreeMap<String, Option<String>>,
}

impl<'r> ByteColumns<'r> {
    fn new(record: &'r Record, root: &Path) -> Self {
        let files = record.gate.walk().flat_map(|node| node.files.iter().flatten());
        let digests = files.map(|file| (file.path.as_str(), file.digest.as_str())).collect();
        Self { workspace: Workspace::open(root).ok(), digests, texts: BTreeMap::new() }
    }

    /// Returns the byte column; nothing if the line is not known.
    fn of(&mut self, path: &str, line: u32, column: u32) -> Option<u32> {
        if column == 1 {
            return Some(1);
        }
        let Self { workspace, digests, texts } = self;
        let text = texts.entry(path.to_owned()).or_insert_with(|| {
            let bytes = workspace.as_ref()?.read(path, MAX_BYTES).ok()?;
            let digest = text::sha256(Sha256::digest(&bytes));
            let is_checked = digests.get(path).is_some_and(|known| *known == digest);
            String::from_utf8(bytes).ok().filter(|_| is_checked)
        });
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        // Whether a byte order mark counts is up to the verifier.
        let text = text.as_deref()?.split('\n').nth(index).filter(|text| !text.starts_with('\u{feff}'))?;
        let before = usize::try_from(column.checked_sub(1)?).ok()?;
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        u32::try_from(ends.into_iter().nth(before)? + 1).ok()
    }
}
