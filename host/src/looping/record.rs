//! The record of a loop, its one result, like [`crate::record::Record`] for a run.

use crate::record::{Mark, PolicyRecord, Record, TaskRecord};
use crate::submission::Printed;
use crate::verdict::{Class, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The version of the shape of the record of a loop.
const VERSION: u32 = 1;

/// How a loop ended. Every loop ends in one of these, and only the first is a success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The gate passed.
    Completed,
    /// A budget was used up before the gate passed.
    VerificationFailed,
    /// The work waits for something else.
    Blocked,
    /// A person is needed.
    Escalated,
    /// The whole project waits for a person.
    Halted,
    /// A signal interrupted it.
    #[default]
    Interrupted,
}

impl State {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::VerificationFailed => "verification_failed",
            Self::Blocked => "blocked",
            Self::Escalated => "escalated",
            Self::Halted => "halted",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the exit code of `gate loop`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::VerificationFailed => 1,
            Self::Blocked | Self::Escalated | Self::Halted => 3,
            Self::Interrupted => 130,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Everything about one loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LoopRecord {
    /// The version of this shape.
    pub version: u32,
    /// The identifier of the loop, in the order of time. Entries of the ledger have it as their session.
    pub id: String,
    /// How it ended.
    pub state: State,
    /// Why.
    pub why: String,
    /// Which budget ended it: `max_bounces`, `stop_when_unchanged`, `retries`, `same-task`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The gate.
    pub gate: String,
    /// The digest of the plan, which was the same for every attempt.
    pub plan: String,
    /// Where the configuration came from, which was read once.
    pub policy: PolicyRecord,
    /// The commit that the work was compared with.
    pub base: String,
    /// The task, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRecord>,
    /// The executor and its arguments.
    pub executor: Vec<String>,
    /// When it began, in UTC.
    pub started: String,
    /// How long it took.
    #[serde(
        rename = "duration_ms",
        serialize_with = "crate::outcome::milliseconds",
        deserialize_with = "crate::outcome::from_milliseconds"
    )]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// How often the work was sent back.
    pub bounces: u32,
    /// How often it may be sent back.
    pub bounces_allowed: u32,
    /// The attempts, in order.
    pub attempts: Vec<AttemptRecord>,
    /// Warnings, if it completed although not everything passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How often it was resumed after an interruption.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed: u32,
    /// The commit of the work, with `--commit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// With `--runs`, the independent loops that were compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<IndependentRun>,
    /// The record of the last run of the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
}

