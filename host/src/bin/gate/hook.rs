//! `gate hook`: the process that a host waits for. It starts a child that runs the gate, watches it, and answers.
//!
//! Nothing here returns an error: whatever happens, the host gets an answer in its dialect and in time, because every host
//! lets the agent stop after silence or a crash. This process opens no file and no database, so only the child can hang.

use crate::args::Global;
use crate::{caller_limits, setup, terminal};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatehost::environment::Environment;
use gatehost::hook::AgentHost;
use gatehost::hook::budget::uncounted;
use gatehost::hook::job::{Job, Prepared, Work};
use gatehost::hook::running::Running;
use gatehost::hook::supervise::{ChildExit, ChildResult, supervise};
use gatehost::hook::verdict::no_answer;
use gatehost::hook::{Answer, Call, Decision, HookEvent};
use gatehost::text::json_line;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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
    pub(crate) host: Option<AgentHost>,
    /// Answer within this many seconds; must be less than the timeout of the host
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) deadline: Option<u64>,
}

/// Returns the names of the hosts.
fn hosts() -> impl TypedValueParser<Value = AgentHost> {
    let parser = PossibleValuesParser::new(AgentHost::ALL.iter().map(|host| host.as_str()));
    parser.map(|name| AgentHost::named(&name).unwrap_or(AgentHost::Claude))
}

