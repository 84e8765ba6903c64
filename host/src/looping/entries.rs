//! The ledger entries of a loop: its start and end, every attempt, every bounce, and escalations.

use super::attempt::Done;
use super::record::{AttemptRecord, EvaluatorRun, ExecutorRun, LoopEnd, LoopRecord, State};
use crate::error::Error;
use crate::ledger::body::{Attempt, Bounce, CutOff, Escalation, StepEnd, StepStart};
use crate::ledger::history::{self, TaskHistory};
use crate::ledger::{Durability, Entry, EntryKind, Filter, Labels, Ledger, NewEntry, Project};
use crate::plan::Plan;
use crate::record::Record;
use crate::retry::{PastAttempt, RetryFacts};
use crate::session::Request;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const LOOP: &str = "loop";
const EXECUTOR: &str = "executor";
const EVALUATOR: &str = "evaluator";

/// The entries of one loop. Without a ledger, nothing is stored.
#[derive(Clone, Debug)]
pub(super) struct LoopEntries {
    pub(super) kept: Option<(Arc<dyn Ledger>, Project)>,
    labels: Labels,
    folder: PathBuf,
}

impl LoopEntries {
    pub(super) fn new(ledger: Option<Arc<dyn Ledger>>, request: &Request, plan: &Plan) -> Result<Self, Error> {
        let kept = match ledger {
            Some(ledger) => Some((ledger, Project::of(&request.folder, &request.environment)?)),
            None => None,
        };
        let task = request.submission.task.as_ref();
        let labels = Labels {
            task: task.map(|task| task.id.clone()).unwrap_or_default(),
            group: task.and_then(|task| task.group.clone()).unwrap_or_default(),
            session: request.session.clone(),
            gate: plan.root.name.clone(),
            plan: plan.digest(),
            ..Labels::default()
        };
        let folder = request.folder.canonicalize().unwrap_or_else(|_| request.folder.clone());
        Ok(Self { kept, labels, folder })
    }

    fn note(&self, kind: EntryKind, status: &str, class: &str, body: &impl Serialize) -> Result<(), Error> {
        let Some((ledger, project)) = &self.kept else { return Ok(()) };
        let labels = Labels { status: status.to_owned(), class: class.to_owned(), ..self.labels.clone() };
        let durability = match kind {
            EntryKind::StepStarted => Durability::Process,
            _ => Durability::Power,
        };
        ledger.append(project, vec![NewEntry::new(kind, labels, body)?], durability)?;
        Ok(())
    }

    /// Returns why the project waits for a person, if it does.
    pub(super) fn halted(&self) -> Result<Option<String>, Error> {
        let Some((ledger, project)) = &self.kept else { return Ok(None) };
        let halted = history::halted(ledger.as_ref(), project)?;
        Ok(halted.map(|waiting| {
            let (seq, why) = (waiting.entry.seq, waiting.escalation.why);
            format!("the project has been halted since entry {seq} of the ledger: {why}; decide with `gate resume`")
        }))
    }

    /// Records that a loop begins, with everything that is needed to resume it.
    pub(super) fn begin(&self, record: &LoopRecord, arguments: &[String], before: Option<&str>) -> Result<(), Error> {
        self.resume()?;
        let details = [
            ("arguments", json!(arguments)),
            ("folder", json!(self.folder)),
            ("before", json!(before)),
            ("plan", json!(record.plan)),
            ("started", json!(record.started)),
            ("task", json!(self.labels.task)),
            ("loop", json!(record.id)),
            ("base", json!(record.base)),
            ("executor", json!(record.executor)),
            ("max_bounces", json!(record.bounces_allowed)),
            ("policy", json!(record.policy)),
        ];
        let details: BTreeMap<String, _> = details.map(|(name, value)| (name.to_owned(), value)).into();
        let note = crate::ledger::body::Note { text: "a loop began".to_owned(), details, ..Default::default() };
        self.note(EntryKind::Note, "", "", &note)
    }

