//! Several independent loops over the same task, each in a copy of the work: only what most of them agree on is taken over.

use super::entries::LoopEntries;
use super::record::{Ended, IndependentRun, LoopRecord, State};
use super::{Emitter, LoopRequest, base, repeated, wait};
use crate::changes::{self, Needs, Selection};
use crate::environment::Environment;
use crate::error::Error;
use crate::event::{EventKind, Observer};
use crate::record::TaskRecord;
use crate::session::{self, Host, LedgerUse, run_id};
use crate::text;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The most runs.
pub(super) const MOST_RUNS: u32 = 20;

/// Runs a loop several times, each time in a copy of the work, and compares what came of it. Where more than half of the runs
/// completed with the same result, it is taken over into the work; otherwise a person is needed.
pub fn run_independently(
    host: &Host,
    wanted: LoopRequest,
    runs: u32,
    observer: impl Observer + 'static,
) -> Result<LoopRecord, Error> {
    if !(2..=MOST_RUNS).contains(&runs) {
        return Err(Error::usage(format_args!("expected from 2 to {MOST_RUNS} runs, found {runs}")));
    }
    if wanted.commit || wanted.insert_fix_tasks.is_some() || wanted.resume.is_some() {
        return Err(Error::usage("several runs are compared, so none of them commits, inserts tasks or is resumed"));
    }
    let started = SystemTime::now();
    let emitter = Arc::new(Emitter::new(run_id(started), Arc::new(observer)));
    let base = base(&wanted.request)?;
    let mut request = wanted.request.clone();
    request.session = emitter.id().to_owned();
    request.selection = Selection::Base(base.clone());
    request.work = session::WorkState::Asked;
    let pinned = wait(host.pin(request.clone(), emitter.forwarding()))?;
    let ledger = request.ledger.open(&request.environment)?;
    let entries = LoopEntries::new(ledger, &request, pinned.plan())?;
    let budgets = wanted.budgets.or(&pinned.budgets());
    let mut record = LoopRecord {
        id: emitter.id().to_owned(),
        gate: pinned.plan().root.name.clone(),
        plan: pinned.plan().digest(),
        policy: pinned.policy(),
        base: base.clone(),
        task: request.submission.task.as_ref().map(TaskRecord::from),
        executor: wanted.executor.clone(),
        started: text::timestamp(started),
        bounces_allowed: budgets.bounces(),
        ..LoopRecord::default()
    };
    emitter.emit(EventKind::LoopStarted {
        gate: record.gate.clone(),
        plan: record.plan.clone(),
        base: base.clone(),
        executor: record.executor.clone(),
        max_bounces: budgets.bounces(),
    });
    entries.begin(&record, &[], None)?;
    let root = changes::collect(&request.folder, &Selection::Changed, Needs::default(), &request.environment)?
        .workspace
        .root()
        .to_owned();
    let real = request.folder.canonicalize().map_err(|error| Error::input("cannot open the folder").because(error))?;
    let inside = real.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
    let mut copies = Vec::new();
    for _ in 0..runs {
        let copy = changes::copy(&request.folder, &base, &request.environment)?;
        let mut inner = wanted.clone();
        inner.request.folder = copy.root().join(&inside);
        inner.request.ledger = LedgerUse::Off;
        let forward = emitter.forwarding();
        let done = super::run(host, inner, forward)?;
        if done.plan != record.plan {
            return Err(Error::host("the gate is another one in a copy of the work")
                .hint("commit gate.toml and everything that it names, or stop ignoring it".to_owned()));
        }
        let tree = repeated::tree(copy.root(), &Selection::Base(base.clone()), &BTreeSet::new(), &request.environment);
        let attempts = u32::try_from(done.attempts.len()).unwrap_or(u32::MAX);
        record.runs.push(IndependentRun { id: done.id.clone(), state: done.state, attempts, tree: tree.clone() });
        copies.push((copy, done, tree));
    }
    let ended = match agreed(&record.runs) {
        Ok(tree) => {
            let winner =
                copies.iter().find(|(_, done, found)| done.state == State::Completed && found.as_ref() == Some(&tree));
            match winner {
                Some((copy, done, _)) => {
                    take_over(copy.root(), &root, &base, &request.environment)?;
                    let judged = done.record.as_ref().and_then(|judged| judged.tree.clone());
                    let there = session::digest_of(&request.folder, &request.selection, &request.environment)?.0;
                    if judged.is_none() || judged != there {
                        return Err(Error::host("what was taken over is not what was judged"));
                    }
                    if let Some(judged) = &done.record {
                        entries.run(judged)?;
                    }
                    (record.record, record.attempts) = (done.record.clone(), done.attempts.clone());
                    record.bounces = done.bounces;
                    record.warnings.clone_from(&done.warnings);
                    Ended::new(State::Completed, "the runs agree", None)
                }
                None => Ended::escalated(State::Escalated, "divergence", "the runs came to no common result"),
            }
        }
        Err(ended) => {
            record.record = copies.iter().rev().find_map(|(_, done, _)| done.record.clone());
            ended
        }
    };
    entries.escalation(&ended)?;
    emitter.escalation(&ended);
    (record.state, record.why, record.budget) = (ended.state, ended.why.clone(), ended.budget.clone());
    record.duration = emitter.elapsed();
    entries.end(&record)?;
    emitter.ended(&ended);
    Ok(record)
}

/// The result of more than half of the runs.
fn agreed(runs: &[IndependentRun]) -> Result<String, Ended> {
    let mut votes: BTreeMap<&String, usize> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.state == State::Completed) {
        if let Some(tree) = &run.tree {
            *votes.entry(tree).or_default() += 1;
        }
    }
    let Some((tree, most)) = votes.iter().max_by_key(|(_, count)| **count) else {
        let why = format!("none of {} runs completed", runs.len());
        return Err(Ended::new(State::VerificationFailed, why, Some("runs")));
    };
    if *most * 2 > runs.len() {
        return Ok((*tree).clone());
    }
    let why = format!("{most} of {} runs agree at most, and {} came to other results", runs.len(), runs.len() - most);
    Err(Ended::escalated(State::Escalated, "divergence", why))
}

/// Makes the work what it is in the copy.
fn take_over(copy: &Path, work: &Path, base: &str, environment: &Environment) -> Result<(), Error> {
    let selection = Selection::Base(base.to_owned());
    let mut paths = BTreeSet::new();
    for folder in [copy, work] {
        let found = changes::collect(folder, &selection, Needs::default(), environment)?;
        paths.extend(
            found.changes.iter().flat_map(|change| [Some(change.path.clone()), change.old_path.clone()]).flatten(),
        );
    }
    for path in paths {
        let (from, to) = (copy.join(&path), work.join(&path));
        let cannot = |error| Error::host(format_args!("cannot take over `{path}`")).because(error);
        if to.symlink_metadata().is_ok_and(|about| !about.is_dir()) {
            fs::remove_file(&to).map_err(cannot)?;
        }
        let Ok(about) = from.symlink_metadata() else { continue };
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(cannot)?;
        }
        if about.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from).map_err(cannot)?, &to).map_err(cannot)?;
        } else if about.is_file() {
            fs::copy(&from, &to).map_err(cannot)?;
        }
    }
    Ok(())
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
