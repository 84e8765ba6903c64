//! The algebra over random trees: what may never happen, whatever is configured and whoever says what.

use super::scripted::*;
use super::trees::*;
use super::*;
use crate::config::{Divergence, Enforcement, Inapplicable, Leniency, Threshold};
use crate::outcome::Relaxation;
use crate::plan::{GateRule, PlanNodeKind, Vote};
use crate::verdict::Status;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a member comes to when everybody is asked, written out plainly.
#[derive(Clone, Copy, Debug)]
struct Plain {
    status: Option<Status>,
    shadow: bool,
    escalated: bool,
    waved: bool,
    /// Whether a member of a gate with an error abstains.
    abstains_too: bool,
}

fn plainly(node: &plan::PlanNode, letters: &BTreeMap<String, char>, in_vote: bool) -> Plain {
    let shadow = node.mode == Enforcement::Shadow;
    let mut plain = Plain { status: None, shadow, escalated: false, waved: false, abstains_too: false };
    if !node.enabled {
        return plain;
    }
    match &node.what {
        PlanNodeKind::Check(_) => {
            plain.status = match letters[&node.name] {
                '+' => Some(Status::Pass),
                '-' => Some(Status::Fail),
                '?' => Some(Status::Abstain),
                '.' => None,
                _ => Some(Status::Error),
            }
        }
        PlanNodeKind::Gate(gate) => {
            let is_vote = matches!(gate.rule, GateRule::Vote(_));
            let all: Vec<Plain> = gate.members.iter().map(|member| plainly(member, letters, is_vote)).collect();
            let some = |plain: &&Plain| plain.status.is_some();
            let decides = |member: &plan::PlanNode| member.enabled && member.mode == Enforcement::Enforce;
            let named = matches!(&gate.rule, GateRule::Vote(vote) if vote.gone_are_missing);
            let must_vote = named && gate.members.iter().any(decides);
            let only_shadows = !must_vote && !all.iter().filter(some).any(|plain| !plain.shadow);
            let counts = |plain: &Plain| plain.status.is_some() && (only_shadows || !plain.shadow);
            let members: Vec<Plain> = all.iter().filter(|plain| counts(plain)).copied().collect();
            if members.is_empty() && !must_vote {
                return plain;
            }
            plain.shadow |= only_shadows;
            let has = |status| members.iter().any(|plain| plain.status == Some(status));
            plain.status = Some(match &gate.rule {
                GateRule::Tiers => {
                    let decides = members.iter().find(|plain| plain.status != Some(Status::Pass));
                    decides.and_then(|plain| plain.status).unwrap_or(Status::Pass)
                }
                GateRule::All if has(Status::Fail) => Status::Fail,
                GateRule::Any if has(Status::Pass) => Status::Pass,
                GateRule::All | GateRule::Any if has(Status::Error) => Status::Error,
                GateRule::All | GateRule::Any if has(Status::Abstain) => Status::Abstain,
                GateRule::All => Status::Pass,
                GateRule::Any => Status::Fail,
                GateRule::Not => match members[0].status {
                    Some(Status::Pass) => Status::Fail,
                    Some(Status::Fail) => Status::Pass,
                    other => other.expect("a status"),
                },
                GateRule::Vote(vote) => {
                    let voters: Vec<_> = gate.members.iter().zip(&all).zip(&vote.voices).collect();
                    let more = if only_shadows && named { in_shadow(&gate.members) } else { 0 };
                    let vote = Vote { absences: vote.absences + more, ..vote.clone() };
                    let (status, divided) = count_plainly(&vote, &voters, only_shadows);
                    plain.escalated = divided;
                    status
                }
            });
            let abstains = |member: &&Plain| member.status == Some(Status::Abstain) && member.escalated;
            // Later tiers are not reached.
            let first = members.iter().position(|plain| plain.status != Some(Status::Pass)).unwrap_or(0);
            let reached = if gate.rule == GateRule::Tiers { &members[..=first] } else { &members[..] };
            let is_silent = |plain: &Plain| plain.status == Some(Status::Abstain) || plain.abstains_too;
            plain.abstains_too = plain.status == Some(Status::Error) && reached.iter().any(is_silent);
            let inherits = plain.status == Some(Status::Abstain) && !is_vote;
            plain.escalated |= inherits && reached.iter().any(|plain| abstains(&plain));
        }
    }
    if plain.abstains_too && node.on_error == Leniency::Warn {
        (plain.status, plain.abstains_too) = (Some(Status::Abstain), false);
    }
    let leniency = match plain.status {
        Some(Status::Error) => node.on_error,
        Some(Status::Abstain) => node.on_abstain,
        _ => Leniency::Block,
    };
    match leniency {
        Leniency::Block => {}
        Leniency::Escalate => (plain.status, plain.escalated) = (Some(Status::Abstain), true),
        Leniency::Warn if in_vote => plain.waved = true,
        Leniency::Warn => (plain.status, plain.escalated) = (Some(Status::Pass), false),
    }
    plain
}

