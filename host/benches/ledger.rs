//! What the ledger costs: a cold `gate run` with and without it, and what a long ledger adds to a run, to `gate status` and to
//! `gate verify`. `cargo bench --bench ledger`.
//!
//! Each pair is measured in turns within one run, so that whatever else the machine does meets both sides.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that measures and prints")]

use gatehost::ledger::{Durability, Ledger, NewEntry, Project, SqliteLedger};
use gatehost::record::Record;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 31;

struct Stage {
    _temporary: tempfile::TempDir,
    home: PathBuf,
}

impl Stage {
    /// A folder with one file, and a ledger with so many runs of it.
    fn new(runs: usize) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let home = temporary.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("work")).unwrap();
        std::fs::write(home.join("work/a.json"), "{}\n").unwrap();
        let stage = Self { _temporary: temporary, home };
        let output = stage.gate(&["run", "--format", "json"]).output().unwrap();
        let record: Record = serde_json::from_slice(&output.stdout).unwrap();
        let ledger = SqliteLedger::open(&stage.home.join("state")).unwrap();
        let project = Project::of(&stage.home.join("work"), &gatehost::environment::Environment::of_process()).unwrap();
        let others: Vec<usize> = (0..runs).collect();
        for chunk in others.chunks(1_000) {
            let other = |number: &usize| {
                let mut other = record.clone();
                other.run = format!("run-{number}");
                other.tree = Some(format!("sha256:{number:064}"));
                NewEntry::run(&other, "").unwrap()
            };
            ledger.append(&project, chunk.iter().map(other).collect(), Durability::Power).unwrap();
        }
        // The last run is that of what is there.
        assert!(stage.gate(&["run"]).status().unwrap().success());
        stage
    }

    fn gate(&self, arguments: &[&str]) -> Command {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        gate.args(arguments).current_dir(self.home.join("work")).env_clear().env("PATH", path);
        // Even without recording, `gate` looks whether a ledger that is there halts the project.
        let state = if arguments.contains(&"--no-ledger") { "no-state" } else { "state" };
        gate.env("HOME", &self.home).env("GATE_STATE_DIR", self.home.join(state));
        gate.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if arguments.contains(&"json") {
            gate.stdout(Stdio::piped());
        }
        gate
    }

    fn time(&self, arguments: &[&str]) -> Duration {
        let start = Instant::now();
        assert!(self.gate(arguments).status().unwrap().success(), "{arguments:?}");
        start.elapsed()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The medians of two commands that are run in turns.
fn compare(name: &str, first: (&Stage, &[&str]), second: (&Stage, &[&str])) {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(first.0.time(first.1));
        two.push(second.0.time(second.1));
    }
    let (one, two) = (median(one), median(two));
    println!("{name:<44} {one:>10.2?} {two:>10.2?}   {:.2} times", two.as_secs_f64() / one.as_secs_f64());
}

/// How long one append takes until it is on the disk, and how long the disk takes for that alone.
fn fsync(folder: &Path) {
    let ledger = SqliteLedger::open(&folder.join("state")).unwrap();
    let project = Project::at(Path::new("/p"));
    let (mut appended, mut synced) = (Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        let entry = NewEntry::new(gatehost::ledger::EntryKind::Note, Default::default(), &number).unwrap();
        let start = Instant::now();
        ledger.append(&project, vec![entry], Durability::Power).unwrap();
        appended.push(start.elapsed());
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("sync")).unwrap();
        let start = Instant::now();
        std::io::Write::write_all(&mut file, &[0; 8_192]).unwrap();
        file.sync_data().unwrap();
        synced.push(start.elapsed());
    }
    let (synced, appended) = (median(synced), median(appended));
    println!("{:<44} {synced:>10.2?} {appended:>10.2?}", "fsync of a file; one durable append");
}

fn main() {
    // `cargo test --benches` only wants to know that this starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let (short, long) = (Stage::new(100), Stage::new(10_000));
    fsync(&short.home);
    compare("gate run: without a ledger, with one", (&short, &["run", "--no-ledger"]), (&short, &["run"]));
    compare("gate run: 100 entries, 10,000", (&short, &["run"]), (&long, &["run"]));
    compare("gate status: 100 entries, 10,000", (&short, &["status"]), (&long, &["status"]));
    compare("gate verify: 100 entries, 10,000", (&short, &["verify"]), (&long, &["verify"]));
}
