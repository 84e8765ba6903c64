//! One attempt: runs the executor, and checks its work.

use super::evaluator::Evaluated;
use super::executor::Executed;
use super::record::{AttemptRecord, EvaluatorRun, ExecutorRun, LoopRecord};
use super::{Course, Driver, Spent, repeated, review};
use crate::config::show_duration;
use crate::error::Error;
use crate::event::EventKind;
use crate::feedback::{self, Round};
use crate::fix;
use crate::outcome::{NodeKind, Outcome};
use crate::plan::Shape;
use crate::record::{Mark, Record};
use crate::retry::PastAttempt;
use crate::session::{Request, WorkState};
use crate::submission::{Claim, Executor, ExecutorEnd, PriorFinding, ReviewRound};
use crate::text;
use crate::verdict::{Class, Level, Status};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The result of an attempt.
#[derive(Default)]
pub(super) struct Done {
    pub(super) summary: AttemptRecord,
    /// The record of the gate run, if there was one.
    pub(super) record: Option<Record>,
    /// The digest of the checked work.
    pub(super) tree: Option<String>,
    /// The feedback for the executor.
    pub(super) feedback: String,
    /// Whether the executor used up its turns, so that running it again would not help.
    pub(super) out_of_turns: bool,
    /// Why the result is unknown, as a word and in words: the work cannot be compared with its base, contact with the executor
    /// was lost, or the evaluator is not trusted.
    pub(super) unjudgeable: Option<(&'static str, String)>,
    /// The findings, if the executor can fix none of them.
    pub(super) suggestions: Vec<String>,
    /// All findings that kept it from passing.
    pub(super) outstanding: Vec<String>,
}

impl Done {
    pub(super) fn passed(&self) -> bool {
        self.summary.status == Some(Status::Pass)
    }

    /// Returns the facts about an attempt for the retry rules.
    pub(super) fn past(&self) -> PastAttempt {
        past(&self.summary)
    }

    /// Returns why human review is needed, whatever the budgets say.
    pub(super) fn needs_person(&self) -> Option<String> {
        let record = self.record.as_ref().filter(|record| record.status != Status::Pass)?;
        record.marks.contains(&Mark::NeedsPerson).then(|| match record.gate.reason.as_str() {
            "" => "a person is asked to decide".to_owned(),
            reason => reason.to_owned(),
        })
    }
}

/// Returns the facts about an attempt for the retry rules.
pub(super) fn past(summary: &AttemptRecord) -> PastAttempt {
    PastAttempt { status: summary.status.or(Some(Status::Fail)), class: summary.class.clone() }
}

impl Driver<'_> {
    /// Runs the executor, and checks its work. `course` has what is known from the earlier attempts in `record`.
    pub(super) fn attempt(&self, number: u32, course: &Course, record: &LoopRecord) -> Result<Done, Error> {
        let timeout = self.timeout(record);
        let executed = self.execute(number, timeout, &course.feedback, &course.fix_tasks)?;
        if let Some(why) = &executed.lost {
            let why = format!("the executor: {why}");
            return Ok(Done {
                unjudgeable: Some(("unjudgeable", why)),
                ..self.not_judged(number, &executed, timeout, None)
            });
        }
        if !executed.succeeded() {
            return Ok(self.not_judged(number, &executed, timeout, None));
        }
        let spent = Spent::of(&record.attempts, record.bounces);
        let evaluated = self.evaluate(spent.iterations + 1, &executed)?;
        if let Some(Evaluated { refused: Some((word, why)), run, .. }) = &evaluated {
            let lost = self.not_judged(number, &executed, timeout, Some(run.clone()));
            return Ok(Done { unjudgeable: Some((word, why.clone())), ..lost });
        }
        let request = self.request_for(number, &executed, evaluated.as_ref(), course, &spent)?;
        let mut fixed = Vec::new();
        let mut tree = self.tree();
        let mut judged = self.judge(request.clone());
        if let Ok(failed) = &judged
            && failed.status != Status::Pass
            && self.budgets.fix.unwrap_or(false)
        {
            fixed = self.fix(&request, failed)?;
            if !fixed.is_empty() {
                tree = self.tree();
                judged = self.judge(request);
            }
        }
        match judged {
            Ok(judged) => {
                let executor = executed.run.clone();
                let evaluator = evaluated.map(|evaluated| evaluated.run);
                let mut done = self.judged(number, executor, evaluator, judged, course, record);
                (done.summary.fixed, done.tree) = (fixed, tree);
                Ok(done)
            }
            // The configuration and the base have not changed, so the work is the reason that it cannot be checked.
            Err(error) => {
                let why = format!("the work cannot be checked: {}", text::clean_line(&error.to_string(), 500));
                let lost = self.not_judged(number, &executed, timeout, evaluated.map(|evaluated| evaluated.run));
                Ok(Done { unjudgeable: Some(("unjudgeable", why)), ..lost })
            }
        }
    }

