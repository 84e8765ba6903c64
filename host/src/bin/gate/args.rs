//! What the user said, as it was said.

use crate::languages::Language;
use crate::terminal::Color;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use gatehost::config::Grant;
use gatehost::hook::Host;
use gatehost::install::Target;
use gatehost::report::Format as ReportFormat;
use std::path::PathBuf;

/// Gates for the work of coding agents and people: verifiers run as sandboxed WebAssembly, and nothing but a pass passes.
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
  2  the caller's mistake: usage, configuration, input
  3  no verdict: an error, an abstention, or a person is needed
  130, 143  interrupted

Examples:
  gate init                         write a gate.toml for this repository
  gate run                          judge what changed since the last commit
  gate run --files a.json b.json    judge these files
  gate plan                         show what gate.toml means
  gate inspect ./check.wasm         what could this component ever do?";

/// Flags that every command has.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Work in this folder; all paths are relative to it
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
    /// Say more: every finding, what was cached or not judged, and what the verifiers logged
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Say less: only what did not pass
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge files or a submission by a gate
    Run(Box<Run>),
    /// Run an executor, judge what it did, and send it back with feedback until it passes
    Loop(Box<Loop>),
    /// Look for what is wrong with a plan of tasks before anybody works by it
    CheckPlan(CheckPlan),
    /// Show what the configuration means, and its digest
    Plan(Plan),
    /// List the gates and checks of the configuration
    List(List),
    /// Print the record of a run in another format
    Report(Report),
    /// Answer the hook of a coding agent: run a gate, and send the agent back until it passes
    Hook(Hook),
    /// Put gates into coding agents, git hooks and CI
    Install(Install),
    /// Take gates out again, and restore what was there before
    Uninstall(Uninstall),
    /// Prove that every installed hook blocks, and find what keeps gates from working
    Doctor(Doctor),
    /// Serve the Model Context Protocol over standard input and output
    #[command(after_help = MCP_HELP)]
    Mcp,
    /// Answer a hook of git
    #[command(hide = true)]
    GitHook(GitHook),
    /// The child process of `gate hook`
    #[command(hide = true)]
    HookRun,
    /// Write a gate.toml for this repository
    Init(Init),
    /// Print a JSON Schema
    Schema(Schema),
    /// Show what a component is and what it could ever do
    Inspect(Inspect),
    /// Compile components ahead, so that no run has to
    Compile(Compile),
    /// Start a verifier: a little project in the language of your choice
    New(New),
    /// Build a verifier's project into a component that fits the contract
    Build(Build),
    /// Try a verifier: its own cases, and the promises that every verifier makes
    Test(Test),
    /// Measure what a verifier costs for its own cases
    Bench(Bench),
    /// Show the entries of the ledger, check them, or drop old ones
    Log(crate::log::Log),
    /// Show where each task is
    Status(crate::status::Status),
    /// Show everything that is known about a run
    Explain(crate::explain::Explain),
    /// Show totals over the runs of this project
    Stats(crate::stats::Command),
    /// Answer an escalation
    Resume(crate::resume::Resume),
    /// Let a task through without a pass, for a reason
    Skip(crate::skip::Skip),
    /// Let a task through whatever was found, in an emergency
    Force(crate::skip::Force),
    /// Tell whether this change was passed by this gate, from the ledger
    Verify(crate::verify::Verify),
    /// Print a signed statement of what a run came to
    Attest(crate::attest::Attest),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// How to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Human,
    /// One JSON document.
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without a gate.toml, the default gate runs: every bundled syntax verifier. Without a choice of files, what differs from \
the last commit is judged, untracked files included; outside a repository, every file of the folder, whatever its ignore \
files say. The files that a submission names are judged besides; outside a repository, instead. They do not go with a \
choice of files.

Examples:
  gate run                                   what changed since the last commit
  gate run commit --staged                   the gate `commit`, for what is about to be committed
  gate run --from-ref main --to-ref HEAD     what a branch changed
  gate run --since main                      what a branch changed, with what is not committed yet
  gate run --all-files --format json         everything, as one JSON document
  gate run --submission done.json            a task, a claim and what was done
  gate run --verifier ./mine.wasm --files a  try a verifier")]
