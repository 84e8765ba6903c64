//! Gates with a judge that does as it is told.

use super::scripted::*;
use super::*;
use crate::config::{Divergence, Enforcement, Grant, Leniency, PassIf, Threshold, When};
use crate::outcome::Relaxation;
use crate::plan::{GateRule, PlanNodeKind};
use crate::verdict::{ErrorKind, Status};
use std::time::Duration;

fn checks(names: &str) -> Vec<plan::PlanNode> {
    names.split_whitespace().map(check).collect()
}

/// Runs a gate without circumstances.
fn run_gate(root: plan::PlanNode, script: &Script) -> Node {
    run_plan(&plan(root), &Circumstances::default(), script)
}

/// Returns the outcome of the gate, and of its members.
fn outcomes(node: &Node) -> (&'static str, String) {
    let members: Vec<&str> = node.children.iter().map(|child| child.outcome.as_str()).collect();
    (node.outcome.as_str(), members.join(", "))
}

fn find<'n>(node: &'n Node, name: &str) -> &'n Node {
    node.walk().find(|node| node.name == name).expect(name)
}

fn error_of(node: &Node) -> (ErrorKind, String) {
    let error = node.verdict.as_ref().and_then(|verdict| verdict.error.as_ref()).expect("an error");
    (error.kind, error.message.clone())
}

#[test]
fn every_member_is_accounted_for() {
    for (rule, letters, expected) in [
        (GateRule::Tiers, ["+", "+", "+"], ("pass", "pass, pass, pass")),
        (GateRule::Tiers, ["+", "-", "+"], ("fail", "pass, fail, not reached")),
        (GateRule::Tiers, ["?", "-", "+"], ("abstain", "abstain, not reached, not reached")),
        (GateRule::Tiers, [".", "!", "+"], ("error", "skipped, error, not reached")),
        (GateRule::Tiers, [".", ".", "."], ("abstain", "skipped, skipped, skipped")),
        (GateRule::All, ["+", "+", "."], ("pass", "pass, pass, skipped")),
        (GateRule::All, ["!", "-", "+"], ("fail", "error, fail, pass")),
        (GateRule::Any, ["-", "+", "-"], ("pass", "fail, pass, not needed")),
        (GateRule::Any, ["-", "!", "?"], ("error", "fail, error, abstain")),
        (GateRule::Any, ["-", "-", "."], ("fail", "fail, fail, skipped")),
    ] {
        let script = Script::of(&[("a", letters[0]), ("b", letters[1]), ("c", letters[2])]);
        let node = run_gate(gate("g", rule.clone(), checks("a b c")), &script);
        assert_eq!((outcomes(&node).0, outcomes(&node).1.as_str()), expected, "{rule:?} {letters:?}");
    }
    for (letter, expected) in [("+", "fail"), ("-", "pass"), ("?", "abstain"), ("!", "error"), (".", "abstain")] {
        let node = run_gate(gate("g", GateRule::Not, checks("a")), &Script::of(&[("a", letter)]));
        assert_eq!(node.outcome.as_str(), expected, "not {letter}");
    }
}

#[test]
fn what_is_not_reached_is_not_reached_to_the_bottom() {
    let root = gate("g", GateRule::Tiers, vec![check("a"), gate("h", GateRule::All, checks("b c"))]);
    let node = run_gate(root, &Script::of(&[("a", "-")]));
    assert_eq!(outcomes(find(&node, "h")), ("not reached", "not reached, not reached".to_owned()));
    assert_eq!(find(&node, "b").verifier.as_ref().map(|verifier| verifier.digest.as_str()), Some("sha256:d"));
}

#[test]
fn when_nothing_was_checked_it_is_an_abstention() {
    let node = run_gate(gate("g", GateRule::All, checks("a")), &Script::of(&[("a", ".")]));
    assert_eq!((node.outcome, node.reason.as_str()), (Outcome::Abstain, "nothing was checked: no member applies"));
    assert_eq!(node.children[0].reason, "no file matches");
    let disabled = gate("g", GateRule::All, checks("a")).with(|node| node.enabled = false);
    let node = run_gate(disabled, &Script::default());
    assert_eq!((node.outcome, node.reason.as_str()), (Outcome::Abstain, "nothing was checked: disabled"));
}

