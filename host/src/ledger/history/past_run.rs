//! The runs of the past, and how each ended.

use crate::ledger::body::{CutOff, StepStart};
use crate::ledger::{Entry, EntryKind, Filter, Ledger, LedgerError, Project};
use crate::record::Record;
use crate::verdict::{Class, Status};
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnding {
    /// It ended, with this record.
    Recorded(Box<Record>),
    /// It did not end: its process is gone, or it was cancelled.
    Interrupted,
    /// Its process still runs.
    Running,
}

/// One run of the past.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRun {
    /// The number of its first entry.
    pub seq: u64,
    /// When that entry was appended.
    pub at: String,
    /// Its identifier.
    pub run: String,
    /// The task; empty if there was none.
    pub task: String,
    /// The group of tasks; empty if there was none.
    pub group: String,
    /// The gate.
    pub gate: String,
    /// How it ended.
    pub ending: RunEnding,
}

impl PastRun {
    /// Returns the record, if the run ended.
    pub fn record(&self) -> Option<&Record> {
        match &self.ending {
            RunEnding::Recorded(record) => Some(record),
            RunEnding::Interrupted | RunEnding::Running => None,
        }
    }

    /// Returns whether it passed.
    pub fn passed(&self) -> bool {
        self.record().is_some_and(|record| record.status == Status::Pass)
    }

    /// Returns the class of its failure, if it ended without a pass.
    pub fn class(&self) -> Option<&Class> {
        self.record().filter(|record| record.status != Status::Pass)?.class.as_ref()
    }

    /// Returns whether it counts as an attempt of the executor. It does not if the task is blocked or the verifier failed.
    pub fn is_attempt(&self) -> bool {
        !matches!(self.class(), Some(Class::Blocked | Class::Infra))
    }

    /// Returns the word for its result.
    pub fn word(&self) -> &'static str {
        match &self.ending {
            RunEnding::Recorded(record) => record.status.as_str(),
            RunEnding::Interrupted => "interrupted",
            RunEnding::Running => "running",
        }
    }
}

/// Returns the runs among these entries, in the order in which they began. The entries may include others.
pub fn runs(entries: &[Entry]) -> Result<Vec<PastRun>, LedgerError> {
    let mut runs: BTreeMap<&str, PastRun> = BTreeMap::new();
    for entry in entries {
        let labels = &entry.labels;
        let past = |ending| PastRun {
            seq: entry.seq,
            at: entry.at.clone(),
            run: labels.run.clone(),
            task: labels.task.clone(),
            group: labels.group.clone(),
            gate: labels.gate.clone(),
            ending,
        };
        match entry.kind {
            EntryKind::StepStarted => {
                let started: StepStart = entry.read()?;
                if started.step == "gate" {
                    let ending = if started.process.is_alive() { RunEnding::Running } else { RunEnding::Interrupted };
                    runs.insert(&labels.run, past(ending));
                }
            }
            EntryKind::Run => {
                let ending = RunEnding::Recorded(Box::new(entry.record()?));
                let run = runs.entry(&labels.run).or_insert_with(|| past(RunEnding::Interrupted));
                run.ending = ending;
            }
            EntryKind::CutOff if entry.read::<CutOff>()?.step == "gate" => {
                let run = runs.entry(&labels.run).or_insert_with(|| past(RunEnding::Interrupted));
                if run.ending == RunEnding::Running {
                    run.ending = RunEnding::Interrupted;
                }
            }
            _ => {}
        }
    }
    let mut runs: Vec<PastRun> = runs.into_values().collect();
    runs.sort_by_key(|run| run.seq);
    Ok(runs)
}

/// Returns the runs of a project that began and did not end.
pub fn interrupted(ledger: &dyn Ledger, project: &Project) -> Result<Vec<PastRun>, LedgerError> {
    let kinds = [EntryKind::StepStarted, EntryKind::Run, EntryKind::CutOff];
    let runs = runs(&ledger.entries(&Filter::of(project).kinds(&kinds))?)?;
    Ok(runs.into_iter().filter(|run| run.ending == RunEnding::Interrupted).collect())
}
