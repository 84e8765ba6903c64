//! Decides whether failed work is retried, a person is asked, or everything stops. Pure: facts in, a decision out.
//!
//! The defaults: two retries after a failure of the executor, of a command or of the report format; one after a rejection;
//! one after a time-out, half a minute later; none while the work is blocked. If the verifier failed, the verifier runs
//! again, not the executor.

use crate::text::{self, times};
use crate::verdict::{Class, Status};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// How often a class of failure is retried, and after how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retries {
    /// How often.
    pub most: u32,
    /// After how many seconds.
    pub after_seconds: u64,
}

impl Retries {
    /// Returns this many retries without a delay.
    pub const fn at_once(most: u32) -> Self {
        Self { most, after_seconds: 0 }
    }
}

/// How often each class of failure is retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RetryPolicy {
    /// The executor says that it failed.
    pub execution_failure: Retries,
    /// A command, a test or a rule failed; also every class that a verifier names itself.
    pub verify_failure: Retries,
    /// A reviewer rejected the work.
    pub review_rejection: Retries,
    /// A step exceeded its time limit.
    pub timeout: Retries,
    /// A report does not have the form that was asked for.
    pub malformed: Retries,
    /// The verifier failed: it runs again, not the executor.
    pub infra: Retries,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            execution_failure: Retries::at_once(2),
            verify_failure: Retries::at_once(2),
            review_rejection: Retries::at_once(1),
            timeout: Retries { most: 1, after_seconds: 30 },
            malformed: Retries::at_once(2),
            infra: Retries { most: 2, after_seconds: 30 },
        }
    }
}

impl RetryPolicy {
    /// Returns the retries of a class; none while the task is blocked.
    pub fn of(&self, class: &Class) -> Retries {
        match class {
            Class::ExecutionFailure => self.execution_failure,
            Class::VerifyFailure | Class::Other(_) => self.verify_failure,
            Class::ReviewRejection => self.review_rejection,
            Class::Timeout => self.timeout,
            Class::Malformed => self.malformed,
            Class::Infra => self.infra,
            Class::Blocked => Retries::at_once(0),
        }
    }
}

/// When human review is needed; 0 for never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EscalationPolicy {
    /// After so many failures of the same task.
    pub same_task: u32,
    /// After so many rejections in a row.
    pub rejections: u32,
    /// After so many time-outs of the same task.
    pub timeouts: u32,
    /// After so many failed tasks of a group, everything stops.
    pub group: u32,
    /// The command that notifies a person, by its name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
}

impl Default for EscalationPolicy {
    fn default() -> Self {
        Self { same_task: 3, rejections: 2, timeouts: 2, group: 3, notify: None }
    }
}

/// Returns the digest of both policies. It is separate from the digest of the plan, because retries do not decide about
/// passes.
pub fn digest(retry: &RetryPolicy, escalation: &EscalationPolicy) -> String {
    // Neither contains anything that JSON cannot represent.
    let bytes = serde_json::to_vec(&(retry, escalation)).unwrap_or_default();
    text::sha256(Sha256::digest(bytes))
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastAttempt {
    /// The status; `None` if the attempt was interrupted.
    pub status: Option<Status>,
    /// The class of its failure.
    pub class: Option<Class>,
}

impl PastAttempt {
    /// Returns an attempt that failed in this way.
    pub fn failed(class: Class) -> Self {
        Self { status: Some(Status::Fail), class: Some(class) }
    }

    /// Returns an attempt that did not end.
    pub fn interrupted() -> Self {
        Self { status: None, class: None }
    }

    /// Returns the class: an interrupted attempt is an execution failure, and one without a judgement is a verify failure.
    fn class(&self) -> Class {
        match (&self.status, &self.class) {
            (_, Some(class)) => class.clone(),
            (None, None) => Class::ExecutionFailure,
            (Some(Status::Error), None) => Class::Infra,
            (Some(_), None) => Class::VerifyFailure,
        }
    }
}

/// The facts for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryFacts {
    /// The attempts since the task last passed or a person answered, oldest first. The decision is about the last one.
    pub attempts: Vec<PastAttempt>,
    /// How many attempts the caller allows.
    pub attempts_allowed: Option<u32>,
    /// How many tasks of the group failed, this one included.
    pub failed_in_group: u32,
    /// Why human review is needed whatever the numbers: a divided vote, a verifier that asks for it, a setting.
    pub needs_person: Option<String>,
    /// The tasks that this one waits for.
    pub blocked_by: Vec<String>,
}

/// The level of an escalation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EscalationLevel {
    /// A person is notified and offered a choice.
    Notify,
    /// Every gate of the project waits until a person has answered.
    Halt,
}

