//! What happens while a gate runs: owned and serialisable, one JSON document a line with `--events`. Data only.

use crate::outcome::{NodeKind, Outcome, VoteCount};
use crate::verdict::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number in the run, from 1.
    pub seq: u64,
    /// When it happened, counted from the start of the run.
    pub at_ms: f64,
    /// The identifier of the run.
    pub run: String,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum What {
    /// A run began: the plan is resolved, and it is known what is judged.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The gate.
        gate: String,
        /// The digest of the plan.
        plan: String,
        /// How many files are there to be judged.
        files: usize,
        /// The members of the gate, in order.
        members: Vec<String>,
    },
    /// A check or a gate began. A path is the names from the gate down, joined by `/`.
    #[serde(rename = "check.started")]
    CheckStarted {
        /// Which.
        path: String,
        /// What it is.
        kind: NodeKind,
    },
    /// So many of a check's files are done.
    #[serde(rename = "files.done")]
    FilesDone {
        /// Which check.
        check: String,
        /// How many are done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// It is known what became of a check or a gate, whether it began or not.
    #[serde(rename = "check.ended")]
    CheckEnded {
        /// Which.
        path: String,
        /// What it is.
        kind: NodeKind,
        /// What became of it.
        outcome: Outcome,
        /// Why it was skipped, or how its outcome came about.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// How many findings it has.
        findings: usize,
        /// How long it took.
        duration_ms: f64,
    },
    /// A vote is decided.
    #[serde(rename = "vote.settled")]
    VoteSettled {
        /// Which.
        path: String,
        /// How it was counted.
        vote: VoteCount,
    },
    /// A verifier has to be compiled first, which can take seconds.
    #[serde(rename = "compiling")]
    Compiling {
        /// The verifier.
        verifier: String,
        /// The size of the component, in bytes.
        bytes: usize,
    },
    /// A verifier logged a line.
    #[serde(rename = "log")]
    Logged {
        /// The check.
        check: String,
        /// `debug`, `info`, `warn` or `error`.
        severity: String,
        /// The line.
        message: String,
    },
    /// The run is over.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// What it came to.
        status: Status,
        /// How long it took.
        duration_ms: f64,
    },
}

/// Told of what happens in a run.
///
/// Called from within the run, by several threads, one at a time, and so must return at once.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event);
}

/// Nobody watches.
impl Observer for () {
    fn event(&self, _: &Event) {}
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn event(&self, event: &Event) {
        self(event);
    }
}
