//! The command line: commands, flags and their help.

use crate::terminal::Color;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use gatehost::report::Format as ReportFormat;
use std::path::PathBuf;

/// Check the work of coding agents and people with sandboxed WebAssembly verifiers. Only a pass passes.
#[derive(Debug, Parser)]
#[command(name = "gate", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  pass
  1  fail
  2  usage, configuration or input error
  3  no verdict: an error, an abstention, or human review is needed
  130, 143, 129  interrupted by SIGINT, SIGTERM or SIGHUP

Examples:
  gate init                         write a gate.toml for this repository
  gate run                          check the changes since the last commit
  gate run --files a.json b.json    check these files
  gate plan                         show what gate.toml means
  gate inspect ./check.wasm         show what a component can do";

/// Flags that every command has.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Run in this folder; all paths are relative to it
    #[arg(
        short = 'C',
        long = "directory",
        global = true,
        help_heading = "Global options",
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    pub(crate) directory: PathBuf,
    /// When to use colours
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_enum,
        default_value_t,
        hide_possible_values = false
    )]
    pub(crate) color: Color,
    /// Show more: every finding, cached results, unchecked files and the logs of verifiers
    #[arg(short, long, global = true, help_heading = "Global options", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Show less: only what did not pass
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a gate on changed files or on a submission
    Run(Box<crate::run::RunArgs>),
    /// Run an executor, check its work, and send it back with feedback until the work passes
    Loop(Box<crate::loop_::LoopArgs>),
    /// Check a plan of tasks for mistakes before anybody follows it
    CheckPlan(crate::check_plan::CheckPlanArgs),
    /// Apply the fixes that verifiers offer, if they improve the result of the gate
    Fix(crate::fix::FixArgs),
    /// Show the resolved configuration and its digest
    Plan(crate::plan::PlanArgs),
    /// List the gates and checks of the configuration
    List(crate::list::ListArgs),
    /// Print the record of a run in another format
    Report(crate::report::ReportArgs),
    /// Handle a hook event of a coding agent: run a gate, and send the agent back until it passes
    Hook(crate::hook::HookArgs),
    /// Install gates into coding agents, git hooks and CI
    Install(crate::install::InstallArgs),
    /// Remove installed gates, and restore the previous configuration
    Uninstall(crate::install::UninstallArgs),
    /// Test that every installed hook blocks, and find problems in the setup
    Doctor(crate::doctor::DoctorArgs),
    /// Serve the Model Context Protocol over stdin and stdout
    #[command(after_help = crate::mcp::HELP)]
    Mcp,
    /// Handle a git hook
    #[command(hide = true)]
    GitHook(crate::git_hook::GitHookArgs),
    /// The child process of `gate hook`
    #[command(hide = true)]
    HookRun,
    /// Write a gate.toml for this repository
    Init(crate::init::InitArgs),
    /// Print a JSON Schema
    Schema(crate::schema::SchemaArgs),
    /// Show what a component is, what it imports and what it can do
    Inspect(crate::inspect::InspectArgs),
    /// Compile components ahead of time
    Compile(crate::compile::CompileArgs),
    /// Create a verifier project in the language of your choice
    New(crate::new::NewArgs),
    /// Build a verifier project into a component
    Build(crate::build::BuildArgs),
    /// Test a verifier: its own cases, and the rules that every verifier must follow
    Test(crate::test::TestArgs),
    /// Measure the time and memory of a verifier on its own cases
    Bench(crate::bench::BenchArgs),
    /// Show, verify or prune the entries of the ledger
    Log(crate::log::LogArgs),
    /// Show the state of each task
    Status(crate::status::StatusArgs),
    /// Show all details of a run
    Explain(crate::explain::ExplainArgs),
    /// Show statistics over the runs of this project
    Stats(crate::stats::StatsArgs),
    /// Answer an escalation, or continue an interrupted loop
    Resume(crate::resume::ResumeArgs),
    /// Record a person's decision to let a task through without a pass
    Skip(crate::skip::SkipArgs),
    /// Let a task through in an emergency, whatever was found
    Force(crate::skip::ForceArgs),
    /// Look up in the ledger whether this gate passed this change
    Verify(crate::verify::VerifyArgs),
    /// Print a signed statement of the result of a run
    Attest(crate::attest::AttestArgs),
    /// Write a run to one file: policy, files, answers of commands and models, ledger entry
    Bundle(crate::bundle::BundleArgs),
    /// Run a bundle again, and compare the records
    Replay(crate::bundle::ReplayArgs),
    /// Print a completion script for a shell
    Completions(crate::completions::CompletionsArgs),
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

/// Parses a tier, from 1.
pub(crate) fn tier(text: &str) -> Result<u32, String> {
    let read = text.parse().ok().filter(|tier| (1..=1_000).contains(tier));
    read.ok_or_else(|| {
        "expected a number from 1, such as `--tier 2`; gate.toml says which members have which `tier`".to_owned()
    })
}

/// Returns the names of the formats of reports.
pub(crate) fn formats() -> impl TypedValueParser<Value = ReportFormat> {
    let value = |(name, _, help): &(&'static str, ReportFormat, &'static str)| PossibleValue::new(*name).help(*help);
    let parser = PossibleValuesParser::new(ReportFormat::ALL.iter().map(value));
    parser.map(|name| ReportFormat::named(&name).unwrap_or_default())
}

/// A report that is written to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputTo {
    /// How.
    pub(crate) format: ReportFormat,
    /// Where.
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for OutputTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or("expected FORMAT=FILE")?;
        let names = || ReportFormat::ALL.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        let format =
            ReportFormat::named(format).ok_or_else(|| format!("no format `{format}`; expected one of {}", names()))?;
        Ok(Self { format, path: path.into() })
    }
}

/// Where events are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventsTo {
    /// To standard output.
    Stdout,
    /// To a file.
    File(PathBuf),
}

impl std::str::FromStr for EventsTo {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdout } else { Self::File(text.into()) })
    }
}
