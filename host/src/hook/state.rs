//! Reads and writes the entries of hooks in the ledger: how often an agent was sent back, and that it stopped without a pass.

use super::budget::{Budget, FAILED, FAULT, HookVerdict};
use super::sessions::Remembered;
use super::{Call, Decision, HookEvent};
use crate::environment::Environment;
use crate::ledger::body::{Bounce, Note};
use crate::ledger::{Durability, EntryKind, Filter, Labels, Ledger, LedgerError, NewEntry, Project, SqliteLedger};
use std::path::{Path, PathBuf};

/// The ledger and the folder of the sessions. Both must be writable: a hook that cannot count must not send an agent back.
#[derive(Debug)]
pub(super) struct HookState {
    folder: PathBuf,
    ledger: SqliteLedger,
}

/// The result of a run, for the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GateRun {
    pub(super) run: Option<String>,
    pub(super) gate: String,
    pub(super) allowed: u32,
}

impl HookState {
    /// Opens the state folder, or else a private one below the temporary folder.
    pub(super) fn open(environment: &Environment) -> Option<Self> {
        let user = rustix::process::geteuid().as_raw();
        let temporary =
            environment.path("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp")).join(format!("gatehost-{user}"));
        let folders = environment.state_folder().into_iter().chain([temporary]);
        folders.into_iter().find_map(|folder| {
            let ledger = SqliteLedger::open(&folder).ok()?;
            ledger.head().ok()?;
            Some(Self { folder, ledger })
        })
    }

    /// Opens the session of this key and locks it.
    pub(super) fn session(&self, key: &str) -> std::io::Result<Remembered> {
        Remembered::open(&self.folder, key)
    }

    /// Returns the number of the last entry.
    pub(super) fn last(&self) -> Result<u64, LedgerError> {
        Ok(self.ledger.head()?.seq)
    }

    /// Returns how often the agent was sent back.
    pub(super) fn budget(&self, root: &Path, key: &str, gate: &str, since: u64) -> Result<Budget, LedgerError> {
        let filter = Filter {
            session: Some(key.to_owned()),
            ..Filter::of(&project(root)).kinds(&[EntryKind::Bounce, EntryKind::Note])
        };
        Ok(Budget::of(&self.ledger.entries(&filter)?, gate, since))
    }

    /// Records what the agent is told. Called before the answer, because only recorded bounces are counted.
    pub(super) fn record(
        &self,
        root: &Path,
        key: &str,
        call: &Call,
        budget: &Budget,
        (judged, ran, decision): (&HookVerdict, &GateRun, &Decision),
    ) -> Result<(), LedgerError> {
        let is_fault = matches!(judged, HookVerdict::Fault { .. });
        let labels = |status: &str| Labels {
            run: ran.run.clone().unwrap_or_default(),
            session: key.to_owned(),
            gate: ran.gate.clone(),
            status: status.to_owned(),
            ..Labels::default()
        };
        let entry = match decision {
            Decision::Allow => return Ok(()),
            // A reason that is shown next to the output of a tool is not a bounce.
            Decision::Block(_) if call.event == HookEvent::Tool && !is_fault => return Ok(()),
            Decision::Block(reason) => {
                let failure = match judged {
                    HookVerdict::Fail { digest, .. } => digest.clone(),
                    _ => String::new(),
                };
                let number = 1 + if is_fault { budget.faults } else { budget.bounces };
                let bounce = Bounce { number, allowed: Some(ran.allowed), feedback: reason.clone(), failure };
                NewEntry::new(EntryKind::Bounce, labels(if is_fault { FAULT } else { "fail" }), &bounce)?
            }
            Decision::Release(message) => {
                NewEntry::new(EntryKind::Note, labels(FAILED), &Note { text: message.clone(), ..Note::default() })?
            }
        };
        self.ledger.append(&project(root), vec![entry], Durability::Process).map(|_| ())
    }
}

/// Returns the project of a root, which is canonical.
fn project(root: &Path) -> Project {
    Project::at(root)
}
