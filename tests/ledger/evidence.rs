//! What is left of a run: pages, bundles, commits, and tests that fail without the change.

use super::Stage;
use super::commands::{git, in_git, record, said, submit, text, write};
use gatehost::ledger::body::Committed;
use gatehost::ledger::{EntryKind, Filter, Ledger};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A gate whose command is a script of the work.
fn gate_with(command: &str, more: &str) -> String {
    format!(
        "[gate.default]\nall = [\"json\", \"tests\"]\n[check.json]\nverifier = \"json-syntax\"\n\
         [check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n{more}\n[command.tests]\nrun = {command}\n"
    )
}

#[test]
fn a_bundle_gives_the_same_record_elsewhere() {
    let stage = Stage::new();
    write(&stage, "gate.toml", &gate_with("[\"sh\", \"-c\", \"echo $RANDOM; echo broken >&2; test -f ok.json\"]", ""));
    in_git(&stage);
    write(&stage, "a.json", "{\"a\": 1,}\n");
    let failed = record(&stage.run(&["run", "--format", "json"]));
    assert_eq!(failed["status"], "fail");
    let home = stage.state().parent().expect("a folder").to_owned();
    let bundle = home.join("run.bundle");
    let made = stage.run(&["bundle", "--output", bundle.to_str().expect("UTF-8")]);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    // On another machine: nothing of this one is there.
    let elsewhere = Stage::new();
    let replay = |file: &Path| elsewhere.run(&["replay", file.to_str().expect("UTF-8")]);
    let same = replay(&bundle);
    assert_eq!(same.status.code(), Some(0), "{}", said(&same));
    assert!(text(&same.stdout).starts_with("same: the replay of run "), "{}", said(&same));
    assert_eq!(elsewhere.run(&["log"]).status.code(), Some(2), "a replay is not recorded");
    // What was judged is taken from where it still is, and not otherwise.
    let second = home.join("second.bundle");
    write(&stage, "a.json", "{\"a\": 2}\n");
    let gone = stage.run(&["bundle", "--output", second.to_str().expect("UTF-8")]);
    assert_eq!(gone.status.code(), Some(2), "{}", said(&gone));
    assert!(said(&gone).contains("the checked files are no longer here"), "{}", said(&gone));
    // A bundle that was changed does not give the same record, or is refused.
    let original: Value = serde_json::from_slice(&std::fs::read(&bundle).expect("a bundle")).expect("JSON");
    let changed = home.join("changed.bundle");
    let tamper = |change: &dyn Fn(&mut Value)| {
        let mut bundle = original.clone();
        change(&mut bundle);
        std::fs::write(&changed, bundle.to_string()).expect("written");
        let output = replay(&changed);
        (output.status.code(), said(&output))
    };
    let (code, told) = tamper(&|bundle| bundle["work"]["a.json"]["content"] = json!("e30K"));
    assert_eq!(code, Some(1), "{told}");
    let (code, told) = tamper(&|bundle| {
        let tape = bundle["commands"].as_str().expect("a tape").replace("\"exit_code\":1", "\"exit_code\":0");
        bundle["commands"] = json!(tape);
    });
    assert_eq!(code, Some(1), "{told}");
    let (code, told) = tamper(&|bundle| bundle["entry"]["at"] = json!("2020-01-01T00:00:00.000Z"));
    assert_eq!((code, told.contains("the bundle was altered")), (Some(2), true), "{told}");
    let (code, told) = tamper(&|bundle| bundle["work"]["../../x"] = json!({ "kind": "file", "content": "" }));
    assert_eq!(code, Some(2), "{told}");
}

#[test]
fn a_run_whose_work_was_committed_can_still_be_bundled() {
    let stage = Stage::new();
    in_git(&stage);
    write(&stage, "b.json", "[1]\n");
    let passed = record(&stage.run(&["run", "--format", "json"]));
    git(&stage, "git add . && git commit -qm second");
    write(&stage, "b.json", "[2]\n");
    let run = passed["run"].as_str().expect("a run");
    assert_eq!(stage.run(&["bundle", run]).status.code(), Some(2), "nobody has seen the commit yet");
    stage.run(&["run"]);
    let entries = stage.ledger().entries(&Filter::default().kinds(&[EntryKind::Commit])).expect("entries");
    let committed: Committed = entries[0].read().expect("a body");
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(stage.work()).output().expect("git");
    assert_eq!((committed.run.as_str(), committed.commit_sha.as_str()), (run, text(&head.stdout).trim()));
    let bundle = stage.run(&["bundle", run]);
    assert_eq!(bundle.status.code(), Some(0), "{}", said(&bundle));
    // It is noted once.
    stage.run(&["run"]);
    assert_eq!(stage.run(&["verify", "HEAD"]).status.code(), Some(0));
    assert_eq!(stage.ledger().entries(&Filter::default().kinds(&[EntryKind::Commit])).expect("entries").len(), 1);
    let log = text(&stage.run(&["log", "--kind", "commit"]).stdout);
    assert!(log.contains(&committed.commit_sha), "{log}");
}

