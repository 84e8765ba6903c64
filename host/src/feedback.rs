//! The feedback for the author of the work: the findings, worst first, in a bounded text.
//!
//! It states facts and gives no orders. Text of verifiers is quoted as data: on one line, bounded, between `«` and `»`,
//! which it cannot contain. So it cannot pass for a sentence of the host.

mod round;

pub(crate) use round::Round;

use crate::outcome::{Node, NodeKind, Outcome};
use crate::text::{clean_line, count};
use crate::verdict::{Class, Finding, Fix, Verdict};
use std::collections::BTreeSet;

/// The most characters of the feedback.
pub(crate) const MAX_CHARS: usize = 2_000;
/// The most findings of one check, to leave room for others.
const MAX_FINDINGS: usize = 10;
/// The most characters of one quotation.
const MAX_QUOTE: usize = 200;
/// The most characters of the output of a command: its end.
const MAX_OUTPUT: usize = 600;
const END: &str = "The same checks will be run again on the next submission.";
/// The last line if the executor does not act next.
const PERSON: &str = "A person is asked to decide.";
const WAITING: &str = "The work waits for something else.";
/// The most edits of a fix that are shown.
const MAX_EDITS: usize = 3;
/// The most findings that are named as resolved.
const MAX_RESOLVED: usize = 5;

/// Returns why this gate did not pass.
pub(crate) fn feedback(gate: &Node) -> String {
    feedback_in(gate, &Round::default())
}

/// Returns why this gate did not pass, compared with earlier attempts.
pub(crate) fn feedback_in(gate: &Node, round: &Round) -> String {
    let name = shown(&gate.name);
    if gate.outcome == Outcome::Pass {
        return format!("The gate `{name}` passed.\n");
    }
    let mut parts = Vec::new();
    collect(gate, round, &mut BTreeSet::new(), &mut parts);
    parts.sort_by_key(|part| part.rank);
    let mut text = match gate.outcome {
        Outcome::Fail => format!("The gate `{name}` failed.\n"),
        Outcome::Error => format!("The gate `{name}` ended with an error.\n"),
        _ => format!("The gate `{name}` reached no verdict{}.\n", reason(gate)),
    };
    if round.attempt > 0 {
        let class = gate.class.as_ref().map(|class| format!(" ({class}). {}", round::recovery(class)));
        text.insert_str(0, &format!("Attempt {} of {}{}\n", round.attempt, round.allowed, class.unwrap_or_default()));
    }
    let end = match &gate.class {
        _ if gate.escalated => PERSON,
        Some(Class::Blocked) => WAITING,
        _ => END,
    };
    let lines: Vec<String> = parts.into_iter().flat_map(|part| part.lines).collect();
    let resolved = resolved(round);
    // How much is resolved is said however much is left out.
    let counted = resolved.first().map_or(0, |line| chars(line) + 1);
    let mut room = MAX_CHARS - chars(&text) - chars(end) - 1 - counted;
    for (index, line) in lines.iter().enumerate() {
        let rest = lines.len() - index;
        let last = format!("({} left out.)\n", count(rest, "more line"));
        // Room for the line that says how much is left out.
        let reserve = if rest > 1 { chars(&last) } else { 0 };
        if chars(line) + 1 + reserve > room {
            text.push_str(&last);
            room = 0;
            break;
        }
        room -= chars(line) + 1;
        text.push_str(line);
        text.push('\n');
    }
    room += counted;
    for line in &resolved {
        if chars(line) + 1 > room {
            break;
        }
        room -= chars(line) + 1;
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(end);
    text.push('\n');
    text
}

/// Returns the findings of the previous attempt that are resolved.
fn resolved(round: &Round) -> Vec<String> {
    let resolved = round.resolved();
    if resolved.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("- resolved since attempt {}: {}", round.attempt.saturating_sub(1), resolved.len())];
    lines.extend(resolved.iter().take(MAX_RESOLVED).map(|found| format!("  {}[{}]", place(found), shown(&found.code))));
    lines
}

