//! Decides what follows an attempt: the loop is done, the work goes back, or a budget ends the loop. Pure.

use super::attempt::Done;
use super::record::{AttemptRecord, LoopEnd, State};
use crate::config::{LoopConfig, OnReviewLimit, OnSpecFinding};
use crate::retry::{self, EscalationLevel, EscalationPolicy, Retries, RetryBy, RetryDecision, RetryFacts, RetryPolicy};
use crate::verdict::{Class, Status};
use std::time::Duration;

/// What follows an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The work goes back to the executor, after this time.
    Bounce { wait: Duration },
    /// The loop ends.
    End(LoopEnd),
}

impl Next {
    /// Returns the word in the entries of attempts.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Bounce { .. } => "retry",
            Self::End(LoopEnd { state: State::Completed, .. }) => "done",
            Self::End(LoopEnd { trigger: Some(_), .. }) => "escalate",
            Self::End(_) => "stop",
        }
    }

    pub(super) fn why(&self) -> String {
        match self {
            Self::Bounce { .. } => String::new(),
            Self::End(ended) => ended.why.clone(),
        }
    }
}

/// What all attempts have used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) bounces: u32,
    /// How often the work was evaluated.
    pub(super) iterations: u32,
    /// How often a reviewer rejected it.
    pub(super) rejections: u32,
    pub(super) tokens: u64,
    pub(super) cost: f64,
}

impl Spent {
    pub(super) fn of(attempts: &[AttemptRecord], bounces: u32) -> Self {
        let count = |wanted: &dyn Fn(&AttemptRecord) -> bool| {
            u32::try_from(attempts.iter().filter(|attempt| wanted(attempt)).count()).unwrap_or(u32::MAX)
        };
        Self {
            bounces,
            iterations: count(&|attempt| attempt.evaluator.is_some()),
            rejections: count(&|attempt| attempt.class == Some(Class::ReviewRejection)),
            tokens: attempts.iter().filter_map(|attempt| attempt.tokens).fold(0, u64::saturating_add),
            cost: attempts.iter().filter_map(|attempt| attempt.cost).sum(),
        }
    }
}

/// The budgets. All count the same attempts, and the first that is used up ends the loop.
#[derive(Clone, Debug)]
pub(super) struct LoopRules {
    budgets: LoopConfig,
    /// Whether the work is evaluated, so that its iterations count.
    evaluates: bool,
    retry: RetryPolicy,
    escalation: EscalationPolicy,
}

impl LoopRules {
    /// If the caller allows more bounces than the default, the default limits of retries are raised to match. The limit of
    /// rejections is raised only by more reviews and evaluations; the limits of time-outs and of verifier failures are not
    /// raised.
    pub(super) fn new(
        budgets: &LoopConfig,
        evaluates: bool,
        mut retry: RetryPolicy,
        mut escalation: EscalationPolicy,
    ) -> Self {
        let bounces = budgets.bounces();
        let (usual, usual_escalation) = (RetryPolicy::default(), EscalationPolicy::default());
        let widened = |rule: &mut Retries, usual: Retries, most: u32| {
            if *rule == usual {
                rule.most = rule.most.max(most);
            }
        };
        widened(&mut retry.execution_failure, usual.execution_failure, bounces);
        widened(&mut retry.verify_failure, usual.verify_failure, bounces);
        widened(&mut retry.malformed, usual.malformed, bounces);
        let reviews = budgets.review_iterations.max(evaluates.then(|| budgets.iterations())).unwrap_or(0);
        widened(&mut retry.review_rejection, usual.review_rejection, reviews);
        if escalation.rejections == usual_escalation.rejections && reviews > 0 {
            escalation.rejections = escalation.rejections.max(reviews.saturating_add(1));
        }
        if escalation.same_task == usual_escalation.same_task {
            escalation.same_task = escalation.same_task.max(bounces.saturating_add(1));
        }
        Self { budgets: budgets.clone(), evaluates, retry, escalation }
    }

