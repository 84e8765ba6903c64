//! The designs that `gate loop` goes back to, each with its own documents, states and counts (`fixtures/loops`).

use super::{Home, Ran};
use std::fs;
use std::path::Path;

/// A repository with the documents of a design.
fn documents(name: &str) -> Home {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/loops").join(name);
    let gate = fs::read_to_string(folder.join("gate.toml")).unwrap_or_default();
    let home = Home::new(&gate);
    for entry in fs::read_dir(&folder).expect("documents") {
        let path = entry.expect("a document").path();
        fs::copy(&path, home.work().join(path.file_name().expect("a name"))).expect("copied");
    }
    home.sh("rm a.json; echo .progress.md > .gitignore; git add -A; git commit -qm documents");
    home
}

fn run(home: &Home, flags: &[&str], steps: &str) -> Ran {
    let mut gate = home.command(&[&["--format", "json"], flags].concat(), &["sh", "executor.sh"]);
    let output = gate.env("STEPS", steps).output().expect("gate runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { exit: output.status.code().expect("a code"), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// 000: three tiers of rising cost. Each failure goes back with feedback before the next tier is tried; the vote is last.
#[test]
fn loom_each_tier_sends_back_before_the_next_is_reached() {
    let home = documents("loom");
    let ran = run(&home, &["--task", "subtask.md"], "");
    let expected = ["success fail verify-failure retry", "success fail review-rejection retry", "success pass done"];
    assert_eq!(
        ran.told(),
        ("completed".to_owned(), 0, expected.map(str::to_owned).to_vec()),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let record = ran.record();
    let tiers = record["record"]["gate"]["children"].as_array().expect("tiers");
    assert_eq!(tiers.len(), 3);
    // Two of three votes settle a majority; the third may have been cast by then.
    let vote = &tiers[2]["vote"];
    assert!(
        vote["decision"] == "pass" && vote["against"] == 0 && vote["for"].as_u64().is_some_and(|votes| votes >= 2),
        "{vote}"
    );
    assert_eq!(record["record"]["executor"]["model"], "executor-model");
    assert_eq!(record["attempts"][0]["tokens"], 1_000);
}

/// 000: where the voters disagree, a person decides, and not the executor.
#[test]
fn loom_a_divided_vote_needs_a_person() {
    let gate = "[gate.main]\ntiers = [\"syntax\", \"votes\"]\n[gate.votes]\nvote = [\"yes\", \"no\"]\nthreshold = \"unanimous\"\n\
        [check.syntax]\nverifier = \"json-syntax\"\n\
        [check.yes]\nverifier = \"command\"\ngrants = [\"command:yes\"]\n[command.yes]\nrun = [\"true\"]\n\
        [check.no]\nverifier = \"command\"\ngrants = [\"command:no\"]\n[command.no]\nrun = [\"false\"]\n";
    let home = Home::new(gate);
    // The first tier fails, and the executor is sent back; the second is reached at the second attempt.
    let ran = home.script(&[], "[ $GATE_ATTEMPT = 1 ] && echo '[' > a.json || echo '[2]' > a.json");
    let (state, exit, told) = ran.told();
    assert_eq!((state.as_str(), exit), ("escalated needs-person", 3), "{}", ran.stderr);
    assert_eq!(
        (told[0].as_str(), told[1].ends_with("escalate")),
        ("success fail verify-failure retry", true),
        "{told:?}"
    );
    assert_eq!(home.ledger().iter().filter(|entry| entry.starts_with("escalation")).count(), 1);
    assert!(ran.stderr.contains("[loop] needs human review (needs-person): "), "{}", ran.stderr);
}

/// 001: contradiction, signal, committed files, then the artifact review, whose finding becomes a fix task.
#[test]
fn layers_reject_false_completions_until_the_review_passes() {
    let home = documents("layers");
    let ran = run(&home, &["--plan", "--task", "1.1", "--insert-fix-tasks", "tasks.md"], "");
    let retry = || "success fail verify-failure retry".to_owned();
    let expected = vec![
        retry(),
        retry(),
        retry(),
        "success fail review-rejection retry".to_owned(),
        "success pass done".to_owned(),
    ];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, expected), "{}{}", ran.stdout, ran.stderr);
    let record = ran.record();
    let reviews: Vec<u64> = record["attempts"]
        .as_array()
        .expect("attempts")
        .iter()
        .map(|attempt| attempt["review"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(reviews, [0, 0, 0, 1, 2], "the review is reached only when the layers before it pass");
    let fix = fs::read_to_string(home.path().join("fix-task")).expect("a fix task");
    assert!(
        fix.starts_with("- [ ] 1.1.1 [FIX 1.1] Fix: ")
            && fix.contains("`fix(read): address review finding from task 1.1`"),
        "{fix}"
    );
    assert!(home.read("tasks.md").contains(&fix));
    let progress = home.read(".progress.md");
    assert!(progress.contains("### Review: execution (Task 0, Iteration 1)\n- Status: REVIEW_FAIL\n"), "{progress}");
    assert!(progress.contains("### Review: execution (Task 0, Iteration 2)\n- Status: REVIEW_PASS\n"), "{progress}");
}

/// 001: the plan goes on after a pass, and the last task is reviewed again.
#[test]
fn layers_advance_from_task_to_task() {
    let home = documents("layers");
    let mut gate = home.command(&["--plan"], &["sh", "executor.sh"]);
    let output = gate.output().expect("gate runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(
        stderr.contains("[loop] task 1.1: Read a file\n") && stderr.contains("[loop] task 1.2: Count the lines\n"),
        "{stderr}"
    );
    assert!(stdout.contains("loop: completed after 5 attempts, sent back 4 times\n"), "{stdout}");
    assert!(stdout.ends_with("loop: completed after 1 attempt\n"), "{stdout}");
    assert_eq!(home.run(&["--plan"], &["true"]).exit, 2, "every task is done");
}

/// 002: a command alone decides, its exit codes come from a tape, and every ending has a name.
#[test]
fn edit_test_fix_is_repeated_from_a_tape() {
    let home = documents("edit-test-fix");
    home.sh("git rm -q gate.toml; git commit -qm none");
    let script = "echo \"$GATE_ATTEMPT\" > work.txt; echo \"$GATE_FEEDBACK\" > ../said";
    let flags = ["--verify", "npm test", "--replay-commands", "fails-then-passes.jsonl"];
    let ran = home.script(&flags, script);
    let fail = || "success fail verify-failure retry".to_owned();
    assert_eq!(ran.told(), ("completed".to_owned(), 0, vec![fail(), "success pass done".to_owned()]), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("[verify]")).collect();
    assert_eq!(lines, ["[verify] verify: fail, 1 finding", "[verify] verify: pass"]);
    let said = fs::read_to_string(home.path().join("said")).expect("said");
    assert!(said.contains("ran «npm test»: exit 1") && said.contains("adds: expected 3, found 2"), "{said}");
    home.sh("rm work.txt");
    let flags = ["--verify", "npm test", "--replay-commands", "always-fails.jsonl"];
    let ran = home.script(&[&flags[..], &["--max-bounces", "2"]].concat(), script);
    let attempts = vec![fail(), fail(), "success fail verify-failure stop".to_owned()];
    assert_eq!(ran.told(), ("verification_failed max_bounces".to_owned(), 1, attempts), "{}", ran.stderr);
}

/// 003: executor, verify command, architect. Only what all three approve is committed.
#[test]
fn the_gate_protocol_commits_only_approved_work() {
    let home = documents("gate-protocol");
    let ran = run(&home, &["--plan", "--commit"], "fail wrong good");
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    let expected = ["success fail execution-failure retry", "success fail verify-failure retry", "success pass done"];
    assert_eq!(
        ran.told(),
        ("completed".to_owned(), 0, expected.map(str::to_owned).to_vec()),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert_eq!(home.sh("git log -1 --format=%s").trim(), "feat(domain): create PlannerId");
    let record = ran.record();
    assert_eq!(record["commit"], home.sh("git rev-parse HEAD").trim());
    let verify = &record["record"]["gate"]["children"][1]["children"][0]["commands"][0];
    assert_eq!(
        (&verify["argv"], &verify["exit_code"]),
        (&serde_json::json!(["sh", "test.sh", "PlannerId"]), &0.into())
    );
}

/// 003: each class of failure has its own end.
#[test]
fn the_gate_protocol_follows_the_class() {
    for (steps, state, exit, attempts) in [
        ("blocked", "blocked", 3, 1),
        ("plain plain", "escalated rejections", 3, 2),
        ("plain good", "completed", 0, 2),
        ("fail fail fail", "verification_failed max_bounces", 1, 3),
        ("wrong wrong", "verification_failed stop_when_unchanged", 1, 2),
    ] {
        let home = documents("gate-protocol");
        let ran = run(&home, &["--plan", "--task", "3", "--commit"], steps);
        let (told, code, all) = ran.told();
        assert_eq!((told.as_str(), code, all.len()), (state, exit, attempts), "{steps}: {all:?} {}", ran.stderr);
        let committed = home.sh("git rev-list --count HEAD").trim() == "3";
        assert_eq!(committed, exit == 0, "{steps}");
        if steps == "blocked" {
            assert!(!home.ledger().iter().any(|entry| entry == "bounce"), "what waits is not sent back");
        }
    }
    let home = documents("gate-protocol");
    let ran =
        home.script(&["--plan", "--task", "3"], "mkdir -p src; echo $GATE_ATTEMPT > src/PlannerId.ts; echo no report");
    assert!(ran.told().2.iter().all(|attempt| attempt.contains("malformed")), "{:?}", ran.told());
}

/// 004: build, evaluate, verify: the evaluator and the tests must both pass, in at most three cycles.
#[test]
fn self_verifying_ends_after_three_cycles() {
    let right = "[ $GATE_ATTEMPT = 2 ] && printf 'def add(a, b):\\n    return a + b\\n' > sum.py || echo 'def add(a, b): pass' > sum.py";
    let home = documents("self-verifying");
    let ran = home.script(&["--task", "Add two numbers in sum.py."], right);
    let attempts = vec!["success fail review-rejection retry".to_owned(), "success pass done".to_owned()];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{}{}", ran.stdout, ran.stderr);
    let evaluator = &ran.record()["attempts"][1]["evaluator"];
    assert_eq!((&evaluator["session"], &evaluator["model"]), (&"evaluation".into(), &"evaluator-model".into()));
    assert_eq!(ran.record()["attempts"][1]["tokens"], 60);
    // It never adds: three cycles, and no pass.
    let home = documents("self-verifying");
    let ran =
        home.script(&["--task", "Add two numbers in sum.py."], "echo \"def add(a, b): pass # $GATE_ATTEMPT\" > sum.py");
    let (state, exit, all) = ran.told();
    assert_eq!(
        (state.as_str(), exit, all.len()),
        ("verification_failed max_iterations", 1, 3),
        "{all:?} {}",
        ran.stderr
    );
    // The evaluator is content, and the tests are not: ground truth is the tests.
    let home = documents("self-verifying");
    let ran = home.script(&["--max-bounces", "0"], "echo 'return a + b' > sum.py");
    assert_eq!(ran.told().2, ["success fail verify-failure stop"], "{}", ran.stderr);
}
