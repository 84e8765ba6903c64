//! What people and programs read afterwards. Renders to a writer, decides nothing.

mod human;
mod json;

pub use human::{Style, human};
pub(crate) use json::Document;
pub use json::{SCHEMA_VERSION, json};

use crate::outcome::{Node, NodeKind, Outcome};
use crate::verdict::Status;
use std::time::Duration;

/// A finished run.
#[derive(Debug)]
pub struct Report<'a> {
    /// The gate and all its members.
    pub gate: &'a Node,
    /// The digest of the plan that decided the run.
    pub plan: Option<&'a str>,
    /// The commit that the changes are relative to.
    pub base: Option<&'a str>,
    /// How many files were there to be judged.
    pub files: usize,
    /// Whether models answered from a tape.
    pub replayed: bool,
    /// How long it took.
    pub duration: Duration,
}

impl Report<'_> {
    /// What the run came to. A gate in which nothing ran has not passed.
    pub fn status(&self) -> Status {
        self.gate.outcome.status().unwrap_or(Status::Abstain)
    }

    /// How many checks had each outcome, most serious first; outcomes that no check had are left out.
    fn counts(&self) -> Vec<(Outcome, usize)> {
        use Outcome::{Abstain, Error, Fail, NotNeeded, NotReached, Pass, Skipped};
        let checks: Vec<&Node> = self.gate.walk().filter(|node| node.kind == NodeKind::Check).collect();
        [Fail, Error, Abstain, Pass, Skipped, NotReached, NotNeeded]
            .into_iter()
            .map(|outcome| (outcome, checks.iter().filter(|check| check.outcome == outcome).count()))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
