//! Behaviour as folders: each folder of `fixtures/cases` is one run of `gate`, with what it must print beside it.
//!
//! - `args`: the arguments, one on each line
//! - `workspace/`: the folder that it runs in, copied first; a gate.toml that names `scripted.wasm` finds it there
//! - `guests`: components of `fixtures/components` to put there, one on each line: `NAME`, `module NAME` for the core
//!   module that it is made of, `text NAME` for the text
//! - `before`: a shell script to run there first (to make a repository, say)
//! - `stdin`: what it reads; nothing where there is none
//! - `stdout`, `stderr`, `exit`: what must come of it; a missing one stands for an empty one, and 0
//!
//! Paths, durations and digests differ from run to run and are replaced. `BLESS=1 cargo test` rewrites what is expected.

use crate::guests;
use regex::Regex;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A verifier that says what its settings tell it to, for gates to make something of.
pub(crate) const SCRIPTED: &str = include_str!("../fixtures/scripted.wat");

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cases").canonicalize().expect("the cases")
}

#[test]
fn every_case_prints_what_it_should() {
    let mut cases: Vec<PathBuf> =
        fs::read_dir(folder()).expect("cases").map(|entry| entry.expect("an entry").path()).collect();
    cases.sort();
    assert!(cases.len() >= 10, "the cases are gone");
    let only = std::env::var("CASE").ok();
    cases.retain(|case| only.as_ref().is_none_or(|only| case.ends_with(only)));
    assert!(!cases.is_empty(), "no case has the name {only:?}");
    let wrong = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(difference) = check(case) {
                        wrong.lock().expect("a list").push(difference);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("a list");
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {} cases:\n\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// What came of a case: what was printed, as it was printed, and the exit code.
pub(crate) struct Played {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Option<i32>,
    /// Where it ran.
    pub(crate) root: PathBuf,
}

/// Run a case in a folder of its own.
pub(crate) fn play(case: &Path) -> Played {
    let name = case.file_name().expect("a name").to_string_lossy().into_owned();
    let temporary = tempfile::tempdir().expect("a folder");
    let root = temporary.path().canonicalize().expect("a folder").join("work");
    fs::create_dir(&root).expect("a folder");
    if case.join("workspace").exists() {
        copy(&case.join("workspace"), &root);
    }
    if fs::read_to_string(root.join("gate.toml")).is_ok_and(|text| text.contains("scripted.wasm")) {
        fs::write(root.join("scripted.wasm"), guests::assemble("scripted", SCRIPTED)).expect("written");
    }
    for line in fs::read_to_string(case.join("guests")).unwrap_or_default().lines() {
        let (kind, guest) = line.split_once(' ').unwrap_or(("component", line));
        let file = root.join(Path::new(guest).file_name().expect("a name"));
        let (bytes, ending) = match kind {
            "component" => (guests::component(guest), "wasm"),
            "module" => (guests::module(guest), "wasm"),
            "text" => (guests::text(guest).into_bytes(), "wat"),
            other => panic!("{name}: {other}"),
        };
        fs::write(file.with_extension(ending), bytes).expect("written");
    }
    if case.join("before").exists() {
        let output = quiet(Command::new("bash").arg("-eu").arg(case.join("before")), &root, temporary.path())
            .output()
            .expect("bash runs");
        assert!(output.status.success(), "{name}: before: {}", String::from_utf8_lossy(&output.stderr));
    }
    let args = fs::read_to_string(case.join("args")).unwrap_or_default();
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    let mut gate = quiet(gate.args(args.lines()), &root, temporary.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gate runs");
    let mut stdin = gate.stdin.take().expect("a pipe");
    // A run that ends before it reads has every right to.
    let _ = stdin.write_all(&fs::read(case.join("stdin")).unwrap_or_default());
    drop(stdin);
    let output = gate.wait_with_output().expect("gate ends");
    Played { stdout: output.stdout, stderr: output.stderr, exit: output.status.code(), root }
}

fn check(case: &Path) -> Result<(), String> {
    let name = case.file_name().expect("a name").to_string_lossy().into_owned();
    let Played { stdout, stderr, exit, root } = play(case);
    let exit = exit.map_or("signal".to_owned(), |code| code.to_string());
    let found = [
        ("stdout", normal(&stdout, &root)),
        ("stderr", normal(&stderr, &root)),
        ("exit", if exit == "0" { String::new() } else { exit + "\n" }),
    ];
    let mut differences = String::new();
    for (file, found) in found {
        let path = case.join(file);
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected == found {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            if found.is_empty() {
                fs::remove_file(path).expect("removed")
            } else {
                fs::write(path, found).expect("written")
            }
        } else {
            differences += &format!("--- {name}/{file}, expected\n{expected}+++ found\n{found}");
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// An environment in which nothing of the developer's own can be seen.
pub(crate) fn quiet<'a>(command: &'a mut Command, folder: &Path, home: &Path) -> &'a mut Command {
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GATE_CACHE_DIR", home.join("cache"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
}

fn normal(output: &[u8], root: &Path) -> String {
    let text = String::from_utf8(output.to_vec()).expect("gate prints UTF-8");
    let text = text.replace(&*root.to_string_lossy(), "[ROOT]");
    let mut text = text;
    for (pattern, instead) in [
        (r#""(duration_ms|started_ms|at_ms)": [0-9.]+"#, r#""$1": 0"#),
        (r#""(duration_ms|started_ms|at_ms)":[0-9.]+"#, r#""$1":0"#),
        (r#""run": ?"[0-9a-z]{26}""#, r#""run": "[RUN]""#),
        (r#""build": "[0-9a-f]{64}""#, r#""build": "[DIGEST]""#),
        (r"\b[0-9]+(\.[0-9]+)? (ms|s)\b", "[TIME]"),
        (r"sha256:[0-9a-f]{64}", "sha256:[DIGEST]"),
        (r"\b[0-9]+ bytes\n", "[SIZE] bytes\n"),
        (r#""size": [0-9]+"#, r#""size": 0"#),
        (r#""started": "[^"]+""#, r#""started": "[MOMENT]""#),
        (r#""sandbox": "[a-z]+""#, r#""sandbox": "[LEVEL]""#),
        (r"\((namespaces|landlock|none)\)\n", "([LEVEL])\n"),
        (r"the search path \([^)]+\)", "the search path ([PATH])"),
    ] {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, instead).into_owned();
    }
    text
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&target).expect("a folder");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}
