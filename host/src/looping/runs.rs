//! Runs several independent loops on the same task, each in a copy of the work, and keeps the result of the majority.

use super::record::{IndependentRun, LoopEnd, LoopRecord, State};
use super::{Driver, LoopRequest, repeated};
use crate::changes::{self, Needs, Selection};
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::error::Error;
use crate::event::Observer;
use crate::session::{self, Host, LedgerUse, Request};
use crate::text;
use crate::workspace::Workspace;
use crate::writer::{Beneath, WriteError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most runs.
pub(super) const MOST_RUNS: u32 = 20;

/// Runs a loop several times, each time in a copy of the work, and compares the results. If more than half of the runs completed
/// with the same result, it is copied into the work; otherwise human review is needed.
pub fn run_independently(
    host: &Host,
    wanted: LoopRequest,
    runs: u32,
    observer: impl Observer + 'static,
) -> Result<LoopRecord, Error> {
    if !(2..=MOST_RUNS).contains(&runs) {
        return Err(Error::usage(format_args!("expected from 2 to {MOST_RUNS} runs, found {runs}")));
    }
    if wanted.commit || wanted.insert_fix_tasks.is_some() {
        return Err(Error::usage("with several runs, none of them can commit or insert tasks"));
    }
    let (driver, reached) = Driver::new(host, wanted, observer)?;
    // An interrupted loop starts all runs again: none of them has touched the work.
    driver.run(reached, |driver, record, _, _| driver.compare(record, runs))
}

impl Driver<'_> {
    /// Runs the loops one after the other, and keeps the result of the majority.
    fn compare(&self, record: &mut LoopRecord, runs: u32) -> Result<LoopEnd, Error> {
        let Request { folder, environment, selection, .. } = &self.request;
        let root = changes::collect(folder, &Selection::Changed, Needs::default(), environment)?;
        let root = root.workspace.root().to_owned();
        let real = folder.canonicalize().map_err(|error| Error::input("cannot open the folder").because(error))?;
        let inside = real.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
        let mut copies = Vec::new();
        for _ in 0..runs {
            let copy = changes::copy(folder, self.base(), environment, &Deadline::default())?;
            // It would be deleted with the result, because no copy has it.
            if let Some(link) = copy.left_out().first() {
                let link = text::clean_line(link, 200);
                return Err(Error::input(format_args!(
                    "the symlink `{link}` leads out of the work, so no copy has it"
                ))
                .hint("remove the symlink or ignore it with git, or run without `--runs`".to_owned()));
            }
            let mut wanted = LoopRequest { resume: None, ..self.wanted.clone() };
            wanted.request.folder = copy.root().join(&inside);
            wanted.request.ledger = LedgerUse::Off;
            let done = super::run(self.host, wanted, self.emitter.forwarding())?;
            if done.plan != record.plan {
                return Err(Error::host("the gate in a copy of the work differs from the gate in the work")
                    .hint("commit gate.toml and everything that it names, or stop ignoring it".to_owned()));
            }
            let tree = repeated::tree(copy.root(), selection, &BTreeSet::new(), environment);
            let attempts = u32::try_from(done.attempts.len()).unwrap_or(u32::MAX);
            record.runs.push(IndependentRun { id: done.id.clone(), state: done.state, attempts, tree: tree.clone() });
            copies.push((copy, done, tree));
        }
        let tree = match agreed(&record.runs) {
            Ok(tree) => tree,
            Err(end) => {
                record.record = copies.iter().rev().find_map(|(_, done, _)| done.record.clone());
                return Ok(end);
            }
        };
        let wins =
            |done: &LoopRecord, found: &Option<String>| done.state == State::Completed && found.as_ref() == Some(&tree);
        let Some((copy, done, _)) = copies.iter().find(|(_, done, found)| wins(done, found)) else {
            return Ok(LoopEnd::escalated(State::Escalated, "divergence", "no result has a majority of the runs"));
        };
        take_over(copy.root(), &root, self.base(), environment)?;
        let judged = done.record.as_ref().and_then(|judged| judged.tree.clone());
        if judged.is_none() || judged != session::digest_of(folder, selection, environment)?.0 {
            return Err(Error::host("the copied files differ from those that were checked"));
        }
        if let Some(judged) = &done.record {
            self.entries.run(judged)?;
        }
        (record.record, record.attempts) = (done.record.clone(), done.attempts.clone());
        record.bounces = done.bounces;
        let warnings = done.warnings.clone();
        Ok(LoopEnd { warnings, ..LoopEnd::new(State::Completed, "the runs agree", None) })
    }
}

/// Returns the result of more than half of the runs.
fn agreed(runs: &[IndependentRun]) -> Result<String, LoopEnd> {
    let mut votes: BTreeMap<&String, usize> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.state == State::Completed) {
        if let Some(tree) = &run.tree {
            *votes.entry(tree).or_default() += 1;
        }
    }
    let Some((tree, most)) = votes.iter().max_by_key(|(_, count)| **count) else {
        let why = format!("none of {} runs completed", runs.len());
        return Err(LoopEnd::new(State::VerificationFailed, why, Some("runs")));
    };
    if *most * 2 > runs.len() {
        return Ok((*tree).clone());
    }
    let why = format!("at most {most} of {} runs agree, and {} had other results", runs.len(), runs.len() - most);
    Err(LoopEnd::escalated(State::Escalated, "divergence", why))
}

/// Copies the result into the work.
fn take_over(copy: &Path, work: &Path, base: &str, environment: &Environment) -> Result<(), Error> {
    let selection = Selection::Base(base.to_owned());
    let mut paths = BTreeSet::new();
    for folder in [copy, work] {
        let found = changes::collect(folder, &selection, Needs::default(), environment)?;
        paths.extend(
            found.changes.iter().flat_map(|change| [Some(change.path.clone()), change.old_path.clone()]).flatten(),
        );
    }
    let cannot = |path: &str, error: WriteError| {
        Error::host(format_args!("cannot copy `{}` into the work", text::clean_line(path, 200))).because(error)
    };
    let opened = |error: std::io::Error| Error::host("cannot open the work").because(error);
    let (from, to) = (Workspace::open(copy).map_err(opened)?, Beneath::open(work).map_err(opened)?);
    to.take_over(&from, &paths).map_err(|(path, error)| cannot(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_majority_of_completed_runs_agrees() {
        let run = |(state, tree): &(State, &str)| IndependentRun {
            state: *state,
            tree: Some((*tree).to_owned()).filter(|tree| !tree.is_empty()),
            ..IndependentRun::default()
        };
        let (done, failed) = (State::Completed, State::VerificationFailed);
        for (runs, expected) in [
            (vec![(done, "a"), (done, "a"), (done, "b")], Ok("a")),
            (vec![(done, "a"), (done, "b"), (done, "c")], Err(State::Escalated)),
            (vec![(done, "a"), (done, "b")], Err(State::Escalated)),
            (vec![(done, "a"), (failed, "a"), (failed, "a")], Err(State::Escalated)),
            (vec![(failed, "a"), (failed, "a")], Err(State::VerificationFailed)),
            (vec![(done, ""), (done, "")], Err(State::VerificationFailed)),
        ] {
            let runs: Vec<IndependentRun> = runs.iter().map(run).collect();
            let found = agreed(&runs).map_err(|ended| ended.state);
            assert_eq!(found.as_deref().map_err(|state| *state), expected, "{runs:?}");
        }
    }
}
