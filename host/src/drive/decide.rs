//! What follows an attempt: the loop is done, the work goes back, or a budget ends it. Pure.

use super::attempt::Done;
use super::record::{Ended, State};
use crate::config::Loop;
use crate::retry::{self, Again, Decision, EscalationLevel, EscalationPolicy, Facts, Retries, RetryPolicy};
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
    pub(super) fn new(budgets: &Loop) -> Self {
        Self::with(budgets, RetryPolicy::default(), EscalationPolicy::default())
    }

    /// Whoever allows more bounces than usual means them to happen: the usual numbers of retries of the same failure
    /// make room for them. Rejections, time-outs and what verifiers broke keep their own.
    fn with(budgets: &Loop, mut retry: RetryPolicy, mut escalation: EscalationPolicy) -> Self {
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

    /// Decide. `bounces` is how often the work was sent back, `last` the digest of what was wrong the last time.
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
            Decision::Done => Next::End(Ended::new(State::Completed, "the gate passed", None)),
            Decision::Stop { why } => Next::End(Ended::new(State::Blocked, why, None)),
            // A person is needed, whatever is left of the budgets.
            Decision::Escalate { level, trigger: trigger @ ("group" | "needs-person"), why } => {
                escalated(level, trigger, why)
            }
            // Nothing that the executor could do about it.
            Decision::Retry { who: Again::Verifier, .. } => {
                escalated(EscalationLevel::Notify, "infra", "a verifier gave no answer".to_owned())
            }
            Decision::Escalate { level, trigger, why } if is_infra(done) => escalated(level, trigger, why),
            _ if bounces >= self.bounces => {
                let times = if bounces == 1 { "once".to_owned() } else { format!("{bounces} times") };
                failed("max_bounces", format!("the work was sent back {times}, which is all that is allowed"))
            }
            _ if self.stop_when_unchanged && last == Some(done.summary.failure.as_str()) => {
                failed("stop_when_unchanged", "the attempt failed exactly as the one before it".to_owned())
            }
            Decision::Escalate { level, trigger, why } => escalated(level, trigger, why),
            Decision::Retry { who: Again::Executor, after } => Next::Bounce { wait: after },
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
