//! `gate loop`: arguments in, the record of a loop out.

use crate::args::{EventsTo, Global, Loop, LoopFormat};
use crate::error::{Error, Make as _};
use crate::run::{self, Watcher};
use crate::terminal::{self, say};
use crate::{check_plan, setup, submission_args};
use anyhow::anyhow;
use gatehost::config;
use gatehost::event::{Event, Observer, What};
use gatehost::looping::{self, LoopRecord, LoopRequest, State};
use gatehost::report::{self, Style};
use gatehost::session::{LedgerUse, Policy, Request};
use gatehost::submission::{Task, TaskSource};
use gatehost::taskplan::PlannedTask;
use gatehost::text::clean_line;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// The exit code is that of the state in which the loop ended.
pub(crate) fn run(global: &Global, command: &Loop) -> Result<ExitCode, Error> {
    let ran = run_loop(global, command);
    if let (Err(error), LoopFormat::Json) = (&ran, command.format) {
        report::mistake(&mut io::stdout().lock(), error)?;
    }
    ran
}

fn run_loop(global: &Global, command: &Loop) -> Result<ExitCode, Error> {
    let wanted = wanted(global, command)?;
    let host = setup::host(global, &wanted.request.environment)?;
    let lines = Arc::new(Lines { watcher: Watcher::of(global, command.events.as_ref())?, quiet: global.quiet });
    let drive = |wanted| {
        let lines = Arc::clone(&lines);
        looping::run(&host, wanted, move |event: &Event| lines.event(event))
    };
    let Some(plan) = &command.plan else {
        let record = drive(wanted)?;
        print(global, command, &record)?;
        run::announce(global, &record.policy, "was");
        return Ok(ExitCode::from(record.state.exit_code()));
    };
    let mut code = State::Completed.exit_code();
    for task in tasks(check_plan::read(global, plan)?, command.task.as_deref(), plan)? {
        say(format_args!("[loop] task {}: {}", clean_line(&task.id, 60), clean_line(&task.title, 200)));
        let mut wanted = wanted.clone();
        wanted.request.submission.task =
            Some(Task { tier: command.tier.or(task.tier), source: TaskSource::Caller, ..task });
        let record = drive(wanted)?;
        print(global, command, &record)?;
        code = record.state.exit_code();
        // What comes later may rest on it.
        if record.state != State::Completed {
            break;
        }
    }
    Ok(ExitCode::from(code))
}

/// The task with this id, or all that are not done.
fn tasks(planned: Vec<PlannedTask>, id: Option<&str>, plan: &Path) -> Result<Vec<Task>, Error> {
    let wanted = |planned: &PlannedTask| id.map_or(!planned.checked, |id| planned.task.id == id);
    let tasks: Vec<Task> =
        planned.iter().filter(|planned| wanted(planned)).map(|planned| planned.task.clone()).collect();
    match (tasks.len(), id) {
        (1, _) | (2.., None) => Ok(tasks),
        (0, None) => Err(Error::mistake(anyhow!("every task of the plan `{}` is done", plan.display()))),
        (count, Some(id)) => {
            let ids: Vec<&str> = planned.iter().map(|planned| planned.task.id.as_str()).take(50).collect();
            let message =
                format!("expected one task `{}` in the plan `{}`, found {count}", clean_line(id, 60), plan.display());
            Err(Error::mistake(anyhow!(message)).hint(format!("its tasks are: {}", clean_line(&ids.join(", "), 500))))
        }
    }
}

fn wanted(global: &Global, command: &Loop) -> Result<LoopRequest, Error> {
    let mut request = Request::new(&global.directory);
    request.policy = match (&command.verify, &command.config) {
        (Some(line), _) => run::verify(Some(line))?,
        (None, Some(path)) => Policy::File(path.clone()),
        (None, None) => Policy::Nearest,
    };
    request.commands =
        run::command_tape(global, command.record_commands.as_deref(), command.replay_commands.as_deref())?;
    request.gate.clone_from(&command.gate);
    request.submission =
        submission_args::task(command.task.as_deref().filter(|_| command.plan.is_none()), command.tier);
    request.use_cache = !command.no_cache;
    request.ledger = if command.no_ledger { LedgerUse::Off } else { LedgerUse::StateFolder };
    let mut wanted = LoopRequest::new(request, command.executor.clone());
    wanted.feedback_on_stdin = command.stdin;
    wanted.budgets.max_bounces = command.max_bounces;
    wanted.budgets.executor_timeout = match &command.executor_timeout {
        None => None,
        Some(text) => Some(config::Loop::parse_timeout(text).ok_or_else(|| {
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

fn print(global: &Global, command: &Loop, record: &LoopRecord) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match command.format {
        LoopFormat::Json => {
            // Of a plan, a document a line: one for each task.
            let written = match command.plan {
                Some(_) => serde_json::to_writer(&mut out, record),
                None => serde_json::to_writer_pretty(&mut out, record),
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
    format!("loop: {} after {attempts}{bounced}{budget}{why}", record.state)
}

/// Tells what happens, a line each, on standard error.
struct Lines {
    watcher: Watcher,
    quiet: bool,
}

impl Observer for Lines {
    fn event(&self, event: &Event) {
        if !self.quiet
            && let Some(line) = line(event)
        {
            self.watcher.say(&line);
        }
        self.watcher.event(event);
        if matches!(event.what, What::RunEnded { .. }) {
            self.watcher.finish();
        }
    }
}

fn line(event: &Event) -> Option<String> {
    let attempt = event.attempt.unwrap_or_default();
    Some(match &event.what {
        What::ExecutorStarted { .. } => format!("[loop] attempt {attempt}"),
        What::ExecutorEnded { outcome, exit_code, signal, .. } if outcome != "success" => {
            let code = exit_code.map(|code| format!(", exit code {code}"));
            let signal = signal.map(|signal| format!(", signal {signal}"));
            format!("[loop] executor: {outcome}{}", code.or(signal).unwrap_or_default())
        }
        What::Verification { check, outcome, reason, findings } => {
            let findings =
                if *findings > 0 { format!(", {}", terminal::count(*findings, "finding")) } else { String::new() };
            let reason = if reason.is_empty() { String::new() } else { format!(" ({})", clean_line(reason, 200)) };
            format!("[verify] {}: {}{findings}{reason}", clean_line(check, 120), outcome.as_str())
        }
        What::Bounce { number, allowed, class, .. } => {
            let class = if class.is_empty() { String::new() } else { format!(": {class}") };
            format!("[loop] sent back, {number} of {allowed}{class}")
        }
        What::Logged { check, message, .. } if check == "loop" => format!("[loop] {}", clean_line(message, 200)),
        What::Escalation { trigger, why, .. } => {
            format!("[loop] needs human review ({trigger}): {}", clean_line(why, 500))
        }
        _ => return None,
    })
}
