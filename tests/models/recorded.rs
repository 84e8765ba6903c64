//! The tapes of the cases: each is what its reviewer asks, answered with the case's `answers.jsonl`, where `{nonce}`
//! stands for the nonce. A changed prompt makes them stale; `BLESS=1 cargo test` records them again.

use super::reviewers::nonce;
use super::server::{Act, Server};
use crate::support;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The nonce of every stored tape, so that recording again changes nothing else.
const NONCE: &str = "recordedrecordedrecordedrecorded";

#[test]
fn the_tapes_of_the_cases_are_what_the_reviewers_ask() {
    let mut recorded = 0;
    for case in support::cases().into_iter().map(|case| case.folder) {
        let Ok(answers) = fs::read_to_string(case.join("answers.jsonl")) else { continue };
        recorded += 1;
        let answers = answers.lines().map(|line| serde_json::from_str(line).expect("a text")).collect();
        let tape = record(&case, answers);
        let stored = case.join("tape.jsonl");
        if std::env::var_os("BLESS").is_some() {
            fs::write(stored, tape).expect("written");
        } else {
            let expected = fs::read_to_string(stored).unwrap_or_default();
            // Voters are asked at the same time, and answered in any order.
            let sorted = |tape: &str| {
                let mut lines: Vec<String> = tape.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert!(
                sorted(&expected) == sorted(&tape),
                "{}: the tape is stale; BLESS=1 cargo test records it anew",
                case.display()
            );
        }
    }
    assert!(recorded >= 6, "the tapes are gone");
}

/// Run the case with a server instead of the tape, and return what was recorded.
fn record(case: &Path, answers: Vec<String>) -> String {
    let server = Server::start(move |number, asked| {
        let answer = answers.get(number).expect("as many answers as questions");
        Act::Say(answer.replace("{nonce}", nonce(asked)))
    });
    let temporary = crate::support::tempdir().expect("a folder");
    let root = temporary.path().join("work");
    fs::create_dir(&root).expect("a folder");
    support::copy(&case.join("workspace"), &root);
    let config = fs::read_to_string(root.join("gate.toml")).expect("a configuration");
    fs::write(root.join("gate.toml"), config.replace("http://127.0.0.1:1", &server.url)).expect("written");
    let args = fs::read_to_string(case.join("args")).expect("arguments").replace("--replay-models", "--record-models");
    let input = fs::File::open(case.join("stdin")).map_or(Stdio::null(), Stdio::from);
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    let output =
        support::isolate(gate.args(args.lines()), &root, temporary.path()).stdin(input).output().expect("gate runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let tape = fs::read_to_string(temporary.path().join("tape.jsonl"))
        .unwrap_or_else(|_| panic!("{}: {errors}", case.display()));
    let used = server.asked().first().map(|asked| nonce(asked).to_owned()).expect("it was asked");
    let normal = |line: &str| {
        let exchange: serde_json::Value = serde_json::from_str(line).expect("an exchange");
        line.replace(exchange["nonce"].as_str().unwrap_or(&used), NONCE) + "\n"
    };
    tape.lines().map(normal).collect()
}
