//! What a hook leaves in the ledger besides the run: that the agent was sent back, or let go without a pass.

use super::Decision;
use super::budget::{FAILED, Session};
use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::body::Bounce;
use crate::ledger::{Durability, EntryKind, Labels, Ledger, NewEntry, Project, SqliteLedger};
use std::path::Path;

/// Records what an agent was told. Where there is no ledger yet, no run was recorded, and so neither is this.
pub fn record(
    environment: &Environment,
    folder: &Path,
    key: &str,
    gate: Option<&str>,
    session: &Session,
    decision: &Decision,
    allowed: u32,
) -> Result<(), Error> {
    let (kind, feedback) = match decision {
        Decision::Allow => return Ok(()),
        Decision::Block(reason) => (EntryKind::Bounce, reason),
        Decision::Release(message) => (EntryKind::Note, message),
    };
    let Some(state) = environment.state_folder() else { return Ok(()) };
    let Some(ledger) = SqliteLedger::open_existing(&state)? else { return Ok(()) };
    let labels = Labels {
        run: session.run.clone().unwrap_or_default(),
        session: key.to_owned(),
        gate: gate.unwrap_or_default().to_owned(),
        status: if kind == EntryKind::Note { FAILED.to_owned() } else { "fail".to_owned() },
        ..Labels::default()
    };
    let bounce = Bounce {
        number: session.bounces.max(session.faults),
        allowed: Some(allowed),
        feedback: feedback.clone(),
        failure: session.failure.clone().unwrap_or_default(),
    };
    ledger.append(&Project::of(folder)?, vec![NewEntry::new(kind, labels, &bounce)?], Durability::Process)?;
    Ok(())
}
