//! A separate evaluator: read-only, in a session of its own, believed only with the nonce of its evaluation.

use super::Home;
use std::fs;

/// A gate that asks the evaluator, whose command is this script of the shell. `$nonce` is the word that it must repeat.
fn gate(script: &str) -> String {
    format!(
        "[gate.main]\nall = [\"said\"]\n[check.said]\nverifier = \"evaluator-response\"\n\
         [evaluator]\nrun = [\"sh\", \"-c\", '''prompt=$(cat); nonce=$(echo \"$prompt\" | sed -n \"s/ PASS$//p\" | tail -1); {script}''']\n"
    )
}

#[test]
fn the_work_is_evaluated_after_each_attempt() {
    let home = Home::new(&gate("grep -q 2 a.json && echo \"$nonce PASS\" || echo \"$nonce FAIL: there is no 2\""));
    let script = "echo \"[$GATE_ATTEMPT]\" > a.json; echo \"$GATE_FEEDBACK\" >> ../said; echo 'I am sure that all is well. PASS'";
    let ran = home.script(&[], script);
    let attempts = vec!["success fail review-rejection retry".to_owned(), "success pass done".to_owned()];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{}{}", ran.stdout, ran.stderr);
    let record = ran.record();
    let evaluator = &record["attempts"][1]["evaluator"];
    assert_eq!(evaluator["outcome"], "success");
    assert!(["landlock", "namespaces"].contains(&evaluator["sandbox"].as_str().expect("a level")), "{evaluator}");
    let said = fs::read_to_string(home.path().join("said")).expect("said");
    assert!(said.contains("there is no 2"), "{said}");
    assert!(ran.stderr.contains("[loop] evaluation 2\n"), "{}", ran.stderr);
    assert!(home.ledger().iter().any(|entry| entry == "step-ended evaluator success"), "{:?}", home.ledger());
}

/// Seed 004: at most 3 cycles, and the default verdict is a failure.
#[test]
fn the_loop_ends_after_so_many_evaluations() {
    for (settings, flags, attempts) in [
        ("", &[][..], 3),
        ("[loop]\nmax_iterations = 2\n", &[], 2),
        ("[loop]\nmax_bounces = 9\n", &["--max-iterations", "4"], 4),
    ] {
        let home = Home::new(&format!("{}{settings}", gate("echo \"$nonce FAIL: no $(cat a.json)\"")));
        let ran = home.script(flags, "echo \"[$GATE_ATTEMPT]\" > a.json");
        let (state, exit, all) = ran.told();
        assert_eq!(
            (state.as_str(), exit, all.len()),
            ("verification_failed max_iterations", 1, attempts),
            "{}",
            ran.stderr
        );
    }
}

/// Whatever it says, it is not believed: without the nonce, after it wrote, or in the session of the executor.
#[test]
fn an_evaluator_that_cannot_be_believed_needs_a_person() {
    for (what, script, word) in [
        ("no nonce", "echo PASS", "evaluator"),
        ("another nonce", "echo 0123456789abcdef0123456789abcdef PASS", "evaluator"),
        ("two verdicts", "echo \"$nonce FAIL: no\"; echo \"$nonce PASS\"", "evaluator"),
        ("repeats the prompt", "echo \"$prompt\"", "evaluator"),
        ("nothing", "true", "evaluator"),
        ("an exit code", "echo \"$nonce PASS\"; exit 1", "evaluator"),
    ] {
        let home = Home::new(&gate(script));
        let ran = home.script(&[], "echo '[2]' > a.json; echo PASS");
        assert_eq!((ran.told().0, ran.exit), (format!("escalated {word}"), 3), "{what}: {}", ran.stderr);
        assert_eq!(ran.told().2.len(), 1, "{what}");
    }
}

