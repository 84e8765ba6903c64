//! The running commands of this process, so that all of them can be killed when it exits.

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

/// A registered command.
pub(super) struct RunningCommand(u64);

/// Registers a command. Refused if `gate` is about to exit.
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
    /// Notes that the command has ended. Returns whether its result is still wanted.
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

/// Kills all commands and starts no others. Waits until they have ended, at most this long.
pub(super) fn end_all(patience: Duration) {
    let mut running = running();
    running.ending = true;
    running.lives.iter().for_each(|(_, lifeline)| lifeline.cut());
    LEFT.wait_while_for(&mut running, |running| !running.lives.is_empty(), patience);
}
