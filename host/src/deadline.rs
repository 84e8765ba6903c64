//! When a run must end. The host's own long work asks between its steps, and stops when the time is over.

use crate::config::show_duration;
use crate::verdict::{ErrorKind, Failure};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The deadline of a run, shared by all its parts. It counts from the request, and is unknown until the configuration is read:
/// until then nothing is late.
#[derive(Clone, Debug)]
pub(crate) struct Deadline(Arc<State>);

#[derive(Debug)]
struct State {
    /// When the request began.
    start: Instant,
    end: Mutex<Option<End>>,
}

#[derive(Clone, Debug)]
struct End {
    at: Instant,
    late: Late,
}

/// The deadline of a gate has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    gate: String,
    limit: Duration,
}

impl Default for Deadline {
    /// Returns a deadline that is not known.
    fn default() -> Self {
        Self::from_now()
    }
}

impl From<Instant> for Deadline {
    /// Returns the deadline of a request that began then.
    fn from(start: Instant) -> Self {
        Self(Arc::new(State { start, end: Mutex::new(None) }))
    }
}

impl Deadline {
    /// Returns the deadline of a request that begins now.
    pub(crate) fn from_now() -> Self {
        Self::from(Instant::now())
    }

    /// Sets the time limit of a gate. The time that was spent on compiling does not count.
    pub(crate) fn set(&self, gate: &str, limit: Duration, compiling: Duration) {
        let at = self.0.start + limit + compiling;
        *self.0.end.lock() = Some(End { at, late: Late { gate: gate.to_owned(), limit } });
    }

    /// Ends the time now, because nobody waits any more.
    #[cfg(feature = "commands")]
    pub(crate) fn end(&self) {
        let late = Late { gate: String::new(), limit: Duration::ZERO };
        *self.0.end.lock() = Some(End { at: self.0.start, late });
    }

    /// Returns a deadline for a part of the work: this one, or after this time, if that is earlier.
    pub(crate) fn no_later_than(&self, time: Duration) -> Self {
        let part = Self::from_now();
        part.set("", time, Duration::ZERO);
        let whole = self.0.end.lock().clone();
        if let Some(whole) = whole.filter(|whole| part.at().is_some_and(|at| whole.at < at)) {
            *part.0.end.lock() = Some(whole);
        }
        part
    }

    /// Returns when the time is over, if that is known.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.end.lock().as_ref().map(|end| end.at)
    }

    /// Returns `Err` if the time is over.
    pub(crate) fn check(&self) -> Result<(), Late> {
        match &*self.0.end.lock() {
            Some(end) if Instant::now() >= end.at => Err(end.late.clone()),
            _ => Ok(()),
        }
    }

    /// Returns whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.check().is_err()
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the gate `{}` took more than {}", self.gate, show_duration(self.limit))
    }
}

impl std::error::Error for Late {}

impl From<Late> for Failure {
    fn from(late: Late) -> Self {
        Self::new(ErrorKind::LimitTime, late.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_late_until_the_limit_is_known() {
        let deadline = Deadline::from_now();
        let shared = deadline.clone();
        assert_eq!((deadline.check(), deadline.at()), (Ok(()), None));
        shared.set("g", Duration::ZERO, Duration::ZERO);
        let late = deadline.check().expect_err("over");
        assert_eq!(late.to_string(), "the gate `g` took more than 0s");
        assert_eq!(Failure::from(late).kind, ErrorKind::LimitTime);
    }

    #[test]
    fn a_part_ends_with_the_whole_or_earlier() {
        let hour = Duration::from_secs(3_600);
        let whole = Deadline::from_now();
        assert!(whole.no_later_than(Duration::ZERO).is_over() && !whole.no_later_than(hour).is_over());
        whole.set("g", Duration::ZERO, Duration::ZERO);
        assert_eq!(whole.no_later_than(hour).check(), whole.check());
    }

    #[test]
    fn compiling_does_not_count() {
        let deadline = Deadline::from_now();
        deadline.set("g", Duration::ZERO, Duration::from_secs(600));
        assert_eq!(deadline.check(), Ok(()));
        deadline.set("other", Duration::ZERO, Duration::ZERO);
        assert!(deadline.is_over(), "another configuration counts now");
    }
}
