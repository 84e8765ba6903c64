//! The report for programs: one JSON document, versioned.

use super::Report;
use crate::outcome::Node;
use crate::verdict::Status;
use serde::Serialize;
use std::io::{self, Write};

/// The version of the document. Within a version, fields are added and never changed.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    status: Status,
    plan: Option<&'a str>,
    base: Option<&'a str>,
    files: usize,
    duration_ms: u128,
    gate: &'a Node,
}

/// Write the document.
pub fn json(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let document = Document {
        version: SCHEMA_VERSION,
        status: report.status(),
        plan: report.plan,
        base: report.base,
        files: report.files,
        duration_ms: report.duration.as_millis(),
        gate: report.gate,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
