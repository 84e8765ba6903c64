//! `gate loop`, with real executors: scripts that edit files in a real repository.

mod budgets;
mod commits;
mod evaluator;
mod fixes;
mod hostile;
mod hostile_fixes;
mod killed;
mod plans;
mod reviews;
mod seeds;
mod states;
mod tapes;
mod transcripts;

use crate::support::isolate;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A gate of one syntax check, and a check that reads claims.
const GATE: &str = "[gate.main]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";

/// A repository with a commit, in a home of its own.
struct Home(tempfile::TempDir);

/// What a loop came to.
struct Ran {
    exit: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// The record, of `--format json`.
    fn record(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// The state and the budget, the exit code, and what became of each attempt.
    fn told(&self) -> (String, i32, Vec<String>) {
        let record = self.record();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = match record["budget"].as_str() {
            Some(budget) => format!("{} {budget}", text(&record["state"])),
            None => text(&record["state"]),
        };
        let attempts = record["attempts"].as_array().expect("attempts").iter();
        let attempt = |attempt: &Value| {
            let words = [&attempt["executor"]["outcome"], &attempt["status"], &attempt["class"], &attempt["next"]];
            words.map(text).into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        (state, self.exit, attempts.map(attempt).collect())
    }
}

impl Home {
    fn new(gate: &str) -> Self {
        let home = Self(crate::support::tempdir().expect("a folder"));
        fs::create_dir(home.work()).expect("a folder");
        fs::write(home.work().join("gate.toml"), gate).expect("written");
        home.sh("echo '[1]' > a.json; git init -q -b main; git add -A; git commit -qm first");
        home
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("a folder")
    }

    fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    fn sh(&self, script: &str) -> String {
        let output = isolate(Command::new("bash").args(["-euc", script]), &self.work(), &self.path()).output();
        let output = output.expect("bash runs");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn command(&self, flags: &[&str], executor: &[&str]) -> Command {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        isolate(gate.arg("loop").args(flags).arg("--").args(executor), &self.work(), &self.path());
        gate.env("GATE_STATE_DIR", self.path().join("state")).stdin(Stdio::null());
        gate
    }

    fn run(&self, flags: &[&str], executor: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(flags, executor).output().expect("gate runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { exit: status.code().expect("an exit code"), stdout: text(stdout), stderr: text(stderr) }
    }

    /// A loop around a script of the shell, with its record.
    fn script(&self, flags: &[&str], script: &str) -> Ran {
        self.run(&[&["--format", "json"], flags].concat(), &["sh", "-c", script])
    }

    /// Another command of the program, with its exit code, what it printed, and what it said.
    fn gate(&self, arguments: &[&str]) -> Ran {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        isolate(gate.args(arguments), &self.work(), &self.path());
        gate.env("GATE_STATE_DIR", self.path().join("state")).stdin(Stdio::null());
        let Output { status, stdout, stderr } = gate.output().expect("gate runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { exit: status.code().expect("an exit code"), stdout: text(stdout), stderr: text(stderr) }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.work().join(name), text).expect("written");
    }

    /// The kinds of all entries of the ledger, with what steps they are about.
    fn ledger(&self) -> Vec<String> {
        use gatehost::ledger::{Filter, Ledger as _, SqliteLedger};
        let ledger = SqliteLedger::open(&self.path().join("state")).expect("a ledger");
        let entries = ledger.entries(&Filter::default()).expect("entries");
        let word = |entry: &gatehost::ledger::Entry| {
            let body: Value = serde_json::from_slice(&entry.body).expect("JSON");
            let step = body["step"].as_str().unwrap_or_default();
            let words = [entry.kind.as_str(), step, &entry.labels.status];
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        entries.iter().map(word).collect()
    }
}
