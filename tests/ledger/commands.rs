//! The commands that look at the ledger, and those by which a person decides.

use super::Stage;
use gatehost::ledger::body::Override;
use gatehost::ledger::history::{self, TaskHistory};
use gatehost::ledger::{EntryKind, Filter, Ledger};
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
    let gate = env!("CARGO_BIN_EXE_gate");
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{gate} {arguments}"), "/dev/null"]);
    let home = stage.state().parent().expect("a folder").to_owned();
    crate::support::isolate(&mut script, stage.work(), &home).env("GATE_STATE_DIR", stage.state()).env("USER", "alice");
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
        assert!(said(&output).contains("entry 4 was anchored: it was removed"), "{}", said(&output));
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
    assert!(said(&output).contains("dropped entries 1 to 6; entry 8 says so"), "{}", said(&output));
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
    assert!(said(&output).contains("dropped entries 1 to 6; entry 8 says so"), "{}", said(&output));
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

#[test]
fn only_what_was_passed_is_verified() {
    let stage = Stage::new();
    in_git(&stage);
    let write = |text: &str| std::fs::write(stage.work().join("a.json"), text).expect("written");
    let verify = |args: &[&str]| {
        let output = stage.run(&[&["verify"], args].concat());
        (output.status.code(), normal(&said(&output)))
    };
    write("{\"a\": 1}\n");
    stage.run(&["run"]);
    assert_eq!(verify(&[]), (Some(0), "verified: passed in run [RUN] (entry 2)\n".to_owned()));
    // Another byte is another tree.
    write("{\"a\": 2}\n");
    assert_eq!(verify(&[]), (Some(1), "not verified: no run checked this change\n".to_owned()));
    write("{\"a\": 1}\n");
    git(&stage, "git commit -qam second");
    assert_eq!(verify(&["HEAD"]).0, Some(0), "what was passed was committed");
    assert_eq!(verify(&[]).0, Some(0), "nothing differs from the last commit");
    // The same change on another base is not what was passed.
    write("{\"a\": 3}\n");
    git(&stage, "git commit -qam third");
    write("{\"a\": 1}\n");
    git(&stage, "git commit -qam fourth");
    assert_eq!(verify(&["HEAD"]).0, Some(1));
    // Committed without having been judged, as by `git commit --no-verify`.
    assert_eq!(verify(&["HEAD^"]).0, Some(1));
}

