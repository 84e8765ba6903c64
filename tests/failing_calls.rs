//! Files of people when a call of the operating system fails, whichever it is: each is the old one or the new one.

use crate::ledger::{Stage, shim};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// The content and the mode of every file in the work, except what git and the programs under test keep for themselves.
fn files(stage: &Stage) -> BTreeMap<String, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![stage.work().to_owned(), stage.work().join(".git/hooks")];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let about = path.symlink_metadata().expect("there");
            match about.is_dir() {
                true if path.ends_with(".git") => {}
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(stage.work()).expect("inside").display().to_string();
                    found.insert(name, (fs::read(&path).expect("a file"), about.permissions().mode()));
                }
            }
        }
    }
    found
}

/// A repository with files that each command would change.
fn stage() -> Stage {
    let stage = Stage::new();
    let write = |name: &str, text: &str| fs::write(stage.work().join(name), text).expect("written");
    write("gate.toml", "[gate.main]\nall = [\"tidy\"]\n[check.tidy]\nverifier = \"hygiene\"\n");
    let mut git = Command::new("bash");
    git.args(["-euc", "git init -q -b main; git add -A; git commit -qm first; mkdir .claude"]);
    let done = crate::support::isolate(&mut git, stage.work(), stage.work()).output().expect("git runs");
    assert!(done.status.success(), "{done:?}");
    write("one.txt", "one  \n");
    write("two.txt", "two  \r\ntwo  \r\n");
    fs::set_permissions(stage.work().join("two.txt"), fs::Permissions::from_mode(0o640)).expect("a mode");
    write(".claude/settings.local.json", "{\n  // mine\n  \"permissions\": {}\n}\n");
    write(".git/hooks/pre-commit", "#!/bin/sh\necho mine\n");
    write("STATE.md", "# Mine\n");
    assert!(stage.run(&["run"]).status.code().is_some(), "the caches are filled");
    stage
}

fn run_with(stage: &Stage, command: &[&str], how: &str, at: usize) -> Output {
    let mut gate = stage.gate(command);
    gate.env("LD_PRELOAD", shim()).env("SHIM_FOLDER", stage.work());
    gate.env("SHIM_AT", at.to_string()).env("SHIM_HOW", how).output().expect("gate runs")
}

/// Puts the old files back.
fn restore(stage: &Stage, old: &BTreeMap<String, (Vec<u8>, u32)>) {
    for name in files(stage).keys().filter(|name| !old.contains_key(*name)) {
        fs::remove_file(stage.work().join(name)).expect("removed");
    }
    for (name, (bytes, mode)) in old {
        let path = stage.work().join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("a mode");
    }
}

/// Lets each call of a command that opens, writes or syncs a file of the work fail, one after the other. Returns how many do.
fn fails_at_every_call(stage: &Stage, command: &[&str], how: &str) -> usize {
    let old = files(stage);
    let done = stage.run(command);
    let new = files(stage);
    assert!(done.status.code().is_some_and(|code| code < 2) && old != new, "{command:?}: {done:?}");
    restore(stage, &old);
    let (mut failures, mut passes) = (0, 0);
    for at in 1..100 {
        let output = run_with(stage, command, how, at);
        let now = files(stage);
        restore(stage, &old);
        let said = || format!("{command:?}, {how} {at}: {output:?}\n{now:#?}");
        match output.status.code() {
            Some(0 | 1) if now == new && passes == 3 => return failures,
            Some(0 | 1) if now == new => {
                passes += 1;
                continue;
            }
            // A failure that the command survives is one of another file: nothing of the work changed, or all of it.
            Some(_) => assert!(now == old, "{}", said()),
            None => {
                let is_new = |name: &String| name.contains(".gate-write-") || name.ends_with(".gate-new");
                let is_whole = |(name, file): (&String, _)| {
                    is_new(name) || [&old, &new].iter().any(|files| files.get(name) == Some(file))
                };
                assert!(now.iter().all(is_whole) && old.keys().all(|name| now.contains_key(name)), "{}", said());
            }
        }
        (failures, passes) = (failures + 1, 0);
    }
    panic!("{command:?} writes without end");
}

#[test]
fn a_file_is_the_old_or_the_new_one_whichever_call_fails() {
    let stage = stage();
    for command in [
        &["fix", "--yes"][..],
        &["install", "claude"],
        &["install", "git"],
        &["status", "--write", "STATE.md"],
        &["init"],
    ] {
        if command == ["init"] {
            fs::remove_file(stage.work().join("gate.toml")).expect("removed");
        }
        // The calls that write, that sync, and, of what is killed before, those that give it a mode.
        for (how, least) in [("half-space", 1), ("space", 2), ("before", 2)] {
            let calls = fails_at_every_call(&stage, command, how);
            assert!(calls >= least, "{command:?}, {how}: only {calls} calls");
        }
    }
}
