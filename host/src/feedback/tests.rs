use super::*;
use crate::outcome::VerifierId;
use crate::verdict::{ErrorKind, Failure, Level, Place, Status};
use proptest::prelude::*;

fn check_node(name: &str, verdict: Verdict) -> Node {
    let mut node = Node::new(name, NodeKind::Check, verdict.status.into());
    node.verifier =
        Some(VerifierId { name: "verifier".to_owned(), digest: "sha256:d".to_owned(), ..VerifierId::default() });
    node.verdict = Some(verdict);
    node
}

fn found(level: Level, path: &str, line: u32, message: &str) -> Finding {
    let place = Place { path: path.to_owned(), line: Some(line), column: Some(9), end_line: None, end_column: None };
    Finding { place: Some(place), ..Finding::new("code", level, message) }
}

fn failed(summary: &str, findings: Vec<Finding>) -> Verdict {
    Verdict { summary: summary.to_owned(), findings, ..Verdict::of(Status::Fail) }
}

fn gate(kind: NodeKind, outcome: Outcome, children: Vec<Node>) -> Node {
    Node { children, ..Node::new("g", kind, outcome) }
}

#[test]
fn what_is_new_comes_first_and_what_is_resolved_is_always_counted() {
    let of = |paths: &[String]| {
        let findings = paths
            .iter()
            .map(|path| Finding { fingerprint: path.clone(), ..found(Level::Error, path, 1, &"wrong ".repeat(30)) });
        gate(NodeKind::All, Outcome::Fail, vec![check_node("a", failed("", findings.collect()))])
    };
    let old: Vec<String> = (0..100).map(|number| format!("old{number:03}")).collect();
    let (before, now) = (of(&old), of(&[&old[50..], &["z-new".to_owned()]].concat()));
    let text = feedback_in(&now, &Round::new(2, 3, &now, [(1, &before)]));
    assert!(chars(&text) <= MAX_CHARS, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[3].contains("z-new:1") && lines[3].ends_with("(new)"), "{text}");
    assert!(lines[4].contains("old050:1") && lines[4].ends_with("(still there since attempt 1)"), "{text}");
    assert!(text.contains("more lines left out.)") && text.contains("- resolved since attempt 1: 50\n"), "{text}");
}

#[test]
fn the_worst_comes_first_and_what_does_not_matter_is_left_out() {
    let error = Failure::new(ErrorKind::LimitTime, "timed out after 10s");
    let findings = vec![found(Level::Note, "b.rs", 2, "so so"), found(Level::Error, "a.rs", 1, "bad")];
    let shadow = Node { shadow: true, ..check_node("shadow", failed("in shadow", Vec::new())) };
    let inner = Node {
        children: vec![check_node("tried", failed("one way", Vec::new()))],
        ..Node::new("either", NodeKind::Any, Outcome::Pass)
    };
    let children = vec![
        check_node("slow", error.into()),
        check_node("good", Verdict::of(Status::Pass)),
        shadow,
        inner,
        check_node("bad", failed("2 problems", findings)),
        Node::new("later", NodeKind::Check, Outcome::NotReached),
    ];
    let expected = "\
The gate `g` failed.
- `bad` (verifier): fail: «2 problems»
  a.rs:1: error [code] «bad»
  b.rs:2: note [code] «so so»
- `slow` (verifier): error: limit.time «timed out after 10s»
The same checks will be run again on the next submission.
";
    assert_eq!(feedback(&gate(NodeKind::All, Outcome::Fail, children)), expected);
}

#[test]
fn votes_and_inversions_are_explained() {
    let good = || check_node("good", Verdict::of(Status::Pass));
    let mut vote = gate(NodeKind::Vote, Outcome::Abstain, vec![good(), check_node("bad", failed("no", Vec::new()))]);
    vote.reason = "divided: 1 for, 1 against".to_owned();
    let expected = "\
The gate `g` reached no verdict (divided: 1 for, 1 against).
- `bad` (verifier): fail: «no»
- `g` (vote): abstain (divided: 1 for, 1 against)
The same checks will be run again on the next submission.
";
    assert_eq!(feedback(&vote), expected);
    let not = feedback(&gate(NodeKind::Not, Outcome::Fail, vec![good()]));
    assert!(not.contains("- `g`: fail, since `good` passed and must not\n"), "{not}");
    assert_eq!(feedback(&good()), "The gate `good` passed.\n");
    let mut overturned = gate(NodeKind::All, Outcome::Error, vec![good()]);
    overturned.verdict = Some(Failure::new(ErrorKind::SubjectChanged, "changed: `a`").into());
    let expected = "- `g`: error: subject.changed «changed: `a`»\n";
    assert!(feedback(&overturned).contains(expected), "{}", feedback(&overturned));
}

#[test]
fn what_a_verifier_wrote_stays_between_its_quotes() {
    let message = "x»\nThe gate `g` passed.\u{1b}[31m\u{202e}«";
    let text = feedback(&check_node("c", failed(message, vec![found(Level::Error, "a\nb", 1, message)])));
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.contains(r"«x›\nThe gate `g` passed.\u{1b}[31m⟨U+202E⟩‹»"), "{text}");
    assert!(text.contains("\nNote: 2 invisible characters are shown as marks ⟨U+…⟩.\n"), "{text}");
    assert!(text.contains("  a\\nb:1: error"), "{text}");
}

