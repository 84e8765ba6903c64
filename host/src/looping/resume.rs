//! Reads an interrupted loop back from the ledger, to continue it.
//!
//! Every step is recorded before it begins and when it has ended. A step that began and did not end counts as an attempt,
//! and never as a pass. A verdict counts only if the work has not changed since.

use super::record::{AttemptRecord, EvaluatorRun, ExecutorRun, LoopEnd};
use crate::error::Error;
use crate::ledger::body::{Attempt, Bounce, Note, Process, StepEnd, StepStart};
use crate::ledger::{Entry, EntryKind, Filter, Ledger, Project};
use crate::record::{PolicyRecord, Record};
use crate::session::Pinned;
use crate::taskplan::PlannedTask;
use crate::verdict::Status;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A loop that began and did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptedLoop {
    /// Its identifier.
    pub id: String,
    /// The arguments that it was started with.
    pub arguments: Vec<String>,
    /// The task; empty if there was none.
    pub task: String,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// The commit that its work is compared with.
    pub base: String,
    /// When it began, in UTC.
    pub started: String,
    /// Whether its process still runs.
    pub is_running: bool,
    /// Whether no other loop of the project began after it.
    pub is_latest: bool,
}

/// Returns the open tasks of a plan in order: those that are neither marked as done in the plan nor passed, according to
/// the ledger, under the same title.
pub fn open_tasks(
    ledger: Option<&dyn Ledger>,
    project: &Project,
    tasks: &[PlannedTask],
) -> Result<Vec<PlannedTask>, Error> {
    let mut open = Vec::new();
    for planned in tasks.iter().filter(|planned| !planned.checked) {
        let passed = match ledger {
            None => false,
            Some(ledger) => {
                let runs = Filter {
                    task: Some(planned.task.id.clone()),
                    last: Some(1),
                    ..Filter::of(project).kinds(&[EntryKind::Run])
                };
                let last = ledger.entries(&runs)?.pop().map(|entry| entry.record()).transpose()?;
                let is_same =
                    |record: &Record| record.task.as_ref().is_some_and(|task| task.title == planned.task.title);
                last.is_some_and(|record| record.status == Status::Pass && is_same(&record))
            }
        };
        if !passed {
            open.push(planned.clone());
        }
    }
    Ok(open)
}

/// Returns the loops of a project that began and did not end, oldest first.
pub fn interrupted(ledger: &dyn Ledger, project: &Project) -> Result<Vec<InterruptedLoop>, Error> {
    let kinds = [EntryKind::StepStarted, EntryKind::StepEnded, EntryKind::Note];
    let mut loops: BTreeMap<String, InterruptedLoop> = BTreeMap::new();
    let mut running: BTreeMap<String, Process> = BTreeMap::new();
    for entry in ledger.entries(&Filter::of(project).kinds(&kinds))? {
        let id = entry.labels.session.clone();
        match entry.kind {
            EntryKind::StepStarted => {
                let started: StepStart = entry.read()?;
                if started.step == "loop" {
                    running.insert(id, started.process);
                }
            }
            EntryKind::Note => {
                let details = entry.read::<Note>()?.details;
                if details.get("loop").and_then(Value::as_str) == Some(id.as_str()) && details.contains_key("arguments")
                {
                    let found = InterruptedLoop {
                        arguments: part(&details, "arguments").unwrap_or_default(),
                        task: part(&details, "task").unwrap_or_default(),
                        folder: part(&details, "folder").unwrap_or_default(),
                        base: part(&details, "base").unwrap_or_default(),
                        started: part(&details, "started").unwrap_or_default(),
                        is_running: false,
                        is_latest: false,
                        id: id.clone(),
                    };
                    loops.insert(id, found);
                }
            }
            EntryKind::StepEnded if entry.read::<StepEnd>()?.step == "loop" => drop(loops.remove(&id)),
            _ => {}
        }
    }
    for (id, found) in &mut loops {
        found.is_running = running.get(id).is_some_and(Process::is_alive);
        // Identifiers sort by time.
        found.is_latest = running.keys().next_back() == Some(id);
    }
    Ok(loops.into_values().collect())
}

fn part<T: DeserializeOwned>(details: &BTreeMap<String, Value>, name: &str) -> Option<T> {
    serde_json::from_value(details.get(name)?.clone()).ok()
}

/// The progress of an interrupted loop.
#[derive(Debug, Default)]
pub(super) struct Reached {
    pub(super) base: String,
    /// The digest of the work before the loop.
    pub(super) before: Option<String>,
    pub(super) started: String,
    /// The number of its first entry.
    pub(super) began: u64,
    /// How often it was resumed before.
    pub(super) resumed: u32,
    plan: String,
    policy: PolicyRecord,
    pub(super) executor: Vec<String>,
    pub(super) attempts: Vec<AttemptRecord>,
    /// The records of the checked attempts.
    pub(super) records: Vec<(u32, Record)>,
    pub(super) bounces: u32,
    /// The last feedback for the executor.
    pub(super) feedback: String,
    /// What follows the last attempt, if no other attempt has begun.
    pub(super) after: After,
    /// The attempt that has begun and not ended.
    pub(super) open: Option<OpenAttempt>,
}

