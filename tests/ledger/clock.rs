//! A clock that is wrong: nothing that has expired becomes valid again, and nothing is forgotten.

use super::Stage;
use super::commands::{at_terminal, at_terminal_with_clock, in_git, now, record, said, submit};
use gatehost::ledger::body::{StepStart, Uptime};
use gatehost::ledger::history::TaskHistory;
use gatehost::ledger::{EntryKind, Filter, Labels, Ledger, NewEntry, clock};
use serde_json::json;
use std::process::Command;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

fn attempts(stage: &Stage) -> u32 {
    TaskHistory::read(&stage.ledger(), &stage.project(), "t1").expect("a history").attempts()
}

#[test]
fn a_clock_ahead_drops_no_attempts() {
    let stage = Stage::new();
    for _ in 0..2 {
        submit(&stage, json!({ "id": "t1" }), false);
    }
    for _ in 0..3 {
        let output = stage.run_with_clock(&["log", "--prune", "30d"], 40 * DAY);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains("nothing to drop"), "{}", said(&output));
        assert!(said(&output).contains("if the clock is right, drop them at a terminal"), "{}", said(&output));
        let output = stage.run_with_clock(&["log", "--prune", "1d"], 2 * DAY);
        assert!(said(&output).contains("nothing to drop"), "{}", said(&output));
        assert_eq!(attempts(&stage), 2);
        // Entries of that time do not make the others old.
        stage.run_with_clock(&["run"], 40 * DAY);
    }
    assert_eq!(record(&submit(&stage, json!({ "id": "t1" }), false))["attempt"], 3);
    // Nor does a person at a terminal drop them by mistake.
    let output = at_terminal_with_clock(&stage, "log --prune 30d", "", 40 * DAY);
    assert!(said(&output).contains("nothing to drop"), "{}", said(&output));
    assert_eq!(attempts(&stage), 3);
}

#[test]
fn a_clock_that_jumps_a_few_times_drops_no_attempts() {
    let stage = Stage::new();
    for _ in 0..2 {
        submit(&stage, json!({ "id": "t1" }), false);
    }
    for days in [1, 2, 4, 10, 40, 80] {
        stage.run_with_clock(&["run"], days * DAY);
        for age in ["1d", "2d", "7d", "30d"] {
            let output = stage.run_with_clock(&["log", "--prune", age], days * DAY + HOUR);
            assert!(said(&output).contains("nothing to drop"), "{age} after {days} days: {}", said(&output));
        }
    }
    assert_eq!(attempts(&stage), 2);
}

#[test]
fn an_agent_drops_no_attempts_by_many_runs_with_any_clock() {
    let stage = Stage::new();
    for _ in 0..2 {
        submit(&stage, json!({ "id": "t1" }), false);
    }
    for run in 1..=32 {
        stage.run_with_clock(&["run"], run * 3_000);
    }
    assert!(said(&stage.run_with_clock(&["log", "--prune", "1d"], 2 * DAY)).contains("nothing to drop"));
    // Nor after a clock that was slow when they were made.
    let slow = Stage::new();
    slow.run_with_clock(&["run"], -i64::try_from(now()).expect("a time"));
    assert_eq!(at_terminal(&slow, "log --confirm-clock", "right").status.code(), Some(0));
    assert!(said(&slow.run(&["log", "--prune", "1d"])).contains("nothing to drop"));
    assert_eq!(attempts(&stage), 2);
}

