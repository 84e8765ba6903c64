//! Asking one check: in time, again if there is no answer, and as often as it takes to know a flaky one.

use super::compose::Done;
use super::evaluate::{Deadline, Evaluation};
use super::together::caught;
use super::{Answer, Judge, Judged, algebra};
use crate::config::{PassIf, show_duration};
use crate::outcome::{NO_FILE, Node, Outcome};
use crate::plan::Check;
use crate::submission::Evidence;
use crate::verdict::{ErrorKind, Failure, Status, Verdict};
use tokio::time::{Instant, timeout_at};

/// One run of a check: its answer, what it counts as, and why if that differs.
struct Run {
    answer: Answer,
    status: Status,
    reason: String,
}

impl<J: Judge> Evaluation<'_, J> {
    /// Ask a check until it is known what it says.
    pub(super) async fn check(
        &self,
        check: &Check,
        mut node: Node,
        deadline: Deadline<'_>,
        known: &[Evidence],
    ) -> Done {
        let mut runs: Vec<Run> = Vec::new();
        for _ in 0..check.flaky.map_or(1, |flaky| flaky.runs) {
            let judged = self.attempts(check, deadline, known, &mut node.attempts).await;
            let answer = match judged {
                Judged::Answer(answer) => answer,
                Judged::NoFiles if runs.is_empty() => {
                    node.outcome = Outcome::Skipped;
                    node.reason = NO_FILE.to_owned();
                    return Done { node, waved: None, evidence: Vec::new() };
                }
                Judged::NoFiles => failure(ErrorKind::HostFailed, "the files changed between two runs"),
            };
            let (status, reason) = confident(&answer.verdict, check.min_confidence);
            runs.push(Run { answer, status, reason });
        }
        let statuses = || runs.iter().map(|run| Some(run.status));
        let status = match check.flaky.map(|flaky| flaky.pass_if) {
            None | Some(PassIf::All) => algebra::all(statuses()),
            Some(PassIf::Any) => algebra::any(statuses()),
        };
        let status = status.unwrap_or(Status::Error);
        node.outcome = status.into();
        node.flaky = runs.iter().any(|run| run.status != status);
        let words: Vec<&str> = runs.iter().map(|run| run.status.as_str()).collect();
        // The verdict is that of the run that decided.
        if let Some(run) = runs.iter().position(|run| run.status == status).map(|index| runs.swap_remove(index)) {
            node.reason = if node.flaky { format!("its runs disagree: {}", words.join(", ")) } else { run.reason };
            let Answer { verdict, files, reused, commands, models } = run.answer;
            let evidence = Evidence {
                check: check.member.clone(),
                verifier: check.verifier.clone(),
                outcome: verdict.status,
                summary: verdict.summary.clone(),
                findings: verdict.findings.clone(),
                commands: commands.clone(),
            };
            node.commands = commands;
            node.files = files;
            node.reused = reused;
            node.verdict = Some(verdict);
            node.models = models;
            return Done { node, waved: None, evidence: vec![evidence] };
        }
        Done { node, waved: None, evidence: Vec::new() }
    }

    /// Ask until there is an answer, as often as the check allows.
    async fn attempts(&self, check: &Check, deadline: Deadline<'_>, known: &[Evidence], asked: &mut u32) -> Judged {
        let mut left = check.attempts;
        loop {
            let judged = self.once(check, deadline, known).await;
            *asked += 1;
            left = left.saturating_sub(1);
            match &judged {
                Judged::Answer(answer) if answer.verdict.status == Status::Error && left > 0 && !deadline.is_over() => {
                }
                _ => return judged,
            }
        }
    }

    async fn once(&self, check: &Check, deadline: Deadline<'_>, known: &[Evidence]) -> Judged {
        if deadline.is_over() {
            return Judged::Answer(failure(ErrorKind::LimitTime, deadline.to_string()));
        }
        let own = Instant::now() + check.timeout;
        let judging = caught(async { self.judge.judge(check, known).await });
        match timeout_at(own.min(deadline.at), judging).await {
            Ok(Ok(judged)) => judged,
            Ok(Err(panic)) => {
                let message = format!("the host panicked: {}", crate::text::clean_line(&panic, 200));
                Judged::Answer(failure(ErrorKind::HostFailed, message))
            }
            Err(_) if own <= deadline.at => {
                let message = format!("no answer within {}", show_duration(check.timeout));
                Judged::Answer(failure(ErrorKind::LimitTime, message))
            }
            Err(_) => Judged::Answer(failure(ErrorKind::LimitTime, deadline.to_string())),
        }
    }
}

fn failure(kind: ErrorKind, message: impl Into<String>) -> Answer {
    Verdict::from(Failure::new(kind, message)).into()
}

/// What a verdict counts as: a pass that is not sure enough is no judgement.
fn confident(verdict: &Verdict, least: Option<f64>) -> (Status, String) {
    match (verdict.status, least, verdict.confidence) {
        // What is no number is not enough either, since it compares with nothing.
        (Status::Pass, Some(least), Some(confidence)) if confidence >= least => (Status::Pass, String::new()),
        (Status::Pass, Some(least), Some(confidence)) => {
            (Status::Abstain, format!("passed with confidence {confidence}; at least {least} is asked for"))
        }
        (Status::Pass, Some(least), None) => {
            (Status::Abstain, format!("passed without a confidence; at least {least} is asked for"))
        }
        (status, _, _) => (status, String::new()),
    }
}
