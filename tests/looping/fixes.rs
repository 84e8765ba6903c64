//! Repairs that verifiers offer: by hand, and before work is sent back.

use super::Home;
use std::fs;

const GATE: &str = "[gate.main]\nall = [\"tidy\", \"json\"]\n[check.tidy]\nverifier = \"hygiene\"\n[check.json]\nverifier = \"json-syntax\"\n";

#[test]
fn repairs_are_shown_and_written_on_demand() {
    let home = Home::new(GATE);
    home.write("a.txt", "one  \ntwo");
    let shown = home.gate(&["fix"]);
    assert_eq!(shown.exit, 1, "{}{}", shown.stdout, shown.stderr);
    assert!(
        shown.stdout.contains("-one  \n")
            && shown.stdout.contains("+one\n+two\n")
            && shown.stdout.contains("fix: 1 file; gate fail -> pass\n"),
        "{}",
        shown.stdout
    );
    assert!(shown.stderr.contains("`--yes` writes without asking"), "{}", shown.stderr);
    assert_eq!(home.read("a.txt"), "one  \ntwo", "nothing is written unasked");
    let written = home.gate(&["fix", "--yes"]);
    assert_eq!(written.exit, 0, "{}{}", written.stdout, written.stderr);
    assert_eq!(home.read("a.txt"), "one\ntwo\n");
    assert_eq!(home.sh("git worktree list").lines().count(), 1, "the copy is gone");
    let nothing = home.gate(&["fix", "--yes"]);
    assert_eq!(
        (nothing.exit, nothing.stdout.as_str()),
        (0, "fix: nothing to write: no finding has a fix; gate pass\n")
    );
}

/// The folder is not in the copy in which fixes are tried.
#[test]
fn fixes_are_written_from_an_ignored_folder() {
    let home = Home::new(GATE);
    home.sh("echo ignored > .gitignore; mkdir -p ignored/deep; git add .gitignore; git commit -qm ignore");
    home.write("a.txt", "one  \n");
    let written = home.gate(&["-C", "ignored/deep", "fix", "--yes"]);
    assert_eq!(written.exit, 0, "{}{}", written.stdout, written.stderr);
    assert_eq!(home.read("a.txt"), "one\n");
}

#[test]
fn a_check_without_a_result_is_named_where_there_is_nothing_to_write() {
    let gate = "[gate.main]\nall = [\"gone\"]\n[check.gone]\nverifier = \"command\"\ngrants = [\"command:gone\"]\n\
                [command.gone]\nrun = [\"no-such-program\"]\n";
    let home = Home::new(gate);
    home.write("a.txt", "one\n");
    let shown = home.gate(&["fix"]);
    assert_eq!(shown.stdout, "fix: nothing to write: no finding has a fix; gate error\n");
    assert!(shown.stderr.contains("gone: command.not-started: "), "{}", shown.stderr);
}

/// A linked worktree that is missing may be on a disk that is not mounted. Copies of killed runs are never mounted again.
#[test]
fn trying_fixes_forgets_no_worktree_but_copies() {
    let home = Home::new(GATE);
    home.write("a.txt", "one  \n");
    home.sh("git worktree add -q ../disk; mkdir ../gate-copy-x; git worktree add -q --detach ../gate-copy-x/work; \
         mv ../disk ../unmounted; rm -r ../gate-copy-x");
    let shown = home.gate(&["fix"]);
    assert!(shown.stderr.contains("nothing was written"), "{}", shown.stderr);
    home.sh("mv ../unmounted ../disk; git -C ../disk status");
    assert_eq!(home.sh("git worktree list").lines().count(), 2);
}

/// What cannot be repaired stays, and is no reason to leave the rest.
#[test]
fn what_cannot_be_repaired_stays() {
    let home = Home::new(GATE);
    home.write("a.txt", "one  \n");
    home.write("b.json", "[");
    let written = home.gate(&["fix", "--yes"]);
    assert_eq!(written.exit, 1, "{}{}", written.stdout, written.stderr);
    assert_eq!((home.read("a.txt").as_str(), home.read("b.json").as_str()), ("one\n", "["));
}

/// A blank at the end of a line never costs a bounce.
#[test]
fn a_loop_repairs_before_it_sends_back() {
    for (settings, flags, fixed) in [("[loop]\nfix = true\n", &[][..], true), ("", &["--fix"], true), ("", &[], false)]
    {
        let home = Home::new(&format!("{GATE}{settings}"));
        let script = "echo \"$GATE_ATTEMPT\" >> ../attempts; printf 'one  \\n' > a.txt";
        let ran = home.script(flags, script);
        let attempts = fs::read_to_string(home.path().join("attempts")).expect("attempts");
        if fixed {
            assert_eq!(ran.told(), ("completed".to_owned(), 0, vec!["success pass done".to_owned()]), "{}", ran.stderr);
            assert_eq!(ran.record()["attempts"][0]["fixed"], serde_json::json!(["a.txt"]));
            assert_eq!((home.read("a.txt").as_str(), attempts.as_str()), ("one\n", "1\n"));
            assert!(ran.stderr.contains("[loop] fixed a.txt\n"), "{}", ran.stderr);
        } else {
            assert_eq!(ran.told().0, "verification_failed stop_when_unchanged", "{}", ran.stderr);
        }
    }
}

/// The exact repair is in the feedback, too.
#[test]
fn a_repair_is_told() {
    let home = Home::new(GATE);
    let script = "echo \"$GATE_FEEDBACK\" > ../said; printf 'one  \\n' > a.txt";
    home.script(&[], script);
    let said = fs::read_to_string(home.path().join("said")).expect("said");
    assert!(said.contains("    fix: «") && said.chars().count() <= 2_000, "{said}");
}

/// The first write to the folder fails, and the loop goes on.
#[test]
fn a_loop_says_why_no_fix_was_written() {
    let home = Home::new(GATE);
    home.sh("mkdir sub");
    let executor = ["env", "-u", "LD_PRELOAD", "sh", "-c", "echo 'one  ' > sub/a.txt"];
    let mut gate = home.command(&["--fix", "--max-bounces", "0"], &executor);
    gate.env("LD_PRELOAD", crate::ledger::shim()).env("SHIM_FOLDER", home.work().join("sub"));
    let output = gate.env("SHIM_AT", "1").env("SHIM_HOW", "space").output().expect("gate runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let why = "[loop] no fix was written: cannot write `sub/a.txt`: No space left on device (os error 28)\n";
    assert!(stderr.contains(why), "{stderr}");
    assert_eq!(home.read("sub/a.txt"), "one  \n");
}
