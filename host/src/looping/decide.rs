//! What follows an attempt: the loop is done, the work goes back, or a budget ends it. Pure.

use super::attempt::Done;
use super::record::{Ended, State};
use crate::config::Loop;
use crate::retry::{self, Again, EscalationLevel, EscalationPolicy, Facts, Retries, RetryDecision, RetryPolicy};
use crate::verdict::{Class, Status};
use std::time::Duration;

/// What follows an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The work goes back to the executor, after this time.
    Bounce { wait: Duration },
    /// The loop ends.
    End(Ended),
}

impl Next {
    /// As entries of attempts have it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Bounce { .. } => "retry",
            Self::End(Ended { state: State::Completed, .. }) => "done",
            Self::End(Ended { trigger: Some(_), .. }) => "escalate",
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

/// The budgets. All count the same attempts, and the first that is used up ends the loop.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    bounces: u32,
    stop_when_unchanged: bool,
    retry: RetryPolicy,
    escalation: EscalationPolicy,
}

impl Rules {
    /// Whoever allows more bounces than usual means them to happen: the usual numbers of retries of the same failure
    /// make room for them. Rejections, time-outs and what verifiers broke keep their own.
    pub(super) fn new(budgets: &Loop, mut retry: RetryPolicy, mut escalation: EscalationPolicy) -> Self {
        let bounces = budgets.bounces();
        let usual = RetryPolicy::default();
        let widened = |rule: &mut Retries, usual: Retries| {
            if *rule == usual {
                rule.most = rule.most.max(bounces);
            }
        };
        widened(&mut retry.execution_failure, usual.execution_failure);
        widened(&mut retry.verify_failure, usual.verify_failure);
        widened(&mut retry.malformed, usual.malformed);
        if escalation.same_task == EscalationPolicy::default().same_task {
            escalation.same_task = escalation.same_task.max(bounces.saturating_add(1));
        }
        Self { bounces, stop_when_unchanged: budgets.stops_when_unchanged(), retry, escalation }
    }

    /// Decides. `bounces` is how often the work was sent back, `last` the digest of what was wrong the last time.
    pub(super) fn next(&self, done: &Done, facts: &Facts, bounces: u32, last: Option<&str>) -> Next {
        if let Some(why) = &done.unjudgeable {
            return Next::End(Ended::escalated(State::Escalated, "unjudgeable", why.clone()));
        }
        let decision = retry::decide(&self.retry, &self.escalation, facts);
        let failed = |budget, why: String| Next::End(Ended::new(State::VerificationFailed, why, Some(budget)));
        let escalated = |level, trigger, why| {
            let state = if level == EscalationLevel::Halt { State::Halted } else { State::Escalated };
            Next::End(Ended::escalated(state, trigger, why))
        };
        if done.out_of_turns {
            return failed("turns", "the executor used up its turns before it was done".to_owned());
        }
        match decision {
            RetryDecision::Done => Next::End(Ended::new(State::Completed, "the gate passed", None)),
            RetryDecision::Stop { why } => Next::End(Ended::new(State::Blocked, why, None)),
            // A person is needed, whatever is left of the budgets.
            RetryDecision::Escalate { level, trigger: trigger @ ("group" | "needs-person"), why } => {
                escalated(level, trigger, why)
            }
            // Nothing that the executor could do about it.
            RetryDecision::Retry { who: Again::Verifier, .. } => {
                escalated(EscalationLevel::Notify, "infra", "a verifier gave no answer".to_owned())
            }
            RetryDecision::Escalate { level, trigger, why } if is_infra(done) => escalated(level, trigger, why),
            _ if bounces >= self.bounces => {
                let times = if bounces == 1 { "once".to_owned() } else { format!("{bounces} times") };
                failed("max_bounces", format!("the work was sent back {times}, which is all that is allowed"))
            }
            _ if self.stop_when_unchanged && last == Some(done.summary.failure.as_str()) => {
                failed("stop_when_unchanged", "the attempt failed exactly as the one before it".to_owned())
            }
            RetryDecision::Escalate { level, trigger, why } => escalated(level, trigger, why),
            RetryDecision::Retry { who: Again::Executor, after } => Next::Bounce { wait: after },
        }
    }

