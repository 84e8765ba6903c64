//! What a run leaves in the ledger: that it began, before anything is judged, and its record, before anybody is told.

use super::history;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::body::{CutOff, Escalation, Process, Started};
use crate::ledger::history::{facts, is_waiting};
use crate::ledger::{Durability, EntryKind, Labels, Ledger, LedgerError, NewEntry, Project, SqliteLedger};
use crate::record::Record;
use crate::retry::{RetryDecision, decide};
use crate::submission::Submission;
use crate::verdict::Status;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The step that a run of a gate is.
const STEP: &str = "gate";

/// Where runs are recorded.
#[derive(Clone, Debug, Default)]
pub enum LedgerUse {
    /// Nowhere: the record is the caller's alone.
    #[default]
    Off,
    /// In the state folder of the environment of the request.
    StateFolder,
    /// In this folder.
    Folder(PathBuf),
    /// In this ledger.
    Store(Arc<dyn Ledger>),
}

impl LedgerUse {
    /// Opens the ledger, if there is to be one.
    pub fn open(&self, environment: &Environment) -> Result<Option<Arc<dyn Ledger>>, LedgerError> {
        let folder = match self {
            Self::Off => return Ok(None),
            Self::Store(ledger) => return Ok(Some(Arc::clone(ledger))),
            Self::Folder(folder) => folder.clone(),
            Self::StateFolder => environment.state_folder().ok_or(LedgerError::NoFolder)?,
        };
        Ok(Some(Arc::new(SqliteLedger::open(&folder)?)))
    }
}

/// Writes the entries of one run. A run that is dropped before its end leaves an entry that says so.
#[derive(Debug)]
pub(super) struct Recorder {
    ledger: Arc<dyn Ledger>,
    project: Project,
    session: String,
    /// What the entries of the run that has begun, and not ended, are found by.
    open: Option<Labels>,
}

impl Recorder {
    pub(super) fn open(
        to: &LedgerUse,
        environment: &Environment,
        folder: &Path,
        session: String,
    ) -> Result<Option<Self>, Error> {
        let Some(ledger) = to.open(environment)? else { return Ok(None) };
        Ok(Some(Self { ledger, project: Project::of(folder)?, session, open: None }))
    }

    /// Fills in what the ledger knows about the task, unless the project waits for a person.
    pub(super) fn know(&self, said: &mut Submission) -> Result<(), Error> {
        history::refuse_while_halted(&*self.ledger, &self.project)?;
        history::apply(&*self.ledger, &self.project, said)
    }

    /// Note that the run begins. From here on it counts as an attempt, whatever becomes of it.
    pub(super) fn begin(&mut self, labels: Labels, attempt: u32) -> Result<(), Error> {
        let labels = Labels { session: self.session.clone(), ..labels };
        let started = Started { step: STEP.to_owned(), attempt: Some(attempt), process: Process::this() };
        let entry = NewEntry::new(EntryKind::StepStarted, labels.clone(), &started)?;
        self.ledger.append(&self.project, vec![entry], Durability::Process)?;
        self.open = Some(labels);
        Ok(())
    }

    /// Stores the record, and with it that human review is needed, where that is so. Only when this returns may anybody be told
    /// the result of the run.
    pub(super) fn end(&mut self, record: &Record, config: &Config) -> Result<(), Error> {
        let run = NewEntry::run(record, &self.session)?;
        let labels = run.labels.clone();
        let mut entries = vec![run];
        entries.extend(self.escalation(record, labels, config)?);
        self.ledger.append(&self.project, entries, Durability::Power)?;
        self.open = None;
        Ok(())
    }

    /// An entry that says that human review is needed, if one is and nobody was told yet.
    fn escalation(&self, record: &Record, labels: Labels, config: &Config) -> Result<Option<NewEntry>, Error> {
        if record.status == Status::Pass && !record.gate.escalated {
            return Ok(None);
        }
        let facts = facts(&*self.ledger, &self.project, record)?;
        let RetryDecision::Escalate { level, trigger, why } = decide(&config.retry, &config.escalation, &facts) else {
            return Ok(None);
        };
        // Work without a task has no history: each of its runs stands alone.
        let alone = labels.task.is_empty() && trigger != "needs-person";
        if alone || is_waiting(&*self.ledger, &self.project, &labels.task, trigger)? {
            return Ok(None);
        }
        let offers = ["retry", "skip", "investigate"].map(str::to_owned).to_vec();
        let escalation = Escalation { level: level.as_str().to_owned(), trigger: trigger.to_owned(), why, offers };
        Ok(Some(NewEntry::new(EntryKind::Escalation, labels, &escalation)?))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let Some(labels) = self.open.take() else { return };
        let (ledger, project) = (Arc::clone(&self.ledger), self.project.clone());
        let cut_off =
            CutOff { step: STEP.to_owned(), why: "the run was cancelled, or its record not stored".to_owned() };
        // On a thread of its own: a caller's executor is not to be blocked. Where it is not written, the start without
        // an end says the same once this process has ended.
        std::thread::spawn(move || {
            let entry = NewEntry::new(EntryKind::CutOff, labels, &cut_off);
            entry.and_then(|entry| ledger.append(&project, vec![entry], Durability::Process))
        });
    }
}