pub(crate) struct Run {
    /// The gate; without a name, the only one, the one named `default`, or the only one that is not part of another
    pub(crate) gate: Option<String>,
    /// Use this configuration instead of the gate.toml in this folder or above it in its repository
    #[arg(short, long, value_name = "FILE", conflicts_with = "verifier")]
    pub(crate) config: Option<PathBuf>,
    /// Use the configuration of this commit, with everything that it names; a change that touches it needs a person
    #[arg(long, value_name = "REF", conflicts_with_all = ["config", "verifier"])]
    pub(crate) policy_from: Option<String>,
    /// Judge these files or folders; of a folder in a repository, what git tracks or would track
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["all_files", "staged", "since", "from_ref"])]
    pub(crate) files: Vec<PathBuf>,
    /// Judge every file that git tracks or would track
    #[arg(long, conflicts_with_all = ["staged", "since", "from_ref"])]
    pub(crate) all_files: bool,
    /// Judge what is in the index
    #[arg(long, conflicts_with_all = ["since", "from_ref"])]
    pub(crate) staged: bool,
    /// Judge every difference between this commit and the working tree: later commits, staged, unstaged and untracked
    /// files; if the commit is not an ancestor of HEAD, their merge base is used
    #[arg(long, value_name = "REF", conflicts_with = "from_ref")]
    pub(crate) since: Option<String>,
    /// Judge what changed since the merge base with `--to-ref`
    #[arg(long, value_name = "REF")]
    pub(crate) from_ref: Option<String>,
    /// The commit whose files are judged
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "from_ref", hide_default_value = true)]
    pub(crate) to_ref: String,
    /// What is judged, as a JSON or YAML document: a file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["claim", "task", "tier"])]
    pub(crate) submission: Option<PathBuf>,
    /// What was asked for, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// What the executor says that it did: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) claim: Option<PathBuf>,
    /// What a separate evaluator said: the JSON Lines that `claude -p --output-format stream-json` or `codex exec
    /// --json` printed; a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluator: Option<PathBuf>,
    /// Verify up to this tier only
    #[arg(long, value_name = "N", value_parser = tier)]
    pub(crate) tier: Option<u32>,
    /// Run only these checks; the record says that others were left out
    #[arg(long, value_name = "CHECK", num_args = 1.., conflicts_with = "skip")]
    pub(crate) only: Vec<String>,
    /// Leave out these checks; the record says so
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
    /// Use these verifiers instead of a gate: a bundled name or the path of a component, with `@sha256:HEX` to pin it
    #[arg(long, value_name = "VERIFIER", conflicts_with = "gate")]
    pub(crate) verifier: Vec<String>,
    /// Judge by this command alone, which must end with exit code 0, instead of a gate; it is split without a shell
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["gate", "config", "verifier"])]
    pub(crate) verify: Option<String>,
    /// Settings of the verifier, as a JSON object
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
    /// Record what commands come to, to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_commands")]
    pub(crate) record_commands: Option<PathBuf>,
    /// Run no command, and take what each comes to from a file that `--record-commands` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) replay_commands: Option<PathBuf>,
    /// Write what happens while the gate runs, a JSON document a line, to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// How to print the verdict
    #[arg(long, default_value = "human", hide_default_value = true, value_parser = formats())]
    pub(crate) format: ReportFormat,
    /// Also write a report to a file; can be repeated
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
  gate report run.json --format sarif --output junit=junit.xml")]
pub(crate) struct Report {
    /// The run: its identifier in the ledger, `last`, or a file that `gate run --format json` wrote; - for standard input
    pub(crate) run: PathBuf,
    /// How to print it
    #[arg(long, default_value = "human", hide_default_value = true, value_parser = formats())]
    pub(crate) format: ReportFormat,
    /// Also write a report to a file; can be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    pub(crate) output: Vec<OutputTo>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The host's message is read from standard input; what the host is to do is printed in its dialect. The exit code is 0 \
whatever the verdict is, except where a host knows no other way to block: then it is 2. `gate install HOST` writes the \
configuration that calls this.

Example:
  gate hook --host claude < message.json")]
pub(crate) struct Hook {
    /// The host; without it, it is recognised by its message
    #[arg(long, value_name = "HOST", value_parser = hosts())]
    pub(crate) host: Option<Host>,
    /// Answer within so many seconds; must be less than the host waits
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) deadline: Option<u64>,
}

const MCP_HELP: &str = "\
Tools: `verify` runs a gate, `explain` says what a code means, `status` shows the last run, `fix` lists the repairs that \
verifiers offer. The tools advise; hooks enforce (`gate install`).";

