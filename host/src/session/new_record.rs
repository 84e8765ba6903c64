//! Adds everything to a record besides the result of the gate: the host, the selection, the task and the rules of its
//! findings.

use crate::changes::Selection;
use crate::feedback::feedback;
use crate::outcome::Node;
use crate::record::{HostBuild, Record, SelectionRecord, TaskRecord};
use crate::resolver::Verifiers;
use crate::runtime::CONTRACT;
use crate::submission::Submission;
use crate::text;
use crate::verdict::Status;
use std::collections::BTreeSet;

/// Adds what was selected, what was submitted, and the feedback for the executor.
pub(super) fn describe_run(record: &mut Record, selection: &Selection, base: Option<String>, submission: &Submission) {
    record.host = HostBuild {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: env!("GATEHOST_BUILD").to_owned(),
        contract: CONTRACT.to_owned(),
    };
    record.selection = selection_record(selection);
    record.base = base;
    record.task = submission.task.as_ref().map(TaskRecord::from);
    record.attempt = submission.attempt.max(1);
    record.attempts_allowed = submission.attempts_allowed;
    record.executor = submission.executor.clone();
    record.feedback = (record.gate.outcome.status() != Some(Status::Pass)).then(|| feedback(&record.gate));
}

/// Adds the description of each reported code, as its verifier declares it.
pub(super) fn explain(node: &mut Node, verifiers: &Verifiers) {
    if let (Some(verifier), Some(verdict)) = (&node.verifier, &node.verdict) {
        let codes: BTreeSet<&str> = verdict.findings.iter().map(|finding| finding.code.as_str()).collect();
        node.rules = codes.into_iter().filter_map(|code| verifiers.rule(&verifier.digest, code)).collect();
    }
    node.children.iter_mut().for_each(|child| explain(child, verifiers));
}

fn selection_record(selection: &Selection) -> SelectionRecord {
    let of = |kind: &str| SelectionRecord { kind: kind.to_owned(), ..SelectionRecord::default() };
    match selection {
        Selection::Changed => of("changed"),
        Selection::Staged => of("staged"),
        Selection::All => of("all"),
        Selection::Files(paths) => {
            let paths = paths.iter().map(|path| text::clean_line(&path.to_string_lossy(), 1_000)).collect();
            SelectionRecord { paths, ..of("files") }
        }
        Selection::Since(from) => SelectionRecord { from: Some(from.clone()), ..of("since") },
        Selection::Base(from) => SelectionRecord { from: Some(from.clone()), ..of("base") },
        Selection::Between { from, to } => {
            SelectionRecord { from: Some(from.clone()), to: Some(to.clone()), ..of("between") }
        }
        Selection::Commit(commit) => SelectionRecord { to: Some(commit.clone()), ..of("commit") },
    }
}
