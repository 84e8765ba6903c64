//! The time limit of a guest. It is paused while a command or a model works for the guest: these have their own limits, and
//! so has the whole check.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a guest may still run.
#[derive(Debug)]
pub(super) struct Allowance(Mutex<AllowanceState>);

#[derive(Clone, Copy, Debug)]
struct AllowanceState {
    /// The time left at `since`.
    left: Duration,
    /// When the clock was last started; `None` while it is paused.
    since: Option<Instant>,
}

impl AllowanceState {
    fn left(self) -> Duration {
        self.left.saturating_sub(self.since.map_or(Duration::ZERO, |since| since.elapsed()))
    }
}

impl Allowance {
    /// Returns a limit that is not yet running.
    pub(super) fn new(left: Duration) -> Self {
        Self(Mutex::new(AllowanceState { left, since: None }))
    }

    /// Starts the clock.
    pub(super) fn start(&self) {
        self.set(|state| AllowanceState { left: state.left(), since: Some(Instant::now()) });
    }

    /// Returns the time left.
    pub(super) fn left(&self) -> Duration {
        self.0.lock().left()
    }

    /// Pauses the clock until the guard is dropped.
    pub(super) fn pause(self: &Arc<Self>) -> Paused {
        self.set(|state| AllowanceState { left: state.left(), since: None });
        Paused(Arc::clone(self))
    }

    /// Returns when no time is left.
    pub(super) async fn used_up(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            // A paused clock may not change for long, so it is polled no more often than the guest's own ticks.
            tokio::time::sleep(left.max(Duration::from_millis(10))).await;
        }
    }

    fn set(&self, change: impl FnOnce(AllowanceState) -> AllowanceState) {
        let mut state = self.0.lock();
        *state = change(*state);
    }
}

/// Pauses the clock while it lives.
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
