//! Runs the commands that the configuration declares: in a sandbox, with limits, and with a record of the result.
//!
//! Only the configuration decides what a command runs and what it may access. The author of the work cannot change its
//! arguments. A command runs at the highest sandbox level that the machine supports:
//!
//! - `namespaces`: its own processes, users, network and file system, in addition to `landlock`;
//! - `landlock`: access only to granted files, no sockets, no signals to other processes;
//! - `none`: only its own session and environment.
//!
//! At every level, all processes that the command leaves behind are killed.

mod base_files;
mod command_lines;
mod no_result;
mod of_task;
mod result;
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

pub use base_files::BaseFiles;
pub use no_result::NoResult;
pub(crate) use result::MAX_LISTED;
pub use result::{Advice, Captured, CommandEnding, CommandResult, Rewrite};
pub use script::Answers;
pub use supervised::{Supervised, SupervisedEnd};
pub use tape::{BadCommandTape, CommandPlayer, CommandRecorder, CommandTape};

use crate::config::{CommandConfig, SandboxLevel};
use crate::environment::Environment;
use crate::submission::Task;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The commands of a configuration, and where they run.
#[derive(Debug)]
pub struct Commands {
    declared: BTreeMap<String, CommandConfig>,
    /// The commands of the task that are not allowed, with the reason.
    refused: BTreeMap<String, String>,
    root: PathBuf,
    configuration: Option<PathBuf>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    environment: Environment,
    at_most: SandboxLevel,
    reserve: u64,
    /// The tape that results are recorded to or replayed from.
    tape: Option<Arc<CommandTape>>,
    /// The files that commands see as they are in the base commit.
    base_files: Option<Arc<BaseFiles>>,
    /// Scripted results. If they are set, nothing is run.
    script: Option<Answers<Result<CommandResult, NoResult>>>,
}

/// Why no command can be run.
#[cfg(not(all(feature = "commands", target_os = "linux")))]
const UNAVAILABLE: &str = if cfg!(feature = "commands") {
    "this version runs commands on Linux only"
} else {
    "this program was built without the feature `commands`"
};

/// The free disk space below which a command is killed, so that there is room to record the failure.
const RESERVE: u64 = 256 << 20;