    /// Records that this process runs the loop.
    pub(super) fn resume(&self) -> Result<(), Error> {
        self.note(EntryKind::StepStarted, "", "", &StepStart::now(LOOP))
    }

    pub(super) fn evaluator_started(&self, iteration: u32) -> Result<(), Error> {
        let started = StepStart { attempt: Some(iteration), ..StepStart::now(EVALUATOR) };
        self.note(EntryKind::StepStarted, "", "", &started)
    }

    pub(super) fn evaluator_ended(&self, run: &EvaluatorRun) -> Result<(), Error> {
        let details = BTreeMap::from([("run".to_owned(), json!(run))]);
        let (step, outcome, duration_ms) = (EVALUATOR.to_owned(), run.outcome.clone(), run.duration_ms);
        let ended = StepEnd { step, outcome, duration_ms, details, ..Default::default() };
        self.note(EntryKind::StepEnded, &run.outcome, "", &ended)
    }

    /// Stores the record of a run that was made in a copy with the same bytes.
    pub(super) fn run(&self, record: &Record) -> Result<(), Error> {
        let Some((ledger, project)) = &self.kept else { return Ok(()) };
        ledger.append(project, vec![NewEntry::run(record, &self.labels.session)?], Durability::Power)?;
        Ok(())
    }

    /// Records the commit of the work.
    pub(super) fn commit(&self, commit: &str) -> Result<(), Error> {
        let details = BTreeMap::from([("commit".to_owned(), json!(commit))]);
        let note =
            crate::ledger::body::Note { text: "the work was committed".to_owned(), details, ..Default::default() };
        self.note(EntryKind::Note, "", "", &note)
    }

    pub(super) fn executor_started(&self, attempt: u32) -> Result<(), Error> {
        let started = StepStart { attempt: Some(attempt), ..StepStart::now(EXECUTOR) };
        self.note(EntryKind::StepStarted, "", "", &started)
    }

    pub(super) fn executor_ended(&self, run: &ExecutorRun) -> Result<(), Error> {
        let details = [("exit_code", json!(run.exit_code)), ("signal", json!(run.signal)), ("run", json!(run))];
        let details = details.map(|(name, value)| (name.to_owned(), value)).into();
        let (step, outcome) = (EXECUTOR.to_owned(), run.outcome.clone());
        self.note(
            EntryKind::StepEnded,
            &run.outcome,
            "",
            &StepEnd { step, outcome, duration_ms: run.duration_ms, details, ..StepEnd::default() },
        )
    }

    /// Records an attempt and what follows.
    pub(super) fn attempt(
        &self,
        attempt: &AttemptRecord,
        bounces: u32,
        feedback: &str,
        ended: Option<&LoopEnd>,
    ) -> Result<(), Error> {
        let (number, next, why) = (attempt.number, attempt.next.clone(), attempt.why.clone());
        let details = [("attempt", json!(attempt)), ("feedback", json!(feedback)), ("ended", json!(ended))];
        let details = details.map(|(name, value)| (name.to_owned(), value)).into();
        let body = Attempt { number, allowed: Some(bounces.saturating_add(1)), next, why, details };
        let status = attempt.status.map_or("fail", |status| status.as_str());
        self.note(EntryKind::Attempt, status, attempt.class_word(), &body)
    }

    pub(super) fn bounce(&self, number: u32, allowed: u32, feedback: &str, failure: &str) -> Result<(), Error> {
        let (feedback, failure) = (feedback.to_owned(), failure.to_owned());
        self.note(EntryKind::Bounce, "", "", &Bounce { number, allowed: Some(allowed), feedback, failure })
    }

