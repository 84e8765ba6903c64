//! Running the commands that the configuration declares: confined, bounded, and with a record of what came of them.
//!
//! What a command may do is fixed by the configuration alone; what it runs, too: the author of the work has no part in
//! its arguments. It gets the best confinement that the machine has:
//! - `namespaces`: its own processes, users, network and file system, and what `landlock` does;
//! - `landlock`: the files that it may see, no sockets, no signals to others;
//! - `none`: its own session and environment; and, as everywhere, whatever it leaves behind is ended.

#[cfg(target_os = "linux")]
mod advice;
#[cfg(target_os = "linux")]
mod stdio;
#[cfg(target_os = "linux")]
mod cargo;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod granted_paths;
#[cfg(target_os = "linux")]
mod protected;
#[cfg(target_os = "linux")]
mod repository;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod file_digest;
mod supervised;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod mounts;

mod no_result;
mod script;
mod tape;

pub use no_result::NoResult;
pub use script::Script;
pub use supervised::{Supervised, SupervisedEnd};
pub use tape::{BadCommandTape, CommandPlayer, CommandRecorder, CommandTape};

use crate::config::{Command, Sandbox};
use crate::environment::Environment;
use crate::submission::{CommandEvidence, Printed};
use crate::text;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The commands of a configuration, and where they run.
#[derive(Debug)]
pub struct Commands {
    declared: BTreeMap<String, Command>,
    root: PathBuf,
    configuration: Option<PathBuf>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    environment: Environment,
    at_most: Sandbox,
    reserve: u64,
    /// Where what commands come to is written down, or comes from.
    tape: Option<Arc<CommandTape>>,
    /// Where nothing is run, and these are the answers.
    script: Option<Script<Result<Ran, NoResult>>>,
}

/// So much of the disk is left free: evidence must be kept of a command that fills it.
const RESERVE: u64 = 256 << 20;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It timed out.
    TimedOut,
    /// It was ended by this signal.
    Signalled(i32),
    /// It ended with this code. Nothing but 0 is a success.
    Exited(i32),
}

/// What a command wrote to one of its outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning: all of it, when `length` is its length.
    pub head: Vec<u8>,
    /// The end, where something between was left out.
    pub tail: Vec<u8>,
    /// How many bytes were written in all.
    pub length: u64,
    /// SHA-256 of all bytes, in hexadecimal.
    pub sha256: String,
}

/// What came of a command.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its name in the configuration.
    pub name: String,
    /// What was run.
    pub argv: Vec<String>,
    /// How it ended.
    pub ending: Ending,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// When it began.
    pub started: SystemTime,
    /// How long it ran.
    pub duration: Duration,
    /// How well it was confined.
    pub sandbox: Sandbox,
    /// Which key of its configuration may help, where what it printed before it failed points to its confinement.
    pub advice: Option<String>,
    /// Whether it was not run, and its result was recorded in another run.
    pub replayed: bool,
    /// Whether it ran on the base, and not on the work.
    pub on_base: bool,
}

impl Commands {
    /// The commands of a configuration, to be run in the folder `root`.
    pub fn new(declared: BTreeMap<String, Command>, root: PathBuf) -> Self {
        Self {
            declared,
            root,
            configuration: None,
            cache: None,
            state: None,
            environment: Environment::default(),
            at_most: Sandbox::Namespaces,
            reserve: RESERVE,
            tape: None,
            script: None,
        }
    }

    /// Commands that are not run: for each name, what comes of it, in order.
    pub fn scripted(answers: BTreeMap<String, Vec<Result<Ran, NoResult>>>) -> Self {
        Self { script: Some(Script::new(answers)), ..Self::new(BTreeMap::new(), PathBuf::new()) }
    }

    /// The file that the configuration was read from: no command may change it, wherever it is.
    pub fn with_configuration(self, configuration: Option<PathBuf>) -> Self {
        Self { configuration, ..self }
    }

    /// The folder of the cache store, which no command may see, where that is not the default one.
    pub fn with_cache(self, cache: PathBuf) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// The environment that commands inherit from, and that says where the cache and the ledger are, which no command may see.
    pub fn with_environment(self, environment: Environment) -> Self {
        let cache = self.cache.or_else(|| environment.cache_folder());
        Self { cache, state: environment.state_folder(), environment, ..self }
    }

    /// The folders that no command may see.
    #[cfg(target_os = "linux")]
    fn private(&self) -> Vec<mounts::Private> {
        let folders =
            [(&self.cache, "cache", "GATE_CACHE_DIR"), (&self.state, "state folder", "GATE_STATE_DIR")].into_iter();
        let there = folders.filter_map(|(path, what, variable)| Some((path.clone()?, what, variable)));
        there.map(|(path, what, variable)| mounts::Private { path, what, variable }).collect()
    }

    /// The command of this name.
    pub(crate) fn declared(&self, name: &str) -> Option<&Command> {
        self.declared.get(name)
    }

