//! Guests leave nothing behind: after several rounds of the hostile catalogue, the process has as many threads and open
//! files as after the first, and no more memory.
#![cfg(target_os = "linux")]

use crate::asking::TestHost;
use crate::hostile;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

/// Set in the process that runs the rounds. It runs nothing else, so that nothing else is counted.
const ALONE: &str = "GATEHOST_BASELINE";
const ROUNDS: usize = 4;
/// How much memory the second half of the rounds may add. Leaking one instance per round would add more.
const MARGIN_BYTES: usize = 64 << 20;

#[derive(Debug, PartialEq)]
struct Held {
    threads: usize,
    files: usize,
}

impl Held {
    fn now() -> Self {
        let count = |folder| fs::read_dir(folder).expect("a folder of Linux").count();
        Self { threads: count("/proc/self/task"), files: count("/proc/self/fd") }
    }
}

fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("a file of Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for it");
    1024 * line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number")
}

#[test]
fn rounds_of_the_catalogue_leave_nothing_behind() {
    if env::var_os(ALONE).is_some() {
        return rounds();
    }
    let name = "baseline::rounds_of_the_catalogue_leave_nothing_behind";
    let mut alone = Command::new(env::current_exe().expect("this program"));
    let output = alone.args(["--exact", name]).env(ALONE, "1").output().expect("started");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

fn rounds() {
    let host = TestHost::new();
    let questions = hostile::questions(Duration::from_millis(20));
    let mut held = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..ROUNDS {
        let answers: Vec<_> =
            questions.iter().map(|(component, question)| host.ask(component, question.clone())).collect();
        assert_eq!(hostile::surprises(&answers), Vec::<String>::new());
        drop(answers);
        held.push(Held::now());
        resident.push(resident_bytes());
    }
    assert!(held.iter().all(|round| *round == held[0]), "{held:?}");
    assert!(resident[ROUNDS - 1] <= resident[ROUNDS / 2 - 1] + MARGIN_BYTES, "{resident:?}");
}
