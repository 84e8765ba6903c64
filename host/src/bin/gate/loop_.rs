//! `gate loop`: arguments in, the record of a loop out.

use crate::args::{EventsTo, Global, LoopArgs, LoopFormat};
use crate::error::{Error, Make as _};
use crate::run::{self, Watcher};
use crate::setup;
use crate::tasks::{self, LoopJob};
use crate::terminal::{self, say};
use anyhow::anyhow;
use gatehost::changes::Selection;
use gatehost::config;
use gatehost::environment::Environment;
use gatehost::event::{Event, EventKind, Observer};
use gatehost::looping::{self, InterruptedLoop, LoopRecord, LoopRequest, State};
use gatehost::report::{self, Style};
use gatehost::session::{LedgerUse, Policy, Request};
use gatehost::text::clean_line;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// The exit code is that of the state in which the loop ended.
pub(crate) fn run(global: &Global, command: &LoopArgs) -> Result<ExitCode, Error> {
    resumed(global, command, None)
}

/// The same for a loop that was cut off.
pub(crate) fn resumed(
    global: &Global,
    command: &LoopArgs,
    resume: Option<&InterruptedLoop>,
) -> Result<ExitCode, Error> {
    let ran = run_loop(global, command, resume);
    if let (Err(error), LoopFormat::Json) = (&ran, command.format) {
        report::mistake(&mut io::stdout().lock(), error)?;
    }
    ran
}

fn run_loop(global: &Global, command: &LoopArgs, resume: Option<&InterruptedLoop>) -> Result<ExitCode, Error> {
    let taped = [&command.record_models, &command.replay_models, &command.record_commands, &command.replay_commands];
    if resume.is_some() && taped.iter().any(|tape| tape.is_some()) {
        return Err(Error::usage("a loop with a tape cannot be resumed, since the tape would begin anew"));
    }
    let mut wanted = wanted(global, command)?;
    if let Some(resume) = resume {
        // The executor may have committed since: the plan is read from where the loop began.
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
        // What comes later may rest on it.
        if record.state != State::Completed {
            break;
        }
    }
    Ok(ExitCode::from(code))
}

fn wanted(global: &Global, command: &LoopArgs) -> Result<LoopRequest, Error> {
    let mut request = Request::new(&global.directory, Environment::of_process());
    request.policy = match (&command.verify, &command.config) {
        (Some(line), _) => run::verify(Some(line))?,
        (None, Some(path)) => Policy::File(path.clone()),
        (None, None) => Policy::Nearest,
    };
    request.commands =
        run::command_tape(global, command.record_commands.as_deref(), command.replay_commands.as_deref())?;
    request.gate.clone_from(&command.gate);
    request.models = run::model_tape(command.record_models.as_deref(), command.replay_models.as_deref());
    request.use_cache = !command.no_cache;
    request.ledger = if command.no_ledger { LedgerUse::Off } else { LedgerUse::StateFolder };
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
    // Arguments that are no text cannot be kept, and then the loop cannot be resumed.
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
        // Standard output is the report's. Where standard error cannot be written, there is nobody to tell.
        wanted.output = Arc::new(|bytes| {
            let _ = io::stderr().lock().write_all(bytes);
        });
    }
    Ok(wanted)
}

/// An amount of money, in thousandths.
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
    let mut out = io::stdout().lock();
    match command.format {
        LoopFormat::Json => {
            // Of a plan, a document a line: one for each task.
            let written = match is_plan {
                true => serde_json::to_writer(&mut out, record),
                false => serde_json::to_writer_pretty(&mut out, record),
            };
            written.map_err(io::Error::from)?;
            writeln!(out)?;
        }
        // Where the events go, nothing else does.
        LoopFormat::Human if command.events == Some(EventsTo::Stdout) => {}
        LoopFormat::Human => {
            if let Some(last) = &record.record {
                let color = terminal::color(global.color, &out);
                report::human(&mut out, last, Style { color, verbose: global.verbose, quiet: global.quiet })?;
            }
            writeln!(out, "{}", summary(record))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// `loop: completed after 2 attempts, sent back once`.
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
        text.push_str(&format!("\n  {} came to {results}", terminal::count(record.runs.len(), "run")));
    }
    for warning in &record.warnings {
        text.push_str(&format!("\n  warning: {}", clean_line(warning, 500)));
    }
    if let Some(commit) = &record.commit {
        text.push_str(&format!("\n  committed as {}", clean_line(commit, 80)));
    }
    text
}

/// Tells what happens, a line each, on standard error.
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
        EventKind::Logged { check, message, .. } if check == "loop" => format!("[loop] {}", clean_line(message, 200)),
        EventKind::Escalation { trigger, why, .. } => {
            format!("[loop] needs human review ({trigger}): {}", clean_line(why, 500))
        }
        _ => return None,
    })
}
