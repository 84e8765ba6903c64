//! Compares the findings of an attempt with those of earlier attempts.

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
    /// The attempt in which each finding was first seen, by fingerprint.
    first: BTreeMap<String, u32>,
    /// The findings of the previous attempt that are resolved.
    resolved: Vec<Finding>,
}

impl Round {
    /// Returns the attempt with this number. `gates` has the results of earlier attempts with their numbers, oldest first.
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

    /// Returns an attempt without earlier ones.
    pub(crate) fn only(attempt: u32, allowed: u32) -> Self {
        Self { attempt, allowed, ..Self::default() }
    }

    /// Returns since which attempt a finding exists; nothing in the first attempt.
    pub(super) fn since(&self, finding: &Finding) -> String {
        match self.first.get(&finding.fingerprint).filter(|_| !finding.fingerprint.is_empty()) {
            _ if self.attempt <= 1 => String::new(),
            Some(attempt) => format!(" (still there since attempt {attempt})"),
            None => " (new)".to_owned(),
        }
    }

    /// Returns whether no earlier attempt had a finding.
    pub(super) fn is_new(&self, finding: &Finding) -> bool {
        finding.fingerprint.is_empty() || !self.first.contains_key(&finding.fingerprint)
    }

    pub(super) fn resolved(&self) -> &[Finding] {
        &self.resolved
    }
}

/// Returns the findings because of which a gate did not pass.
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

/// Returns the sentence for the author of the work about this class of failure.
pub(super) fn recovery(class: &Class) -> &'static str {
    match class {
        Class::ExecutionFailure => "PREVIOUS ATTEMPT FAILED: address the error below before you retry the task.",
        Class::VerifyFailure | Class::Other(_) => "VERIFICATION FAILED: fix the failures below; the checks run again.",
        Class::ReviewRejection => "REVIEW REJECTED: address the issues below, and submit the work again.",
        Class::Blocked => "BLOCKED: the work depends on something else, which must be done first.",
        Class::Timeout => {
            "TIMEOUT: a step exceeded its time limit; finished work is kept, and the next attempt has more time."
        }
        Class::Malformed => "MALFORMED: the report does not have the expected form.",
        Class::Infra => "A verifier failed, which says nothing about the work.",
    }
}