#[test]
fn a_bundle_holds_the_configuration_that_the_caller_named() {
    let stage = Stage::new();
    write(&stage, "other/gate.toml", "[gate.default]\nall = [\"any\"]\n[check.any]\nverifier = \"merge-markers\"\n");
    in_git(&stage);
    write(&stage, "b.json", "[1]\n");
    let passed = stage.run(&["run", "-c", "other/gate.toml"]);
    assert_eq!(passed.status.code(), Some(0), "{}", said(&passed));
    let bundle = stage.state().join("bundle");
    let made = stage.run(&["bundle", "--output", bundle.to_str().expect("UTF-8")]);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let same = Stage::new().run(&["replay", bundle.to_str().expect("UTF-8")]);
    assert_eq!(same.status.code(), Some(0), "{}", said(&same));
}

#[test]
fn a_bundle_of_a_recorded_run_gives_the_same_record() {
    let stage = Stage::new();
    write(&stage, "gate.toml", &gate_with("[\"sh\", \"-c\", \"echo told; test -f ok.json\"]", ""));
    in_git(&stage);
    write(&stage, "b.json", "[1]\n");
    let home = stage.state().parent().expect("a folder").to_owned();
    let tape = home.join("commands.jsonl");
    let elsewhere = Stage::new();
    // The run that writes the tape, and one that is answered from it.
    for flag in ["--record-commands", "--replay-commands"] {
        let run = record(&stage.run(&["run", "--format", "json", flag, tape.to_str().expect("UTF-8")]));
        assert_eq!(run["status"], "fail", "{run:#}");
        let bundle = home.join(format!("run{flag}"));
        let made = stage.run(&["bundle", "--output", bundle.to_str().expect("UTF-8")]);
        assert_eq!(made.status.code(), Some(0), "{}", said(&made));
        let same = elsewhere.run(&["replay", bundle.to_str().expect("UTF-8")]);
        assert_eq!(same.status.code(), Some(0), "{flag}: {}", said(&same));
    }
    let lines = std::fs::read_to_string(&tape).expect("a tape");
    assert_eq!(lines.lines().count(), 1, "{lines}");
}

