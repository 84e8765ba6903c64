//! Running the commands that the configuration declares: confined, bounded, and with a record of what came of them.

mod script;

pub use script::Script;

use crate::config::{Command, Sandbox};
use crate::submission::CommandEvidence;
use crate::text;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The commands of a configuration, and where they run.
#[derive(Debug)]
pub struct Commands {
    declared: BTreeMap<String, Command>,
    root: PathBuf,
    /// Where nothing is run, and these are the answers.
    script: Option<Script<Result<Ran, NotStarted>>>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was stopped at its time limit.
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
}

/// Why a command was not run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotStarted(pub String);

impl Commands {
    /// The commands of a configuration, to be run in the folder `root`.
    pub fn new(declared: BTreeMap<String, Command>, root: PathBuf) -> Self {
        Self { declared, root, script: None }
    }

    /// Commands that are not run: for each name, what comes of it, in order.
    pub fn scripted(answers: BTreeMap<String, Vec<Result<Ran, NotStarted>>>) -> Self {
        Self { script: Some(Script::new(answers)), ..Self::new(BTreeMap::new(), PathBuf::new()) }
    }

    /// Run a command to its end, with these bytes on its standard input. When the future is dropped, everything that
    /// was started is ended.
    pub async fn run(&self, name: &str, stdin: Vec<u8>) -> Result<Ran, NotStarted> {
        if let Some(script) = &self.script {
            let none_left = || Err(NotStarted(format!("the script has no further answer of the command `{name}`")));
            return script.next(name).unwrap_or_else(none_left);
        }
        let _ = (&self.declared, &self.root, name, stdin);
        Err(NotStarted("this version of gate cannot run commands".to_owned()))
    }
}

/// As much of a command's output as later tiers are told.
const TOLD: usize = 4_000;

impl From<&Ran> for CommandEvidence {
    fn from(ran: &Ran) -> Self {
        let printed = [&ran.stdout.head, &ran.stdout.tail, &ran.stderr.head, &ran.stderr.tail];
        let printed: Vec<_> = printed.into_iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        let exit_code = if let Ending::Exited(code) = ran.ending { Some(code) } else { None };
        Self { argv: ran.argv.clone(), exit_code, output: text::clean(&printed.concat(), TOLD) }
    }
}