    /// Decides what follows. `last` is the digest of the previous failure.
    pub(super) fn next(&self, done: &Done, facts: &RetryFacts, spent: &Spent, last: Option<&str>) -> Next {
        if let Some((word, why)) = &done.unjudgeable {
            return Next::End(LoopEnd::escalated(State::Escalated, word, why.clone()));
        }
        let decision = retry::decide(&self.retry, &self.escalation, facts);
        let failed = |budget, why: String| Next::End(LoopEnd::new(State::VerificationFailed, why, Some(budget)));
        let escalated = |level, trigger: &str, why| {
            let state = if level == EscalationLevel::Halt { State::Halted } else { State::Escalated };
            Next::End(LoopEnd::escalated(state, trigger, why))
        };
        if done.out_of_turns {
            return failed("turns", "the executor used up its turns before it was done".to_owned());
        }
        match &decision {
            RetryDecision::Done => Next::End(LoopEnd::new(State::Completed, "the gate passed", None)),
            RetryDecision::Stop { why } => Next::End(LoopEnd::new(State::Blocked, why.clone(), None)),
            // A person is needed, whatever is left of the budgets.
            RetryDecision::Escalate { level, trigger: trigger @ (retry::GROUP | "needs-person"), why } => {
                escalated(*level, trigger, why.clone())
            }
            // The executor can do nothing about it.
            RetryDecision::Retry { who: RetryBy::Verifier, .. } => {
                escalated(EscalationLevel::Notify, "infra", "a verifier gave no answer".to_owned())
            }
            RetryDecision::Escalate { level, trigger, why } if is_infra(done) => {
                escalated(*level, trigger, why.clone())
            }
            _ => match self.used_up(done, spent) {
                Some(ended) => Next::End(ended),
                None => match decision {
                    RetryDecision::Escalate { level, trigger, why } => escalated(level, trigger, why),
                    RetryDecision::Retry { .. } if self.is_unchanged(done, last) => {
                        failed("stop_when_unchanged", "the attempt failed exactly like the previous one".to_owned())
                    }
                    RetryDecision::Retry { after, .. } => Next::Bounce { wait: after },
                    RetryDecision::Done | RetryDecision::Stop { .. } => {
                        failed("none", "nothing is left to do".to_owned())
                    }
                },
            },
        }
    }

    /// Returns whether the attempt failed exactly like the previous one. An interrupted attempt has no failure to compare.
    fn is_unchanged(&self, done: &Done, last: Option<&str>) -> bool {
        let failure = Some(done.summary.failure.as_str()).filter(|failure| !failure.is_empty());
        self.budgets.stops_when_unchanged() && failure.is_some() && last == failure
    }

    /// Returns the budget that is used up, and the end of the loop that follows.
    fn used_up(&self, done: &Done, spent: &Spent) -> Option<LoopEnd> {
        let failed = |budget: &str, why: String| Some(LoopEnd::new(State::VerificationFailed, why, Some(budget)));
        let rejected = done.summary.class == Some(Class::ReviewRejection);
        let iterations = self.budgets.iterations();
        // Rejections by an evaluator count as iterations, unless the number of reviews is set.
        let usual = if self.evaluates { LoopConfig::ITERATIONS.max(iterations) } else { LoopConfig::ITERATIONS };
        let reviews = self.budgets.review_iterations.unwrap_or(usual);
        let limit = self.budgets.on_review_limit.unwrap_or_default();
        if !done.suggestions.is_empty() {
            let count = done.suggestions.len();
            let why = format!(
                "{} cannot be fixed by the executor: the specification or a person must change something",
                crate::text::count(count, "finding")
            );
            return Some(match self.budgets.on_spec_finding.unwrap_or_default() {
                OnSpecFinding::Block => LoopEnd::escalated(State::Escalated, "specification", why),
                OnSpecFinding::Suggest => LoopEnd::with_warnings(why, "on_spec_finding", done.suggestions.clone()),
            });
        }
        if self.evaluates && spent.iterations >= iterations {
            return failed(
                "max_iterations",
                format!("the work was evaluated {} without a pass", crate::text::times(iterations)),
            );
        }
        if rejected && spent.rejections >= reviews {
            let why = format!("a reviewer rejected the work {}", crate::text::times(reviews));
            return match limit {
                OnReviewLimit::Block => failed("review_iterations", why),
                OnReviewLimit::Proceed => {
                    Some(LoopEnd::with_warnings(why, "on_review_limit", done.outstanding.clone()))
                }
            };
        }
        if let Some(most) = self.budgets.max_tokens.filter(|most| spent.tokens >= *most) {
            return failed("max_tokens", format!("the attempts took {} tokens of {most}", spent.tokens));
        }
        #[expect(clippy::cast_precision_loss, reason = "a price of at most a million, in thousandths")]
        let most_cost = self.budgets.max_cost.map(|most| most as f64 / 1e3);
        if let Some(most) = most_cost.filter(|most| spent.cost >= *most) {
            return failed("max_cost", format!("the attempts cost {:.3} of {most:.3}", spent.cost));
        }
        if spent.bounces >= self.budgets.bounces() {
            let why = match spent.bounces {
                0 => "the work is not sent back: `max_bounces` is 0".to_owned(),
                1 => "the work was sent back once, which is the limit".to_owned(),
                times => format!("the work was sent back {times} times, which is the limit"),
            };
            return failed("max_bounces", why);
        }
        None
    }