    /// Returns the time limit of the executor. It doubles after each attempt that timed out; finished work is kept.
    fn timeout(&self, record: &LoopRecord) -> Duration {
        let exceeded = record.attempts.iter().filter(|attempt| attempt.executor.outcome == "timeout").count();
        self.budgets.timeout(u32::try_from(exceeded).unwrap_or(u32::MAX))
    }

    /// Returns an attempt without work to check.
    fn not_judged(&self, number: u32, executed: &Executed, timeout: Duration, evaluator: Option<EvaluatorRun>) -> Done {
        let ExecutorRun { outcome, exit_code, .. } = &executed.run;
        let class = if outcome == "timeout" { Class::Timeout } else { Class::ExecutionFailure };
        let failure = repeated::executor_failure(outcome, *exit_code, &executed.said);
        let feedback = feedback::of_executor(
            &executed.run.ending(timeout),
            &executed.said,
            &Round::only(number, self.budgets.bounces().saturating_add(1)),
            &class,
        );
        let mut summary = AttemptRecord {
            number,
            executor: executed.run.clone(),
            evaluator,
            class: Some(class),
            failure,
            ..AttemptRecord::default()
        };
        (summary.tokens, summary.cost) = took(&summary, None);
        Done { summary, feedback, out_of_turns: executed.is_out_of_turns(), ..Done::default() }
    }

    /// Returns an attempt that was interrupted.
    pub(super) fn interrupted(&self, number: u32, evaluator: Option<EvaluatorRun>) -> Done {
        let run = ExecutorRun { outcome: "interrupted".to_owned(), ..ExecutorRun::default() };
        let executed = Executed { run, said: String::new(), transcript: None, lost: None };
        let mut done = self.not_judged(number, &executed, Duration::ZERO, evaluator);
        done.summary.failure.clear();
        done
    }

    /// Returns an attempt that the gate checked.
    pub(super) fn judged(
        &self,
        number: u32,
        executor: ExecutorRun,
        evaluator: Option<EvaluatorRun>,
        judged: Record,
        course: &Course,
        record: &LoopRecord,
    ) -> Done {
        let passed = judged.status == Status::Pass;
        let reviewed = !review::reviews(&judged).is_empty();
        let mut summary = AttemptRecord {
            number,
            executor,
            evaluator,
            run: Some(judged.run.clone()),
            status: Some(judged.status),
            class: judged.class.clone(),
            failure: if passed { String::new() } else { repeated::failure(&judged) },
            review: if reviewed { Spent::of(&record.attempts, 0).rejections + 1 } else { 0 },
            ..AttemptRecord::default()
        };
        (summary.tokens, summary.cost) = took(&summary, Some(&judged));
        let feedback = if passed { String::new() } else { self.difference(number, &judged, &course.earlier) };
        let (mut suggestions, mut outstanding) = (Vec::new(), Vec::new());
        if !passed {
            (suggestions, outstanding) = (review::suggestions(&judged), review::outstanding(&judged));
        }
        Done { summary, feedback, suggestions, outstanding, record: Some(judged), ..Done::default() }
    }

    /// Returns the feedback: new, remaining and resolved findings.
    fn difference(&self, number: u32, record: &Record, earlier: &[(u32, Record)]) -> String {
        let before = earlier.iter().map(|(number, record)| (*number, &record.gate));
        let allowed = self.budgets.bounces().saturating_add(1);
        feedback::feedback_in(&record.gate, &Round::new(number, allowed, &record.gate, before))
    }

