//! What failed before runs first: if it fails again, the rest of the gate is not run.
//!
//! Only a gate that is run whole passes. The members that passed in the first part are not asked again in the second: both
//! look at the same work, and a pass is confirmed for everything that was judged or read in either.

use super::{CheckAnswer, Checked, Circumstances, GateEvent, RunCheck, run};
use crate::outcome::{Node, NodeKind, Outcome, SkipReason};
use crate::plan::{self, GateRule, Plan, PlanNodeKind};
use crate::submission::Evidence;
use crate::verdict::{Failure, Status};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a gate, beginning with the checks that failed before, by the names of their members.
pub async fn run_failed_first(
    plan: &Plan,
    circumstances: &Circumstances,
    judge: &impl RunCheck,
    failed: &BTreeSet<String>,
) -> Node {
    let Some(later) = later(plan, failed) else { return run(plan, circumstances, judge).await };
    let parts = Parts { judge, is_second: AtomicBool::new(false), passed: Mutex::default(), told: Mutex::default() };
    let mut left_out = circumstances.left_out.clone();
    left_out.extend(later.iter().cloned());
    let mut first = run(plan, &Circumstances { left_out, ..circumstances.clone() }, &parts).await;
    if decides(&first) {
        unreached(&mut first, &later);
        tell(&first, &first.name.clone(), &parts);
        return first;
    }
    parts.is_second.store(true, Ordering::SeqCst);
    run(plan, circumstances, &parts).await
}

/// The members that can wait; `None` where none can, or where nothing that failed is in the gate any more.
///
/// What is below `any`, `not` or a vote is run whole, since there a member that fails alone decides nothing. Tiers before
/// one that failed run too: later tiers build on what they established.
fn later(plan: &Plan, failed: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut kept = BTreeSet::new();
    keep(&plan.root, failed, &mut kept);
    let checks = plan.root.walk().filter(|node| matches!(node.what, PlanNodeKind::Check(_)));
    let later: BTreeSet<String> =
        checks.map(|node| &node.name).filter(|name| !kept.contains(name.as_str())).cloned().collect();
    (!kept.is_empty() && !later.is_empty()).then_some(later)
}

/// Keep what is needed of a node, and tell whether something in it failed before.
fn keep<'p>(node: &'p plan::PlanNode, failed: &BTreeSet<String>, kept: &mut BTreeSet<&'p str>) -> bool {
    let keep_all = |node: &'p plan::PlanNode, kept: &mut BTreeSet<&'p str>| {
        kept.extend(
            node.walk().filter(|node| matches!(node.what, PlanNodeKind::Check(_))).map(|node| node.name.as_str()),
        );
    };
    match &node.what {
        PlanNodeKind::Check(_) => failed.contains(&node.name) && kept.insert(&node.name),
        PlanNodeKind::Gate(gate) => match gate.rule {
            GateRule::All => gate.members.iter().fold(false, |hit, member| keep(member, failed, kept) | hit),
            GateRule::Tiers => {
                let hits = gate.members.iter().map(|member| keep(member, failed, kept)).collect::<Vec<_>>();
                let last = hits.iter().rposition(|hit| *hit);
                gate.members.iter().take(last.unwrap_or(0)).for_each(|member| keep_all(member, kept));
                last.is_some()
            }
            GateRule::Any | GateRule::Not | GateRule::Vote(_) => {
                let hit =
                    node.walk().any(|node| matches!(node.what, PlanNodeKind::Check(_)) && failed.contains(&node.name));
                if hit {
                    keep_all(node, kept);
                }
                hit
            }
        },
    }
}

/// Whether the first part settles it: a check in it did not pass, and so the gate does not.
fn decides(first: &Node) -> bool {
    let is_failure = |outcome| matches!(outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error);
    is_failure(first.outcome)
        && first.walk().any(|node| node.kind == NodeKind::Check && !node.shadow && is_failure(node.outcome))
}

/// Note which members were not run.
fn unreached(node: &mut Node, later: &BTreeSet<String>) {
    node.children.iter_mut().for_each(|child| unreached(child, later));
    let left_out =
        node.kind == NodeKind::Check && node.skipped == Some(SkipReason::LeftOut) && later.contains(&node.name);
    let empty = node.kind != NodeKind::Check
        && node.outcome == Outcome::Skipped
        && node.children.iter().all(|child| child.outcome == Outcome::NotReached);
    if left_out || empty {
        node.outcome = Outcome::NotReached;
        node.skipped = None;
        node.reason = "what failed before failed again".to_owned();
    }
}

/// Tell what became of the members that nobody was told of.
fn tell<J: RunCheck>(node: &Node, path: &str, parts: &Parts<'_, J>) {
    for child in &node.children {
        tell(child, &format!("{path}/{}", child.name), parts);
    }
    if node.kind != NodeKind::Check || !parts.told.lock().contains(path) {
        parts.judge.observe(GateEvent::Finished { path, node });
    }
}

/// A judge for both parts.
struct Parts<'j, J> {
    judge: &'j J,
    is_second: AtomicBool,
    /// What passed in the first part, by the address of the check in the plan.
    passed: Mutex<BTreeMap<usize, (Vec<Evidence>, CheckAnswer)>>,
    /// The paths of the checks that were told to have ended in the first part.
    told: Mutex<BTreeSet<String>>,
}

impl<J: RunCheck> RunCheck for Parts<'_, J> {
    async fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> Checked {
        let key = std::ptr::from_ref(check).addr();
        if self.is_second.load(Ordering::SeqCst)
            && let Some((known, answer)) = self.passed.lock().get(&key)
            && known == evidence
        {
            return Checked::Answer(answer.clone());
        }
        let judged = self.judge.judge(check, evidence).await;
        if let Checked::Answer(answer) = &judged
            && answer.verdict.status == Status::Pass
            && check.flaky.is_none()
        {
            self.passed.lock().insert(key, (evidence.to_vec(), answer.clone()));
        }
        judged
    }

    fn confirm(&self) -> Result<(), Failure> {
        // The second part confirms what both looked at.
        if self.is_second.load(Ordering::SeqCst) { self.judge.confirm() } else { Ok(()) }
    }

    fn observe(&self, event: GateEvent<'_>) {
        let is_second = self.is_second.load(Ordering::SeqCst);
        let forward = match event {
            GateEvent::Started { path, node } if is_second => {
                !matches!(node.what, PlanNodeKind::Check(_)) || !self.told.lock().contains(path)
            }
            GateEvent::Started { node, .. } => matches!(node.what, PlanNodeKind::Check(_)),
            GateEvent::Finished { path, node } if is_second => {
                !(node.kind == NodeKind::Check && node.outcome == Outcome::Pass && self.told.lock().contains(path))
            }
            GateEvent::Finished { path, node } => {
                let ran = node.kind == NodeKind::Check && node.skipped != Some(SkipReason::LeftOut);
                ran && self.told.lock().insert(path.to_owned())
            }
        };
        if forward {
            self.judge.observe(event);
        }
    }
}
