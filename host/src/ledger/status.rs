//! Where each task is, in the states of the gate protocol.

mod state;

pub use state::TaskState;

use super::body::{Committed, Override, StepEnd, StepStart};
use super::history::{self, PastRun, RunEnding, TaskHistory};
use super::{Entry, EntryKind, Filter, Ledger, LedgerError, Project};
use crate::outcome::{Node, NodeKind, Outcome};
use crate::record::Record;
use crate::verdict::{Class, Status};
use serde::Serialize;
use std::collections::BTreeSet;

/// Where a task is, and how it got there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskStatus {
    /// The task; empty for work without one.
    pub task: String,
    /// Its title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Its state.
    pub gate_status: TaskState,
    /// Which step: 1 the executor, 2 the commands and rules, 3 the review.
    pub gate_step: u8,
    /// What the executor did: `pending`, `running`, `success`, `failure` or `blocked`.
    pub executor_status: &'static str,
    /// What the commands and rules said: `pending`, `running`, `passed`, `failed` or `skipped`.
    pub verify_status: &'static str,
    /// What the reviewer said: `pending`, `reviewing`, `approved`, `rejected` or `skipped`.
    pub architect_status: &'static str,
    /// When the first attempt began.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub started_at: String,
    /// When the last step was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_step_at: String,
    /// The number of the current attempt.
    pub attempt: u32,
    /// How many there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Why earlier attempts failed.
    pub previous_failures: Vec<String>,
    /// `complete (unverified)` or `complete (forced)`, if a person let it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden: Option<String>,
    /// Who let it through, why and when, if a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<SkipStatus>,
    /// The commit that contains the passed work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<String>,
    /// When each of the three steps last happened; empty if it did not.
    #[serde(skip)]
    pub step_times: [String; 3],
    /// Every state that it was in.
    #[serde(skip)]
    pub path: Vec<TaskState>,
}

/// How a task was let through without a pass. Nothing is committed for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkipStatus {
    /// Why.
    pub skip_reason: String,
    /// Who decided.
    pub skipped_by: String,
    /// When.
    pub skipped_at: String,
    /// Always true: the person who let it through commits it.
    pub requires_manual_commit: bool,
}

/// Returns the state of a task from its entries, in the order of their numbers.
pub fn of_task(task: &str, entries: &[Entry]) -> Result<TaskStatus, LedgerError> {
    let mut status = TaskStatus {
        task: task.to_owned(),
        name: String::new(),
        phase: None,
        gate_status: TaskState::Pending,
        gate_step: 1,
        executor_status: "pending",
        verify_status: "pending",
        architect_status: "pending",
        started_at: entries.first().map(|entry| entry.at.clone()).unwrap_or_default(),
        last_step_at: entries.last().map(|entry| entry.at.clone()).unwrap_or_default(),
        attempt: 1,
        max_attempts: None,
        previous_failures: Vec::new(),
        overridden: None,
        skip: None,
        commit_sha: None,
        step_times: Default::default(),
        path: vec![TaskState::Pending],
    };
    let runs = history::runs(entries)?;
    for entry in entries {
        match entry.kind {
            EntryKind::StepStarted => {
                let started: StepStart = entry.read()?;
                let alive = started.process.is_alive();
                match started.step.as_str() {
                    "executor" => {
                        let ended = entries.iter().any(|other| {
                            other.seq > entry.seq
                                && matches!(other.kind, EntryKind::StepEnded | EntryKind::CutOff)
                                && other.labels.run == entry.labels.run
                        });
                        status.step_times[0].clone_from(&entry.at);
                        status.executor_status = if ended || !alive { "failure" } else { "running" };
                        status.reach(TaskState::Executing);
                        if !ended && !alive {
                            status.reach(TaskState::Failed);
                        }
                    }
                    "verify" | "review" => {
                        let open = runs.iter().any(|run| run.run == entry.labels.run && run.record().is_none());
                        let reviewing = started.step == "review";
                        status.step_times[if reviewing { 2 } else { 1 }].clone_from(&entry.at);
                        if open && alive && reviewing {
                            status.reach(TaskState::Reviewing);
                            (status.verify_status, status.architect_status) = ("passed", "reviewing");
                        }
                    }
                    "gate" => {
                        status.step_times[1].clone_from(&entry.at);
                        if let Some(run) = runs.iter().find(|run| run.run == entry.labels.run) {
                            status.take(run);
                        }
                    }
                    _ => {}
                }
            }
            EntryKind::StepEnded => {
                let ended: StepEnd = entry.read()?;
                if ended.step == "executor" {
                    (status.executor_status, _) = match ended.outcome.as_str() {
                        "success" => ("success", ()),
                        "blocked" => ("blocked", status.reach(TaskState::Blocked)),
                        _ => ("failure", status.reach(TaskState::Failed)),
                    };
                }
            }
            EntryKind::Override => {
                let said: Override = entry.read()?;
                status.overridden = Some(said.word().to_owned());
                status.skip = Some(SkipStatus {
                    skip_reason: said.reason,
                    skipped_by: said.by,
                    skipped_at: entry.at.clone(),
                    requires_manual_commit: true,
                });
                status.reach(TaskState::Skipped);
            }
            EntryKind::Commit => status.commit_sha = Some(entry.read::<Committed>()?.commit_sha),
            _ => {}
        }
    }
    let history = TaskHistory::of_runs(entries, runs);
    status.attempt = match history.attempts() {
        // A pass ends the count; the attempts of its record led to it.
        0 if status.gate_status == TaskState::Approved => status.attempt,
        attempts => attempts.max(1),
    };
    status.previous_failures = history.runs.iter().filter(|run| !run.passed()).map(failure).collect();
    Ok(status)
}

