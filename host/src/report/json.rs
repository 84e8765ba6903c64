//! The report for programs: the record as one JSON document; and a document for a caller's mistake. Reads such a document
//! again, to render it later.

use crate::error::Error;
use crate::record::{MistakeDocument, MistakeEntry, Record, VERSION};
use crate::text::{clean_value, link, write_json};
use crate::verdict::Place;
use serde_json::Value;
use std::io::{self, Write};

/// Reads a record that [`json`] wrote. Anybody may have written it, so every text in it is made safe to show.
pub fn read(bytes: &[u8]) -> Result<Record, Error> {
    let invalid = || Error::input("this is not a run record");
    let mut document: Value = serde_json::from_slice(bytes).map_err(|error| invalid().because(error))?;
    match document.get("version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(other) => {
            let message = format!("expected a record of version {VERSION}, found version {other}");
            return Err(Error::input(message).hint("render it with the version of `gate` that wrote it".to_owned()));
        }
        None => return Err(invalid().hint("`gate run --format json` prints one".to_owned())),
    }
    clean_value(&mut document);
    drop_links(&mut document);
    let record: Record = serde_json::from_value(document).map_err(|error| invalid().because(error))?;
    let mut findings = record.gate.walk().flat_map(|node| &node.verdict).flat_map(|verdict| &verdict.findings);
    if !findings.all(|finding| finding.place.as_ref().is_none_or(Place::ends_behind_start)) {
        return Err(invalid().because("a finding ends before it starts"));
    }
    drop(findings);
    Ok(record)
}

/// Removes addresses that nobody should follow.
fn drop_links(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            if entries.get("url").and_then(Value::as_str).is_some_and(|url| link(url).is_none()) {
                entries.remove("url");
            }
            entries.values_mut().for_each(drop_links);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_links),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes the record.
pub fn json(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    write_json(out, record)
}

/// Writes why there was no run.
pub fn mistake(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    let exit = error.exit();
    let kind = serde_json::to_value(error.kind())?.as_str().unwrap_or_default().to_owned();
    let entry = |(message, causes, hint): (&str, Vec<String>, Option<&str>)| MistakeEntry {
        kind: kind.clone(),
        message: message.to_owned(),
        causes,
        hint: hint.map(str::to_owned),
    };
    let status = if exit == crate::error::Exit::Mistake { "mistake" } else { "error" };
    let document = MistakeDocument {
        version: VERSION,
        status: status.to_owned(),
        exit: exit.code(),
        errors: error.problems().map(entry).collect(),
    };
    write_json(out, &document)
}
