//! Derives the history of tasks from entries: attempts, earlier findings, bounces, interrupted runs, and whether the
//! project waits for a person.
//!
//! Everything is counted from entries each time, so that nothing is counted twice and no count can be lost.

mod past_run;
mod waiting;

pub use past_run::{PastRun, RunEnding, interrupted, runs};
pub use waiting::{OpenEscalation, halted, is_waiting, waiting};

use super::body::{Escalation, Resume};
use super::{Entry, EntryKind, Filter, Ledger, LedgerError, Project};
use crate::outcome::{NodeKind, Outcome};
use crate::record::{Record, TaskRecord};
use crate::retry::{GROUP, PastAttempt, RetryFacts};
use crate::submission::PriorFinding;
use crate::text;
use crate::verdict::{Class, Level, Status};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// What is known about a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskHistory {
    /// Its runs since the last pass, or since a person answered an escalation; oldest first.
    pub runs: Vec<PastRun>,
    /// Whether an earlier run passed.
    pub passed_before: bool,
}

impl TaskHistory {
    /// Reads what is known about a task. A run of another gate counts too: the task is the same.
    pub fn read(ledger: &dyn Ledger, project: &Project, task: &str) -> Result<Self, LedgerError> {
        let kinds = [EntryKind::StepStarted, EntryKind::Run, EntryKind::CutOff, EntryKind::Resume];
        let filter = Filter { task: Some(task.to_owned()), ..Filter::of(project).kinds(&kinds) };
        Self::of(&ledger.entries(&filter)?)
    }

    /// Returns the history of a task from its entries.
    pub fn of(entries: &[Entry]) -> Result<Self, LedgerError> {
        Ok(Self::of_runs(entries, runs(entries)?))
    }

    /// Returns the history of a task from its runs.
    pub(super) fn of_runs(entries: &[Entry], all: Vec<PastRun>) -> Self {
        let resumed = entries.iter().rev().find(|entry| entry.kind == EntryKind::Resume).map_or(0, |entry| entry.seq);
        let passed = all.iter().rposition(PastRun::passed);
        let since = passed.map_or(0, |index| index + 1);
        let runs = all.into_iter().skip(since).filter(|run| run.seq > resumed).collect();
        Self { runs: last_of_each_attempt(runs), passed_before: passed.is_some() }
    }

    /// Returns the number of attempts. An interrupted attempt counts.
    pub fn attempts(&self) -> u32 {
        u32::try_from(self.runs.iter().filter(|run| run.is_attempt()).count()).unwrap_or(u32::MAX)
    }

    /// Returns how many of its runs asked a reviewer.
    pub fn reviews(&self) -> u32 {
        let reviewed = |record: &&Record| record.gate.walk().any(|node| !node.shadow && !node.models.is_empty());
        u32::try_from(self.records().filter(reviewed).count()).unwrap_or(u32::MAX)
    }

    /// Returns the records, oldest first.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.runs.iter().filter_map(PastRun::record)
    }

    /// Returns the earlier findings, oldest first. Each fingerprint occurs once, with its last finding.
    pub fn prior_findings(&self) -> Vec<PriorFinding> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let attempts: Vec<&PastRun> = self.runs.iter().filter(|run| run.is_attempt()).collect();
        for (index, run) in attempts.iter().enumerate().rev() {
            let Some(record) = run.record() else { continue };
            let attempt = u32::try_from(index + 1).unwrap_or(u32::MAX);
            for (check, finding) in faults(record).collect::<Vec<_>>().into_iter().rev() {
                if finding.fingerprint.is_empty() || seen.insert(finding.fingerprint.clone()) {
                    found.push(PriorFinding { attempt, check: check.to_owned(), finding: finding.clone() });
                }
            }
        }
        found.reverse();
        found
    }

    /// Returns the failure digest of the last run that ended.
    pub fn last_failure(&self) -> Option<String> {
        self.records().last().map(failure_digest)
    }
}

