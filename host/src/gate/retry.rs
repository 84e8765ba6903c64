//! Runs one check: within its time limit, again if it errors, and several times if it is flaky.

use super::compose::DoneMember;
use super::evaluate::{Evaluation, GateDeadline};
use super::join::caught;
use super::{CheckAnswer, Checked, RunCheck, algebra};
use crate::config::{Inapplicable, PassIf, show_duration};
use crate::outcome::{Node, Outcome, SkipReason};
use crate::plan::{Check, SubmissionParts};
use crate::submission::Evidence;
use crate::verdict::{ErrorKind, Failure, Status, Verdict};
use tokio::time::{Instant, timeout_at};

/// One run of a check: its answer, the status that counts, and the reason if that differs.
struct CheckRun {
    answer: CheckAnswer,
    status: Status,
    reason: String,
}

impl<R: RunCheck> Evaluation<'_, R> {
    /// Runs a check until its result is known.
    pub(super) async fn check(
        &self,
        check: &Check,
        mut node: Node,
        deadline: GateDeadline<'_>,
        known: &[Evidence],
    ) -> DoneMember {
        let mut runs: Vec<CheckRun> = Vec::new();
        for _ in 0..check.flaky.map_or(1, |flaky| flaky.runs) {
            let judged = self.attempts(check, deadline, known, &mut node).await;
            let answer = match judged {
                Checked::Answer(answer) => answer,
                Checked::NoFiles if runs.is_empty() => {
                    node.outcome = Outcome::Skipped;
                    node.skipped = Some(SkipReason::NoFile);
                    node.reason = "no file matches".to_owned();
                    return DoneMember { node, waved: None, evidence: Vec::new() };
                }
                Checked::NoFiles => failure(ErrorKind::HostFailed, "the files changed between two runs"),
            };
            let (status, reason) = counted(&answer.verdict, check);
            runs.push(CheckRun { answer, status, reason });
        }
        let statuses = || runs.iter().map(|run| Some(run.status));
        let status = match check.flaky.map(|flaky| flaky.pass_if) {
            None | Some(PassIf::All) => algebra::all(statuses()),
            Some(PassIf::Any) => algebra::any(statuses()),
        };
        // If no run counts, all of them returned not-applicable.
        let neutral = runs.iter().any(|run| run.status == Status::NotApplicable);
        let status = status.unwrap_or(if neutral { Status::NotApplicable } else { Status::Error });
        node.outcome = status.into();
        node.flaky = runs.iter().any(|run| run.status != status);
        if runs.len() > 1 {
            node.runs = runs.iter().map(|run| run.status).collect();
        }
        let words: Vec<&str> = runs.iter().map(|run| run.status.as_str()).collect();
        // The verdict is that of the deciding run, and so is the evidence for later tiers.
        if let Some(run) = runs.iter().position(|run| run.status == status).map(|index| runs.swap_remove(index)) {
            node.reason = if node.flaky { format!("runs disagree: {}", words.join(", ")) } else { run.reason };
            let CheckAnswer { verdict, files, commands, models, reused, .. } = run.answer;
            if let Some(run) = &reused {
                node.reason = format!("passed in run {run}, and its inputs have not changed");
            }
            node.reused = reused;
            let evidence = Evidence {
                check: check.member.clone(),
                verifier: check.verifier.clone(),
                outcome: verdict.status,
                summary: verdict.summary.clone(),
                findings: verdict.findings.clone(),
                commands,
                digest: check.digest.clone(),
                class: verdict.class.clone(),
                confidence: verdict.confidence,
                models: models.iter().map(Into::into).collect(),
            };
            node.files = files;
            let is_judgement = matches!(verdict.status, Status::Pass | Status::Fail);
            node.by_authors_word =
                is_judgement && check.reads.has(SubmissionParts::EVALUATOR) && self.circumstances.evaluator_by_author;
            let unsure = is_unsure(&verdict, check.escalate_below);
            node.escalated = status == Status::Abstain && (verdict.needs_person || unsure);
            node.verdict = Some(verdict);
            return DoneMember { node, waved: None, evidence: vec![evidence] };
        }
        DoneMember { node, waved: None, evidence: Vec::new() }
    }

    /// Runs a check until there is an answer, as often as the configuration allows. Commands and models are recorded for
    /// every run.
    async fn attempts(
        &self,
        check: &Check,
        deadline: GateDeadline<'_>,
        known: &[Evidence],
        node: &mut Node,
    ) -> Checked {
        let mut left = check.attempts;
        loop {
            let judged = self.once(check, deadline, known).await;
            left = left.saturating_sub(1);
            // The run that is cited has what was done for a pass that is reused.
            if matches!(&judged, Checked::Answer(CheckAnswer { reused: Some(_), .. })) {
                return judged;
            }
            node.attempts += 1;
            let Checked::Answer(answer) = &judged else { return judged };
            node.commands.extend_from_slice(&answer.commands);
            node.models.extend_from_slice(&answer.models);
            node.unlisted += answer.unlisted;
            let by_output = answer.verdict.error.as_ref().is_some_and(|error| error.kind.is_by_output());
            if answer.verdict.status != Status::Error || by_output || left == 0 || deadline.is_over() {
                return judged;
            }
        }
    }

    async fn once(&self, check: &Check, deadline: GateDeadline<'_>, known: &[Evidence]) -> Checked {
        if deadline.is_over() {
            return Checked::Answer(failure(ErrorKind::LimitTime, deadline.to_string()));
        }
        let own = Instant::now() + check.timeout;
        let judging = caught(async { self.judge.judge(check, known).await });
        match timeout_at(own.min(deadline.at), judging).await {
            Ok(Ok(judged)) => judged,
            Ok(Err(panic)) => {
                let message = format!("the host panicked: {}", crate::text::clean_line(&panic, 200));
                Checked::Answer(failure(ErrorKind::HostFailed, message))
            }
            Err(_) if own <= deadline.at => {
                let message = format!("timed out after {}", show_duration(check.timeout));
                Checked::Answer(failure(ErrorKind::LimitTime, message))
            }
            Err(_) => Checked::Answer(failure(ErrorKind::LimitTime, deadline.to_string())),
        }
    }
}