impl EscalationLevel {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notify => "notify",
            Self::Halt => "halt",
        }
    }
}

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryBy {
    /// The author of the work, with feedback.
    Executor,
    /// The verifier, on the same work.
    Verifier,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Nothing: the work passed.
    Done,
    /// It is tried again.
    Retry {
        /// Who acts.
        who: RetryBy,
        /// The delay.
        after: Duration,
    },
    /// A person is needed.
    Escalate {
        /// The level.
        level: EscalationLevel,
        /// The trigger, as a word.
        trigger: &'static str,
        /// Why, for a person.
        why: String,
    },
    /// The work is blocked, and nobody needs to be asked.
    Stop {
        /// Why.
        why: String,
    },
}

/// The trigger of an escalation because too many tasks of a group failed.
pub const GROUP: &str = "group";

/// Decides what happens after the last attempt.
pub fn decide(retry: &RetryPolicy, escalation: &EscalationPolicy, facts: &RetryFacts) -> RetryDecision {
    let Some(last) = facts.attempts.last() else {
        return RetryDecision::Stop { why: "nothing was attempted".to_owned() };
    };
    if last.status == Some(Status::Pass) {
        return RetryDecision::Done;
    }
    let class = last.class();
    let reached = |count: u32, most: u32| most > 0 && count >= most;
    let escalate = |level, trigger, why: String| RetryDecision::Escalate { level, trigger, why };
    if reached(facts.failed_in_group, escalation.group) {
        let why = format!("{} of the group failed", text::count(facts.failed_in_group, "task"));
        return escalate(EscalationLevel::Halt, GROUP, why);
    }
    if let Some(why) = &facts.needs_person {
        return escalate(EscalationLevel::Notify, "needs-person", why.clone());
    }
    if class == Class::Blocked {
        return RetryDecision::Stop { why: blocked(&facts.blocked_by) };
    }
    let of = |wanted: &dyn Fn(&Class) -> bool| count(facts.attempts.iter().filter(|past| wanted(&past.class())));
    let rejected = |past: &&PastAttempt| past.class() == Class::ReviewRejection;
    // A failure of the verifier says nothing about the work.
    let judged = || facts.attempts.iter().rev().filter(|past| !matches!(past.class(), Class::Infra | Class::Blocked));
    let rejections = count(judged().take_while(rejected));
    let failures = count(judged());
    if class == Class::ReviewRejection && reached(rejections, escalation.rejections) {
        let why = format!("a reviewer rejected the work {} in a row", times(rejections));
        return escalate(EscalationLevel::Notify, "rejections", why);
    }
    let timeouts = of(&|class| *class == Class::Timeout);
    if class == Class::Timeout && reached(timeouts, escalation.timeouts) {
        return escalate(EscalationLevel::Notify, "timeouts", format!("the task timed out {}", times(timeouts)));
    }
    if class != Class::Infra && reached(failures, escalation.same_task) {
        return escalate(EscalationLevel::Notify, "same-task", format!("the same task failed {}", times(failures)));
    }
    if class != Class::Infra && facts.attempts_allowed.is_some_and(|allowed| failures >= allowed) {
        return escalate(EscalationLevel::Notify, "attempts", format!("all {failures} allowed attempts failed"));
    }
    let rule = retry.of(&class);
    let alike = of(&|other| *other == class);
    if alike > rule.most {
        let why = format!("`{class}` happened {}, and may be retried {}", times(alike), times(rule.most));
        return escalate(EscalationLevel::Notify, "retries", why);
    }
    // An error is no verdict about the work, so the executor has nothing to fix.
    let is_error = last.status == Some(Status::Error) || class == Class::Infra;
    let who = if is_error { RetryBy::Verifier } else { RetryBy::Executor };
    RetryDecision::Retry { who, after: Duration::from_secs(rule.after_seconds) }
}

fn count<'a>(attempts: impl Iterator<Item = &'a PastAttempt>) -> u32 {
    u32::try_from(attempts.count()).unwrap_or(u32::MAX)
}

