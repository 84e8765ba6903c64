//! The end of a program that was interrupted: what it started is ended, what it made for a while is deleted.
//!
//! Values that are dropped do both by themselves. A program that ends at once drops none.

use crate::{commands, temporary};
use std::time::Duration;

/// End every command that runs, with all that it started, and delete the temporary files of commands and snapshots. From
/// now on no command begins, and nothing temporary is made: the caller ends the program next. Commands are waited for,
/// but no longer than `patience`.
pub fn clean_up(patience: Duration) {
    commands::end_all(patience);
    temporary::remove_all();
}
