//! Running the commands that the configuration declares: confined, bounded, and with a record of what came of them.
//!
//! What a command may do is fixed by the configuration alone; what it runs, too: the author of the work has no part in
//! its arguments. It gets the best confinement that the machine has:
//! - `namespaces`: its own processes, users, network and file system, and what `landlock` does;
//! - `landlock`: the files that it may see, no sockets, no signals to others;
//! - `none`: its own session and environment; and, as everywhere, whatever it leaves behind is ended.

mod command_lines;
mod no_result;
mod of_task;
mod script;
mod supervised;
mod tape;

#[cfg(all(feature = "commands", target_os = "linux"))]
mod advice;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod capture;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod cargo;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod file_digest;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod filter;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod granted_paths;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod landlock;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod lifeline;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod mounts;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod namespaces;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod protected;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod repository;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod run;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod running;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod marked;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod scratch;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod stdio;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod supervisor;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod sys;
#[cfg(all(feature = "commands", target_os = "linux"))]
mod work_copy;

pub use no_result::NoResult;
pub use script::Answers;
pub use supervised::{Supervised, SupervisedEnd};
pub use tape::{BadCommandTape, CommandPlayer, CommandRecorder, CommandTape};

use crate::config::{CommandConfig, SandboxLevel};
use crate::environment::Environment;
use crate::submission::{CommandEvidence, Printed, Task};
use crate::text;
use crate::verdict::{Edit, ErrorKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The commands of a configuration, and where they run.
#[derive(Debug)]
pub struct Commands {
    declared: BTreeMap<String, CommandConfig>,
    /// Those of the task that may not be run, each with the reason.
    refused: BTreeMap<String, String>,
    root: PathBuf,
    configuration: Option<PathBuf>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    environment: Environment,
    at_most: SandboxLevel,
    reserve: u64,
    /// Where what commands come to is written down, or comes from.
    tape: Option<Arc<CommandTape>>,
    /// Where nothing is run, and these are the answers.
    script: Option<Answers<Result<CommandResult, NoResult>>>,
}

/// Why no command can be run.
#[cfg(not(all(feature = "commands", target_os = "linux")))]
const UNAVAILABLE: &str = if cfg!(feature = "commands") {
    "this version runs commands on Linux only"
} else {
    "this program was built without the feature `commands`"
};

/// So much of the disk is left free: evidence must be kept of a command that fills it.
const RESERVE: u64 = 256 << 20;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnding {
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
pub struct CommandResult {
    /// Its name in the configuration.
    pub name: String,
    /// What was run.
    pub argv: Vec<String>,
    /// How it ended.
    pub ending: CommandEnding,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// When it began.
    pub started: SystemTime,
    /// How long it ran.
    pub duration: Duration,
    /// How well it was confined.
    pub sandbox: SandboxLevel,
    /// Which key of its configuration may help, where what it printed before it failed points to its confinement.
    pub advice: Option<Advice>,
    /// What it would change, for a command that repairs files.
    pub rewrites: Vec<Rewrite>,
    /// Whether it was not run, and what it came to was recorded in another run.
    pub replayed: bool,
    /// Whether it ran on the base, and not on the work.
    pub on_base: bool,
}

/// What may help a command that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What it lacks.
    pub kind: ErrorKind,
    /// What it lacks, in words.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl std::fmt::Display for Advice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

/// What a command would change in one file of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// The file.
    pub path: String,
    /// The edits; none where the file is not text, or would be deleted.
    pub edits: Vec<Edit>,
}

impl Commands {
    /// Returns the commands of a configuration, to be run in the folder `root`.
    pub fn new(declared: BTreeMap<String, CommandConfig>, root: PathBuf) -> Self {
        Self {
            declared,
            refused: BTreeMap::new(),
            root,
            configuration: None,
            cache: None,
            state: None,
            environment: Environment::default(),
            at_most: SandboxLevel::Namespaces,
            reserve: RESERVE,
            tape: None,
            script: None,
        }
    }

    /// Commands that are not run: for each name, what comes of it, in order.
    pub fn scripted(answers: BTreeMap<String, Vec<Result<CommandResult, NoResult>>>) -> Self {
        Self { script: Some(Answers::new(answers)), ..Self::new(BTreeMap::new(), PathBuf::new()) }
    }

    /// Returns the file that the configuration was read from: no command may change it, wherever it is.
    pub fn with_configuration(self, configuration: Option<PathBuf>) -> Self {
        Self { configuration, ..self }
    }

    /// Returns the folder of the cache store, which no command may see, where that is not the default one.
    pub fn with_cache(self, cache: PathBuf) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Returns the environment that commands inherit from, and that says where the cache and the ledger are, which no
    /// command may see.
    pub fn with_environment(self, environment: Environment) -> Self {
        let cache = self.cache.or_else(|| environment.cache_folder());
        Self { cache, state: environment.state_folder(), environment, ..self }
    }

    /// Returns the folders that no command may see.
    #[cfg(all(feature = "commands", target_os = "linux"))]
    fn private(&self) -> Vec<mounts::Private> {
        let folders =
            [(&self.cache, "cache", "GATE_CACHE_DIR"), (&self.state, "state folder", "GATE_STATE_DIR")].into_iter();
        let there = folders.filter_map(|(path, what, variable)| Some((path.clone()?, what, variable)));
        there.map(|(path, what, variable)| mounts::Private { path, what, variable }).collect()
    }

    /// Returns the command of this name.
    pub(crate) fn declared(&self, name: &str) -> Option<&CommandConfig> {
        self.declared.get(name)
    }

    /// Returns whether nothing is run, and what commands come to is taken from what was written down.
    pub(crate) fn is_replayed(&self) -> bool {
        self.script.is_some() || self.tape.as_ref().is_some_and(|tape| matches!(**tape, CommandTape::Replay(_)))
    }

    /// The same for other commands in another folder. What they come to is written down on the same tape.
    pub(crate) fn elsewhere(&self, declared: BTreeMap<String, CommandConfig>, root: PathBuf) -> Self {
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
            refused: BTreeMap::new(),
        }
    }

    /// Returns the task whose verify command is run where the configuration says `from = "task"`.
    pub fn for_task(mut self, task: Option<&Task>) -> Self {
        for (name, command) in &mut self.declared {
            match of_task::resolved(command, task) {
                Ok(resolved) => *command = resolved,
                Err(why) => drop(self.refused.insert(name.clone(), why)),
            }
        }
        self
    }

    /// Writes down what commands come to, or take it from what was written down.
    pub fn with_tape(self, tape: Option<Arc<CommandTape>>) -> Self {
        Self { tape, ..self }
    }

    /// Confines no better than this, whatever the machine offers.
    pub fn with_at_most(self, at_most: SandboxLevel) -> Self {
        Self { at_most, ..self }
    }

    /// Ends a command that leaves less than this of the disk, in bytes.
    pub fn with_reserve(self, reserve: u64) -> Self {
        Self { reserve, ..self }
    }

    /// Returns whether a command is handed the files of the check that it runs for.
    pub fn takes_files(&self, name: &str) -> bool {
        self.declared.get(name).is_some_and(CommandConfig::takes_files)
    }

    /// Runs a command for these files: once, or several times where it is handed them and they do not fit on one command
    /// line. All runs together have the time of the command.
    pub async fn run_for(&self, name: &str, files: &[String]) -> Result<Vec<CommandResult>, NoResult> {
        let Some(command) = self.declared.get(name).filter(|command| command.takes_files()) else {
            return self.run(name, Vec::new()).await.map(|ran| vec![ran]);
        };
        let mut outputs = Vec::new();
        let mut left = command.timeout;
        for run in command_lines::command_lines(command, files) {
            let command = CommandConfig { run, timeout: left, ..command.clone() };
            let ran = self.run_once(name, &command, Vec::new()).await?;
            left = left.saturating_sub(ran.duration);
            let is_late = ran.ending == CommandEnding::TimedOut;
            outputs.push(ran);
            if is_late {
                break;
            }
        }
        Ok(outputs)
    }

    /// Runs a command to its end, with these bytes on its standard input. When the future is dropped, everything that
    /// was started is ended.
    pub async fn run(&self, name: &str, stdin: Vec<u8>) -> Result<CommandResult, NoResult> {
        if let Some(script) = &self.script {
            let none_left =
                || Err(NoResult::not_started(format!("`commands.json` has no further answer of the command `{name}`")));
            return script.next(name).unwrap_or_else(none_left);
        }
        let Some(command) = self.declared.get(name) else {
            return Err(NoResult::not_started(format!("the command `{name}` is not declared")));
        };
        if let Some(why) = self.refused.get(name) {
            let hint = "name the command in a plan of the base commit, and allow it in `allow`";
            return Err(NoResult::not_started(why.clone()).with_hint(hint).of(name));
        }
        self.run_once(name, command, stdin).await
    }

    async fn run_once(&self, name: &str, command: &CommandConfig, stdin: Vec<u8>) -> Result<CommandResult, NoResult> {
        if let Some(played) = self.tape.as_ref().and_then(|tape| tape.played(name, command)) {
            return played.map_err(|error| error.of(name));
        }
        #[cfg(all(feature = "commands", target_os = "linux"))]
        let ran = run::run(self, name, command, stdin).await;
        #[cfg(not(all(feature = "commands", target_os = "linux")))]
        let ran = {
            let _ =
                (command, stdin, &self.root, &self.configuration, &self.cache, &self.state, self.at_most, self.reserve);
            let _ = &self.environment;
            Err(NoResult::not_started(UNAVAILABLE.to_owned()))
        };
        let noted = |ran: CommandResult| match &self.tape {
            Some(tape) => tape.note(&ran).map(|()| ran),
            None => Ok(ran),
        };
        ran.and_then(noted).map_err(|error| error.of(name))
    }
}

