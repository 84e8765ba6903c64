//! The report for people: a line for each member, its findings below it, and its result.
//!
//! Every text of a verifier was bounded when it arrived. Here what hides in it is made visible, because a record can come from
//! an older `gate` or another machine, and its lines are indented, so that it cannot pass for a line of ours.

use super::counts;
use crate::outcome::{ModelUse, Node, NodeKind, Outcome, SkipReason};
use crate::record::{Mark, Record};
use crate::submission::CommandEvidence;
use crate::text::{self, clean, clean_line, count, paint};
use crate::verdict::{Failure, Finding, Level, Status};
use anstyle::AnsiColor;
use std::io::{self, Write};
use std::time::Duration;

/// How to write for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// With colours.
    pub color: bool,
    /// Also show members that passed without a summary or findings.
    pub verbose: bool,
    /// Only what did not pass.
    pub quiet: bool,
}

/// Findings of one check that are shown; the others are counted.
const MAX_SHOWN: usize = 20;

/// Writes the report.
pub fn human(out: &mut dyn Write, record: &Record, style: Style) -> io::Result<()> {
    let gate = &record.gate;
    let shown = if gate.kind == NodeKind::Check { std::slice::from_ref(gate) } else { &gate.children };
    let width = shown.iter().map(|member| widest(member, style)).max().unwrap_or(0).min(40);
    let mut report = Vec::new();
    let mut lines = Lines { out: &mut report, style, width };
    for member in shown {
        lines.member(member, 0)?;
    }
    lines.conclusion(record)?;
    let invisible = text::invisible(&String::from_utf8_lossy(&report));
    out.write_all(&report)?;
    match text::invisible_note(invisible) {
        Some(note) => writeln!(out, "  note: {note}"),
        None => Ok(()),
    }
}

/// Returns the greatest width of the shown names of a member and its members, with their indentation.
fn widest(node: &Node, style: Style) -> usize {
    let below = node.children.iter().map(|child| 2 + widest(child, style)).max().unwrap_or(0);
    if is_shown(node, style) { below.max(node.name.chars().count()) } else { below }
}

/// Returns whether a member is shown. Members that had nothing to do are only counted at the end.
fn is_shown(node: &Node, style: Style) -> bool {
    let idle = node.skipped == Some(SkipReason::NoFile) && !style.verbose;
    !idle && (!style.quiet || !matches!(node.outcome, Outcome::Pass | Outcome::Skipped | Outcome::NotApplicable))
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    style: Style,
    width: usize,
}

