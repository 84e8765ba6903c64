//! Budgets: of time, tokens and money. The first that is used up ends the loop, and the record says which.

use super::{GATE, Home};
use std::fs;

/// What an agent prints that took so many tokens, and so much money.
fn agent(tokens: u32, dollars: &str) -> String {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
    let result = format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":{dollars},"usage":{{"input_tokens":{tokens},"output_tokens":0}}}}"#
    );
    format!("echo \"[$GATE_ATTEMPT,\" > a$GATE_ATTEMPT.json; echo '{init}'; echo '{result}'")
}

#[test]
fn tokens_and_money_are_budgets() {
    for (settings, flags, attempts, state) in [
        ("max_tokens = 250\n", &[][..], 3, "verification_failed max_tokens"),
        ("max_tokens = 100\n", &[], 1, "verification_failed max_tokens"),
        ("max_cost = 0.5\n", &[], 2, "verification_failed max_cost"),
        ("max_cost = 9\n", &["--max-cost", "0.25"], 1, "verification_failed max_cost"),
        ("max_tokens = 100\n", &["--max-tokens", "1000000"], 10, "verification_failed max_bounces"),
    ] {
        let home = Home::new(&format!("{GATE}[loop]\nmax_bounces = 9\n{settings}"));
        let ran = home.script(flags, &agent(100, "0.25"));
        let (told, exit, all) = ran.told();
        assert_eq!((told.as_str(), exit, all.len()), (state, 1, attempts), "{settings}: {}", ran.stderr);
        assert_eq!(ran.record()["attempts"][0]["tokens"], 100);
    }
    let home = Home::new(GATE);
    assert_eq!(home.run(&["--max-cost", "much"], &["true"]).exit, 2);
}

/// The next attempt has more time, and finds what the one before it finished.
#[test]
fn a_retry_after_a_timeout_has_more_time_and_keeps_what_was_finished() {
    let gate = format!(
        "{GATE}[loop]\nexecutor_timeout = \"1s\"\n[retry]\ntimeout = {{ times = 3, after = \"1ms\" }}\n[escalation]\ntimeouts = 0\n"
    );
    let home = Home::new(&gate);
    // Slow enough to be stopped once: it goes on where it was.
    let script = "[ -e part ] && { echo '[1, 2]' > a.json; rm part; exit; }; echo done > part; sleep 100000";
    let ran = home.run(&["--format", "json", "--events", "../events"], &["sh", "-c", script]);
    let attempts = vec!["timeout timeout retry".to_owned(), "success pass done".to_owned()];
    assert_eq!(ran.told(), ("completed".to_owned(), 0, attempts), "{}", ran.stderr);
    let events = fs::read_to_string(home.path().join("events")).expect("events");
    let limits: Vec<f64> = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an event"))
        .filter(|event| event["event"] == "executor.started")
        .map(|event| event["timeout_ms"].as_f64().expect("a time"))
        .collect();
    assert_eq!(limits, [1_000.0, 2_000.0]);
}

/// What failed before runs first; the rest runs only once that passes, and all of it before the loop completes.
#[test]
fn what_failed_before_runs_first() {
    let check = |name: &str| {
        format!(
            "[check.{name}]\nverifier = \"command\"\ngrants = [\"command:{name}\"]\n[command.{name}]\nrun = [\"sh\", \"-c\", \"test -e {name}\"]\n"
        )
    };
    let gate = format!(
        "[loop]\nstop_when_unchanged = false\n[gate.main]\nall = [\"one\", \"two\"]\n{}{}",
        check("one"),
        check("two")
    );
    let home = Home::new(&gate);
    // The first attempt lacks both, the second has one of them, the third both.
    let script =
        "case $GATE_ATTEMPT in 1) echo > x;; 2) echo > one; echo \"$GATE_FEEDBACK\" > ../said;; 3) echo > two;; esac";
    let ran = home.run(&["--format", "json", "--events", "../events"], &["sh", "-c", script]);
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    let home2 = Home::new(&gate);
    let script = "case $GATE_ATTEMPT in 1) echo > one;; 2) echo > x; rm one;; 3) echo > one; echo > two;; esac";
    let ran = home2.run(&["--format", "json", "--events", "../events"], &["sh", "-c", script]);
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    let events = fs::read_to_string(home2.path().join("events")).expect("events");
    let verified: Vec<String> = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an event"))
        .filter(|event| event["event"] == "verification")
        .map(|event| {
            format!(
                "{} {} {}",
                event["attempt"],
                event["check"].as_str().expect("said"),
                event["outcome"].as_str().expect("said")
            )
        })
        .collect();
    // In the second attempt `two` fails again, and so nobody looks at `one`, which is broken by then.
    let of = |attempt: &str| verified.iter().filter(|line| line.starts_with(attempt)).cloned().collect::<Vec<_>>();
    assert_eq!(of("2"), ["2 two fail", "2 one not-reached"]);
    let mut last = of("3");
    last.sort();
    assert_eq!(last, ["3 one pass", "3 two pass"]);
}

