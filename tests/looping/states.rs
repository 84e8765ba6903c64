//! How a loop ends, and what it leaves behind.

use super::{GATE, Home};
use serde_json::Value;
use std::fs;

#[test]
fn work_that_passes_is_completed() {
    let home = Home::new(GATE);
    let ran = home.script(&[], "echo '[1, 2]' > a.json; echo done");
    assert_eq!(ran.told(), ("completed".to_owned(), 0, vec!["success pass done".to_owned()]), "{}", ran.stderr);
    let record = ran.record();
    assert_eq!(record["base"], home.sh("git rev-parse HEAD").trim());
    assert_eq!(record["record"]["selection"]["kind"], "base");
    let expected = [
        "step-started loop",
        "note",
        "step-started executor",
        "step-ended executor success",
        "step-started gate",
        "run pass",
        "attempt pass",
        "step-ended loop completed",
    ];
    assert_eq!(home.ledger(), expected);
}

/// Edit, fail, fix, pass: the executor is told what was wrong, in every way in which it can be.
#[test]
fn an_executor_that_is_sent_back_fixes_its_work() {
    let fix =
        "if [ -z \"$said\" ]; then echo '[1,' > a.json; else echo '[1, 2]' > a.json; fi; echo \"$said\" > ../said";
    for (how, flags, script) in [
        ("the variable", &[][..], format!("said=$GATE_FEEDBACK; {fix}")),
        ("the file", &[], format!("said=$(cat \"$GATE_FEEDBACK_FILE\"); {fix}")),
        ("standard input", &["--stdin"], format!("said=$(cat); {fix}")),
    ] {
        let home = Home::new(GATE);
        let ran = home.script(flags, &script);
        let attempts = vec!["success fail verify-failure retry".to_owned(), "success pass done".to_owned()];
        assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{how}: {}", ran.stderr);
        let said = fs::read_to_string(home.path().join("said")).expect("said");
        assert!(said.contains("a.json:2:") && said.contains("`json`"), "{how}: {said}");
        assert!(home.ledger().iter().any(|entry| entry == "bounce"), "{how}");
        let status = home.gate(&["status"]).stdout;
        assert!(status.contains("Status: APPROVED\nAttempt: 2 of 3\n"), "{how}: {status}");
    }
    let home = Home::new(GATE);
    let executor = ["sh", "-c", &format!("said=$1; {fix}"), "sh", "{feedback}"];
    let ran = home.run(&["--format", "json"], &executor);
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    assert!(fs::read_to_string(home.path().join("said")).expect("said").contains("a.json:2:"));
}

#[test]
fn what_happens_is_told_in_lines_and_events() {
    let home = Home::new(GATE);
    let script = "echo working; [ -n \"$GATE_FEEDBACK\" ] && echo '[1, 2]' > a.json || echo '[1,' > a.json";
    let ran = home.run(&["--events", "../events"], &["sh", "-c", script]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| !line.starts_with("note:")).collect();
    let expected = [
        "[loop] attempt 1",
        "working",
        "[verify] json: fail, 1 finding",
        "[loop] sent back, 1 of 2: verify-failure",
        "[loop] attempt 2",
        "working",
        "[verify] json: pass",
    ];
    assert_eq!(lines, expected);
    assert!(ran.stdout.ends_with("loop: completed after 2 attempts, sent back once\n"), "{}", ran.stdout);
    let events = fs::read_to_string(home.path().join("events")).expect("events");
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let names = events.iter().map(|event| event["event"].as_str().expect("a name"));
    let of_loop: Vec<&str> = names
        .filter(|name| !name.starts_with("run.") && !name.starts_with("check.") && !name.starts_with("files."))
        .collect();
    let expected = [
        "loop.started",
        "executor.started",
        "executor.ended",
        "verification",
        "bounce",
        "executor.started",
        "executor.ended",
        "verification",
        "loop.ended",
    ];
    assert_eq!(of_loop, expected);
    for (seq, event) in (1..).zip(&events) {
        assert_eq!(event["seq"], seq, "{event}");
        assert_eq!(event["loop"], events[0]["run"], "{event}");
    }
    let bounce = events.iter().find(|event| event["event"] == "bounce").expect("a bounce");
    assert_eq!((&bounce["attempt"], &bounce["number"], &bounce["allowed"]), (&1.into(), &1.into(), &2.into()));
}

#[test]
fn a_budget_that_is_used_up_ends_the_loop_and_is_named() {
    let worse = "echo \"[$GATE_ATTEMPT,\" > a$GATE_ATTEMPT.json";
    let retry = || "success fail verify-failure retry".to_owned();
    let stop = || "success fail verify-failure stop".to_owned();
    for (gate, flags, attempts, state) in [
        ("", &[][..], vec![retry(), retry(), stop()], "verification_failed max_bounces"),
        ("[loop]\nmax_bounces = 1\n", &[], vec![retry(), stop()], "verification_failed max_bounces"),
        (
            "[loop]\nmax_bounces = 1\n[gate.main.loop]\nmax_bounces = 0\n",
            &[],
            vec![stop()],
            "verification_failed max_bounces",
        ),
        (
            "[loop]\nmax_bounces = 1\n",
            &["--max-bounces", "4"],
            vec![retry(), retry(), retry(), retry(), stop()],
            "verification_failed max_bounces",
        ),
    ] {
        let home = Home::new(&format!("{GATE}{gate}"));
        let ran = home.script(flags, worse);
        assert_eq!(ran.told(), (state.to_owned(), 1, attempts), "{gate} {flags:?}: {}", ran.stderr);
    }
    // The same failure again: whoever brings nothing new is not asked a third time.
    let same = "echo \"[$GATE_ATTEMPT,\" > a.json";
    let home = Home::new(GATE);
    let ran = home.script(&[], same);
    assert_eq!(ran.told(), ("verification_failed stop_when_unchanged".to_owned(), 1, vec![retry(), stop()]));
    let home = Home::new(&format!("{GATE}[loop]\nstop_when_unchanged = false\n"));
    assert_eq!(home.script(&[], same).told().0, "verification_failed max_bounces");
}

