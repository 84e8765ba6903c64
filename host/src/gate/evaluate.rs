//! Walks a plan: which members run, in which order, until when. Members that do not run get a place in the tree too.

use super::cadence::{self, Circumstances, SkipCause};
use super::compose::{self, DoneMember};
use super::join::{BoxedFuture, join};
use super::{GateEvent, RunCheck, classify};
use crate::config::{Enforcement, Grant, show_duration};
use crate::outcome::{Node, Outcome, SkipReason, VerifierId};
use crate::plan::{self, Gate, GateRule, PlanNodeKind, Vote};
use crate::submission::Evidence;
use crate::verdict::Status;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// One run of a plan.
pub(super) struct Evaluation<'r, J> {
    /// When the run began.
    pub(super) start: Instant,
    pub(super) circumstances: &'r Circumstances,
    pub(super) judge: &'r J,
}

/// The deadline of a gate and everything in it.
///
/// Only checks take time, so the checks enforce the deadline of their gate: each stops at the earliest deadline around it.
/// The gate then has an outcome for every member.
#[derive(Clone, Copy)]
pub(super) struct GateDeadline<'r> {
    pub(super) at: Instant,
    /// The gate that has this deadline.
    pub(super) of: &'r str,
    pub(super) limit: Duration,
}

impl GateDeadline<'_> {
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.at
    }
}

impl fmt::Display for GateDeadline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the gate `{}` took more than {}", self.of, show_duration(self.limit))
    }
}