#[test]
fn a_time_namespace_makes_no_entry_old() {
    let namespace = ["-rT", "--boottime", "9999999"];
    if !Command::new("unshare").args(namespace).arg("true").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let stage = Stage::new();
    submit(&stage, json!({ "id": "t1" }), false);
    for args in [&["run"][..], &["log", "--prune", "1d"]] {
        let gate = stage.gate(args);
        let mut later = Command::new("unshare");
        later.args(namespace).arg(gate.get_program()).args(gate.get_args());
        later.envs(gate.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = later.current_dir(stage.work()).output().expect("it runs");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    }
    assert!(said(&stage.run(&["log", "--prune", "1d"])).contains("nothing to drop"));
    assert_eq!(attempts(&stage), 1);
}

#[test]
fn without_a_person_entries_are_dropped_when_the_machine_has_run_for_long_enough_since() {
    let stage = Stage::new();
    let started = |seconds: i64| {
        let uptime = Some(Uptime { boot: "another".to_owned(), seconds: seconds.unsigned_abs() });
        let started = StepStart { uptime, ..StepStart::now("gate") };
        let entry = NewEntry::new(EntryKind::StepStarted, Labels::default(), &started).expect("JSON");
        stage.ledger().append_one(&stage.project(), entry).expect("appended");
    };
    for day in 0..=5 {
        started(day * DAY);
    }
    let output = stage.run_with_clock(&["log", "--prune", "2d"], -DAY);
    assert!(said(&output).contains("dropped entries 1 to 4;"), "{}", said(&output));
    assert_eq!(stage.run(&["log", "--verify"]).status.code(), Some(0));
}

#[test]
fn a_person_drops_entries_when_the_chain_has_seen_their_age_or_the_clock_is_confirmed() {
    let daily = Stage::new();
    for day in 0..40 {
        let output = daily.run_with_clock(&["run"], (day - 40) * DAY);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    let output = at_terminal(&daily, "log --prune 30d", "");
    assert!(said(&output).contains("dropped entries 1 to "), "{}", said(&output));
    assert_eq!(daily.run(&["log", "--verify"]).status.code(), Some(0));

    let idle = Stage::new();
    idle.run_with_clock(&["run"], -60 * DAY);
    idle.run(&["run"]);
    let output = at_terminal(&idle, "log --prune 30d", "");
    assert!(said(&output).contains("nothing to drop"), "{}", said(&output));
    assert!(said(&output).contains("run `gate log --confirm-clock`, and drop them again"), "{}", said(&output));
    let refused = idle.run(&["log", "--confirm-clock"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("by a person at a terminal"), "{}", said(&refused));
    assert_eq!(at_terminal(&idle, "log --confirm-clock", "no").status.code(), Some(2));
    assert!(said(&idle.run(&["log", "--prune", "30d"])).contains("nothing to drop"));
    let confirmed = at_terminal(&idle, "log --confirm-clock", "right");
    assert!(said(&confirmed).contains("the clock is right"), "{}", said(&confirmed));
    let output = at_terminal(&idle, "log --prune 30d", "");
    assert!(said(&output).contains("dropped entries 1 to 2;"), "{}", said(&output));
    assert_eq!(idle.run(&["log", "--verify"]).status.code(), Some(0));
}

/// A repository whose work did not pass, and whose policy accepts overrides.
fn not_passed() -> Stage {
    let stage = Stage::new();
    let gate =
        "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n[overrides]\naccept = true\n";
    std::fs::write(stage.work().join("gate.toml"), gate).expect("written");
    in_git(&stage);
    submit(&stage, json!({ "id": "t1" }), false);
    stage
}

/// Let the work through for a time, at a clock that is off by so many seconds.
fn skip(stage: &Stage, lasts: &str, off: i64) {
    let arguments = format!("skip --task t1 --condition user-risk --reason 'the service is down today' {lasts}");
    let output = at_terminal_with_clock(stage, &arguments, "skip", off);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

/// Whether the work is verified, at each of these clocks, one after the other.
fn verified(stage: &Stage, clocks: &[(i64, bool)]) {
    for (off, verified) in clocks {
        let output = stage.run_with_clock(&["verify"], *off);
        let expected = if *verified { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(expected), "off by {off} s: {}", said(&output));
        assert!(*verified || said(&output).contains(" has expired"), "{}", said(&output));
    }
    assert_eq!(stage.ledger().verify(None).expect("looked at"), []);
}

#[test]
fn an_override_that_was_refused_stays_expired_when_the_clock_is_set_back() {
    let stage = not_passed();
    skip(&stage, "--for 1h", 0);
    verified(&stage, &[(0, true), (-DAY, true), (2 * HOUR, false), (0, false), (-DAY, false), (HOUR / 2, false)]);
    let noted = Filter { status: Some(clock::EXPIRED.to_owned()), ..Filter::default() };
    assert_eq!(stage.ledger().entries(&noted).expect("entries").len(), 1, "it is noted once");
    // A later override has its own time.
    skip(&stage, "--for 2h", 0);
    verified(&stage, &[(0, true), (3 * HOUR, false), (0, false)]);
}

#[test]
fn an_override_does_not_last_longer_because_the_clock_was_set_back_when_something_is_recorded_since() {
    let stage = not_passed();
    skip(&stage, "--for 1h", 0);
    stage.run_with_clock(&["run", "--files", "gate.toml"], 2 * HOUR);
    stage.run_with_clock(&["run", "--files", "gate.toml"], -DAY);
    verified(&stage, &[(0, false), (-DAY, false)]);
}

#[test]
fn an_override_lasts_when_the_clock_was_set_back_for_a_moment() {
    let stage = not_passed();
    skip(&stage, "--for 1h", 0);
    verified(&stage, &[(0, true), (-DAY, true), (0, true)]);
    assert!(said(&stage.run(&["status"])).contains("Status: complete (unverified)"));
    assert!(said(&stage.run_with_clock(&["status"], 2 * HOUR)).contains("Status: FAILED"));
    // What was shown as expired stays so.
    verified(&stage, &[(0, false)]);
    assert!(said(&stage.run(&["status"])).contains("Status: FAILED"));
}

#[test]
fn an_override_from_a_clock_ahead_lasts_no_longer() {
    let stage = not_passed();
    skip(&stage, "--for 1h", 40 * DAY);
    verified(&stage, &[(0, true), (HOUR / 2, true), (2 * HOUR, false), (0, false)]);
}

#[test]
fn an_entry_from_a_clock_ahead_does_not_end_later_overrides() {
    let stage = not_passed();
    stage.run_with_clock(&["run", "--files", "gate.toml"], 40 * DAY);
    skip(&stage, "--for 1h", 0);
    verified(&stage, &[(0, true)]);
    // A moment is compared with what the ledger has seen, because a signed request could be sent again.
    let until = now() + 3_600;
    let arguments =
        format!("skip --task t1 --condition user-risk --reason 'the service is down again' --until {until}");
    let refused = at_terminal(&stage, &arguments, "skip");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("the override expired: the clock or a ledger entry shows "), "{}", said(&refused));
    assert!(said(&refused).contains("`gate log --confirm-clock`"), "{}", said(&refused));
    assert_eq!(at_terminal(&stage, "log --confirm-clock", "right").status.code(), Some(0));
    let granted = at_terminal(&stage, &arguments, "skip");
    assert_eq!(granted.status.code(), Some(0), "{}", said(&granted));
    verified(&stage, &[(0, true), (2 * HOUR, false), (0, false)]);
}

#[test]
fn an_override_until_a_moment_lasts_no_longer_because_it_was_granted_while_the_clock_was_set_back() {
    let stage = not_passed();
    let until = now() + 3_600;
    skip(&stage, &format!("--until {until}"), -20 * HOUR);
    verified(&stage, &[(-20 * HOUR, true), (-19 * HOUR + 60, false), (-20 * HOUR, false), (0, false)]);
}

#[test]
fn a_year_of_five_digits_is_ahead_too() {
    let stage = not_passed();
    skip(&stage, "--for 1h", 0);
    stage.run_with_clock(&["run", "--files", "gate.toml"], 8_000 * 365 * DAY);
    verified(&stage, &[(0, false), (i64::MAX / 2_000, false)]);
}
