//! Runs the checks that failed before first. If one fails again, the rest of the gate does not run.
//!
//! The first part needs other checks too, such as those of earlier tiers. If nothing that such a check depends on has changed
//! since it passed in an earlier run, that pass is reused.
//!
//! Only a complete run passes: the second part runs every check that the first part did not run. Members that passed in the
//! first part do not run again in the second, because both parts see the same work, and before a pass everything that was
//! read in either part is confirmed.

use super::{CheckAnswer, Checked, Circumstances, GateEvent, RunCheck, run};
use crate::config::Leniency;
use crate::outcome::{Node, NodeKind, Outcome, SkipReason};
use crate::plan::{self, GateRule, Plan, PlanNodeKind};
use crate::submission::Evidence;
use crate::verdict::{Failure, Status};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::Instant;

/// Runs a gate, starting with the checks that failed before. `failed` has the names of their members.
pub async fn run_failed_first(
    plan: &Plan,
    circumstances: &Circumstances,
    judge: &impl RunCheck,
    failed: &BTreeSet<String>,
) -> Node {
    let later = match later(plan, failed) {
        Some(later) => later,
        None if !failed.is_empty() && judge.has_passes() => BTreeSet::new(),
        None => return run(plan, circumstances, judge).await,
    };
    let mut decisive = BTreeSet::new();
    only_all(&plan.root, &mut decisive);
    let parts = BothParts {
        judge,
        is_second: AtomicBool::new(false),
        decisive,
        passed: Mutex::default(),
        started: Mutex::default(),
        reported: Mutex::default(),
    };
    // Both parts together have one deadline.
    let mut circumstances = circumstances.clone();
    circumstances.deadline.get_or_insert_with(|| Instant::now() + plan.deadline);
    let mut left_out = circumstances.left_out.clone();
    left_out.extend(later.iter().cloned());
    let mut first = run(plan, &Circumstances { left_out, ..circumstances.clone() }, &parts).await;
    if decides(plan, &first) {
        unreached(&mut first, &later);
        report(&first, &first.name.clone(), &parts);
        return first;
    }
    parts.is_second.store(true, Ordering::SeqCst);
    run(plan, &circumstances, &parts).await
}

/// Returns the members that can wait. `None` if none can, or if no failed check is in the gate any more.
///
/// Members below `any`, `not` or a vote run together, because one failing member decides nothing there. Tiers before a
/// failed one run too, because later tiers use their evidence.
fn later(plan: &Plan, failed: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut kept = BTreeSet::new();
    keep(&plan.root, failed, &mut kept);
    let checks = plan.root.walk().filter(|node| matches!(node.what, PlanNodeKind::Check(_)));
    let later: BTreeSet<String> =
        checks.map(|node| &node.name).filter(|name| !kept.contains(name.as_str())).cloned().collect();
    (!kept.is_empty() && !later.is_empty()).then_some(later)
}

/// Collects the checks of the first part in `kept`, and returns whether a failed check is below this node.
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

/// Collects the checks, by address, that are members of `all` and `tiers` only: a pass of one of them never fails the gate.
fn only_all(node: &plan::PlanNode, found: &mut BTreeSet<usize>) {
    match &node.what {
        PlanNodeKind::Check(check) => {
            found.insert(address(check));
        }
        PlanNodeKind::Gate(gate) if matches!(gate.rule, GateRule::All | GateRule::Tiers) => {
            gate.members.iter().for_each(|member| only_all(member, found));
        }
        PlanNodeKind::Gate(_) => {}
    }
}

fn address(check: &plan::Check) -> usize {
    std::ptr::from_ref(check).addr()
}

/// Returns whether the first part settles the result: a check that counts did not pass, and so the gate does not.
///
/// An abstention settles nothing if a gate has `on_error = "warn"`: the error of an earlier tier outranks the abstention, and the
/// gate lets errors through.
fn decides(plan: &Plan, first: &Node) -> bool {
    let lets_errors_through =
        |node: &plan::PlanNode| matches!(node.what, PlanNodeKind::Gate(_)) && node.on_error == Leniency::Warn;
    is_failure(first.outcome)
        && has_failed_check(first)
        && (first.outcome != Outcome::Abstain || !plan.root.walk().any(lets_errors_through))
}

fn is_failure(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error)
}

/// Returns whether a check below this node did not pass. Checks in shadow mode, and all checks below a gate in shadow mode, do not
/// count.
fn has_failed_check(node: &Node) -> bool {
    !node.shadow
        && match node.kind {
            NodeKind::Check => is_failure(node.outcome),
            _ => node.children.iter().any(has_failed_check),
        }
}

/// Marks the members that did not run.
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
        node.reason = "the checks that failed before failed again".to_owned();
    }
}

/// Reports the results that were not reported yet.
fn report<J: RunCheck>(node: &Node, path: &str, parts: &BothParts<'_, J>) {
    for child in &node.children {
        report(child, &format!("{path}/{}", child.name), parts);
    }
    if node.kind != NodeKind::Check || !parts.reported.lock().contains_key(path) {
        parts.judge.observe(GateEvent::Finished { path, node });
    }
}

/// Runs the checks of both parts.
struct BothParts<'j, J> {
    judge: &'j J,
    is_second: AtomicBool,
    /// The checks whose passes may be reused, by their address in the plan.
    decisive: BTreeSet<usize>,
    /// The passes of the first part, by the address of the check in the plan.
    passed: Mutex<BTreeMap<usize, (Vec<Evidence>, CheckAnswer)>>,
    /// The paths of the checks that were reported as started.
    started: Mutex<BTreeSet<String>>,
    /// The outcomes that were reported in the first part, by the path of the check.
    reported: Mutex<BTreeMap<String, Outcome>>,
}

impl<J: RunCheck> RunCheck for BothParts<'_, J> {
    async fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> Checked {
        let key = address(check);
        if self.is_second.load(Ordering::SeqCst)
            && let Some((known, answer)) = self.passed.lock().get(&key)
            && known == evidence
        {
            return Checked::Answer(answer.clone());
        }
        if !self.is_second.load(Ordering::SeqCst)
            && self.decisive.contains(&key)
            && let Some(answer) = self.judge.reuse(check, evidence)
        {
            return Checked::Answer(answer);
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
        // The second part confirms what both parts read.
        if self.is_second.load(Ordering::SeqCst) { self.judge.confirm() } else { Ok(()) }
    }

    fn observe(&self, event: GateEvent<'_>) {
        let is_second = self.is_second.load(Ordering::SeqCst);
        let forward = match event {
            GateEvent::Started { path, node } => match node.what {
                PlanNodeKind::Check(_) => self.started.lock().insert(path.to_owned()),
                PlanNodeKind::Gate(_) => is_second,
            },
            GateEvent::Finished { path, node } if is_second => {
                node.kind != NodeKind::Check || self.reported.lock().get(path) != Some(&node.outcome)
            }
            GateEvent::Finished { path, node } => {
                let left_out = node.skipped == Some(SkipReason::LeftOut) || node.reused.is_some();
                node.kind == NodeKind::Check
                    && !left_out
                    && self.reported.lock().insert(path.to_owned(), node.outcome).is_none()
            }
        };
        if forward {
            self.judge.observe(event);
        }
    }
}
