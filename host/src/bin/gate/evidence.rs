//! Opens the ledger and finds runs, for the commands that read it.

use crate::args::Global;
use crate::error::Error;
use gatehost::environment::Environment;
use gatehost::ledger::{Entry, EntryKind, Filter, Head, Ledger, LedgerError, Project, SqliteLedger};
use std::time::{SystemTime, UNIX_EPOCH};

/// Opens the ledger of this user, and returns the project of the folder. The ledger must exist.
pub(crate) fn open(global: &Global) -> Result<(SqliteLedger, Project), Error> {
    Ok((ledger(None)?, Project::of(&global.directory, &Environment::of_process())?))
}

/// Opens the ledger of this user. If it does not exist although one of its entries was anchored, it was removed.
pub(crate) fn ledger(anchor: Option<Head>) -> Result<SqliteLedger, Error> {
    let folder = Environment::of_process().state_folder().ok_or(LedgerError::NoFolder)?;
    SqliteLedger::open_existing(&folder)?.ok_or_else(|| {
        let shown = folder.display();
        match anchor.filter(|anchor| anchor.seq > 0) {
            Some(Head { seq, .. }) => Error::host(format_args!(
                "there is no ledger in `{shown}`, but its entry {seq} was anchored: the ledger was removed"
            ))
            .hint("restore the state folder, or run the gate again".to_owned()),
            None => Error::usage(format_args!("there is no ledger in `{shown}` yet"))
                .hint("`gate run` creates one".to_owned()),
        }
    })
}

/// Returns the run with this identifier, prefix or entry number; without one, the last run of the project.
pub(crate) fn find(ledger: &dyn Ledger, project: &Project, name: Option<&str>) -> Result<Entry, Error> {
    let runs = Filter::of(project).kinds(&[EntryKind::Run]);
    let Some(name) = name.filter(|name| *name != "last") else {
        let last = ledger.entries(&Filter { last: Some(1), ..runs })?.pop();
        return last.ok_or_else(|| {
            Error::usage("the ledger has no run of this project").hint("`gate run` records one".to_owned())
        });
    };
    let exact = ledger.entries(&Filter { run: Some(name.to_owned()), ..Filter::default().kinds(&[EntryKind::Run]) })?;
    if let Some(entry) = exact.into_iter().next_back() {
        return Ok(entry);
    }
    let number = name.strip_prefix('#').unwrap_or(name).parse::<u64>().ok();
    let matches = |entry: &Entry| Some(entry.seq) == number || (name.len() >= 4 && entry.labels.run.starts_with(name));
    let mut found: Vec<Entry> = ledger.entries(&runs)?.into_iter().filter(matches).collect();
    match (found.pop(), found.is_empty()) {
        (Some(entry), true) => Ok(entry),
        (None, _) => Err(Error::usage(format_args!("the ledger has no run `{name}` of this project"))
            .hint("`gate log` lists them".to_owned())),
        (Some(_), false) => Err(Error::usage(format_args!("`{name}` matches more than one run"))),
    }
}

/// Returns the beginning of the identifier of a run, which is enough to name it.
pub(crate) fn short(run: &str) -> &str {
    run.get(..10).unwrap_or(run)
}

/// Returns the time now, in seconds since 1970.
pub(crate) fn now() -> u64 {
    now_millis() / 1_000
}

/// Returns the time now, in milliseconds since 1970.
pub(crate) fn now_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
