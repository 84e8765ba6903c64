//! Ways to hide a change from what earlier runs have stored about files and folders.

use super::Home;
use std::thread;
use std::time::Duration;

/// Each changes a folder of its own, so that all others are as an earlier run has stored them: what it does, and what undoes it.
const TRICKS: &[(&str, &str, &str)] = &[
    ("no trick", "echo '[1,' > d1/a.json", "git checkout -q d1"),
    ("the same size", "printf '[1,\\n' > d2/a.json", "git checkout -q d2"),
    (
        "an old time of the file",
        "touch -r d3/a.json ../t; printf '[1,\\n' > d3/a.json; touch -r ../t d3/a.json",
        "git checkout -q d3",
    ),
    ("another file under the name", "echo '[1,' > ../x; mv ../x d4/sub/b.json", "git checkout -q d4"),
    ("a hard link", "echo '[1,' > ../y; ln -f ../y d5/a.json", "git checkout -q d5"),
    ("a new file", "echo '[1,' > d6/new.json", "rm d6/new.json"),
    ("an old time of the folder", "echo '[1,' > d7/new.json; touch -d 2001-01-01 d7", "rm d7/new.json"),
    ("a new folder", "mkdir d8/new; echo '[1,' > d8/new/c.json", "rm -r d8/new"),
    (
        "another folder under the name",
        "mv d9/sub ../s; mkdir d9/sub; echo '[1,' > d9/sub/b.json",
        "rm -r d9/sub; mv ../s d9/sub",
    ),
    (
        "a symlink to the folder",
        "mv d10 elsewhere; ln -s elsewhere d10; echo '[1,' > elsewhere/sub/new.json",
        "rm d10 elsewhere/sub/new.json; mv elsewhere d10",
    ),
];

#[test]
#[ignore = "waits until the times of files are settled: a minute"]
fn what_earlier_runs_have_stored_hides_nothing() {
    // Not in memory, where nothing is stored.
    let home = Home::at(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder"));
    home.sh("for i in $(seq 40); do mkdir -p d$i/sub; echo '[1]' > d$i/a.json; echo '[2]' > d$i/sub/b.json; done
        printf '[gate.main]\nall = [\"a\"]\n[check.a]\nverifier = \"json-syntax\"\n' > gate.toml
        git add -A; git commit -qm folders");
    thread::sleep(Duration::from_secs(62));
    let selections: [&[&str]; 2] = [&["run"], &["run", "--all-files"]];
    let exits = || selections.map(|selection| home.gate(&home.work(), selection, &[]).0);
    assert_eq!(exits(), [0, 0]);
    for (name, trick, undo) in TRICKS {
        home.sh(trick);
        assert_eq!(exits(), [1, 1], "{name}");
        home.sh(undo);
        assert_eq!(exits(), [0, 0], "{name}, undone");
    }
}
