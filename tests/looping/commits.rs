//! What becomes of work that passed: it is committed, or compared with other runs.

use super::{GATE, Home};
use std::fs;

const PLAN: &str = "- [ ] 1 Add a list\n  - **Files**: b.json\n  - **Done when**: b.json is a list\n  - **Verify**: `grep -q 1 b.json`\n  - **Commit**: `feat(data): add a list`\n";

#[test]
fn an_unmarked_pass_is_committed_as_it_was_judged() {
    let home = Home::new(GATE);
    home.write("tasks.md", PLAN);
    home.sh("echo ignored > .gitignore; git add -A; git commit -qm plan");
    let ran = home
        .script(&["--plan", "tasks.md", "--task", "1", "--commit"], "echo '[1]' > b.json; rm a.json; echo x > ignored");
    assert_eq!(ran.told().0, "completed", "{}", ran.stderr);
    assert_eq!(ran.record()["commit"], home.sh("git rev-parse HEAD").trim());
    assert_eq!(home.sh("git log -1 --format=%s").trim(), "feat(data): add a list");
    assert!(
        home.sh("git log -1 --format=%B")
            .contains(&format!("Gate-Run: {}", ran.record()["record"]["run"].as_str().expect("a line")))
    );
    assert_eq!(home.sh("git show --no-renames --name-status --format= HEAD"), "D\ta.json\nA\tb.json\n");
    assert_eq!(home.sh("git status --porcelain"), "");
    // Work that its executor has committed already stays one commit.
    let ran = home.script(&["--commit"], "echo '[2]' > b.json; git add -A; git commit -qm own");
    assert_eq!(
        (ran.exit, ran.record()["commit"].as_str()),
        (0, Some(home.sh("git rev-parse HEAD").trim())),
        "{}",
        ran.stderr
    );
    assert_eq!(home.sh("git log -1 --format=%s").trim(), "own");
}

#[test]
fn what_did_not_pass_or_is_marked_is_not_committed() {
    let home = Home::new(GATE);
    let head = home.sh("git rev-parse HEAD");
    let ran = home.script(&["--commit", "--max-bounces", "0"], "echo '[' > b.json");
    assert_eq!((ran.exit, &ran.record()["commit"]), (1, &serde_json::Value::Null), "{}", ran.stderr);
    home.sh("rm b.json");
    fs::write(home.path().join("tape"), "{\"command\": \"verify\", \"exit_code\": 0}\n").expect("written");
    let ran = home.script(&["--commit", "--verify", "true", "--replay-commands", "../tape"], "echo '[1]' > b.json");
    assert_eq!(
        (ran.told().0.as_str(), &ran.record()["commit"]),
        ("completed", &serde_json::Value::Null),
        "{}",
        ran.stderr
    );
    assert_eq!(home.sh("git rev-parse HEAD"), head);
    // A commit hook that changes the work: the commit would hold what nobody judged, and is taken back.
    let home = Home::new(GATE);
    let head = home.sh("git rev-parse HEAD");
    home.sh("printf '#!/bin/sh\\necho [ > b.json; git add b.json\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit");
    let ran = home.script(&["--commit"], "echo '[1]' > b.json");
    assert_eq!(ran.exit, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("other bytes than those that were checked"), "{}", ran.stderr);
    assert_eq!(home.sh("git rev-parse HEAD"), head);
}

