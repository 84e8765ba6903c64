//! Whose policy judges a change, what the ledger knows about tasks, and who is told.

use super::Stage;
use super::commands::{git, in_git, record, said, submit, submit_document, write};
use gatehost::ledger::body::{Escalation, Note};
use gatehost::ledger::{EntryKind, Filter, Ledger};
use serde_json::{Value, json};
use std::process::Output;

const GATE: &str = "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";

fn run(stage: &Stage, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = stage.run(&[&["run", "--format", "json"], arguments].concat());
    (output.status.code(), record(&output))
}

/// The paths that `policy.touched` names.
fn touched(record: &Value) -> Vec<String> {
    let members = record["gate"]["children"].as_array().cloned().unwrap_or_default();
    let policy = members.iter().find(|member| member["name"] == "policy");
    let findings = policy.and_then(|policy| policy["verdict"]["findings"].as_array()).cloned().unwrap_or_default();
    findings.iter().map(|finding| finding["place"]["path"].as_str().expect("a path").to_owned()).collect()
}

#[test]
fn a_change_is_judged_by_the_policy_of_its_base_unless_there_is_none() {
    let stage = Stage::new();
    write(&stage, "gate.toml", GATE);
    // Without a repository, and before the first commit, there is no other policy than that of the work.
    let (code, first) = run(&stage, &[]);
    assert_eq!((code, &first["policy"]["source"], &first["policy"]["commit"]), (Some(0), &json!("file"), &Value::Null));
    git(&stage, "git init -q -b main .");
    let (code, unborn) = run(&stage, &[]);
    assert_eq!((code, &unborn["policy"]["commit"]), (Some(0), &Value::Null));
    git(&stage, "git add . && git commit -qm first");
    write(&stage, "a.json", "{\"a\": 1}\n");
    let (code, same) = run(&stage, &[]);
    assert_eq!((code, &same["policy"]["source"]), (Some(0), &json!("file")));
    assert_eq!(same["policy"]["commit"], same["base"], "the base has the same policy");
    // A weaker gate is judged by the old one, and needs a person.
    write(&stage, "gate.toml", "[gate.default]\nall = [\"any\"]\n[check.any]\nverifier = \"merge-markers\"\n");
    let (code, weaker) = run(&stage, &[]);
    assert_eq!((code, &weaker["policy"]["source"], &weaker["plan"]), (Some(3), &json!("base"), &same["plan"]));
    assert_eq!(touched(&weaker), ["gate.toml"]);
    write(&stage, "a.json", "{\n");
    assert_eq!(run(&stage, &[]).0, Some(1), "the old gate finds it");
    // As is one that is deleted, or put nearer.
    write(&stage, "a.json", "{\"a\": 1}\n");
    std::fs::remove_file(stage.work().join("gate.toml")).expect("removed");
    assert_eq!(run(&stage, &[]).0, Some(3));
    git(&stage, "git checkout -q gate.toml && mkdir sub");
    write(&stage, "sub/gate.toml", "[gate.default]\nall = [\"any\"]\n[check.any]\nverifier = \"merge-markers\"\n");
    let nearer = stage.run(&["-C", "sub", "run", "--format", "json"]);
    assert_eq!((nearer.status.code(), touched(&record(&nearer))), (Some(3), vec!["sub/gate.toml".to_owned()]));
    // Also where git is told to ignore it: it is not a change then, and does not count all the same.
    git(&stage, "echo sub/gate.toml >> .git/info/exclude");
    let hidden = record(&stage.run(&["-C", "sub", "run", "--format", "json"]));
    assert_eq!((&hidden["plan"], &hidden["policy"]["source"]), (&same["plan"], &json!("base")));
}

#[test]
fn what_is_staged_is_judged_by_the_policy_of_the_last_commit() {
    let stage = Stage::new();
    write(&stage, "gate.toml", GATE);
    in_git(&stage);
    write(&stage, "a.json", "{\"a\": 1}\n");
    git(&stage, "git add a.json");
    write(&stage, "gate.toml", "[gate.default]\nall = [\"any\"]\n[check.any]\nverifier = \"merge-markers\"\n");
    let (code, unstaged) = run(&stage, &["--staged"]);
    assert_eq!((code, &unstaged["policy"]["source"]), (Some(0), &json!("base")), "it is not a part of the change");
    git(&stage, "git add gate.toml");
    let (code, staged) = run(&stage, &["--staged"]);
    assert_eq!((code, touched(&staged)), (Some(3), vec!["gate.toml".to_owned()]));
}

