//! Appends a log of reviews to the file of `[progress]`, in the format that people and planning agents know. The file is
//! never read back: only the ledger decides.

use crate::outcome::{Node, Outcome, SkipReason};
use crate::plan::Plan;
use crate::record::Record;
use crate::text::{self, clean_line};
use crate::verdict::{Level, Status};
use crate::writer::{Beneath, WriteError};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The most findings in one log entry.
const MOST: usize = 3;

/// The file of `[progress]`, relative to the folder of gate.toml.
#[derive(Clone, Debug)]
pub(crate) struct ProgressFile {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl ProgressFile {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Appends a text. The working tree belongs to the author of the change, so symlinks are not followed.
    pub(crate) fn append(&self, text: &str) -> Result<(), WriteError> {
        if text.is_empty() {
            return Ok(());
        }
        let mut text = text::markdown(text);
        if let Some(note) = text::invisible_note(text::invisible(&text)) {
            let _ = writeln!(text, "- Note: {note}");
        }
        Beneath::open(&self.folder)?.append(&self.name, &text)
    }
}

/// Appends what a run says about reviews, if it ran or skipped any.
pub(super) fn append(file: &ProgressFile, plan: &Plan, record: &Record, reviews: u32) -> Result<(), WriteError> {
    file.append(&text(plan, record, reviews))
}

/// Returns the log entry of a run. `reviews` is the number of this review of the task.
fn text(plan: &Plan, record: &Record, reviews: u32) -> String {
    let asking =
        |check: &crate::plan::Check| check.grants.iter().any(|grant| matches!(grant, crate::config::Grant::Model(_)));
    let reviewers: BTreeSet<&str> =
        plan.checks().filter(|check| asking(check)).map(|check| check.check.as_str()).collect();
    if reviewers.is_empty() {
        return String::new();
    }
    let asked: Vec<&Node> = record.checks().filter(|node| !node.shadow && !node.models.is_empty()).collect();
    if asked.is_empty() {
        let skipped =
            record.gate.walk().find(|node| node.skipped == Some(SkipReason::NotDue) || node.next_due.is_some());
        return match skipped.map(|node| node.next_due) {
            Some(Some(next)) => format!("\nSkipping artifact review (next at task {next})\n"),
            Some(None) => "\nSkipping artifact review\n".to_owned(),
            None => String::new(),
        };
    }
    let is = |outcome: Outcome| asked.iter().any(|node| node.outcome == outcome);
    let status = match record.status {
        _ if is(Outcome::Fail) => "REVIEW_FAIL",
        Status::Pass if is(Outcome::Abstain) || is(Outcome::Error) => "REVIEW_PASS (no signal)",
        _ if is(Outcome::Abstain) || is(Outcome::Error) => "REVIEW_FAIL (no signal)",
        _ => "REVIEW_PASS",
    };
    let findings = asked.iter().flat_map(|node| node.verdict.iter().flat_map(|verdict| &verdict.findings));
    let mut findings: Vec<_> = findings.filter(|finding| finding.level != Level::Note).collect();
    findings.sort_by_key(|finding| finding.level != Level::Error);
    let told: Vec<String> = findings.iter().take(MOST).map(|finding| clean_line(&finding.message, 200)).collect();
    let action = match (record.status, record.gate.escalated) {
        (Status::Pass, _) if told.is_empty() => "proceeded",
        (Status::Pass, _) => "warnings appended, proceeded",
        (_, true) => "a person was asked",
        _ => "sent back with feedback",
    };
    let task = record.task.as_ref();
    let index = task.and_then(|task| task.index).map(|index| index.to_string());
    let index = index.or_else(|| task.map(|task| clean_line(&task.id, 60)).filter(|id| !id.is_empty()));
    let mut text = format!(
        "\n### Review: execution (Task {}, Iteration {reviews})\n- Status: {status}\n- Findings:",
        index.unwrap_or_else(|| "unknown".to_owned())
    );
    if told.is_empty() {
        text.push_str(" none\n");
    } else {
        text.push('\n');
        for finding in told {
            let _ = writeln!(text, "  - {finding}");
        }
    }
    let _ = writeln!(text, "- Action: {action}");
    text
}