/// Ends every command that runs, with all that it started, and lets no other begin: the program is about to end. Waits for
/// that, but no longer than this.
pub(crate) fn end_all(patience: Duration) {
    #[cfg(all(feature = "commands", target_os = "linux"))]
    running::end_all(patience);
    #[cfg(not(all(feature = "commands", target_os = "linux")))]
    let _ = patience;
}

/// As much is told of the beginning of an output, and as much of its end.
const TOLD: usize = 2_000;

impl From<&CommandResult> for CommandEvidence {
    fn from(ran: &CommandResult) -> Self {
        let printed = |captured: &Captured| Printed { length: captured.length, sha256: captured.sha256.clone() };
        let (exit_code, signal) = match ran.ending {
            CommandEnding::Exited(code) => (Some(code), None),
            CommandEnding::Signalled(signal) => (None, Some(signal)),
            CommandEnding::TimedOut => (None, None),
        };
        Self {
            name: ran.name.clone(),
            argv: ran.argv.clone(),
            exit_code,
            signal,
            timed_out: ran.ending == CommandEnding::TimedOut,
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
fn output(ran: &CommandResult) -> String {
    let printed = told(&ran.stdout) + &told(&ran.stderr);
    match &ran.advice {
        None => printed,
        Some(advice) if printed.is_empty() || printed.ends_with('\n') => format!("{printed}[gate] {advice}\n"),
        Some(advice) => format!("{printed}\n[gate] {advice}\n"),
    }
}

/// Returns an output as text, without its middle where it is long.
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