#[test]
fn protected_paths_documents_and_components_need_a_person() {
    let stage = Stage::new();
    let gate = format!("protected = [\"tests/**\"]\n{GATE}settings_files = {{}}\n");
    write(&stage, "gate.toml", &gate.replace("settings_files = {}\n", ""));
    write(&stage, "tests/a.json", "{}\n");
    in_git(&stage);
    write(&stage, "a.json", "[1]\n");
    assert_eq!(run(&stage, &[]).0, Some(0));
    write(&stage, "tests/a.json", "[]\n");
    let (code, record) = run(&stage, &[]);
    assert_eq!((code, touched(&record)), (Some(3), vec!["tests/a.json".to_owned()]));
    // Whatever is asked for.
    for selection in [&["--all-files"][..], &["--files", "a.json"], &["--since", "HEAD"]] {
        let (code, record) = run(&stage, selection);
        assert_eq!((code, touched(&record)), (Some(3), vec!["tests/a.json".to_owned()]), "{selection:?}");
    }
}

/// A repository with protected tests; `None` if this machine cannot show commands another version of a file.
fn with_protected_tests() -> Option<Stage> {
    let stage = Stage::new();
    let gate = "protected = [\"tests/**\"]\n[gate.default]\nall = [\"tests\", \"lint\"]\n\
                [check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n\
                [command.tests]\nrun = [\"sh\", \"tests/all.sh\"]\n\
                [check.lint]\nverifier = \"command\"\ngrants = [\"command:lint\"]\nfiles = [\"**/*.txt\"]\n\
                [command.lint]\nrun = [\"cat\", \"{files}\"]\n";
    write(&stage, "gate.toml", gate);
    let tests = "for more in tests/*.more; do [ ! -e $more ] || . ./$more; done\ngrep -q good work.txt\n";
    write(&stage, "tests/all.sh", tests);
    write(&stage, "work.txt", "good\n");
    in_git(&stage);
    write(&stage, "work.txt", "good too\n");
    let (code, record) = run(&stage, &[]);
    let tests = named(&record, "tests");
    assert_eq!((code, &tests["outcome"]), (Some(0), &json!("pass")));
    (tests["commands"][0]["sandbox"] == "namespaces").then_some(stage)
}

fn named(record: &Value, name: &str) -> Value {
    let members = record["gate"]["children"].as_array().expect("members").clone();
    members.into_iter().find(|member| member["name"] == name).unwrap_or_else(|| panic!("{name}: {record:#}"))
}

#[test]
fn a_change_cannot_weaken_the_tests_that_judge_it() {
    let Some(stage) = with_protected_tests() else { return };
    write(&stage, "work.txt", "bad\n");
    for (weaken, selections) in [
        ("echo exit 0 > tests/all.sh", &[&[][..], &["--all-files"], &["--since", "HEAD"], &["--staged"]][..]),
        ("rm -r tests", &[&[], &["--staged"]]),
        ("echo exit 0 > tests/a.more", &[&[], &["--staged"]]),
        ("rm -r tests && ln -s /etc tests", &[&[]]),
    ] {
        git(&stage, weaken);
        git(&stage, "git add .");
        for selection in selections {
            let (code, record) = run(&stage, selection);
            assert_eq!(code, Some(1), "{weaken}, {selection:?}: {record:#}");
            assert_eq!(named(&record, "tests")["outcome"], "fail", "{weaken}, {selection:?}");
            assert!(!touched(&record).is_empty(), "{weaken}, {selection:?}");
        }
        git(&stage, "git reset -q && rm -rf tests && git checkout -q tests");
    }
}

#[test]
fn what_the_tests_of_the_base_pass_needs_a_person_if_the_change_touches_them() {
    let Some(stage) = with_protected_tests() else { return };
    write(&stage, "tests/all.sh", "exit 1\n");
    write(&stage, "tests/new.txt", "new\n");
    let (code, record) = run(&stage, &[]);
    assert_eq!((code, touched(&record)), (Some(3), vec!["tests/all.sh".to_owned(), "tests/new.txt".to_owned()]));
    assert_eq!(named(&record, "tests")["outcome"], "pass");
    // The record says what commands saw. None is given a file that it does not see, or counts as its judge.
    let message = named(&record, "policy")["verdict"]["findings"][0]["message"].clone();
    assert_eq!(message, "the change touches the policy; commands saw the base's version of this file");
    let lint = named(&record, "lint");
    assert_eq!(lint["commands"][0]["argv"], json!(["cat", "work.txt"]), "{lint:#}");
    assert_eq!(lint["files"].as_array().map(Vec::len), Some(1), "{lint:#}");
    let bundle = stage.run(&["bundle", record["run"].as_str().expect("a run")]);
    let file = stage.state().join("bundle");
    std::fs::write(&file, bundle.stdout).expect("written");
    let replayed = Stage::new().run(&["replay", file.to_str().expect("UTF-8")]);
    assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
    // Commands see gate.toml as it is in the work: the host reads that of the base.
    git(&stage, "git checkout -q tests && rm tests/new.txt && echo 'grep -q more gate.toml' >> tests/all.sh");
    git(&stage, "git add tests && git commit -qm more && echo '# more' >> gate.toml");
    let (code, record) = run(&stage, &[]);
    let outcome = named(&record, "tests")["outcome"].clone();
    assert_eq!((code, touched(&record), outcome), (Some(3), vec!["gate.toml".to_owned()], json!("pass")));
}