    /// Records that human review is needed, if it is. Returns the escalation if nobody was notified yet.
    pub(super) fn escalation(&self, end: &LoopEnd) -> Result<Option<Entry>, Error> {
        let (Some(trigger), Some((ledger, project))) = (end.trigger.as_ref(), &self.kept) else { return Ok(None) };
        let waiting = history::waiting(ledger.as_ref(), project)?.into_iter().find(|waiting| {
            waiting.entry.labels.session == self.labels.session && waiting.escalation.trigger == *trigger
        });
        // The last run, or this loop before it was killed, may have escalated already.
        if let Some(waiting) = waiting {
            let session = Some(self.labels.session.clone());
            let notes = Filter { session, ..Filter::of(project).kinds(&[EntryKind::Note]) };
            let is_told = |note: &Entry| note.labels.status == "notify" && note.seq > waiting.entry.seq;
            let told = ledger.entries(&notes)?.iter().any(is_told);
            return Ok((!told).then_some(waiting.entry));
        }
        let level = if end.state == State::Halted { "halt" } else { "notify" };
        let offers = ["retry", "skip", "investigate"].map(str::to_owned).to_vec();
        let body = Escalation { level: level.to_owned(), trigger: trigger.clone(), why: end.why.clone(), offers };
        let entry = NewEntry::new(EntryKind::Escalation, self.labels.clone(), &body)?;
        Ok(Some(ledger.append_one(project, entry)?))
    }

    pub(super) fn end(&self, record: &LoopRecord) -> Result<(), Error> {
        let details = [
            ("why", json!(record.why)),
            ("budget", json!(record.budget)),
            ("attempts", json!(record.attempts.len())),
            ("bounces", json!(record.bounces)),
        ];
        let (step, outcome) = (LOOP.to_owned(), record.state.as_str().to_owned());
        let details = details.map(|(name, value)| (name.to_owned(), value)).into();
        let duration_ms = super::emit::milliseconds(record.duration);
        self.note(
            EntryKind::StepEnded,
            &outcome.clone(),
            "",
            &StepEnd { step, outcome, duration_ms, details, ..StepEnd::default() },
        )
    }

    pub(super) fn interrupted(&self) -> Result<(), Error> {
        let body = CutOff { step: LOOP.to_owned(), why: "a signal interrupted it".to_owned() };
        self.note(EntryKind::CutOff, State::Interrupted.as_str(), "", &body)
    }

    /// Returns the attempts at the task before this loop, which began with this entry, since the last pass or the last
    /// answer of a person.
    pub(super) fn past(&self, began: u64) -> Result<Vec<PastAttempt>, Error> {
        let Some(history) = self.history()? else { return Ok(Vec::new()) };
        let past = |run: &history::PastRun| PastAttempt {
            status: run.record().map(|record| record.status),
            class: run.record().and_then(|record| record.class.clone()),
        };
        Ok(history
            .runs
            .iter()
            .filter(|run| run.seq < began && run.ending != history::RunEnding::Running)
            .map(past)
            .collect())
    }

    /// Returns the number of the next attempt at the task, if the ledger knows the task.
    pub(super) fn attempt_number(&self) -> Result<Option<u32>, Error> {
        Ok(self.history()?.map(|history| history.attempts().saturating_add(1)))
    }

    fn history(&self) -> Result<Option<TaskHistory>, Error> {
        match &self.kept {
            Some((ledger, project)) if !self.labels.task.is_empty() => {
                Ok(Some(TaskHistory::read(ledger.as_ref(), project, &self.labels.task)?))
            }
            _ => Ok(None),
        }
    }

    /// Returns the facts that decide what follows.
    pub(super) fn facts(&self, past: &[PastAttempt], done: &Done) -> Result<RetryFacts, Error> {
        let failed_in_group = match &self.kept {
            Some((ledger, project)) if !self.labels.group.is_empty() && !done.passed() => {
                let mut failed = history::failed_tasks(ledger.as_ref(), project, &self.labels.group)?;
                failed.insert(self.labels.task.clone());
                u32::try_from(failed.len()).unwrap_or(u32::MAX)
            }
            _ => 0,
        };
        let needs_person = done.needs_person();
        Ok(RetryFacts { attempts: past.to_vec(), failed_in_group, needs_person, ..RetryFacts::default() })
    }
}
