//! The ledger as a whole: whatever ends a run, and whenever, nothing that was acknowledged is lost, and the chain holds.

mod clock;
mod commands;
mod evidence;
mod overrides;
mod policy;
mod stored;
mod verify;

use crate::support::isolate;
use gatehost::ledger::body::{Note, StepStart};
use gatehost::ledger::history::{self, RunEnding};
use gatehost::ledger::{Durability, EntryKind, Filter, Labels, Ledger, NewEntry, Project, SqliteLedger};
use gatehost::verdict::Status;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A folder with one file to judge, and a state folder beside it.
pub(crate) struct Stage {
    _temporary: tempfile::TempDir,
    home: PathBuf,
    work: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let temporary = crate::support::tempdir().expect("a folder");
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
        Project::of(&self.work, &gatehost::environment::Environment::of_process()).expect("a project")
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
            let inputs = ledger.attachment(record["run"].as_str().expect("a run"), "inputs").expect("looked up");
            assert_eq!(inputs.len(), 1, "{when}: the run was acknowledged, and cannot be bundled");
        }
        // What began and did not end is no pass.
        for run in history::interrupted(&ledger, &self.project()).expect("runs") {
            assert!(!run.passed() && run.ending == RunEnding::Interrupted, "{when}");
            assert!(!runs.iter().any(|entry| entry.labels.run == run.run), "{when}");
        }
    }
}

