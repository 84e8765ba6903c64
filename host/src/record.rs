//! The record of a run: the one result that is stored, printed as JSON, and rendered by every report. Data only.
//!
//! Field names are frozen. Within a version, fields are only added. The record contains everything that was cached, relaxed,
//! skipped or replayed, whatever a report shows.

use crate::outcome::{Node, NodeKind, Outcome, Severity, SkipReason};
use crate::submission::{Executor, Task, TaskSource};
use crate::verdict::{Class, Level, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the record format.
pub const VERSION: u32 = 1;

/// Everything about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Record {
    /// The version of this format.
    pub version: u32,
    /// The identifier of the run. Identifiers sort by time.
    pub run: String,
    /// The result of the run.
    pub status: Status,
    /// Which kind of failure it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The severity of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The confidence in the status, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Marks that qualify the status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// When the run began, in UTC.
    pub started: String,
    /// How long it took.
    #[serde(
        rename = "duration_ms",
        serialize_with = "crate::outcome::milliseconds",
        deserialize_with = "crate::outcome::from_milliseconds"
    )]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// The `gate` that ran it.
    pub host: HostBuild,
    /// Which files were selected.
    pub selection: SelectionRecord,
    /// The commit that the changes are relative to.
    #[serde(default)]
    pub base: Option<String>,
    /// The digest of the checked files: `sha256:` and hexadecimal digits, over the path, mode and SHA-256 of every file.
    #[serde(default)]
    pub tree: Option<String>,
    /// Where the configuration came from.
    pub policy: PolicyRecord,
    /// The digest of the plan that decided the run.
    pub plan: String,
    /// The digest of `[retry]` and `[escalation]`, which do not decide whether the work passes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub retry: String,
    /// The task, abbreviated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRecord>,
    /// The tasks without a pass that this task depends on, if it is blocked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// How many attempts there may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_allowed: Option<u32>,
    /// The executor that did the work.
    pub executor: Executor,
    /// How many files were selected.
    pub files: usize,
    /// The files that no check judged, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
    /// Settings of the configuration that have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Inputs, and answers of commands and models, that were not stored with the run, because they exceed `[limits]` of gate.toml. Such a run
    /// cannot be replayed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_stored: Vec<NotStored>,
    /// The feedback for the author of the work; absent after a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The gate and all its members.
    pub gate: Node,
}

/// Answers that a check got from commands or models, or the inputs of the run, that were not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotStored {
    /// The check; empty for the inputs of the run.
    pub check: String,
    /// `commands`, `models` or `inputs`.
    pub kind: String,
    /// How many results or answers.
    pub results: u64,
    /// Their size in bytes, as a recording has them.
    pub bytes: u64,
}

impl std::fmt::Display for NotStored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { check, kind, results, bytes } = self;
        if kind == "inputs" {
            return write!(f, "the inputs of the run ({bytes} bytes)");
        }
        let what = if kind == "models" { "answers of models" } else { "results of commands" };
        write!(f, "{results} {what} of the check `{check}` ({bytes} bytes)")
    }
}

/// A mark that qualifies a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mark {
    /// It passed with warnings, or with less than full confidence.
    Weak,
    /// It depends on a relaxation in the configuration.
    Relaxed,
    /// A member in shadow mode would have decided otherwise.
    Shadowed,
    /// Runs of a check disagreed.
    Flaky,
    /// Answers of models or results of commands were replayed from another run.
    Replayed,
    /// No check applies to the change.
    NothingToCheck,
    /// A check was skipped because the author of the change said so.
    AuthorsWord,
    /// A check was excluded by a flag of the caller.
    LeftOut,
    /// Human review is needed.
    NeedsPerson,
}

impl Mark {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Relaxed => "relaxed",
            Self::Shadowed => "shadowed",
            Self::Flaky => "flaky",
            Self::Replayed => "replayed",
            Self::NothingToCheck => "nothing-to-check",
            Self::AuthorsWord => "authors-word",
            Self::LeftOut => "left-out",
            Self::NeedsPerson => "needs-person",
        }
    }
}

/// The `gate` that ran a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct HostBuild {
    /// Its version.
    pub version: String,
    /// A digest of its source code.
    pub build: String,
    /// The version of the contract that it supports.
    pub contract: String,
}

/// Which files were selected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SelectionRecord {
    /// `changed`, `staged`, `all`, `files`, `between`, `since` or `base` (exactly that commit).
    pub kind: String,
    /// The first commit, as the caller named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The second commit, as the caller named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The files, as the caller named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// Where a configuration came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PolicyRecord {
    /// `file`, `above` (a file in a folder above), `default` (the default gate), `flags` (verifiers that the caller named)
    /// or `base` (the base commit).
    pub source: String,
    /// The name that messages use.
    pub name: String,
    /// SHA-256 of the file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The commit that the configuration was read from, or that contains the same configuration. The author of the change
    /// did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A task, abbreviated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TaskRecord {
    /// Its identifier.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// One line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The phase of the task before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_phase: Option<String>,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its position in the plan, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// How many tasks the plan has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Who vouches for it: `author`, `caller` or `plan`.
    pub source: String,
}