    /// Returns how many times, and after which pause, the gate runs again on the same work after an error of this class.
    /// Errors that the work causes stay the same, so they are not retried.
    pub(super) fn same_work(&self, class: Option<&Class>) -> Retries {
        match class {
            Some(class @ (Class::Infra | Class::Timeout)) => self.retry.of(class),
            _ => Retries::at_once(0),
        }
    }
}

fn is_infra(done: &Done) -> bool {
    done.summary.class == Some(Class::Infra) || done.summary.status == Some(Status::Error)
}

#[cfg(test)]
mod tests {
    use super::super::record::EvaluatorRun;
    use super::*;
    use crate::retry::PastAttempt;

    fn done(status: Option<Status>, class: Option<Class>, failure: &str) -> Done {
        let summary = AttemptRecord { status, class, failure: failure.to_owned(), ..AttemptRecord::default() };
        Done { summary, ..Done::default() }
    }

    /// What follows attempts that failed in these ways, each for a reason of its own, and how often they were sent back.
    fn after(rules: &LoopRules, classes: &[Class]) -> (u32, LoopEnd) {
        let mut past = Vec::new();
        let mut attempts = Vec::new();
        for (bounces, class) in (0..).zip(classes) {
            past.push(PastAttempt::failed(class.clone()));
            let facts = RetryFacts { attempts: past.clone(), ..RetryFacts::default() };
            let mut done = done(Some(Status::Fail), Some(class.clone()), &bounces.to_string());
            done.summary.evaluator = rules.evaluates.then(EvaluatorRun::default);
            (done.summary.tokens, done.summary.cost) = (Some(100), Some(0.5));
            attempts.push(done.summary.clone());
            if let Next::End(ended) = rules.next(&done, &facts, &Spent::of(&attempts, bounces), None) {
                return (bounces, ended);
            }
        }
        panic!("it does not end")
    }

    #[test]
    fn the_first_budget_that_is_used_up_ends_the_loop() {
        let of = |bounces| LoopConfig { max_bounces: Some(bounces), ..LoopConfig::default() };
        let many = |class: Class| vec![class; 12];
        let reviews =
            |reviews, bounces| LoopConfig { review_iterations: reviews, max_bounces: bounces, ..LoopConfig::default() };
        let (failed, escalated) = (State::VerificationFailed, State::Escalated);
        for (budgets, evaluates, classes, bounces, state, budget) in [
            (LoopConfig::default(), false, many(Class::VerifyFailure), 2, failed, Some("max_bounces")),
            (of(0), false, many(Class::VerifyFailure), 0, failed, Some("max_bounces")),
            (of(9), false, many(Class::VerifyFailure), 9, failed, Some("max_bounces")),
            (of(9), false, many(Class::ExecutionFailure), 9, failed, Some("max_bounces")),
            // Rejections and time-outs keep their own numbers.
            (of(9), false, many(Class::ReviewRejection), 1, escalated, Some("rejections")),
            (of(9), false, many(Class::Timeout), 1, escalated, Some("timeouts")),
            (of(1), false, many(Class::ReviewRejection), 1, failed, Some("max_bounces")),
            (of(9), false, vec![Class::VerifyFailure, Class::Blocked], 1, State::Blocked, None),
            // Reviews and evaluations are counted apart.
            (reviews(Some(3), None), false, many(Class::ReviewRejection), 2, failed, Some("review_iterations")),
            (reviews(Some(5), None), false, many(Class::ReviewRejection), 4, failed, Some("review_iterations")),
            (reviews(Some(5), Some(1)), false, many(Class::ReviewRejection), 1, failed, Some("max_bounces")),
            (LoopConfig::default(), true, many(Class::ReviewRejection), 2, failed, Some("max_iterations")),
            (of(9), true, many(Class::VerifyFailure), 2, failed, Some("max_iterations")),
            (
                LoopConfig { max_iterations: Some(5), ..LoopConfig::default() },
                true,
                many(Class::ReviewRejection),
                4,
                failed,
                Some("max_iterations"),
            ),
            (
                LoopConfig { max_tokens: Some(200), ..of(9) },
                false,
                many(Class::VerifyFailure),
                1,
                failed,
                Some("max_tokens"),
            ),
            (
                LoopConfig { max_cost: Some(1_400), ..of(9) },
                false,
                many(Class::VerifyFailure),
                2,
                failed,
                Some("max_cost"),
            ),
        ] {
            let rules = LoopRules::new(&budgets, evaluates, RetryPolicy::default(), EscalationPolicy::default());
            let (times, ended) = after(&rules, &classes);
            assert_eq!(
                (times, ended.state, ended.budget.as_deref()),
                (bounces, state, budget),
                "{budgets:?} {classes:?}"
            );
        }
    }