    /// Whether nothing is run, and what commands come to is taken from what was written down.
    pub(crate) fn is_replayed(&self) -> bool {
        self.script.is_some() || self.tape.as_ref().is_some_and(|tape| matches!(**tape, CommandTape::Replay(_)))
    }

    /// The same for other commands in another folder. What they come to is written down on the same tape.
    pub(crate) fn elsewhere(&self, declared: BTreeMap<String, Command>, root: PathBuf) -> Self {
        Self {
            declared,
            root,
            configuration: self.configuration.clone(),
            cache: self.cache.clone(),
            state: self.state.clone(),
            environment: self.environment.clone(),
            at_most: self.at_most,
            reserve: self.reserve,
            tape: self.tape.clone(),
            script: None,
        }
    }

    /// Writes down what commands come to, or takes it from what was written down.
    pub fn with_tape(self, tape: Option<Arc<CommandTape>>) -> Self {
        Self { tape, ..self }
    }

    /// Confines no better than this, whatever the machine offers.
    pub fn with_at_most(self, at_most: Sandbox) -> Self {
        Self { at_most, ..self }
    }

    /// Ends a command that leaves less than this of the disk, in bytes.
    pub fn with_reserve(self, reserve: u64) -> Self {
        Self { reserve, ..self }
    }

    /// Runs a command to its end, with these bytes on its standard input. When the future is dropped, everything that
    /// was started is ended.
    pub async fn run(&self, name: &str, stdin: Vec<u8>) -> Result<Ran, NoResult> {
        if let Some(script) = &self.script {
            let none_left =
                || Err(NoResult::not_started(format!("`commands.json` has no further answer of the command `{name}`")));
            return script.next(name).unwrap_or_else(none_left);
        }
        let Some(command) = self.declared.get(name) else {
            return Err(NoResult::not_started(format!("the command `{name}` is not declared")));
        };
        if let Some(played) = self.tape.as_ref().and_then(|tape| tape.played(name, command)) {
            return played.map_err(|error| error.of(name));
        }
        #[cfg(target_os = "linux")]
        let ran = run::run(self, name, command, stdin).await;
        #[cfg(not(target_os = "linux"))]
        let ran = {
            let _ =
                (command, stdin, &self.root, &self.configuration, &self.cache, &self.state, self.at_most, self.reserve);
            Err(NoResult::not_started("this version runs commands on Linux only".to_owned()))
        };
        let noted = |ran: Ran| match &self.tape {
            Some(tape) => tape.note(&ran).map(|()| ran),
            None => Ok(ran),
        };
        ran.and_then(noted).map_err(|error| error.of(name))
    }
}

/// Ends every command that runs, with all that it started, and lets no other begin: the program is about to end. Waits for
/// that, but no longer than this.
pub(crate) fn end_all(patience: Duration) {
    #[cfg(target_os = "linux")]
    running::end_all(patience);
    #[cfg(not(target_os = "linux"))]
    let _ = patience;
}

/// As much is told of the beginning of an output, and as much of its end.
const TOLD: usize = 2_000;

impl From<&Ran> for CommandEvidence {
    fn from(ran: &Ran) -> Self {
        let printed = |captured: &Captured| Printed { length: captured.length, sha256: captured.sha256.clone() };
        let (exit_code, signal) = match ran.ending {
            Ending::Exited(code) => (Some(code), None),
            Ending::Signalled(signal) => (None, Some(signal)),
            Ending::TimedOut => (None, None),
        };
        Self {
            name: ran.name.clone(),
            argv: ran.argv.clone(),
            exit_code,
            signal,
            timed_out: ran.ending == Ending::TimedOut,
            output: output(ran),
            stdout: printed(&ran.stdout),
            stderr: printed(&ran.stderr),
            started: text::timestamp(ran.started),
            duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            sandbox: ran.sandbox.as_str().to_owned(),
            on_base: ran.on_base,
            replayed: ran.replayed,
        }
    }
}

/// What it printed, and what may help where its confinement was in its way.
fn output(ran: &Ran) -> String {
    let printed = told(&ran.stdout) + &told(&ran.stderr);
    match &ran.advice {
        None => printed,
        Some(advice) if printed.is_empty() || printed.ends_with('\n') => format!("{printed}[gate] {advice}\n"),
        Some(advice) => format!("{printed}\n[gate] {advice}\n"),
    }
}

/// An output as text, without its middle where it is long.
fn told(captured: &Captured) -> String {
    let head = String::from_utf8_lossy(&captured.head);
    let tail = String::from_utf8_lossy(&captured.tail);
    let whole: Vec<char> = head.chars().chain(tail.chars()).collect();
    let left_out = captured.length > (captured.head.len() + captured.tail.len()) as u64;
    let text = |chars: &[char]| text::clean(&chars.iter().collect::<String>(), chars.len());
    if whole.len() <= 2 * TOLD && !left_out {
        return text(&whole);
    }
    let (first, last) = (&whole[..TOLD.min(whole.len())], &whole[whole.len().saturating_sub(TOLD)..]);
    format!("{}\n[…]\n{}", text(first), text(last))
}