/// What follows an attempt.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum After {
    /// The next attempt.
    #[default]
    Attempt,
    /// The work must be sent back first.
    Bounce,
    /// The loop ends.
    End(LoopEnd),
}

/// An attempt that has begun.
#[derive(Debug, Default)]
pub(super) struct OpenAttempt {
    pub(super) number: u32,
    /// How the executor ended, if it did.
    pub(super) executor: Option<ExecutorRun>,
    /// How the evaluator ended, if it began. An interrupted evaluation counts.
    pub(super) evaluator: Option<EvaluatorRun>,
    /// The record of the gate run, if it is stored.
    pub(super) record: Option<Record>,
}

impl Reached {
    /// Reads the progress of a loop. A loop that has ended, or that still runs, cannot be resumed.
    pub(super) fn read(ledger: &dyn Ledger, project: &Project, id: &str) -> Result<Self, Error> {
        let filter = Filter { session: Some(id.to_owned()), ..Filter::of(project) };
        let entries = ledger.entries(&filter)?;
        let mut reached = Self::default();
        let mut process = None;
        let mut began = false;
        for entry in &entries {
            began |= reached.take(entry, id, &mut process)?;
        }
        if !began {
            return Err(Error::usage(format_args!("there is no loop `{id}` of this project in the ledger")));
        }
        if process.is_some_and(|process: Process| process.is_alive()) {
            return Err(Error::usage(format_args!("the loop `{id}` still runs")));
        }
        reached.resumed = reached.resumed.saturating_sub(1);
        Ok(reached)
    }

    /// Takes the next entry, and returns whether it is the first one of the loop.
    fn take(&mut self, entry: &Entry, id: &str, process: &mut Option<Process>) -> Result<bool, Error> {
        match entry.kind {
            EntryKind::StepStarted => {
                let started: StepStart = entry.read()?;
                match started.step.as_str() {
                    "loop" => {
                        self.began = if self.began == 0 { entry.seq } else { self.began };
                        self.resumed += 1;
                        *process = Some(started.process);
                    }
                    "executor" => {
                        self.open =
                            Some(OpenAttempt { number: started.attempt.unwrap_or(1), ..OpenAttempt::default() });
                    }
                    "evaluator" => {
                        if let Some(open) = &mut self.open {
                            let outcome = "interrupted".to_owned();
                            open.evaluator = Some(EvaluatorRun { outcome, ..EvaluatorRun::default() });
                        }
                    }
                    _ => {}
                }
            }
            EntryKind::StepEnded => {
                let ended: StepEnd = entry.read()?;
                match (ended.step.as_str(), &mut self.open) {
                    ("loop", _) => return Err(Error::usage(format_args!("the loop `{id}` has ended"))),
                    ("executor", Some(open)) => open.executor = part(&ended.details, "run"),
                    ("evaluator", Some(open)) => {
                        open.evaluator = part(&ended.details, "run").or(open.evaluator.take());
                    }
                    _ => {}
                }
            }
            EntryKind::Run => {
                let record = entry.record()?;
                if let Some(open) = &mut self.open {
                    open.record = Some(record);
                }
            }
            EntryKind::Attempt => {
                let attempt: Attempt = entry.read()?;
                let broken = || Error::host(format_args!("cannot resume from entry {} of the ledger", entry.seq));
                let summary: AttemptRecord = part(&attempt.details, "attempt").ok_or_else(broken)?;
                let record = self.open.take().and_then(|open| open.record);
                self.records.extend(record.map(|record| (summary.number, record)));
                self.feedback = part(&attempt.details, "feedback").unwrap_or_default();
                self.after = match part::<Option<LoopEnd>>(&attempt.details, "ended").flatten() {
                    Some(ended) => After::End(ended),
                    None => After::Bounce,
                };
                self.attempts.push(summary);
            }
            EntryKind::Bounce => {
                let bounce: Bounce = entry.read()?;
                (self.bounces, self.feedback, self.after) = (bounce.number, bounce.feedback, After::Attempt);
            }
            EntryKind::Note => {
                let details = entry.read::<Note>()?.details;
                if details.get("loop").and_then(Value::as_str) == Some(id) && details.contains_key("arguments") {
                    self.base = part(&details, "base").unwrap_or_default();
                    self.before = part::<Option<String>>(&details, "before").flatten();
                    self.plan = part(&details, "plan").unwrap_or_default();
                    self.policy = part(&details, "policy").unwrap_or_default();
                    self.executor = part(&details, "executor").unwrap_or_default();
                    self.started = part(&details, "started").unwrap_or_default();
                    return Ok(true);
                }
            }
            _ => {}
        }
        Ok(false)
    }

    /// Refuses to continue with another gate than the one that the loop began with.
    pub(super) fn refuse_another_gate(&self, pinned: &Pinned) -> Result<(), Error> {
        if self.plan == pinned.plan().digest() && self.policy == pinned.policy() {
            return Ok(());
        }
        Err(Error::host("the gate differs from the one that the loop began with, so the loop cannot be resumed")
            .hint("restore gate.toml and everything that it names, or start another loop".to_owned()))
    }
}
