//! `gate hook`: the process that a host waits for. It reads, starts a child that runs the gate, watches it, and answers.
//!
//! Nothing here returns an error: whatever happens, the host is answered in its dialect, since every host takes silence or
//! a crash for leave to stop.

use crate::args::{Global, Hook};
use crate::{setup, terminal};
use gatehost::environment::Environment;
use gatehost::hook::budget::{BOUNCES, Judged, Session};
use gatehost::hook::evidence;
use gatehost::hook::job::{self, Done, Job};
use gatehost::hook::sessions::Remembered;
use gatehost::hook::supervise::{Ended, supervise};
use gatehost::hook::{Answer, Call, Decision, Event, MAX_BYTES};
use gatehost::submission::Executor;
use std::io::{self, BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

pub(crate) fn run(global: &Global, command: &Hook) -> ExitCode {
    let answered = catch_unwind(AssertUnwindSafe(|| answer(global, command)));
    let answer = answered.unwrap_or_else(|_| {
        let reason = "The gate crashed, so nothing is verified. This is not a finding about the work.".to_owned();
        command
            .host
            .map_or_else(|| Answer::refuse(&reason), |host| Call::of(host).answer(&Decision::Block(reason.clone())))
    });
    if !answer.stderr.is_empty() {
        terminal::say(&answer.stderr);
    }
    let mut out = io::stdout().lock();
    // Where nobody reads, there is nobody to tell.
    let _ = out.write_all(answer.stdout.as_bytes()).and_then(|()| out.flush());
    ExitCode::from(answer.exit)
}

fn answer(global: &Global, command: &Hook) -> Answer {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    // What is longer than any message is not one; it is read to its end, so that the host can finish writing.
    let _ = (&mut stdin).take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    let _ = io::copy(&mut stdin, &mut io::sink());
    let Some(call) = Call::read(&bytes, command.host) else {
        return Answer::refuse(
            "error: the message is from an unknown host, so nothing is verified\nhint: name it with `--host`",
        );
    };
    drop(bytes);
    if call.event == Event::Other || call.aborted {
        return call.answer(&Decision::Allow);
    }
    let deadline = command.deadline.map_or_else(|| call.host.deadline(), Duration::from_secs);
    call.answer(&decide(&global.directory, &call, deadline))
}

/// Runs the gate, and decides what the agent is told.
fn decide(directory: &Path, call: &Call, deadline: Duration) -> Decision {
    let here = call.folder.as_deref().filter(|folder| folder.is_dir()).unwrap_or(directory);
    let folder = root(here);
    let key = match &call.session {
        Some(session) => format!("{} {session}", call.host.as_str()),
        None => format!("{} in {}", call.host.as_str(), folder.display()),
    };
    // The session is locked only while it is read and while it is written: a run takes long, and hosts call in parallel.
    let known = remember(&key).map(|remembered| remembered.session.clone()).unwrap_or_default();
    let root = match &known.root {
        Some(first) if *first != folder && !is_worktree_of(&folder, first) && first.is_dir() => first.clone(),
        _ => folder,
    };
    let done =
        if call.event == Event::Prompt { Ok(Done::Idle) } else { ask(&job(&known, call, &root, &key), deadline) };
    let mut remembered = remember(&key);
    let mut session = remembered.as_ref().map(|remembered| remembered.session.clone()).unwrap_or_default();
    session.note(call);
    session.root.get_or_insert_with(|| root.clone());
    let (decision, gate, bounces) = conclude(&mut session, call, done);
    let saved = remembered.as_mut().is_some_and(|remembered| {
        remembered.session = session.clone();
        remembered.save().is_ok()
    });
    drop(remembered);
    if saved {
        // The run itself is recorded, or it is a fault; that the agent was told is a courtesy to whoever reads.
        let environment = Environment::of_process();
        let _ = evidence::record(&environment, &root, &key, gate.as_deref(), &session, &decision, bounces);
        return decision;
    }
    // Nobody could count the bounces. The host's own word is all there is, so that the agent is not sent back forever.
    match decision {
        Decision::Block(reason) if call.active && call.event != Event::Tool => Decision::Release(format!(
            "verification_failed: the state folder cannot be written, so bounces cannot be counted\n{reason}"
        )),
        other => other,
    }
}

fn job(known: &Session, call: &Call, root: &Path, key: &str) -> Job {
    Job {
        event: call.event,
        folder: root.to_owned(),
        base: known.base.clone(),
        files: call.files.clone(),
        transcript: call.transcript.clone(),
        claim: call.claim.clone(),
        task: call.task.clone(),
        attempt: known.bounces + 1,
        executor: Executor {
            name: Some(call.host.as_str().to_owned()),
            model: call.model.clone(),
            session: call.session.clone(),
            ..Executor::default()
        },
        session: key.to_owned(),
    }
}

/// What the agent is told, by which gate, and how often it may be sent back.
fn conclude(session: &mut Session, call: &Call, done: Result<Done, String>) -> (Decision, Option<String>, u32) {
    match done {
        Ok(Done::Idle) => (Decision::Allow, None, BOUNCES),
        Ok(Done::Started { base }) => {
            session.base = session.base.take().or(base);
            (Decision::Allow, None, BOUNCES)
        }
        Ok(Done::Ran { judged, base, run, gate, bounces }) => {
            session.base = session.base.take().or(base);
            session.run = run;
            (session.decide(call, &judged, bounces), gate, bounces)
        }
        // Nothing is judged when a session begins, so there is nothing to block; the base is taken at the next event.
        Err(_) if call.event == Event::Start => (Decision::Allow, None, BOUNCES),
        Err(why) => {
            let reason = format!(
                "The gate gave no answer, so nothing is verified. This is not a finding about the work.\n- {why}\n"
            );
            session.run = None;
            (session.decide(call, &Judged::Fault { reason }, BOUNCES), None, BOUNCES)
        }
    }
}

/// Has the child do the job.
fn ask(job: &Job, deadline: Duration) -> Result<Done, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find the path of `gate`: {error}"))?;
    let line =
        serde_json::to_vec(job).map_err(|error| format!("cannot send the request to the child process: {error}"))?;
    let mut command = Command::new(program);
    command.arg("hook-run");
    match supervise(command, &line, deadline) {
        Ok(Ended::Answered(bytes)) => {
            serde_json::from_slice(&bytes).map_err(|_| "cannot read the result of the run".to_owned())
        }
        Ok(Ended::Died(why)) => Err(format!("the run ended early: {why}")),
        Ok(Ended::Late) => Err(format!(
            "the run did not finish within {} s; use a faster gate for hooks, or raise the timeout of the host",
            deadline.as_secs()
        )),
        Err(error) => Err(format!("cannot start the run: {error}")),
    }
}