impl From<&Task> for TaskRecord {
    fn from(task: &Task) -> Self {
        let source = match task.source {
            TaskSource::Author => "author",
            TaskSource::Caller => "caller",
            TaskSource::Plan => "plan",
        };
        Self {
            id: task.id.clone(),
            title: title(task),
            phase: task.phase.clone(),
            previous_phase: task.previous_phase.clone(),
            group: task.group.clone(),
            index: task.index,
            total: task.total,
            source: source.to_owned(),
        }
    }
}

/// Returns the title of a task; without one, the first line of its description.
fn title(task: &Task) -> String {
    if !task.title.is_empty() {
        return task.title.clone();
    }
    let first = task.description.lines().map(str::trim).find(|line| !line.is_empty());
    first.map(|line| crate::text::clean_line(line, 200)).unwrap_or_default()
}

/// A file that no check judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Unjudged {
    /// The path.
    pub path: String,
    /// Why: `no check selects it`, or what the verifiers that matched it said.
    pub reason: String,
}

/// The document that `--format json` prints after a usage, configuration or input error, when there was no run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MistakeDocument {
    /// The version of this shape.
    pub version: u32,
    /// Always `mistake`, or `error` if the machine is at fault.
    pub status: String,
    /// The exit code.
    pub exit: u8,
    /// What is wrong.
    pub errors: Vec<MistakeEntry>,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MistakeEntry {
    /// The kind of error: `usage`, `configuration`, `input`, `component` or `host`.
    pub kind: String,
    /// What is wrong.
    pub message: String,
    /// The causes, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Returns the marks of the status of a gate.
pub fn marks(gate: &Node) -> Vec<Mark> {
    let checks = || gate.walk().filter(|node| node.kind == NodeKind::Check && !node.shadow);
    let warned = |node: &Node| {
        node.verdict.iter().flat_map(|verdict| &verdict.findings).any(|finding| finding.level == Level::Warning)
    };
    let passed = gate.outcome == Outcome::Pass;
    let unsure = gate.confidence.is_some_and(|confidence| confidence < 1.0);
    let shadowed =
        |node: &Node| node.shadow && matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error);
    let left_out = |node: &Node| node.skipped == Some(SkipReason::LeftOut);
    let replayed = gate.walk().any(|node| {
        node.models.iter().any(|model| model.replayed) || node.commands.iter().any(|command| command.replayed)
    });
    let marks = [
        (Mark::Weak, passed && (unsure || checks().any(warned))),
        (Mark::Relaxed, !gate.relaxed.is_empty() || passed && gate.walk().any(left_out)),
        (Mark::Shadowed, passed && gate.walk().any(shadowed)),
        (Mark::Flaky, gate.walk().any(|node| node.flaky)),
        (Mark::Replayed, replayed),
        (Mark::NothingToCheck, gate.nothing_to_check),
        (Mark::AuthorsWord, gate.outcome != Outcome::Fail && gate.walk().any(Node::rests_on_author)),
        (Mark::LeftOut, gate.walk().any(left_out)),
        (Mark::NeedsPerson, gate.escalated),
    ];
    marks.into_iter().filter(|(_, holds)| *holds).map(|(mark, _)| mark).collect()
}

impl Record {
    /// Returns the record of a run with this result. All other fields are empty.
    pub(crate) fn of(gate: Node) -> Self {
        Self {
            version: VERSION,
            run: String::new(),
            // A gate in which nothing ran has not passed.
            status: gate.outcome.status().unwrap_or(Status::Abstain),
            class: gate.class.clone(),
            severity: gate.severity,
            confidence: gate.confidence,
            marks: marks(&gate),
            started: String::new(),
            duration: Duration::ZERO,
            host: HostBuild::default(),
            selection: SelectionRecord::default(),
            base: None,
            tree: None,
            policy: PolicyRecord::default(),
            plan: String::new(),
            retry: String::new(),
            task: None,
            blocked_by: Vec::new(),
            attempt: 1,
            attempts_allowed: None,
            executor: Executor::default(),
            files: 0,
            unjudged: Vec::new(),
            warnings: Vec::new(),
            not_stored: Vec::new(),
            feedback: None,
            gate,
        }
    }

    /// Returns the checks, in the order of the gate.
    pub fn checks(&self) -> impl Iterator<Item = &Node> {
        self.gate.walk().filter(|node| node.kind == NodeKind::Check)
    }
}