/// Independent runs in copies of the work: what most of them agree on is taken over, anything else needs a person.
#[test]
fn runs_are_compared() {
    // A number of its own for each run, counted outside of the copies.
    let count = "n=$(cat \"$COUNT\" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > \"$COUNT\";";
    for (runs, script, state, exit, left) in [
        ("3", "echo '[1, 2]' > a.json", "completed", 0, "[1, 2]\n"),
        ("3", "[ $n = 2 ] && echo '[7]' > a.json || echo '[8]' > a.json", "completed", 0, "[8]\n"),
        ("3", "echo \"[$n]\" > a.json", "escalated divergence", 3, "[1]\n"),
        ("2", "[ $n = 1 ] && echo '[9]' > a.json || echo '[' > a.json", "escalated divergence", 3, "[1]\n"),
        ("2", "echo \"[$n\" > a.json", "verification_failed runs", 1, "[1]\n"),
    ] {
        let home = Home::new(GATE);
        home.sh("echo untracked > u.txt");
        let script = format!("{count} cat u.txt > seen.txt; {script}");
        let mut gate =
            home.command(&["--format", "json", "--runs", runs, "--max-bounces", "0"], &["sh", "-c", &script]);
        let output = gate.env("COUNT", home.path().join("count")).output().expect("gate runs");
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        });
        let told = [&record["state"], &record["budget"]].map(|value| value.as_str().unwrap_or_default()).join(" ");
        assert_eq!(
            (told.trim(), output.status.code()),
            (state, Some(exit)),
            "{script}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(record["runs"].as_array().expect("runs").len().to_string(), runs);
        assert_eq!(home.read("a.json"), left, "{script}");
        assert_eq!(home.work().join("seen.txt").exists(), exit == 0, "{script}");
        assert_eq!(home.sh("git worktree list").lines().count(), 1, "the copies are gone");
    }
}

/// A person is told of a divergence by the notify command, and is asked once, also when the loop is killed before its end.
#[test]
fn a_person_is_told_when_runs_diverge() {
    let home = Home::new(GATE);
    let told = home.path().join("told");
    fs::create_dir(&told).expect("a folder");
    let gate = format!(
        "{GATE}[escalation]\nnotify = \"tell\"\n[command.tell]\n\
         run = [\"sh\", \"-c\", \"cat >> {0}/message; echo >> {0}/message\"]\nwrite = [\"{0}\"]\n",
        told.display()
    );
    home.write("gate.toml", &gate);
    home.sh("git add -A; git commit -qm gate");
    let script = "echo \"[$(date +%N)]\" > a.json; echo run >> \"$COUNT\"";
    let mut gate = home.command(&["--runs", "2", "--events", "-"], &["sh", "-c", script]);
    gate.env("COUNT", home.path().join("count"));
    let output = gate.output().expect("gate runs");
    let events = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let message = fs::read_to_string(told.join("message")).expect("a message");
    let message: serde_json::Value = serde_json::from_str(&message).expect("one message");
    assert_eq!(message["trigger"], "divergence");
    let ledger = home.ledger();
    assert_eq!(
        ledger.iter().filter(|entry| *entry == "escalation" || *entry == "note notify").count(),
        2,
        "{ledger:?}"
    );
    let escalations = events.lines().filter(|line| line.contains("\"escalation\"") && line.contains("divergence"));
    assert_eq!(escalations.count(), 1, "{events}");
}

/// A symlink that leads out of the work is in no copy, so the result of a run would delete it.
#[test]
fn runs_delete_no_symlink_that_leads_out() {
    for target in ["../elsewhere", "/etc/hosts", ".git/config"] {
        let home = Home::new(GATE);
        std::os::unix::fs::symlink(target, home.work().join("link")).expect("a link");
        let ran = home.run(&["--runs", "2"], &["sh", "-c", "echo '[2]' > a.json"]);
        assert_eq!(ran.exit, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("error: the symlink `link` leads out of the work"), "{}", ran.stderr);
        assert_eq!(fs::read_link(home.work().join("link")).expect("a link").to_str(), Some(target));
        assert_eq!(home.read("a.json"), "[1]\n");
    }
}

/// Independent runs that were killed are compared again from the start, since none of them touched the work.
#[test]
fn killed_runs_are_compared_again() {
    let home = Home::new(GATE);
    let count = home.path().join("count");
    let kill = "kill -9 $(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat)";
    let script = format!(
        "echo run >> {0}; echo '[1, 2]' > a.json; if [ $(wc -l < {0}) = 2 ]; then {kill}; sleep 100; fi",
        count.display()
    );
    let output = home.command(&["--runs", "3"], &["sh", "-c", &script]).output().expect("gate runs");
    assert_eq!(output.status.code(), None, "{output:?}");
    assert_eq!(home.read("a.json"), "[1]\n");
    let ran = home.gate(&["resume"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("\n  3 runs gave 1 result"), "{}", ran.stdout);
    assert_eq!(home.read("a.json"), "[1, 2]\n");
    assert_eq!(fs::read_to_string(count).expect("runs").lines().count(), 5);
}
