//! The command line: commands, flags and their help.

use crate::languages::Language;
use crate::terminal::Color;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use gatehost::config::Grant;
use gatehost::hook::Host;
use gatehost::install::Target;
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
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    pub(crate) directory: PathBuf,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, hide_possible_values = false)]
    pub(crate) color: Color,
    /// Show more: every finding, cached results, unchecked files and the logs of verifiers
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Show less: only what did not pass
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a gate on changed files or on a submission
    Run(Box<RunArgs>),
    /// Run an executor, check its work, and send it back with feedback until the work passes
    Loop(Box<LoopArgs>),
    /// Check a plan of tasks for mistakes before anybody follows it
    CheckPlan(CheckPlanArgs),
    /// Apply the fixes that verifiers offer, if the gate is better off with them
    Fix(FixArgs),
    /// Show the resolved configuration and its digest
    Plan(PlanArgs),
    /// List the gates and checks of the configuration
    List(List),
    /// Print the record of a run in another format
    Report(ReportArgs),
    /// Handle a hook event of a coding agent: run a gate, and send the agent back until it passes
    Hook(HookArgs),
    /// Install gates into coding agents, git hooks and CI
    Install(InstallArgs),
    /// Remove installed gates, and restore the previous configuration
    Uninstall(UninstallArgs),
    /// Test that every installed hook blocks, and find problems of the setup
    Doctor(DoctorArgs),
    /// Serve the Model Context Protocol over stdin and stdout
    #[command(after_help = MCP_HELP)]
    Mcp,
    /// Handle a git hook
    #[command(hide = true)]
    GitHook(GitHookArgs),
    /// The child process of `gate hook`
    #[command(hide = true)]
    HookRun,
    /// Write a gate.toml for this repository
    Init(InitArgs),
    /// Print a JSON Schema
    Schema(SchemaArgs),
    /// Show what a component is, what it imports and what it can do
    Inspect(InspectArgs),
    /// Compile components ahead of time
    Compile(CompileArgs),
    /// Create a verifier project in the language of your choice
    New(NewArgs),
    /// Build a verifier project into a component
    Build(BuildArgs),
    /// Test a verifier: its own cases, and the rules that every verifier must follow
    Test(TestArgs),
    /// Measure the time and memory of a verifier on its own cases
    Bench(BenchArgs),
    /// Show, verify or prune the entries of the ledger
    Log(crate::log::LogArgs),
    /// Show the state of each task
    Status(crate::status::StatusArgs),
    /// Show all details of a run
    Explain(crate::explain::ExplainArgs),
    /// Show statistics over the runs of this project
    Stats(crate::stats::StatsArgs),
    /// Answer an escalation
    Resume(crate::resume::ResumeArgs),
    /// Record a person's decision to let a task through without a pass
    Skip(crate::skip::SkipArgs),
    /// Let a task through in an emergency, whatever was found
    Force(crate::skip::ForceArgs),
    /// Look up in the ledger whether this gate passed this change
    Verify(crate::verify::VerifyArgs),
    /// Print a signed statement of the result of a run
    Attest(crate::attest::AttestArgs),
    /// Put a run into one file: policy, files, what commands and models said, and its entry of the ledger
    Bundle(crate::bundle::BundleArgs),
    /// Run a bundle again, and tell whether it gives the same record
    Replay(crate::bundle::ReplayArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// How to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without a gate.toml, the default gate runs: every bundled syntax verifier. By default, `gate` checks all differences from \
the last commit, untracked files included. Outside a repository it checks every file of the folder, ignored or not. Files \
that a submission names are checked in addition; outside a repository, they replace the default. A submission that names \
files cannot be combined with a flag that chooses files.

Examples:
  gate run                                   the changes since the last commit
  gate run commit --staged                   the gate `commit`, on the staged files
  gate run --from-ref main --to-ref HEAD     the commits of a branch
  gate run --since main                      a branch, with uncommitted changes
  gate run --all-files --format json         everything, as one JSON document
  gate run --submission done.json            a task, a claim and tool calls
  gate run --verifier ./mine.wasm --files a  one verifier, without a gate.toml")]
pub(crate) struct RunArgs {
    /// The gate to run [default: the only one, the one named `default`, or the only one that no other gate uses]
    pub(crate) gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE", conflicts_with = "verifier")]
    pub(crate) config: Option<PathBuf>,
    /// Use the configuration of this commit; a change that touches the policy needs human review
    #[arg(long, value_name = "REF", conflicts_with_all = ["config", "verifier"])]
    pub(crate) policy_from: Option<String>,
    /// Check these files or folders; in a repository, ignored files of a folder are left out
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["all_files", "staged", "since", "from_ref"])]
    pub(crate) files: Vec<PathBuf>,
    /// Check every file that git does not ignore
    #[arg(long, conflicts_with_all = ["staged", "since", "from_ref"])]
    pub(crate) all_files: bool,
    /// Check the staged content (the index)
    #[arg(long, conflicts_with_all = ["since", "from_ref"])]
    pub(crate) staged: bool,
    /// Check all changes since this commit: later commits, staged, unstaged and untracked files; if the commit is not
    /// an ancestor of HEAD, the merge base is used
    #[arg(long, value_name = "REF", conflicts_with = "from_ref")]
    pub(crate) since: Option<String>,
    /// Check the changes since the merge base with `--to-ref`
    #[arg(long, value_name = "REF")]
    pub(crate) from_ref: Option<String>,
    /// The commit whose files are checked [default: HEAD]
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "from_ref", hide_default_value = true)]
    pub(crate) to_ref: String,
    /// Read the submission (task, claim, changes) from a JSON or YAML file; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["claim", "task", "tier"])]
    pub(crate) submission: Option<PathBuf>,
    /// The task: an id of the plan that gate.toml names, a file that contains a task, or a description
    #[arg(long, value_name = "ID|FILE|TEXT")]
    pub(crate) task: Option<String>,
    /// Read the claim of the executor, its summary of the work, from a file; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) claim: Option<PathBuf>,
    /// Read the transcript of a separate evaluator from a file; - for stdin. Formats: `claude -p --output-format
    /// stream-json`, `codex exec --json`
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluator: Option<PathBuf>,
    /// Run checks up to this tier only
    #[arg(long, value_name = "N", value_parser = tier)]
    pub(crate) tier: Option<u32>,
    /// Run only these checks; the record notes the exclusion
    #[arg(long, value_name = "CHECK", num_args = 1.., conflicts_with = "skip")]
    pub(crate) only: Vec<String>,
    /// Exclude these checks; the record notes the exclusion
    #[arg(long, value_name = "CHECK", num_args = 1..)]
    pub(crate) skip: Vec<String>,
    /// Stop at the first check that fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Ignore cached results
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Do not record the run in the ledger
    #[arg(long)]
    pub(crate) no_ledger: bool,
    /// Show the plan, as `gate plan` does, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run this verifier instead of a gate: a bundled name, or the path of a component; `@sha256:HEX` pins it
    #[arg(long, value_name = "VERIFIER", conflicts_with = "gate")]
    pub(crate) verifier: Vec<String>,
    /// Run this command instead of a gate; exit code 0 passes. The command is split into words without a shell
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["gate", "config", "verifier"])]
    pub(crate) verify: Option<String>,
    /// Settings for the verifier, as a JSON object
    #[arg(long, value_name = "JSON", requires = "verifier")]
    pub(crate) settings: Option<String>,
    /// Grant the verifiers a capability: `workspace`
    #[arg(long, value_name = "GRANT", requires = "verifier")]
    pub(crate) grant: Vec<Grant>,
    /// Record model requests and responses to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_models")]
    pub(crate) record_models: Option<PathBuf>,
    /// Answer model requests from a file that `--record-models` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) replay_models: Option<PathBuf>,
    /// Record the results of commands to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_commands")]
    pub(crate) record_commands: Option<PathBuf>,
    /// Take the results of commands from a file that `--record-commands` wrote, instead of running them
    #[arg(long, value_name = "FILE")]
    pub(crate) replay_commands: Option<PathBuf>,
    /// Write events while the gate runs to this file, one JSON document per line; - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// The report format
    #[arg(long, default_value = "human", hide_default_value = true, value_parser = formats())]
    pub(crate) format: ReportFormat,
    /// Also write a report to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE")]
    pub(crate) output: Vec<OutputTo>,
}

