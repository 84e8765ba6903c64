//! The report for programs: the record as one JSON document; and a document for a caller's mistake.

use crate::error::Error;
use crate::record::{MistakeDocument, MistakeEntry, Record, VERSION};
use std::io::{self, Write};

/// Write the record.
pub fn json(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, record)?;
    writeln!(out)
}

/// Write why there was no run.
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
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