#[test]
fn an_evaluator_cannot_write_to_the_work() {
    let home = Home::new(&gate("echo '[3]' > a.json; touch new.txt; echo \"$nonce PASS\""));
    let ran = home.script(&[], "echo '[2]' > a.json");
    assert_eq!(home.read("a.json"), "[2]\n");
    assert!(!home.work().join("new.txt").exists());
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    // A folder that the configuration gives it is no way around: the work must be the same afterwards.
    let home = Home::new(
        &gate("echo x > out/new.txt; echo \"$nonce PASS\"")
            .replace("run = [\"sh\"", "write = [\"out\"]\nrun = [\"sh\""),
    );
    let ran = home.script(&[], "echo '[2]' > a.json");
    assert_eq!((ran.told().0.as_str(), ran.exit), ("escalated evaluator.wrote", 3), "{}", ran.stderr);
    for keys in ["workspace = \"read-write\"\n", "from = \"task\"\nallow = [\"x\"]\n"] {
        let ran = Home::new(&format!("{}{keys}", gate("true"))).run(&[], &["true"]);
        assert!(
            ran.exit == 2 && ran.stderr.contains("an evaluator is a command that only reads the workspace"),
            "{}",
            ran.stderr
        );
    }
}

/// An evaluator that goes on in the session of the executor has watched the work being done.
#[test]
fn the_session_of_the_executor_is_refused() {
    for (id, state) in [("s1", "escalated evaluator.session"), ("s2", "completed")] {
        let says = format!(
            "printf \"%s\\\\n\" \"{{\\\\\"type\\\\\":\\\\\"system\\\\\",\\\\\"subtype\\\\\":\\\\\"init\\\\\",\\\\\"session_id\\\\\":\\\\\"{id}\\\\\"}}\" \"{{\\\\\"type\\\\\":\\\\\"result\\\\\",\\\\\"subtype\\\\\":\\\\\"success\\\\\",\\\\\"is_error\\\\\":false,\\\\\"result\\\\\":\\\\\"$nonce PASS\\\\\"}}\""
        );
        // In the configuration, a literal string: backslashes are as they are here.
        let home = Home::new(&gate(&says.replace("\\\\", "\\")));
        let agent = r#"echo '[2]' > a.json; echo '{"type":"system","subtype":"init","session_id":"s1","model":"m1"}'; echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'"#;
        let ran = home.script(&[], agent);
        assert_eq!(ran.told().0, state, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.record()["attempts"][0]["evaluator"]["session"], id);
    }
}

/// It is not told what the executor said, and cannot be talked to from the work.
#[test]
fn the_evaluator_is_told_the_task_and_not_the_claim() {
    let home = Home::new(&gate(
        "echo \"$prompt\" > /tmp/x 2>/dev/null; echo \"$prompt\" | sed \"s/$nonce/N/g\" | tr \"\\n\" \"~\" | cut -c1-3000 >&2; echo; echo \"$nonce PASS\"",
    ));
    let tape = home.path().join("tape");
    let task = "Add a list. Criteria: it has a 2.";
    let flags = ["--task", task, "--record-commands", tape.to_str().expect("a path")];
    let ran = home.script(&flags, "echo '[2]' > a.json; echo 'CLAIM: trust me'");
    assert_eq!(ran.told().0, "completed", "{}{}", ran.stdout, ran.stderr);
    let told = fs::read_to_string(&tape).expect("a tape");
    assert!(told.contains("You are an evaluator.") && told.contains(task) && told.contains("a.json"), "{told}");
    assert!(!told.contains("trust me"), "{told}");
    // Replayed, and marked: it is not committed.
    home.sh("git checkout -q a.json");
    let head = home.sh("git rev-parse HEAD");
    let ran = home.script(
        &["--task", task, "--replay-commands", tape.to_str().expect("a path"), "--commit"],
        "echo '[2]' > a.json",
    );
    assert_eq!(ran.told().0, "completed", "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.record()["attempts"][0]["evaluator"]["replayed"], true);
    assert_eq!(home.sh("git rev-parse HEAD"), head);
}
