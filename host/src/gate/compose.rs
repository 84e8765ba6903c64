//! Combines the outcomes of members into the outcome of a gate.

use super::algebra;
use super::vote::{Ballot, Electorate, VoteResult};
use crate::config::{Divergence, Enforcement, Leniency};
use crate::outcome::{Node, Outcome, Relaxation, SkipReason, VoteCount};
use crate::plan::{self, Gate, GateRule};
use crate::submission::Evidence;
use crate::verdict::Status;

/// A member that ran or was skipped.
#[derive(Clone, Debug)]
pub(super) struct DoneMember {
    /// The result.
    pub(super) node: Node,
    /// In a vote: the relaxation by which the error or abstention of this member was ignored.
    pub(super) waved: Option<Relaxation>,
    /// The evidence for later tiers.
    pub(super) evidence: Vec<Evidence>,
}

impl DoneMember {
    /// Returns the status that counts for the gate.
    pub(super) fn status(&self) -> Option<Status> {
        self.status_if(false)
    }

    /// Returns the status that counts for the gate, optionally also for a member in shadow mode.
    fn status_if(&self, shadows: bool) -> Option<Status> {
        if self.node.shadow && !shadows { None } else { self.node.outcome.status() }
    }

    /// Returns the ballot of the member; `None` if it was not needed. An error that may come from the output of a command is
    /// a vote against, because the author of the work may have written that output.
    pub(super) fn ballot(&self) -> Option<Ballot> {
        self.ballot_if(false)
    }

    fn ballot_if(&self, shadows: bool) -> Option<Ballot> {
        match self.status_if(shadows) {
            Some(Status::Pass) => Some(Ballot::For),
            Some(Status::Fail) => Some(Ballot::Against),
            Some(Status::Error) if is_by_output(&self.node) => Some(Ballot::Against),
            Some(Status::Abstain | Status::Error) if self.waved.is_none() => Some(Ballot::Absent),
            None if self.node.outcome == Outcome::NotNeeded => None,
            Some(Status::Abstain | Status::Error | Status::NotApplicable) | None => Some(Ballot::Gone),
        }
    }
}

/// Returns whether the author of the work may have caused the error.
pub(super) fn is_by_output(node: &Node) -> bool {
    let error = node.verdict.as_ref().and_then(|verdict| verdict.error.as_ref());
    node.outcome == Outcome::Error && error.is_some_and(|error| error.kind.is_by_output())
}

/// Returns whether this gate has an error that outranks the abstention of a member.
fn abstains_too(node: &Node) -> bool {
    let mut counted = node.children.iter().filter(|child| !child.shadow || node.shadow);
    node.outcome == Outcome::Error && counted.any(|child| child.outcome == Outcome::Abstain || abstains_too(child))
}

/// Returns the relaxation of a member in shadow mode, which would otherwise count with this status.
fn by_shadow(member: &str, was: Status) -> Relaxation {
    Relaxation { member: member.to_owned(), was, by: "mode = \"shadow\"".to_owned() }
}