impl Lines<'_> {
    fn member(&mut self, node: &Node, depth: usize) -> io::Result<()> {
        if is_shown(node, self.style) {
            let word = if node.outcome == Outcome::NotApplicable { "n/a" } else { node.outcome.as_str() };
            // Padded by hand: colours have no width.
            let padding = " ".repeat(12usize.saturating_sub(word.len()));
            let word = paint(self.style.color, colour(node.outcome), word);
            let indent = "  ".repeat(depth);
            let width = self.width.saturating_sub(indent.len());
            let (name, detail) = (clean_line(&node.name, usize::MAX), detail(node, self.style.verbose));
            let line = format!("{word}{padding}{indent}{name:width$}  {}", clean_line(&detail, usize::MAX));
            writeln!(self.out, "{}", line.trim_end())?;
            self.explain(node)?;
        }
        node.children.iter().try_for_each(|child| self.member(child, depth + 1))
    }

    fn explain(&mut self, node: &Node) -> io::Result<()> {
        if node.outcome != Outcome::Pass || self.style.verbose {
            for command in &node.commands {
                self.text(4, &ran(command))?;
            }
        }
        let Some(verdict) = &node.verdict else { return Ok(()) };
        if self.style.verbose {
            node.models.iter().try_for_each(|used| self.text(4, &model_use(used)))?;
        }
        if let Some(failure) = &verdict.error {
            self.failure(4, failure)?;
        }
        if verdict.status == Status::Abstain && node.files.is_some() && node.outcome == Outcome::Abstain {
            self.text(
                4,
                "hint: to skip files that it cannot check, add `exclude` to the check in gate.toml (`gate init` writes one)",
            )?;
        }
        let most = if self.style.verbose { usize::MAX } else { MAX_SHOWN };
        for finding in verdict.findings.iter().take(most) {
            self.finding(finding)?;
        }
        let rest = verdict.findings.len().saturating_sub(most) as u64 + verdict.findings_omitted;
        if rest > 0 {
            let how = if verdict.findings_omitted == 0 { " (all of them with -v)" } else { "" };
            writeln!(self.out, "    … and {}{how}", count(rest, "more finding"))?;
        }
        if verdict.fixes_omitted > 0 {
            writeln!(
                self.out,
                "    … without the fixes of {}: they are too large",
                count(verdict.fixes_omitted, "finding")
            )?;
        }
        for command in node.commands_to_quote() {
            let lines: Vec<&str> = command.output.trim_end().lines().collect();
            let skip = if self.style.verbose { 0 } else { lines.len().saturating_sub(MAX_SHOWN) };
            let from = if skip > 0 {
                format!("its output, without the first {skip} lines:")
            } else {
                "it printed:".to_owned()
            };
            self.text(4, &format!("{from}\n{}", lines[skip..].join("\n")))?;
        }
        Ok(())
    }

    fn failure(&mut self, indent: usize, failure: &Failure) -> io::Result<()> {
        self.text(indent, &format!("{}: {}", failure.kind, failure.message))?;
        match &failure.hint {
            Some(hint) => self.text(indent + 2, &format!("hint: {hint}")),
            None => Ok(()),
        }
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let place = finding.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        let colour = match finding.level {
            Level::Error => RED,
            Level::Warning => YELLOW,
            Level::Note => CYAN,
        };
        let level = paint(self.style.color, colour, &finding.level.to_string());
        let [place, code, message] = [&place, &finding.code, &finding.message].map(|text| clean(text, usize::MAX));
        self.lines(4, &format!("{place}{level}[{code}] {message}"))?;
        match &finding.hint {
            Some(hint) => self.text(6, &format!("hint: {hint}")),
            None => Ok(()),
        }
    }

    /// Writes a text of one or more lines, each indented. What hides in it is made visible.
    fn text(&mut self, indent: usize, text: &str) -> io::Result<()> {
        self.lines(indent, &clean(text, usize::MAX))
    }

    /// Writes lines, each indented.
    fn lines(&mut self, indent: usize, text: &str) -> io::Result<()> {
        let indent = " ".repeat(indent);
        for (number, line) in text.lines().enumerate() {
            let more = if number == 0 { "" } else { "  | " };
            writeln!(self.out, "{indent}{more}{line}")?;
        }
        Ok(())
    }

    fn conclusion(&mut self, record: &Record) -> io::Result<()> {
        let gate = &record.gate;
        let status = record.status;
        let word = paint(self.style.color, colour(status.into()), status.as_str());
        let counts: Vec<String> =
            counts(record).iter().map(|(outcome, count)| format!("{count} {}", plural(*outcome))).collect();
        let counts = if counts.is_empty() { "no checks".to_owned() } else { counts.join(", ") };
        let files = count(record.files, "file");
        let time = duration(record.duration);
        let nothing = if gate.nothing_to_check { ", nothing to check" } else { "" };
        let name = clean_line(&gate.name, usize::MAX);
        writeln!(self.out, "gate {name}: {word}{nothing} ({counts}; {files}; {time})")?;
        if let Some(failure) = gate.verdict.as_ref().and_then(|verdict| verdict.error.as_ref())
            && gate.kind != NodeKind::Check
        {
            self.failure(2, failure)?;
        }
        if !gate.reason.is_empty() && !gate.nothing_to_check {
            self.text(2, &gate.reason)?;
        }
        if gate.escalated {
            self.text(2, "needs human review")?;
        }
        for (mark, text) in [
            (Mark::Replayed, "the answers of models were replayed from a recording"),
            (Mark::AuthorsWord, "a check was skipped or satisfied because the submission says so"),
        ] {
            if record.marks.contains(&mark) {
                self.text(2, text)?;
            }
        }
        let left_out = gate.walk().filter(|node| node.skipped == Some(SkipReason::LeftOut));
        let left_out: Vec<&str> = left_out.map(|node| node.name.as_str()).collect();
        if !left_out.is_empty() {
            self.text(2, &format!("relaxed: {} excluded by a flag", left_out.join(", ")))?;
        }
        if self.style.verbose && !record.unjudged.is_empty() {
            self.text(2, "not checked:")?;
            for file in &record.unjudged {
                self.text(4, &format!("{}: {}", clean_line(&file.path, 300), clean_line(&file.reason, 300)))?;
            }
        }
        for relaxation in &gate.relaxed {
            let text = format!("relaxed: {} was {} ({})", relaxation.member, relaxation.was, relaxation.by);
            self.text(2, &text)?;
        }
        Ok(())
    }
}

/// Returns the name of the model that was asked, and its tokens and time.
fn model_use(used: &ModelUse) -> String {
    let mut text = format!("asked `{}`", used.name);
    if let Some(model) = &used.model {
        text += &format!(" ({model})");
    }
    if used.ended != "end" {
        text += &format!(": {}", used.ended);
    }
    if let (Some(input), Some(output)) = (used.input_tokens, used.output_tokens) {
        text += &format!("; {input} tokens in, {output} out");
    }
    match (used.replayed, used.requests) {
        (true, _) => text += "; replayed",
        (false, 0 | 1) => {}
        (false, requests) => text += &format!("; {requests} requests"),
    }
    text + &format!("; {}", duration(used.duration))
}

