//! Markdown for job summaries and comments: the result, a table of checks, the findings below.
//!
//! Whatever a verifier or a path says stands in code spans, where it can be no link, no image, no mention and no HTML.

use super::{counted, view};
use crate::outcome::{Outcome, SkipReason};
use crate::record::Record;
use crate::text::{self, clean_line};
use crate::verdict::Level;
use std::io::{self, Write};

/// Findings that are listed; a job summary holds a mebibyte.
const MAX_FINDINGS: usize = 200;
/// Characters of one text.
const MAX_TEXT: usize = 500;

/// Writes the report.
pub fn markdown(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let mut report = Vec::new();
    body(&mut report, record)?;
    out.write_all(&report)?;
    match text::invisible_note(text::invisible(&String::from_utf8_lossy(&report))) {
        Some(note) => writeln!(out, "\nNote: {note}."),
        None => Ok(()),
    }
}

fn body(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    writeln!(out, "### gate {}: {}\n", code(&record.gate.name), record.status)?;
    let files = text::count(record.files, "file");
    writeln!(out, "{}; {files}; {} ms.", counted(record), record.duration.as_millis())?;
    if !record.gate.reason.is_empty() {
        writeln!(out, "{}", code(&record.gate.reason))?;
    }
    if !record.marks.is_empty() {
        let marks: Vec<&str> = record.marks.iter().map(|mark| mark.as_str()).collect();
        writeln!(out, "Marked: {}.", marks.join(", "))?;
    }
    let idle = |member: &view::Member<'_>| member.node.skipped == Some(SkipReason::NoFile);
    let members: Vec<view::Member<'_>> = view::checks(record).into_iter().filter(|member| !idle(member)).collect();
    if !members.is_empty() {
        writeln!(out, "\n| | check | |\n|---|---|---|")?;
    }
    for member in &members {
        let node = member.node;
        let moot = member.moot.as_ref().filter(|_| node.outcome != Outcome::Pass);
        let moot = moot.map_or(String::new(), |why| format!(" (does not count: {})", code(why)));
        let said = if node.outcome == Outcome::Pass && node.reason.is_empty() {
            node.verdict.as_ref().map(|verdict| verdict.summary.clone()).unwrap_or_default()
        } else {
            member.summary()
        };
        writeln!(out, "| {} | {} | {}{moot} |", node.outcome.as_str(), code(&node.name), code(&said))?;
    }
    let findings = || members.iter().flat_map(|member| member.findings().map(move |finding| (member, finding)));
    let mut listed: Vec<_> = findings().collect();
    listed.sort_by_key(|(member, finding)| member.level(finding));
    if !listed.is_empty() {
        writeln!(out, "\n| | where | what |\n|---|---|---|")?;
    }
    for (member, finding) in listed.iter().take(MAX_FINDINGS) {
        let level = match member.level(finding) {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        let place = finding.place.as_ref().map(ToString::to_string).unwrap_or_default();
        let hint = finding.hint.as_ref().map_or(String::new(), |hint| format!(" hint: {}", code(hint)));
        let text = code(&format!("[{}] {}", finding.code, finding.message));
        writeln!(out, "| {level} | {} | {text}{hint} |", code(&place))?;
    }
    let omitted: u64 =
        members.iter().filter_map(|member| member.node.verdict.as_ref()).map(|v| v.findings_omitted).sum();
    let rest = listed.len().saturating_sub(MAX_FINDINGS) as u64 + omitted;
    if rest > 0 {
        writeln!(out, "\nand {}.", text::count(rest, "more finding"))?;
    }
    Ok(())
}

/// Returns text in a code span for the cell of a table. The text cannot end the span.
fn code(text: &str) -> String {
    let text = clean_line(text, MAX_TEXT).replace('|', "\\|");
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_breaks_out_of_a_code_span() {
        assert_eq!(super::code("a `b` @c <img> | d\ne"), "``a `b` @c <img> \\| d\\ne``");
        assert_eq!(super::code("```"), "```` ``` ````");
    }
}
