//! Loops without a gate.toml, and without running the commands that judge.

use super::Home;
use std::fs;

/// Edit, fail, fix, pass, with exit codes of a tape: no command is run, and the outcome says so.
#[test]
fn a_loop_is_repeated_from_a_tape() {
    let home = Home::new("");
    home.sh("git rm -q gate.toml; git commit -qm none");
    fs::write(
        home.path().join("tape"),
        "{\"command\": \"verify\", \"exit_code\": 1, \"stdout\": \"1 of 2 tests failed\\n\"}\n{\"command\": \"verify\", \"exit_code\": 0}\n",
    )
    .expect("written");
    let flags = ["--verify", "npm test -- --runInBand", "--replay-commands", "../tape"];
    let ran = home.script(&flags, "echo \"$GATE_ATTEMPT\" > work.txt; echo \"$GATE_FEEDBACK\" > ../said");
    let attempts = vec!["success fail verify-failure retry".to_owned(), "success pass done".to_owned()];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{}", ran.stderr);
    let record = ran.record();
    assert_eq!(record["record"]["marks"], serde_json::json!(["replayed"]));
    assert_eq!(record["policy"]["source"], "flags");
    let said = fs::read_to_string(home.path().join("said")).expect("said");
    assert!(said.contains("ran «npm test -- --runInBand»: exit 1") && said.contains("«1 of 2 tests failed»"), "{said}");
    // Nothing is left on the tape: that is no pass.
    let ran =
        home.run(&["--verify", "other", "--replay-commands", "../tape", "--max-bounces", "0"], &["sh", "-c", "exit 1"]);
    assert_eq!(ran.exit, 1);
}

#[test]
fn what_was_recorded_is_replayed() {
    let home = Home::new("");
    home.sh("git rm -q gate.toml; git commit -qm none");
    let work = "echo \"$GATE_ATTEMPT\" > work.txt";
    let ran = home.script(&["--verify", "grep -q 2 work.txt", "--record-commands", "../tape"], work);
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("tape")).expect("a tape").lines().count(), 2);
    home.sh("rm work.txt");
    let ran = home.script(&["--verify", "grep -q 2 work.txt", "--replay-commands", "../tape"], work);
    assert_eq!((ran.told().0.as_str(), ran.told().2.len()), ("completed", 2), "{}", ran.stderr);
}

#[test]
fn a_run_is_judged_by_a_command_alone() {
    let home = Home::new("");
    home.sh("echo x > new");
    let run = |flags: &[&str]| {
        let mut gate = std::process::Command::new(env!("CARGO_BIN_EXE_gate"));
        crate::support::isolate(gate.arg("run").args(flags), &home.work(), &home.path());
        let output = gate.env("GATE_STATE_DIR", home.path().join("state")).output().expect("gate runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&["--verify", "grep -q x new"]).0, Some(0));
    assert_eq!(run(&["--verify", "grep -q y new"]).0, Some(1));
    let (exit, stderr) = run(&["--verify", "true && true"]);
    assert!(exit == Some(2) && stderr.contains("`&` needs a shell"), "{stderr}");
    assert_eq!(run(&["--verify", "true", "--verifier", "json-syntax"]).0, Some(2));
}
