//! Events of a running gate: owned and serialisable; `--events` writes one JSON document per line. Data only.

use crate::outcome::{NodeKind, Outcome, VoteCount};
use crate::verdict::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Event {
    /// Its number in the run, from 1.
    pub seq: u64,
    /// When it happened, counted from the start of the run.
    pub at_ms: f64,
    /// The identifier of the run. For events of a loop, that of the loop.
    pub run: String,
    /// The identifier of the loop around the run.
    #[serde(rename = "loop", default, skip_serializing_if = "Option::is_none")]
    pub of_loop: Option<String>,
    /// The attempt of the loop, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum EventKind {
    /// A run started. The plan is resolved, and the files are selected.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The gate.
        gate: String,
        /// The digest of the plan.
        plan: String,
        /// How many files are selected.
        files: usize,
        /// The members of the gate, in order.
        members: Vec<String>,
    },
    /// A check or a gate started. Its path is the names from the outermost gate down, joined by `/`.
    #[serde(rename = "check.started")]
    CheckStarted {
        /// The path of the check or gate.
        path: String,
        /// What it is.
        kind: NodeKind,
    },
    /// Some files of a check are done.
    #[serde(rename = "files.done")]
    FilesDone {
        /// Which check.
        check: String,
        /// How many are done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// A check or a gate ended, or was skipped.
    #[serde(rename = "check.ended")]
    CheckEnded {
        /// The path of the check or gate.
        path: String,
        /// What it is.
        kind: NodeKind,
        /// The outcome.
        outcome: Outcome,
        /// Why it was skipped, or how the outcome came about.
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
        /// The path of the vote.
        path: String,
        /// The count.
        vote: VoteCount,
    },
    /// A verifier is being compiled, which can take seconds.
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
    /// A loop started.
    #[serde(rename = "loop.started")]
    LoopStarted {
        /// The gate.
        gate: String,
        /// The digest of the plan, the same for every attempt.
        plan: String,
        /// The commit that the work is compared with.
        base: String,
        /// The executor and its arguments.
        executor: Vec<String>,
        /// How often the work is sent back at most.
        max_bounces: u32,
    },
    /// The executor was started.
    #[serde(rename = "executor.started")]
    ExecutorStarted {
        /// The time limit.
        timeout_ms: f64,
    },
    /// The executor ended, with everything that it started.
    #[serde(rename = "executor.ended")]
    ExecutorEnded {
        /// `success`, `failure`, `timeout` or `killed`.
        outcome: String,
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// How long it took.
        duration_ms: f64,
    },
    /// The evaluator was started.
    #[serde(rename = "evaluator.started")]
    EvaluatorStarted {
        /// Which evaluation of the work it is, from 1.
        iteration: u32,
    },
    /// The evaluator ended.
    #[serde(rename = "evaluator.ended")]
    EvaluatorEnded {
        /// `success`, `failure`, `timeout`, `no-verdict`, `evaluator.wrote`, …
        outcome: String,
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// How long it took.
        duration_ms: f64,
    },
    /// Fixes that verifiers offer were applied to the work.
    #[serde(rename = "fixed")]
    Fixed {
        /// The files.
        files: Vec<String>,
    },
    /// An interrupted loop continues.
    #[serde(rename = "loop.resumed")]
    LoopResumed {
        /// How many attempts there were before.
        attempts: u32,
        /// How often the work was sent back before.
        bounces: u32,
    },
    /// A check of the gate of a loop ended.
    #[serde(rename = "verification")]
    Verification {
        /// The check.
        check: String,
        /// The outcome.
        outcome: Outcome,
        /// How the outcome came about.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// How many findings it has.
        findings: usize,
    },
    /// The work goes back to the executor.
    #[serde(rename = "bounce")]
    Bounce {
        /// Its number, from 1.
        number: u32,
        /// How many there may be.
        allowed: u32,
        /// The class of the failure.
        class: String,
        /// The digest of the failure.
        failure: String,
        /// The feedback for the executor.
        feedback: String,
    },
    /// Human review is needed.
    #[serde(rename = "escalation")]
    Escalation {
        /// `notify` or `halt`.
        level: String,
        /// The trigger, as a word.
        trigger: String,
        /// The reason, for a person.
        why: String,
    },
    /// The loop ended.
    #[serde(rename = "loop.ended")]
    LoopEnded {
        /// `completed`, `verification_failed`, `blocked`, `escalated`, `halted` or `interrupted`.
        state: String,
        /// The reason.
        why: String,
        /// Which budget ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<String>,
        /// How many attempts there were.
        attempts: u32,
        /// How often the work was sent back.
        bounces: u32,
        /// How long it took.
        duration_ms: f64,
    },
    /// The run ended.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// The result.
        status: Status,
        /// How long it took.
        duration_ms: f64,
    },
}

/// Receives the events of a run.
///
/// Called by several threads of the run, one at a time. It must return at once.
pub trait Observer: Send + Sync {
    /// Receives one event.
    fn event(&self, event: &Event);
}

/// Ignores all events.
impl Observer for () {
    fn event(&self, _: &Event) {}
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn event(&self, event: &Event) {
        self(event);
    }
}
