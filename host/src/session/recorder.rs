//! What a run leaves in the ledger: that it began, before anything is judged, and its record, before anybody is told.

use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::body::{CutOff, Process, Started};
use crate::ledger::{Durability, EntryKind, Labels, Ledger, LedgerError, NewEntry, Project, SqliteLedger};
use crate::record::Record;
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
    /// Open the ledger, if there is to be one.
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

    /// Note that the run begins. From here on it counts as an attempt, whatever becomes of it.
    pub(super) fn begin(&mut self, labels: Labels, attempt: u32) -> Result<(), Error> {
        let labels = Labels { session: self.session.clone(), ..labels };
        let started = Started { step: STEP.to_owned(), attempt: Some(attempt), process: Process::this() };
        let entry = NewEntry::new(EntryKind::StepStarted, labels.clone(), &started)?;
        self.ledger.append(&self.project, vec![entry], Durability::Process)?;
        self.open = Some(labels);
        Ok(())
    }

    /// Store the record. Only when this returns may anybody be told what the run came to.
    pub(super) fn end(&mut self, record: &Record) -> Result<(), Error> {
        self.ledger.append_one(&self.project, NewEntry::run(record, &self.session)?)?;
        self.open = None;
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let Some(labels) = self.open.take() else { return };
        let (ledger, project) = (Arc::clone(&self.ledger), self.project.clone());
        let cut_off = CutOff { step: STEP.to_owned(), why: "the run was cancelled, or its record not stored".to_owned() };
        // On a thread of its own: a caller's executor is not to be blocked. Where it is not written, the start without
        // an end says the same once this process has ended.
        std::thread::spawn(move || {
            let entry = NewEntry::new(EntryKind::CutOff, labels, &cut_off);
            entry.and_then(|entry| ledger.append(&project, vec![entry], Durability::Process))
        });
    }
}