/// Leaves out the runs of an attempt that was judged again later: one attempt counts once.
fn last_of_each_attempt(runs: Vec<PastRun>) -> Vec<PastRun> {
    let attempt = |run: &PastRun| run.record().map(|record| (record.attempt, run.gate.clone()));
    let again: Vec<bool> = runs
        .iter()
        .zip(runs.iter().skip(1))
        .map(|(run, next)| run.is_attempt() && attempt(run).is_some() && attempt(run) == attempt(next))
        .collect();
    runs.into_iter().zip(again.into_iter().chain([false])).filter(|(_, again)| !again).map(|(run, _)| run).collect()
}

/// Returns the findings that keep a run from passing, each with its check.
fn faults(record: &Record) -> impl Iterator<Item = (&str, &crate::verdict::Finding)> {
    let checks = record.gate.walk().filter(|node| {
        node.kind == NodeKind::Check && !node.shadow && !matches!(node.outcome, Outcome::Pass | Outcome::NotApplicable)
    });
    checks.flat_map(|node| {
        let findings = node.verdict.iter().flat_map(|verdict| &verdict.findings);
        findings.filter(|finding| finding.level == Level::Error).map(|finding| (node.name.as_str(), finding))
    })
}

/// Returns a digest that is equal for two runs that failed in the same way: over the sorted fingerprints of the findings,
/// and the classes of the checks that did not pass.
pub fn failure_digest(record: &Record) -> String {
    let mut parts: BTreeSet<String> = faults(record).map(|(_, finding)| format!("f {}", finding.fingerprint)).collect();
    let failed = record.gate.walk().filter(|node| {
        node.kind == NodeKind::Check
            && !node.shadow
            && matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error)
    });
    parts.extend(failed.map(|node| {
        let class = node.class.as_ref().map_or("", Class::as_str);
        format!("c {} {} {class}", node.name, node.outcome.as_str())
    }));
    let mut digest = Sha256::new();
    digest.update(record.status.as_str());
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    text::sha256(digest.finalize())
}

/// How often the work of a session was sent back by a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounces {
    /// In all.
    pub total: u32,
    /// Since the last pass of the gate in the session.
    pub since_pass: u32,
    /// The digest of the last failure.
    pub last_failure: Option<String>,
    /// How many of the last bounces in a row had this failure.
    pub same_failure: u32,
}

impl Bounces {
    /// Counts the bounces of a session by a gate.
    pub fn read(ledger: &dyn Ledger, project: &Project, session: &str, gate: &str) -> Result<Self, LedgerError> {
        let filter = Filter {
            session: Some(session.to_owned()),
            gate: Some(gate.to_owned()),
            ..Filter::of(project).kinds(&[EntryKind::Bounce, EntryKind::Run])
        };
        let mut bounces = Self::default();
        for entry in ledger.entries(&filter)? {
            if entry.kind == EntryKind::Bounce {
                let failure = entry.read::<super::body::Bounce>()?.failure;
                bounces.total += 1;
                bounces.since_pass += 1;
                let same = bounces.last_failure.as_ref() == Some(&failure);
                bounces.same_failure = if same { bounces.same_failure + 1 } else { 1 };
                bounces.last_failure = Some(failure);
            } else if entry.labels.status == Status::Pass.as_str() {
                bounces = Self { total: bounces.total, ..Self::default() };
            }
        }
        Ok(bounces)
    }
}

