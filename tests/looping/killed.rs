//! `kill -9` at every step, of the loop and of its executor: afterwards the counts are right, and nothing passes unjudged.

use super::{GATE, Home, Ran};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

/// Leaves bad work at first, and repairs it once it is told anything.
const FIXES: &str =
    "echo run >> ../runs; if [ -n \"$GATE_FEEDBACK\" ]; then echo '[1, 2]' > a.json; else echo '[1,' > a.json; fi";
/// Leaves bad work of another kind each time.
const NEVER: &str = "echo run >> ../runs; echo \"[$GATE_ATTEMPT,\" > a$GATE_ATTEMPT.json";

/// Runs a loop, and kills it as soon as it has told this many events. Returns whether it was killed before its end.
fn killed_after(home: &Home, events: usize, script: &str) -> bool {
    let mut gate = home.command(&["--events", "-"], &["sh", "-c", script]);
    let mut child = gate.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let told = lines.by_ref().take(events).count();
    let _ = child.kill();
    child.wait().expect("it ends");
    told == events
}

fn count(home: &Home, wanted: &str) -> usize {
    home.ledger().iter().filter(|entry| *entry == wanted).count()
}

/// What must hold whenever a loop is cut off and resumed.
fn check(home: &Home, at: usize, script: &str) {
    let ran: Ran = home.gate(&["resume"]);
    let ledger = home.ledger();
    let what = format!("after {at} events: {ledger:?} {}{}", ran.stdout, ran.stderr);
    let began = ledger.iter().any(|entry| entry == "note");
    if !began {
        // It was not noted that it began: nothing was run, and there is nothing to go on with.
        assert!(ran.exit == 2 && !home.path().join("runs").exists(), "{what}");
        return;
    }
    let attempts = count(home, "step-started executor");
    let runs = fs::read_to_string(home.path().join("runs")).unwrap_or_default().lines().count();
    assert!(runs <= attempts && attempts <= runs + 1, "{runs} runs of {attempts} attempts {what}");
    // Every attempt that was begun counts, and once.
    assert_eq!(count(home, "attempt fail") + count(home, "attempt pass"), attempts, "{what}");
    assert_eq!(ledger.iter().filter(|entry| entry.starts_with("step-ended loop")).count(), 1, "{what}");
    let bounces = count(home, "bounce");
    assert_eq!(bounces + 1, attempts, "{what}");
    if script == FIXES {
        assert!(attempts <= 3 && home.read("a.json") == "[1, 2]\n", "{what}");
        assert_eq!(ledger.last().map(String::as_str), Some("step-ended loop completed"), "{what}");
        assert!(count(home, "run pass") >= 1, "{what}");
    } else {
        assert_eq!((attempts, bounces), (3, 2), "{what}");
        assert_eq!(ledger.last().map(String::as_str), Some("step-ended loop verification_failed"), "{what}");
        assert_eq!(count(home, "run pass"), 0, "{what}");
    }
    assert_eq!(home.gate(&["resume"]).exit, 2, "there is nothing left to resume");
}

#[test]
fn a_loop_that_is_killed_at_any_step_is_resumed_with_the_right_counts() {
    let kill_at = |first: usize, script: &str| {
        let mut points = 0;
        for events in (first..).step_by(2) {
            let home = Home::new(GATE);
            if !killed_after(&home, events, script) {
                break;
            }
            check(&home, events, script);
            points += 1;
        }
        assert!(points >= 10, "{points} points");
    };
    // At the same time: much of it is waiting.
    thread::scope(|scope| {
        for (first, script) in [(1, FIXES), (2, FIXES), (1, NEVER), (2, NEVER)] {
            scope.spawn(move || kill_at(first, script));
        }
    });
}

/// Cut off again and again: each time it gets a little further, and it still ends.
#[test]
fn a_loop_can_be_killed_again_when_it_is_resumed() {
    let home = Home::new(GATE);
    assert!(killed_after(&home, 2, NEVER));
    for _ in 0..6 {
        let mut gate = std::process::Command::new(env!("CARGO_BIN_EXE_gate"));
        crate::support::isolate(gate.arg("resume"), &home.work(), &home.path());
        gate.env("GATE_STATE_DIR", home.path().join("state")).stdin(Stdio::null());
        let mut child = gate.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let _ = lines.by_ref().take(4).count();
        let _ = child.kill();
        child.wait().expect("it ends");
    }
    home.gate(&["resume"]);
    let ledger = home.ledger();
    assert_eq!(count(&home, "step-started executor"), 3, "{ledger:?}");
    assert_eq!(ledger.iter().filter(|entry| entry.starts_with("step-ended loop")).count(), 1, "{ledger:?}");
    assert_eq!(count(&home, "run pass"), 0, "{ledger:?}");
}

