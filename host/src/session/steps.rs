//! Records the slow steps of a run in the ledger: checks that run commands (`verify`) and checks that ask models (`review`).
//! They show where a run is, and where it was when it was killed.
//!
//! A thread appends the entries, so that the run does not wait for the disk. The entry of the run itself comes after all of
//! them. If a step cannot be recorded, neither can the run, and it does not pass.

use crate::config::Grant;
use crate::gate::GateEvent;
use crate::ledger::body::{StepEnd, StepStart};
use crate::ledger::{Durability, EntryKind, Labels, Ledger, LedgerError, NewEntry, Project};
use crate::outcome::{Node, NodeKind};
use crate::plan::{self, PlanNodeKind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// Appends entries about steps.
pub(super) struct StepRecorder {
    labels: Labels,
    send: Sender<NewEntry>,
    writer: JoinHandle<Result<(), LedgerError>>,
}

impl StepRecorder {
    pub(super) fn new(ledger: Arc<dyn Ledger>, project: Project, labels: Labels) -> Self {
        let (send, receive) = channel();
        let writer = thread::spawn(move || {
            receive.into_iter().try_for_each(|entry| {
                ledger.append(&project, vec![entry], Durability::Process)?;
                Ok(())
            })
        });
        Self { labels, send, writer }
    }

    /// Records the start or the end of a step.
    pub(super) fn observe(&self, event: GateEvent<'_>) {
        let entry = match event {
            GateEvent::Started { path, node } => self.started(path, node),
            GateEvent::Finished { path, node } => self.ended(path, node),
        };
        if let Some(Ok(entry)) = entry {
            // A writer that ended early reports its error at the end.
            let _ = self.send.send(entry);
        }
    }

    fn started(&self, path: &str, node: &plan::PlanNode) -> Option<Result<NewEntry, LedgerError>> {
        let PlanNodeKind::Check(check) = &node.what else { return None };
        let step = step(check.grants.iter().map(ToString::to_string))?;
        let started = StepStart { check: path.to_owned(), ..StepStart::now(step) };
        Some(NewEntry::new(EntryKind::StepStarted, self.labels.clone(), &started))
    }

    fn ended(&self, path: &str, node: &Node) -> Option<Result<NewEntry, LedgerError>> {
        // A skipped member never started.
        let verifier = node.verifier.as_ref().filter(|_| node.kind == NodeKind::Check && node.started.is_some())?;
        let step = step(verifier.grants.iter().cloned())?;
        let outcome = node.outcome.as_str().to_owned();
        let labels = Labels { status: outcome.clone(), ..self.labels.clone() };
        let duration_ms = (node.duration.as_secs_f64() * 1e6).round() / 1e3;
        let ended =
            StepEnd { step: step.to_owned(), check: path.to_owned(), outcome, duration_ms, ..StepEnd::default() };
        Some(NewEntry::new(EntryKind::StepEnded, labels, &ended))
    }

    /// Waits until all entries are appended.
    pub(super) fn finish(self) -> Result<(), LedgerError> {
        drop(self.send);
        self.writer.join().unwrap_or_else(|_| Err(LedgerError::Unwritable("the writer of steps panicked".to_owned())))
    }
}

/// Returns the name of the step of a check with these grants.
fn step(grants: impl Iterator<Item = String>) -> Option<&'static str> {
    let grants: Vec<Grant> = grants.filter_map(|grant| grant.parse().ok()).collect();
    if grants.iter().any(|grant| matches!(grant, Grant::Model(_))) {
        Some("review")
    } else if grants.iter().any(|grant| matches!(grant, Grant::Command(_))) {
        Some("verify")
    } else {
        None
    }
}