/// Applies `on_error` and `on_abstain`.
///
/// An ignored error counts as a pass from here on, and is marked. In a vote, such a pass would be a ballot that nobody cast.
/// There the member keeps its outcome and does not vote, and the relaxation is returned. If an error outranks an abstention,
/// ignoring the error leaves the abstention.
pub(super) fn relax(member: &plan::PlanNode, node: &mut Node, in_vote: bool) -> Option<Relaxation> {
    if member.on_error == Leniency::Warn && abstains_too(node) {
        node.outcome = Outcome::Abstain;
        node.reason = "an abstention besides the error that `on_error = \"warn\"` ignores".to_owned();
    }
    let (was, key, leniency) = match node.outcome {
        Outcome::Error if member.on_error == Leniency::Warn && is_by_output(node) => {
            node.reason =
                "`on_error = \"warn\"` does not apply: the error follows from the output of the command".to_owned();
            return None;
        }
        Outcome::Error => (Status::Error, "on_error", member.on_error),
        Outcome::Abstain => (Status::Abstain, "on_abstain", member.on_abstain),
        _ => return None,
    };
    let (by, effect) = match leniency {
        Leniency::Block => return None,
        Leniency::Escalate => {
            node.outcome = Outcome::Abstain;
            node.escalated = true;
            (format!("{key} = \"escalate\""), "escalated")
        }
        Leniency::Warn => {
            let effect = if in_vote { "left out of the vote" } else { "let through" };
            (format!("{key} = \"warn\""), effect)
        }
    };
    let why = if node.reason.is_empty() { was.as_str() } else { &node.reason };
    node.reason = format!("{why}; {effect} by `{by}`");
    if leniency == Leniency::Escalate {
        return None;
    }
    let relaxation = Relaxation { member: member.name.clone(), was, by };
    if in_vote {
        return Some(relaxation);
    }
    node.outcome = Outcome::Pass;
    node.escalated = false;
    node.relaxed = vec![relaxation];
    None
}

/// Returns the voters of a gate: the members that are enabled and count, optionally also those in shadow mode.
pub(super) fn electorate(vote: &plan::Vote, members: &[plan::PlanNode], shadows: bool) -> Electorate {
    let decides = |member: &plan::PlanNode| member.enabled && (shadows || member.mode == Enforcement::Enforce);
    let weight = |member: &plan::PlanNode| decides(member).then_some(member.weight);
    let electorate = Electorate::new(vote, &members.iter().map(weight).collect::<Vec<_>>());
    // A quorum that the configuration sets does not change with the number of voters.
    let more = members.iter().filter(|member| member.enabled && member.mode == Enforcement::Shadow).count();
    if shadows && vote.gone_are_missing { electorate.with_more_absences(more) } else { electorate }
}

/// Returns whether the vote is held even if no voter applies, because the configuration sets a quorum and a member votes;
/// optionally also a member in shadow mode.
fn must_vote(gate: &Gate, shadows: bool) -> bool {
    let decides = |member: &plan::PlanNode| member.enabled && (shadows || member.mode == Enforcement::Enforce);
    matches!(&gate.rule, GateRule::Vote(vote) if vote.gone_are_missing) && gate.members.iter().any(decides)
}

/// Returns the outcome of a vote, and whether human review is needed.
pub(super) fn outcome_of(decision: VoteResult, on_divergence: Divergence) -> (Status, bool) {
    match (decision, on_divergence) {
        (VoteResult::Pass, _) => (Status::Pass, false),
        (VoteResult::Fail, _) | (VoteResult::Divided, Divergence::Fail) => (Status::Fail, false),
        (VoteResult::Divided, Divergence::Escalate) => (Status::Abstain, true),
        (VoteResult::NoQuorum, _) => (Status::Abstain, false),
    }
}

/// The combined result of the members, with or without shadows.
struct Ruling {
    status: Status,
    escalated: bool,
    reason: String,
    vote: Option<VoteCount>,
}

fn ruling(gate: &Gate, members: &[DoneMember], shadows: bool) -> Option<Ruling> {
    let statuses = || members.iter().map(|member| member.status_if(shadows));
    let plain = |status| Ruling { status, escalated: false, reason: String::new(), vote: None };
    let mut ruling = match &gate.rule {
        GateRule::Tiers => algebra::tiers(statuses()).map(plain)?,
        GateRule::All => algebra::all(statuses()).map(plain)?,
        GateRule::Any => algebra::any(statuses()).map(plain)?,
        GateRule::Not => algebra::not(statuses().next().flatten()).map(plain)?,
        // Which voters ask for human review depends on when the vote is over. So only a divided vote asks for it.
        GateRule::Vote(vote) => {
            if !must_vote(gate, false) {
                statuses().flatten().next()?;
            }
            let ballots: Vec<_> = members.iter().map(|member| member.ballot_if(shadows)).collect();
            let electorate = electorate(vote, &gate.members, shadows);
            let (count, decision) = (electorate.count(&ballots), electorate.decision(&ballots));
            let (status, escalated) = outcome_of(decision, vote.on_divergence);
            return Some(Ruling {
                status,
                escalated,
                reason: count.reason(decision),
                vote: Some(count.record(decision)),
            });
        }
    };
    let asks = |member: &DoneMember| member.status_if(shadows) == Some(Status::Abstain) && member.node.escalated;
    ruling.escalated = ruling.status == Status::Abstain && members.iter().any(asks);
    Some(ruling)
}

