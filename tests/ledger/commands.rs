//! The commands that look at the ledger, and those by which a person decides.

use super::Stage;
use gatehost::ledger::history::{self, TaskHistory};
use gatehost::ledger::{Filter, Ledger};
use regex::Regex;
use serde_json::{Value, json};
use std::process::{Command, Output};

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Writes a file of the work, with the folders above it.
pub(super) fn write(stage: &Stage, path: &str, text: &str) {
    let path = stage.work().join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

/// Returns the record that a command printed.
pub(super) fn record(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)))
}

pub(super) fn said(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// What differs from run to run, replaced.
pub(super) fn normal(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, instead) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[MOMENT]"),
        (r"\b[0-9a-hjkmnp-tv-z]{26}\b", "[RUN]"),
        (r"\b[0-9a-f]{64}\b", "[HASH]"),
        (r"[0-9.]+ ms", "[TIME]"),
    ] {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, instead).into_owned();
    }
    text
}

/// Judge a submission about a task, whose file is fine or not.
pub(super) fn submit(stage: &Stage, task: Value, fine: bool) -> Output {
    submit_document(stage, json!({ "task": task }), fine)
}

pub(super) fn submit_document(stage: &Stage, document: Value, fine: bool) -> Output {
    std::fs::write(stage.work().join("a.json"), if fine { "{}\n" } else { "{\n" }).expect("written");
    let path = stage.state().parent().expect("a folder").join("submission.json");
    std::fs::write(&path, document.to_string()).expect("written");
    stage.run(&["run", "--format", "json", "--submission", path.to_str().expect("UTF-8")])
}

/// The same as a person at a terminal.
pub(super) fn at_terminal(stage: &Stage, arguments: &str, typed: &str) -> Output {
    at_terminal_with_clock(stage, arguments, typed, 0)
}

/// The same while the clock is off by so many seconds.
pub(super) fn at_terminal_with_clock(stage: &Stage, arguments: &str, typed: &str, off: i64) -> Output {
    let gate = env!("CARGO_BIN_EXE_gate");
    let mut script = Command::new("script");
    // Without an echo, which could come in the middle of a line of the program.
    script.args(["-qec", &format!("stty -echo && exec {gate} {arguments}"), "/dev/null"]);
    let home = stage.state().parent().expect("a folder").to_owned();
    crate::support::isolate(&mut script, stage.work(), &home).env("GATE_STATE_DIR", stage.state()).env("USER", "alice");
    if off != 0 {
        script.env("LD_PRELOAD", super::shim()).env("SHIM_CLOCK", off.to_string());
    }
    let mut child = script
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("script runs");
    use std::io::Write;
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "{typed}").expect("typed");
    // The terminal is closed when the program has ended.
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    output
}

#[test]
fn the_log_shows_every_entry_of_the_project() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["log"]).status.code(), Some(2), "there is no ledger yet");
    stage.run(&["run"]);
    submit(&stage, json!({ "id": "t1" }), false);
    let output = stage.run(&["log"]);
    let expected = "    1  [MOMENT]  step-started  gate  gate default  run [RUN]
    2  [MOMENT]  run           pass  gate default  run [RUN]
    3  [MOMENT]  step-started  gate  gate default  task t1  run [RUN]
    4  [MOMENT]  run           fail (verify-failure)  gate default  task t1  run [RUN]