/// A check that failed, and to which nothing applies any more, is reported once for each attempt.
#[test]
fn each_check_is_reported_once_for_each_attempt() {
    let gate = "[gate.main]\nall = [\"json\", \"python\"]\n[check.json]\nverifier = \"json-syntax\"\n[check.python]\nverifier = \"python-syntax\"\n";
    let home = Home::new(gate);
    let script = "[ $GATE_ATTEMPT = 1 ] && echo 'def f(:' > a.py || { rm a.py; echo '[2]' > a.json; }";
    let ran = home.script(&[], script);
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    let mut verified: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("[verify]")).collect();
    verified.sort_unstable();
    let expected = [
        "[verify] json: pass",
        "[verify] json: skipped (no file matches)",
        "[verify] python: fail, 2 findings",
        "[verify] python: skipped (no file matches)",
    ];
    assert_eq!(verified, expected);
}

/// After a bounce, the passes of tiers before the one that failed are reused while the work and all that they read is the
/// same. A loop completes only after everything has run again.
#[test]
fn passes_whose_inputs_did_not_change_are_reused_until_the_gate_would_pass() {
    let home = Home::new("");
    let ran_tests = home.path().join("out");
    fs::create_dir(&ran_tests).expect("a folder");
    let gate = format!(
        "[loop]\nmax_bounces = 5\nstop_when_unchanged = false\n[gate.main]\ntiers = [\"tests\", \"list\", \"claim\"]\n\
         [check.tests]\nverifier = \"command\"\ngrants = [\"command:tests\"]\n\
         [command.tests]\nrun = [\"sh\", \"-c\", \"echo ran >> {0}/tests\"]\nwrite = [\"{0}\"]\n\
         [check.list]\nverifier = \"checklist\"\nsettings = {{ file = \"list.md\" }}\ngrants = [\"workspace\"]\n\
         [check.claim]\nverifier = \"completion-signal\"\n",
        ran_tests.display()
    );
    home.write("gate.toml", &gate);
    // The list is ignored, so it is in no digest of the work: only what was read tells that it changed.
    home.write(".gitignore", "list.md\n");
    home.write("list.md", "- [x] 1 Begin\n");
    home.sh("printf -- '- [ ] 1 Begin\n  - **Done when**: 2 tests pass\n' > ../task.md");
    home.sh("git add -A; git commit -qm gate");
    let script = "case $GATE_ATTEMPT in 1) echo '[2]' > a.json;; 2) ;; 3) echo '- [x] 2 End' >> list.md;; \
                  4) echo '[3]' > a.json;; 5) echo TASK_COMPLETE;; esac; echo $GATE_ATTEMPT. done";
    let ran = home.run(&["--format", "json", "--task", "../task.md"], &["sh", "-c", script]);
    assert_eq!((ran.told().0.as_str(), ran.told().2.len()), ("completed", 5), "{}{}", ran.stdout, ran.stderr);
    let verified: Vec<String> =
        ran.stderr.lines().filter(|line| line.starts_with("[verify]")).map(without_run).collect();
    let (tests, list) = ("[verify] tests: pass, 1 finding", "[verify] list: pass");
    let reused = |line: &str| format!("{line} (passed in run RUN, and its inputs have not changed)");
    let failed = "[verify] claim: fail, 1 finding".to_owned();
    let of = |attempt: usize| {
        let mut lines = verified[3 * (attempt - 1)..3 * attempt].to_vec();
        lines.sort();
        lines
    };
    assert_eq!(of(1), [failed.clone(), list.to_owned(), tests.to_owned()], "{verified:?}");
    assert_eq!(of(2), [failed.clone(), reused(list), reused(tests)], "the claim alone has changed");
    assert_eq!(of(3), [failed.clone(), list.to_owned(), reused(tests)], "an ignored file that was read has changed");
    assert_eq!(of(4), [failed, list.to_owned(), tests.to_owned()], "the work has changed");
    assert_eq!(of(5), ["[verify] claim: pass", list, tests], "before the loop completes, everything runs");
    assert_eq!(fs::read_to_string(ran_tests.join("tests")).expect("runs").lines().count(), 3);
    let record = ran.record();
    assert!(!record["record"].to_string().contains("\"reused\""), "{record:#}");
    // The record of an attempt cites the run that established the pass.
    let log = home.gate(&["log", "--format", "json"]);
    assert!(log.exit == 0 && log.stdout.contains("\"reused\""), "{}", log.stdout);
    assert!(home.ledger().iter().filter(|entry| *entry == "run pass").count() == 1);
    // Without the cache, nothing is reused.
    let script = "echo '[4]' > a.json; echo $GATE_ATTEMPT";
    let flags = ["--no-cache", "--max-bounces", "1", "--task", "../task.md"];
    let ran = home.run(&flags, &["sh", "-c", script]);
    assert!(ran.exit == 1 && !ran.stderr.contains("passed in run"), "{}", ran.stderr);
}

/// A line with the identifier of a run replaced.
fn without_run(line: &str) -> String {
    match line.split_once("passed in run ") {
        Some((before, after)) => {
            let rest = after.split_once(',').map_or("", |(_, rest)| rest);
            format!("{before}passed in run RUN,{rest}")
        }
        None => line.to_owned(),
    }
}