/// The session, from the state folder, or else from a private folder below the temporary one.
fn remember(key: &str) -> Option<Remembered> {
    let state = Environment::of_process().state_folder();
    let opened = state.and_then(|folder| Remembered::open(&folder, key).ok());
    opened.or_else(|| {
        let user = rustix::process::geteuid().as_raw();
        Remembered::open(&std::env::temp_dir().join(format!("gatehost-{user}")), key).ok()
    })
}

/// The root of the repository that a folder is in, or the folder.
fn root(folder: &Path) -> PathBuf {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = real.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    root.unwrap_or(&real).to_owned()
}

/// Whether a folder is the root of a worktree of the repository at `root`.
fn is_worktree_of(folder: &Path, root: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(folder.join(".git")) else { return false };
    let Some(git) = text.strip_prefix("gitdir:").map(|path| Path::new(path.trim())) else { return false };
    git.starts_with(root.join(".git").join("worktrees"))
}

/// `gate hook-run`: the child. It reads one line, runs the gate, and prints one line.
pub(crate) fn child() -> ExitCode {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).ok().and_then(|_| serde_json::from_str::<Job>(&line).ok());
    let Some(job) = read else { return ExitCode::from(2) };
    // When whoever watches is gone, nobody waits for an answer.
    let watch = std::thread::Builder::new().spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::abort();
    });
    let Ok(_) = watch else { return ExitCode::from(3) };
    let done = setup::wait(async { Ok(job::perform(job).await) });
    let Some(text) = done.ok().and_then(|done| serde_json::to_string(&done).ok()) else { return ExitCode::from(3) };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}