#[test]
fn failing_fast_stops_after_the_first_fail_only() {
    let circumstances = Circumstances { fail_fast: true, ..Circumstances::default() };
    for (letters, expected) in [
        (["-", "+", "+"], ("fail", "fail, not reached, not reached")),
        (["!", "-", "+"], ("fail", "error, fail, not reached")),
        (["+", "+", "?"], ("abstain", "pass, pass, abstain")),
    ] {
        let script = Script::of(&[("a", letters[0]), ("b", letters[1]), ("c", letters[2])]);
        let node = run_plan(&plan(gate("g", GateRule::All, checks("a b c"))), &circumstances, &script);
        assert_eq!((outcomes(&node).0, outcomes(&node).1.as_str()), expected);
    }
}

#[test]
fn later_tiers_know_what_earlier_ones_established() {
    let inner = gate("inner", GateRule::Tiers, checks("c d"));
    let shadow = check("s").with(|node| node.mode = Enforcement::Shadow);
    let root = gate("g", GateRule::Tiers, vec![gate("first", GateRule::All, checks("a b")), shadow, inner, check("e")]);
    let script = Script::of(&[("a", "+"), ("b", "."), ("s", "+"), ("c", "+"), ("d", "+"), ("e", "+")]);
    assert_eq!(run_gate(root, &script).outcome, Outcome::Pass);
    let calls: Vec<String> =
        script.calls().iter().map(|(member, known)| format!("{member}: {}", known.join(" "))).collect();
    assert_eq!(calls, ["a: ", "b: ", "s: a", "c: a", "d: a c", "e: a c d"]);
}

#[test]
fn a_vote_is_over_when_the_rest_cannot_change_it() {
    let stops = |letters: &[(&str, &str)], root: plan::PlanNode| {
        let node = run_gate(root, &Script::of(letters));
        let (outcome, members) = outcomes(&node);
        (outcome, members, node.escalated)
    };
    // `*` would hang until it is stopped.
    let two_of_three = || vote("g", Threshold::Majority, 1, checks("a b c"));
    let letters = [("a", "+"), ("b", "+"), ("c", "*")];
    assert_eq!(stops(&letters, two_of_three()), ("pass", "pass, pass, not needed".to_owned(), false));
    // Whoever asks a model is counted when it answers; the others in order, so that two runs report the same.
    let asks = |name: &str| check(name).with(|node| node.check_mut().grants = [Grant::Model("m".to_owned())].into());
    let lone = vote("g", Threshold::AtLeast(1), 2, vec![asks("a"), asks("b"), asks("c")]);
    let letters = [("a", "*"), ("b", "+"), ("c", "*")];
    assert_eq!(stops(&letters, lone), ("pass", "not needed, pass, not needed".to_owned(), false));
    let lone = vote("g", Threshold::AtLeast(1), 2, checks("a b c"));
    let letters = [("a", "-"), ("b", "+"), ("c", "+")];
    assert_eq!(stops(&letters, lone), ("pass", "fail, pass, not needed".to_owned(), false));
    let no_quorum = vote("g", Threshold::Majority, 0, checks("a b"));
    let letters = [("a", "!"), ("b", "*")];
    assert_eq!(stops(&letters, no_quorum), ("abstain", "error, not needed".to_owned(), false));
    // Two against do not decide whether it fails or is divided, unless that is the same.
    let letters = [("a", "-"), ("b", "-"), ("c", "+")];
    assert_eq!(stops(&letters, two_of_three()), ("abstain", "fail, fail, pass".to_owned(), true));
    let divided_fails = two_of_three().with(|node| match &mut node.gate_mut().rule {
        GateRule::Vote(vote) => vote.on_divergence = Divergence::Fail,
        _ => panic!("a vote"),
    });
    let letters = [("a", "-"), ("b", "-"), ("c", "*")];
    assert_eq!(stops(&letters, divided_fails), ("fail", "fail, fail, not needed".to_owned(), false));
}

#[test]
fn a_vote_tells_how_it_came_about() {
    for (letters, outcome, reason) in [
        (["+", "+", "-"], "pass", "with dissent: 2 for, 1 against"),
        (["+", "-", "-"], "abstain", "divided: 1 for, 2 against"),
        (["!", "+", "+"], "abstain", "quorum not met: 1 of 3 absent, at most 0 may be absent"),
        (["-", "-", "-"], "fail", "0 for, 3 against"),
    ] {
        let script = Script::of(&[("a", letters[0]), ("b", letters[1]), ("c", letters[2])]);
        let node = run_gate(vote("g", Threshold::Majority, 0, checks("a b c")), &script);
        assert_eq!((node.outcome.as_str(), node.reason.as_str()), (outcome, reason));
    }
}

