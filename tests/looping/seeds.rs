//! The designs that the gate host goes back to, each with its own states and counts.

use super::Home;
use std::fs;

/// Three tiers, the last of which is a vote: where the voters disagree, a person decides, and not the executor.
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

/// A completion that admits failure is none, a silent one neither, and the checkmark counts.
#[test]
fn verification_layers_reject_false_completions() {
    let gate = "[gate.main]\nall = [\"contradiction\", \"signal\", \"marks\"]\n[check.contradiction]\nverifier = \"contradiction\"\n\
        [check.signal]\nverifier = \"completion-signal\"\n[check.marks]\nverifier = \"checklist\"\ngrants = [\"workspace\"]\nsettings = { file = \"tasks.md\" }\n";
    let home = Home::new(gate);
    fs::write(
        home.work().join("tasks.md"),
        "- [ ] 1.1 Build\n  - **Done when**: 2 tests pass\n  - **Verify**: `make test`\n",
    )
    .expect("written");
    home.sh("git add -A; git commit -qm plan");
    let script = "sed -i 's/\\[ \\]/[x]/' tasks.md
        case $GATE_ATTEMPT in
          1) echo 'This requires manual steps.'; echo TASK_COMPLETE;;
          2) echo 'It is nearly there.';;
          3) echo TASK_COMPLETE;;
        esac";
    let ran = home.script(&["--plan", "tasks.md", "--task", "1.1"], script);
    let retry = "success fail verify-failure retry".to_owned();
    assert_eq!(
        ran.told(),
        ("completed".to_owned(), 0, vec![retry.clone(), retry, "success pass done".to_owned()]),
        "{}{}",
        ran.stderr,
        ran.stdout
    );
}

/// The report of the executor is where it begins: a failure is retried, what is blocked stops, and is not sent back.
#[test]
fn the_gate_protocol_follows_the_class() {
    let gate = "[gate.main]\nall = [\"report\"]\n[check.report]\nverifier = \"executor-report\"\n";
    let report = |status: &str, code: u32, met: bool| {
        format!(
            "echo x > b; printf 'status: {status}\\ntask_name: T\\nverification:\\n  command: make\\n  exit_code: {code}\\ndone_criteria_met: {met}\\nerror: \"no uuid\"\\n'"
        )
    };
    let home = Home::new(gate);
    let ran = home.script(&[], &report("blocked", 1, false));
    let (state, exit, attempts) = ran.told();
    assert_eq!((state.as_str(), exit, attempts.len()), ("blocked", 3, 1), "{attempts:?} {}", ran.stderr);
    assert!(!home.ledger().iter().any(|entry| entry == "bounce"));
    let home = Home::new(gate);
    let ran = home.script(&[], &format!("echo \"$GATE_FEEDBACK\" > ../said; {}", report("failure", 1, false)));
    let (state, exit, attempts) = ran.told();
    assert_eq!((state.as_str(), exit), ("verification_failed stop_when_unchanged", 1), "{}", ran.stderr);
    assert!(attempts.iter().all(|attempt| attempt.contains("execution-failure")), "{attempts:?}");
    let said = fs::read_to_string(home.path().join("said")).expect("said");
    assert!(said.starts_with("Attempt 1 of 3 (execution-failure). The executor reported a failure"), "{said}");
    let home = Home::new(gate);
    let ran = home.script(&[], "echo x > b; echo no report");
    assert!(ran.told().2.iter().all(|attempt| attempt.contains("malformed")), "{:?}", ran.told());
}
