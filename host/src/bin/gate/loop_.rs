//! `gate loop`: arguments in, the record of a loop out.

use crate::args::{EventsTo, Global, OutputFormat, tier};
use crate::error::{Error, Make as _};
use crate::recording::RecordingArgs;
use crate::run::{self, Watcher};
use crate::setup;
use crate::tasks::{self, LoopJob};
use crate::terminal::{self, say};
use anyhow::anyhow;
use clap::Args;
use gatehost::changes::Selection;
use gatehost::config;
use gatehost::environment::Environment;
use gatehost::event::{Event, EventKind, Observer};
use gatehost::looping::{self, InterruptedLoop, LoopRecord, LoopRequest, State};
use gatehost::report::{self, Style};
use gatehost::session::{LedgerUse, Policy, Request};
use gatehost::text::{clean_line, json_line, write_json};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

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
  gate loop --plan tasks.md --commit -- claude -p 'Do {task}. {feedback}'
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
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// Write events to this file, one JSON document per line, and replace earlier events; - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// Runs a loop. The exit code is that of the state in which the loop ended.
pub(crate) fn run(global: &Global, command: &LoopArgs) -> Result<ExitCode, Error> {
    resumed(global, command, None)
}

/// Runs a loop, or resumes an interrupted one.
pub(crate) fn resumed(
    global: &Global,
    command: &LoopArgs,
    resume: Option<&InterruptedLoop>,
) -> Result<ExitCode, Error> {
    let ran = run_loop(global, command, resume);
    if let (Err(error), OutputFormat::Json) = (&ran, command.format) {
        report::mistake(&mut io::stdout().lock(), error)?;
    }
    ran
}

fn run_loop(global: &Global, command: &LoopArgs, resume: Option<&InterruptedLoop>) -> Result<ExitCode, Error> {
    if resume.is_some() && command.recording.is_any() {
        return Err(Error::usage(
            "a loop that records or replays commands or models cannot be resumed, because the recording would start again",
        ));
    }
    let mut wanted = wanted(global, command)?;
    if let Some(resume) = resume {
        // The executor may have committed since, so the plan is read from the base commit of the loop.
        wanted.request.selection = Selection::Base(resume.base.clone());
    }
    let (jobs, is_plan) = tasks::jobs(global, command, &wanted.request, resume)?;
    let host = setup::host(global, &wanted.request.environment)?;
    let lines = Arc::new(LoopLines { watcher: Watcher::of(global, command.events.as_ref())?, quiet: global.quiet });
    let mut code = State::Completed.exit_code();
    for LoopJob { task, resume } in jobs {
        if let Some(task) = task.as_ref().filter(|task| !task.id.is_empty()) {
            say(format_args!("[loop] task {}: {}", clean_line(&task.id, 60), clean_line(&task.title, 200)));
        }
        let mut wanted = wanted.clone();
        wanted.request.submission.task = task;
        wanted.resume = resume;
        let lines = Arc::clone(&lines);
        let observer = move |event: &Event| lines.event(event);
        let record = match command.runs {
            Some(runs) => looping::run_independently(&host, wanted, runs, observer)?,
            None => looping::run(&host, wanted, observer)?,
        };
        print(global, command, &record, is_plan)?;
        if !is_plan {
            run::announce(global, &record.policy, "was");
        }
        code = record.state.exit_code();
        // Later tasks may depend on this one.
        if record.state != State::Completed {
            break;
        }
    }
    lines.watcher.written()?;
    Ok(ExitCode::from(code))
}

fn wanted(global: &Global, command: &LoopArgs) -> Result<LoopRequest, Error> {
    let mut request = Request::new(&global.directory, Environment::of_process());
    request.policy = match (&command.verify, &command.config) {
        (Some(line), _) => run::verify(Some(line))?,
        (None, Some(path)) => Policy::File(path.clone()),
        (None, None) => Policy::Nearest,
    };
    request.commands = command.recording.commands(global)?;
    request.gate.clone_from(&command.gate);
    request.tasks = command.plan.clone().flatten();
    request.models = command.recording.models();
    request.use_cache = !command.no_cache;
    request.ledger = if command.no_ledger { LedgerUse::Unrecorded } else { LedgerUse::StateFolder };
    let mut wanted = LoopRequest::new(request, command.executor.clone());
    wanted.feedback_on_stdin = command.stdin;
    wanted.budgets.max_bounces = command.max_bounces;
    wanted.budgets.review_iterations = command.review_iterations;
    wanted.budgets.max_iterations = command.max_iterations;
    wanted.budgets.max_tokens = command.max_tokens;
    wanted.budgets.max_cost = command.max_cost.as_deref().map(cost).transpose()?;
    wanted.budgets.fix = command.fix.then_some(true);
    wanted.commit = command.commit;
    wanted.insert_fix_tasks.clone_from(&command.insert_fix_tasks);
    // Arguments that are not UTF-8 cannot be stored, so such a loop cannot be resumed.
    let arguments: Option<Vec<String>> =
        std::env::args_os().skip(1).map(|argument| argument.into_string().ok()).collect();
    wanted.arguments = arguments.unwrap_or_default();
    wanted.budgets.executor_timeout = match &command.executor_timeout {
        None => None,
        Some(text) => Some(config::LoopConfig::parse_timeout(text).ok_or_else(|| {
            let expected = "expected a duration up to `15m`, such as `90s` or `5m`";
            Error::mistake(anyhow!("`--executor-timeout {}`: {expected}", clean_line(text, 60)))
        })?),
    };
    wanted.keep_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
    if !global.quiet {
        // Stdout is for the report. If stderr cannot be written, there is nobody to tell.
        wanted.output = Arc::new(|bytes| {
            let _ = io::stderr().lock().write_all(bytes);
        });
    }
    Ok(wanted)
}