pub(crate) fn run(global: &Global, command: &HookArgs) -> ExitCode {
    let start = Instant::now();
    let (tell, told) = mpsc::channel();
    let (host, folder, asked) = (command.host, global.directory.clone(), command.deadline.map(Duration::from_secs));
    // Until the message is read, the host is unknown, so the shortest deadline of all hosts applies.
    let limit = asked.or(host.map(gatehost::hook::AgentHost::deadline)).unwrap_or(Duration::from_secs(26));
    let worker = thread::Builder::new().spawn(move || {
        let call = Call::read(io::stdin(), host);
        let _ = tell.send(WorkerMessage::Called(Box::new(call.clone())));
        // Reads the rest of the message, so that the host can finish writing.
        let _ = thread::Builder::new().spawn(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
        let Some(call) = call else { return };
        let limit = asked.unwrap_or_else(|| call.host.deadline());
        let decided = catch_unwind(AssertUnwindSafe(|| decide(&folder, &call, start, limit)));
        let crashed = || uncounted(&call, &no_answer("the hook itself crashed"));
        let _ = tell.send(WorkerMessage::Decided(decided.unwrap_or_else(|_| crashed())));
    });
    let mut call = host.map(Call::of);
    let late = || no_answer(&format!("the hook did not finish within {} s", limit.as_secs()));
    let decision = loop {
        let left = limit.saturating_sub(start.elapsed());
        let told = if worker.is_ok() { told.recv_timeout(left).ok() } else { None };
        break match told {
            Some(WorkerMessage::Called(read)) => {
                call = *read;
                if call.is_some() {
                    continue;
                }
                None
            }
            Some(WorkerMessage::Decided(decision)) => Some(decision),
            None => call.as_ref().map(|call| uncounted(call, &late())),
        };
    };
    let answer = match (&call, &decision) {
        (Some(call), Some(decision)) => call.answer(decision),
        _ => Answer::refuse(UNKNOWN),
    };
    if !answer.stderr.is_empty() {
        terminal::say(&answer.stderr);
    }
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(answer.stdout.as_bytes()).and_then(|()| out.flush()) {
        // Hosts let the agent stop after half an answer, but not after this exit code.
        terminal::say(format_args!("error: cannot write the answer to stdout: {error}"));
        caller_limits::mention();
        return ExitCode::from(2);
    }
    match decision {
        // With this exit code, hosts read the reason from stderr.
        Some(Decision::Block(reason)) if answer.exit == 0 && is_discarded(&out) => {
            terminal::say(reason.trim_end());
            ExitCode::from(2)
        }
        _ => ExitCode::from(answer.exit),
    }
}

/// Returns whether nobody reads what is written: it is `/dev/null`, which is opened in the place of a closed stdout.
fn is_discarded(out: impl AsFd) -> bool {
    let number = |path: &str| rustix::fs::stat(path).map(|found| found.st_rdev);
    let found = rustix::fs::fstat(out).map(|found| found.st_rdev);
    found.is_ok_and(|found| found != 0) && found == number("/dev/null")
}

const UNKNOWN: &str = "error: the message is from an unknown host, so nothing is verified\nhint: name it with `--host`";

/// A message from the thread that does the work to the thread that watches the time.
enum WorkerMessage {
    /// The call of the host; `None` if the message is not from a known host.
    Called(Box<Option<Call>>),
    /// What the agent is told.
    Decided(Decision),
}

/// Starts a child that runs the gate and decides what the agent is told. If the child fails, another child records the failure.
fn decide(folder: &Path, call: &Call, start: Instant, limit: Duration) -> Decision {
    if call.event == HookEvent::Other || call.aborted {
        return Decision::Allow;
    }
    // Time to record that the child did not answer, and to answer the host.
    let reserve = (limit / 4).min(Duration::from_secs(5));
    let left = |reserve: Duration| limit.saturating_sub(start.elapsed()).saturating_sub(reserve);
    let job = |fault, limit| Job { call: call.clone(), folder: PathBuf::from(folder), limit, fault };
    if let Err(error) = caller_limits::check() {
        return uncounted(call, &no_answer(&error.to_string()));
    }
    let why = match ask(&job(None, left(reserve + reserve / 4)), left(reserve)) {
        Ok(decision) => return decision,
        Err(why) => why,
    };
    // Nothing is verified when a session begins or the user asks for something, so there is nothing to block.
    if matches!(call.event, HookEvent::Start | HookEvent::Prompt) {
        return Decision::Allow;
    }
    let fault = no_answer(&why);
    let counted = ask(&job(Some(fault.clone()), left(reserve / 2)), left(reserve / 2));
    counted.unwrap_or_else(|_| uncounted(call, &fault))
}

/// Runs the job in a child process.
fn ask(job: &Job, limit: Duration) -> Result<Decision, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find the path of `gate`: {error}"))?;
    let line =
        serde_json::to_vec(job).map_err(|error| format!("cannot send the request to the child process: {error}"))?;
    let mut command = Command::new(program);
    command.arg("hook-run");
    // Some hosts pass no PATH, but `git` must be found.
    if std::env::var_os("PATH").is_none_or(|path| path.is_empty()) {
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    }
    let ChildResult { exit, printed } =
        supervise(command, &line, limit).map_err(|error| format!("cannot start the run: {error}"))?;
    let running = Running::of(&printed);
    match exit {
        ChildExit::Done => {
            let last = printed.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            serde_json::from_slice(last).map_err(|_| "cannot read the result of the run".to_owned())
        }
        ChildExit::Died(why) => Err(format!("the run ended early: {why}{}", running.what())),
        ChildExit::Late => Err(running.late(limit)),
    }
}

/// Runs `gate hook-run`, the child process. It reads one line, runs the gate, and prints a line whenever a check begins or
/// ends, and finally the result.
pub(crate) fn child() -> ExitCode {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).ok().and_then(|_| serde_json::from_str::<Job>(&line).ok());
    let Some(job) = read else { return ExitCode::from(2) };
    // When the parent process is gone, nobody waits for an answer.
    let watch = thread::Builder::new().spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::abort();
    });
    let Ok(_) = watch else { return ExitCode::from(3) };
    let work = Work::open(job, Environment::of_process());
    let found = match work.prepare() {
        Prepared::Nothing => Ok(None),
        Prepared::Known(found) => Ok(Some(found)),
        Prepared::Run(request, allowed) => {
            let run = work.run(*request, allowed, |running| print(running).unwrap_or_default());
            setup::wait(async { Ok(Some(run.await)) })
        }
    };
    let Ok(found) = found else { return ExitCode::from(3) };
    match print(&work.conclude(found)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}

fn print(value: &impl serde::Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", json_line(value)?)?;
    out.flush()
}