#[test]
fn a_voter_in_shadow_runs_to_the_end_and_has_no_ballot() {
    let members = vec![check("a"), check("b").with(|node| node.mode = Enforcement::Shadow)];
    let late = Step::After(500, verdict(Status::Fail).into());
    let script = Script::new([("a", vec![say(Status::Pass)]), ("b", vec![late])]);
    let node = run_gate(vote("g", Threshold::Unanimous, 0, members), &script);
    assert_eq!(outcomes(&node), ("pass", "pass, fail".to_owned()));
    assert!(node.children[1].shadow);
    let relaxation = Relaxation { member: "b".to_owned(), was: Status::Fail, by: "mode = \"shadow\"".to_owned() };
    assert_eq!(node.relaxed, [relaxation]);
}

#[test]
fn only_who_gave_no_answer_is_asked_again() {
    for (letters, outcome, asked) in [
        ("!+", "pass", 2),
        ("!!+", "pass", 3),
        ("!!!+", "error", 3),
        ("-+", "fail", 1),
        ("?+", "abstain", 1),
        ("x+", "pass", 2),
        ("*+", "pass", 2),
        ("+", "pass", 1),
    ] {
        let root = gate("g", GateRule::All, vec![check("a").with(|node| node.check_mut().attempts = 3)]);
        let node = run_gate(root, &Script::of(&[("a", letters)]));
        assert_eq!((node.outcome.as_str(), node.children[0].attempts), (outcome, asked), "{letters}");
    }
}

#[test]
fn runs_that_disagree_are_flaky_and_decide_as_configured() {
    for (letters, all, any, flaky) in [
        ("++", "pass", "pass", false),
        ("--", "fail", "fail", false),
        ("+-", "fail", "pass", true),
        ("-+", "fail", "pass", true),
        ("+!", "error", "pass", true),
        ("-?", "fail", "abstain", true),
        ("..", "abstain", "abstain", false),
        ("-.", "fail", "error", true),
    ] {
        for (pass_if, expected) in [(PassIf::All, all), (PassIf::Any, any)] {
            let root = gate("g", GateRule::All, vec![check("a").flaky(2, pass_if)]);
            let node = run_gate(root, &Script::of(&[("a", letters)]));
            let child = &node.children[0];
            assert_eq!((node.outcome.as_str(), child.flaky), (expected, flaky), "{letters} {pass_if:?}");
            if let (Some(verdict), Some(status)) = (&child.verdict, child.outcome.status()) {
                assert_eq!(verdict.status, status, "the verdict is that of the run that decided");
            }
        }
    }
    let root = gate("g", GateRule::All, vec![check("a").flaky(3, PassIf::Any)]);
    let node = run_gate(root, &Script::of(&[("a", "-+-")]));
    assert_eq!(node.children[0].reason, "runs disagree: fail, pass, fail");
    assert_eq!(node.children[0].attempts, 3);
}

#[test]
fn a_pass_that_is_not_sure_enough_is_no_judgement() {
    for (step, outcome, reason) in [
        (sure(Some(0.8)), Outcome::Pass, ""),
        (sure(Some(0.79)), Outcome::Abstain, "passed with confidence 0.79; expected at least 0.8"),
        (sure(Some(f64::NAN)), Outcome::Abstain, "passed with confidence NaN; expected at least 0.8"),
        (sure(None), Outcome::Abstain, "passed without a confidence; expected at least 0.8"),
        (say(Status::Fail), Outcome::Fail, ""),
    ] {
        let root = gate("g", GateRule::All, vec![check("a").with(|node| node.check_mut().min_confidence = Some(0.8))]);
        let node = run_gate(root, &Script::new([("a", vec![step])]));
        assert_eq!((node.outcome, node.children[0].reason.as_str()), (outcome, reason));
    }
}

#[test]
fn a_pass_that_is_less_sure_than_wanted_asks_for_a_person() {
    for (step, outcome, escalated) in [
        (sure(Some(0.8)), Outcome::Pass, false),
        (sure(Some(0.79)), Outcome::Abstain, true),
        (sure(Some(f64::NAN)), Outcome::Abstain, true),
        // A rule has no doubts.
        (sure(None), Outcome::Pass, false),
        (say(Status::Fail), Outcome::Fail, false),
    ] {
        let root = gate("g", GateRule::All, vec![check("a").with(|node| node.check_mut().escalate_below = Some(0.8))]);
        let node = run_gate(root, &Script::new([("a", vec![step])]));
        assert_eq!((node.outcome, node.escalated), (outcome, escalated));
    }
}