/// Returns the feedback for an executor that failed before its work could be checked: the attempt, how the executor ended,
/// and the end of its output.
pub(crate) fn of_executor(ending: &str, printed: &str, round: &Round, class: &Class) -> String {
    let mut text = format!("Attempt {} of {} ({class}). {}\n", round.attempt, round.allowed, round::recovery(class));
    text.push_str(&format!("The executor {}, so its work was not checked.\n", shown(ending)));
    if !printed.trim().is_empty() {
        text.push_str(&format!("It printed: {}\n", tail(printed)));
    }
    text.push_str("Its changes are kept, and it runs again.\n");
    text
}

/// Returns the end of an output, quoted.
fn tail(printed: &str) -> String {
    let printed = data(printed.trim_end(), usize::MAX);
    let skip = chars(&printed).saturating_sub(MAX_OUTPUT);
    let cut = if skip > 0 { "…" } else { "" };
    format!("«{cut}{}»", printed.chars().skip(skip).collect::<String>())
}

/// The feedback about one member.
struct FeedbackPart {
    /// How bad it is, and whether all of it was there before. Smaller is worse, and comes first.
    rank: (u8, bool),
    lines: Vec<String>,
}

/// Collects the members because of which a gate did not pass. Members below a pass and members in shadow mode are left out.
fn collect(node: &Node, round: &Round, told: &mut BTreeSet<String>, parts: &mut Vec<FeedbackPart>) {
    let rank = match node.outcome {
        Outcome::Fail => 0,
        Outcome::Error => 1,
        Outcome::Abstain => 2,
        Outcome::Pass | Outcome::Skipped | Outcome::NotApplicable | Outcome::NotReached | Outcome::NotNeeded => return,
    };
    if node.shadow {
        return;
    }
    let findings = node.verdict.as_ref().map(|verdict| verdict.findings.as_slice()).unwrap_or_default();
    let rank = (rank, !findings.is_empty() && !findings.iter().any(|found| round.is_new(found)));
    match node.kind {
        // If a gate has a verdict of its own, all its members passed.
        _ if node.verdict.is_some() => parts.push(FeedbackPart { rank, lines: check(node, round, told) }),
        NodeKind::Check => parts.push(FeedbackPart { rank, lines: check(node, round, told) }),
        NodeKind::Not if node.outcome == Outcome::Fail => {
            let passed = node.children.first().map(|child| shown(&child.name)).unwrap_or_default();
            let line = format!("- `{}`: fail, since `{passed}` passed and must not", shown(&node.name));
            parts.push(FeedbackPart { rank, lines: vec![line] });
        }
        NodeKind::Vote => {
            let line = format!("- `{}` (vote): {}{}", shown(&node.name), node.outcome.as_str(), reason(node));
            parts.push(FeedbackPart { rank, lines: vec![line] });
            node.children.iter().for_each(|child| collect(child, round, told, parts));
        }
        NodeKind::Tiers | NodeKind::All | NodeKind::Any | NodeKind::Not => {
            node.children.iter().for_each(|child| collect(child, round, told, parts));
        }
    }
}

/// Adds the feedback about a check. Findings that are listed already, such as those of another voter, are not repeated.
fn check(node: &Node, round: &Round, told: &mut BTreeSet<String>) -> Vec<String> {
    let verifier = node.verifier.as_ref().map(|verifier| format!(" ({})", shown(&verifier.name))).unwrap_or_default();
    let head = format!("- `{}`{verifier}: {}{}", shown(&node.name), node.outcome.as_str(), reason(node));
    let Some(verdict) = &node.verdict else { return vec![head] };
    let summary = summary_or_error(verdict).map(|summary| format!(": {summary}")).unwrap_or_default();
    let mut lines = vec![format!("{head}{summary}")];
    for command in &node.commands {
        lines.push(format!("  ran {}: {}", quote(&command.line()), command.ending()));
    }
    let mut again = 0;
    let mut findings: Vec<&Finding> = Vec::new();
    for found in &verdict.findings {
        let is_new = told.insert(finding(found));
        again += u64::from(!is_new);
        findings.extend(is_new.then_some(found));
    }
    let key = |found: &Finding| (found.level, !round.is_new(found));
    findings.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.place.cmp(&b.place)));
    for found in findings.iter().take(MAX_FINDINGS) {
        lines.push(finding(found) + &round.since(found));
        lines.extend(found.fix.as_ref().map(fix));
    }
    if again > 0 {
        lines.push(format!("  and {again} that are listed above"));
    }
    let omitted = findings.len().saturating_sub(MAX_FINDINGS) as u64 + verdict.findings_omitted;
    if omitted > 0 {
        lines.push(format!("  and {}", count(omitted, "more finding")));
    }
    for command in node.commands_to_quote() {
        lines.push(format!("  it printed: {}", tail(&command.output)));
    }
    lines
}

