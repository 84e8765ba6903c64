//! The ledger: durable entries about what was checked, by which bytes, on which bytes, and who let something through.
//!
//! Entries are numbered without gaps and chained: the hash of each covers the hash before it, its number, its labels and
//! its stored bytes. So [`Ledger::verify`] names every entry that was altered, removed, inserted or reordered. The last
//! number and hash, the [`Head`], can be stored elsewhere; with it, entries that were cut off at the end are named too.
//!
//! Counters are never stored. The numbers of attempts and bounces follow from the entries ([`history`]), so nothing is
//! counted twice, and a start without an end counts as an interrupted attempt.
//!
//! The trait is synchronous; call it where blocking is allowed. [`SqliteLedger`] is the store of one machine.

pub mod body;
mod chain;
pub mod history;
mod sqlite;
pub mod stats;
pub mod status;

pub use chain::{Damage, DamageKind, Hash};
pub use sqlite::SqliteLedger;

use crate::changes;
use crate::environment::Environment;
use crate::error::Error;
use crate::record::Record;
use crate::text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
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
    /// Something else worth keeping.
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

/// A word that names no kind of entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of entry")]
pub struct UnknownKind(String);

/// Whose entries they are: the canonical path of the root of a repository, or of a folder that is in none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Project(String);

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

/// What entries are found by. Empty where it does not apply.
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
    /// The digest of what was judged.
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

/// An entry that is to be appended.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// What it is about.
    pub kind: EntryKind,
    /// What it is found by.
    pub labels: Labels,
    /// Its bytes: JSON.
    pub body: Vec<u8>,
}

impl NewEntry {
    /// Creates an entry with this body; [`body`] has the usual ones.
    pub fn new(kind: EntryKind, labels: Labels, body: &impl Serialize) -> Result<Self, LedgerError> {
        let body = serde_json::to_vec(body).map_err(|error| LedgerError::Unwritable(error.to_string()))?;
        Ok(Self { kind, labels, body })
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
    /// What it is found by.
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
            LedgerError::Unreadable(format!("entry {} ({}) has another shape: {error}", self.seq, self.kind))
        })
    }

    /// Returns the record of a run entry.
    pub fn record(&self) -> Result<Record, LedgerError> {
        self.read()
    }
}

/// The last entry: what must be known elsewhere to notice that the end was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number; 0 where there is no entry.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Head {
    type Err = BadHead;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (seq, hash) = text.trim().split_once(':').ok_or(BadHead)?;
        Ok(Self { seq: seq.parse().map_err(|_| BadHead)?, hash: hash.parse().map_err(|_| BadHead)? })
    }
}

/// A text that is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `NUMBER:HASH`, as `gate log --head` prints it")]
pub struct BadHead;

/// Which entries are asked for. Everything that is set must hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this project.
    pub project: Option<Project>,
    /// Of these kinds; empty: of any.
    pub kinds: Vec<EntryKind>,
    /// Of this run.
    pub run: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// Of this group of tasks.
    pub group: Option<String>,
    /// Of this session of an agent.
    pub session: Option<String>,
    /// Of this gate.
    pub gate: Option<String>,
    /// With this result.
    pub status: Option<String>,
    /// About this tree.
    pub tree: Option<String>,
    /// With a greater number than this.
    pub after: u64,
    /// The newest, so many; they come in the order of their numbers all the same.
    pub last: Option<u32>,
}

impl Filter {
    /// Selects all entries of a project.
    pub fn of(project: &Project) -> Self {
        Self { project: Some(project.clone()), ..Self::default() }
    }

    /// Keeps only entries of these kinds.
    pub fn kinds(mut self, kinds: &[EntryKind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }
}

/// When an append may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it survives the end of every process. After a power loss, it is there or not, as a whole.
    Process,
    /// When it, and everything before it, survives a power loss too.
    Power,
}

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// There is no place for it.
    #[error("there is no state folder for the ledger")]
    NoFolder,
    /// The folder cannot be used.
    #[error("cannot use the state folder `{}`: {why}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// It could not be read.
    #[error("cannot read the ledger: {0}")]
    Unreadable(String),
    /// It could not be written.
    #[error("cannot write to the ledger: {0}")]
    Unwritable(String),
    /// Its entries were tampered with, so that nothing is appended to it.
    #[error("the ledger is damaged: {0}")]
    Damaged(Damage),
}

impl LedgerError {
    /// Returns the next action for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoFolder => "set `GATE_STATE_DIR`, or run without a ledger: `--no-ledger`",
            Self::Folder { .. } => "make the folder yours alone (`chmod 700`), or choose another with `GATE_STATE_DIR`",
            Self::Unreadable(_) | Self::Unwritable(_) => {
                "check the free space and the permissions of the state folder, or choose another with `GATE_STATE_DIR`"
            }
            Self::Damaged(_) => {
                "`gate log --verify` names every damaged entry; keep the ledger as evidence, and move it away to start a new one"
            }
        }
    }
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Self {
        let hint = error.hint().to_owned();
        Self::host(text::clean_line(&error.to_string(), 2_000)).hint(hint)
    }
}

/// The result of checking the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// What is wrong; empty: nothing.
    pub damages: Vec<Damage>,
    /// The entries about the tree, in the order of their numbers.
    pub entries: Vec<Entry>,
}

/// A store of entries.
pub trait Ledger: Send + Sync + fmt::Debug {
    /// Appends entries of a project, all or none, one after the other.
    fn append(
        &self,
        project: &Project,
        entries: Vec<NewEntry>,
        durability: Durability,
    ) -> Result<Vec<Entry>, LedgerError>;

    /// Returns the selected entries in the order of their numbers. Each is checked against its hash.
    fn entries(&self, filter: &Filter) -> Result<Vec<Entry>, LedgerError>;

    /// Returns the last entry.
    fn head(&self) -> Result<Head, LedgerError>;

    /// Checks every entry and the chain, and that `anchor`, where it is given, is part of it. Empty: nothing is wrong.
    fn verify(&self, anchor: Option<Head>) -> Result<Vec<Damage>, LedgerError>;

    /// Checks the chain without reading every content, and finds what is labelled with a tree: in time that grows little with
    /// the number of entries. What is found is checked in full; nothing that was hidden from an index is missed.
    fn survey(&self, anchor: Option<Head>, tree: &str) -> Result<Survey, LedgerError>;

    /// Drops every entry up to this number, and appends one that says so. The chain stays verifiable from there.
    fn prune(&self, project: &Project, up_to: u64) -> Result<Entry, LedgerError>;

    /// Returns the folder on this machine for more data about runs, if there is one.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Appends one entry that survives a power loss.
    fn append_one(&self, project: &Project, entry: NewEntry) -> Result<Entry, LedgerError> {
        let mut appended = self.append(project, vec![entry], Durability::Power)?;
        appended.pop().ok_or_else(|| LedgerError::Unwritable("nothing was appended".to_owned()))
    }
}
