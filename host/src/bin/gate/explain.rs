//! `gate explain`: shows all details of a run.

use crate::args::{Global, OutputFormat};
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
pub(crate) struct ExplainArgs {
    /// The run: its identifier or a prefix of it, or `#` and the number of its entry [default: the last run]
    run: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &ExplainArgs) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let entry = evidence::find(&ledger, &project, command.run.as_deref())?;
    let record = entry.record()?;
    let mut out = terminal::stdout();
    if command.format == OutputFormat::Json {
        report::json(&mut out, &record)?;
        return Ok(Exit::Pass);
    }
    terminal::noted(&mut out, |out| evidence_of(out, &entry, &record))?;
    writeln!(out)?;
    let color = terminal::color(global.color, &io::stdout());
    report::human(&mut out, &record, Style { color, verbose: true, quiet: false })?;
    writeln!(out)?;
    let mut earlier = ledger.entries(&Filter::of(&entry.project).kinds(&[EntryKind::Run]))?;
    earlier.retain(|other| other.seq < entry.seq);
    let earlier = earlier.iter().rev().map(Entry::record).collect::<Result<Vec<Record>, _>>()?;
    let besides = ledger.entries(&Filter { run: Some(record.run.clone()), ..Filter::default() })?;
    let said = besides.iter().map(log::says).collect::<Result<Vec<String>, _>>()?;
    terminal::noted(&mut out, |out| {
        for check in record.gate.walk().filter(|node| node.kind == NodeKind::Check && node.verdict.is_some()) {
            self::check(out, check, &record, &earlier)?;
        }
        writeln!(out, "entries of the run")?;
        for (entry, said) in besides.iter().zip(&said) {
            let time = log::time(entry, global.verbose);
            writeln!(out, "  {:>5}  {time}  {:<12}  {}", entry.seq, entry.kind, clean_line(said, 500))?;
        }
        Ok(())
    })?;
    Ok(Exit::Pass)
}

/// Prints what was checked, by what, and where it is recorded.
fn evidence_of(out: &mut impl Write, entry: &Entry, record: &Record) -> io::Result<()> {
    let none = || "unknown".to_owned();
    let commit = record.policy.commit.as_ref().map(|commit| format!("as in commit {commit}"));
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
        ("policy", format!("{} ({})", record.policy.name, record.policy.source)),
        ("", record.policy.digest.clone().unwrap_or_default()),
        ("", commit.unwrap_or_default()),
        ("plan", record.plan.clone()),
        ("retry", record.retry.clone()),
        ("blocked", record.blocked_by.join(", ")),
        ("host", format!("{}, contract {}", record.host.version, record.host.contract)),
        ("", format!("build {}", record.host.build)),
    ] {
        if !value.is_empty() {
            writeln!(out, "{name:<8}  {}", clean_line(&value, 500))?;
        }
    }
    Ok(())
}

/// Prints the details of a check.
fn check(out: &mut impl Write, node: &Node, record: &Record, earlier: &[Record]) -> io::Result<()> {
    let Some(verifier) = &node.verifier else { return Ok(()) };
    writeln!(out, "check {}: {}", clean_line(&node.name, 200), clean_line(&verifier.name, 200))?;
    writeln!(out, "  component {}", verifier.digest)?;
    if !verifier.settings.is_empty() {
        writeln!(out, "  settings {}", verifier.settings)?;
    }
    if !verifier.grants.is_empty() {
        writeln!(out, "  granted {}", clean_line(&verifier.grants.join(", "), usize::MAX))?;
    }
    if let Some(files) = node.files.as_ref().filter(|files| !files.is_empty()) {
        let (cached, all) = (node.cached(), terminal::count(files.len(), "file"));
        match cached {
            0 => writeln!(out, "  checked {all}; no cached verdict was used")?,
            _ => writeln!(
                out,
                "  checked {all}; {} from the cache (same verifier, bytes and settings)",
                terminal::count(cached, "verdict")
            )?,
        }
        for file in files.iter().filter(|file| file.cached) {
            let run = file.established.as_deref().unwrap_or("an unknown run");
            let is_known = record.run == run || earlier.iter().any(|earlier| earlier.run == run);
            let known = if is_known { "" } else { ", which is not in the ledger of this project" };
            writeln!(out, "    {}: first passed in {run}{known}", clean_line(&file.path, 200))?;
        }
        let anew: Vec<&JudgedFile> = files.iter().filter(|file| !file.cached).collect();
        for file in anew.iter().take(MOST_FILES) {
            let why = judged_anew(node, file, record, earlier);
            writeln!(out, "    {}: checked, since {why}", clean_line(&file.path, 200))?;
        }
        if anew.len() > MOST_FILES {
            writeln!(out, "    … and {} more", anew.len() - MOST_FILES)?;
        }
    }
    for command in &node.commands {
        let on_base = if command.on_base { " on the base" } else { "" };
        writeln!(out, "  ran {}{on_base}: {}", clean_line(&command.argv.join(" "), 300), command.ending())?;
    }
    for model in &node.models {
        let replayed = if model.replayed { ", replayed" } else { "" };
        let asked = format!("  asked {}: {}, question {}{replayed}", model.name, model.ended, model.question_sha256);
        writeln!(out, "{}", clean_line(&asked, usize::MAX))?;
    }
    Ok(())
}

/// The most files whose reason is shown.
const MOST_FILES: usize = 20;

/// Returns why no cached result was used for a file: what differs from the last run that checked it.
fn judged_anew(node: &Node, file: &JudgedFile, record: &Record, earlier: &[Record]) -> String {
    let Some(verifier) = &node.verifier else { return "it has no verifier".to_owned() };
    if !verifier.grants.is_empty() {
        return format!("a check with the grant {} always runs", verifier.grants.join(", "));
    }
    if !node.runs.is_empty() {
        return "a flaky check always runs".to_owned();
    }
    let before = earlier.iter().find_map(|earlier| {
        let nodes = earlier.gate.walk().filter(|other| other.name == node.name && other.verifier.is_some());
        let mut judged = nodes.flat_map(|other| other.files.iter().flatten().map(move |file| (other, file)));
        let (other, judged) = judged.find(|(_, other)| other.path == file.path)?;
        Some((earlier, other.verifier.as_ref()?, judged))
    });
    let Some((run, before, judged)) = before else { return "no earlier run of this project checked it".to_owned() };
    let than = |what: &str| format!("{what} than in run {}", run.run);
    match () {
        () if before.digest != verifier.digest => than("the verifier has other bytes"),
        () if before.settings != verifier.settings => than("the check has other settings"),
        () if before.limits != verifier.limits => than("the check has other limits"),
        () if run.host.build != record.host.build => than("this is another build of `gate`"),
        () if judged.digest != file.digest => than("it has other bytes"),
        () if judged.status != Status::Pass => {
            format!("run {} ended with `{}`, and only passes are cached", run.run, judged.status)
        }
        () => format!(
            "run {} passed it without caching the pass: the pass had a summary or findings, or the cache was disabled or cleared",
            run.run
        ),
    }
}