/// The executor dies, kills the process above it, or the loop itself.
#[test]
fn an_executor_that_is_killed_or_kills_has_not_passed() {
    let good = "echo run >> ../runs; echo '[1, 2]' > a.json";
    let home = Home::new(GATE);
    let ran = home.script(&[], &format!("{good}; kill -9 $$"));
    let attempts = vec!["killed execution-failure retry".to_owned(), "killed execution-failure stop".to_owned()];
    assert_eq!(ran.told(), ("verification_failed stop_when_unchanged".to_owned(), 1, attempts), "{}", ran.stderr);
    let home = Home::new(GATE);
    let ran = home.script(&[], &format!("{good}; kill -9 $PPID; sleep 100"));
    assert_eq!((ran.told().0.as_str(), ran.exit), ("escalated unjudgeable", 3), "{}", ran.stderr);
    assert_eq!(count(&home, "run pass"), 0);
    let home = Home::new(GATE);
    let once = format!(
        "{good}; [ -e ../once ] && exit; touch ../once; kill -9 $(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat); sleep 100"
    );
    let output = home.command(&[], &["sh", "-c", &once]).output().expect("gate runs");
    assert_eq!(output.status.code(), None, "{output:?}");
    assert_eq!(count(&home, "run pass"), 0);
    let ran = home.gate(&["resume"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("[loop] resumed after 0 attempts\n"), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("loop: completed after 2 attempts, sent back once\n"), "{}", ran.stdout);
    assert_eq!(count(&home, "step-started executor"), 2);
}

/// A signal is no crash: what was interrupted goes on as well. And nobody changes the gate in between.
#[test]
fn a_loop_goes_on_only_by_the_gate_that_it_began_with() {
    let home = Home::new(GATE);
    assert!(killed_after(&home, 2, FIXES));
    home.sh("echo '# more' >> gate.toml");
    let ran = home.gate(&["resume"]);
    assert!(
        ran.exit == 3 && ran.stderr.contains("the gate differs from the one that the loop began with"),
        "{}",
        ran.stderr
    );
    home.sh("git checkout -q gate.toml");
    let ran = home.gate(&["resume"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    // With a plan, the tasks that come after it follow.
    let home = Home::new(GATE);
    let task = |id: u32| format!("- [ ] {id} T{id}\n  - **Done when**: 2 tests pass\n  - **Verify**: `make {id}`\n");
    home.write("tasks.md", &[task(1), task(2), task(3)].concat());
    home.sh("git add -A; git commit -qm plan");
    let script = "echo $GATE_TASK_ID >> ../tasks; [ $GATE_TASK_ID = 2 ] && [ ! -e ../once ] && { touch ../once; kill -9 $(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat); sleep 100; }; echo \"[$GATE_TASK_ID, 0]\" > a.json";
    let output = home.command(&["--plan", "tasks.md"], &["sh", "-c", script]).output().expect("gate runs");
    assert_eq!(output.status.code(), None, "{output:?}");
    let ran = home.gate(&["resume"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join("tasks")).expect("tasks"), "1\n2\n2\n3\n");
}

/// The same with an evaluator, a review and `--commit`: an evaluation that was cut off counts, the review happens before the
/// loop completes, and the work is committed once, as it was judged.
#[test]
fn a_loop_with_an_evaluator_and_a_commit_is_resumed_at_any_step() {
    let gate = "[loop]\nmax_iterations = 4\n[gate.main]\ntiers = [\"json\", \"said\"]\n\
        [check.json]\nverifier = \"json-syntax\"\n[check.said]\nverifier = \"evaluator-response\"\n\
        [evaluator]\nrun = [\"sh\", \"-c\", '''nonce=$(sed -n \"s/ PASS$//p\" | tail -1); grep -q 2 a.json && echo \"$nonce PASS\" || echo \"$nonce FAIL: no 2\"''']\n";
    let script = "echo run >> ../runs; [ -n \"$GATE_FEEDBACK\" ] && echo '[2]' > a.json || echo '[3]' > a.json";
    let kill_at = |first: usize| {
        let mut points = 0;
        for events in (first..).step_by(6) {
            let home = Home::new(gate);
            let mut loop_ = home.command(&["--commit", "--events", "-"], &["sh", "-c", script]);
            let mut child = loop_.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
            let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
            let told = lines.by_ref().take(events).count();
            let _ = child.kill();
            child.wait().expect("it ends");
            if told < events {
                break;
            }
            points += 1;
            let ran = home.gate(&["resume"]);
            let ledger = home.ledger();
            let what = format!("after {events} events: {ledger:?} {}{}", ran.stdout, ran.stderr);
            if !ledger.iter().any(|entry| entry == "note")
                || ledger.iter().filter(|entry| *entry == "step-started loop").count() == 1
            {
                // It had not begun, or it had ended already.
                assert_eq!(ran.exit, 2, "{what}");
                continue;
            }
            assert_eq!(ran.exit, 0, "{what}");
            let attempts = count(&home, "step-started executor");
            assert_eq!(count(&home, "attempt fail") + count(&home, "attempt pass"), attempts, "{what}");
            assert_eq!((count(&home, "bounce") + 1, count(&home, "run pass") >= 1), (attempts, true), "{what}");
            assert!(count(&home, "step-started evaluator") <= 4, "{what}");
            assert_eq!(ledger.last().map(String::as_str), Some("step-ended loop completed"), "{what}");
            assert_eq!(home.sh("git rev-list --count HEAD").trim(), "2", "{what}");
            assert_eq!(
                (home.sh("git show HEAD:a.json"), home.sh("git status --porcelain")),
                ("[2]\n".to_owned(), String::new()),
                "{what}"
            );
        }
        assert!(points >= 4, "{points} points");
    };
    // At the same time: much of it is waiting.
    thread::scope(|scope| {
        for first in [1, 3, 5] {
            scope.spawn(move || kill_at(first));
        }
    });
}
