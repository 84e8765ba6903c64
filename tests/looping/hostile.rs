//! Executors that do not want to be judged, or do not want to end.

use super::{GATE, Home};
use crate::signals;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How many processes have this text in their command lines.
fn processes_with(mark: &str) -> usize {
    let listed = Command::new("pgrep").args(["-fc", "--", mark]).output().expect("pgrep runs");
    String::from_utf8_lossy(&listed.stdout).trim().parse().unwrap_or(0)
}

/// A number of seconds to sleep that no other test of any process sleeps.
fn mark(number: u32) -> String {
    format!("{}.{number}", 100_000 + std::process::id() % 100_000)
}

fn assert_gone(mark: &str) {
    let start = Instant::now();
    while processes_with(&format!("sleep {mark}")) > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "`sleep {mark}` is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Each leaves bad work behind, and something that would hide it.
#[test]
fn nothing_hides_bad_work() {
    for (what, script, state) in [
        (
            "edits gate.toml",
            "printf '[gate.main]\\nall = [\"x\"]\\n[check.x]\\nverifier = \"toml-syntax\"\\n' > gate.toml",
            1,
        ),
        ("removes gate.toml", "rm gate.toml", 1),
        ("commits", "git add -A; git commit -qm work", 1),
        ("commits and resets the branch", "git add -A; git commit -qm work; git checkout -q --detach", 1),
        ("amends the base", "git add -A; git commit -q --amend -m other", 1),
        ("begins a new history", "git checkout -q --orphan new; git add -A; git commit -qm work", 1),
        ("ignores it", "echo '*.json' > .git/info/exclude", 1),
        ("assumes that it is unchanged", "git update-index --assume-unchanged a.json", 1),
        ("deletes .git", "rm -rf .git", 3),
        ("makes another repository", "rm -rf .git; git init -q; git add -A; git commit -qm first", 3),
    ] {
        let home = Home::new(GATE);
        let ran = home.script(&["--max-bounces", "0"], &format!("echo '[1,' > a.json; {script}"));
        let record = ran.record();
        assert_eq!(ran.exit, state, "{what}: {record:#} {}", ran.stderr);
        let expected = if state == 1 { "verification_failed" } else { "escalated" };
        assert_eq!(record["state"], expected, "{what}: {}", ran.stderr);
    }
}

/// The other way round: the same with good work is no false alarm.
#[test]
fn good_work_passes_however_it_is_left() {
    for script in ["git add -A; git commit -qm work", "git checkout -qb topic", ":"] {
        let home = Home::new(GATE);
        let ran = home.script(&["--max-bounces", "0"], &format!("echo '[1, 2]' > a.json; {script}"));
        assert_eq!(ran.told().0, "completed", "{script}: {}", ran.stderr);
    }
}

/// Whoever changes the policy is judged by the old one, and a person decides.
#[test]
fn good_work_that_touches_the_policy_needs_a_person() {
    for script in ["echo '# more' >> gate.toml", "rm gate.toml", "echo '# more' >> gate.toml; git commit -qam work"] {
        let home = Home::new(GATE);
        let ran = home.script(&["--max-bounces", "0"], &format!("echo '[1, 2]' > a.json; {script}"));
        assert_eq!((ran.exit, ran.told().0.as_str()), (3, "escalated needs-person"), "{script}: {}", ran.stderr);
    }
}

/// Good work beside another policy: it is judged by the old one, and a person decides about the new one.
#[test]
fn whoever_touches_the_policy_needs_a_person() {
    let protected = format!("protected = [\"tests/**\"]\n{GATE}");
    for (gate, script) in [
        (GATE, "echo '# more' >> gate.toml"),
        (GATE, "git rm -q --cached gate.toml; rm gate.toml; git commit -qm gone"),
        (&protected, "mkdir tests; echo > tests/new"),
        (&protected, "mkdir tests; echo > tests/new; git add -A; git commit -qm work"),
    ] {
        let home = Home::new(gate);
        let ran = home.script(&[], &format!("echo '[1, 2]' > a.json; {script}"));
        assert_eq!((ran.told().0.as_str(), ran.exit), ("escalated needs-person", 3), "{script}: {}", ran.stderr);
        assert!(ran.stdout.contains("policy.touched"), "{script}: {}", ran.stdout);
    }
}

#[test]
fn an_executor_that_hangs_is_ended_with_all_that_it_started() {
    for (number, (what, script)) in [
        ("hangs", "sleep MARK"),
        ("ignores SIGTERM", "trap '' TERM; sleep MARK; sleep MARK"),
        (
            "forks",
            "sleep MARK & setsid sleep MARK & (setsid sh -c 'trap \"\" TERM HUP; sleep MARK; sleep MARK' &) ; wait",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mark = mark(10 + u32::try_from(number).expect("small"));
        let home = Home::new(GATE);
        let flags = ["--max-bounces", "0", "--executor-timeout", "500ms"];
        let ran = home.script(&flags, &format!("echo '[1, 2]' > a.json; {}", script.replace("MARK", &mark)));
        let attempts = vec!["timeout timeout stop".to_owned()];
        assert_eq!(ran.told(), ("verification_failed max_bounces".to_owned(), 1, attempts), "{what}: {}", ran.stderr);
        assert_gone(&mark);
    }
}

#[test]
fn what_an_executor_leaves_behind_is_ended_before_its_work_is_judged() {
    let mark = mark(20);
    let home = Home::new(GATE);
    let left = format!(
        "echo '[1, 2]' > a.json; sleep {mark} & setsid sh -c 'sleep {mark}; echo [1, > a.json' >/dev/null 2>&1 & sleep 0.2"
    );
    let ran = home.script(&[], &left);
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    assert_gone(&mark);
}

/// An executor can kill the supervisor process above it. Its orphans are killed all the same, and its work does not count.
#[test]
fn an_executor_that_kills_its_supervisor_leaves_nothing_behind() {
    let started = "setsid sleep MARK & (trap '' TERM HUP; sleep MARK) & sleep 0.1;";
    for (number, script) in [
        format!("{started} kill -9 $PPID; sleep MARK"),
        format!("{started} (sleep 0.1; kill -9 $PPID; exec sleep MARK) & sleep MARK"),
        format!("trap 'setsid sleep MARK & kill -9 $PPID; sleep MARK' TERM; {started} wait"),
    ]
    .into_iter()
    .enumerate()
    {
        let mark = mark(40 + u32::try_from(number).expect("small"));
        let home = Home::new(GATE);
        let script = format!("echo '[1, 2]' > a.json; {}", script.replace("MARK", &mark));
        let ran = home.script(&["--executor-timeout", "1s"], &script);
        assert_eq!((ran.told().0.as_str(), ran.exit), ("escalated unjudgeable", 3), "{script}: {}", ran.stderr);
        assert_eq!(processes_with(&format!("sleep {mark}")), 0, "{script}");
        assert!(!home.ledger().iter().any(|entry| entry.starts_with("run")), "{:?}", home.ledger());
    }
}

#[test]
fn a_flood_is_bounded() {
    let home = Home::new(GATE);
    let ran =
        home.script(&["-q"], "echo '[1, 2]' > a.json; head -c 50000000 /dev/zero | tr '\\0' 'x'; echo TASK_COMPLETE");
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    assert_eq!(ran.record()["attempts"][0]["executor"]["stdout"]["length"], 50_000_014);
    assert!(ran.stdout.len() < 100_000 && ran.stderr.is_empty());
}

/// However the loop ends, the executor ends with it, and nothing has passed.
#[test]
fn a_loop_that_is_ended_ends_its_executor() {
    signals::heed_interrupts();
    for (number, (signal, code)) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)].into_iter().enumerate() {
        let mark = mark(30 + u32::try_from(number).expect("small"));
        let home = Home::new(GATE);
        let script = format!("echo '[1, 2]' > a.json; setsid sleep {mark} & sleep {mark}");
        let mut gate = home.command(&["--events", "../events"], &["sh", "-c", &script]);
        let child = gate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let start = Instant::now();
        while processes_with(&format!("^sleep {mark}")) < 2 {
            assert!(start.elapsed() < Duration::from_secs(60), "it never ran");
            thread::sleep(Duration::from_millis(20));
        }
        signals::send(child.id(), signal);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), code, "{signal}: {output:?}");
        assert!(output.stdout.is_empty(), "{signal}: {output:?}");
        assert_gone(&mark);
        let ledger = home.ledger();
        assert!(!ledger.iter().any(|entry| entry.starts_with("run")), "{signal}: {ledger:?}");
        let events = std::fs::read_to_string(home.path().join("events")).expect("events");
        if code.is_some() {
            assert_eq!(ledger.last().map(String::as_str), Some("cut-off loop interrupted"), "{signal}");
            assert!(
                events.ends_with('\n') && events.lines().last().expect("one").contains("\"state\":\"interrupted\""),
                "{events}"
            );
        }
    }
}
