//! The escalations that wait for a person.

use crate::ledger::body::{Escalation, Resume};
use crate::ledger::{Entry, EntryKind, Filter, Ledger, LedgerError, Project};
use std::collections::BTreeSet;

/// An escalation that nobody has answered.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenEscalation {
    /// Its entry.
    pub entry: Entry,
    /// What it says.
    pub escalation: Escalation,
}

/// Returns the escalations of a project that nobody has answered, oldest first.
pub fn waiting(ledger: &dyn Ledger, project: &Project) -> Result<Vec<OpenEscalation>, LedgerError> {
    let kinds = [EntryKind::Escalation, EntryKind::Resume];
    let entries = ledger.entries(&Filter::of(project).kinds(&kinds))?;
    let mut answered = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Resume) {
        answered.insert(entry.read::<Resume>()?.escalation);
    }
    let open =
        entries.into_iter().filter(|entry| entry.kind == EntryKind::Escalation && !answered.contains(&entry.seq));
    open.map(|entry| Ok(OpenEscalation { escalation: entry.read()?, entry })).collect()
}

/// Returns the escalation that halts a project, if there is one: no gate of the project runs until a person has answered
/// it.
pub fn halted(ledger: &dyn Ledger, project: &Project) -> Result<Option<OpenEscalation>, LedgerError> {
    Ok(waiting(ledger, project)?.into_iter().find(|waiting| waiting.escalation.level == "halt"))
}

/// Returns whether an escalation for the same reason is open already.
pub fn is_waiting(ledger: &dyn Ledger, project: &Project, task: &str, trigger: &str) -> Result<bool, LedgerError> {
    let same = |waiting: &OpenEscalation| waiting.entry.labels.task == task && waiting.escalation.trigger == trigger;
    Ok(waiting(ledger, project)?.iter().any(same))
}