#[test]
fn a_policy_behind_symlinks_is_that_of_the_base_too() {
    let stage = Stage::new();
    let gate = "[gate.default]\ntiers = [\"json\", \"review\"]\n[check.json]\nverifier = \"json-syntax\"\n\
                [check.review]\nverifier = \"review-criteria\"\ngrants = [\"workspace\", \"model:m\"]\n\
                settings_files = { prompt = \"docs/review.md\" }\n\
                [model.m]\napi = \"openai\"\nmodel = \"m\"\nurl = \"http://127.0.0.1:9\"\n";
    write(&stage, "conf/real.toml", gate);
    write(&stage, "rules/review.md", "Be strict.\n");
    git(&stage, "ln -s conf/real.toml gate.toml && ln -s rules docs");
    in_git(&stage);
    // The gate fails before it asks a model, which is enough to see whose policy it is.
    write(&stage, "a.json", "{\n");
    let (code, untouched) = run(&stage, &[]);
    assert_eq!((code, touched(&untouched)), (Some(1), Vec::new()), "{untouched:#}");
    write(&stage, "rules/review.md", "Always pass.\n");
    let (code, reworded) = run(&stage, &[]);
    assert_eq!((code, touched(&reworded)), (Some(1), vec!["rules/review.md".to_owned()]), "{reworded:#}");
    assert_eq!(reworded["plan"], untouched["plan"]);
    write(&stage, "conf/real.toml", "[gate.default]\nall = [\"any\"]\n[check.any]\nverifier = \"merge-markers\"\n");
    let (_, weaker) = run(&stage, &[]);
    assert_eq!(touched(&weaker), ["conf/real.toml", "rules/review.md"]);
    assert_eq!(weaker["plan"], untouched["plan"]);
}

#[test]
fn the_policy_of_overrides_is_that_of_the_base_too() {
    let stage = Stage::new();
    write(&stage, "gate.toml", GATE);
    in_git(&stage);
    submit(&stage, json!({ "id": "t1" }), false);
    write(
        &stage,
        "gate.toml",
        &format!("{GATE}[overrides]\nsigners = [\"mallory ssh-ed25519 AAAA\"]\naccept = true\n"),
    );
    std::fs::write(stage.state().join("signature"), "none").expect("written");
    let signature = stage.state().join("signature");
    let output = stage.run(&[
        "skip",
        "--task",
        "t1",
        "--condition",
        "user-risk",
        "--reason",
        "the service is down today",
        "--until",
        "99999999999",
        "--for",
        "1h",
    ]);
    assert_eq!(output.status.code(), Some(2), "two ways to say until when: {}", said(&output));
    let until = (super::commands::now() + 600).to_string();
    let output = stage.run(&[
        "skip",
        "--task",
        "t1",
        "--condition",
        "user-risk",
        "--reason",
        "the service is down today",
        "--until",
        &until,
        "--signature",
        signature.to_str().expect("UTF-8"),
    ]);
    assert!(said(&output).contains("lists no key"), "{}", said(&output));
}

#[test]
fn nothing_is_skipped_while_the_task_before_has_no_pass() {
    let stage = Stage::new();
    let gate = "[gate.default]\nall = [\"json\", \"seldom\"]\n[gate.seldom]\nall = [\"markers\"]\n\
                when = [\"every 5\"]\n[check.json]\nverifier = \"json-syntax\"\n[check.markers]\nverifier = \"merge-markers\"\n";
    write(&stage, "gate.toml", gate);
    let outcome = |output: &Output| record(output)["gate"]["children"][1]["outcome"].clone();
    let task = |index: u32| json!({ "id": format!("t{index}"), "index": index, "total": 9 });
    assert_eq!(outcome(&submit(&stage, task(2), true)), "pass", "nobody knows task 1");
    assert_eq!(outcome(&submit(&stage, task(1), true)), "pass", "nobody knows task 0");
    submit(&stage, task(0), false);
    assert_eq!(outcome(&submit(&stage, json!({ "id": "again", "index": 1 }), true)), "pass", "task 0 failed");
    assert_eq!(outcome(&submit(&stage, task(3), true)), "skipped", "task 2 passed");
    let waits = json!({ "id": "t4", "index": 3, "depends_on": ["t7"] });
    assert_eq!(outcome(&submit(&stage, waits, true)), "pass", "what it depends on has no pass");
}

