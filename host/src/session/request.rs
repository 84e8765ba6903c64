//! The request: what a caller asks [`Host::run`](super::Host::run) to do.

use super::{LedgerUse, Pinned, Policy, TouchedPath};
use crate::changes::{ChangesError, Selection, WorkFolder};
use crate::commands::CommandTape;
use crate::config::nearest;
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::error::Error;
use crate::models::{BadModelTape, ModelTape};
use crate::plan::Plan;
use crate::runner::ReusablePasses;
use crate::submission::{Change, Submission};
use crate::text;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What to check, and by which gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The folder to work in. Relative paths of the request are relative to it.
    pub folder: PathBuf,
    /// Which files are checked.
    pub selection: Selection,
    /// Where the configuration comes from.
    pub policy: Policy,
    /// The gate. If it has no name: the only gate, the gate named `default`, or the only gate that no other gate uses.
    pub gate: Option<String>,
    /// The task, the claim and the tool calls.
    pub submission: Submission,
    /// The plan that the task is from, if the caller named one. No fix changes it.
    pub tasks: Option<PathBuf>,
    /// Whether model answers are recorded, or replayed from an earlier recording.
    pub models: Recording,
    /// Where the results of commands are recorded to, or replayed from.
    pub commands: Option<Arc<CommandTape>>,
    /// Whether passes of earlier runs may be reused.
    pub use_cache: bool,
    /// Whether the members of `all` run one after the other, and none after the first that fails.
    pub fail_fast: bool,
    /// Which checks run. The record marks exclusions.
    pub checks: Checks,
    /// The checks that failed before, by the names of their members. They run first; the others run only if these pass.
    pub first: BTreeSet<String>,
    /// What to do with a claim or tool calls that no check of the gate reads.
    pub unread: Unread,
    /// The environment that commands, git and models see.
    pub environment: Environment,
    /// Where the run is recorded. If the record cannot be stored, the run is an error, whatever its result.
    pub ledger: LedgerUse,
    /// The session of the agent that did the work, by which its ledger entries are found. Empty for none.
    pub session: String,
    /// What the caller knows about the work.
    pub work: WorkState,
    /// A gate that was resolved before. If it is set, the policy and the gate of the request are ignored.
    pub pinned: Option<Pinned>,
    /// The inputs of an earlier run that is repeated. If it is set, nothing is looked up and nothing is recorded.
    pub(crate) repeat: Option<Arc<Repeat>>,
    /// Passes of earlier runs of the same loop. Later runs that cannot pass yet reuse them.
    pub(crate) reusable: Option<Arc<ReusablePasses>>,
    /// `folder` and its repository, once they were found.
    pub(crate) work_folder: Arc<Mutex<Option<(PathBuf, WorkFolder)>>>,
    /// When the run must end. It counts from the call of the host, or from `begun`.
    pub(crate) deadline: Deadline,
    /// When the request began, if that was before the call of the host.
    pub(crate) begun: Option<Instant>,
}

impl Request {
    /// Returns a request to check the changes in this folder by its own gate.
    pub fn new(folder: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            folder: folder.into(),
            selection: Selection::default(),
            policy: Policy::default(),
            gate: None,
            submission: Submission::default(),
            tasks: None,
            models: Recording::default(),
            commands: None,
            use_cache: true,
            fail_fast: false,
            checks: Checks::default(),
            first: BTreeSet::new(),
            unread: Unread::default(),
            environment,
            ledger: LedgerUse::Off,
            session: String::new(),
            work: WorkState::default(),
            pinned: None,
            repeat: None,
            reusable: None,
            work_folder: Arc::default(),
            deadline: Deadline::default(),
            begun: None,
        }
    }

    /// Returns the folder and its repository. All clones of the request share it, so it is found once per run.
    pub(crate) fn work_folder(&self) -> Result<WorkFolder, Error> {
        let mut known = self.work_folder.lock();
        if let Some((_, found)) = known.as_ref().filter(|(folder, _)| *folder == self.folder) {
            return Ok(found.clone());
        }
        let found = WorkFolder::of(&self.folder, &self.environment).map_err(|error| match error {
            ChangesError::Folder { path, source } => {
                Error::input(format_args!("cannot open the folder `{}`", path.display())).because(source)
            }
            error => error.into(),
        })?;
        let found = found.until(&self.deadline);
        *known = Some((self.folder.clone(), found.clone()));
        Ok(found)
    }

    /// Counts the deadline of the next run from this time, because the caller has worked for it since then.
    #[must_use]
    pub fn begun(self, start: Instant) -> Self {
        Self { begun: Some(start), ..self }
    }

    /// Returns the request for another run, which begins now and finds its repository again.
    pub(super) fn fresh(mut self) -> Self {
        self.work_folder = Arc::default();
        self.deadline = Deadline::from(self.begun.take().unwrap_or_else(Instant::now));
        self
    }
}