#[test]
fn silence_is_let_through_only_in_the_open() {
    for (letter, on_error, on_abstain, outcome, escalated, reason, by) in [
        ("!", Leniency::Block, Leniency::Warn, Outcome::Error, false, "", None),
        (
            "!",
            Leniency::Warn,
            Leniency::Block,
            Outcome::Pass,
            false,
            "error; let through by `on_error = \"warn\"`",
            Some("on_error = \"warn\""),
        ),
        (
            "!",
            Leniency::Escalate,
            Leniency::Warn,
            Outcome::Abstain,
            true,
            "error; escalated by `on_error = \"escalate\"`",
            None,
        ),
        ("?", Leniency::Warn, Leniency::Block, Outcome::Abstain, false, "", None),
        (
            "?",
            Leniency::Block,
            Leniency::Warn,
            Outcome::Pass,
            false,
            "abstain; let through by `on_abstain = \"warn\"`",
            Some("on_abstain = \"warn\""),
        ),
        (
            "?",
            Leniency::Block,
            Leniency::Escalate,
            Outcome::Abstain,
            true,
            "abstain; escalated by `on_abstain = \"escalate\"`",
            None,
        ),
        ("-", Leniency::Warn, Leniency::Warn, Outcome::Fail, false, "", None),
    ] {
        let member = check("a").with(|node| {
            node.on_error = on_error;
            node.on_abstain = on_abstain;
        });
        let node =
            run_gate(gate("g", GateRule::All, vec![member, check("b")]), &Script::of(&[("a", letter), ("b", "+")]));
        let child = &node.children[0];
        assert_eq!((child.outcome, child.escalated, child.reason.as_str()), (outcome, escalated, reason));
        assert_eq!((node.outcome, node.escalated), (outcome, escalated));
        for node in [&node, child] {
            assert_eq!(node.relaxed.first().map(|relaxation| relaxation.by.as_str()), by);
        }
    }
}

#[test]
fn an_error_that_is_let_through_takes_no_abstention_along() {
    for (rule, letters, on_abstain, outcome) in [
        (GateRule::All, "!+", Leniency::Block, "pass"),
        (GateRule::All, "!?", Leniency::Block, "abstain"),
        (GateRule::All, "!?", Leniency::Warn, "pass"),
        (GateRule::Any, "?!", Leniency::Block, "abstain"),
        (GateRule::Any, "-!", Leniency::Block, "pass"),
        // The second tier is not reached.
        (GateRule::Tiers, "!?", Leniency::Block, "pass"),
    ] {
        let script = || {
            let (first, second) = letters.split_at(1);
            Script::of(&[("a", first), ("b", second)])
        };
        let lenient = |node: &mut plan::PlanNode| {
            node.on_error = Leniency::Warn;
            node.on_abstain = on_abstain;
        };
        let inner = gate("g", rule.clone(), checks("a b"));
        let around = gate("outer", GateRule::All, vec![inner.clone()]);
        for root in [inner.with(lenient), around.with(lenient)] {
            assert_eq!(run_gate(root, &script()).outcome.as_str(), outcome, "{rule:?} {letters}");
        }
    }
}