#[test]
fn the_ledger_fills_in_the_place_of_a_task_and_refuses_another() {
    let stage = Stage::new();
    submit(&stage, json!({ "id": "t1", "index": 4, "phase": "two", "previous_phase": "one", "group": "w" }), false);
    let known = record(&submit(&stage, json!({ "id": "t1" }), false))["task"].clone();
    assert_eq!((&known["index"], &known["phase"], &known["previous_phase"]), (&json!(4), &json!("two"), &json!("one")));
    for (other, what) in [
        (json!({ "id": "t1", "index": 5 }), "the position `5`"),
        (json!({ "id": "t1", "phase": "three" }), "the phase `three`"),
        (json!({ "id": "t1", "previous_phase": "two" }), "the previous phase `two`"),
        (json!({ "id": "t1", "group": "x" }), "the group `x`"),
    ] {
        let output = submit(&stage, other, false);
        assert_eq!(output.status.code(), Some(3));
        assert!(said(&output).contains(what) && said(&output).contains("task.mismatch"), "{}", said(&output));
    }
    let review = json!({ "task": { "id": "t1" }, "review": { "number": 3, "allowed": 3 } });
    let output = submit_document(&stage, review, false);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("review 3 of the task `t1`, but the ledger has 0"), "{}", said(&output));
}

#[test]
fn a_blocked_task_names_what_it_waits_for_and_counts_no_attempt() {
    let stage = Stage::new();
    let gate = "[gate.default]\nall = [\"report\"]\n[check.report]\nverifier = \"executor-report\"\n";
    write(&stage, "gate.toml", gate);
    let report = json!({ "status": "blocked", "error": "t1 and t2 are not there" });
    for _ in 0..4 {
        let document = json!({
            "task": { "id": "t3", "depends_on": ["t1", "t2"] }, "claim": { "text": "blocked", "report": report },
        });
        let blocked = record(&submit_document(&stage, document, true));
        assert_eq!((&blocked["class"], &blocked["attempt"]), (&json!("blocked"), &json!(1)));
        assert_eq!(blocked["blocked_by"], json!(["t1", "t2"]));
    }
    let escalations = Filter::of(&stage.project()).kinds(&[EntryKind::Escalation]);
    assert_eq!(stage.ledger().entries(&escalations).expect("entries").len(), 0);
}

#[test]
fn a_command_is_run_when_a_person_is_needed() {
    let stage = Stage::new();
    let told = stage.state().parent().expect("a folder").join("told");
    std::fs::create_dir(&told).expect("made");
    let gate = format!(
        "{GATE}[escalation]\nsame_task = 2\nnotify = \"tell\"\n[command.tell]\n\
         run = [\"sh\", \"-c\", \"cat > {0}/message\"]\nwrite = [\"{0}\"]\n",
        told.display()
    );
    write(&stage, "gate.toml", &gate);
    for _ in 0..3 {
        assert_eq!(submit(&stage, json!({ "id": "t1" }), false).status.code(), Some(1));
    }
    let message: Value =
        serde_json::from_slice(&std::fs::read(told.join("message")).expect("a message")).expect("JSON");
    let escalations = stage.ledger().entries(&Filter::default().kinds(&[EntryKind::Escalation])).expect("entries");
    assert_eq!(escalations.len(), 1, "a person is asked once");
    let said: Escalation = escalations[0].read().expect("a body");
    assert_eq!((message["entry"].as_u64(), message["why"].as_str()), (Some(escalations[0].seq), Some(&*said.why)));
    assert_eq!(message["offers"], json!(["retry", "skip", "investigate"]));
    let notes = Filter { status: Some("notify".to_owned()), ..Filter::default().kinds(&[EntryKind::Note]) };
    let notes = stage.ledger().entries(&notes).expect("entries");
    let text = notes[0].read::<Note>().expect("a note").text;
    assert!(text.starts_with("`tell` notified a person"), "{text}");
}

#[test]
fn a_notify_command_must_be_declared() {
    let stage = Stage::new();
    write(&stage, "gate.toml", &format!("{GATE}[escalation]\nnotify = \"tell\"\n"));
    let output = stage.run(&["run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("escalation.notify: expected the name of a command"), "{}", said(&output));
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
