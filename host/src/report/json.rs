//! The report for programs: one JSON document, versioned.

use super::Report;
use crate::feedback::feedback;
use crate::outcome::Node;
use crate::verdict::Status;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// The version of the document. Within a version, fields are added and never changed.
pub const SCHEMA_VERSION: u32 = 1;

/// The document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// The version of this shape.
    version: u32,
    /// What the run came to.
    status: Status,
    /// The digest of the plan that decided the run.
    plan: Option<&'a str>,
    /// The commit that the changes are relative to.
    base: Option<&'a str>,
    /// How many files were there to be judged.
    files: usize,
    /// Whether the models' answers were recorded in another run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    /// How long it took.
    duration_ms: u64,
    /// What goes back to whoever did the work; nothing after a pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    feedback: Option<String>,
    /// The gate and all its members.
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
        replayed: report.replayed,
        duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
        feedback: (report.status() != Status::Pass).then(|| feedback(report.gate)),
        gate: report.gate,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