impl<R: RunCheck> Evaluation<'_, R> {
    /// Runs a member if it is due.
    pub(super) fn member<'f>(
        &'f self,
        member: &'f plan::PlanNode,
        path: String,
        deadline: GateDeadline<'f>,
        in_vote: bool,
        known: &'f [Evidence],
    ) -> BoxedFuture<'f, DoneMember> {
        Box::pin(async move {
            if let Some(skip) = self.skip(member) {
                return self.idle(member, &path, Outcome::Skipped, &skip);
            }
            self.judge.observe(GateEvent::Started { path: &path, node: member });
            let start = Instant::now();
            let mut node = blank(member, Outcome::Error);
            node.started = Some(start.saturating_duration_since(self.start));
            let mut done = match &member.what {
                PlanNodeKind::Check(check) => self.check(check, node, deadline, known).await,
                PlanNodeKind::Gate(gate) => self.gate(gate, node, &path, deadline, known).await,
            };
            classify::classify(&mut done.node);
            done.waved = compose::relax(member, &mut done.node, in_vote);
            done.node.duration = start.elapsed();
            if done.node.shadow {
                // A member in shadow mode must not influence the others.
                done.evidence.clear();
            }
            self.judge.observe(GateEvent::Finished { path: &path, node: &done.node });
            done
        })
    }

    fn skip(&self, member: &plan::PlanNode) -> Option<SkipCause> {
        let Circumstances { facts, changed, left_out, deadline, .. } = self.circumstances;
        let is_late = || deadline.is_some_and(|at| Instant::now() >= at);
        let disabled = || (!member.enabled).then(|| SkipCause::new(SkipReason::Disabled, "disabled"));
        let is_left_out = || match &member.what {
            PlanNodeKind::Check(check) => left_out.contains(&check.check) || left_out.contains(&member.name),
            PlanNodeKind::Gate(_) => false,
        };
        let left_out = || is_left_out().then(|| SkipCause::new(SkipReason::LeftOut, "excluded by a flag"));
        let not_touched = || match &member.what {
            PlanNodeKind::Check(_) => None,
            PlanNodeKind::Gate(gate) => cadence::not_touched(&gate.files, &gate.exclude, changed.as_deref(), is_late),
        };
        disabled()
            .or_else(left_out)
            .or_else(|| cadence::above_tier(member.tier, facts))
            .or_else(|| cadence::not_due(&member.when, facts))
            .or_else(not_touched)
    }

    /// Returns the result of a member that does not run, and of everything below it.
    fn idle(&self, member: &plan::PlanNode, path: &str, outcome: Outcome, skip: &SkipCause) -> DoneMember {
        let mut node = blank(member, outcome);
        node.reason = skip.reason.clone();
        node.skipped = skip.word;
        node.next_due = skip.next_due;
        let below = SkipCause { next_due: None, ..skip.clone() };
        let idle =
            |member: &plan::PlanNode| self.idle(member, &format!("{path}/{}", member.name), outcome, &below).node;
        node.children = member.members().iter().map(idle).collect();
        self.judge.observe(GateEvent::Finished { path, node: &node });
        DoneMember { node, waved: None, evidence: Vec::new() }
    }

    async fn gate(
        &self,
        gate: &Gate,
        mut node: Node,
        path: &str,
        outer: GateDeadline<'_>,
        known: &[Evidence],
    ) -> DoneMember {
        let own = gate.timeout.map(|limit| GateDeadline { at: Instant::now() + limit, of: &node.name, limit });
        let deadline = own.filter(|own| own.at < outer.at).unwrap_or(outer);
        let members = match &gate.rule {
            GateRule::Vote(vote) => self.vote(vote, &gate.members, path, deadline, known).await,
            GateRule::All if !self.circumstances.fail_fast => {
                let run = |member| self.member(member, below(path, member), deadline, false, known);
                let all = join(gate.members.iter().map(run).collect(), |_| false, |_| true).await;
                all.into_iter().flatten().collect()
            }
            GateRule::All | GateRule::Any | GateRule::Not | GateRule::Tiers => {
                self.in_order(gate, path, deadline, known).await
            }
        };
        let evidence = compose::decide(gate, members, &mut node);
        DoneMember { node, waved: None, evidence }
    }

    /// Runs members one after the other, until the rest cannot change the result.
    async fn in_order(
        &self,
        gate: &Gate,
        path: &str,
        deadline: GateDeadline<'_>,
        known: &[Evidence],
    ) -> Vec<DoneMember> {
        let mut known = known.to_vec();
        let mut members: Vec<DoneMember> = Vec::new();
        let mut stop = None;
        for member in &gate.members {
            let path = below(path, member);
            let done = match stop {
                Some(outcome) => self.idle(member, &path, outcome, &SkipCause::unreached()),
                None => self.member(member, path, deadline, false, &known).await,
            };
            stop = stop.or(match (&gate.rule, done.status()) {
                (GateRule::Tiers, Some(Status::Fail | Status::Abstain | Status::Error)) => Some(Outcome::NotReached),
                (GateRule::All, Some(Status::Fail)) => Some(Outcome::NotReached),
                (GateRule::Any, Some(Status::Pass)) => Some(Outcome::NotNeeded),
                _ => None,
            });
            if gate.rule == GateRule::Tiers {
                known.extend(done.evidence.iter().cloned());
            }
            members.push(done);
        }
        members
    }

    /// Runs all members at the same time, until the remaining votes cannot change the result. Members in shadow mode run to
    /// the end.
    async fn vote(
        &self,
        vote: &Vote,
        members: &[plan::PlanNode],
        path: &str,
        deadline: GateDeadline<'_>,
        known: &[Evidence],
    ) -> Vec<DoneMember> {
        let electorate = compose::electorate(vote, members, false);
        // Whether the first votes settle the result, whatever the others are.
        let settled_by = |results: &[Option<DoneMember>], counted: usize| {
            let ballot =
                |(index, done): (usize, &Option<DoneMember>)| done.as_ref().filter(|_| index < counted)?.ballot();
            let ballots: Vec<_> = results.iter().enumerate().map(ballot).collect();
            let possible = electorate.possible(&ballots).into_iter();
            let mut outcomes = possible.map(|decision| compose::outcome_of(decision, vote.on_divergence));
            let first = outcomes.next();
            outcomes.all(|outcome| Some(outcome) == first)
        };
        // Members that wait for a command or a model may take minutes, so the first to answer is counted first. The others
        // are fast and deterministic: they are counted in order, so that two runs report the same.
        let any_order = members.iter().flat_map(plan::PlanNode::walk).any(waits);
        let settled_at = |results: &[Option<DoneMember>]| {
            let there = results.iter().take_while(|done| done.is_some()).count();
            if any_order {
                settled_by(results, results.len()).then_some(results.len())
            } else {
                (0..=there).find(|&counted| settled_by(results, counted))
            }
        };
        let in_shadow = |index: usize| members[index].mode == Enforcement::Shadow;
        let run = |member| self.member(member, below(path, member), deadline, true, known);
        let enough = |results: &[Option<DoneMember>]| settled_at(results).is_some();
        let mut results = join(members.iter().map(run).collect(), enough, in_shadow).await;
        let counted = settled_at(&results).unwrap_or(results.len());
        for index in (counted..results.len()).filter(|index| !in_shadow(*index)) {
            results[index] = None;
        }
        let cut = |member| self.idle(member, &below(path, member), Outcome::NotNeeded, &SkipCause::unreached());
        results.into_iter().zip(members).map(|(done, member)| done.unwrap_or_else(|| cut(member))).collect()
    }
}

/// Returns whether a member waits for a command or a model.
fn waits(member: &plan::PlanNode) -> bool {
    matches!(&member.what, PlanNodeKind::Check(check) if check.grants.iter().any(|grant| *grant != Grant::Workspace))
}

fn below(path: &str, member: &plan::PlanNode) -> String {
    format!("{path}/{}", member.name)
}

/// Returns a member with nothing but its name and outcome.
fn blank(member: &plan::PlanNode, outcome: Outcome) -> Node {
    let mut node = Node::new(&member.name, member.kind(), outcome);
    node.shadow = member.mode == Enforcement::Shadow;
    if let PlanNodeKind::Check(check) = &member.what {
        node.verifier = Some(VerifierId {
            name: check.verifier.clone(),
            digest: check.digest.clone(),
            settings: check.settings_digest(),
            grants: check.grants.iter().map(ToString::to_string).collect(),
            limits: check.limits.clone(),
        });
    }
    node
}