/// Returns the text after a member's name.
fn detail(node: &Node, verbose: bool) -> String {
    let mut parts = Vec::new();
    if let (Some(files), Outcome::Pass) = (&node.files, node.outcome) {
        parts.push(count(files.len(), "file"));
    }
    if verbose && node.started.is_some() {
        parts.push(duration(node.duration));
    }
    if verbose && node.cached() > 0 {
        parts.push(format!("{} cached", node.cached()));
    }
    if let Some(verdict) = &node.verdict
        && !verdict.summary.is_empty()
    {
        parts.push(verdict.summary.clone());
    }
    if !node.reason.is_empty() {
        parts.push(node.reason.clone());
    }
    for (flag, word) in [(node.shadow, "shadow"), (node.escalated, "needs human review"), (node.flaky, "flaky")] {
        if flag {
            parts.push(word.to_owned());
        }
    }
    if node.attempts > 1 {
        parts.push(format!("{} attempts", node.attempts));
    }
    parts.join("; ")
}

/// Returns the command that was run, and how it ended.
fn ran(command: &CommandEvidence) -> String {
    let time = duration(Duration::from_millis(command.duration_ms));
    let argv = clean_line(&command.line(), 200);
    let on_base = if command.on_base { " on the base" } else { "" };
    format!("ran {argv}{on_base}: {} in {time} ({})", command.ending(), command.sandbox)
}

fn plural(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "passed",
        Outcome::Fail => "failed",
        Outcome::Abstain => "abstained",
        Outcome::Error => "errored",
        other => other.as_str(),
    }
}

fn duration(duration: Duration) -> String {
    match duration.as_millis() {
        0..=9_999 => format!("{} ms", duration.as_millis()),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

const RED: anstyle::Style = AnsiColor::Red.on_default();
const GREEN: anstyle::Style = AnsiColor::Green.on_default();
const YELLOW: anstyle::Style = AnsiColor::Yellow.on_default();
const CYAN: anstyle::Style = AnsiColor::Cyan.on_default();
const DIM: anstyle::Style = anstyle::Style::new().dimmed();

fn colour(outcome: Outcome) -> anstyle::Style {
    match outcome {
        Outcome::Pass => GREEN,
        Outcome::Fail => RED,
        Outcome::Abstain | Outcome::Error => YELLOW,
        Outcome::Skipped | Outcome::NotApplicable | Outcome::NotReached | Outcome::NotNeeded => DIM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{ErrorKind, Place, Verdict};

    fn written(gate: &Node, style: Style) -> String {
        let mut out = Vec::new();
        let record = Record { files: 2, duration: Duration::from_millis(7), ..Record::of(gate.clone()) };
        human(&mut out, &record, style).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_verifiers_lines_cannot_pass_for_ours() {
        let forged = Finding {
            place: Some(Place {
                path: "a.json".into(),
                line: Some(3),
                column: Some(1),
                end_line: None,
                end_column: None,
            }),
            ..Finding::new("x", Level::Error, "bad\ngate default: pass (1 passed)")
        };
        let mut gate = Node::new("default", NodeKind::All, Outcome::Fail);
        let mut check = Node::new("json", NodeKind::Check, Outcome::Fail);
        check.verdict = Some(Verdict { findings: vec![forged], ..Verdict::of(Status::Fail) });
        gate.children.push(check);
        assert_eq!(
            written(&gate, Style::default()),
            "fail        json\n    a.json:3:1: error[x] bad\n      | gate default: pass (1 passed)\ngate default: fail (1 failed; 2 files; 7 ms)\n"
        );
    }

    #[test]
    fn a_gate_in_which_nothing_ran_has_not_passed() {
        let gate = Node::new("default", NodeKind::All, Outcome::Skipped);
        assert_eq!(written(&gate, Style::default()), "gate default: abstain (no checks; 2 files; 7 ms)\n");
    }

    #[test]
    fn an_error_shows_its_kind_and_hint() {
        let mut gate = Node::new("evil", NodeKind::Check, Outcome::Error);
        gate.verdict = Some(Failure::new(ErrorKind::LimitTime, "late").hint("raise `limits.time`").into());
        let text = written(&gate, Style { color: true, ..Style::default() });
        assert!(text.starts_with("\x1b[33merror\x1b[0m       evil\n    limit.time: late\n      hint: raise"), "{text}");
    }

    #[test]
    fn a_gate_says_why_its_pass_does_not_stand() {
        let mut gate = Node::new("default", NodeKind::All, Outcome::Error);
        gate.children.push(Node::new("json", NodeKind::Check, Outcome::Pass));
        gate.verdict = Some(Failure::new(ErrorKind::SubjectChanged, "changed").hint("again").into());
        assert_eq!(
            written(&gate, Style::default()),
            "pass        json\ngate default: error (1 passed; 2 files; 7 ms)\n  subject.changed: changed\n    hint: again\n"
        );
    }
}