fn blocked(by: &[String]) -> String {
    match by {
        [] => "the task is blocked".to_owned(),
        by => {
            let names: Vec<String> = by.iter().map(|task| format!("`{task}`")).collect();
            format!("the task is blocked by {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(attempts: &[PastAttempt]) -> RetryDecision {
        let facts = RetryFacts { attempts: attempts.to_vec(), failed_in_group: 1, ..RetryFacts::default() };
        decide(&RetryPolicy::default(), &EscalationPolicy::default(), &facts)
    }

    fn word(decision: &RetryDecision) -> String {
        match decision {
            RetryDecision::Done => "done".to_owned(),
            RetryDecision::Retry { who: RetryBy::Executor, after } => format!("retry after {}", after.as_secs()),
            RetryDecision::Retry { who: RetryBy::Verifier, after } => format!("ask again after {}", after.as_secs()),
            RetryDecision::Escalate { level, trigger, .. } => format!("{} {trigger}", level.as_str()),
            RetryDecision::Stop { .. } => "stop".to_owned(),
        }
    }

    #[test]
    fn each_class_is_tried_again_as_often_as_the_protocol_says() {
        use Class::{Blocked, ExecutionFailure, Infra, Malformed, ReviewRejection, Timeout, VerifyFailure};
        for (class, expected) in [
            (ExecutionFailure, &["retry after 0", "retry after 0", "notify same-task"] as &[&str]),
            (VerifyFailure, &["retry after 0", "retry after 0", "notify same-task"]),
            (ReviewRejection, &["retry after 0", "notify rejections"]),
            (Blocked, &["stop", "stop", "stop", "stop"]),
            (Timeout, &["retry after 30", "notify timeouts"]),
            (Malformed, &["retry after 0", "retry after 0", "notify same-task"]),
            (Infra, &["ask again after 30", "ask again after 30", "notify retries"]),
            (Class::Other("style".to_owned()), &["retry after 0", "retry after 0", "notify same-task"]),
        ] {
            for (index, expected) in expected.iter().enumerate() {
                let attempts = vec![PastAttempt::failed(class.clone()); index + 1];
                assert_eq!(word(&decided(&attempts)), *expected, "{class}, {} times", index + 1);
            }
        }
    }

    #[test]
    fn what_was_interrupted_counts_and_what_the_verifier_broke_does_not() {
        let verify = || PastAttempt::failed(Class::VerifyFailure);
        let infra = || PastAttempt { status: Some(Status::Error), class: Some(Class::Infra) };
        let timeout = || PastAttempt { status: Some(Status::Error), class: Some(Class::Timeout) };
        for (attempts, expected) in [
            (vec![PastAttempt::interrupted()], "retry after 0"),
            (vec![PastAttempt::interrupted(), verify(), verify()], "notify same-task"),
            (vec![verify(), PastAttempt::interrupted(), PastAttempt::interrupted()], "notify same-task"),
            (vec![infra(), infra(), verify()], "retry after 0"),
            (vec![verify(), verify(), infra()], "ask again after 30"),
            (vec![timeout()], "ask again after 30"),
            (vec![timeout(), timeout()], "notify timeouts"),
            (
                vec![verify(), verify(), PastAttempt { class: Some(Class::VerifyFailure), ..infra() }],
                "notify same-task",
            ),
            (vec![verify(), PastAttempt::failed(Class::Blocked), verify()], "retry after 0"),
            (vec![PastAttempt { status: Some(Status::Pass), class: None }], "done"),
            (vec![verify(), PastAttempt { status: Some(Status::Pass), class: None }], "done"),
            (vec![], "stop"),
        ] {
            assert_eq!(word(&decided(&attempts)), expected, "{attempts:?}");
        }
    }

    #[test]
    fn rejections_count_in_a_row_only() {
        let rejected = || PastAttempt::failed(Class::ReviewRejection);
        let other = || PastAttempt::failed(Class::VerifyFailure);
        assert_eq!(word(&decided(&[rejected(), other(), rejected()])), "notify same-task");
        let patient = EscalationPolicy { same_task: 0, ..EscalationPolicy::default() };
        let facts = RetryFacts { attempts: vec![rejected(), other(), rejected()], ..RetryFacts::default() };
        // Twice in all, and not in a row: the retries of the class are used up all the same.
        assert_eq!(word(&decide(&RetryPolicy::default(), &patient, &facts)), "notify retries");
    }

    #[test]
    fn a_group_of_failed_tasks_halts_and_a_person_outranks_retries() {
        let attempts = vec![PastAttempt::failed(Class::VerifyFailure)];
        let facts = RetryFacts { attempts, failed_in_group: 3, ..RetryFacts::default() };
        let decide = |facts: &RetryFacts| word(&decide(&RetryPolicy::default(), &EscalationPolicy::default(), facts));
        assert_eq!(decide(&facts), "halt group");
        let facts = RetryFacts { failed_in_group: 2, needs_person: Some("the vote is divided".to_owned()), ..facts };
        assert_eq!(decide(&facts), "notify needs-person");
        let facts = RetryFacts { needs_person: None, attempts_allowed: Some(1), ..facts };
        assert_eq!(decide(&facts), "notify attempts");
    }

    #[test]
    fn no_number_of_failures_ever_ends_in_done() {
        let classes = [Class::VerifyFailure, Class::Infra, Class::Blocked, Class::Timeout, Class::ReviewRejection];
        for first in &classes {
            for second in &classes {
                for status in [Some(Status::Fail), Some(Status::Abstain), Some(Status::Error), None] {
                    let past = |class: &Class| PastAttempt { status, class: Some(class.clone()) };
                    assert_ne!(decided(&[past(first), past(second)]), RetryDecision::Done);
                }
            }
        }
    }

    #[test]
    fn the_digest_follows_every_number() {
        let (retry, escalation) = (RetryPolicy::default(), EscalationPolicy::default());
        let other = RetryPolicy { timeout: Retries::at_once(1), ..retry.clone() };
        assert_ne!(digest(&retry, &escalation), digest(&other, &escalation));
        let other = EscalationPolicy { group: 4, ..escalation.clone() };
        assert_ne!(digest(&retry, &escalation), digest(&retry, &other));
    }
}