fn count_plainly(vote: &Vote, voters: &[((&plan::PlanNode, &Plain), &usize)], only_shadows: bool) -> (Status, bool) {
    let votes = |node: &plan::PlanNode| node.enabled && (only_shadows || node.mode == Enforcement::Enforce);
    let (mut of, mut cast, mut absent) = (0, 0, 0);
    for voice in 0..voters.len() {
        let members: Vec<_> = voters
            .iter()
            .filter(|((node, _), number)| **number == voice && votes(node))
            .map(|(member, _)| member)
            .collect();
        let counts = |plain: &Plain| plain.status.is_some() && (only_shadows || !plain.shadow) && !plain.waved;
        let is_present = |plain: &Plain| vote.gone_are_missing || counts(plain);
        let present: Vec<_> = members.iter().filter(|(_, plain)| is_present(plain)).collect();
        let counted: Vec<_> =
            members.iter().filter(|(_, plain)| counts(plain)).filter_map(|(_, it)| it.status).collect();
        let gone = present.len() > counted.len();
        let weight = present.iter().map(|(node, _)| u64::from(node.weight)).max().unwrap_or(0);
        let silent = |status: &&Status| matches!(status, Status::Error | Status::Abstain);
        absent += u32::from(gone || counted.iter().any(|status| silent(&status)));
        let ballots: Vec<_> = counted.iter().filter(|status| !silent(status)).collect();
        if !ballots.is_empty() {
            cast += weight;
            of += if ballots.iter().all(|status| **status == Status::Pass) { weight } else { 0 };
        }
    }
    let met = match vote.threshold {
        Threshold::Majority => 2 * of > cast,
        Threshold::TwoThirds => 3 * of >= 2 * cast,
        Threshold::Unanimous => of == cast,
        Threshold::AtLeast(least) => of >= least,
    };
    match () {
        () if cast == 0 || absent > vote.absences => (Status::Abstain, false),
        () if of == 0 => (Status::Fail, false),
        () if met => (Status::Pass, false),
        () if vote.on_divergence == Divergence::Fail => (Status::Fail, false),
        () => (Status::Abstain, true),
    }
}

/// Returns a failing check beside the members of the root.
fn with_failing_member(case: &TreeCase, voice: usize) -> TreeCase {
    let mut more = case.clone();
    let gate = more.root.gate_mut();
    gate.members.push(check("added"));
    if let GateRule::Vote(vote) = &mut gate.rule {
        vote.voices.push(voice);
    }
    more.letters.insert("added".to_owned(), '-');
    more
}

/// Returns the gate with the members of every rule except `tiers` in reverse order.
fn reversed(node: &mut plan::PlanNode) {
    if let PlanNodeKind::Gate(gate) = &mut node.what
        && gate.rule != GateRule::Tiers
    {
        gate.members.reverse();
        if let GateRule::Vote(vote) = &mut gate.rule {
            vote.voices.reverse();
        }
    }
}