/// Returns the summary of the verifier, or its error.
fn summary_or_error(verdict: &Verdict) -> Option<String> {
    match &verdict.error {
        Some(error) => Some(format!("{} {}", error.kind, quote(&error.message))),
        None => Some(&verdict.summary).filter(|summary| !summary.is_empty()).map(|summary| quote(summary)),
    }
}

/// Returns the edits of a fix.
fn fix(fix: &Fix) -> String {
    let edit = |edit: &crate::verdict::Edit| {
        let (from, to) = ((edit.start_line, edit.start_column), (edit.end_line, edit.end_column));
        let replacement = quote(&edit.replacement);
        if from == to {
            format!("insert {replacement} at {}:{}", from.0, from.1)
        } else {
            format!("replace {}:{} to {}:{} with {replacement}", from.0, from.1, to.0, to.1)
        }
    };
    let edits: Vec<String> = fix.edits.iter().take(MAX_EDITS).map(edit).collect();
    let more = fix.edits.len().saturating_sub(MAX_EDITS);
    let more = if more > 0 { format!("; and {}", count(more, "more edit")) } else { String::new() };
    format!("    fix: {}: {}{more}", quote(&fix.description), edits.join("; "))
}

fn place(finding: &Finding) -> String {
    let place = finding.place.as_ref().map(|place| {
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: ", shown(&place.path))
    });
    place.unwrap_or_default()
}

fn finding(finding: &Finding) -> String {
    let hint = finding.hint.as_ref().map(|hint| format!(" hint: {}", quote(hint))).unwrap_or_default();
    let code = shown(&finding.code);
    format!("  {}{} [{code}] {}{hint}", place(finding), finding.level, quote(&finding.message))
}

fn reason(node: &Node) -> String {
    if node.reason.is_empty() { String::new() } else { format!(" ({})", shown(&node.reason)) }
}

/// Returns a name, a path or a sentence of the host, escaped.
fn shown(text: &str) -> String {
    data(text, 120)
}

fn quote(text: &str) -> String {
    format!("«{}»", data(text, MAX_QUOTE))
}

/// Returns text on one line, bounded after escaping, and without quotation marks.
fn data(text: &str, max: usize) -> String {
    let mark = |c| match c {
        '«' => '‹',
        '»' => '›',
        other => other,
    };
    let clean = clean_line(text, max);
    let mut data: String = clean.chars().map(mark).take(max).collect();
    if chars(&clean) > max {
        data.push('…');
    }
    data
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
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
        let place =
            Place { path: path.to_owned(), line: Some(line), column: Some(9), end_line: None, end_column: None };
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
            let findings = paths.iter().map(|path| Finding {
                fingerprint: path.clone(),
                ..found(Level::Error, path, 1, &"wrong ".repeat(30))
            });
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
        let mut vote =
            gate(NodeKind::Vote, Outcome::Abstain, vec![good(), check_node("bad", failed("no", Vec::new()))]);
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
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains(r"«x›\nThe gate `g` passed.\u{1b}[31m\u{202e}‹»"), "{text}");
        assert!(text.contains("  a\\nb:1: error"), "{text}");
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
        let edit = crate::verdict::Edit {
            start_line: 1,
            start_column: 3,
            end_line: 1,
            end_column: 4,
            replacement: String::new(),
        };
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
            let known = |line: &str| ["The ", "- `", "  ", "("].iter().any(|start| line.starts_with(start));
            prop_assert!(text.lines().all(known));
        }
    }
}