#[derive(Debug, Args)]
#[command(after_help = "\
What is there is kept: settings are edited in place, a git hook that was there before still runs first. Installing twice \
changes nothing. Without a name, what is used in this folder is found, and you are asked.

Examples:
  gate install claude git
  gate doctor")]
pub(crate) struct Install {
    /// Where
    #[arg(value_parser = targets())]
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Where from; without a name, everywhere
    #[arg(value_parser = targets())]
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A sample that must be blocked is sent through each hook as it is installed: the very command line, in a shell, with an \
empty PATH. Exit code 0 means that everything works, 1 that something does not.")]
pub(crate) struct Doctor {
    /// Install again what is broken
    #[arg(long)]
    pub(crate) fix: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GitHook {
    /// The hook: pre-commit, commit-msg or pre-push
    pub(crate) name: String,
    /// What git hands over
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
**Depends on** below it) or of tags (`<task id=\"1\">` with <name>, <files>, <verify>, <done>, <depends>). Criteria that \
nothing can fail, commands that prove nothing, ids that are used twice and tasks that wait for each other are errors: exit \
code 1.

Example:
  gate check-plan tasks.md")]
pub(crate) struct CheckPlan {
    /// The plan
    pub(crate) file: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
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
The executor runs in this folder, with its terminal, its network and its environment; it is not confined. When it ends, \
everything that it started is ended, and every difference from the commit at which the loop began is judged, by the \
gate.toml and the verifiers of that moment. Unless all of it passes, the executor is run again. It finds the feedback in \
$GATE_FEEDBACK and in the file $GATE_FEEDBACK_FILE, both empty at first, the number of the attempt in $GATE_ATTEMPT, and the task in $GATE_TASK and $GATE_TASK_ID. \
The end of its standard output is its claim. An executor that fails, or changes nothing, does not pass.

Exit codes:
  0    completed: the gate passed
  1    verification_failed: a budget was used up
  2    the caller's mistake: usage, configuration, input
  3    blocked, escalated or halted: a person is needed
  130  interrupted

Examples:
  gate loop -- ./fix.sh
  gate loop commit --max-bounces 3 -- claude -p 'Fix the build. {feedback}'
  gate loop --verify 'npm test' -- claude -p 'Make the tests pass. {feedback}'
  gate loop --stdin -- codex exec -
  gate loop --plan tasks.md -- claude -p 'Do this task: {task} {feedback}'
  gate loop --format json -- sh -c 'make generate'")]
pub(crate) struct Loop {
    /// The gate; chosen as `gate run` does
    pub(crate) gate: Option<String>,
    /// The executor and its arguments; `{feedback}` and `{task}` in an argument stand for the feedback and the task
    #[arg(last = true, required = true, value_name = "EXECUTOR")]
    pub(crate) executor: Vec<String>,
    /// Use this configuration instead of the gate.toml that `gate run` would take
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Judge by this command alone, which must end with exit code 0, instead of a gate; it is split without a shell
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["gate", "config"])]
    pub(crate) verify: Option<String>,
    /// Send the work back at most so often [default: `max_bounces` of `[loop]`, or 2]
    #[arg(long, value_name = "N")]
    pub(crate) max_bounces: Option<u32>,
    /// How long one attempt of the executor may take, at most 15m [default: `executor_timeout` of `[loop]`, or 5m]
    #[arg(long, value_name = "TIME")]
    pub(crate) executor_timeout: Option<String>,
    /// Hand the feedback to the executor on its standard input
    #[arg(long)]
    pub(crate) stdin: bool,
    /// What was asked for, in words; with `--plan`, the id of a task of it
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Work by this plan, which is read before the executor runs: the task of `--task`, or every task that is not checked,
    /// one after the other until one does not complete
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Verify up to this tier only
    #[arg(long, value_name = "N", value_parser = tier)]
    pub(crate) tier: Option<u32>,
    /// Ignore cached results
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Do not record the loop in the ledger
    #[arg(long)]
    pub(crate) no_ledger: bool,
    /// Record what commands come to, to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_commands")]
    pub(crate) record_commands: Option<PathBuf>,
    /// Run no command, and take what each comes to from a file that `--record-commands` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) replay_commands: Option<PathBuf>,
    /// Write what happens, a JSON document a line, to this file; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// How to print what it came to
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
Two machines that print the same digest decide alike: the digest covers the rules, the settings, the limits and the \
bytes of every verifier.

Examples:
  gate plan
  gate plan commit --format json")]
pub(crate) struct Plan {
    /// The gate; chosen as `gate run` does
    pub(crate) gate: Option<String>,
    /// Use this configuration instead of the gate.toml that `gate run` would take
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "`gate plan` shows what they mean, `gate inspect` lists the bundled verifiers.")]
pub(crate) struct List {
    /// Use this configuration instead of the gate.toml that `gate run` would take
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The gates are tried before they are written: files that are broken on purpose, vendored and generated folders are left out, \
tests get what they need, and each decision is told. Tests run for three minutes at most. It never overwrites a file.")]
pub(crate) struct Init {
    /// Take over the hooks of this file: `.pre-commit-config.yaml` or `lefthook.yml`
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
pub(crate) struct Schema {
    /// Of what
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
    /// The document that it prints where the caller made a mistake
    Mistake,
    /// The document that `gate loop --format json` prints
    Loop,
    /// A line of `gate run --events`
    Event,
    /// What a program reads that is used as a verifier
    ProgramInput,
    /// What such a program prints
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
pub(crate) struct Inspect {
    /// A bundled verifier or the path of a component; without one, the bundled verifiers are listed
    pub(crate) component: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The code is kept in $GATE_CACHE_DIR, else in `gatehost` under $XDG_CACHE_HOME or ~/.cache.

Example:
  gate compile checks/*.wasm")]
pub(crate) struct Compile {
    /// The components
    #[arg(required = true, value_name = "COMPONENT")]
    pub(crate) components: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A case is a folder below `cases/`: `input/` with files (a file verifier judges each; for a submission verifier they are the \
workspace) or `submission.json`; optional are `settings.json`, `commands.json` and `models.json` (what commands and models \
answer); `expected.json` is what must come of it. A verifier is granted what it imports.

Examples:
  gate test                               the project in this folder
  gate test --bless                       expect from now on what it says now
  gate test . comma                       only the cases with `comma` in their names
  gate test ./mine.wasm --cases ./cases   a component that was built elsewhere")]
pub(crate) struct Test {
    /// A folder with a gate-verifier.toml, or a component
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: String,
    /// Only the cases with this in their names
    pub(crate) name: Option<String>,
    /// The folder of the cases; without it, `cases` in the project, or beside the component
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// Write what it says now into each expected.json
    #[arg(long)]
    pub(crate) bless: bool,
    /// Only the cases, not the promises
    #[arg(long)]
    pub(crate) no_conformance: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The project has a sample verifier, cases for `gate test`, and the contract (`wit/`). Where the tools \
of the language are missing, the command that installs them is printed; the project is written all \
the same.

Examples:
  gate new no-todo --lang rust
  gate new mentions-all --lang python --shape submission
  gate new --list")]
pub(crate) struct New {
    /// The verifier's name, which is that of its folder: lower-case words joined by `-`
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// The language
    #[arg(long, value_enum, required_unless_present = "list")]
    pub(crate) lang: Option<Language>,
    /// Whether it judges single files or whole submissions
    #[arg(long, value_enum, default_value_t)]
    pub(crate) shape: ShapeOf,
    /// List the languages, and what each still needs here
    #[arg(long, conflicts_with_all = ["name", "lang"])]
    pub(crate) list: bool,
}

/// What a verifier judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeOf {
    /// One file at a time
    #[default]
    File,
    /// The task, the claim, the tool calls and the changes, all at once
    Submission,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Times are medians with the interval in which the true median lies with 95 % confidence, each call with a fresh instance and \
all limits on; the ratio is to the cheapest verifier that there can be, measured in turns with it.

Examples:
  gate bench
  gate bench ./mine.wasm --cases ./cases --format json")]
pub(crate) struct Bench {
    /// A folder with a gate-verifier.toml, or a component
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: String,
    /// Only the cases with this in their names
    pub(crate) name: Option<String>,
    /// The folder of the cases; without it, `cases` in the project, or beside the component
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
What is built, and how, is said by the project's gate-verifier.toml. The component is checked as \
before every run.

Examples:
  gate build
  gate build no-todo --release")]
pub(crate) struct Build {
    /// The project: a folder with a gate-verifier.toml
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: PathBuf,
    /// Optimise the component
    #[arg(long)]
    pub(crate) release: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gate completions bash > ~/.local/share/bash-completion/completions/gate")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
