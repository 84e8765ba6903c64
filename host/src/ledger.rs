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
pub mod clock;
mod entry;
pub mod history;
mod sqlite;
pub mod stats;
pub mod status;

pub use chain::{Damage, DamageKind, Hash};
pub use entry::{Attachment, Entry, EntryKind, Labels, NewEntry, Project, UnknownKind};
pub use sqlite::SqliteLedger;

use crate::error::Error;
use crate::text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The number and hash of the last entry. Stored elsewhere, it shows whether entries were removed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number; 0 if there is no entry.
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

/// A text that is not a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `NUMBER:HASH`, as `gate log --head` prints it")]
pub struct BadHead;

/// Selects entries. All fields that are set must match.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this project.
    pub project: Option<Project>,
    /// Of these kinds; empty for all.
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
    /// Only this many, the newest. They are returned in the order of their numbers.
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
    /// When the entry survives the end of every process. After a power loss, it is there as a whole or not at all.
    Process,
    /// When the entry, and every entry before it, survives a power loss too.
    Power,
}

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// There is no state folder.
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
    /// An entry is larger than a ledger can store.
    #[error("the record is too large for the ledger, which stores at most 1 GB in an entry")]
    TooLarge,
    /// Its entries were tampered with. Nothing is appended to such a ledger.
    #[error("the ledger is damaged: {0}")]
    Damaged(Damage),
}

impl LedgerError {
    /// Returns the next action for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoFolder => {
                "set `GATE_STATE_DIR`, or `HOME` to an absolute path, or run without a ledger: `--no-ledger`"
            }
            Self::Folder { .. } => {
                "change that, or choose with `GATE_STATE_DIR` a folder that only you can write to and replace"
            }
            Self::Unreadable(_) | Self::Unwritable(_) => {
                "check the free space and the permissions of the state folder, or choose another with `GATE_STATE_DIR`"
            }
            Self::TooLarge => "check fewer files in a run, or lower `limits.findings` of the checks",
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
    /// The damages; empty if there are none.
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

    /// Checks every entry and the chain, and whether the chain contains `anchor`. Returns the damages; empty if there are none.
    fn verify(&self, anchor: Option<Head>) -> Result<Vec<Damage>, LedgerError>;

    /// Checks the chain without reading every body, and finds the entries with this tree label. Found entries are checked in
    /// full. Does not rely on an index, so an entry that was hidden from one is found too.
    fn survey(&self, anchor: Option<Head>, tree: &str) -> Result<Survey, LedgerError>;

    /// Drops every entry up to this number, and appends an entry about that. The chain can be verified from there on.
    fn prune(&self, project: &Project, up_to: u64) -> Result<Entry, LedgerError>;

    /// Stores attachments of a run that has not ended. Like an entry that survives every process; the entry of the run makes
    /// them survive a power loss.
    fn attach(&self, run: &str, attachments: Vec<Attachment>) -> Result<(), LedgerError> {
        let _ = (run, attachments);
        Ok(())
    }

    /// Returns the parts of an attachment of a run, in order. Empty if it is not stored.
    fn attachment(&self, run: &str, name: &str) -> Result<Vec<Vec<u8>>, LedgerError> {
        let _ = (run, name);
        Ok(Vec::new())
    }

    /// Returns the folder on this machine in which earlier versions stored more data about runs, if there is one.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Appends one entry that survives a power loss.
    fn append_one(&self, project: &Project, entry: NewEntry) -> Result<Entry, LedgerError> {
        let mut appended = self.append(project, vec![entry], Durability::Power)?;
        appended.pop().ok_or_else(|| LedgerError::Unwritable("nothing was appended".to_owned()))
    }
}
