//! From a plan to one verdict: tiered, voting and composite gates over checks that somebody else runs.
//!
//! The rules are pure ([`algebra`], [`vote`], [`cadence`], `compose`); only [`run`] takes time. It knows nothing of
//! WebAssembly: a [`RunCheck`] answers for the verifiers. Nothing is spawned here: what runs at the same time is polled
//! together, so dropping a member cancels all of it, and a judge that computes must move to a thread by itself.

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
use evaluate::{Deadline, Evaluation};
use std::future::Future;
use tokio::time::Instant;

/// Who answers for the verifiers.
pub trait RunCheck: Sync {
    /// Has the verifier of a check judge, given what the checks of earlier tiers established, in their order.
    ///
    /// Every call must ask again: the voters of one vote, and the runs of a flaky check, differ in nothing else. The
    /// future is dropped when its time is over or its answer no longer matters, and must then stop its work. A panic
    /// in it counts as no answer.
    fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> impl Future<Output = Checked> + Send;

    /// Whether everything is still as it was when it was judged. Asked once, when the gate would pass: where it is not,
    /// there is no pass.
    fn confirm(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes note of progress. Called from within the run, and so must return at once.
    fn observe(&self, event: GateEvent<'_>) {
        let _ = event;
    }
}

/// What a judge says.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is nearly always the large one")]
pub enum Checked {
    /// There is no file for this check to judge.
    NoFiles,
    /// The verifier's answer, or why there is none.
    Answer(CheckAnswer),
}

/// What a verifier answered, and what was done for it.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckAnswer {
    /// The verdict, of all files together.
    pub verdict: Verdict,
    /// The files that were judged, for a check of files.
    pub files: Option<Vec<JudgedFile>>,
    /// The commands that were run.
    pub commands: Vec<CommandEvidence>,
    /// The models that were asked.
    pub models: Vec<ModelUse>,
}

impl From<Verdict> for CheckAnswer {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, files: None, commands: Vec::new(), models: Vec::new() }
    }
}

impl From<Verdict> for Checked {
    fn from(verdict: Verdict) -> Self {
        Self::Answer(verdict.into())
    }
}

/// Progress. A path is the names from the gate down, joined by `/`.
#[derive(Clone, Copy, Debug)]
pub enum GateEvent<'e> {
    /// A member begins.
    Started {
        /// Which.
        path: &'e str,
        /// What it is.
        node: &'e plan::PlanNode,
    },
    /// It is known what became of a member, whether it began or not. What was cut short may be told again.
    Finished {
        /// Which.
        path: &'e str,
        /// What became of it.
        node: &'e Node,
    },
}

/// Runs a gate. Whatever happens, there is an outcome, and nothing but a pass is one. When nothing was checked at all, it is
/// an abstention; unless every check looked at the change and found nothing that concerns it, and the gate lets that pass.
pub async fn run(plan: &Plan, circumstances: &Circumstances, judge: &impl RunCheck) -> Node {
    let root = &plan.root;
    let start = Instant::now();
    let deadline = Deadline { at: start + plan.deadline, of: &root.name, limit: plan.deadline };
    let evaluation = Evaluation { start, circumstances, judge };
    let mut node = evaluation.member(root, root.name.clone(), deadline, false, &[]).await.node;
    if node.shadow || node.outcome.status().is_none() {
        if root.on_nothing == Inapplicable::Skip && is_unconcerned(&node) {
            node.outcome = Outcome::Pass;
            node.nothing_to_check = true;
            node.reason = "nothing to check".to_owned();
        } else {
            let why = if node.shadow { "it is in shadow" } else { &node.reason };
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
        node.outcome = Outcome::Error;
        node.nothing_to_check = false;
        node.verdict = Some(failure.into());
        classify::classify(&mut node);
    }
    keep_marks_of_passes(&mut node);
    node
}

/// Whether every check below looked at the change, and nothing in it concerns any of them.
///
/// A file that its verifier says is not for it concerns nobody. What a submission verifier says of a submission
/// is another matter: the author of the change wrote that.
fn is_unconcerned(node: &Node) -> bool {
    let mut checks = node.walk().filter(|node| node.kind == NodeKind::Check).peekable();
    let is_idle = |check: &Node| match check.outcome {
        Outcome::Skipped => check.skipped.is_some_and(SkipReason::is_unconcerned),
        Outcome::NotApplicable => check.files.is_some(),
        _ => false,
    };
    // Where a gate of its own is in shadow, its checks are not: nobody would have decided.
    checks.peek().is_some() && checks.all(is_idle) && !node.walk().any(|node| node.shadow)
}

/// On the way up, what a fail or an abstention rests on had to be known too. From here on only a pass is marked.
fn keep_marks_of_passes(node: &mut Node) {
    if node.outcome != Outcome::Pass {
        node.relaxed.clear();
    }
    node.children.iter_mut().for_each(keep_marks_of_passes);
}