    /// Returns the request that checks an attempt.
    fn request_for(
        &self,
        number: u32,
        executed: &Executed,
        evaluated: Option<&Evaluated>,
        course: &Course,
        spent: &Spent,
    ) -> Result<Request, Error> {
        let mut request = self.request.clone();
        if course.before.is_some() && self.tree() == course.before {
            request.work = WorkState::NotDone;
        }
        let reads_claims = self.pinned.plan().checks().any(|check| check.shape == Shape::Submission);
        if reads_claims {
            request.submission.claim = Some(Claim { text: executed.said.clone(), report: None });
            if let Some(told) = &executed.transcript {
                request.submission.tool_calls.clone_from(&told.tool_calls);
            }
            request.submission.evaluator = evaluated.map(|evaluated| evaluated.part.clone());
        }
        request.submission.attempt = self.entries.attempt_number()?.unwrap_or(number);
        request.submission.prior_findings = prior(&course.earlier);
        request.submission.attempts_allowed = Some(self.budgets.bounces().saturating_add(1));
        request.submission.review = Some(ReviewRound { number: spent.rejections + 1, allowed: self.budgets.reviews() });
        // Checks that failed before run first.
        request.first = course.earlier.last().map(|(_, record)| failed(record)).unwrap_or_default();
        let name = self.wanted.executor.first().and_then(|program| Path::new(program).file_name());
        request.submission.executor = Executor {
            name: name.map(|name| text::clean_line(&name.to_string_lossy(), 200)),
            model: executed.run.model.clone(),
            session: executed.run.session.clone(),
            ended: Some(ExecutorEnd::Finished),
            ..request.submission.executor
        };
        Ok(request)
    }

    /// Runs the gate, and again after an error that the work did not cause.
    fn judge(&self, mut request: Request) -> Result<Record, Error> {
        let mut repeated = 0;
        loop {
            let record = super::wait(self.host.run(request.clone(), self.emitter.forwarding()))?;
            let retries = self.rules.same_work(record.class.as_ref());
            if record.status != Status::Error || repeated >= retries.most {
                return Ok(record);
            }
            repeated += 1;
            let pause = Duration::from_secs(retries.after_seconds);
            self.warn(format!("a verifier gave no answer; `gate` asks it again in {}", show_duration(pause)));
            request.first = failed(&record);
            thread::sleep(pause);
        }
    }

    /// Applies the fixes that verifiers offer, if they help, and returns the fixed files.
    fn fix(&self, request: &Request, failed: &Record) -> Result<Vec<String>, Error> {
        if !fix::offers(failed) {
            return Ok(Vec::new());
        }
        // If fixes cannot be tried, the work goes back as it is.
        let request = Request { reusable: None, ..request.clone() };
        let Ok(proposal) = fix::propose(self.host, &request, &self.pinned, failed.clone()) else {
            return Ok(Vec::new());
        };
        if proposal.files.is_empty() {
            return Ok(Vec::new());
        }
        if let Err(error) = proposal.write() {
            let whole = |(message, causes, _): (&str, Vec<String>, _)| format!("{message}: {}", causes.join(": "));
            self.warn(format!("no fix was written: {}", error.problems().map(whole).collect::<String>()));
            return Ok(Vec::new());
        }
        let files: Vec<String> = proposal.files.iter().map(|file| file.path.clone()).collect();
        self.emitter.emit(EventKind::Fixed { files: files.clone() });
        Ok(files)
    }

    fn warn(&self, message: String) {
        let (check, severity) = ("loop".to_owned(), "warn".to_owned());
        self.emitter.emit(EventKind::Logged { check, severity, message });
    }
}

/// Returns the members that did not pass.
fn failed(record: &Record) -> BTreeSet<String> {
    let failed = record.gate.walk().filter(|node| {
        node.kind == NodeKind::Check
            && !node.shadow
            && matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error)
    });
    failed.map(|node| node.name.clone()).collect()
}

/// Returns the tokens of an attempt and their cost, as far as they are reported.
fn took(summary: &AttemptRecord, record: Option<&Record>) -> (Option<u64>, Option<f64>) {
    let models = || record.into_iter().flat_map(|record| record.gate.walk()).flat_map(|node| &node.models);
    let executor = &summary.executor;
    let tokens = [executor.input_tokens, executor.output_tokens, summary.evaluator.as_ref().and_then(|run| run.tokens)];
    let of_models = models().flat_map(|model| [model.input_tokens, model.output_tokens]);
    let costs = [executor.cost_usd, summary.evaluator.as_ref().and_then(|run| run.cost_usd)];
    let sum = |known: Vec<u64>| (!known.is_empty()).then(|| known.into_iter().fold(0, u64::saturating_add));
    let costs: Vec<f64> = costs.into_iter().chain(models().map(|model| model.cost)).flatten().collect();
    (sum(tokens.into_iter().chain(of_models).flatten().collect()), (!costs.is_empty()).then(|| costs.iter().sum()))
}

/// Returns the findings of earlier attempts. Each occurs once, as it was found last.
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
