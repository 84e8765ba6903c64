//! `--since`: commits, the index, the working tree and untracked files together.

use super::Home;
use std::fs;

const SCOPE: &str = "[gate.main]\nall = [\"json\", \"scope\"]\n[check.json]\nverifier = \"json-syntax\"\n[check.scope]\nverifier = \"files-in-scope\"\nsettings = { files = [\"a.json\"] }\n";

/// A repository whose branch `work` changed one file in each way since `main`, and `main` another since then.
fn branch() -> Home {
    let home = Home::new();
    home.sh(&format!("printf '{}' > gate.toml", SCOPE.replace('\n', "\\n")));
    home.sh("for name in kept committed staged unstaged gone; do echo '[1]' > $name.json; done
        git add -A; git commit -qm second
        git checkout -qb work
        echo '[2]' > committed.json; git rm -q gone.json; git commit -qam third
        git checkout -q main
        echo '[3]' > kept.json; git commit -qam elsewhere
        git checkout -q work
        echo '[2]' > staged.json; git add staged.json
        echo '[2]' > unstaged.json
        echo '[2]' > untracked.json");
    home
}

#[test]
fn every_part_of_a_branch_is_one_subject() {
    let home = branch();
    for reference in ["main", "main~1", "HEAD~1"] {
        let (exit, text) = home.gate(&home.work(), &["run", "--since", reference], &[]);
        assert_eq!(exit, 1, "{reference}: {text}");
        for name in ["committed", "staged", "unstaged", "untracked", "gone"] {
            assert!(text.contains(&format!("`{name}.json` has changed")), "{reference}: {name}: {text}");
        }
        assert!(!text.contains("kept.json") && !text.contains("`gate.toml`"), "{reference}: {text}");
        assert!(text.contains("json   4 files"), "{reference}: {text}");
    }
    // Only what is newer than the last commit.
    let (exit, text) = home.gate(&home.work(), &["run", "--since", "HEAD"], &[]);
    assert!(exit == 1 && !text.contains("committed") && !text.contains("gone.json"), "{text}");
}

#[test]
fn the_bytes_of_the_working_tree_are_judged() {
    for (name, commands) in [
        ("committed", "git commit -qam bad"),
        ("staged", "git add -A"),
        ("unstaged", ":"),
        ("untracked", ":"),
        ("added", "git add added.json; git commit -qm bad"),
        ("ignored-and-added", "echo '*' >> .git/info/exclude; git add -f ignored-and-added.json"),
    ] {
        let home = branch();
        home.sh(&format!("echo '[1,' > {name}.json; {commands}"));
        let (exit, text) = home.gate(&home.work(), &["run", "--since", "main"], &[]);
        assert_eq!(exit, 1, "{name}: {text}");
        assert!(text.contains(&format!("    {name}.json:2:1")), "{name}: {text}");
    }
}

#[test]
fn hunks_are_those_since_the_commit() {
    let home = branch();
    fs::write(home.work().join("gate.toml"), "[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"patterns\"\nsettings = { rules = [{ id = \"two\", kind = \"forbid\", pattern = \"2\", in = \"added-lines\" }] }\n").expect("written");
    let (exit, text) = home.gate(&home.work(), &["run", "--since", "main", "-c", "gate.toml"], &[]);
    assert_eq!(exit, 1, "{text}");
    for name in ["committed", "staged", "unstaged", "untracked"] {
        assert!(text.contains(&format!("    {name}.json:1:")), "{name}: {text}");
    }
}

#[test]
fn what_cannot_be_compared_with_is_a_mistake() {
    let home = branch();
    for (arguments, message) in [
        (&["run", "--since", "none"][..], "`none` is not a commit"),
        (&["run", "--since", "main", "--staged"], "cannot be used with"),
        (&["run", "--since", "main", "--from-ref", "main"], "cannot be used with"),
        (&["run", "--since", "main", "--all-files"], "cannot be used with"),
        (&["run", "--since", "main", "--files", "a.json"], "cannot be used with"),
    ] {
        let (exit, text) = home.gate(&home.work(), arguments, &[]);
        assert_eq!(exit, 2, "{text}");
        assert!(text.contains(message), "{text}");
    }
    home.sh("git checkout -q --orphan other; git commit -qm other");
    let (exit, text) = home.gate(&home.work(), &["run", "--since", "main"], &[]);
    assert!(exit == 2 && text.contains("have no common ancestor"), "{text}");
    let folder = home.path().join("folder");
    fs::create_dir(&folder).expect("a folder");
    let (exit, text) = home.gate(&folder, &["run", "--since", "main"], &[]);
    assert!(exit == 2 && text.contains("`--since` needs one"), "{text}");
}