#[test]
fn a_first_commit_is_verified_by_its_own_policy() {
    let verify = |stage: &Stage| {
        let output = stage.run(&["verify", "HEAD"]);
        (output.status.code(), said(&output))
    };
    let stage = Stage::new();
    let strict = "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";
    write(&stage, "gate.toml", strict);
    git(&stage, "git init -q -b main . && git add .");
    assert_eq!(stage.run(&["run", "--staged"]).status.code(), Some(0));
    git(&stage, "git commit -qm first");
    let (code, told) = verify(&stage);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(stage.ledger().entries(&Filter::default().kinds(&[EntryKind::Commit])).expect("entries").len(), 1);
    // A gate.toml that is only in the working tree does not count.
    write(&stage, "gate.toml", &strict.replace("json-syntax", "merge-markers"));
    let (code, told) = verify(&stage);
    assert_eq!(code, Some(0), "{told}");
    let weak = Stage::new();
    write(&weak, "gate.toml", strict);
    write(&weak, "a.json", "{,}\n");
    git(&weak, "git init -q -b main . && git add .");
    write(&weak, "gate.toml", &strict.replace("json-syntax", "merge-markers"));
    assert_eq!(weak.run(&["run", "--staged"]).status.code(), Some(0));
    git(&weak, "git commit -qm first");
    let (code, told) = verify(&weak);
    assert_eq!((code, told.contains("another plan")), (Some(1), true), "{told}");
    // Nor does a pass of other files.
    let other = Stage::new();
    git(&other, "git init -q -b main . && git add .");
    assert_eq!(other.run(&["run", "--staged"]).status.code(), Some(0));
    write(&other, "a.json", "[2]\n");
    git(&other, "git add . && git commit -qm first");
    let (code, told) = verify(&other);
    assert_eq!((code, told.contains("no run checked this change")), (Some(1), true), "{told}");
    // In a shallow clone, the oldest commit that is there is not the first.
    write(&other, "b.json", "[3]\n");
    git(&other, "git add . && git commit -qm second && git clone -q --depth 1 file://$PWD ../shallow");
    let shallow = other.work().parent().expect("a folder").join("shallow");
    let output = other.run(&["-C", shallow.to_str().expect("UTF-8"), "verify", "HEAD"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn another_commit_than_what_passed_is_not_noted() {
    let stage = Stage::new();
    in_git(&stage);
    write(&stage, "b.json", "[1]\n");
    stage.run(&["run"]);
    write(&stage, "b.json", "[2]\n");
    git(&stage, "git add . && git commit -qm other");
    stage.run(&["run"]);
    assert_eq!(stage.run(&["verify", "HEAD"]).status.code(), Some(1));
    assert_eq!(stage.ledger().entries(&Filter::default().kinds(&[EntryKind::Commit])).expect("entries").len(), 0);
}

#[test]
fn a_command_that_passes_without_the_change_shows_nothing() {
    let stage = Stage::new();
    // The tests are whatever is in `tests`; what git does not know is there on the base, too.
    let run = "[\"sh\", \"-c\", \"test -d node_modules || exit 7; for t in tests/*; do sh $t || exit 1; done\"]";
    write(&stage, "gate.toml", &gate_with(run, "red_green = true"));
    write(&stage, "tests/old", "grep -q . a.json\n");
    write(&stage, ".gitignore", "node_modules\n");
    write(&stage, "node_modules/x", "");
    in_git(&stage);
    write(&stage, "a.json", "{\"a\": 1}\n");
    let output = stage.run(&["run", "--format", "json"]);
    let unproven = record(&output);
    assert_eq!((output.status.code(), &unproven["class"]), (Some(1), &json!("verify-failure")), "{unproven:#}");
    let tests = &unproven["gate"]["children"][1];
    assert_eq!(tests["verdict"]["findings"][0]["code"], "red-green.not-red");
    let on_base: Vec<bool> =
        tests["commands"].as_array().expect("commands").iter().map(|command| command["on_base"] == true).collect();
    assert_eq!(on_base, [false, true]);
    // A test that fails without the change.
    write(&stage, "tests/new", "grep -q '\"a\"' a.json\n");
    let base = "[\"sh\", \"-c\", \"test -d node_modules || exit 7; grep -q '.a.' a.json\"]";
    write(&stage, "gate.toml", &gate_with(base, "red_green = true"));
    let config = stage.state().parent().expect("a folder").join("gate.toml");
    std::fs::copy(stage.work().join("gate.toml"), &config).expect("copied");
    git(&stage, "git checkout -q gate.toml");
    let output = stage.run(&["run", "--format", "json", "-c", config.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // Without a commit there is nothing to hold it against.
    let output = stage.run(&["run", "--all-files", "--format", "json", "-c", config.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
}

#[test]
fn red_green_needs_a_command() {
    let stage = Stage::new();
    write(&stage, "gate.toml", "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"json-syntax\"\nred_green = true\n");
    let output = stage.run(&["run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("check.c.red_green: expected a check with a granted command"), "{}", said(&output));
}

#[test]
fn reviews_are_logged_where_people_look_for_them() {
    let stage = Stage::new();
    let answer = r#"{"nonce":"'$n'","verdict":"REJECTED","confidence":"HIGH","findings":[],"concerns":["no error handling"],"recommendation":"retry","feedback":""}"#;
    let script = format!("n=$(grep -oE 'It is: [0-9a-z]{{20,}}' | head -1 | cut -d' ' -f3); printf '%s' '{answer}'");
    let gate = format!(
        "[progress]\nfile = \"progress.md\"\n[gate.default]\nall = [\"architect\"]\nwhen = [\"every 5\"]\n\
         [check.architect]\nverifier = \"review-verdict\"\ngrants = [\"workspace\", \"model:m\"]\n\
         settings = {{ verify_evidence = false }}\n[model.m]\napi = \"command\"\ncommand = \"ask\"\n\
         [command.ask]\nrun = [\"sh\", \"-c\", {}]\n",
        json!(script)
    );
    write(&stage, "gate.toml", &gate);
    let rejected = submit(&stage, json!({ "id": "t5", "index": 5, "total": 9 }), true);
    assert_eq!(rejected.status.code(), Some(1), "{}", said(&rejected));
    let log = std::fs::read_to_string(stage.work().join("progress.md")).expect("a log");
    let expected = "\n### Review: execution (Task 5, Iteration 1)\n- Status: REVIEW_FAIL\n- Findings:\n  - no error handling\n- Action: sent back with feedback\n";
    assert_eq!(log, expected);
    submit(&stage, json!({ "id": "t5" }), true);
    let log = std::fs::read_to_string(stage.work().join("progress.md")).expect("a log");
    assert!(log.contains("(Task 5, Iteration 2)"), "{log}");
    // The review is a step of its own in the ledger.
    let steps = stage.ledger().entries(&Filter::default().kinds(&[EntryKind::StepEnded])).expect("entries");
    assert_eq!(steps.iter().map(|entry| entry.labels.status.as_str()).collect::<Vec<_>>(), ["fail", "fail"]);
}

#[test]
fn a_page_shows_runs_members_findings_and_a_timeline() {
    let stage = Stage::new();
    let hostile = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";
    write(&stage, "a.json", "{}\n");
    stage.run(&["run"]);
    submit(&stage, json!({ "id": "t1", "title": hostile }), false);
    submit(&stage, json!({ "id": "t1", "title": hostile }), true);
    let output = stage.run(&["report", "--html"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let page = text(&output.stdout);
    assert_eq!(page.matches("<details class=\"run\"").count(), 3);
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("http://"), "{page}");
    let path = stage.state().join("page.html");
    std::fs::write(&path, &page).expect("written");
    let single = text(&stage.run(&["report", "last", "--format", "html"]).stdout);
    assert_eq!(single.matches("<details class=\"run\"").count(), 1);
    let Some(dom) = in_a_browser(&path) else { return };
    assert!(dom.contains("<title>Gate runs of work</title>"), "nothing of it runs: {dom}");
    assert_eq!(dom.matches("<details class=\"run\"").count(), 3);
    assert_eq!(dom.matches("<rect ").count(), 3, "a bar for each run");
    assert!(dom.contains("error[<code>"), "{dom}");
    assert!(dom.contains(&stage.ledger().head().expect("a head").to_string()), "{dom}");
}

/// The page as a browser without a window sees it; nothing where none is installed.
fn in_a_browser(page: &Path) -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let found: Vec<PathBuf> =
        std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).collect();
    let browser = found.into_iter().find(|program| program.is_file())?;
    let profile = crate::support::tempdir().expect("a folder");
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    assert!(output.status.success(), "{}", said(&output));
    Some(text(&output.stdout))
}

#[test]
fn a_run_explains_why_it_judged_anew() {
    let stage = Stage::new();
    let explained = || text(&stage.run(&["explain"]).stdout);
    stage.run(&["run"]);
    assert!(
        explained().contains("a.json: checked, since no earlier run of this project checked it"),
        "{}",
        explained()
    );
    write(&stage, "a.json", "[]\n");
    stage.run(&["run"]);
    assert!(explained().contains("a.json: checked, since it has other bytes than in run 01"), "{}", explained());
    stage.run(&["run"]);
    assert!(explained().contains("a.json: first passed in 01"), "{}", explained());
    let gate = "[gate.default]\nall = [\"json-syntax\"]\n[check.json-syntax]\nverifier = \"json-syntax\"\n";
    write(&stage, "gate.toml", &format!("{gate}settings = {{ dialect = \"json5\" }}\n"));
    let output = stage.run(&["run", "--files", "a.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        explained().contains("a.json: checked, since the check has other settings than in run 01"),
        "{}",
        explained()
    );
}

#[test]
fn the_state_file_has_the_names_of_the_protocol() {
    let stage = Stage::new();
    in_git(&stage);
    submit(&stage, json!({ "id": "t1", "title": "One", "index": 0, "total": 4 }), true);
    submit(&stage, json!({ "id": "t2", "title": "Two", "index": 1, "total": 4 }), false);
    assert_eq!(stage.run(&["status", "--write", "STATE.md"]).status.code(), Some(0));
    let written = std::fs::read_to_string(stage.work().join("STATE.md")).expect("written");
    for field in [
        "  name: \"t2: Two\"",
        "  gate_status: FAILED",
        "  gate_step: 2",
        "  max_attempts: null",
        "  commit_sha: null",
        "tasks:\n  - name: \"t2: Two\"\n    status: FAILED\n  - name: \"t1: One\"\n    status: APPROVED\n",
        "gate_stats:\n  total_tasks: 4\n  passed: 1\n  failed: 1\n  in_progress: 0\n  pending: 2\n  pass_rate: \"50%\"\n",
        "  current_gate:\n    task: \"t2: Two\"\n    status: FAILED\n    attempt: 1\n",
        "recent_failures:\n  - task: \"t2\"\n    attempt: 1\n    failure_type: VERIFY_FAILURE\n",
    ] {
        assert!(written.contains(field), "{field}\n{written}");
    }
}