impl Commands {
    /// Returns the commands of a configuration, which run in the folder `root`.
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
            base_files: None,
            script: None,
        }
    }

    /// Returns commands that are not run: `answers` has their results by name, in order.
    pub fn scripted(answers: BTreeMap<String, Vec<Result<CommandResult, NoResult>>>) -> Self {
        Self { script: Some(Answers::new(answers)), ..Self::new(BTreeMap::new(), PathBuf::new()) }
    }

    /// Sets the configuration file, which no command may change.
    pub fn with_configuration(self, configuration: Option<PathBuf>) -> Self {
        Self { configuration, ..self }
    }

    /// Sets the folder of the cache, if it is not the default one. No command may read it.
    pub fn with_cache(self, cache: PathBuf) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// Sets the environment that commands inherit. It also says where the cache and the ledger are, which no command may
    /// read.
    pub fn with_environment(self, environment: Environment) -> Self {
        let cache = self.cache.or_else(|| environment.cache_folder());
        Self { cache, state: environment.state_folder(), environment, ..self }
    }

    /// Returns the folders that no command may read.
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

    /// Returns whether results are replayed instead of running commands.
    pub(crate) fn is_replayed(&self) -> bool {
        self.script.is_some() || self.tape.as_ref().is_some_and(|tape| matches!(**tape, CommandTape::Replay(_)))
    }

    /// Returns other commands in another folder, which use the same tape.
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
            base_files: None,
            script: None,
            refused: BTreeMap::new(),
        }
    }

    /// Sets the task whose verify command is run for `from = "task"`.
    pub fn for_task(mut self, task: Option<&Task>) -> Self {
        for (name, command) in &mut self.declared {
            match of_task::resolved(command, task) {
                Ok(resolved) => *command = resolved,
                Err(why) => drop(self.refused.insert(name.clone(), why)),
            }
        }
        self
    }

    /// Sets the tape that results are recorded to or replayed from.
    pub fn with_tape(self, tape: Option<Arc<CommandTape>>) -> Self {
        Self { tape, ..self }
    }

    /// Sets the files that commands see as they are in the base commit. That needs the sandbox level `namespaces`.
    pub fn with_base_files(self, base_files: Option<Arc<BaseFiles>>) -> Self {
        Self { base_files, ..self }
    }

    /// Limits the sandbox level, whatever the machine supports.
    pub fn with_at_most(self, at_most: SandboxLevel) -> Self {
        Self { at_most, ..self }
    }

    /// Kills a command when less than this much disk space is free, in bytes.
    pub fn with_reserve(self, reserve: u64) -> Self {
        Self { reserve, ..self }
    }

    /// Returns whether a command gets the files of its check as arguments.
    pub fn takes_files(&self, name: &str) -> bool {
        self.declared.get(name).is_some_and(CommandConfig::takes_files)
    }

    /// Runs a command for these files: several times if it takes files and they do not fit on one command line. The time
    /// limit covers all runs together.
    pub async fn run_for(&self, name: &str, files: &[String]) -> Result<Vec<CommandResult>, NoResult> {
        self.run_by("", name, files).await
    }

    /// Runs a command for these files, on behalf of a check.
    pub(crate) async fn run_by(
        &self,
        check: &str,
        name: &str,
        files: &[String],
    ) -> Result<Vec<CommandResult>, NoResult> {
        let Some(command) = self.declared.get(name).filter(|command| command.takes_files()) else {
            return self.run_with(check, name, Vec::new()).await.map(|ran| vec![ran]);
        };
        let mut outputs = Vec::new();
        let mut left = command.timeout;
        for run in command_lines::command_lines(command, files) {
            let command = CommandConfig { run, timeout: left, ..command.clone() };
            let ran = self.run_once(check, name, &command, Vec::new()).await?;
            left = left.saturating_sub(ran.duration);
            let is_late = ran.ending == CommandEnding::TimedOut;
            outputs.push(ran);
            if is_late {
                break;
            }
        }
        Ok(outputs)
    }

    /// Runs a command with these bytes on its stdin. Dropping the future kills everything that the command started.
    pub async fn run(&self, name: &str, stdin: Vec<u8>) -> Result<CommandResult, NoResult> {
        self.run_with("", name, stdin).await
    }

    /// Runs a command with these bytes on its stdin, on behalf of a check.
    pub(crate) async fn run_with(&self, check: &str, name: &str, stdin: Vec<u8>) -> Result<CommandResult, NoResult> {
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
        self.run_once(check, name, command, stdin).await
    }

    async fn run_once(
        &self,
        check: &str,
        name: &str,
        command: &CommandConfig,
        stdin: Vec<u8>,
    ) -> Result<CommandResult, NoResult> {
        if let Some(played) = self.tape.as_ref().and_then(|tape| tape.played(check, name, command)) {
            return played.map_err(|error| error.of(name));
        }
        #[cfg(all(feature = "commands", target_os = "linux"))]
        let ran = run::run(self, name, command, stdin).await;
        #[cfg(not(all(feature = "commands", target_os = "linux")))]
        let ran = {
            let _ =
                (command, stdin, &self.root, &self.configuration, &self.cache, &self.state, self.at_most, self.reserve);
            let _ = (&self.environment, self.base_files.as_ref().map(|base| (&base.paths, &base.stored)));
            Err(NoResult::not_started(UNAVAILABLE.to_owned()))
        };
        let noted = |ran: CommandResult| match &self.tape {
            Some(tape) => tape.note(check, &ran).map(|()| ran),
            None => Ok(ran),
        };
        ran.and_then(noted).map_err(|error| error.of(name))
    }
}

/// Kills all running commands and everything that they started, and starts no others, because `gate` is about to exit. Waits
/// for that at most this long.
pub(crate) fn end_all(patience: Duration) {
    #[cfg(all(feature = "commands", target_os = "linux"))]
    running::end_all(patience);
    #[cfg(not(all(feature = "commands", target_os = "linux")))]
    let _ = patience;
}