";
    assert_eq!(normal(&text(&stage.run(&["log", "-v"]).stdout)), expected);
    let short = text(&output.stdout);
    assert!(short.lines().count() == 4 && short.lines().all(|line| line.chars().count() <= 80), "{short}");
    let output = stage.run(&["log", "--task", "t1", "--kind", "run", "--format", "json"]);
    let entry: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&entry["seq"], &entry["body"]["status"]), (&json!(4), &json!("fail")));
    let head = text(&stage.run(&["log", "--head"]).stdout);
    assert_eq!(head.trim(), stage.ledger().head().expect("a head").to_string());
    let verified = stage.run(&["log", "--verify", "--anchor", head.trim()]);
    assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    let forged = format!("9{}", head.trim());
    assert_eq!(stage.run(&["log", "--verify", "--anchor", &forged]).status.code(), Some(1));
    // A ledger that was removed as a whole is no new one where an entry of it is known.
    std::fs::remove_dir_all(stage.state()).expect("removed");
    for arguments in [&["log", "--verify"][..], &["verify"]] {
        assert_eq!(stage.run(arguments).status.code(), Some(2));
        let output = stage.run(&[arguments, &["--anchor", head.trim()]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        assert!(said(&output).contains("entry 4 was anchored: the ledger was removed"), "{}", said(&output));
    }
}

#[test]
fn events_that_cannot_be_written_are_no_pass() {
    let stage = Stage::new();
    let output = stage.run(&["run", "--events", "/dev/full"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("No space left on device"), "{}", said(&output));
}

#[test]
fn old_entries_are_dropped_in_the_open() {
    let stage = Stage::new();
    for _ in 0..3 {
        stage.run(&["run"]);
    }
    let output = stage.run(&["log", "--prune", "30d"]);
    assert!(said(&output).contains("no entry is older"), "{}", said(&output));
    let output = stage.run(&["log", "--prune", "23h"]);
    assert_eq!(output.status.code(), Some(2), "an agent would reset its attempts: {}", said(&output));
    let output = at_terminal(&stage, "log --prune 0s", "");
    assert!(said(&output).contains("dropped entries 1 to 6; entry 8 records this"), "{}", said(&output));
    assert_eq!(stage.run(&["log", "--verify"]).status.code(), Some(0));
    assert_eq!(stage.ledger().entries(&Filter::default()).expect("entries").len(), 2);
}

#[test]
fn what_waits_for_a_person_is_never_dropped() {
    let stage = Stage::new();
    for task in ["a", "b", "c"] {
        submit(&stage, json!({ "id": task, "group": "wave 1" }), false);
    }
    // From another project, which shares the ledger.
    let elsewhere = stage.state().parent().expect("a folder").join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("made");
    let output = at_terminal(&stage, &format!("-C {} log --prune 0s", elsewhere.display()), "");
    assert!(said(&output).contains("dropped entries 1 to 6; entry 8 records this"), "{}", said(&output));
    assert_eq!(stage.run(&["run"]).status.code(), Some(3), "it is still halted");
}

#[test]
fn the_ledger_counts_attempts_and_remembers_what_was_found() {
    let stage = Stage::new();
    for attempt in 1..=2 {
        let output = submit(&stage, json!({ "id": "t1" }), false);
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        assert_eq!(record["attempt"], attempt);
    }
    let history = TaskHistory::read(&stage.ledger(), &stage.project(), "t1").expect("a history");
    assert_eq!(history.attempts(), 2);
    let prior = history.prior_findings();
    assert_eq!((prior.len(), prior[0].attempt), (1, 2), "the same finding is one");
    assert_eq!(history.last_failure(), Some(history::failure_digest(history.records().next().expect("a record"))));
    let output = submit(&stage, json!({ "id": "t1" }), true);
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!((&record["attempt"], &record["status"]), (&json!(3), &json!("pass")));
    let history = TaskHistory::read(&stage.ledger(), &stage.project(), "t1").expect("a history");
    assert_eq!((history.attempts(), history.passed_before), (0, true), "a pass begins anew");
}

#[test]
fn a_submission_that_contradicts_the_ledger_is_refused() {
    let stage = Stage::new();
    for _ in 0..2 {
        submit(&stage, json!({ "id": "t1", "index": 4 }), false);
    }
    for (attempt, code) in [(1, 3), (2, 1), (3, 1), (9, 3)] {
        let document = json!({ "task": { "id": "t1" }, "attempt": attempt });
        let output = submit_document(&stage, document, false);
        let expected = if attempt == 3 { 1 } else { code };
        assert_eq!(output.status.code(), Some(expected), "attempt {attempt}: {}", said(&output));
    }
    let output = submit(&stage, json!({ "id": "t1", "index": 5 }), false);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("task.mismatch"), "{}", said(&output));
}

#[test]
fn the_third_failure_of_a_task_is_escalated_once() {
    let stage = Stage::new();
    for _ in 0..4 {
        assert_eq!(submit(&stage, json!({ "id": "t1" }), false).status.code(), Some(1));
    }
    let waiting = history::waiting(&stage.ledger(), &stage.project()).expect("a list");
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].escalation.level.as_str(), waiting[0].escalation.trigger.as_str()), ("notify", "same-task"));
    assert_eq!(waiting[0].escalation.why, "the same task failed 3 times");
}

