//! Reports as the program writes them: several at once, into files, and again from a record.

use crate::support;
use gatehost::runtime::BUNDLED;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn gate(home: &Path, arguments: &str) -> (Option<i32>, String, String) {
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    support::isolate(gate.args(arguments.split_whitespace()), &home.join("work"), home).stdin(Stdio::null());
    let gate = gate.env("GATE_STATE_DIR", home.join("state")).env("GITHUB_STEP_SUMMARY", home.join("summary.md"));
    let output = gate.output().expect("gate runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn work() -> tempfile::TempDir {
    let home = crate::support::tempdir().expect("a folder");
    fs::create_dir(home.path().join("work")).expect("a folder");
    fs::write(home.path().join("work/a.json"), "{\"a\": 1,}").expect("written");
    home
}

/// Others write to the same file: what they wrote stays, and so does what follows.
#[test]
fn a_report_to_an_open_file_is_written_to_it() {
    let home = work();
    let log = home.path().join("log");
    for output in ["/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/1", "link"] {
        fs::write(&log, "earlier\n").expect("written");
        let _ = std::os::unix::fs::symlink("/dev/stdout", home.path().join("work/link"));
        let open = fs::File::options().append(true).open(&log).expect("a file");
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
        let output = format!("json={output}");
        support::isolate(gate.args(["run", "--output", &output]), &home.path().join("work"), home.path());
        gate.stdin(Stdio::null()).stdout(open.try_clone().expect("a file")).stderr(open);
        gate.env("GATE_STATE_DIR", home.path().join("state")).status().expect("gate runs");
        let text = fs::read_to_string(&log).expect("text");
        let has = |part: &str| text.contains(part);
        assert!(
            text.starts_with("earlier\n") && has("\"status\": \"fail\"") && has("gate default: fail"),
            "{output}: {text}"
        );
    }
}

/// A stream of events empties its file first, so it must be one of events.
#[test]
fn events_never_overwrite_another_file() {
    let home = work();
    let events = home.path().join("events");
    for _ in 0..2 {
        gate(home.path(), "run --events ../events");
        let text = fs::read_to_string(&events).expect("text");
        assert_eq!(text.matches("\"run.started\"").count(), 1, "{text}");
    }
    fs::write(&events, "mine\n").expect("written");
    let (code, _, said) = gate(home.path(), "run --events ../events");
    assert_eq!((code, fs::read_to_string(&events).expect("text")), (Some(2), "mine\n".to_owned()));
    assert!(said.contains("has no events"), "{said}");
}

#[test]
fn one_run_writes_several_reports_and_they_can_be_made_again_later() {
    let home = work();
    let (code, stdout, _) =
        gate(home.path(), "run --output sarif=../o.sarif --output junit=../o.xml --output json=../o.json");
    assert_eq!(code, Some(1));
    assert!(stdout.contains("gate default: fail"), "{stdout}");
    let read = |name: &str| fs::read_to_string(home.path().join(name)).expect("written");
    let sarif: Value = serde_json::from_str(&read("o.sarif")).expect("JSON");
    let rules = &sarif["runs"][0]["tool"]["driver"]["rules"][0];
    assert_eq!(rules["id"], "json-syntax/trailing-comma");
    // What the verifier declares about its codes goes with them.
    let json = BUNDLED.iter().find(|bundled| bundled.name == "json-syntax").expect("bundled").description();
    let summary = json.rule("trailing-comma").map(|rule| rule.summary.clone());
    assert_eq!(rules["shortDescription"]["text"].as_str(), summary.as_deref(), "{rules}");
    assert!(read("o.xml").contains("<failure"));
    for run in ["../o.json", "last"] {
        for (format, file) in [("sarif", "o.sarif"), ("junit", "o.xml")] {
            let (code, stdout, stderr) = gate(home.path(), &format!("report {run} --format {format}"));
            assert_eq!((code, stdout), (Some(0), read(file)), "{run} {format}: {stderr}");
        }
    }
    let id = sarif["runs"][0]["properties"]["run"].as_str().expect("a run");
    assert_eq!(gate(home.path(), &format!("report {id} --format junit")).1, read("o.xml"));
}

#[test]
fn columns_for_reviewdog_count_bytes_while_the_file_is_the_checked_one() {
    let home = work();
    let file = home.path().join("work/a.json");
    fs::write(&file, "{\"é𐐀\": 1,}").expect("written");
    let (code, stdout, _) = gate(home.path(), "run --format rdjsonl");
    let start = |stdout: &str| {
        let line: Value = serde_json::from_str(stdout.lines().next().expect("a line")).expect("JSON");
        line["location"]["range"]["start"].clone()
    };
    assert_eq!((code, start(&stdout)), (Some(1), serde_json::json!({ "line": 1, "column": 14 })), "{stdout}");
    assert_eq!(start(&gate(home.path(), "report last --format rdjsonl").1), start(&stdout));
    fs::write(&file, "{\"e\": 1}").expect("written");
    let (_, later, _) = gate(home.path(), "report last --format rdjsonl");
    assert_eq!(start(&later), serde_json::json!({ "line": 1 }), "{later}");
}

#[test]
fn annotations_go_with_a_summary_of_the_job() {
    let home = work();
    let (code, stdout, _) = gate(home.path(), "run --format github");
    assert_eq!(code, Some(1));
    assert!(stdout.lines().any(|line| line.starts_with("::error file=a.json,line=1")), "{stdout}");
    let summary = fs::read_to_string(home.path().join("summary.md")).expect("written");
    assert!(summary.starts_with("### gate `default`: fail"), "{summary}");
}

#[test]
fn no_report_of_an_earlier_run_is_left_where_there_was_none() {
    let home = work();
    for file in ["o.xml", "o.json"] {
        fs::write(home.path().join(file), "of yesterday").expect("written");
    }
    fs::write(home.path().join("work/gate.toml"), "[gate.x]\n").expect("written");
    let (code, _, _) = gate(home.path(), "run --output junit=../o.xml --output json=../o.json");
    assert_eq!(code, Some(2));
    assert!(!home.path().join("o.xml").exists());
    let mistake: Value = serde_json::from_slice(&fs::read(home.path().join("o.json")).expect("written")).expect("JSON");
    assert_eq!(mistake["status"], "mistake");
}

#[test]
fn what_cannot_be_reported_is_a_mistake() {
    let home = work();
    for (arguments, words) in [
        ("run --output pdf=x", "no format `pdf`"),
        ("run --output sarif", "FORMAT=FILE"),
        ("run --output sarif=", "FORMAT=FILE"),
        ("run --output sarif=no/such/folder/x", "cannot write the sarif report"),
        ("report no/such/file", "cannot read the run"),
        ("report no-such-run", "the ledger has no run `no-such-run`"),
        ("report a.json", "not a run record"),
    ] {
        let (code, _, stderr) = gate(home.path(), arguments);
        assert!(code == Some(2) && stderr.contains(words), "{arguments}: {code:?} {stderr}");
    }
}
