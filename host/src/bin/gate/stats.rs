//! `gate stats`: shows statistics over the runs of a project.

use crate::args::{Global, OutputFormat};
use crate::error::Error;
use crate::terminal::{self, count};
use crate::{Exit, evidence};
use clap::Args;
use gatehost::ledger::stats::Stats;
use gatehost::text::{clean_line, write_json};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Debug, Args)]
#[command(name = "stats")]
pub(crate) struct StatsArgs {
    /// Print a digest of the statistics without times, so that a CI job can detect changes
    #[arg(long, conflicts_with = "format")]
    fingerprint: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &StatsArgs) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let stats = Stats::read(&ledger, &project)?;
    let mut out = terminal::stdout();
    if command.fingerprint {
        writeln!(out, "{}", stats.fingerprint())?;
    } else if command.format == OutputFormat::Json {
        write_json(&mut out, &json!({ "version": 1, "stats": stats }))?;
    } else {
        terminal::noted(&mut out, |out| human(out, &stats))?;
    }
    Ok(Exit::Pass)
}

fn human(out: &mut impl Write, stats: &Stats) -> io::Result<()> {
    let Stats { runs, passed, failed, undecided, interrupted, in_progress, .. } = stats;
    writeln!(
        out,
        "runs          {runs}: {passed} passed, {failed} failed, {undecided} without a verdict,\n\
         {:14}{interrupted} interrupted, {in_progress} running",
        ""
    )?;
    if let Some(rate) = stats.pass_rate {
        writeln!(out, "pass rate     {rate:.0}%")?;
    }
    writeln!(out, "tasks         {} of {} passed", stats.tasks_passed, stats.total_tasks)?;
    if let Some(average) = stats.avg_attempts {
        writeln!(out, "attempts      {average} on average, of the tasks that passed")?;
    }
    writeln!(out, "weak passes   {}; {} relaxed", stats.weak_passes, stats.relaxed_passes)?;
    let (overrides, escalations) = (count(stats.overrides, "override"), count(stats.escalations, "escalation"));
    writeln!(out, "people        {overrides}, {escalations}")?;
    for (title, counts) in
        [("failures", &stats.classes), ("flaky", &stats.flaky), ("shadow", &stats.would_have_blocked)]
    {
        list(out, title, counts)?;
    }
    for (test, times) in &stats.flaky_tests {
        writeln!(out, "flaky test    {}: {}", count(*times, "time"), clean_line(test, 160))?;
    }
    if stats.models.questions > 0 {
        let models = &stats.models;
        writeln!(
            out,
            "models        {}, {} tokens in, {} tokens out, cost {:.4}",
            count(models.questions, "question"),
            models.input_tokens,
            models.output_tokens,
            models.cost
        )?;
    }
    for (name, verifier) in &stats.verifiers {
        let name = clean_line(name, 60);
        writeln!(
            out,
            "verifier      {name}: {}, {} failed, {:.1} ms",
            count(verifier.runs, "run"),
            verifier.failed,
            verifier.total_ms
        )?;
    }
    for failure in &stats.recent_failures {
        let after = if failure.resolution.is_empty() { "open" } else { &failure.resolution };
        writeln!(out, "failure       {} ({after})", evidence::short(&failure.run))?;
        writeln!(out, "{:14}{}", "", clean_line(&failure.error, 160))?;
    }
    Ok(())
}

fn list(out: &mut impl Write, title: &str, counts: &BTreeMap<String, u64>) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{} {count}", clean_line(name, 60))).collect();
    writeln!(out, "{title:<12}  {}", counts.join(", "))
}
