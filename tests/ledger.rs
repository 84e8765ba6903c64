//! The ledger as a whole: whatever ends a run, and whenever, nothing that was acknowledged is lost, and the chain holds.

mod commands;

use crate::support::isolate;
use gatehost::ledger::history::{self, Ending};
use gatehost::ledger::{Durability, EntryKind, Filter, Labels, Ledger, NewEntry, Project, SqliteLedger, body::Note};
use gatehost::verdict::Status;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A folder with one file to judge, and a state folder beside it.
pub(crate) struct Stage {
    _temporary: tempfile::TempDir,
    home: PathBuf,
    work: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let temporary = tempfile::tempdir().expect("a folder");
        let home = temporary.path().canonicalize().expect("a folder");
        let work = home.join("work");
        std::fs::create_dir(&work).expect("a folder");
        std::fs::write(work.join("a.json"), "{}\n").expect("written");
        Self { _temporary: temporary, home, work }
    }

    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.join("state")
    }

    /// `gate` with these arguments, in the folder.
    pub(crate) fn gate(&self, args: &[&str]) -> Command {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        isolate(gate.args(args), &self.work, &self.home).env("GATE_STATE_DIR", self.state());
        gate.stdin(Stdio::null());
        gate
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.gate(args).output().expect("gate runs")
    }

    pub(crate) fn ledger(&self) -> SqliteLedger {
        SqliteLedger::open(&self.state()).expect("a ledger")
    }

    pub(crate) fn project(&self) -> Project {
        Project::of(&self.work).expect("a project")
    }

    fn spawn(&self) -> Child {
        let mut gate = self.gate(&["run", "--format", "json"]);
        gate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("gate runs")
    }

    /// What must hold whatever happened: the chain, and every run that was acknowledged.
    fn holds(&self, output: &Output, when: &str) {
        let ledger = self.ledger();
        assert_eq!(ledger.verify(None).expect("looked at"), [], "{when}");
        let runs = ledger.entries(&Filter::of(&self.project()).kinds(&[EntryKind::Run])).expect("entries");
        if output.status.code() == Some(0) {
            let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a record");
            let stored = runs.iter().any(|entry| entry.labels.run == record["run"] && entry.labels.status == "pass");
            assert!(stored, "{when}: the run was acknowledged, and is not in the ledger");
        }
        // What began and did not end is no pass.
        for run in history::interrupted(&ledger, &self.project()).expect("runs") {
            assert!(!run.passed() && run.ending == Ending::Interrupted, "{when}");
            assert!(!runs.iter().any(|entry| entry.labels.run == run.run), "{when}");
        }
    }
}

/// The shim, built once.
fn shim() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let build = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ledger/shim.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim-{}.so", std::process::id()));
        let output = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).output();
        let output = output.expect("a C compiler, as SQLite needs one");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        library
    };
    BUILT.get_or_init(build).clone()
}

/// Run `gate` once for each call by which it writes to the state folder, and do `how` to that call. The number of such calls
/// is returned.
fn at_every_call(stage: &Stage, how: &str, mut check: impl FnMut(&Output, usize)) -> usize {
    for at in 1..500 {
        let mut gate = stage.gate(&["run", "--format", "json"]);
        gate.env("LD_PRELOAD", shim())
            .env("SHIM_FOLDER", stage.state())
            .env("SHIM_AT", at.to_string())
            .env("SHIM_HOW", how);
        let output = gate.output().expect("gate runs");
        let when = format!("{how} call {at}");
        stage.holds(&output, &when);
        if output.status.code() == Some(0) {
            return at - 1;
        }
        check(&output, at);
    }
    panic!("a run writes without end");
}

#[test]
fn a_run_that_is_killed_at_any_call_loses_nothing_and_passes_nothing() {
    let mut points = 0;
    for how in ["before", "after"] {
        let stage = Stage::new();
        points += at_every_call(&stage, how, |output, at| {
            assert_eq!(output.status.code(), None, "{how} call {at}: {output:?}");
        });
        // Whatever was left behind, the next run goes on.
        assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    }
    assert!(points >= 25, "only {points} points");
}

#[test]
fn a_run_whose_writing_fails_at_any_call_is_no_pass() {
    for how in ["space", "io"] {
        let stage = Stage::new();
        assert_eq!(stage.run(&["run"]).status.code(), Some(0), "the caches are filled");
        let mut failed = 0;
        for at in 1..60 {
            let mut gate = stage.gate(&["run", "--format", "json"]);
            gate.env("LD_PRELOAD", shim())
                .env("SHIM_FOLDER", stage.state())
                .env("SHIM_AT", at.to_string())
                .env("SHIM_HOW", how);
            let output = gate.output().expect("gate runs");
            stage.holds(&output, &format!("{how} call {at}"));
            match output.status.code() {
                Some(0) => {}
                Some(3) => failed += 1,
                other => panic!("{how} call {at}: {other:?} {}", String::from_utf8_lossy(&output.stderr)),
            }
        }
        assert!(failed >= 10, "{how}: only {failed} calls mattered");
        assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    }
}

/// Kill runs at moments that nobody chose.
fn random_kills(count: u32) {
    let stage = Stage::new();
    assert_eq!(stage.run(&["run"]).status.code(), Some(0), "the caches are filled");
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..count {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut child = stage.spawn();
        std::thread::sleep(Duration::from_micros((seed >> 33) % 60_000));
        // It may have ended by itself.
        let _ = child.kill();
        let output = child.wait_with_output().expect("it ended");
        if number % 20 == 0 || output.status.code() == Some(0) {
            stage.holds(&output, &format!("kill {number}"));
        }
    }
    let output = stage.run(&["run", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    stage.holds(&output, "at the end");
}

#[test]
fn runs_that_are_killed_at_random_lose_nothing() {
    random_kills(25);
}

#[test]
#[ignore = "a thousand runs: minutes"]
fn a_thousand_runs_that_are_killed_at_random_lose_nothing() {
    random_kills(1_000);
}

/// Writers with a connection each, at the same time.
fn writers(writers: usize, each: usize) {
    let folder = Arc::new(tempfile::tempdir().expect("a folder"));
    let project = Project::at(Path::new("/p"));
    let threads: Vec<_> = (0..writers)
        .map(|writer| {
            let (folder, project) = (Arc::clone(&folder), project.clone());
            std::thread::spawn(move || {
                let ledger = SqliteLedger::open(folder.path()).expect("open");
                for number in 0..each {
                    let note = Note { text: format!("{writer} {number}"), ..Note::default() };
                    let entry = NewEntry::new(EntryKind::Note, Labels::default(), &note).expect("JSON");
                    ledger.append(&project, vec![entry], Durability::Power).expect("appended");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    let entries = ledger.entries(&Filter::default()).expect("entries");
    assert_eq!(entries.len(), writers * each);
    assert_eq!(ledger.head().expect("a head").seq, (writers * each) as u64);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    writers(16, 8);
}

#[test]
#[ignore = "6,400 durable appends: a minute"]
fn thirty_two_writers_of_two_hundred_entries_lose_nothing() {
    writers(32, 200);
}

#[test]
fn processes_at_the_same_time_lose_nothing() {
    let stage = Stage::new();
    let children: Vec<Child> = (0..8).map(|_| stage.spawn()).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ended");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        stage.holds(&output, "at the same time");
    }
    let runs = stage.ledger().entries(&Filter::default().kinds(&[EntryKind::Run])).expect("entries");
    assert_eq!(runs.len(), 8);
    assert!(runs.iter().all(|entry| entry.record().expect("a record").status == Status::Pass));
}