    #[test]
    fn it_proceeds_without_a_pass_only_where_a_setting_says_so() {
        let rules =
            |budgets: &LoopConfig| LoopRules::new(budgets, false, RetryPolicy::default(), EscalationPolicy::default());
        let facts = RetryFacts { attempts: vec![PastAttempt::failed(Class::ReviewRejection)], ..RetryFacts::default() };
        let rejected = || Done {
            outstanding: vec!["no error handling".to_owned()],
            ..done(Some(Status::Fail), Some(Class::ReviewRejection), "f")
        };
        let end = |budgets: &LoopConfig, done: &Done, facts: &RetryFacts| match rules(budgets).next(
            done,
            facts,
            &Spent { rejections: 3, ..Spent::default() },
            None,
        ) {
            Next::End(ended) => (ended.state, ended.budget.unwrap_or_default(), ended.warnings),
            Next::Bounce { .. } => panic!("it goes back"),
        };
        let proceed = LoopConfig { on_review_limit: Some(OnReviewLimit::Proceed), ..LoopConfig::default() };
        let suggest = LoopConfig { on_spec_finding: Some(OnSpecFinding::Suggest), ..LoopConfig::default() };
        let none = Vec::<String>::new();
        assert_eq!(
            end(&LoopConfig::default(), &rejected(), &facts),
            (State::VerificationFailed, "review_iterations".to_owned(), none.clone())
        );
        let warnings = vec!["no error handling".to_owned()];
        assert_eq!(end(&proceed, &rejected(), &facts), (State::Completed, "on_review_limit".to_owned(), warnings));
        let unclear = Done { suggestions: vec!["unclear".to_owned()], ..rejected() };
        assert_eq!(
            end(&LoopConfig::default(), &unclear, &facts),
            (State::Escalated, "specification".to_owned(), none.clone())
        );
        assert_eq!(
            end(&suggest, &unclear, &facts),
            (State::Completed, "on_spec_finding".to_owned(), vec!["unclear".to_owned()])
        );
        // A person outranks every setting.
        let person = RetryFacts { needs_person: Some("policy".to_owned()), ..facts };
        assert_eq!(end(&suggest, &unclear, &person), (State::Escalated, "needs-person".to_owned(), none.clone()));
        assert_eq!(end(&proceed, &rejected(), &person), (State::Escalated, "needs-person".to_owned(), none));
    }

    #[test]
    fn nothing_but_a_pass_completes() {
        let rules = LoopRules::new(&LoopConfig::default(), false, RetryPolicy::default(), EscalationPolicy::default());
        let decide = |status: Option<Status>, past: PastAttempt, person: Option<&str>, last| {
            let facts =
                RetryFacts { attempts: vec![past], needs_person: person.map(str::to_owned), ..RetryFacts::default() };
            rules.next(&done(status, None, "same"), &facts, &Spent::default(), last)
        };
        let state = |next: Next| match next {
            Next::End(ended) => Some(ended.state),
            Next::Bounce { .. } => None,
        };
        let past = |status| PastAttempt { status, class: None };
        assert_eq!(state(decide(Some(Status::Pass), past(Some(Status::Pass)), None, None)), Some(State::Completed));
        for status in [Status::Fail, Status::Abstain] {
            assert_eq!(state(decide(Some(status), past(Some(status)), None, None)), None);
            let same = decide(Some(status), past(Some(status)), None, Some("same"));
            assert_eq!(state(same), Some(State::VerificationFailed));
            let person = decide(Some(status), past(Some(status)), Some("divided"), None);
            assert_eq!((person.word(), state(person)), ("escalate", Some(State::Escalated)));
        }
        // What a verifier broke is not for the executor to repair.
        assert_eq!(state(decide(Some(Status::Error), past(Some(Status::Error)), None, None)), Some(State::Escalated));
        let lost = Done { unjudgeable: Some(("unjudgeable", "gone".to_owned())), ..done(None, None, "") };
        assert_eq!(state(rules.next(&lost, &RetryFacts::default(), &Spent::default(), None)), Some(State::Escalated));
    }
}