/// A tier, from 1.
fn tier(text: &str) -> Result<u32, String> {
    let read = text.parse().ok().filter(|tier| (1..=1_000).contains(tier));
    read.ok_or_else(|| {
        "expected a number from 1, such as `--tier 2`; gate.toml says which members have which `tier`".to_owned()
    })
}

/// The names of the formats of reports.
fn formats() -> impl TypedValueParser<Value = ReportFormat> {
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

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate report last --format markdown
  gate run --format json > run.json
  gate report run.json --format sarif --output junit=junit.xml
  gate report --html > gate.html       the runs of this project, as one page")]
pub(crate) struct ReportArgs {
    /// The run: its identifier in the ledger, `last`, or a file that `gate run --format json` wrote; - for stdin
    #[arg(required_unless_present = "html")]
    pub(crate) run: Option<PathBuf>,
    /// Print one self-contained page about the runs of this project: timeline, members, findings
    #[arg(long, conflicts_with_all = ["run", "format", "output"])]
    pub(crate) html: bool,
    /// The number of runs, newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, requires = "html")]
    pub(crate) last: u32,
    /// The output format
    #[arg(long, default_value = "human", hide_default_value = true, value_parser = formats())]
    pub(crate) format: ReportFormat,
    /// Also write a report to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE")]
    pub(crate) output: Vec<OutputTo>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the host's message from stdin and prints the answer in the host's format. The exit code is 0 for every verdict, \
because the answer is in the output. For hosts that can only be blocked by an exit code, it is 2. `gate install HOST` writes \
the configuration that calls this command.

Example:
  gate hook --host claude < message.json")]
pub(crate) struct HookArgs {
    /// The host [default: detected from the message]
    #[arg(long, value_name = "HOST", value_parser = hosts())]
    pub(crate) host: Option<Host>,
    /// Answer within this many seconds; must be less than the timeout of the host
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) deadline: Option<u64>,
}

const MCP_HELP: &str = "\
Tools: `verify` runs a gate, `explain` describes a finding code, `status` shows the last runs, `fix` lists the fixes that \
verifiers offer. The tools advise; hooks enforce (`gate install`).";

#[derive(Debug, Args)]
#[command(after_help = "\
Existing configuration is kept: settings are edited in place, and an existing git hook still runs first. Installing twice \
changes nothing. Without a target, `gate` detects what this folder uses and asks.

Examples:
  gate install claude git
  gate doctor")]
pub(crate) struct InstallArgs {
    /// The targets
    #[arg(value_parser = targets())]
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The targets [default: all]
    #[arg(value_parser = targets())]
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Sends a sample that must be blocked through each installed hook, with the same command line, in a shell with an empty \
PATH. Exit code 0: everything works. Exit code 1: something does not.")]
pub(crate) struct DoctorArgs {
    /// Reinstall broken hooks
    #[arg(long)]
    pub(crate) fix: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GitHookArgs {
    /// The hook: pre-commit, commit-msg or pre-push
    pub(crate) name: String,
    /// The arguments from git
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// The names of the places where a gate can be installed.
fn targets() -> impl TypedValueParser<Value = Target> {
    let parser = PossibleValuesParser::new(Target::ALL.iter().map(|target| target.as_str()));
    parser.map(|name| Target::named(&name).unwrap_or(Target::Git))
}

/// The names of the hosts.
fn hosts() -> impl TypedValueParser<Value = Host> {
    let parser = PossibleValuesParser::new(Host::ALL.iter().map(|host| host.as_str()));
    parser.map(|name| Host::named(&name).unwrap_or(Host::Claude))
}

#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a Markdown file of task blocks (`- [ ] 1.1 TITLE` with **Files**, **Done when**, **Verify**, **Commit** and \
**Depends on** below it) or of tags (`<task id=\"1\">` with <name>, <files>, <verify>, <done>, <depends>). Vague \
criteria, commands that cannot fail, duplicate ids and cyclic dependencies are errors: exit code 1.

Example:
  gate check-plan tasks.md")]
pub(crate) struct CheckPlanArgs {
    /// The plan
    pub(crate) file: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Fixes are tried in a copy of the work. `gate` keeps them only if a finding is gone, no finding is new, and no check has a \
worse result. It shows the diff and asks before it writes; without a terminal, use `--yes`. The exit code is that of the \
gate on the resulting work.

Examples:
  gate fix
  gate fix commit --yes")]
pub(crate) struct FixArgs {
    /// The gate [default: as for `gate run`]
    pub(crate) gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Fix these files or folders
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["all_files", "since"])]
    pub(crate) files: Vec<PathBuf>,
    /// Fix every file that git tracks or would track
    #[arg(long, conflicts_with = "since")]
    pub(crate) all_files: bool,
    /// Fix what differs between this commit and the working tree
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,
    /// Write the fixes without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// How to print what a loop came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoopFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The executor runs in this folder with your terminal, network and environment; it is not sandboxed. When it exits, `gate` \
kills everything that it started and checks all changes since the loop began, with the gate.toml and the verifiers of that \
moment. Until the gate passes, the executor runs again. It gets the feedback in $GATE_FEEDBACK and the file \
$GATE_FEEDBACK_FILE (both empty at first), the attempt number in $GATE_ATTEMPT, and the task in $GATE_TASK and \
$GATE_TASK_ID. The end of its stdout is its claim. An executor that fails or changes nothing does not pass.

Exit codes:
  0    completed: the gate passed
  1    verification_failed: a budget was used up
  2    usage, configuration or input error
  3    blocked, escalated or halted: human review is needed
  130, 143, 129  interrupted by SIGINT, SIGTERM or SIGHUP

Examples:
  gate loop -- ./fix.sh
  gate loop commit --max-bounces 3 -- claude -p 'Fix the build. {feedback}'
  gate loop --verify 'npm test' -- claude -p 'Make the tests pass. {feedback}'
  gate loop --stdin -- codex exec -
  gate loop --plan tasks.md --commit -- claude -p 'Do this task: {task} {feedback}'
  gate loop --runs 3 --task 'Add a parser' -- claude -p '{task} {feedback}'
  gate loop --format json -- sh -c 'make generate'")]
pub(crate) struct LoopArgs {
    /// The gate [default: as for `gate run`]
    pub(crate) gate: Option<String>,
    /// The executor and its arguments; `{feedback}` and `{task}` in an argument stand for the feedback and the task
    #[arg(last = true, required = true, value_name = "EXECUTOR")]
    pub(crate) executor: Vec<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Run this command instead of a gate; exit code 0 passes. The command is split into words without a shell
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["gate", "config"])]
    pub(crate) verify: Option<String>,
    /// Send the work back at most this many times [default: `max_bounces` of `[loop]`, or 2]
    #[arg(long, value_name = "N")]
    pub(crate) max_bounces: Option<u32>,
    /// Time limit of one attempt, at most 15m [default: `executor_timeout` of `[loop]`, or 5m]
    #[arg(long, value_name = "TIME")]
    pub(crate) executor_timeout: Option<String>,
    /// Pass the feedback to the executor on stdin
    #[arg(long)]
    pub(crate) stdin: bool,
    /// The task: an id of the plan, a file that contains a task, or a description
    #[arg(long, value_name = "ID|FILE|TEXT", conflicts_with = "batch")]
    pub(crate) task: Option<String>,
    /// Follow this plan of tasks, as read from the last commit: the task of `--task`, the tasks of `--batch`, or every open
    /// task in order, until one does not complete [default: `file` of `[plan]`]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) plan: Option<Option<PathBuf>>,
    /// Treat these tasks of the plan as one task; without ids, the next tasks that may run in parallel
    #[arg(long, value_name = "ID", num_args = 0.., value_delimiter = ',')]
    pub(crate) batch: Option<Vec<String>>,
    /// Run the loop this many times, each in its own copy of the work, and keep the result of the majority
    #[arg(long, value_name = "N", conflicts_with_all = ["commit", "insert_fix_tasks"])]
    pub(crate) runs: Option<u32>,
    /// Stop after this many rejections by a reviewer [default: `review_iterations` of `[loop]`, or 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) review_iterations: Option<u32>,
    /// Stop after this many evaluations [default: `max_iterations` of `[loop]`, or 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) max_iterations: Option<u32>,
    /// Stop when all attempts together used this many tokens, as reported by transcripts and models
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Stop when all attempts together cost this much, as reported by transcripts and configured prices
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_cost: Option<String>,
    /// Apply the fixes that verifiers offer before sending the work back
    #[arg(long)]
    pub(crate) fix: bool,
    /// Commit work that passes without a mark, with the commit message of its task
    #[arg(long)]
    pub(crate) commit: bool,
    /// Insert a fix task into this plan for each reviewer finding that goes back to the executor
    #[arg(long, value_name = "FILE")]
    pub(crate) insert_fix_tasks: Option<PathBuf>,
    /// Run checks up to this tier only
    #[arg(long, value_name = "N", value_parser = tier)]
    pub(crate) tier: Option<u32>,
    /// Ignore cached results
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Do not record the loop in the ledger
    #[arg(long)]
    pub(crate) no_ledger: bool,
    /// Record model requests and responses to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_models")]
    pub(crate) record_models: Option<PathBuf>,
    /// Answer model requests from a file that `--record-models` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) replay_models: Option<PathBuf>,
    /// Record the results of commands to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_commands")]
    pub(crate) record_commands: Option<PathBuf>,
    /// Take the results of commands from a file that `--record-commands` wrote, instead of running them
    #[arg(long, value_name = "FILE")]
    pub(crate) replay_commands: Option<PathBuf>,
    /// Write events to this file, one JSON document per line; - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: LoopFormat,
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

#[derive(Debug, Args)]
#[command(after_help = "\
The digest covers the rules, the settings, the limits and the bytes of every verifier. Machines that print the same \
digest make the same decisions.

Examples:
  gate plan
  gate plan commit --format json")]
pub(crate) struct PlanArgs {
    /// The gate [default: as for `gate run`]
    pub(crate) gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "`gate plan` shows what they mean, `gate inspect` lists the bundled verifiers.")]
pub(crate) struct List {
    /// Use this configuration instead of the gate.toml that `gate run` would take
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The gates are tried before they are written: files that are broken on purpose, vendored and generated folders are left out, \
tests get what they need, and each decision is told. Tests run for three minutes at most. It never overwrites a file.")]
pub(crate) struct InitArgs {
    /// Convert the hooks of this file: `.pre-commit-config.yaml` or `lefthook.yml`
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Print the file instead of writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not try the gates: no check and no test is run
    #[arg(long)]
    pub(crate) no_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate schema gate > gate.schema.json
  gate schema submission --example > done.json
  gate schema review-prompt --example > review.md")]
pub(crate) struct SchemaArgs {
    /// The document
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
    /// Print an example to start from instead
    #[arg(long)]
    pub(crate) example: bool,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// gate.toml
    Gate,
    /// The document of `gate run --submission`
    Submission,
    /// The document that `gate run --format json` prints
    Record,
    /// The document that it prints instead after a usage, configuration or input error
    Mistake,
    /// The document that `gate loop --format json` prints
    Loop,
    /// One line of `gate run --events`
    Event,
    /// The input of a program that is used as a verifier
    ProgramInput,
    /// The output of such a program
    ProgramOutput,
    /// The document of `gate run --evaluator`; only with `--example`
    Transcript,
    /// The prompt of a reviewer; only with `--example`
    ReviewPrompt,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate inspect json-syntax
  gate inspect ./check.wasm --format json")]
pub(crate) struct InspectArgs {
    /// A bundled verifier, or the path of a component [default: list the bundled verifiers]
    pub(crate) component: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The result is cached in $GATE_CACHE_DIR, else in `gatehost` under $XDG_CACHE_HOME or ~/.cache.

Example:
  gate compile checks/*.wasm")]
pub(crate) struct CompileArgs {
    /// The components
    #[arg(required = true, value_name = "COMPONENT")]
    pub(crate) components: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A case is a folder below `cases/`. It has `input/` with files (a file verifier checks each; for a submission verifier they \
are the workspace) or `submission.json`, and `expected.json` with the verdict. Optional are `settings.json`, `commands.json` \
and `models.json` (the answers of commands and models). A verifier is granted what it imports.

Examples:
  gate test                               the project in this folder
  gate test --bless                       write the current verdicts as expected
  gate test . comma                       the cases with `comma` in their names
  gate test ./mine.wasm --cases ./cases   a component that was built elsewhere")]
pub(crate) struct TestArgs {
    /// A folder with a gate-verifier.toml, or a component
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: String,
    /// Run only the cases with this text in their names
    pub(crate) name: Option<String>,
    /// The folder of the cases [default: `cases` in the project, or next to the component]
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// Write the current verdict into each expected.json
    #[arg(long)]
    pub(crate) bless: bool,
    /// Run only the cases, not the rules for every verifier
    #[arg(long)]
    pub(crate) no_conformance: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The project has a sample verifier, cases for `gate test`, and the contract (`wit/`). If a tool of the \
language is missing, `gate new` prints the command that installs it; it writes the project in any case.

Examples:
  gate new no-todo --lang rust
  gate new mentions-all --lang python --shape submission
  gate new --list")]
pub(crate) struct NewArgs {
    /// The name of the verifier and of its folder: lower-case words joined by `-`
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// The language
    #[arg(long, value_enum, required_unless_present = "list")]
    pub(crate) lang: Option<Language>,
    /// What the verifier checks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) shape: ShapeOf,
    /// List the languages, and the missing tools of each
    #[arg(long, conflicts_with_all = ["name", "lang"])]
    pub(crate) list: bool,
}

/// What a verifier judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeOf {
    /// One file at a time
    #[default]
    File,
    /// The whole submission: task, claim, tool calls and changes
    Submission,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Times are medians with their 95 % confidence intervals. Each call uses a fresh instance with all limits on. The ratio \
compares with a verifier that does nothing, measured alternately.

Examples:
  gate bench
  gate bench ./mine.wasm --cases ./cases --format json")]
pub(crate) struct BenchArgs {
    /// A folder with a gate-verifier.toml, or a component
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: String,
    /// Run only the cases with this text in their names
    pub(crate) name: Option<String>,
    /// The folder of the cases [default: `cases` in the project, or next to the component]
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The project's gate-verifier.toml names the language and the component to build. The component is \
checked as before every run.

Examples:
  gate build
  gate build no-todo --release")]
pub(crate) struct BuildArgs {
    /// The project: a folder with a gate-verifier.toml
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: PathBuf,
    /// Optimise the component
    #[arg(long)]
    pub(crate) release: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gate completions bash > ~/.local/share/bash-completion/completions/gate")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
