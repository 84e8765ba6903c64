//! One entry of the ledger: its kind, its project, its labels and its bytes.

use super::{Hash, LedgerError};
use crate::changes;
use crate::environment::Environment;
use crate::error::Error;
use crate::record::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EntryKind {
    /// A gate ran to its end: its record.
    Run,
    /// An attempt of an executor at a task.
    Attempt,
    /// The work was sent back with feedback.
    Bounce,
    /// A person is needed.
    Escalation,
    /// A person answered an escalation.
    Resume,
    /// A person let something through without a pass.
    Override,
    /// A step was ended from outside, such as by cancelling it.
    CutOff,
    /// A step began.
    StepStarted,
    /// A step ended; the end of a gate's run is its `run` entry.
    StepEnded,
    /// What a run passed was committed.
    Commit,
    /// Older entries were dropped.
    Prune,
    /// Anything else.
    Note,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Run,
        Self::Attempt,
        Self::Bounce,
        Self::Escalation,
        Self::Resume,
        Self::Override,
        Self::CutOff,
        Self::StepStarted,
        Self::StepEnded,
        Self::Commit,
        Self::Prune,
        Self::Note,
    ];

    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Attempt => "attempt",
            Self::Bounce => "bounce",
            Self::Escalation => "escalation",
            Self::Resume => "resume",
            Self::Override => "override",
            Self::CutOff => "cut-off",
            Self::StepStarted => "step-started",
            Self::StepEnded => "step-ended",
            Self::Commit => "commit",
            Self::Prune => "prune",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EntryKind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownKind(word.to_owned()))
    }
}

/// A word that is not a kind of entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of entry")]
pub struct UnknownKind(String);

/// A project: the canonical path of the root of a repository, or of a folder outside any repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Project(pub(super) String);

impl Project {
    /// Returns the project that a folder belongs to.
    pub fn of(folder: &Path, environment: &Environment) -> Result<Self, Error> {
        let real = folder.canonicalize().map_err(|error| {
            Error::input(format_args!("cannot open the folder `{}`", folder.display())).because(error)
        })?;
        let root = changes::repository(&real, environment)?.unwrap_or(real);
        Ok(Self::at(&root))
    }

    /// Returns the project whose root has this canonical path.
    pub fn at(root: &Path) -> Self {
        Self(root.to_string_lossy().into_owned())
    }

    /// Returns the path, as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the root.
    pub fn root(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The labels by which entries are found. Empty if they do not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The identifier of the task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The group of tasks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The session of an agent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The gate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gate: String,
    /// The result; of a run, the status.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The class of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The digest of the checked tree.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tree: String,
    /// The digest of the plan.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan: String,
}

impl Labels {
    /// Returns the labels by which the entry of a run is found.
    pub fn of(record: &Record) -> Self {
        let task = record.task.as_ref();
        Self {
            run: record.run.clone(),
            task: task.map(|task| task.id.clone()).unwrap_or_default(),
            group: task.and_then(|task| task.group.clone()).unwrap_or_default(),
            session: String::new(),
            gate: record.gate.name.clone(),
            status: record.status.as_str().to_owned(),
            class: record.class.as_ref().map(|class| class.as_str().to_owned()).unwrap_or_default(),
            tree: record.tree.clone().unwrap_or_default(),
            plan: record.plan.clone(),
        }
    }
}

/// An entry to append.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// What it is about.
    pub kind: EntryKind,
    /// Its labels.
    pub labels: Labels,
    /// Its bytes: JSON.
    pub body: Vec<u8>,
    /// What is stored with it, outside the chain: what `gate replay` needs to repeat its run.
    pub attachments: Vec<Attachment>,
}

/// A part of something that is stored with a run, outside the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name, such as `inputs`.
    pub name: &'static str,
    /// The number of the part, from 0.
    pub part: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl NewEntry {
    /// Creates an entry with this body; [`super::body`] has the usual ones.
    pub fn new(kind: EntryKind, labels: Labels, body: &impl Serialize) -> Result<Self, LedgerError> {
        let body = serde_json::to_vec(body).map_err(|error| LedgerError::Unwritable(error.to_string()))?;
        Ok(Self { kind, labels, body, attachments: Vec::new() })
    }

    /// Creates the entry of a run.
    pub fn run(record: &Record, session: &str) -> Result<Self, LedgerError> {
        let labels = Labels { session: session.to_owned(), ..Labels::of(record) };
        Self::new(EntryKind::Run, labels, record)
    }
}

/// An entry, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// When it was appended, in UTC. Informational: the order is that of the numbers.
    pub at: String,
    /// Whose it is.
    pub project: Project,
    /// What it is about.
    pub kind: EntryKind,
    /// Its labels.
    pub labels: Labels,
    /// The hash of the entry before it.
    pub prev: Hash,
    /// Its hash.
    pub hash: Hash,
    /// Its bytes: JSON.
    pub body: Vec<u8>,
}

impl Entry {
    /// Reads the body.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, LedgerError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            LedgerError::Unreadable(format!("entry {} ({}) has an unexpected content: {error}", self.seq, self.kind))
        })
    }

    /// Returns the record of a run entry.
    pub fn record(&self) -> Result<Record, LedgerError> {
        self.read()
    }
}