fn failure(kind: ErrorKind, message: impl Into<String>) -> CheckAnswer {
    Verdict::from(Failure::new(kind, message)).into()
}

/// Returns the status that counts, and the reason if it differs from the verdict.
fn counted(verdict: &Verdict, check: &Check) -> (Status, String) {
    match (verdict.status, check.on_not_applicable) {
        (Status::NotApplicable, Inapplicable::Block) => {
            (Status::Abstain, "not applicable, which `on_not_applicable = \"block\"` makes an abstention".to_owned())
        }
        _ if is_unsure(verdict, check.escalate_below) => {
            let (confidence, least) =
                (verdict.confidence.unwrap_or_default(), check.escalate_below.unwrap_or_default());
            (Status::Abstain, format!("passed with confidence {confidence}; below {least}, human review is needed"))
        }
        _ => confident(verdict, check.min_confidence),
    }
}

/// Returns whether a pass states less confidence than is required. A pass without a confidence is sure.
fn is_unsure(verdict: &Verdict, least: Option<f64>) -> bool {
    let unsure = |(confidence, least): (f64, f64)| confidence.is_nan() || confidence < least;
    verdict.status == Status::Pass && verdict.confidence.zip(least).is_some_and(unsure)
}

/// Turns a pass with too little confidence into an abstention.
fn confident(verdict: &Verdict, least: Option<f64>) -> (Status, String) {
    match (verdict.status, least, verdict.confidence) {
        // NaN compares false, so it is not enough either.
        (Status::Pass, Some(least), Some(confidence)) if confidence >= least => (Status::Pass, String::new()),
        (Status::Pass, Some(least), Some(confidence)) => {
            (Status::Abstain, format!("passed with confidence {confidence}; expected at least {least}"))
        }
        (Status::Pass, Some(least), None) => {
            (Status::Abstain, format!("passed without a confidence; expected at least {least}"))
        }
        (status, _, _) => (status, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Leniency, PassIf, Threshold};
    use crate::gate::scripted::{Script, Step, check, gate, plan, run_plan, say, verdict, vote};
    use crate::gate::{CheckAnswer, Checked, Circumstances};
    use crate::outcome::ModelUse;
    use crate::plan::GateRule;
    use crate::submission::CommandEvidence;
    use crate::verdict::{ErrorKind, Failure, Status, Verdict};

    /// Returns an answer for which this command was run, and this model asked.
    fn having(status: Status, name: &str) -> Step {
        let command = CommandEvidence { name: name.to_owned(), ..CommandEvidence::default() };
        let model = ModelUse { name: name.to_owned(), ended: "end".to_owned(), requests: 1, ..ModelUse::default() };
        let answer = CheckAnswer { commands: vec![command], models: vec![model], ..verdict(status).into() };
        Step::Say(Checked::Answer(answer))
    }

    #[test]
    fn what_the_author_may_have_printed_is_no_way_out() {
        let offline = || Step::Say(Verdict::from(Failure::new(ErrorKind::CommandOffline, "no network")).into());
        let lenient = check("a").with(|node| {
            node.on_error = Leniency::Warn;
            node.check_mut().attempts = 3;
        });
        let run = |root| {
            let script =
                Script::new([("a", vec![offline()]), ("b", vec![say(Status::Pass)]), ("c", vec![say(Status::Pass)])]);
            run_plan(&plan(root), &Circumstances::default(), &script)
        };
        let all = run(gate("g", GateRule::All, vec![lenient.clone(), check("b")]));
        assert_eq!(
            (all.outcome.as_str(), all.children[0].attempts),
            ("error", 1),
            "neither let through nor asked again"
        );
        let members = vec![lenient, check("b"), check("c")];
        let unanimous = run(vote("g", Threshold::Unanimous, 3, members));
        assert_ne!(unanimous.outcome.as_str(), "pass", "it counts against the work");
    }

    #[test]
    fn what_was_done_is_told_of_every_run_and_every_attempt() {
        let steps = vec![having(Status::Error, "one"), having(Status::Fail, "two"), having(Status::Pass, "three")];
        let member = check("a").flaky(2, PassIf::Any).with(|node| node.check_mut().attempts = 2);
        let root = gate("g", GateRule::All, vec![member]);
        let node = run_plan(&plan(root), &Circumstances::default(), &Script::new([("a", steps)]));
        let child = &node.children[0];
        assert_eq!((child.outcome.as_str(), child.attempts), ("pass", 3));
        let commands: Vec<&str> = child.commands.iter().map(|command| command.name.as_str()).collect();
        let models: Vec<&str> = child.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!((commands, models), (vec!["one", "two", "three"], vec!["one", "two", "three"]));
    }
}