#[test]
fn three_failed_tasks_of_a_group_halt_the_project_until_a_person_answers() {
    let stage = Stage::new();
    for task in ["a", "b", "c"] {
        let output = submit(&stage, json!({ "id": task, "group": "wave 1" }), false);
        assert_eq!(output.status.code(), Some(1));
    }
    let output = stage.run(&["run"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        said(&output).contains("the project has been halted since entry 7: 3 tasks of the group failed"),
        "{}",
        said(&output)
    );
    let output = stage.run(&["resume", "--retry"]);
    assert_eq!(output.status.code(), Some(2), "without a terminal: {}", said(&output));
    assert_eq!(stage.run(&["run"]).status.code(), Some(3));
    let output = at_terminal(&stage, "resume --investigate --reason looking", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(stage.run(&["run"]).status.code(), Some(3), "it stays halted while somebody looks");
    assert_eq!(stage.run(&["run", "--no-ledger"]).status.code(), Some(3), "whether it is recorded or not");
    let output = at_terminal(&stage, "resume --retry --reason fixed", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    std::fs::write(stage.work().join("a.json"), "{}\n").expect("written");
    let output = stage.run(&["run"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // Failed tasks are counted anew, so the next two do not halt it again.
    for (task, halted) in [("a", false), ("b", false), ("d", true)] {
        assert_eq!(submit(&stage, json!({ "id": task, "group": "wave 1" }), false).status.code(), Some(1));
        let found = history::halted(&stage.ledger(), &stage.project()).expect("an answer");
        assert_eq!(found.is_some(), halted, "{task}");
    }
}

#[test]
fn the_status_shows_where_a_task_is() {
    let stage = Stage::new();
    submit(&stage, json!({ "id": "t1", "title": "Create PlannerId" }), false);
    let expected = "Current task: t1: Create PlannerId

Gate progress: [####----] Step 2/3

[x] Step 1: Executor   - SUCCESS
[!] Step 2: Verify     - FAILED
[-] Step 3: Architect  - SKIPPED

Status: FAILED
Attempt: 1
";
    let output = stage.run(&["status"]);
    let found =
        Regex::new(r" \(\d\d:\d\d:\d\d\)").expect("a pattern").replace_all(&text(&output.stdout), "").into_owned();
    assert!(found.starts_with(expected), "{found}");
    submit(&stage, json!({ "id": "t1", "title": "Create PlannerId" }), true);
    let output = stage.run(&["status", "--format", "json"]);
    let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(status["current_task"]["gate_status"], "APPROVED");
    std::fs::write(stage.work().join("STATE.md"), "# Mine\n").expect("written");
    for _ in 0..2 {
        assert_eq!(stage.run(&["status", "--write", "STATE.md"]).status.code(), Some(0));
    }
    let written = std::fs::read_to_string(stage.work().join("STATE.md")).expect("written");
    assert!(written.starts_with("# Mine\n\n<!-- gate status: begin -->\n"), "{written}");
    assert_eq!(written.matches("gate status: begin").count(), 1);
    for field in [
        "current_task:",
        "gate_status: APPROVED",
        "executor_status: success",
        "verify_status: passed",
        "gate_stats:",
        "pass_rate: \"100%\"",
        "recent_failures:",
        "failure_type: VERIFY_FAILURE",
        "recovered: true",
    ] {
        assert!(written.contains(field), "{field}\n{written}");
    }
}

#[test]
fn a_task_without_an_id_is_shown_by_its_text() {
    let stage = Stage::new();
    stage.run(&["run", "--task", "Add a parser for dates"]);
    let shown = text(&stage.run(&["status"]).stdout);
    assert!(shown.starts_with("Current task: Add a parser for dates\n"), "{shown}");
    let shown = text(&stage.run(&["stats"]).stdout);
    assert!(shown.contains("json-syntax: 1 run, 0 failed"), "{shown}");
    stage.run(&["run"]);
    let shown = text(&stage.run(&["status"]).stdout);
    assert!(shown.starts_with("Current task: work without a task\n"), "{shown}");
}

#[test]
fn a_run_can_be_explained_and_counted() {
    let stage = Stage::new();
    stage.run(&["run"]);
    stage.run(&["run"]);
    let output = stage.run(&["explain"]);
    let found = text(&output.stdout);
    for part in [
        "\ntree      sha256:",
        "\nplan      sha256:",
        "1 verdict from the cache",
        "a.json: first passed in 01",
        "check json-syntax: json-syntax\n  component sha256:",
        "step-started",
    ] {
        assert!(found.contains(part), "{part}\n{found}");
    }
    submit(&stage, json!({ "id": "t1" }), false);
    let shown = text(&stage.run(&["stats"]).stdout);
    assert!(shown.contains("json-syntax: 3 runs, 1 failed"), "{shown}");
    assert!(shown.contains("0 overrides, 0 escalations"), "{shown}");
    let output = stage.run(&["stats", "--format", "json"]);
    let stats: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let stats = &stats["stats"];
    assert_eq!((&stats["runs"], &stats["passed"], &stats["failed"]), (&json!(3), &json!(2), &json!(1)));
    assert_eq!(stats["pass_rate"], 66.67);
    let first = stage.run(&["stats", "--fingerprint"]).stdout;
    assert_eq!(first, stage.run(&["stats", "--fingerprint"]).stdout);
    submit(&stage, json!({ "id": "t1" }), false);
    assert_ne!(first, stage.run(&["stats", "--fingerprint"]).stdout);
}

/// A repository with one commit.
pub(super) fn in_git(stage: &Stage) {
    git(stage, "git init -q -b main . && git add . && git commit -qm first");
}

pub(super) fn git(stage: &Stage, script: &str) {
    let mut bash = Command::new("bash");
    let home = stage.state().parent().expect("a folder").to_owned();
    let output = crate::support::isolate(bash.args(["-euc", script]), stage.work(), &home).output().expect("bash runs");
    assert!(output.status.success(), "{}", said(&output));
}

pub(super) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs()
}

#[test]
fn a_ledger_that_cannot_be_used_is_no_pass() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    std::fs::create_dir(stage.state()).expect("made");
    std::fs::set_permissions(stage.state(), std::fs::Permissions::from_mode(0o777)).expect("set");
    let output = stage.run(&["run"]);
    assert_eq!(output.status.code(), Some(3));
    let expected = format!(
        "error: cannot use the state folder `{}`: it is writable by other users\nhint: change that, or choose with `GATE_STATE_DIR` a folder that only you can write to and replace\n",
        stage.state().display()
    );
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(stage.run(&["run", "--no-ledger"]).status.code(), Some(0));
}