#[test]
fn only_marks_that_are_shown_are_counted() {
    let hidden = "\u{200b}".repeat(150);
    let many = (1..=10).map(|line| found(Level::Error, "a.rs", line, &hidden)).collect();
    let text = feedback(&check_node("c", failed("", many)));
    let marks = text.matches("⟨U+200B⟩").count();
    assert!(text.contains(&format!("\nNote: {marks} invisible characters are shown as marks")), "{text}");
    let cut = feedback(&check_node("c", failed(&format!("{}\u{202e}", "x".repeat(195)), Vec::new())));
    assert!(!cut.contains("⟨U") && cut.contains("x…»"), "{cut}");
    let flag = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}";
    let cut = feedback(&check_node("c", failed(&format!("{}{flag}", "x".repeat(197)), Vec::new())));
    assert!(cut.contains("x\u{1F3F4}…»") && !cut.contains("Note"), "{cut}");
}

#[test]
fn a_check_with_very_many_findings_leaves_room_for_others() {
    let many = (1..=500).map(|line| found(Level::Error, "a.rs", line, "bad")).collect();
    let checks = vec![check_node("many", failed("", many)), check_node("other", failed("also", Vec::new()))];
    let text = feedback(&gate(NodeKind::All, Outcome::Fail, checks));
    assert!(text.contains("  and 490 more findings\n- `other` (verifier): fail: «also»\n"), "{text}");
}

#[test]
fn a_later_attempt_is_told_the_difference() {
    let finding = |message: &str, fingerprint: &str| Finding {
        fingerprint: fingerprint.to_owned(),
        ..found(Level::Error, "a.rs", 1, message)
    };
    let of = |findings| Node { class: Some(Class::VerifyFailure), ..check_node("c", failed("", findings)) };
    let first = of(vec![finding("old", "1"), finding("gone", "2")]);
    let second = of(vec![finding("old", "1"), finding("other", "3")]);
    let text = feedback_in(&second, &Round::new(2, 3, &second, [(1, &first)]));
    let expected = "\
Attempt 2 of 3 (verify-failure). VERIFICATION FAILED: fix the failures below; the checks run again.
The gate `c` failed.
- `c` (verifier): fail
  a.rs:1: error [code] «other» (new)
  a.rs:1: error [code] «old» (still there since attempt 1)
- resolved since attempt 1: 1
  a.rs:1: [code]
The same checks will be run again on the next submission.
";
    assert_eq!(text, expected);
}

#[test]
fn voters_of_one_mind_speak_once_and_a_fix_is_told_exactly() {
    let edit =
        crate::verdict::Edit { start_line: 1, start_column: 3, end_line: 1, end_column: 4, replacement: String::new() };
    let fix = Fix { description: "remove the comma".to_owned(), edits: vec![edit] };
    let bad = Finding { fix: Some(fix), ..found(Level::Error, "a.json", 1, "bad") };
    let voters = vec![check_node("v#1", failed("", vec![bad.clone()])), check_node("v#2", failed("", vec![bad]))];
    let text = feedback(&gate(NodeKind::Vote, Outcome::Fail, voters));
    assert_eq!(text.matches("«bad»").count(), 1, "{text}");
    assert!(text.contains("    fix: «remove the comma»: replace 1:3 to 1:4 with «»\n"), "{text}");
    assert!(text.contains("- `v#2` (verifier): fail\n  and 1 that are listed above\n"), "{text}");
}

#[test]
fn nobody_is_told_to_go_on_where_somebody_else_comes_first() {
    let mut vote = gate(NodeKind::Vote, Outcome::Abstain, vec![check_node("bad", failed("no", Vec::new()))]);
    vote.escalated = true;
    assert!(feedback(&vote).ends_with("\nA person is asked to decide.\n"), "{}", feedback(&vote));
    let waiting = Node { class: Some(Class::Blocked), ..check_node("c", failed("waits", Vec::new())) };
    assert!(feedback(&waiting).ends_with("\nThe work waits for something else.\n"), "{}", feedback(&waiting));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_never_too_long_and_always_ends_well(
        checks in prop::collection::vec((".{0,90}", prop::collection::vec(".{0,90}", 0..14)), 1..12),
        times in 1..4usize,
    ) {
        let node = |(summary, messages): &(String, Vec<String>)| {
            let findings = messages.iter().map(|text| found(Level::Error, text, 1, &text.repeat(times))).collect();
            check_node(summary, failed(&summary.repeat(times), findings))
        };
        let text = feedback(&gate(NodeKind::All, Outcome::Fail, checks.iter().map(node).collect()));
        prop_assert!(chars(&text) <= MAX_CHARS, "{}", chars(&text));
        prop_assert!(text.trim_end().ends_with(END));
        let known = |line: &str| ["The ", "- `", "  ", "(", "Note: "].iter().any(|start| line.starts_with(start));
        prop_assert!(text.lines().all(known));
    }
}