    /// How often, and after which time, a verifier that gave no answer is asked again.
    pub(super) fn infra(&self) -> (u32, Duration) {
        (self.retry.infra.most, Duration::from_secs(self.retry.infra.after_seconds))
    }
}

fn is_infra(done: &Done) -> bool {
    done.summary.class == Some(Class::Infra) || done.summary.status == Some(Status::Error)
}

#[cfg(test)]
mod tests {
    use super::super::record::AttemptRecord;
    use super::*;
    use crate::retry::Past;

    fn done(status: Option<Status>, class: Option<Class>, failure: &str) -> Done {
        let summary = AttemptRecord { status, class, failure: failure.to_owned(), ..AttemptRecord::default() };
        Done { summary, record: None, feedback: String::new(), out_of_turns: false, unjudgeable: None }
    }

    /// What follows attempts that failed in these ways, each for a reason of its own, and how often they were sent back.
    fn after(budgets: &Loop, classes: &[Class]) -> (u32, Ended) {
        let rules = Rules::new(budgets, RetryPolicy::default(), EscalationPolicy::default());
        let mut past = Vec::new();
        for (bounces, class) in (0..).zip(classes) {
            past.push(Past::failed(class.clone()));
            let facts = Facts { attempts: past.clone(), ..Facts::default() };
            let done = done(Some(Status::Fail), Some(class.clone()), &bounces.to_string());
            if let Next::End(ended) = rules.next(&done, &facts, bounces, None) {
                return (bounces, ended);
            }
        }
        panic!("it does not end")
    }

    #[test]
    fn the_first_budget_that_is_used_up_ends_the_loop() {
        let of = |bounces| Loop { max_bounces: Some(bounces), ..Loop::default() };
        let many = |class: Class| vec![class; 12];
        for (budgets, classes, bounces, state, budget) in [
            (Loop::default(), many(Class::VerifyFailure), 2, State::VerificationFailed, Some("max_bounces")),
            (of(0), many(Class::VerifyFailure), 0, State::VerificationFailed, Some("max_bounces")),
            (of(9), many(Class::VerifyFailure), 9, State::VerificationFailed, Some("max_bounces")),
            (of(9), many(Class::ExecutionFailure), 9, State::VerificationFailed, Some("max_bounces")),
            // Rejections and time-outs keep their own numbers.
            (of(9), many(Class::ReviewRejection), 1, State::Escalated, Some("rejections")),
            (of(9), many(Class::Timeout), 1, State::Escalated, Some("timeouts")),
            (of(1), many(Class::ReviewRejection), 1, State::VerificationFailed, Some("max_bounces")),
            (of(9), vec![Class::VerifyFailure, Class::Blocked], 1, State::Blocked, None),
        ] {
            let (times, ended) = after(&budgets, &classes);
            assert_eq!(
                (times, ended.state, ended.budget.as_deref()),
                (bounces, state, budget),
                "{budgets:?} {classes:?}"
            );
        }
    }

    #[test]
    fn nothing_but_a_pass_completes() {
        let rules = Rules::new(&Loop::default(), RetryPolicy::default(), EscalationPolicy::default());
        let decide = |status: Option<Status>, past: Past, person: Option<&str>, last| {
            let facts = Facts { attempts: vec![past], needs_person: person.map(str::to_owned), ..Facts::default() };
            rules.next(&done(status, None, "same"), &facts, 0, last)
        };
        let state = |next: Next| match next {
            Next::End(ended) => Some(ended.state),
            Next::Bounce { .. } => None,
        };
        let past = |status| Past { status, class: None };
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
        let lost = Done { unjudgeable: Some("gone".to_owned()), ..done(None, None, "") };
        assert_eq!(state(rules.next(&lost, &Facts::default(), 0, None)), Some(State::Escalated));
    }
}
