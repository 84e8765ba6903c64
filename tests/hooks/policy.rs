//! An agent chooses neither what is judged nor by which gate: both are taken when its session begins.

use super::{Work, blocks};
use std::fs;

const STRICT: &str = "[gate.default]\nall = [\"json\"]\n[check.json]\nverifier = \"json-syntax\"\n";
/// Looks at nothing that the work consists of.
const WEAK: &str = "[gate.default]\nall = [\"yaml\"]\n[check.yaml]\nverifier = \"yaml-syntax\"\n";

impl Work {
    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder().join(path), text).expect("written");
    }

    fn start(&self) {
        let start = self.claude().replace("\"Stop\"", "\"SessionStart\"");
        assert_eq!(self.answer(&["--host", "claude"], start.as_bytes()), (Some(0), String::new(), String::new()));
    }

    fn stop(&self) -> String {
        self.answer(&["--host", "claude"], self.claude().as_bytes()).1
    }
}

#[test]
fn a_gate_that_the_agent_weakens_is_not_the_one_that_counts() {
    let work = Work::new(Some(STRICT));
    work.git(&["init", "-q", "."]);
    work.git(&["add", "."]);
    work.git(&["commit", "-q", "-m", "base"]);
    work.start();
    work.write("gate.toml", WEAK);
    let work = work.bad();
    let stdout = work.stop();
    assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{stdout}");
    // Good work does not make up for it: a person must look at the gate.
    work.write("a.json", "{}");
    let stdout = work.stop();
    assert!(!stdout.is_empty() && stdout.contains("policy"), "{stdout}");
    // Committing it is no way around.
    work.git(&["add", "."]);
    work.git(&["commit", "-q", "-m", "weak"]);
    assert!(!work.stop().is_empty());
    work.git(&["checkout", "-q", "HEAD~1", "--", "gate.toml"]);
    work.git(&["commit", "-q", "-m", "restored"]);
    assert_eq!(work.stop(), "");
}

#[test]
fn a_session_that_is_not_announced_begins_with_the_first_request() {
    let work = Work::new(Some(STRICT));
    work.git(&["init", "-q", "."]);
    work.git(&["add", "."]);
    work.git(&["commit", "-q", "-m", "base"]);
    let prompt = work.claude().replace("\"Stop\"", "\"UserPromptSubmit\"");
    assert_eq!(work.answer(&["--host", "claude"], prompt.as_bytes()), (Some(0), String::new(), String::new()));
    work.write("gate.toml", WEAK);
    let work = work.bad();
    work.git(&["add", "."]);
    work.git(&["commit", "-q", "-m", "hidden"]);
    let stdout = work.stop();
    assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{stdout}");
}

#[test]
fn a_gate_that_is_not_committed_may_not_change_either() {
    for (before, after) in [(Some(STRICT), Some(WEAK)), (None, Some(WEAK)), (Some(STRICT), None)] {
        let work = Work::new(before);
        work.start();
        let work = work.bad();
        match after {
            Some(text) => work.write("gate.toml", text),
            None => fs::remove_file(work.folder().join("gate.toml")).expect("removed"),
        }
        let stdout = work.stop();
        assert!(blocks(&stdout) && stdout.contains("was changed in this session"), "{before:?}: {stdout}");
        assert!(work.stop().contains("verification_failed"));
    }
}

#[test]
fn work_in_a_repository_without_a_commit_is_judged_after_it_is_committed() {
    for has_repository in [true, false] {
        let work = Work::new(None);
        if has_repository {
            work.git(&["init", "-q", "."]);
        }
        work.start();
        let work = work.bad();
        work.git(&["init", "-q", "."]);
        work.git(&["add", "."]);
        work.git(&["commit", "-q", "-m", "hidden"]);
        let stdout = work.stop();
        assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{has_repository}: {stdout}");
    }
}

#[test]
fn a_helper_is_judged_from_where_the_session_began() {
    let work = Work::new(None);
    work.git(&["init", "-q", "."]);
    work.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    work.start();
    let work = work.bad();
    work.git(&["add", "."]);
    work.git(&["commit", "-q", "-m", "hidden"]);
    let helper = work.claude().replace("\"Stop\"", "\"SubagentStop\",\"agent_id\":\"h\"");
    let (_, stdout, _) = work.answer(&["--host", "claude"], helper.as_bytes());
    assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{stdout}");
}

#[test]
fn what_an_agent_makes_of_the_history_does_not_change_what_is_judged() {
    for commands in [
        &[&["checkout", "-q", "--orphan", "x"][..], &["commit", "-q", "-m", "x"]][..],
        &[&["commit", "-q", "--amend", "-m", "x"]],
    ] {
        let work = Work::new(None);
        work.write("good.json", "{}");
        work.git(&["init", "-q", "."]);
        work.git(&["add", "."]);
        work.git(&["commit", "-q", "-m", "base"]);
        work.start();
        let work = work.bad();
        work.git(&["add", "."]);
        for command in commands {
            work.git(command);
        }
        let stdout = work.stop();
        assert!(blocks(&stdout) && stdout.contains("trailing-comma"), "{commands:?}: {stdout}");
    }
}
