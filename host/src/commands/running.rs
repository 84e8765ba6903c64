//! The commands that run now, so that all of them can be ended when the program is.

use super::NoResult;
use super::lifeline::Lifeline;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

static RUNNING: Mutex<RunningCommands> = Mutex::new(RunningCommands { next: 0, lives: Vec::new(), ending: false });
static LEFT: Condvar = Condvar::new();

struct RunningCommands {
    next: u64,
    lives: Vec<(u64, Arc<Lifeline>)>,
    ending: bool,
}

fn running() -> MutexGuard<'static, RunningCommands> {
    RUNNING.lock()
}

/// A command that runs.
pub(super) struct RunningCommand(u64);

/// Notes that a command is about to run; refused once the program is about to end.
pub(super) fn enter(lifeline: &Arc<Lifeline>) -> Result<RunningCommand, NoResult> {
    let mut running = running();
    if running.ending {
        return Err(NoResult::not_started("`gate` was interrupted"));
    }
    running.next += 1;
    let number = running.next;
    running.lives.push((number, Arc::clone(lifeline)));
    Ok(RunningCommand(number))
}

impl RunningCommand {
    /// Notes that it ended and that nothing is left of it. Returns whether anybody wants to know more about it.
    pub(super) fn leave(self) -> bool {
        let ending = running().ending;
        !ending
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        running().lives.retain(|(number, _)| *number != self.0);
        LEFT.notify_all();
    }
}

/// Ends all of them, and lets no other begin. Waits until they have left, but no longer than this.
pub(super) fn end_all(patience: Duration) {
    let mut running = running();
    running.ending = true;
    running.lives.iter().for_each(|(_, lifeline)| lifeline.cut());
    LEFT.wait_while_for(&mut running, |running| !running.lives.is_empty(), patience);
}
