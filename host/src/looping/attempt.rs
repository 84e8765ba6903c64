//! One attempt: the executor runs, and what it did is judged.

use super::executor::Executed;
use super::record::AttemptRecord;
use super::{Driver, repeated};
use crate::config::show_duration;
use crate::error::Error;
use crate::event::What;
use crate::feedback::{self, Round};
use crate::outcome::Outcome;
use crate::plan::Shape;
use crate::record::{Mark, Record};
use crate::retry::Past;
use crate::session::Work;
use crate::submission::{Claim, Executor, ExecutorEnd, PriorFinding};
use crate::text;
use crate::verdict::{Class, Level, Status};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

/// What became of an attempt.
pub(super) struct Done {
    pub(super) summary: AttemptRecord,
    /// The record of the run of the gate, where there was one.
    pub(super) record: Option<Record>,
    /// What goes back to the executor.
    pub(super) feedback: String,
    /// Whether the executor used up its turns, so that running it again would not help.
    pub(super) out_of_turns: bool,
    /// Why nobody can say what was done: the work cannot be compared with its base, or the executor was lost.
    pub(super) unjudgeable: Option<String>,
}

impl Done {
    pub(super) fn passed(&self) -> bool {
        self.summary.status == Some(Status::Pass)
    }

    /// What the rules about retries know of it.
    pub(super) fn past(&self) -> Past {
        let status = self.summary.status.or(Some(Status::Fail));
        Past { status, class: self.summary.class.clone() }
    }

    /// Why human review is needed whatever the numbers say.
    pub(super) fn needs_person(&self) -> Option<String> {
        let record = self.record.as_ref().filter(|record| record.status != Status::Pass)?;
        record.marks.contains(&Mark::NeedsPerson).then(|| match record.gate.reason.as_str() {
            "" => "a person is asked to decide".to_owned(),
            reason => reason.to_owned(),
        })
    }
}

impl Driver<'_> {
    /// Runs the executor, and judges what it did. `before` is the digest of the work before the loop began,
    /// `earlier` the records of the attempts before this one.
    pub(super) fn attempt(
        &self,
        number: u32,
        told: &str,
        before: Option<&str>,
        earlier: &[(u32, Record)],
    ) -> Result<Done, Error> {
        let executed = self.execute(number, told)?;
        let summary = AttemptRecord { number, executor: executed.run.clone(), ..AttemptRecord::default() };
        let failed = |class, feedback, unjudgeable| {
            let failure = repeated::executor_failure(&executed.run.outcome, executed.run.exit_code, &executed.said);
            let summary = AttemptRecord { class: Some(class), failure, ..summary.clone() };
            Done { summary, record: None, feedback, out_of_turns: executed.is_out_of_turns(), unjudgeable }
        };
        if let Some(why) = &executed.lost {
            return Ok(failed(Class::ExecutionFailure, String::new(), Some(format!("the executor: {why}"))));
        }
        if !executed.succeeded() {
            let class = if executed.run.outcome == "timeout" { Class::Timeout } else { Class::ExecutionFailure };
            let feedback = feedback::of_executor(&executed.run.ending(self.budgets.timeout()), &executed.said);
            return Ok(failed(class, feedback, None));
        }
        match self.judge(number, &executed, before, earlier) {
            Ok(record) => {
                let passed = record.status == Status::Pass;
                let summary = AttemptRecord {
                    run: Some(record.run.clone()),
                    status: Some(record.status),
                    class: record.class.clone(),
                    failure: if passed { String::new() } else { repeated::failure(&record) },
                    ..summary
                };
                let feedback = if passed { String::new() } else { self.difference(number, &record, earlier) };
                Ok(Done { summary, record: Some(record), feedback, out_of_turns: false, unjudgeable: None })
            }
            // The configuration and the base are those of before: it is the work that cannot be judged.
            Err(error) => {
                let why = format!("the work cannot be judged: {}", text::clean_line(&error.to_string(), 500));
                Ok(failed(Class::ExecutionFailure, String::new(), Some(why)))
            }
        }
    }

    /// What goes back: what is new, what is still there, and what is resolved.
    fn difference(&self, number: u32, record: &Record, earlier: &[(u32, Record)]) -> String {
        let before = earlier.iter().map(|(number, record)| (*number, &record.gate));
        let allowed = self.budgets.bounces().saturating_add(1);
        feedback::feedback_in(&record.gate, &Round::new(number, allowed, &record.gate, before))
    }

    /// Runs the gate.
    fn judge(
        &self,
        number: u32,
        executed: &Executed,
        before: Option<&str>,
        earlier: &[(u32, Record)],
    ) -> Result<Record, Error> {
        let mut request = self.request.clone();
        if before.is_some() && repeated::tree(&request).as_deref() == before {
            request.work = Work::NotDone;
        }
        let reads_claims = self.pinned.plan().checks().any(|check| check.shape == Shape::Submission);
        if reads_claims {
            request.submission.claim = Some(Claim { text: executed.said.clone(), report: None });
            if let Some(told) = &executed.transcript {
                request.submission.tool_calls.clone_from(&told.tool_calls);
            }
        }
        request.submission.attempt = self.entries.attempt_number()?.unwrap_or(number);
        request.submission.prior_findings = prior(earlier);
        request.submission.attempts_allowed = Some(self.budgets.bounces().saturating_add(1));
        let name = self.wanted.executor.first().and_then(|program| Path::new(program).file_name());
        request.submission.executor = Executor {
            name: name.map(|name| text::clean_line(&name.to_string_lossy(), 200)),
            model: executed.run.model.clone(),
            session: executed.run.session.clone(),
            ended: Some(ExecutorEnd::Finished),
            ..request.submission.executor
        };
        let (again, pause) = self.rules.infra();
        for _ in 0..again {
            let record = super::wait(self.host.run(request.clone(), self.emitter.forwarding()))?;
            // What a verifier broke says nothing about the work: it is asked again, and not the executor.
            if record.status != Status::Error {
                return Ok(record);
            }
            let message = format!("a verifier gave no answer, and is asked again in {}", show_duration(pause));
            let (check, severity) = ("loop".to_owned(), "warn".to_owned());
            self.emitter.emit(What::Logged { check, severity, message });
            thread::sleep(pause);
        }
        super::wait(self.host.run(request, self.emitter.forwarding()))
    }
}

/// What earlier attempts were found wanting in, each finding once, as it was found last.
fn prior(earlier: &[(u32, Record)]) -> Vec<PriorFinding> {
    let mut seen = BTreeSet::new();
    let mut prior = Vec::new();
    for (attempt, record) in earlier.iter().rev() {
        for node in record.checks().filter(|node| !node.shadow && node.outcome != Outcome::Pass) {
            for finding in node.verdict.iter().flat_map(|verdict| &verdict.findings) {
                if finding.level == Level::Error && seen.insert(finding.fingerprint.clone()) {
                    prior.push(PriorFinding { attempt: *attempt, check: node.name.clone(), finding: finding.clone() });
                }
            }
        }
    }
    prior.reverse();
    prior
}
