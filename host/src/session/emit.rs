//! Numbers the events of a run and passes them to the observer.

use crate::event::{Event, EventKind, Observer};
use crate::gate;
use crate::outcome::Node;
use crate::plan::Plan;
use crate::verdict::Status;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Numbers events and passes them to the observer.
pub(super) struct RunEvents {
    run: String,
    start: Instant,
    /// The number of the last event. Locked while the observer is called, so that events arrive in order.
    seq: Mutex<u64>,
    observer: Arc<dyn Observer>,
}

impl RunEvents {
    pub(super) fn new(run: String, observer: Arc<dyn Observer>) -> Self {
        Self { run, start: Instant::now(), seq: Mutex::new(0), observer }
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    pub(super) fn emit(&self, what: EventKind) {
        let mut seq = self.seq.lock();
        *seq += 1;
        let at_ms = milliseconds(self.start.elapsed());
        self.observer.event(&Event { seq: *seq, at_ms, run: self.run.clone(), of_loop: None, attempt: None, what });
    }

    pub(super) fn run_started(&self, plan: &Plan, digest: &str, files: usize) {
        let members = plan.root.members().iter().map(|member| member.name.clone()).collect();
        self.emit(EventKind::RunStarted { gate: plan.root.name.clone(), plan: digest.to_owned(), files, members });
    }

    pub(super) fn run_ended(&self, status: Status) {
        self.emit(EventKind::RunEnded { status, duration_ms: milliseconds(self.start.elapsed()) });
    }

    pub(super) fn gate_event(&self, event: gate::GateEvent<'_>) {
        match event {
            gate::GateEvent::Started { path, node } => {
                self.emit(EventKind::CheckStarted { path: path.to_owned(), kind: node.kind() });
            }
            gate::GateEvent::Finished { path, node } => self.finished(path, node),
        }
    }

    fn finished(&self, path: &str, node: &Node) {
        if let Some(vote) = &node.vote {
            self.emit(EventKind::VoteSettled { path: path.to_owned(), vote: vote.clone() });
        }
        self.emit(EventKind::CheckEnded {
            path: path.to_owned(),
            kind: node.kind,
            outcome: node.outcome,
            reason: node.reason.clone(),
            findings: node.verdict.as_ref().map_or(0, |verdict| verdict.findings.len()),
            duration_ms: milliseconds(node.duration),
        });
    }
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
