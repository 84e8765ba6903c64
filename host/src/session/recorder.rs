//! Records a run in the ledger: a start entry before anything is checked, and the record before anybody is told.

use super::steps::StepRecorder;
use super::{commits, history};
use crate::changes::WorkFolder;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::Error;
use crate::gate::GateEvent;
use crate::ledger::body::{CutOff, Escalation, StepStart};
use crate::ledger::history::{facts, is_waiting};
use crate::ledger::{
    Attachment, Durability, Entry, EntryKind, Labels, Ledger, LedgerError, NewEntry, Project, SqliteLedger,
};
use crate::record::Record;
use crate::retry::{self, RetryDecision, decide};
use crate::shutdown::{self, WhenInterrupted};
use crate::submission::Submission;
use crate::verdict::{Class, Status};
use std::path::PathBuf;
use std::sync::Arc;

/// The name of this step in the ledger.
const STEP: &str = "gate";

/// Where runs are recorded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum LedgerUse {
    /// Nowhere: only the caller gets the record.
    #[default]
    Off,
    /// Nowhere. A project that is halted in the state folder of the environment is still refused.
    Unrecorded,
    /// In the state folder of the environment of the request.
    StateFolder,
    /// In this folder.
    Folder(PathBuf),
    /// In this ledger.
    Store(Arc<dyn Ledger>),
}

impl LedgerUse {
    /// Opens the ledger, if the run is recorded.
    pub fn open(&self, environment: &Environment) -> Result<Option<Arc<dyn Ledger>>, LedgerError> {
        let folder = match self {
            Self::Off | Self::Unrecorded => return Ok(None),
            Self::Store(ledger) => return Ok(Some(Arc::clone(ledger))),
            Self::Folder(folder) => folder.clone(),
            Self::StateFolder => environment.state_folder().ok_or(LedgerError::NoFolder)?,
        };
        Ok(Some(Arc::new(SqliteLedger::open(&folder)?)))
    }
}

/// Refuses work that is recorded nowhere while the state folder of the environment says that its project is halted.
pub(crate) fn refuse_while_halted(to: &LedgerUse, environment: &Environment, project: &Project) -> Result<(), Error> {
    if matches!(to, LedgerUse::Unrecorded) {
        let state = environment.state_folder().map(|folder| SqliteLedger::open_existing(&folder));
        if let Some(ledger) = state.transpose()?.flatten() {
            history::refuse_while_halted(&ledger, project)?;
        }
    }
    Ok(())
}

/// Writes the entries of one run. If it is dropped before the run ends, it appends an entry that says so.
pub(super) struct LedgerRecorder {
    ledger: Arc<dyn Ledger>,
    project: Project,
    session: String,
    /// The tasks that the checked task depends on.
    depends_on: Vec<String>,
    /// The labels of the run, between its start and its end.
    open: Option<Labels>,
    steps: Option<StepRecorder>,
    interrupted: Option<WhenInterrupted>,
}

impl LedgerRecorder {
    pub(super) fn open(
        to: &LedgerUse,
        environment: &Environment,
        work: &WorkFolder,
        session: String,
    ) -> Result<Option<Self>, Error> {
        let project = Project::at(work.project());
        refuse_while_halted(to, environment, &project)?;
        let Some(ledger) = to.open(environment)? else { return Ok(None) };
        let depends_on = Vec::new();
        Ok(Some(Self { ledger, project, session, depends_on, open: None, steps: None, interrupted: None }))
    }

    /// Completes the submission with what the ledger knows about its task, unless the project waits for a person. Returns
    /// whether a predecessor of the task has no pass; this is looked up only if the gate has a cadence (`has_cadence`).
    pub(super) fn complete(&mut self, submission: &mut Submission, has_cadence: bool) -> Result<bool, Error> {
        history::refuse_while_halted(&*self.ledger, &self.project)?;
        history::apply(&*self.ledger, &self.project, submission)?;
        self.depends_on = submission.task.as_ref().map(|task| task.depends_on.clone()).unwrap_or_default();
        if has_cadence { history::predecessor_unpassed(&*self.ledger, &self.project, submission) } else { Ok(false) }
    }

    /// Returns the ledger.
    pub(super) fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::clone(&self.ledger)
    }

    /// Notes the last commit if it contains the work that the last pass checked.
    pub(super) fn note_commit(&self, work: &WorkFolder, head: &str, environment: &Environment) -> Result<(), Error> {
        commits::note_last(&*self.ledger, &self.project, work, head, environment)
    }

    /// Appends the start entry. From here on the run counts as an attempt. If it `takes_time`, its steps are recorded too.
    pub(super) fn begin(&mut self, labels: Labels, attempt: u32, takes_time: bool) -> Result<(), Error> {
        let labels = Labels { session: self.session.clone(), ..labels };
        let started = StepStart { attempt: Some(attempt), ..StepStart::now(STEP) };
        let entry = NewEntry::new(EntryKind::StepStarted, labels.clone(), &started)?;
        self.ledger.append(&self.project, vec![entry], Durability::Process)?;
        if takes_time {
            self.steps = Some(StepRecorder::new(Arc::clone(&self.ledger), self.project.clone(), labels.clone()));
        }
        let cut_off = self.cut_off(labels.clone(), "a signal interrupted it");
        self.interrupted = Some(shutdown::when_interrupted(cut_off));
        self.open = Some(labels);
        Ok(())
    }

    /// Records the progress of steps.
    pub(super) fn observe(&self, event: GateEvent<'_>) {
        if let Some(steps) = &self.steps {
            steps.observe(event);
        }
    }

    /// Stores the record with its attachments, and an escalation entry if human review is needed, which is returned. The result may
    /// be shown only after this returns.
    pub(super) fn end(
        &mut self,
        record: &mut Record,
        attachments: Vec<Attachment>,
        config: &Config,
    ) -> Result<Option<Entry>, Error> {
        if let Some(steps) = self.steps.take() {
            steps.finish()?;
        }
        record.retry = retry::digest(&config.retry, &config.escalation);
        if record.class == Some(Class::Blocked) {
            record.blocked_by = history::unpassed(&*self.ledger, &self.project, &self.depends_on)?;
        }
        let run = NewEntry { attachments, ..NewEntry::run(record, &self.session)? };
        let labels = run.labels.clone();
        let mut entries = vec![run];
        entries.extend(self.escalation(record, labels, config)?);
        let appended = self.ledger.append(&self.project, entries, Durability::Power)?;
        (self.open, self.interrupted) = (None, None);
        Ok(appended.into_iter().nth(1))
    }

    /// Returns an escalation entry if human review is needed and nobody has been asked yet.
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

    /// Appends an entry that says that the run did not end. If that fails, the start entry without an end says the same once
    /// this process has exited.
    fn cut_off(&self, labels: Labels, why: &str) -> impl FnOnce() + Send + 'static {
        let (ledger, project) = (Arc::clone(&self.ledger), self.project.clone());
        let cut_off = CutOff { step: STEP.to_owned(), why: why.to_owned() };
        move || {
            let entry = NewEntry::new(EntryKind::CutOff, labels, &cut_off);
            let _ = entry.and_then(|entry| ledger.append(&project, vec![entry], Durability::Process));
        }
    }
}

impl Drop for LedgerRecorder {
    fn drop(&mut self) {
        let Some(labels) = self.open.take() else { return };
        let steps = self.steps.take();
        let cut_off = self.cut_off(labels, "the run was cancelled, or its record could not be stored");
        // On its own thread, so that the caller's executor is not blocked.
        std::thread::spawn(move || {
            let _ = steps.map(StepRecorder::finish);
            cut_off();
        });
    }
}