/// Returns the tasks of a group whose last run did not pass, since a person last ended a halt because of the group.
pub fn failed_tasks(ledger: &dyn Ledger, project: &Project, group: &str) -> Result<BTreeSet<String>, LedgerError> {
    let kinds = [EntryKind::StepStarted, EntryKind::Run, EntryKind::CutOff, EntryKind::Escalation, EntryKind::Resume];
    let filter = Filter { group: Some(group.to_owned()), ..Filter::of(project).kinds(&kinds) };
    let entries = ledger.entries(&filter)?;
    let (mut halts, mut since) = (BTreeSet::new(), 0);
    for (index, entry) in entries.iter().enumerate() {
        match entry.kind {
            EntryKind::Escalation if entry.read::<Escalation>()?.trigger == GROUP => {
                halts.insert(entry.seq);
            }
            EntryKind::Resume if halts.contains(&entry.read::<Resume>()?.escalation) => since = index,
            _ => {}
        }
    }
    let mut failed = BTreeSet::new();
    for run in runs(&entries[since..])? {
        match run.ending {
            _ if run.passed() => failed.remove(&run.task),
            RunEnding::Running => false,
            _ if run.is_attempt() => failed.insert(run.task),
            _ => false,
        };
    }
    Ok(failed)
}

/// Returns whether a run of the task passed.
pub fn has_passed(ledger: &dyn Ledger, project: &Project, task: &str) -> Result<bool, LedgerError> {
    let filter = Filter { task: Some(task.to_owned()), last: Some(1), ..passes(project) };
    Ok(!ledger.entries(&filter)?.is_empty())
}

/// How many of the last passes are looked at for the task at a position, so that looking costs the same in a long ledger.
const WINDOW: u32 = 100;

/// Returns the task at a position of the plan, if one of the last passes of the project is of a task at that position.
pub fn passed_at(ledger: &dyn Ledger, project: &Project, index: u32) -> Result<Option<TaskRecord>, LedgerError> {
    for entry in ledger.entries(&Filter { last: Some(WINDOW), ..passes(project) })?.iter().rev() {
        if let Some(task) = entry.record()?.task.filter(|task| task.index == Some(index)) {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

fn passes(project: &Project) -> Filter {
    Filter { status: Some(Status::Pass.as_str().to_owned()), ..Filter::of(project).kinds(&[EntryKind::Run]) }
}

/// Returns the facts about a task that decide about its next attempt. `last` is the record of the run that just ended,
/// whether the ledger has its entry already or not.
pub fn facts(ledger: &dyn Ledger, project: &Project, last: &Record) -> Result<RetryFacts, LedgerError> {
    let past = |record: &Record| PastAttempt { status: Some(record.status), class: record.class.clone() };
    let task = last.task.as_ref().filter(|task| !task.id.is_empty());
    let mut facts = RetryFacts {
        attempts_allowed: last.attempts_allowed,
        needs_person: needs_person(last),
        blocked_by: last.blocked_by.clone(),
        ..RetryFacts::default()
    };
    if let Some(task) = task {
        let history = TaskHistory::read(ledger, project, &task.id)?;
        facts.attempts = history
            .runs
            .iter()
            .filter(|run| run.run != last.run && run.ending != RunEnding::Running)
            .map(|run| run.record().map_or_else(PastAttempt::interrupted, past))
            .collect();
        if let Some(group) = &task.group {
            let mut failed = failed_tasks(ledger, project, group)?;
            if last.status != Status::Pass && !matches!(last.class, Some(Class::Blocked | Class::Infra)) {
                failed.insert(task.id.clone());
            }
            facts.failed_in_group = u32::try_from(failed.len()).unwrap_or(u32::MAX);
        }
    }
    facts.attempts.push(past(last));
    Ok(facts)
}

/// Returns why a run needs human review, if it does.
fn needs_person(record: &Record) -> Option<String> {
    if !record.gate.escalated {
        return None;
    }
    let deepest = record.gate.walk().filter(|node| node.escalated).last()?;
    let why = match (&deepest.vote, deepest.reason.as_str()) {
        (_, reason) if !reason.is_empty() => reason.to_owned(),
        (Some(vote), _) => format!("the vote is {}", vote.decision),
        _ => match deepest.verdict.as_ref().map(|verdict| verdict.summary.as_str()) {
            Some(summary) if !summary.is_empty() => summary.to_owned(),
            _ => "a verifier asked for human review".to_owned(),
        },
    };
    Some(crate::text::clean_line(&format!("{}: {why}", deepest.name), 500))
}
