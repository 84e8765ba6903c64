//! Runs a plan to one verdict: tiered, voting and composite gates over checks.
//!
//! The rules are pure ([`algebra`], [`vote`], [`cadence`], `compose`); only [`run`] is async. It knows nothing about
//! WebAssembly: a [`RunCheck`] runs the verifiers. Nothing is spawned here: members that run at the same time are polled
//! together, so dropping a member cancels all of it, and a check that computes must move to its own thread.

pub mod algebra;
mod retry;
pub mod cadence;
mod classify;
mod compose;
mod evaluate;
mod first;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;
mod join;
#[cfg(test)]
mod trees;
pub mod vote;

pub use cadence::{Circumstances, TaskFacts};
pub use first::run_failed_first;

use crate::config::Inapplicable;
use crate::outcome::{JudgedFile, ModelUse, Node, NodeKind, Outcome, SkipReason};
use crate::plan::{self, Plan};
use crate::submission::{CommandEvidence, Evidence};
use crate::verdict::{Failure, Verdict};
use evaluate::{Evaluation, GateDeadline};
use std::future::Future;
use tokio::time::Instant;

/// Runs the checks of a gate.
pub trait RunCheck: Sync {
    /// Runs a check, with the evidence from the checks of earlier tiers, in their order.
    ///
    /// Every call must run the check again: the voters of a vote and the runs of a flaky check are otherwise equal. The
    /// future is dropped when its time is over or its answer no longer matters, and must then stop. A panic counts as an
    /// error.
    fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> impl Future<Output = Checked> + Send;

    /// Returns the pass of an earlier run, if nothing that the check depends on has changed since. Called only while the gate
    /// cannot pass yet: a gate passes by checks that ran in the same run.
    fn reuse(&self, check: &plan::Check, evidence: &[Evidence]) -> Option<CheckAnswer> {
        let _ = (check, evidence);
        None
    }

    /// Returns whether there are passes of earlier runs.
    fn has_passes(&self) -> bool {
        false
    }

    /// Returns `Err` if a checked file has changed since. Called once, before the gate passes; if it fails, the gate does
    /// not pass.
    fn confirm(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Receives progress. Called from within the run, so it must return at once.
    fn observe(&self, event: GateEvent<'_>) {
        let _ = event;
    }
}

/// The result of running a check.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is nearly always the large one")]
pub enum Checked {
    /// No file matches the check.
    NoFiles,
    /// The answer of the verifier, or why there is none.
    Answer(CheckAnswer),
}

/// The answer of a verifier, with the commands and models that it used.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckAnswer {
    /// The verdict for all files together.
    pub verdict: Verdict,
    /// The files that were judged, for a check of files.
    pub files: Option<Vec<JudgedFile>>,
    /// The commands that were run.
    pub commands: Vec<CommandEvidence>,
    /// The models that were asked.
    pub models: Vec<ModelUse>,
    /// How many more commands were run and models asked, which are not listed.
    pub unlisted: u64,
    /// The earlier run whose pass was reused, if so.
    pub reused: Option<String>,
}

impl From<Verdict> for CheckAnswer {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, files: None, commands: Vec::new(), models: Vec::new(), unlisted: 0, reused: None }
    }
}

impl From<Verdict> for Checked {
    fn from(verdict: Verdict) -> Self {
        Self::Answer(verdict.into())
    }
}

/// Progress of a run. A path is the names from the gate down, joined by `/`.
#[derive(Clone, Copy, Debug)]
pub enum GateEvent<'e> {
    /// A member starts.
    Started {
        /// The path of the member.
        path: &'e str,
        /// The member.
        node: &'e plan::PlanNode,
    },
    /// A member ended, or was skipped. A member that was cancelled may be reported again.
    Finished {
        /// The path of the member.
        path: &'e str,
        /// The result.
        node: &'e Node,
    },
}

/// Runs a gate. There is always an outcome, and only a pass passes. If nothing was checked, the outcome is an abstention,
/// unless every check looked at the change, none applies, and the gate allows that (`on_nothing`).
pub async fn run(plan: &Plan, circumstances: &Circumstances, judge: &impl RunCheck) -> Node {
    let root = &plan.root;
    let start = Instant::now();
    let at = circumstances.deadline.unwrap_or(start + plan.deadline);
    let deadline = GateDeadline { at, of: &root.name, limit: plan.deadline };
    let evaluation = Evaluation { start, circumstances, judge };
    let mut node = evaluation.member(root, root.name.clone(), deadline, false, &[]).await.node;
    if node.shadow || node.outcome.status().is_none() {
        if root.on_nothing == Inapplicable::Skip && is_unconcerned(&node) {
            node.outcome = Outcome::Pass;
            node.nothing_to_check = true;
            node.reason = "nothing to check".to_owned();
        } else {
            let why = if node.shadow { "it is in shadow mode" } else { &node.reason };
            node.reason = format!("nothing was checked: {why}");
            node.outcome = Outcome::Abstain;
        }
        classify::classify(&mut node);
    }
    if circumstances.nothing_done && root.on_nothing == Inapplicable::Block && node.outcome == Outcome::Pass {
        node.outcome = Outcome::Abstain;
        node.reason = "nothing changed, and `on_nothing = \"pass\"` is not set".to_owned();
        classify::classify(&mut node);
    }
    let by_author = node.walk().find(|node| node.rests_on_author()).map(|node| node.skipped.is_some());
    if let (true, Outcome::Pass, Some(is_skip)) = (plan.require_trusted, node.outcome, by_author) {
        node.outcome = Outcome::Abstain;
        node.nothing_to_check = false;
        node.reason = match is_skip {
            true => {
                "a check was skipped because the author of the change said so; `require_trusted` does not allow that"
            }
            false => "an evaluator's answer comes from the author of the change; `require_trusted` does not allow that",
        }
        .to_owned();
        classify::classify(&mut node);
    }
    if node.outcome == Outcome::Pass
        && let Err(failure) = judge.confirm()
    {
        fail(&mut node, failure);
    }
    keep_marks_of_passes(&mut node);
    node
}

/// Makes a pass an error.
pub(crate) fn fail(node: &mut Node, failure: Failure) {
    node.outcome = Outcome::Error;
    node.nothing_to_check = false;
    node.verdict = Some(failure.into());
    classify::classify(node);
    keep_marks_of_passes(node);
}

/// Returns whether every check looked at the change and none applies.
///
/// A file for which its verifier returns not-applicable does not count. A submission verifier's not-applicable does count,
/// because the author of the change wrote the submission.
fn is_unconcerned(node: &Node) -> bool {
    let mut checks = node.walk().filter(|node| node.kind == NodeKind::Check).peekable();
    let is_idle = |check: &Node| match check.outcome {
        Outcome::Skipped => check.skipped.is_some_and(SkipReason::is_unconcerned),
        Outcome::NotApplicable => check.files.is_some(),
        _ => false,
    };
    // The checks of a gate in shadow mode are not in shadow mode themselves: without them, nobody would have decided.
    checks.peek().is_some() && checks.all(is_idle) && !node.walk().any(|node| node.shadow)
}

/// Removes marks below anything but a pass. They were needed only to compute the marks of the gates above.
fn keep_marks_of_passes(node: &mut Node) {
    if node.outcome != Outcome::Pass {
        node.relaxed.clear();
    }
    node.children.iter_mut().for_each(keep_marks_of_passes);
}
