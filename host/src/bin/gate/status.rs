//! `gate status`: shows the state of each task.

use crate::args::{Global, OutputFormat};
use crate::error::{Error, Make as _};
use crate::{Exit, evidence, terminal};
use anyhow::Context;
use clap::Args;
use gatehost::ledger::history::{self, OpenEscalation};
use gatehost::ledger::stats::Stats;
use gatehost::ledger::status::{self, TaskState, TaskStatus};
use gatehost::ledger::{EntryKind, Filter, Ledger as _};
use gatehost::overrides;
use gatehost::text::{self, clean_line, write_json};
use gatehost::writer::{self, Expected};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- gate status: begin -->";
const END: &str = "<!-- gate status: end -->";

#[derive(Debug, Args)]
#[command(after_help = "\
`--write` changes only the text between its two marks. The file is never read back: the ledger \
alone decides.

Examples:
  gate status
  gate status --write STATE.md")]
pub(crate) struct StatusArgs {
    /// Write the status into this file, between two marks, instead of printing it
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    write: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &StatusArgs) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let overridden = ledger.entries(&Filter::of(&project).kinds(&[EntryKind::Override]))?;
    let expired = overrides::expired(&ledger, &overridden, evidence::now_millis())?;
    let tasks = status::of_project(&ledger, &project, &expired)?;
    let waiting = history::waiting(&ledger, &project)?;
    if let Some(file) = &command.write {
        let stats = Stats::read(&ledger, &project)?;
        let text = markdown(&tasks, &waiting, &stats);
        return write(&global.directory.join(file), &text).map_err(Error::broken).map(|()| Exit::Pass);
    }
    let mut out = terminal::stdout();
    match command.format {
        OutputFormat::Json => {
            let waiting: Vec<_> = waiting.iter().map(|waiting| json!({ "entry": waiting.entry.seq, "task": waiting.entry.labels.task, "escalation": waiting.escalation })).collect();
            write_json(
                &mut out,
                &json!({ "version": 1, "current_task": tasks.first(), "tasks": tasks, "waiting": waiting }),
            )?;
        }
        OutputFormat::Human => {
            let text = human(&tasks, &waiting);
            write!(out, "{text}{}", invisible_note(&text))?;
        }
    }
    Ok(Exit::Pass)
}

fn human(tasks: &[TaskStatus], waiting: &[OpenEscalation]) -> String {
    let mut text = String::new();
    if let Some(current) = tasks.first() {
        text.push_str(&bar(current));
    } else {
        text.push_str("nothing has run yet\n");
    }
    if tasks.len() > 1 {
        text.push('\n');
        for task in tasks {
            let word = task.overridden.as_deref().unwrap_or(task.gate_status.as_str());
            let _ = writeln!(text, "{:<10}  {}  attempt {}", word, name(task), task.attempt);
        }
    }
    for waiting in waiting {
        let said = &waiting.escalation;
        let _ = writeln!(
            text,
            "\nneeds human review since entry {}: {} ({})",
            waiting.entry.seq,
            clean_line(&said.why, 300),
            said.level
        );
        text.push_str("answer with `gate resume --retry`, `--skip` or `--investigate`\n");
    }
    text
}

fn name(task: &TaskStatus) -> String {
    let name = match (task.task.as_str(), task.name.as_str()) {
        ("", "") => "work without a task".to_owned(),
        ("", title) => title.to_owned(),
        (id, "") => id.to_owned(),
        (id, title) => format!("{id}: {title}"),
    };
    clean_line(&name, 120)
}