/// What a caller knows about the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkState {
    /// The caller does not know whether any work was done.
    #[default]
    Unknown,
    /// Work was requested. A gate that finds nothing to check abstains, unless it sets `on_nothing`.
    Asked,
    /// Work was requested and nothing was done. No gate passes, unless it sets `on_nothing`.
    NotDone,
}

/// Which checks of a gate run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checks {
    /// All of them.
    #[default]
    All,
    /// Only the checks with these names.
    Only(BTreeSet<String>),
    /// All checks except those with these names.
    Except(BTreeSet<String>),
}

impl Checks {
    /// Returns the names of the excluded checks. An unknown name is an error.
    pub(super) fn left_out(&self, plan: &Plan) -> Result<BTreeSet<String>, Error> {
        let names: BTreeSet<&str> = plan.checks().map(|check| check.check.as_str()).collect();
        let (Self::Only(named) | Self::Except(named)) = self else { return Ok(BTreeSet::new()) };
        if let Some(unknown) = named.iter().find(|name| !names.contains(name.as_str())) {
            let shown = text::clean_line(unknown, 60);
            let message = format!("the gate `{}` has no check `{shown}`", plan.root.name);
            return Err(Error::usage(message).hint(nearest(unknown, names.iter().copied())));
        }
        let left_out = |name: &&&str| named.contains(**name) == matches!(self, Self::Except(_));
        Ok(names.iter().filter(left_out).map(|name| (*name).to_owned()).collect())
    }
}

/// What to do with a claim or tool calls that no check of the gate reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// Refuse the request if no check reads submissions: the claim would look as if it had been checked.
    #[default]
    Refuse,
    /// Also refuse it if no check reads claims, because the caller passed the claim by itself.
    RefuseClaim,
    /// Accept the request: a hook passes claims with every request.
    Ignore,
}

/// Whether model answers are recorded, or replayed from an earlier recording.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Recording {
    /// Neither recorded nor replayed.
    #[default]
    Off,
    /// Answers are recorded to this new file.
    Record(PathBuf),
    /// Answers are replayed from this file.
    Replay(PathBuf),
    /// Answers are recorded or replayed on a tape that several runs share.
    Shared(Arc<ModelTape>),
}

impl Recording {
    /// Opens the tape, if answers are recorded or replayed.
    pub(super) fn open(&self, folder: &Path) -> Result<Option<Arc<ModelTape>>, Error> {
        let seen = |path: &Path| folder.join(path);
        let tape = match self {
            Recording::Off => return Ok(None),
            Recording::Shared(tape) => return Ok(Some(Arc::clone(tape))),
            Recording::Record(path) => ModelTape::record(&seen(path)),
            Recording::Replay(path) => ModelTape::replay(&seen(path)),
        };
        tape.map(|tape| Some(Arc::new(tape))).map_err(|error| {
            let hint = match &error {
                BadModelTape::Exists(_) => Some("delete it, or choose another name".to_owned()),
                BadModelTape::Invalid { .. } => Some("record it again with `--record-models`".to_owned()),
                _ => None,
            };
            Error::input(&error).hint(hint)
        })
    }

    /// Returns this recording with one open tape that several runs share.
    pub fn shared(&self, folder: &Path) -> Result<Self, Error> {
        Ok(self.open(folder)?.map_or(Self::Off, Self::Shared))
    }
}

/// The inputs of an earlier run that is repeated.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) changes: Vec<Change>,
    pub(crate) base: Option<String>,
    pub(crate) from_git: bool,
    /// The paths of the files that were checked.
    pub(crate) paths: Vec<String>,
    pub(crate) predecessor_unpassed: bool,
    /// The paths of the policy that the change touched.
    pub(crate) touched: Vec<TouchedPath>,
}
