//! Feedback as a difference: which attempt it is, what is new since the attempts before it, and what is resolved.

use crate::outcome::{Node, NodeKind, Outcome};
use crate::verdict::{Class, Finding, Level};
use std::collections::BTreeMap;

/// One of several attempts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Its number, from 1.
    pub attempt: u32,
    /// How many there may be.
    pub allowed: u32,
    /// The attempt in which each finding was found first, by fingerprint.
    first: BTreeMap<String, u32>,
    /// What the attempt before this one was found wanting in, and this one is not.
    resolved: Vec<Finding>,
}

impl Round {
    /// Returns the attempt with this number, after those that came to these gates, each with its number, oldest first.
    pub(crate) fn new<'a>(
        attempt: u32,
        allowed: u32,
        now: &Node,
        before: impl IntoIterator<Item = (u32, &'a Node)>,
    ) -> Self {
        let mut first = BTreeMap::new();
        let mut last = Vec::new();
        for (number, gate) in before {
            last = faults(gate).collect();
            for finding in &last {
                first.entry(finding.fingerprint.clone()).or_insert(number);
            }
        }
        let still = |finding: &&Finding| faults(now).any(|found| found.fingerprint == finding.fingerprint);
        let resolved = last.into_iter().filter(|finding| !still(finding)).cloned().collect();
        Self { attempt, allowed, first, resolved }
    }

    /// Returns the attempt with this number, of which nothing is compared.
    pub(crate) fn only(attempt: u32, allowed: u32) -> Self {
        Self { attempt, allowed, ..Self::default() }
    }

    /// Since when a finding is there; nothing at the first attempt.
    pub(super) fn since(&self, finding: &Finding) -> String {
        match self.first.get(&finding.fingerprint).filter(|_| !finding.fingerprint.is_empty()) {
            _ if self.attempt <= 1 => String::new(),
            Some(attempt) => format!(" (still there since attempt {attempt})"),
            None => " (new)".to_owned(),
        }
    }

    pub(super) fn resolved(&self) -> &[Finding] {
        &self.resolved
    }
}

/// What keeps a gate from passing.
fn faults(gate: &Node) -> impl Iterator<Item = &Finding> {
    let failed = |node: &&Node| {
        node.kind == NodeKind::Check
            && !node.shadow
            && matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error)
    };
    let findings =
        gate.walk().filter(failed).flat_map(|node| node.verdict.iter().flat_map(|verdict| &verdict.findings));
    findings.filter(|finding| finding.level == Level::Error && !finding.fingerprint.is_empty())
}

/// What a class of failure means for the author of the work.
pub(super) fn recovery(class: &Class) -> &'static str {
    match class {
        Class::ExecutionFailure => {
            "PREVIOUS ATTEMPT FAILED: the error below is to be addressed before the task is retried."
        }
        Class::VerifyFailure | Class::Other(_) => {
            "VERIFICATION FAILED: the failures below are to be fixed and verified again."
        }
        Class::ReviewRejection => {
            "REVIEW REJECTED: the issues below are to be addressed, and the work submitted again."
        }
        Class::Blocked => "BLOCKED: the work waits for something else, which must be done first.",
        Class::Timeout => {
            "TIMEOUT: a step exceeded its time limit; what was finished is kept, and the next attempt has more time."
        }
        Class::Malformed => "MALFORMED: the report does not have the form that is expected.",
        Class::Infra => "A verifier broke, which says nothing about the work.",
    }
}
