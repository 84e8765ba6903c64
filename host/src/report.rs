//! What people and programs read afterwards. Renders a [`Record`] to a writer, and decides nothing.

mod human;
mod json;

pub use human::{Style, human};
pub use json::{json, mistake};

use crate::outcome::Outcome;
use crate::record::Record;

/// How many checks had each outcome, most serious first; outcomes that no check had are left out.
fn counts(record: &Record) -> Vec<(Outcome, usize)> {
    use Outcome::{Abstain, Error, Fail, NotApplicable, NotNeeded, NotReached, Pass, Skipped};
    [Fail, Error, Abstain, Pass, NotApplicable, Skipped, NotReached, NotNeeded]
        .into_iter()
        .map(|outcome| (outcome, record.checks().filter(|check| check.outcome == outcome).count()))
        .filter(|(_, count)| *count > 0)
        .collect()
}