#[test]
fn an_executor_that_fails_is_sent_back_whatever_it_left() {
    let home = Home::new(GATE);
    let ran = home.script(
        &[],
        "echo '[1, 2]' > a.json; echo \"cannot $GATE_ATTEMPT\"; echo \"$GATE_FEEDBACK\" > ../said; exit 3",
    );
    let attempts = vec!["failure execution-failure retry".to_owned(), "failure execution-failure stop".to_owned()];
    assert_eq!(ran.told(), ("verification_failed stop_when_unchanged".to_owned(), 1, attempts), "{}", ran.stderr);
    let said = fs::read_to_string(home.path().join("said")).expect("said");
    assert!(
        said.starts_with("Attempt 1 of 3 (execution-failure). PREVIOUS ATTEMPT FAILED: ")
            && said.contains(
                "\nThe executor ended with exit code 3, so its work was not checked.\nIt printed: «cannot 1»\n"
            ),
        "{said}"
    );
}

#[test]
fn an_executor_that_changes_nothing_does_not_pass() {
    // A check that looks at no file, and so would pass.
    let tests = "[gate.main]\nall = [\"tests\"]\n[check.tests]\nverifier = \"command\"\ngrants = [\"command:it\"]\n[command.it]\nrun = [\"true\"]\n";
    for gate in [GATE, tests] {
        let home = Home::new(gate);
        let ran = home.script(&[], "true");
        let attempts = vec!["success abstain retry".to_owned(), "success abstain stop".to_owned()];
        assert_eq!(ran.told(), ("verification_failed stop_when_unchanged".to_owned(), 1, attempts), "{}", ran.stderr);
        // What was there before is not its work.
        let home = Home::new(gate);
        home.sh("echo '[1, 2]' > a.json");
        assert_eq!(home.script(&[], "true").exit, 1);
        let home = Home::new(&gate.replace("[gate.main]", "[gate.main]\non_nothing = \"pass\""));
        assert_eq!(home.script(&[], "true").told().0, "completed");
    }
}

#[test]
fn the_claim_is_what_it_printed() {
    let gate = "[gate.main]\nall = [\"signal\"]\n[check.signal]\nverifier = \"completion-signal\"\n";
    let home = Home::new(gate);
    let ran = home.script(&[], "echo x > b; [ $GATE_ATTEMPT = 2 ] && echo TASK_COMPLETE || echo perhaps");
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    assert_eq!(ran.told().2.len(), 2);
}

#[test]
fn what_cannot_begin_is_a_mistake() {
    let home = Home::new(GATE);
    for (flags, executor, message) in [
        (&[][..], &["no-such-program"][..], "the executor: `no-such-program` cannot be run"),
        (&["nope"], &["true"], "nope"),
        (&["--executor-timeout", "1h"], &["true"], "expected a duration up to `15m`"),
    ] {
        let ran = home.run(flags, executor);
        assert_eq!(ran.exit, 2, "{flags:?} {executor:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    let home = Home::new(GATE);
    home.sh("rm -rf .git");
    let ran = home.run(&[], &["true"]);
    assert!(ran.exit == 2 && ran.stderr.contains("run it in a git repository that has a commit"), "{}", ran.stderr);
}

/// Several tasks of a group that fail halt the project: no loop begins until a person decides.
#[test]
fn a_halted_project_waits_for_a_person() {
    let home = Home::new(&format!("[escalation]\ngroup = 2\n{GATE}"));
    let task = |id: u32| {
        format!(
            "<task id=\"{id}\" wave=\"w\">\n<name>T{id}</name>\n<files>a.json</files>\n<done>2 tests pass</done>\n</task>\n"
        )
    };
    home.write("tasks.md", &[1, 2, 3].map(task).concat());
    home.sh("git add -A; git commit -qm plan");
    let run = |id: &str, script: &str| home.script(&["--plan", "tasks.md", "--task", id, "--max-bounces", "0"], script);
    let bad = "echo '[1,' > a.json";
    assert_eq!(
        (run("1", bad).told().0.as_str(), run("2", bad).told().0.as_str()),
        ("verification_failed max_bounces", "halted group")
    );
    let ran = run("3", "echo ran > ../ran; echo '[2]' > a.json");
    assert_eq!(ran.told(), ("halted halted".to_owned(), 3, Vec::new()), "{}", ran.stderr);
    for arguments in [&["--no-ledger"][..], &["--no-ledger", "--runs", "2"]] {
        let ran = home.script(arguments, "echo ran > ../ran; echo '[2]' > a.json");
        assert!(ran.exit == 3 && ran.stderr.contains("the project has been halted"), "{}", ran.stderr);
    }
    assert!(!home.path().join("ran").exists(), "the executor of a halted project does not run");
}
