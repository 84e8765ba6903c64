//! The time that a guest has for itself. It stands still while a command or a model that it was granted is at work: that
//! has a limit of its own, and so has the whole check.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a guest may still run.
#[derive(Debug)]
pub(super) struct Allowance(Mutex<AllowanceState>);

#[derive(Clone, Copy, Debug)]
struct AllowanceState {
    /// As of `since`.
    left: Duration,
    /// When it last began to run; `None` while it stands still.
    since: Option<Instant>,
}

impl AllowanceState {
    fn left(self) -> Duration {
        self.left.saturating_sub(self.since.map_or(Duration::ZERO, |since| since.elapsed()))
    }
}

impl Allowance {
    /// This much, not yet running.
    pub(super) fn new(left: Duration) -> Self {
        Self(Mutex::new(AllowanceState { left, since: None }))
    }

    /// It begins to run.
    pub(super) fn start(&self) {
        self.set(|state| AllowanceState { left: state.left(), since: Some(Instant::now()) });
    }

    /// What is left of it.
    pub(super) fn left(&self) -> Duration {
        self.0.lock().left()
    }

    /// It stands still until the guard is dropped.
    pub(super) fn pause(self: &Arc<Self>) -> Paused {
        self.set(|state| AllowanceState { left: state.left(), since: None });
        Paused(Arc::clone(self))
    }

    /// Ends when nothing is left.
    pub(super) async fn used_up(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            // What stands still may look the same for long: not woken more often than the guest's own ticks.
            tokio::time::sleep(left.max(Duration::from_millis(10))).await;
        }
    }

    fn set(&self, change: impl FnOnce(AllowanceState) -> AllowanceState) {
        let mut state = self.0.lock();
        *state = change(*state);
    }
}

/// While this lives, the guest's time stands still.
pub(super) struct Paused(Arc<Allowance>);

impl Drop for Paused {
    fn drop(&mut self) {
        self.0.start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_costs_a_guest_nothing() {
        let allowance = Arc::new(Allowance::new(Duration::from_millis(50)));
        assert_eq!(allowance.left(), Duration::from_millis(50), "not started");
        allowance.start();
        let paused = allowance.pause();
        let left = allowance.left();
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(allowance.left(), left);
        drop(paused);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(allowance.left(), Duration::ZERO);
    }
}