/// Returns why a run failed, in one line.
pub fn failure(run: &PastRun) -> String {
    match &run.ending {
        RunEnding::Interrupted => "interrupted".to_owned(),
        RunEnding::Running => "still running".to_owned(),
        RunEnding::Recorded(record) => {
            let class = record.class.as_ref().map_or("", Class::as_str);
            let summary = record.checks().filter(|check| !matches!(check.outcome, Outcome::Pass | Outcome::Skipped));
            let summary = summary.filter_map(|check| {
                let verdict = check.verdict.as_ref()?;
                let first = verdict.findings.first().map(|finding| finding.message.clone());
                let said = first.or_else(|| verdict.error.as_ref().map(|error| error.message.clone()))?;
                Some(format!("{}: {said}", check.name))
            });
            let summary = summary.into_iter().next().unwrap_or_else(|| record.status.as_str().to_owned());
            let line = if class.is_empty() { summary } else { format!("{class}: {summary}") };
            crate::text::clean_line(&line, 200)
        }
    }
}

impl TaskStatus {
    /// Goes to a state by the steps of the protocol.
    fn reach(&mut self, state: TaskState) {
        if self.gate_status == state {
            return;
        }
        for step in self.gate_status.on_the_way(state) {
            self.gate_status = step;
            self.path.push(step);
        }
        self.gate_step = match self.gate_status {
            TaskState::Pending | TaskState::Executing => 1,
            TaskState::Verifying => 2,
            TaskState::Reviewing | TaskState::Approved | TaskState::Rejected => 3,
            TaskState::Failed | TaskState::Blocked | TaskState::Skipped => self.gate_step,
        };
    }

    /// Takes over the result of a run.
    fn take(&mut self, run: &PastRun) {
        self.reach(TaskState::Verifying);
        (self.overridden, self.skip, self.commit_sha) = (None, None, None);
        match &run.ending {
            RunEnding::Running => (self.verify_status, self.architect_status) = ("running", "pending"),
            RunEnding::Interrupted => {
                (self.verify_status, self.architect_status) = ("failed", "pending");
                self.reach(TaskState::Failed);
            }
            RunEnding::Recorded(record) => self.take_record(record),
        }
    }

    fn take_record(&mut self, record: &Record) {
        let task = record.task.as_ref();
        self.name = task.map(|task| task.title.clone()).unwrap_or_default();
        self.phase = task.and_then(|task| task.phase.clone());
        (self.attempt, self.max_attempts) = (record.attempt, record.attempts_allowed);
        if self.executor_status != "running" {
            self.executor_status = match &record.class {
                Some(Class::ExecutionFailure) => "failure",
                Some(Class::Blocked) => "blocked",
                _ => "success",
            };
        }
        let (rules, reviews): (Vec<&Node>, Vec<&Node>) = record
            .gate
            .walk()
            .filter(|node| node.kind == NodeKind::Check && !node.shadow)
            .partition(|node| !is_review(node));
        let passed = |nodes: &[&Node]| nodes.iter().any(|node| node.outcome == Outcome::Pass);
        let failed = |nodes: &[&Node]| {
            nodes.iter().any(|node| matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error))
        };
        let (fine, rejected) = (record.status == Status::Pass, record.class == Some(Class::ReviewRejection));
        self.verify_status = match () {
            () if fine && !passed(&rules) => "skipped",
            () if fine || rejected || (!failed(&rules) && failed(&reviews)) => "passed",
            () => "failed",
        };
        self.architect_status = match () {
            () if reviews.is_empty() => "skipped",
            () if passed(&reviews) && !failed(&reviews) => "approved",
            () if rejected || failed(&reviews) => "rejected",
            () if fine => "skipped",
            () => "pending",
        };
        self.reach(match (record.status, &record.class) {
            (Status::Pass, _) => TaskState::Approved,
            (_, Some(Class::Blocked)) => TaskState::Blocked,
            (_, Some(Class::ReviewRejection)) => TaskState::Rejected,
            _ => TaskState::Failed,
        });
    }
}

/// Returns whether a check is a review by a model or a person.
fn is_review(node: &Node) -> bool {
    !node.models.is_empty() || node.class == Some(Class::ReviewRejection)
}

/// How many of the last entries are looked at for a list of tasks, so that looking costs the same in a long ledger.
const WINDOW: u32 = 200;

/// Returns the states of the tasks that changed last, newest first; the first one with its whole history. Overrides that have
/// expired are ignored; `expired` has the numbers of their entries.
pub fn of_project(
    ledger: &dyn Ledger,
    project: &Project,
    expired: &BTreeSet<u64>,
) -> Result<Vec<TaskStatus>, LedgerError> {
    let entries = ledger.entries(&Filter { last: Some(WINDOW), ..Filter::of(project) })?;
    let mut tasks: Vec<(u64, String, Vec<Entry>)> = Vec::new();
    for entry in entries {
        if matches!(entry.kind, EntryKind::Prune | EntryKind::Note) || expired.contains(&entry.seq) {
            continue;
        }
        match tasks.iter_mut().find(|(_, task, _)| *task == entry.labels.task) {
            Some((seq, _, list)) => {
                *seq = entry.seq;
                list.push(entry);
            }
            None => tasks.push((entry.seq, entry.labels.task.clone(), vec![entry])),
        }
    }
    tasks.sort_by_key(|(seq, ..)| std::cmp::Reverse(*seq));
    if let Some((_, task, entries)) = tasks.first_mut().filter(|(_, task, _)| !task.is_empty()) {
        *entries = ledger.entries(&Filter { task: Some(task.clone()), ..Filter::of(project) })?;
        entries.retain(|entry| !expired.contains(&entry.seq));
    }
    tasks.iter().map(|(_, task, entries)| of_task(task, entries)).collect()
}