impl Default for LoopRecord {
    fn default() -> Self {
        Self {
            version: VERSION,
            id: String::new(),
            state: State::default(),
            why: String::new(),
            budget: None,
            gate: String::new(),
            plan: String::new(),
            policy: PolicyRecord::default(),
            base: String::new(),
            task: None,
            executor: Vec::new(),
            started: String::new(),
            duration: Duration::ZERO,
            bounces: 0,
            bounces_allowed: 0,
            attempts: Vec::new(),
            warnings: Vec::new(),
            resumed: 0,
            commit: None,
            runs: Vec::new(),
            record: None,
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl LoopRecord {
    /// Returns whether the gate passed without a relaxation, so that the work may be committed. A pass that is only weak,
    /// because a reviewer had concerns or was not entirely sure, may be committed too.
    pub fn may_be_committed(&self) -> bool {
        let is_plain = |record: &Record| record.marks.iter().all(|mark| *mark == Mark::Weak);
        let passed = self.record.as_ref().is_some_and(|record| record.status == Status::Pass && is_plain(record));
        let replayed = self.attempts.iter().filter_map(|attempt| attempt.evaluator.as_ref()).any(|run| run.replayed);
        self.state == State::Completed && passed && self.warnings.is_empty() && !replayed
    }
}

/// One of several independent loops over the same task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct IndependentRun {
    /// The identifier of its loop.
    pub id: String,
    /// How it ended.
    pub state: State,
    /// How many attempts it took.
    pub attempts: u32,
    /// The digest of its result; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// One run of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct EvaluatorRun {
    /// `success`, `failure`, `timeout`, `killed`, `no-verdict`, `not-started`, `evaluator.wrote` or `evaluator.session`.
    pub outcome: String,
    /// Its exit code; `None` after a signal or a timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: f64,
    /// How it was confined: `landlock` or `namespaces`.
    pub sandbox: String,
    /// The model, as the transcript says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session, as the transcript says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The tokens that it read and wrote, as the transcript says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What it cost in US dollars, as the transcript says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether it was replayed from another loop.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// Its number, from 1.
    pub number: u32,
    /// How the executor ended.
    pub executor: ExecutorRun,
    /// The run of the gate; `None` if the executor failed, so that there was nothing to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The result of the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Which kind of failure it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The digest of the failure. Two attempts with the same digest failed in the same way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
    /// How the evaluator ended, if one is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator: Option<EvaluatorRun>,
    /// Which review of the work it was, from 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub review: u32,
    /// The files to which fixes of verifiers were applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
    /// The fix tasks for the findings of a reviewer, as blocks of a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix_tasks: Vec<String>,
    /// The tokens of the executor, the evaluator and the models of the gate, as far as they are reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Their cost, as far as it is reported and prices are configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What was done next: `done`, `retry`, `escalate` or `stop`.
    pub next: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl AttemptRecord {
    /// Returns the class of the failure, as a word.
    pub fn class_word(&self) -> &str {
        self.class.as_ref().map_or("", Class::as_str)
    }
}

/// One run of an executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ExecutorRun {
    /// `success`, `failure`, `timeout`, `killed`, `out-of-turns`, `not-started`, `lost` or `interrupted`.
    pub outcome: String,
    /// Its exit code; `None` after a signal or a timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long it took.
    pub duration_ms: f64,
    /// Length and digest of its stdout.
    pub stdout: Printed,
    /// `claude-code`, `codex` or `gemini`, if its output is the transcript of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model, as the transcript says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session, as the transcript says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The tokens that it read, as the transcript says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The tokens that it wrote, as the transcript says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What it cost in US dollars, as the transcript says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl ExecutorRun {
    /// Returns how it ended, in words.
    pub(super) fn ending(&self, limit: Duration) -> String {
        match (self.outcome.as_str(), self.exit_code, self.signal) {
            ("interrupted", ..) => "was interrupted".to_owned(),
            ("out-of-turns", ..) => "used up its turns before it was done".to_owned(),
            (_, Some(0), _) => "ended before it was done, as its transcript says".to_owned(),
            ("timeout", ..) => format!("did not end within {}", crate::config::show_duration(limit)),
            (_, Some(code), _) => format!("ended with exit code {code}"),
            (_, None, Some(signal)) => format!("was killed by signal {signal}"),
            _ => "did not end by itself".to_owned(),
        }
    }
}

/// The end of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LoopEnd {
    pub(super) state: State,
    pub(super) why: String,
    pub(super) budget: Option<String>,
    /// Why human review is needed, as a word, if it is.
    pub(super) trigger: Option<String>,
    /// Warnings, if it completed although not everything passed.
    pub(super) warnings: Vec<String>,
}

impl LoopEnd {
    pub(super) fn new(state: State, why: impl Into<String>, budget: Option<&str>) -> Self {
        Self { state, why: why.into(), budget: budget.map(str::to_owned), ..Self::default() }
    }

    /// Returns an end that needs human review.
    pub(super) fn escalated(state: State, trigger: &str, why: impl Into<String>) -> Self {
        Self { trigger: Some(trigger.to_owned()), ..Self::new(state, why, Some(trigger)) }
    }

    /// Returns a completion with warnings, which a setting allows although not everything passed.
    pub(super) fn with_warnings(why: impl Into<String>, by: &str, warnings: Vec<String>) -> Self {
        Self { warnings, ..Self::new(State::Completed, why, Some(by)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_completed_exits_with_0() {
        use State::{Blocked, Completed, Escalated, Halted, Interrupted, VerificationFailed};
        let codes = [Completed, VerificationFailed, Blocked, Escalated, Halted, Interrupted].map(State::exit_code);
        assert_eq!(codes, [0, 1, 3, 3, 3, 130]);
        assert_eq!(LoopRecord::default().state, State::Interrupted, "what nobody ended is no success");
    }
}