/// Combines the results of the members, and marks in `node` what the result depends on.
///
/// A gate that only shadows decide is in shadow mode itself: it reports their result, and is neutral.
pub(super) fn decide(gate: &Gate, members: Vec<DoneMember>, node: &mut Node) -> Vec<Evidence> {
    let shadows = members.iter().all(|member| member.status().is_none()) && !must_vote(gate, false);
    match ruling(gate, &members, shadows) {
        None => {
            node.outcome = Outcome::Skipped;
            node.skipped = Some(SkipReason::NoMember);
            node.reason = "no member applies".to_owned();
            node.next_due = members.iter().filter_map(|member| member.node.next_due).min();
            // Without shadow mode, the vote would be held, and nobody would vote.
            if must_vote(gate, true) {
                node.relaxed = vec![by_shadow(&node.name, Status::Abstain)];
            }
        }
        Some(Ruling { status, escalated, reason, vote }) => {
            node.outcome = status.into();
            node.vote = vote;
            node.shadow |= shadows;
            node.escalated = escalated;
            node.reason = reason;
            node.relaxed = relaxations(gate, &members, status, shadows);
        }
    }
    let (nodes, evidence): (Vec<Node>, Vec<_>) = members.into_iter().map(|done| (done.node, done.evidence)).unzip();
    node.children = nodes;
    evidence.into_iter().flatten().collect()
}

/// Returns the relaxations that the status of a gate depends on: those of the members that decide it, and its shadows, if
/// they would change it.
///
/// Not only for a pass: `not` turns a fail into one, and a vote may pass because a member abstains.
fn relaxations(gate: &Gate, members: &[DoneMember], status: Status, shadows: bool) -> Vec<Relaxation> {
    let matter = match &gate.rule {
        // With more voters, votes that were not needed might have been.
        GateRule::Vote(vote) => {
            let ballots: Vec<_> = members.iter().map(|member| member.ballot_if(true)).collect();
            let possible = electorate(vote, &gate.members, true).possible(&ballots);
            possible.into_iter().any(|decision| outcome_of(decision, vote.on_divergence).0 != status)
        }
        _ => ruling(gate, members, true).is_none_or(|ruling| ruling.status != status),
    };
    let gone_are_missing = matches!(&gate.rule, GateRule::Vote(vote) if vote.gone_are_missing);
    let of = |(planned, member): (&plan::PlanNode, &DoneMember)| -> Vec<Relaxation> {
        let node = &member.node;
        let counts = member.status_if(shadows);
        let is_missing_shadow = gone_are_missing
            && planned.enabled
            && planned.mode == Enforcement::Shadow
            && matches!(node.outcome, Outcome::Skipped | Outcome::NotApplicable);
        let one_decides = matches!((&gate.rule, status), (GateRule::All, Status::Fail) | (GateRule::Any, Status::Pass));
        match node.outcome.status() {
            Some(was) if counts.is_none() && matter => vec![by_shadow(&node.name, was)],
            // It would be a voter that is missing.
            None if is_missing_shadow && matter => vec![by_shadow(&node.name, Status::NotApplicable)],
            _ if one_decides && counts != Some(status) => Vec::new(),
            _ => node.relaxed.iter().chain(&member.waved).cloned().collect(),
        }
    };
    gate.members.iter().zip(members).flat_map(of).collect()
}