#[test]
fn a_lenient_voter_leaves_the_vote_and_casts_nothing() {
    let lenient = |name: &str| check(name).with(|node| node.on_error = Leniency::Warn);
    let members = || vec![check("a"), lenient("b"), lenient("c")];
    let node =
        run_gate(vote("g", Threshold::Majority, 0, members()), &Script::of(&[("a", "+"), ("b", "!"), ("c", "!")]));
    assert_eq!(outcomes(&node), ("pass", "pass, error, error".to_owned()));
    assert_eq!(node.relaxed.iter().map(|relaxation| relaxation.member.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(node.children[1].reason, "error; left out of the vote by `on_error = \"warn\"`");
    // Nobody is left: that is no reason to pass.
    let node =
        run_gate(vote("g", Threshold::Majority, 0, members()[1..].to_vec()), &Script::of(&[("b", "!"), ("c", "!")]));
    assert_eq!((node.outcome, node.reason.as_str()), (Outcome::Abstain, "quorum not met: nobody voted"));
}

#[test]
fn a_pass_made_of_a_fail_tells_what_that_rests_on() {
    let lenient = check("a").with(|node| node.on_error = Leniency::Warn);
    let twice = gate("g", GateRule::Not, vec![gate("h", GateRule::Not, vec![lenient])]);
    let node = run_gate(twice, &Script::of(&[("a", "!")]));
    assert_eq!((node.outcome, node.relaxed.len()), (Outcome::Pass, 1));
}

#[test]
fn what_only_shadows_decide_is_in_shadow() {
    let shadow = |name: &str| check(name).with(|node| node.mode = Enforcement::Shadow);
    let inner = gate("h", GateRule::All, vec![shadow("b")]);
    let node = run_gate(gate("g", GateRule::All, vec![check("a"), inner]), &Script::of(&[("a", "+"), ("b", "-")]));
    let inner = find(&node, "h");
    assert_eq!((node.outcome, inner.outcome, inner.shadow), (Outcome::Pass, Outcome::Fail, true));
    assert_eq!(node.relaxed.iter().map(|relaxation| relaxation.member.as_str()).collect::<Vec<_>>(), ["h"]);
    let node = run_gate(gate("g", GateRule::All, vec![shadow("b")]), &Script::of(&[("b", "+")]));
    assert_eq!((node.outcome, node.reason.as_str()), (Outcome::Abstain, "nothing was checked: it is in shadow mode"));
}

#[test]
fn whoever_takes_too_long_gives_no_answer() {
    let late = |milliseconds| vec![Step::After(milliseconds, verdict(Status::Pass).into())];
    let script = Script::new([("a", late(9_999)), ("b", late(10_001)), ("c", vec![Step::Hang])]);
    let node = run_gate(gate("g", GateRule::All, checks("a b c")), &script);
    assert_eq!(outcomes(&node), ("error", "pass, error, error".to_owned()));
    assert_eq!(error_of(&node.children[1]), (ErrorKind::LimitTime, "timed out after 10s".to_owned()));
    assert_eq!(node.children[0].duration, Duration::from_millis(9_999));
    assert_eq!(node.duration, Duration::from_secs(10));
}

#[test]
fn a_gate_out_of_time_has_an_outcome_for_every_member() {
    let inner =
        gate("h", GateRule::All, checks("a b")).with(|node| node.gate_mut().timeout = Some(Duration::from_secs(2)));
    let patient = check("b").with(|node| node.check_mut().attempts = 5);
    let inner = inner.with(|node| node.gate_mut().members[1] = patient);
    let root = gate("g", GateRule::Tiers, vec![inner, check("c")]);
    let node = run_gate(root, &Script::of(&[("a", "+"), ("b", "*")]));
    assert_eq!(outcomes(&node), ("error", "error, not reached".to_owned()));
    assert_eq!(outcomes(find(&node, "h")), ("error", "pass, error".to_owned()));
    assert_eq!(error_of(find(&node, "b")), (ErrorKind::LimitTime, "the gate `h` took more than 2s".to_owned()));
    assert_eq!(find(&node, "b").attempts, 1);
}

#[test]
fn after_the_deadline_of_the_plan_nobody_is_asked() {
    let lenient = |name: &str| check(name).with(|node| node.on_error = Leniency::Warn);
    let mut plan = plan(gate("g", GateRule::Tiers, vec![lenient("a"), check("b")]));
    plan.deadline = Duration::from_secs(3);
    let script = Script::of(&[("a", "*"), ("b", "+")]);
    let node = run_plan(&plan, &Circumstances::default(), &script);
    assert_eq!(outcomes(&node), ("error", "pass, error".to_owned()));
    assert_eq!(error_of(&node.children[1]), (ErrorKind::LimitTime, "the gate `g` took more than 3s".to_owned()));
    assert_eq!(script.calls().len(), 1);
}

#[test]
fn both_parts_of_a_run_have_one_deadline() {
    let mut plan = plan(gate("g", GateRule::All, checks("a b")));
    plan.deadline = Duration::from_secs(3);
    let slow = || vec![Step::After(2_000, verdict(Status::Pass).into())];
    let script = Script::new([("a", slow()), ("b", slow())]);
    assert_eq!(run_plan(&plan, &Circumstances::default(), &script).outcome, Outcome::Pass);
    let node = run_plan_first(&plan, &script, &["b".to_owned()].into());
    assert_eq!(outcomes(&node), ("error", "error, pass".to_owned()));
    assert_eq!(error_of(&node.children[0]), (ErrorKind::LimitTime, "the gate `g` took more than 3s".to_owned()));
}

#[test]
fn a_deadline_that_has_passed_before_the_gate_starts_leaves_no_time() {
    let plan = plan(gate("g", GateRule::All, checks("a b")));
    let circumstances = Circumstances { deadline: Some(Instant::now()), ..Circumstances::default() };
    let script = Script::of(&[("a", "+"), ("b", "+")]);
    assert_eq!(outcomes(&run_plan(&plan, &circumstances, &script)), ("error", "error, error".to_owned()));
    assert!(script.calls().is_empty());
}

#[test]
fn a_judge_that_panics_gives_no_answer() {
    let node = run_gate(gate("g", GateRule::All, checks("a b")), &Script::of(&[("a", "x"), ("b", "+")]));
    assert_eq!(outcomes(&node), ("error", "error, pass".to_owned()));
    assert_eq!(
        error_of(&node.children[0]),
        (ErrorKind::HostFailed, "the host panicked: as the script says".to_owned())
    );
}

#[test]
fn what_is_not_due_is_skipped_and_says_when_it_is_next() {
    let review = gate("review", GateRule::All, checks("b")).with(|node| {
        node.when = vec![When::PhaseBoundary, When::Every(5), When::Final];
        node.tier = Some(2);
    });
    let files =
        gate("files", GateRule::All, checks("c")).with(|node| node.gate_mut().files = vec!["**/*.py".to_owned()]);
    let plan = plan(gate("g", GateRule::Tiers, vec![check("a"), review, files]));
    let phase = || Some("1".to_owned());
    let facts =
        TaskFacts { index: Some(6), total: Some(20), phase: phase(), previous_phase: phase(), ..TaskFacts::default() };
    let circumstances = Circumstances { facts, changed: Some(vec!["a.rs".to_owned()]), ..Circumstances::default() };
    let script = Script::of(&[("a", "+"), ("b", "+"), ("c", "+")]);
    let node = run_plan(&plan, &circumstances, &script);
    assert_eq!(outcomes(&node), ("pass", "pass, skipped, skipped".to_owned()));
    let review = find(&node, "review");
    assert_eq!((review.reason.as_str(), review.next_due), ("next at task 10", Some(10)));
    assert_eq!(review.children[0].outcome, Outcome::Skipped);
    assert_eq!(find(&node, "files").reason, "no changed file matches");
    let facts = TaskFacts { tier: Some(1), index: Some(10), ..circumstances.facts.clone() };
    let node = run_plan(&plan, &Circumstances { facts, ..circumstances }, &script);
    assert_eq!(find(&node, "review").reason, "tier 2; the task asks for tier 1 only");
}

#[test]
fn progress_is_told_for_everybody() {
    let root = gate("g", GateRule::Tiers, vec![check("a"), gate("h", GateRule::Any, checks("b"))]);
    let script = Script::of(&[("a", "-")]);
    run_gate(root, &script);
    assert_eq!(
        script.events(),
        ["g started", "g/a started", "g/a fail", "g/h/b not reached", "g/h not reached", "g fail"]
    );
}

#[test]
fn a_check_can_be_the_whole_plan() {
    let root = check("a");
    assert!(matches!(root.what, PlanNodeKind::Check(_)));
    assert_eq!(run_gate(root, &Script::of(&[("a", "+")])).outcome, Outcome::Pass);
}

#[test]
fn a_member_that_was_not_needed_still_lends_its_weight() {
    let heavy = |name: &str, weight| check(name).with(|node| node.weight = weight);
    let members = vec![heavy("a", 2), heavy("b", 1), heavy("c", 3)];
    let root = vote("g", Threshold::Majority, 1, members).with(|node| {
        if let GateRule::Vote(vote) = &mut node.gate_mut().rule {
            // `b` and `c` are one voice, which weighs 3 against `a`, whatever `c` says.
            (vote.voices, vote.gone_are_missing, vote.on_divergence) = (vec![0, 1, 1], true, Divergence::Fail);
        }
    });
    let node = run_plan(&plan(root), &Circumstances::default(), &Script::of(&[("a", "+"), ("b", "-"), ("c", "-")]));
    assert_eq!(node.outcome, Outcome::Fail, "{}", node.reason);
}

/// Runs a gate, beginning with what failed before.
fn run_first(root: plan::PlanNode, script: &Script, failed: &[&str]) -> Node {
    run_plan_first(&plan(root), script, &failed.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_failed_check_in_a_shadow_gate_does_not_settle_the_first_part() {
    let shadow = gate("s", GateRule::Tiers, checks("a")).with(|gate| gate.mode = Enforcement::Shadow);
    let root = gate("g", GateRule::Tiers, vec![shadow, check("b")]);
    let script = Script::of(&[("a", "-"), ("b", "+")]);
    assert_eq!(run_first(root, &script, &["a"]).outcome.as_str(), "pass");
}

#[test]
fn what_failed_before_runs_first_and_decides_only_against() {
    let asked = |script: &Script| script.calls().into_iter().map(|(member, _)| member).collect::<Vec<_>>().join(" ");
    let all = || gate("g", GateRule::All, checks("a b c"));
    let script = Script::of(&[("a", "+"), ("b", "-"), ("c", "+")]);
    let node = run_first(all(), &script, &["b"]);
    assert_eq!(
        (outcomes(&node), asked(&script).as_str()),
        (("fail", "not reached, fail, not reached".to_owned()), "b")
    );
    assert_eq!(script.events(), ["g/b started", "g/b fail", "g/a not reached", "g/c not reached", "g fail"]);
    // It passes now: everything else runs, and it is not asked again.
    let script = Script::of(&[("a", "+"), ("b", "+-"), ("c", "+")]);
    assert_eq!(outcomes(&run_first(all(), &script, &["b"])), ("pass", "pass, pass, pass".to_owned()));
    assert_eq!(asked(&script), "b a c");
    assert_eq!(script.events().iter().filter(|event| *event == "g/b pass").count(), 1);
    let script = Script::of(&[("a", "-"), ("b", "+"), ("c", "+")]);
    assert_eq!(run_first(all(), &script, &["b"]).outcome.as_str(), "fail", "what passed before can fail now");
    // Nothing that failed before is there any more.
    for (failed, letters) in [("x", "+"), ("b", ".")] {
        let script = Script::of(&[("a", "+"), ("b", letters), ("c", "-")]);
        assert_eq!(run_first(all(), &script, &[failed]).outcome.as_str(), "fail", "{failed}");
    }
    // Where one alone decides nothing, all of them run.
    for rule in [GateRule::Any, GateRule::Tiers] {
        let script = Script::of(&[("a", "+"), ("b", "-"), ("c", "+")]);
        let whole =
            run_gate(gate("g", rule.clone(), checks("a b c")), &Script::of(&[("a", "+"), ("b", "-"), ("c", "+")]));
        assert_eq!(
            run_first(gate("g", rule.clone(), checks("a b c")), &script, &["b"]).outcome,
            whole.outcome,
            "{rule:?}"
        );
    }
    // An abstention stays one where an error, which outranks it, is let through.
    let lenient = || all().with(|node| node.on_error = Leniency::Warn);
    for root in [lenient(), gate("outer", GateRule::All, vec![lenient()])] {
        let script = || Script::of(&[("a", "+"), ("b", "?"), ("c", "!")]);
        assert_eq!(run_gate(root.clone(), &script()).outcome.as_str(), "abstain");
        assert_eq!(run_first(root, &script(), &["b"]).outcome.as_str(), "abstain");
    }
    // The tiers before it run whole: what they established is known to it.
    let tiers = gate(
        "g",
        GateRule::Tiers,
        vec![gate("one", GateRule::All, checks("a b")), gate("two", GateRule::All, checks("c d"))],
    );
    let script = Script::of(&[("a", "+"), ("b", "+"), ("c", "+"), ("d", "-")]);
    assert_eq!(run_first(tiers, &script, &["d"]).outcome.as_str(), "fail");
    assert_eq!(asked(&script), "a b d");
    let known = script.calls().into_iter().find(|(member, _)| member == "d").expect("asked").1;
    assert_eq!(known, ["a", "b"]);
    // A pass is confirmed.
    let mut script = Script::of(&[("a", "+"), ("b", "+"), ("c", "+")]);
    script.overturned = true;
    assert_eq!(run_first(all(), &script, &["b"]).outcome.as_str(), "error");
}