/// The shim, built once.
pub(crate) fn shim() -> PathBuf {
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

impl Stage {
    /// Run `gate`, and do `how` to the nth call by which it writes to the state folder.
    fn run_with(&self, how: &str, at: usize) -> Output {
        let mut gate = self.gate(&["run", "--format", "json"]);
        gate.env("LD_PRELOAD", shim()).env("SHIM_FOLDER", self.state());
        gate.env("SHIM_AT", at.to_string()).env("SHIM_HOW", how).output().expect("gate runs")
    }

    /// Run `gate` while the clock is off by so many seconds.
    fn run_with_clock(&self, args: &[&str], off: i64) -> Output {
        let mut gate = self.gate(args);
        gate.env("LD_PRELOAD", shim()).env("SHIM_CLOCK", off.to_string()).output().expect("gate runs")
    }
}

/// Run `gate` once for each call by which it writes to the state folder, and kill it there. Returns how many there are.
/// Where each run has a stage of its own, everything is made anew each time.
fn killed_at_every_call(how: &str, own_stages: bool) -> usize {
    let mut stage = Stage::new();
    for at in 1..500 {
        let output = stage.run_with(how, at);
        stage.holds(&output, &format!("{how} call {at}"));
        if output.status.code() == Some(0) {
            return at - 1;
        }
        assert_eq!(output.status.code(), None, "{how} call {at}: {output:?}");
        // Whatever was left behind, the next run goes on.
        let next = stage.run(&["run", "--format", "json"]);
        assert_eq!(next.status.code(), Some(0), "after {how} call {at}: {}", String::from_utf8_lossy(&next.stderr));
        stage.holds(&next, &format!("after {how} call {at}"));
        if own_stages {
            stage = Stage::new();
        }
    }
    panic!("a run writes without end");
}

#[test]
fn a_run_that_is_killed_at_any_call_loses_nothing_and_passes_nothing() {
    let points: usize = ["before", "after", "half-kill"].map(|how| killed_at_every_call(how, false)).iter().sum();
    assert!(points >= 40, "only {points} points");
}

#[test]
#[ignore = "a new ledger for each of a hundred kills: a minute"]
fn a_first_run_that_is_killed_at_any_call_loses_nothing_and_passes_nothing() {
    for how in ["before", "after", "half-kill"] {
        let points = killed_at_every_call(how, true);
        assert!(points >= 25, "{how}: only {points} points");
    }
}

#[test]
fn a_run_whose_writing_fails_at_any_call_is_no_pass() {
    for how in ["space", "io", "rofs", "files", "half-space", "short"] {
        let stage = Stage::new();
        assert_eq!(stage.run(&["run"]).status.code(), Some(0), "the caches are filled");
        let mut failed = 0;
        for at in 1..60 {
            let output = stage.run_with(how, at);
            stage.holds(&output, &format!("{how} call {at}"));
            match output.status.code() {
                Some(0) => {}
                Some(3) => failed += 1,
                other => panic!("{how} call {at}: {other:?} {}", String::from_utf8_lossy(&output.stderr)),
            }
        }
        // What is written in two pieces is written.
        assert!(how == "short" || failed >= 5, "{how}: only {failed} calls mattered");
        assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    }
}

#[test]
fn a_clock_that_jumps_changes_neither_order_nor_chain() {
    let stage = Stage::new();
    let year = 365 * 24 * 3600;
    for off in [0, 10 * year, -10 * year, 0] {
        let output = stage.run_with_clock(&["run", "--format", "json"], off);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        stage.holds(&output, &format!("off by {off} s"));
    }
    let entries = stage.ledger().entries(&Filter::default()).expect("entries");
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    let years: Vec<&str> = entries.iter().map(|entry| &entry.at[..4]).collect();
    assert!(years[2] > years[0] && years[4] < years[0], "{years:?}");
}

/// A gate that runs a command, so that there are steps to be killed at.
const SLOW: &str = "[gate.default]\nall = [\"json\", \"tests\"]\n[check.json]\nverifier = \"json-syntax\"\n\
                    [check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n\
                    [command.tests]\nrun = [\"test\", \"-f\", \"a.json\"]\n";

#[test]
fn a_run_that_is_killed_at_any_step_counts_as_interrupted() {
    use std::io::{BufRead, BufReader};
    let stage = Stage::new();
    std::fs::write(stage.work().join("gate.toml"), SLOW).expect("written");
    assert_eq!(stage.run(&["run"]).status.code(), Some(0));
    let mut killed = 0;
    for lines in 1.. {
        let mut child = stage.gate(&["run", "--events", "-"]).stdout(Stdio::piped()).spawn().expect("gate runs");
        let mut events = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let seen = events.by_ref().take(lines).count();
        if seen < lines {
            assert!(child.wait().expect("it ended").success());
            break;
        }
        let _ = child.kill();
        let _ = child.wait();
        killed += 1;
        let ledger = stage.ledger();
        assert_eq!(ledger.verify(None).expect("looked at"), [], "killed after event {lines}");
        let runs = history::runs(&ledger.entries(&Filter::default()).expect("entries")).expect("runs");
        // It is there with its record, or it counts as interrupted.
        assert!(runs.iter().all(|run| run.ending != RunEnding::Running), "killed after event {lines}");
    }
    assert!(killed >= 5, "only {killed} steps");
    let kinds = [EntryKind::StepStarted, EntryKind::StepEnded];
    let steps = stage.ledger().entries(&Filter::default().kinds(&kinds)).expect("entries");
    let verify = |entry: &&gatehost::ledger::Entry| entry.read::<StepStart>().expect("a body").step == "verify";
    assert!(steps.iter().filter(verify).count() >= 2, "the check that runs a command is a step of its own");
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

/// Writers at the same time, each a process of its own: this program, called for `writer_process` alone.
fn writers(writers: usize, each: usize) {
    let folder = crate::support::tempdir().expect("a folder");
    let children: Vec<Child> = (0..writers)
        .map(|writer| {
            let mut child = Command::new(std::env::current_exe().expect("this program"));
            child.args(["--exact", "ledger::writer_process", "--ignored", "--test-threads=1"]);
            child.env("GATE_TEST_FOLDER", folder.path()).env("GATE_TEST_WRITER", writer.to_string());
            child.env("GATE_TEST_EACH", each.to_string()).stdout(Stdio::null()).spawn().expect("started")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ended").success());
    }
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    let entries = ledger.entries(&Filter::default()).expect("entries");
    assert_eq!(ledger.head().expect("a head").seq, (writers * each) as u64);
    let texts: Vec<String> = entries.iter().map(|entry| entry.read::<Note>().expect("a note").text).collect();
    for writer in 0..writers {
        let mine: Vec<&String> = texts.iter().filter(|text| text.starts_with(&format!("{writer} "))).collect();
        assert_eq!(
            mine,
            (0..each).map(|number| format!("{writer} {number}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
        );
    }
}

#[test]
#[ignore = "a writer of the tests about many of them, and nothing by itself"]
fn writer_process() {
    let variable = |name: &str| std::env::var(name).ok();
    let Some(folder) = variable("GATE_TEST_FOLDER") else { return };
    let writer = variable("GATE_TEST_WRITER").expect("a number");
    let each: usize = variable("GATE_TEST_EACH").expect("a number").parse().expect("a number");
    let ledger = SqliteLedger::open(Path::new(&folder)).expect("open");
    for number in 0..each {
        let note = Note { text: format!("{writer} {number}"), ..Note::default() };
        let entry = NewEntry::new(EntryKind::Note, Labels::default(), &note).expect("JSON");
        ledger.append(&Project::at(Path::new("/p")), vec![entry], Durability::Power).expect("appended");
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    writers(8, 10);
}

#[test]
#[ignore = "6,400 durable appends of 32 processes: a minute"]
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
