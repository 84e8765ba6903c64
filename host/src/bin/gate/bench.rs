//! `gate bench`: measures a verifier on its own cases.

use crate::args::{Global, OutputFormat};
use crate::error::{Error, Make as _};
use crate::{Exit, setup, terminal};
use clap::Args;
use gatehost::author::{self, Case, Counted, Estimate, Measured, Trial, VerifierProject};
use gatehost::runtime::{ComponentSource, Runtime};
use gatehost::text::write_json;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Args)]
#[command(after_help = "\
Times are medians with their 95 % confidence intervals. Each call uses a fresh instance with all limits on. The ratio \
compares with a verifier that does nothing, measured alternately. Commands and models are scripted by the `commands.json` and \
`models.json` of a case.

With --instructions, each case runs once and nothing is timed. The numbers are the same on every machine and at any load, so \
a CI job can compare two builds.

Examples:
  gate bench
  gate bench ./mine.wasm --cases ./cases --format json
  gate bench ./mine.wasm --against ./before.wasm
  gate bench ./mine.wasm --against ./before.wasm --instructions")]
pub(crate) struct BenchArgs {
    /// A folder with a gate-verifier.toml, or a component
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: String,
    /// Run only the cases with this text in their names
    pub(crate) name: Option<String>,
    /// The folder of the cases [default: `cases` in the project, or next to the component]
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// Compare with another build of the verifier, measured alternately
    #[arg(long, value_name = "COMPONENT")]
    pub(crate) against: Option<String>,
    /// Only count WebAssembly instructions
    #[arg(long)]
    pub(crate) instructions: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &BenchArgs) -> Result<Exit, Error> {
    let project = VerifierProject::find(&command.path, &global.directory, command.cases.as_deref())?;
    let cases = author::read_all(&project.cases, command.name.as_deref())?;
    let source = ComponentSource::named(&project.component, &global.directory)?;
    if std::io::stderr().is_terminal() && !global.quiet {
        let cases = terminal::count(cases.len(), "case");
        let told = if command.instructions { "counting" } else { "measuring" };
        terminal::say(format_args!("compiling the verifier again to count instructions, then {told} {cases}"));
    }
    let against =
        command.against.as_deref().map(|other| ComponentSource::named(other, &global.directory)).transpose()?;
    let mut out = terminal::stdout();
    let document = |cases: Value| json!({ "version": 1, "verifier": { "digest": source.digest() }, "cases": cases });
    if command.instructions {
        let counted = setup::block_on(count(&source, against.as_ref(), &cases))??;
        match command.format {
            OutputFormat::Human => terminal::noted(&mut out, |out| instructions(out, &counted))?,
            OutputFormat::Json => write_json(&mut out, &document(json!(counted)))?,
        }
        return Ok(Exit::Pass);
    }
    let runtime = Arc::new(setup::runtime(global));
    let measured = setup::block_on(measure(runtime, &source, against.as_ref(), &cases))??;
    match command.format {
        OutputFormat::Human => terminal::noted(&mut out, |out| human(out, &measured))?,
        OutputFormat::Json => write_json(&mut out, &document(json!(measured)))?,
    }
    Ok(Exit::Pass)
}

/// Loads the verifier and the other build, if there is one, for these cases.
async fn load(
    runtime: Arc<Runtime>,
    source: &ComponentSource,
    against: Option<&ComponentSource>,
    cases: &[Case],
) -> Result<(Trial, Option<Trial>), Error> {
    let other = match against {
        Some(other) => Some(Trial::load(Arc::clone(&runtime), other).await?),
        None => None,
    };
    let trial = Trial::load(runtime, source).await?;
    for trial in other.iter().chain([&trial]) {
        trial.suits(cases)?;
    }
    Ok((trial, other))
}

async fn count(
    source: &ComponentSource,
    against: Option<&ComponentSource>,
    cases: &[Case],
) -> Result<Vec<Counted>, Error> {
    let (trial, other) = load(Arc::new(Runtime::metered()), source, against, cases).await?;
    author::count(&trial, other.as_ref(), cases).await.map_err(Error::broken)
}

async fn measure(
    runtime: Arc<Runtime>,
    source: &ComponentSource,
    against: Option<&ComponentSource>,
    cases: &[Case],
) -> Result<Vec<Measured>, Error> {
    let trivial = ComponentSource::from_bytes(author::TRIVIAL.to_vec());
    let trivial = Trial::load(Arc::clone(&runtime), &trivial).await?;
    let (trial, other) = load(runtime, source, against, cases).await?;
    let counting = Trial::load(Arc::new(Runtime::metered()), source).await?;
    author::measure(&trial, &counting, &trivial, other.as_ref(), cases).await.map_err(Error::broken)
}

fn instructions(out: &mut impl Write, counted: &[Counted]) -> std::io::Result<()> {
    let width = counted.iter().map(|case| case.case.chars().count()).max().unwrap_or(0).max(4);
    let mut line = |case: &str, calls: &str, memory: &str, instructions: &str, other: Option<(String, String)>| {
        write!(out, "{case:width$}  {calls:>5}  {memory:>10}  {instructions:>12}")?;
        match other {
            Some((other, ratio)) => writeln!(out, "  {other:>15}  {ratio:>5}"),
            None => writeln!(out),
        }
    };
    let compared = counted.iter().any(|case| case.other_instructions.is_some());
    let headings = compared.then(|| ("the other build".to_owned(), "ratio".to_owned()));
    line("case", "calls", "memory", "instructions", headings)?;
    for case in counted {
        let other = case.other_instructions.map(|other| {
            let ratio = case.instructions as f64 / other as f64;
            (other.to_string(), format!("{ratio:.2}"))
        });
        let memory = format!("{} KiB", case.memory / 1024);
        line(&case.case, &case.calls.to_string(), &memory, &case.instructions.to_string(), other)?;
    }
    Ok(())
}

fn human(out: &mut impl Write, measured: &[Measured]) -> std::io::Result<()> {
    let width = measured.iter().map(|case| case.case.chars().count()).max().unwrap_or(0).max(4);
    let compared = measured.iter().any(|case| case.to_other.is_some());
    let mut line = |case: &str, calls: &str, time: &str, ratio: &str, other: &str, memory: &str, instructions: &str| {
        let other = if compared { format!("{other:24}  ") } else { String::new() };
        writeln!(out, "{case:width$}  {calls:>5}  {time:32}  {ratio:24}  {other}{memory:>10}  {instructions:>12}")
    };
    let headings = ["time (95 % interval)", "times the trivial one", "times the other build", "memory", "instructions"];
    line("case", "calls", headings[0], headings[1], headings[2], headings[3], headings[4])?;
    for case in measured {
        let Estimate { median, low, high } = case.to_trivial;
        let time = format!("{} ({} to {})", time(case.time_us.median), time(case.time_us.low), time(case.time_us.high));
        let ratio = format!("{median:.1} ({low:.1} to {high:.1})");
        let other = case
            .to_other
            .map_or_else(String::new, |Estimate { median, low, high }| format!("{median:.2} ({low:.2} to {high:.2})"));
        let memory = format!("{} KiB", case.memory / 1024);
        line(&case.case, &case.calls.to_string(), &time, &ratio, &other, &memory, &case.instructions.to_string())?;
    }
    Ok(())
}

fn time(microseconds: f64) -> String {
    match microseconds {
        short if short < 1e3 => format!("{short:.1} µs"),
        longer if longer < 1e6 => format!("{:.2} ms", longer / 1e3),
        long => format!("{:.2} s", long / 1e6),
    }
}
