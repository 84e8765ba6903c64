//! The feedback for the author of the work: the findings, worst first, in a bounded text.
//!
//! It states facts and gives no orders. Text of verifiers is quoted as data: on one line, bounded, between `«` and `»`,
//! which it cannot contain. So it cannot pass for a sentence of the host.

mod round;

pub(crate) use round::Round;

use crate::outcome::{Node, NodeKind, Outcome};
use crate::text::{self, clean_line, count};
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
    // How much is resolved, and what is invisible, is said however much is left out.
    let counted = resolved.first().map_or(0, |line| chars(line) + 1);
    let most =
        text::note_line(&lines.iter().chain(&resolved).map(String::as_str).collect::<String>()).unwrap_or_default();
    let mut room = MAX_CHARS - chars(&text) - chars(&most) - chars(end) - 1 - counted;
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
    text.extend(text::note_line(&text));
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
        text.extend(text::note_line(&text));
    }
    text.push_str("Its changes are kept, and it runs again.\n");
    text
}

/// Returns the end of an output, quoted.
fn tail(printed: &str) -> String {
    let printed = data(printed.trim_end(), usize::MAX);
    let last = text::last(&printed, MAX_OUTPUT);
    let cut = if last.len() < printed.len() { "…" } else { "" };
    format!("«{cut}{last}»")
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
    let first = text::first(&clean, max);
    let cut = if first.len() < clean.len() { "…" } else { "" };
    first.chars().map(mark).collect::<String>() + cut
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests;
