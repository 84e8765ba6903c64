//! Cleans up when the program is interrupted: kills what it started, and deletes its temporary files.
//!
//! Dropped values do both by themselves. A program that exits at once drops none.

use crate::{commands, temporary, writer};
use parking_lot::Mutex;
use std::fmt;
use std::time::Duration;

type LastWords = Box<dyn FnOnce() + Send>;

/// Functions to call when the program is interrupted.
static LAST_WORDS: Mutex<Vec<(u64, LastWords)>> = Mutex::new(Vec::new());

/// Kills every command with everything that it started, and deletes temporary files. From now on, no command starts and no
/// temporary file is created: the caller exits next. Waits for commands at most `patience`.
pub fn clean_up(patience: Duration) {
    commands::end_all(patience);
    let last_words = std::mem::take(&mut *LAST_WORDS.lock());
    last_words.into_iter().for_each(|(_, say)| say());
    temporary::remove_all();
    writer::remove_all();
}

/// Removes the function when it is dropped.
#[must_use]
pub struct WhenInterrupted(u64);

impl fmt::Debug for WhenInterrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenInterrupted").field(&self.0).finish()
    }
}

/// Calls this function when the program is interrupted, after commands have ended, while the returned value lives.
pub fn when_interrupted(say: impl FnOnce() + Send + 'static) -> WhenInterrupted {
    let mut waiting = LAST_WORDS.lock();
    let number = waiting.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    waiting.push((number, Box::new(say)));
    WhenInterrupted(number)
}

impl Drop for WhenInterrupted {
    fn drop(&mut self) {
        LAST_WORDS.lock().retain(|(number, _)| *number != self.0);
    }
}