/// Returns the progress bar of a task, in the format of the gate protocol.
fn bar(task: &TaskStatus) -> String {
    let done = match task.gate_status {
        TaskState::Pending => 0,
        TaskState::Approved => 8,
        _ => usize::from(task.gate_step) * 8 / 3 - 1,
    };
    let mark = |status: &str| match status {
        "success" | "passed" | "approved" => 'x',
        "running" | "reviewing" => '~',
        "failure" | "failed" | "rejected" | "blocked" => '!',
        "skipped" => '-',
        _ => ' ',
    };
    let mut text = format!(
        "Current task: {}\n\nGate progress: [{}{}] Step {}/3\n\n",
        name(task),
        "#".repeat(done),
        "-".repeat(8 - done),
        task.gate_step
    );
    for (number, step, status) in [
        (1, "Executor", task.executor_status),
        (2, "Verify", task.verify_status),
        (3, "Architect", task.architect_status),
    ] {
        let time = task.step_times[number - 1].get(11..19).map(|time| format!(" ({time})")).unwrap_or_default();
        let _ = writeln!(text, "[{}] Step {number}: {step:<10} - {}{time}", mark(status), status.to_uppercase());
    }
    let status = task.overridden.as_deref().unwrap_or(task.gate_status.as_str());
    let _ = writeln!(text, "\nStatus: {status}");
    let allowed = task.max_attempts.map(|most| format!(" of {most}")).unwrap_or_default();
    let _ = writeln!(text, "Attempt: {}{allowed}", task.attempt);
    if let Some(commit) = &task.commit_sha {
        let _ = writeln!(text, "Commit: {}", clean_line(commit, 80));
    }
    if let Some(skip) = &task.skip {
        let _ = writeln!(
            text,
            "Let through by {}: {}",
            clean_line(&skip.skipped_by, 120),
            clean_line(&skip.skip_reason, 300)
        );
    }
    for failure in &task.previous_failures {
        let _ = writeln!(text, "Failed before: {}", clean_line(failure, 200));
    }
    text
}

/// Returns the status with the names of the gate protocol, for a file that people read.
fn markdown(tasks: &[TaskStatus], waiting: &[OpenEscalation], stats: &Stats) -> String {
    let mut text = String::from("## Gate status\n\n```text\n");
    text.push_str(&human(tasks, waiting));
    text.push_str("```\n\n```yaml\n");
    if let Some(task) = tasks.first() {
        text.push_str("current_task:\n");
        for (key, value) in [
            ("name", quoted(&name(task))),
            ("phase", task.phase.as_deref().map_or("null".to_owned(), quoted)),
            ("gate_status", task.gate_status.as_str().to_owned()),
            ("gate_step", task.gate_step.to_string()),
            ("executor_status", task.executor_status.to_owned()),
            ("verify_status", task.verify_status.to_owned()),
            ("architect_status", task.architect_status.to_owned()),
            ("started_at", quoted(&task.started_at)),
            ("last_step_at", quoted(&task.last_step_at)),
            ("attempt", task.attempt.to_string()),
            ("max_attempts", task.max_attempts.map_or("null".to_owned(), |most| most.to_string())),
            ("previous_failures", previous_failures(task)),
            ("commit_sha", task.commit_sha.as_deref().map_or("null".to_owned(), quoted)),
        ] {
            let _ = writeln!(text, "  {key}: {value}");
        }
    }
    text.push_str("tasks:");
    text.push_str(if tasks.iter().any(|task| !task.task.is_empty()) { "\n" } else { " []\n" });
    for task in tasks.iter().filter(|task| !task.task.is_empty()) {
        let status = task.overridden.as_deref().unwrap_or(task.gate_status.as_str());
        let _ = writeln!(text, "  - name: {}\n    status: {status}", quoted(&name(task)));
        if let Some(skip) = &task.skip {
            let _ = writeln!(
                text,
                "    skip_reason: {}\n    skipped_by: {}\n    skipped_at: {}\n    requires_manual_commit: {}",
                quoted(&skip.skip_reason),
                quoted(&skip.skipped_by),
                quoted(&skip.skipped_at),
                skip.requires_manual_commit
            );
        }
    }
    // By task, as the protocol counts them.
    let (passed, failed) = (stats.tasks_passed, stats.tasks_failed);
    let rate = (passed * 100 + (passed + failed) / 2).checked_div(passed + failed);
    let _ = writeln!(
        text,
        "gate_stats:\n  total_tasks: {}\n  passed: {passed}\n  failed: {failed}\n  in_progress: {}\n  pending: {}\n  \
         pass_rate: {}\n  avg_attempts: {}",
        stats.total_tasks + stats.tasks_pending,
        stats.tasks_in_progress,
        stats.tasks_pending,
        rate.map_or("null".to_owned(), |rate| format!("\"{rate}%\"")),
        stats.avg_attempts.map_or("null".to_owned(), |average| average.to_string())
    );
    match tasks.first() {
        Some(task) => {
            let _ = writeln!(
                text,
                "  current_gate:\n    task: {}\n    status: {}\n    attempt: {}",
                quoted(&name(task)),
                task.gate_status.as_str(),
                task.attempt
            );
        }
        None => text.push_str("  current_gate: null\n"),
    }
    text.push_str("recent_failures:");
    if stats.recent_failures.is_empty() {
        text.push_str(" []");
    }
    text.push('\n');
    for failure in &stats.recent_failures {
        let _ = writeln!(
            text,
            "  - task: {}\n    attempt: {}\n    failure_type: {}\n    error: {}\n    recovered: {}\n    resolution: {}",
            quoted(&failure.task),
            failure.attempt,
            failure_type(&failure.failure_type),
            quoted(&failure.error),
            failure.recovered,
            quoted(&failure.resolution)
        );
    }
    text.push_str("```\n");
    text.push_str(&invisible_note(&text));
    text
}

