//! Emits the events of a loop and of its runs in one sequence.

use super::record::{LoopEnd, State};
use crate::event::{Event, EventKind, Observer};
use crate::outcome::NodeKind;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Numbers the events of a loop, and passes them to the observer.
pub(super) struct Emitter {
    id: String,
    start: Instant,
    state: Mutex<Counts>,
    observer: Arc<dyn Observer>,
}

/// Locked while the observer is called, so that events arrive in order.
#[derive(Default)]
struct Counts {
    seq: u64,
    attempt: u32,
    bounces: u32,
    over: bool,
}

impl Emitter {
    pub(super) fn new(id: String, observer: Arc<dyn Observer>) -> Self {
        Self { id, start: Instant::now(), state: Mutex::default(), observer }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Sets the number of the attempt for the events that follow.
    pub(super) fn attempt(&self, number: u32) {
        self.counts().attempt = number;
    }

    pub(super) fn emit(&self, what: EventKind) {
        let mut counts = self.counts();
        match &what {
            EventKind::Bounce { number, .. } => counts.bounces = *number,
            EventKind::LoopResumed { attempts, bounces } => (counts.attempt, counts.bounces) = (*attempts, *bounces),
            _ => {}
        }
        self.emit_as(&mut counts, self.id.clone(), what);
    }

    pub(super) fn escalation(&self, ended: &LoopEnd) {
        if let Some(trigger) = &ended.trigger {
            let level = if ended.state == State::Halted { "halt" } else { "notify" };
            let (trigger, why) = (trigger.clone(), ended.why.clone());
            self.emit(EventKind::Escalation { level: level.to_owned(), trigger, why });
        }
    }

    /// Emits the last event. Later events are dropped.
    pub(super) fn ended(&self, ended: &LoopEnd) {
        let mut counts = self.counts();
        let what = EventKind::LoopEnded {
            state: ended.state.as_str().to_owned(),
            why: ended.why.clone(),
            budget: ended.budget.clone(),
            attempts: counts.attempt,
            bounces: counts.bounces,
            duration_ms: milliseconds(self.elapsed()),
        };
        self.emit_as(&mut counts, self.id.clone(), what);
        counts.over = true;
    }

    /// Returns an observer that forwards the events of a run as events of the loop.
    pub(super) fn forwarding(self: &Arc<Self>) -> impl Observer + 'static {
        let emitter = Arc::clone(self);
        move |event: &Event| {
            let mut counts = emitter.counts();
            // A loop within a loop counts its own attempts.
            counts.attempt = event.attempt.unwrap_or(counts.attempt);
            emitter.emit_as(&mut counts, event.run.clone(), event.what.clone());
            if event.of_loop.is_none()
                && let EventKind::CheckEnded { path, kind: NodeKind::Check, outcome, reason, findings, .. } =
                    &event.what
            {
                let check = path.rsplit('/').next().unwrap_or(path).to_owned();
                let (outcome, reason, findings) = (*outcome, reason.clone(), *findings);
                emitter.emit_as(
                    &mut counts,
                    event.run.clone(),
                    EventKind::Verification { check, outcome, reason, findings },
                );
            }
        }
    }

    fn counts(&self) -> parking_lot::MutexGuard<'_, Counts> {
        self.state.lock()
    }

    fn emit_as(&self, counts: &mut Counts, run: String, what: EventKind) {
        if counts.over {
            return;
        }
        counts.seq += 1;
        let attempt = Some(counts.attempt).filter(|attempt| *attempt > 0);
        let (seq, at_ms, of_loop) = (counts.seq, milliseconds(self.elapsed()), Some(self.id.clone()));
        self.observer.event(&Event { seq, at_ms, run, of_loop, attempt, what });
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