const ALL: &str = "+++--?!.";
const SILENCE: &str = "?!.*x";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stopping_early_never_changes_an_outcome(case in any_tree(ALL, true)) {
        let node = case.run();
        let plain = plainly(&case.root, &case.letters, false);
        let expected = plain.status.filter(|_| !plain.shadow);
        prop_assert_eq!(node.outcome, expected.map_or(Outcome::Abstain, Outcome::from));
        if expected.is_some() {
            prop_assert_eq!(node.escalated, plain.escalated);
        }
        let fast = case.run_with(&Circumstances { fail_fast: true, ..Circumstances::default() });
        prop_assert_eq!(fast.outcome, node.outcome);
    }

    /// What failed before may run first: that changes neither whether a gate passes nor who is in the tree.
    #[test]
    fn running_some_checks_first_never_changes_whether_a_gate_passes(
        case in any_tree(ALL, true),
        picked in proptest::collection::vec(any::<bool>(), 64),
    ) {
        let whole = case.run();
        let failed = case.letters.keys().zip(picked).filter(|(_, picked)| *picked).map(|(name, _)| name.clone()).collect();
        let node = run_plan_first(&plan(case.root.clone()), &case.script(), &failed);
        prop_assert_eq!(node.outcome == Outcome::Pass, whole.outcome == Outcome::Pass);
        let names = |node: &Node| node.walk().map(|node| node.name.clone()).collect::<Vec<_>>();
        prop_assert_eq!(names(&node), names(&whole));
    }

    #[test]
    fn every_member_of_the_plan_is_in_the_tree(case in any_tree(ALL, true)) {
        let node = case.run();
        let found: Vec<&str> = node.walk().map(|node| node.name.as_str()).collect();
        let expected: Vec<&str> = case.root.walk().map(|node| node.name.as_str()).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_failing_member_never_makes_a_pass(case in any_gate(ALL, true), voice in 0..5usize) {
        let alters = !matches!(root_gate(&case).rule, GateRule::Any | GateRule::Not);
        let before = case.run().outcome;
        let after = with_failing_member(&case, voice).run().outcome;
        if alters {
            prop_assert!(before == Outcome::Pass || after != Outcome::Pass);
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter(case in any_tree(ALL, true)) {
        let mut root = case.root.clone();
        each(&mut root, &reversed);
        let (one, other) = (case.run(), case.with_root(root).run());
        prop_assert_eq!((one.outcome, one.escalated), (other.outcome, other.escalated));
    }

    #[test]
    fn not_swaps_pass_and_fail_and_keeps_the_rest(case in any_tree(ALL, true)) {
        let plain = plainly(&case.root, &case.letters, false);
        let negated = case.with_root(gate("negated", GateRule::Not, vec![case.root.clone()])).run();
        let expected = match plain.status.filter(|_| !plain.shadow) {
            Some(Status::Pass) => Outcome::Fail,
            Some(Status::Fail) => Outcome::Pass,
            Some(Status::Error) => Outcome::Error,
            Some(Status::Abstain | Status::NotApplicable) | None => Outcome::Abstain,
        };
        prop_assert_eq!(negated.outcome, expected);
    }

    #[test]
    fn silence_is_neither_pass_nor_fail(case in any_tree(SILENCE, false)) {
        let outcome = case.run().outcome;
        prop_assert!(matches!(outcome, Outcome::Abstain | Outcome::Error), "{outcome:?}");
    }

    #[test]
    fn a_pass_without_a_mark_passes_without_relaxation(case in any_tree(ALL, true)) {
        let node = case.run();
        let decided = node.outcome == Outcome::Pass && node.relaxed.is_empty();
        if decided {
            let mut root = case.root.clone();
            each(&mut root, &strict);
            prop_assert_eq!(case.with_root(root).run().outcome, Outcome::Pass);
        }
        for node in node.walk() {
            let own = |relaxation: &Relaxation| !relaxation.member.is_empty() && !relaxation.by.is_empty();
            prop_assert!(node.relaxed.iter().all(own));
        }
    }

    #[test]
    fn all_and_tiers_pass_only_if_every_member_that_counts_does(case in any_gate(ALL, false)) {
        let node = case.run();
        if node.outcome == Outcome::Pass && matches!(root_gate(&case).rule, GateRule::All | GateRule::Tiers) {
            prop_assert!(node.children.iter().all(|child| matches!(child.outcome, Outcome::Pass | Outcome::Skipped)));
            prop_assert!(node.children.iter().any(|child| child.outcome == Outcome::Pass));
        }
    }

    #[test]
    fn where_the_work_changed_a_pass_is_an_error_and_the_rest_stays(case in any_tree(ALL, true)) {
        let before = case.run();
        let mut script = case.script();
        script.overturned = true;
        let after = run_plan(&plan(case.root.clone()), &Circumstances::default(), &script);
        let expected = if before.outcome == Outcome::Pass { Outcome::Error } else { before.outcome };
        prop_assert_eq!((after.outcome, after.relaxed.is_empty()), (expected, true));
        prop_assert_eq!(after.children, before.children);
    }

    #[test]
    fn nothing_to_check_is_never_said_beside_an_answer(case in any_tree("....+-?!0*x", true)) {
        let node = letting_nothing_pass(&case).run();
        if node.nothing_to_check {
            prop_assert_eq!(node.outcome, Outcome::Pass);
            prop_assert!(case.letters.values().all(|letter| *letter == '.'), "{:?}", case);
            let relaxed = |node: &plan::PlanNode| !node.enabled || node.mode == Enforcement::Shadow;
            prop_assert!(!case.root.walk().any(relaxed), "{:?}", case);
        }
    }

    #[test]
    fn a_gate_without_files_has_nothing_to_check(case in any_tree(".", false)) {
        let disabled = case.root.walk().any(|node| !node.enabled);
        let must_vote = |node: &plan::PlanNode| matches!(&node.what, PlanNodeKind::Gate(gate) if matches!(&gate.rule, GateRule::Vote(vote) if vote.gone_are_missing));
        let node = letting_nothing_pass(&case).run();
        if !disabled && !case.root.walk().any(must_vote) {
            prop_assert!(node.nothing_to_check && node.outcome == Outcome::Pass, "{:?}", case);
        }
        prop_assert_eq!(case.run().outcome, Outcome::Abstain, "`on_nothing = \"block\"`");
    }

    #[test]
    fn whoever_answers_ends_a_vacuous_pass(case in any_gate(".", false), letter in prop::sample::select(vec!['-', '?', '!', '0']), voice in 0..5usize) {
        let alters = !matches!(root_gate(&case).rule, GateRule::Not);
        let mut more = with_failing_member(&letting_nothing_pass(&case), voice);
        more.letters.insert("added".to_owned(), letter);
        let node = more.run();
        if alters {
            prop_assert!(!node.nothing_to_check && node.outcome != Outcome::Pass, "{letter}: {:?}", node.outcome);
        }
    }

    #[test]
    fn two_runs_of_one_plan_are_equal(case in any_tree("+-?!.", true)) {
        prop_assert_eq!(case.run(), case.run());
    }
}

/// Returns the same gate with `on_nothing = "pass"`.
fn letting_nothing_pass(case: &TreeCase) -> TreeCase {
    case.with_root(case.root.clone().with(|root| root.on_nothing = Inapplicable::Skip))
}

fn root_gate(case: &TreeCase) -> &plan::Gate {
    match &case.root.what {
        PlanNodeKind::Gate(gate) => gate,
        PlanNodeKind::Check(_) => panic!("a check"),
    }
}