/// Returns the line about invisible characters in a text, if there are any.
fn invisible_note(text: &str) -> String {
    text::note_line(text).map(|line| format!("\n{line}")).unwrap_or_default()
}

fn previous_failures(task: &TaskStatus) -> String {
    let shown: Vec<String> = task.previous_failures.iter().map(|failure| clean_line(failure, 300)).collect();
    json!(shown).to_string()
}

/// Returns the class of a failure as the protocol writes it. A verifier may have made it up.
fn failure_type(class: &str) -> String {
    let name = class.to_uppercase().replace('-', "_");
    let is_word = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && !["NULL", "TRUE", "FALSE", "YES", "NO", "ON", "OFF", "Y", "N"].contains(&name.as_str());
    if is_word { name } else { quoted(&name) }
}

fn quoted(text: &str) -> String {
    json!(clean_line(text, 300)).to_string()
}

/// Returns a document with the status between the marks, or at the end.
///
/// A mark is a line of its own, and the text has none: what a task or a verifier is called cannot end the block. Only the last
/// begin before an end counts, so that nothing that a person wrote is taken for a part of the block.
fn with_block(before: &str, text: &str) -> String {
    let text = text.replace("<!--", "<! --");
    let block = format!("{BEGIN}\n{text}{END}\n");
    let (mut at, mut begin) = (0, None);
    for line in before.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN => begin = Some(at),
            END => {
                if let Some(begin) = begin {
                    return format!("{}{block}{}", &before[..begin], &before[at + line.len()..]);
                }
            }
            _ => {}
        }
        at += line.len();
    }
    if before.is_empty() { block } else { format!("{}\n\n{block}", before.trim_end()) }
}

/// Writes the text between the marks, or at the end. The file is replaced as a whole or not at all.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let (before, is_new) = match std::fs::read_to_string(path) {
        Ok(before) => (before, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), true),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    };
    let after = with_block(&before, text);
    let expected = if is_new { Expected::Absent } else { Expected::Content(before.as_bytes()) };
    let after = writer::with_line_endings_of(&before, &after);
    writer::replace(path, expected, after.as_bytes(), writer::PLAIN)
        .with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_is_replaced() {
        let block = |text: &str| format!("{BEGIN}\n{text}\n{END}\n");
        let new = block("new");
        for (before, expected) in [
            (String::new(), new.clone()),
            ("mine\n".to_owned(), format!("mine\n\n{new}")),
            (format!("mine\n{}yours\n", block("old")), format!("mine\n{new}yours\n")),
            (block("old").trim_end().to_owned(), new.clone()),
            (block("old").replace('\n', "\r\n"), new.clone()),
            // Marks inside a line are text of a person.
            (format!("about {BEGIN} and {END}\n"), format!("about {BEGIN} and {END}\n\n{new}")),
            (format!("{END}\nmine\n{}", block("old")), format!("{END}\nmine\n{new}")),
            (format!("{BEGIN}\nmine\n{}", block("old")), format!("{BEGIN}\nmine\n{new}")),
        ] {
            assert_eq!(with_block(&before, "new\n"), expected, "{before:?}");
        }
    }

    #[test]
    fn text_with_the_marks_does_not_end_the_block() {
        let text = format!("a {END}\n{END}\n{BEGIN}\n");
        let once = with_block("mine\n", &text);
        assert_eq!(with_block(&once, &text), once);
        assert_eq!(with_block(&once, "new\n"), with_block("mine\n", "new\n"));
    }
}