/// Reads an amount of money, in thousandths.
fn cost(text: &str) -> Result<u64, Error> {
    let amount = text.parse::<f64>().ok().filter(|amount| (0.0..=1e6).contains(amount));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range above")]
    let milli = amount.map(|amount| (amount * 1e3).round() as u64);
    milli.ok_or_else(|| {
        let shown = clean_line(text, 60);
        Error::mistake(anyhow!("`--max-cost {shown}`: expected an amount from 0 to 1000000, such as `1.50`"))
    })
}

fn print(global: &Global, command: &LoopArgs, record: &LoopRecord, is_plan: bool) -> Result<(), Error> {
    let mut out = terminal::stdout();
    match command.format {
        OutputFormat::Json => {
            // For a plan: one document per task, each on one line.
            match is_plan {
                true => writeln!(out, "{}", json_line(record)?)?,
                false => write_json(&mut out, record)?,
            }
        }
        // If events go to stdout, nothing else does.
        OutputFormat::Human if command.events == Some(EventsTo::Stdout) => {}
        OutputFormat::Human => {
            if let Some(last) = &record.record {
                let color = terminal::color(global.color, &io::stdout());
                report::human(&mut out, last, Style { color, verbose: global.verbose, quiet: global.quiet })?;
            }
            writeln!(out, "{}", summary(record))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Returns the result of a loop in words, such as `loop: completed after 2 attempts, sent back once`.
fn summary(record: &LoopRecord) -> String {
    let attempts = terminal::count(record.attempts.len(), "attempt");
    let bounced = match record.bounces {
        0 => String::new(),
        1 => ", sent back once".to_owned(),
        more => format!(", sent back {more} times"),
    };
    let why = match record.state {
        State::Completed => String::new(),
        _ => format!("\n  {}", clean_line(&record.why, 500)),
    };
    let budget = record.budget.as_ref().map(|budget| format!(" ({budget})")).unwrap_or_default();
    let mut text = format!("loop: {} after {attempts}{bounced}{budget}{why}", record.state);
    let trees = record
        .runs
        .iter()
        .map(|run| run.tree.as_deref().unwrap_or("unknown"))
        .collect::<std::collections::BTreeSet<_>>();
    if !record.runs.is_empty() {
        let results = terminal::count(trees.len(), "result");
        text.push_str(&format!("\n  {} gave {results}", terminal::count(record.runs.len(), "run")));
    }
    for warning in &record.warnings {
        text.push_str(&format!("\n  warning: {}", clean_line(warning, 500)));
    }
    if let Some(commit) = &record.commit {
        text.push_str(&format!("\n  committed as {}", clean_line(commit, 80)));
    }
    text
}

/// Prints events to stderr, one line each.
struct LoopLines {
    watcher: Watcher,
    quiet: bool,
}

impl Observer for LoopLines {
    fn event(&self, event: &Event) {
        if !self.quiet
            && let Some(line) = line(event)
        {
            self.watcher.say(&line);
        }
        self.watcher.event(event);
        if matches!(event.what, EventKind::RunEnded { .. }) {
            self.watcher.finish();
        }
    }
}

fn line(event: &Event) -> Option<String> {
    let attempt = event.attempt.unwrap_or_default();
    Some(match &event.what {
        EventKind::ExecutorStarted { .. } => format!("[loop] attempt {attempt}"),
        EventKind::ExecutorEnded { outcome, exit_code, signal, .. } if outcome != "success" => {
            let code = exit_code.map(|code| format!(", exit code {code}"));
            let signal = signal.map(|signal| format!(", signal {signal}"));
            format!("[loop] executor: {outcome}{}", code.or(signal).unwrap_or_default())
        }
        EventKind::Verification { check, outcome, reason, findings } => {
            let findings =
                if *findings > 0 { format!(", {}", terminal::count(*findings, "finding")) } else { String::new() };
            let reason = if reason.is_empty() { String::new() } else { format!(" ({})", clean_line(reason, 200)) };
            format!("[verify] {}: {}{findings}{reason}", clean_line(check, 120), outcome.as_str())
        }
        EventKind::LoopResumed { attempts, .. } => {
            format!(
                "[loop] resumed after {}",
                terminal::count(usize::try_from(*attempts).unwrap_or(usize::MAX), "attempt")
            )
        }
        EventKind::EvaluatorStarted { iteration } => format!("[loop] evaluation {iteration}"),
        EventKind::EvaluatorEnded { outcome, .. } if outcome != "success" => format!("[loop] evaluator: {outcome}"),
        EventKind::Fixed { files } => format!("[loop] fixed {}", clean_line(&files.join(", "), 500)),
        EventKind::Bounce { number, allowed, class, .. } => {
            let class = if class.is_empty() { String::new() } else { format!(": {class}") };
            format!("[loop] sent back, {number} of {allowed}{class}")
        }
        EventKind::Logged { check, message, .. } if check == "loop" => format!("[loop] {}", clean_line(message, 500)),
        EventKind::Escalation { trigger, why, .. } => {
            format!("[loop] needs human review ({trigger}): {}", clean_line(why, 500))
        }
        _ => return None,
    })
}