#[test]
fn a_pre_receive_hook_refuses_what_was_not_passed() {
    let stage = Stage::new();
    in_git(&stage);
    let gate = env!("CARGO_BIN_EXE_gate");
    let state = stage.state();
    git(
        &stage,
        &format!(
            "git init -q --bare -b main ../bare.git && git push -q ../bare.git HEAD:main\n\
             printf '#!/bin/sh\\nwhile read old new ref; do GATE_STATE_DIR={} {gate} verify $new || exit 1; done\\n' \
             > ../bare.git/hooks/pre-receive && chmod +x ../bare.git/hooks/pre-receive",
            state.display()
        ),
    );
    std::fs::write(stage.work().join("a.json"), "{\"a\": 1}\n").expect("written");
    stage.run(&["run"]);
    git(&stage, "git commit -qam passed && git push -q ../bare.git HEAD:main");
    std::fs::write(stage.work().join("a.json"), "{\"a\": 2}\n").expect("written");
    git(&stage, "git commit -qam unseen && ! git push -q ../bare.git HEAD:main 2> ../refused");
    let refused = std::fs::read_to_string(state.parent().expect("a folder").join("refused")).expect("a message");
    assert!(refused.contains("not verified: no run checked this change"), "{refused}");
    // Without a hook, about the last commit there.
    let output = stage.run(&["-C", "../bare.git", "verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn what_a_person_lets_through_is_never_a_pass() {
    let stage = Stage::new();
    in_git(&stage);
    submit(&stage, json!({ "id": "t1" }), false);
    let arguments = "skip --task t1 --condition known-false-negative --reason 'the check expects an old dialect'";
    let refused =
        stage.run(&["skip", "--task", "t1", "--condition", "user-risk", "--reason", "the service is down today"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("needs a person at a terminal"), "{}", said(&refused));
    let excuse =
        at_terminal(&stage, "skip --task t1 --condition user-risk --reason 'tests take too long here'", "skip");
    assert_eq!(excuse.status.code(), Some(2), "{}", said(&excuse));
    let unconfirmed = at_terminal(&stage, arguments, "no");
    assert_eq!(unconfirmed.status.code(), Some(2), "{}", said(&unconfirmed));
    let refusals =
        Filter { status: Some("refused".to_owned()), ..Filter::of(&stage.project()).kinds(&[EntryKind::Note]) };
    assert_eq!(stage.ledger().entries(&refusals).expect("entries").len(), 3);

    let granted = at_terminal(&stage, arguments, "skip");
    assert_eq!(granted.status.code(), Some(0), "{}", said(&granted));
    assert!(said(&granted).contains("complete (unverified)"), "{}", said(&granted));
    let entry = stage.ledger().entries(&Filter::of(&stage.project()).kinds(&[EntryKind::Override])).expect("entries");
    let granted: Override = entry[0].read().expect("an override");
    assert!(granted.by.starts_with("alice"), "{}", granted.by);
    assert_eq!((granted.fingerprints.len(), granted.proof.as_str()), (1, "terminal"));
    let output = stage.run(&["verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("complete (unverified), which `[overrides] accept` does not allow"),
        "{}",
        said(&output)
    );
    assert!(text(&stage.run(&["status"]).stdout).contains("Status: complete (unverified)"));
    let forced = at_terminal(&stage, "force --task t1 --reason 'production is down, fix follows'", "OVERRIDE");
    assert_eq!(forced.status.code(), Some(0), "{}", said(&forced));
    assert!(text(&stage.run(&["status"]).stdout).contains("Status: complete (forced)"));
}

#[test]
fn a_signature_of_a_listed_key_lets_something_through_without_a_terminal() {
    let stage = Stage::new();
    let home = stage.state().parent().expect("a folder").to_owned();
    let key = home.join("key");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f"]).arg(&key).status();
    assert!(made.expect("ssh-keygen").success());
    let public = std::fs::read_to_string(home.join("key.pub")).expect("a key");
    let gate = format!(
        "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n[overrides]\naccept = true\nsigners = [\"alice {}\"]\n",
        public.trim()
    );
    std::fs::write(stage.work().join("gate.toml"), gate).expect("written");
    in_git(&stage);
    submit(&stage, json!({ "id": "t1" }), false);
    let until = (now() + 3_600).to_string();
    let common = |reason: &'static str, until: &str| -> Vec<String> {
        ["skip", "--task", "t1", "--condition", "verify-unavailable", "--reason", reason, "--until", until]
            .map(str::to_owned)
            .to_vec()
    };
    let run = |mut args: Vec<String>, more: &[&str]| {
        args.extend(more.iter().map(|more| (*more).to_owned()));
        stage.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let reason = "the validator's service is down";
    let request = run(common(reason, &until), &["--request"]);
    assert_eq!(request.status.code(), Some(0), "{}", said(&request));
    let file = home.join("request");
    std::fs::write(&file, &request.stdout).expect("written");
    let sign = |namespace: &str| {
        let _ = std::fs::remove_file(home.join("request.sig"));
        let signed =
            Command::new("ssh-keygen").args(["-q", "-Y", "sign", "-n", namespace, "-f"]).arg(&key).arg(&file).output();
        assert!(signed.expect("ssh-keygen").status.success());
        home.join("request.sig").to_str().expect("UTF-8").to_owned()
    };
    let other = sign("file");
    let refused = run(common(reason, &until), &["--signature", &other]);
    assert_eq!(refused.status.code(), Some(2), "signed for something else: {}", said(&refused));
    let signature = sign("gatehost-override");
    let refused = run(common("something else was meant here", &until), &["--signature", &signature]);
    assert_eq!(refused.status.code(), Some(2), "another request: {}", said(&refused));
    let granted = run(common(reason, &until), &["--signature", &signature]);
    assert_eq!(granted.status.code(), Some(0), "{}", said(&granted));
    let output = stage.run(&["verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("complete (unverified): let through by alice"), "{}", said(&output));
    let again = run(common(reason, &until), &["--signature", &signature]);
    assert!(said(&again).contains("recorded before"), "{}", said(&again));
    let overrides = Filter::of(&stage.project()).kinds(&[EntryKind::Override]);
    assert_eq!(stage.ledger().entries(&overrides).expect("entries").len(), 1, "it applies once");
}

pub(super) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_secs()
}

#[test]
fn a_run_is_attested_by_a_signed_statement() {
    use gatehost::proof::dsse::{Envelope, IN_TOTO, SigningKey};
    let stage = Stage::new();
    stage.run(&["run"]);
    let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    std::fs::write(stage.work().join("gate.key"), seed).expect("written");
    let output = stage.run(&["attest", "--key", "gate.key"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let envelope: Envelope = serde_json::from_slice(&output.stdout).expect("an envelope");
    let key = SigningKey::from_text(seed).expect("a key").public();
    let payload = envelope.verify(IN_TOTO, &[key], 1).expect("signed");
    let statement: Value = serde_json::from_slice(&payload).expect("a statement");
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(statement["predicate"]["passedTests"], json!(["json-syntax"]));
    std::fs::write(stage.work().join("gate.key"), "no key").expect("written");
    assert_eq!(stage.run(&["attest", "--key", "gate.key"]).status.code(), Some(2));
    std::fs::write(stage.work().join("gate.key"), seed).expect("written");
    // The result of a run is signed only if nothing in the ledger was altered.
    let file = rusqlite::Connection::open(stage.ledger().path()).expect("open");
    file.execute("UPDATE entry SET status = 'fail' WHERE seq = 1", []).expect("altered");
    drop(file);
    let output = stage.run(&["attest", "--key", "gate.key"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(output.stdout.is_empty() && said(&output).contains("entry 1 was altered"), "{}", said(&output));
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
        "error: cannot use the state folder `{}`: it is writable by other users\nhint: make the folder yours alone (`chmod 700`), or choose another with `GATE_STATE_DIR`\n",
        stage.state().display()
    );
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(stage.run(&["run", "--no-ledger"]).status.code(), Some(0));
}

#[test]
fn work_is_judged_by_the_policy_of_a_trusted_commit() {
    let stage = Stage::new();
    let gate =
        "protected = [\"tests/**\"]\n[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";
    std::fs::write(stage.work().join("gate.toml"), gate).expect("written");
    std::fs::create_dir(stage.work().join("tests")).expect("made");
    std::fs::write(stage.work().join("tests/a.json"), "{}\n").expect("written");
    in_git(&stage);
    let write = |path: &str, text: &str| std::fs::write(stage.work().join(path), text).expect("written");
    let run = || {
        let output = stage.run(&["run", "--policy-from", "main", "--format", "json"]);
        let record: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        (output.status.code(), record)
    };
    write("a.json", "{\"a\": 1}\n");
    let (code, record) = run();
    assert_eq!((code, &record["policy"]["source"]), (Some(0), &json!("base")), "{record:#}");
    // A gate that its own author weakens does not count, committed or not.
    let weak = "[gate.default]\nall = [\"any\"]\n[check.any]\nverifier = \"merge-markers\"\n";
    write("gate.toml", weak);
    write("a.json", "{\n");
    assert_eq!(run().0, Some(1), "the old gate judges it");
    write("a.json", "{}\n");
    let (code, record) = run();
    assert_eq!((code, &record["status"]), (Some(3), &json!("abstain")), "{record:#}");
    assert_eq!(record["marks"], json!(["needs-person"]));
    let policy = record["gate"]["children"].as_array().expect("members").last().expect("one").clone();
    assert_eq!(policy["verdict"]["findings"][0]["code"], "policy.touched");
    assert_eq!(policy["verdict"]["findings"][0]["place"]["path"], "gate.toml");
    git(&stage, "git checkout -qb work && git commit -qam weaker");
    assert_eq!(run().0, Some(3), "a commit of its author is no trusted one");
    git(&stage, "git checkout -q main -- gate.toml && git commit -qam back");
    write("a.json", "{\"a\": 2}\n");
    assert_eq!(run().0, Some(0));
    write("tests/a.json", "[]\n");
    let (code, record) = run();
    assert_eq!(code, Some(3), "{record:#}");
    let output = stage.run(&["run", "--policy-from", "nowhere"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn a_policy_from_a_commit_needs_one_that_has_it() {
    let stage = Stage::new();
    let output = stage.run(&["run", "--policy-from", "main"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("needs a git repository"), "{}", said(&output));
    in_git(&stage);
    let output = stage.run(&["run", "--policy-from", "main"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("the commit `main` has no gate.toml for this folder"), "{}", said(&output));
}
