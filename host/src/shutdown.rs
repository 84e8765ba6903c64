//! The end of a program that was interrupted: what it started is ended, what it made for a while is deleted.
//!
//! Values that are dropped do both by themselves. A program that ends at once drops none.

use crate::{commands, temporary};
use parking_lot::Mutex;
use std::fmt;
use std::time::Duration;

type LastWords = Box<dyn FnOnce() + Send>;

/// What is still to be said when the program is interrupted, by whom.
static LAST_WORDS: Mutex<Vec<(u64, LastWords)>> = Mutex::new(Vec::new());

/// Ends every command that runs, with all that it started, and deletes the temporary files of commands and snapshots. From
/// now on no command begins, and nothing temporary is made: the caller ends the program next. Commands are waited for,
/// but no longer than `patience`.
pub fn clean_up(patience: Duration) {
    commands::end_all(patience);
    let last_words = std::mem::take(&mut *LAST_WORDS.lock());
    last_words.into_iter().for_each(|(_, say)| say());
    temporary::remove_all();
}

/// Forgets what was to be done when it is dropped.
#[must_use]
pub struct WhenInterrupted(u64);

impl fmt::Debug for WhenInterrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenInterrupted").field(&self.0).finish()
    }
}

/// Does this too when the program is interrupted, after what it started has ended and while the value that is returned lives.
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
