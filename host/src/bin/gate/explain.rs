//! `gate explain`: everything that is known about a run.

use crate::args::{Format, Global};
use crate::error::Error;
use crate::{Exit, evidence, log, terminal};
use clap::Args;
use gatehost::ledger::{Entry, EntryKind, Filter, Ledger};
use gatehost::outcome::{JudgedFile, Node, NodeKind};
use gatehost::record::Record;
use gatehost::report::{self, Style};
use gatehost::text::clean_line;
use gatehost::verdict::Status;
use std::io::{self, Write};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate explain            the last run of this project
  gate explain 01hx       the run whose identifier starts with this
  gate explain '#12'      the run of entry 12")]
pub(crate) struct Explain {
    /// The run: its identifier or a prefix of it, or `#` and the number of its entry [default: the last run]
    run: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(global: &Global, command: &Explain) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let entry = evidence::find(&ledger, &project, command.run.as_deref())?;
    let record = entry.record()?;
    let mut out = io::stdout().lock();
    if command.format == Format::Json {
        report::json(&mut out, &record)?;
        return Ok(Exit::Pass);
    }
    evidence_of(&mut out, &entry, &record)?;
    writeln!(out)?;
    let color = terminal::color(global.color, &out);
    report::human(&mut out, &record, Style { color, verbose: true, quiet: false })?;
    writeln!(out)?;
    let reused = record.gate.walk().any(|node| node.cached() > 0);
    let earlier = Filter::of(&entry.project).kinds(&[EntryKind::Run]);
    let mut earlier = if reused { ledger.entries(&earlier)? } else { Vec::new() };
    earlier.retain(|other| other.seq < entry.seq);
    let earlier = earlier.iter().rev().map(Entry::record).collect::<Result<Vec<Record>, _>>()?;
    for check in record.gate.walk().filter(|node| node.kind == NodeKind::Check && node.verdict.is_some()) {
        self::check(&mut out, check, &earlier)?;
    }
    let besides = ledger.entries(&Filter { run: Some(record.run.clone()), ..Filter::default() })?;
    writeln!(out, "entries of the run")?;
    for entry in besides {
        writeln!(out, "  {:>6}  {}  {:<12}  {}", entry.seq, entry.at, entry.kind, log::says(&entry)?)?;
    }
    Ok(Exit::Pass)
}

/// What was judged, by what, and where that is written down.
fn evidence_of(out: &mut impl Write, entry: &Entry, record: &Record) -> io::Result<()> {
    let none = || "unknown".to_owned();
    let policy = match &record.policy.digest {
        Some(digest) => format!("{} ({}), {digest}", record.policy.name, record.policy.source),
        None => format!("{} ({})", record.policy.name, record.policy.source),
    };
    let task = record.task.as_ref().map(|task| format!("{} {} (by the {})", task.id, task.title, task.source));
    for (name, value) in [
        ("run", record.run.clone()),
        ("entry", format!("{} {}", entry.seq, entry.hash)),
        ("began", record.started.clone()),
        ("status", record.status.to_string()),
        ("class", record.class.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("marks", record.marks.iter().map(|mark| mark.as_str()).collect::<Vec<_>>().join(", ")),
        ("task", task.unwrap_or_default()),
        ("attempt", record.attempt.to_string()),
        ("files", format!("{} ({})", record.files, record.selection.kind)),
        ("base", record.base.clone().unwrap_or_else(none)),
        ("tree", record.tree.clone().unwrap_or_else(none)),
        ("policy", policy),
        ("plan", record.plan.clone()),
        ("host", format!("{} {} ({})", record.host.version, record.host.build, record.host.contract)),
    ] {
        if !value.is_empty() {
            writeln!(out, "{name:<8}  {}", clean_line(&value, 500))?;
        }
    }
    Ok(())
}

/// What a check rests on.
fn check(out: &mut impl Write, node: &Node, earlier: &[Record]) -> io::Result<()> {
    let Some(verifier) = &node.verifier else { return Ok(()) };
    writeln!(out, "check {}: {} {}", node.name, clean_line(&verifier.name, 200), verifier.digest)?;
    if !verifier.settings.is_empty() {
        writeln!(out, "  settings {}", verifier.settings)?;
    }
    if !verifier.grants.is_empty() {
        writeln!(out, "  granted {}", verifier.grants.join(", "))?;
    }
    if let Some(files) = node.files.as_ref().filter(|files| !files.is_empty()) {
        let (cached, all) = (node.cached(), terminal::count(files.len(), "file"));
        match cached {
            0 => writeln!(out, "  checked {all}; no cached verdict was used")?,
            _ => writeln!(
                out,
                "  checked {all}; {} from the cache: the same verifier passed the same bytes with the same settings",
                terminal::count(cached, "verdict")
            )?,
        }
        for file in files.iter().filter(|file| file.cached) {
            let run = established(node, file, earlier).unwrap_or("a run that is not in the ledger of this project");
            writeln!(out, "    {}: first passed in {run}", clean_line(&file.path, 200))?;
        }
    }
    for command in &node.commands {
        writeln!(out, "  ran {}: {}", clean_line(&command.argv.join(" "), 300), command.ending())?;
    }
    for model in &node.models {
        let replayed = if model.replayed { ", replayed" } else { "" };
        writeln!(out, "  asked {}: {}, question {}{replayed}", model.name, model.ended, model.question_sha256)?;
    }
    Ok(())
}

/// The run in which a verdict was given that was reused: the last one before in which the same verifier, with the same
/// settings, was called for the same bytes.
fn established<'r>(node: &Node, file: &JudgedFile, earlier: &'r [Record]) -> Option<&'r str> {
    let verifier = node.verifier.as_ref()?;
    let same = |other: &&Node| {
        other
            .verifier
            .as_ref()
            .is_some_and(|other| other.digest == verifier.digest && other.settings == verifier.settings)
    };
    let judged = |record: &&Record| {
        record
            .gate
            .walk()
            .filter(same)
            .flat_map(|node| node.files.iter().flatten())
            .any(|other| !other.cached && other.digest == file.digest && other.status == Status::Pass)
    };
    earlier.iter().find(judged).map(|record| record.run.as_str())
}
