//! Fixes that a hostile verifier asks for: nothing outside the workspace changes, nothing that decides or runs anything does,
//! and nothing is run.

use super::Home;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A program that passes once its input contains `FIXED`, and otherwise prints this verdict.
fn verifier(verdict: &Value) -> Vec<u8> {
    let text = verdict.to_string();
    let length = text.len();
    let data = text.replace('\\', "\\5c").replace('"', "\\22");
    let program = format!(
        r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 64)
  (data (i32.const 1024) "{{\22status\22: \22pass\22}}")
  (data (i32.const 65536) "{data}")
  (func $print (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start") (local $at i32) (local $end i32)
    (local.set $end (i32.const 1048576))
    (loop $more
      (i32.store (i32.const 16) (local.get $end))
      (i32.store (i32.const 20) (i32.const 65536))
      (drop (call $read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 24)))
      (local.set $end (i32.add (local.get $end) (i32.load (i32.const 24))))
      (br_if $more (i32.load (i32.const 24))))
    (local.set $at (i32.const 1048576))
    (loop $next
      (if (i64.eq (i64.and (i64.load (local.get $at)) (i64.const 0xffffffffff)) (i64.const 0x4445584946))
        (then (call $print (i32.const 1024) (i32.const 18)) (return)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (call $print (i32.const 65536) (i32.const {length}))))"#
    );
    wat::parse_str(program).expect("a program")
}

/// A failure with a fix for each of these paths: the text is inserted at the start.
fn verdict(paths: &[&str], text: &str) -> Value {
    let edit = json!({ "start_line": 1, "start_column": 1, "end_line": 1, "end_column": 1, "replacement": text });
    let finding = |path: &&str| {
        json!({
            "code": "bad", "level": "error", "message": "bad", "place": { "path": path, "line": 1 },
            "fix": { "description": "better", "edits": [edit] },
        })
    };
    json!({ "status": "fail", "findings": paths.iter().map(finding).collect::<Vec<_>>() })
}

fn settings(gate: &str, path: &Path, verdict: &Value) -> String {
    fs::write(path, verifier(verdict)).expect("written");
    format!("{gate}\n[check.fixer]\nverifier = \"{}\"\n", path.display())
}

/// The content of every file, and the target of every symlink, below a folder.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            match fs::read_link(&path) {
                Ok(target) => drop(found.insert(name, target.display().to_string().into_bytes())),
                Err(_) if path.is_dir() => folders.push(path),
                Err(_) => drop(found.insert(name, fs::read(&path).expect("a file"))),
            }
        }
    }
    found
}

/// A home with a verifier outside the work, a folder elsewhere, and every kind of symlink.
fn home(paths: &[&str], text: &str) -> Home {
    let outside = crate::support::tempdir().expect("a folder").keep();
    let home =
        Home::new(&settings("[gate.main]\nall = [\"fixer\"]", &outside.join("fixer.wasm"), &verdict(paths, text)));
    fs::create_dir(home.path().join("elsewhere")).expect("a folder");
    fs::write(home.path().join("elsewhere/victim.txt"), "untouched\n").expect("written");
    home.sh(
        "mkdir -p assets sub .claude hooks bare/objects bare/refs; echo ok > assets/victim.txt; echo ok > sub/victim.txt; \
         echo '{}' > .claude/settings.json; echo 'ref: x' > bare/HEAD; echo > bare/config; echo '#!/bin/sh' > hooks/pre-commit; \
         git config core.hooksPath hooks; git add -A; git commit -qm files; rm -r assets; echo change > plain.txt; \
         echo change >> sub/victim.txt; echo >> .claude/settings.json; echo >> bare/config; echo >> hooks/pre-commit",
    );
    let elsewhere = home.path().join("elsewhere");
    for (link, target) in [
        ("assets", elsewhere.as_path()),
        ("above", Path::new("../elsewhere")),
        ("back", Path::new("../work/sub")),
        ("chain", Path::new("above")),
        ("circle", Path::new("circle")),
        ("dangling", Path::new("../elsewhere/new")),
        ("data", Path::new(".git")),
        ("inside", Path::new("sub")),
        ("file.txt", Path::new("../elsewhere/victim.txt")),
        ("config", Path::new(".git/config")),
    ] {
        symlink(target, home.work().join(link)).expect("a link");
    }
    symlink(home.work().join(".git"), home.work().join("real-data")).expect("a link");
    home
}

/// Every path that no fix may change, whoever asks.
const FORBIDDEN: &[&str] = &[
    "assets/victim.txt",
    "above/victim.txt",
    "back/victim.txt",
    "chain/victim.txt",
    "circle",
    "dangling",
    "data/config",
    "real-data/config",
    "inside/victim.txt",
    "file.txt",
    "config",
    "gate.toml",
    "a.json",
    ".claude/settings.json",
    "bare/config",
    "hooks/pre-commit",
];

#[test]
fn no_fix_leaves_the_workspace_or_changes_what_decides() {
    let run = "[core]\n\tfsmonitor = \"touch ../../ran; touch ran; false\"\n# FIXED\n";
    for paths in [FORBIDDEN.to_vec(), vec!["data/config"], vec!["assets/victim.txt"], vec!["config", "file.txt"]] {
        let home = home(&paths, run);
        let before = content(&home.path());
        let ignored = |path: &str| path.contains("/state/") || path.contains("/.git/index") || path.contains("/cache/");
        let check = |after: &str| {
            let unchanged = |(path, _): &(&String, &Vec<u8>)| !ignored(path);
            let now = content(&home.path());
            let (before, now): (BTreeMap<_, _>, BTreeMap<_, _>) =
                (before.iter().filter(unchanged).collect(), now.iter().filter(unchanged).collect());
            let differ: Vec<_> =
                now.iter().filter(|(path, bytes)| before.get(*path) != Some(*bytes)).map(|it| it.0).collect();
            assert!(differ.is_empty() && before.len() == now.len(), "{after}: {differ:?}");
        };
        for arguments in [&["fix"][..], &["fix", "--yes"], &["fix", "--yes", "--all-files"]] {
            let ran = home.gate(arguments);
            assert_eq!(ran.exit, 1, "{}{}", ran.stdout, ran.stderr);
            assert!(ran.stdout.contains("nothing to write"), "{}", ran.stdout);
            home.sh("git status > /dev/null");
            check("gate fix");
        }
        let looped = home.script(&["--fix", "--max-bounces", "0"], "true");
        assert_ne!(looped.exit, 0, "{}", looped.stderr);
        home.sh("git status > /dev/null");
        check("gate loop --fix");
    }
}

/// The same verifier may fix what it was given: so it is not the test that fails to fix.
#[test]
fn a_fix_of_a_judged_file_is_written_and_the_others_are_named() {
    let paths = [FORBIDDEN, &["plain.txt"]].concat();
    let home = home(&paths, "FIXED ");
    let ran = home.gate(&["fix", "--yes"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(home.read("plain.txt"), "FIXED change\n");
    for (path, why) in [
        ("bare/config", "it is behind a symlink, belongs to the data of a repository, or is no regular file"),
        ("gate.toml", "its check did not judge this file"),
        (".claude/settings.json", "it is a hook, or settings of an agent, an editor or git"),
        ("hooks/pre-commit", "it is a hook, or settings of an agent, an editor or git"),
    ] {
        assert!(ran.stderr.contains(&format!("note: a fix for `{path}` was not tried: {why}\n")), "{}", ran.stderr);
    }
}
