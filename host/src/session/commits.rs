//! Records which commit contains the change that a run passed.

use crate::changes::{Selection, WorkFolder};
use crate::environment::Environment;
use crate::error::Error;
use crate::ledger::body::Committed;
use crate::ledger::{Durability, Entry, EntryKind, Filter, Labels, Ledger, NewEntry, Project};
use crate::verdict::Status;
use serde::Deserialize;
use std::time::Duration;

/// The most time that is spent on a comparison: a run that nobody asked for it waits for it.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The part of a record that says what passed. The list of files can be long.
#[derive(Deserialize)]
struct Passed {
    run: String,
    #[serde(default)]
    tree: Option<String>,
    #[serde(default)]
    base: Option<String>,
}

/// Records the commit `head`, if it contains the change that the last pass of the project judged, on the same base.
pub(super) fn note_last(
    ledger: &dyn Ledger,
    project: &Project,
    work: &WorkFolder,
    head: &str,
    environment: &Environment,
) -> Result<(), Error> {
    let passed = Filter {
        status: Some(Status::Pass.as_str().to_owned()),
        last: Some(1),
        ..Filter::of(project).kinds(&[EntryKind::Run])
    };
    let Some(entry) = ledger.entries(&passed)?.pop() else { return Ok(()) };
    let record: Passed = entry.read()?;
    if record.base.as_deref() == Some(head) || is_noted(ledger, &record.run)? {
        return Ok(());
    }
    // A commit that cannot be compared is not what was passed. One that is too large for a moment is compared by `gate verify`.
    let work = work.clone().until(&work.deadline.no_later_than(MAX_TIME));
    let commit = Selection::Commit(head.to_owned());
    let Ok((tree, base)) = super::subject::digest_in(&work, &commit, environment) else { return Ok(()) };
    if tree.is_some() && (&tree, &base) == (&record.tree, &record.base) {
        note(ledger, &entry, head)?;
    }
    Ok(())
}

/// Records the commit that contains the change of a passed run, once.
pub fn note(ledger: &dyn Ledger, passed: &Entry, commit: &str) -> Result<(), Error> {
    if is_noted(ledger, &passed.labels.run)? {
        return Ok(());
    }
    let (run, tree) = (passed.labels.run.clone(), passed.labels.tree.clone());
    let committed = Committed { run, tree, commit_sha: commit.to_owned() };
    let labels = Labels { status: String::new(), class: String::new(), ..passed.labels.clone() };
    let entry = NewEntry::new(EntryKind::Commit, labels, &committed)?;
    ledger.append(&passed.project, vec![entry], Durability::Process)?;
    Ok(())
}

fn is_noted(ledger: &dyn Ledger, run: &str) -> Result<bool, Error> {
    let noted = Filter { run: Some(run.to_owned()), last: Some(1), ..Filter::default().kinds(&[EntryKind::Commit]) };
    Ok(!ledger.entries(&noted)?.is_empty())
}
