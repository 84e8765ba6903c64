//! The program in a broken environment: nobody reads its output, or the disk is full.

use crate::{guests, support};
use std::fs::{self, File};
use std::io::pipe;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns a folder to run in, with a home above it.
fn work() -> tempfile::TempDir {
    let home = crate::support::tempdir().expect("a folder");
    fs::create_dir(home.path().join("work")).expect("a folder");
    fs::write(home.path().join("work/a.json"), "{}").expect("written");
    home
}

fn gate(home: &Path, arguments: &str) -> Command {
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    support::isolate(gate.args(arguments.split_whitespace()), &home.join("work"), home).stdin(Stdio::null());
    gate
}

fn output(home: &Path, arguments: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = gate(home, arguments).output().expect("gate runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(&*home.to_string_lossy(), "[HOME]");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn output_that_cannot_be_written_is_no_reason_to_panic() {
    let home = work();
    let full = || File::options().write(true).open("/dev/full").expect("a device that is full");
    // The end of a pipe whose other end is closed.
    let unread = || pipe().expect("a pipe").1;
    for arguments in [
        "--help",
        "run --help",
        "--version",
        "no-such-command",
        "completions bash",
        "completions zsh",
        "completions fish",
        "completions elvish",
        "completions powershell",
        "schema gate",
        "inspect",
        "inspect json-syntax",
        "init --dry-run",
        "new --list",
        "plan",
        "plan -c none.toml",
        "list",
        "log",
        "stats",
        "status",
        "run",
        "run -v --format json",
        "compile json-syntax none",
    ] {
        let read = output(home.path(), arguments).0;
        for (what, gate) in [
            ("a full stdout", gate(home.path(), arguments).stdout(full()).stderr(Stdio::null())),
            ("a closed stdout", gate(home.path(), arguments).stdout(unread()).stderr(Stdio::null())),
            ("a full stderr", gate(home.path(), arguments).stdout(Stdio::null()).stderr(full())),
            ("a closed stderr", gate(home.path(), arguments).stdout(Stdio::null()).stderr(unread())),
        ] {
            let code = gate.status().expect("gate runs").code();
            assert!(matches!(code, Some(0..=3)), "`gate {arguments}` with {what}: {code:?}");
            // A reader that has seen enough, such as `head`, does not change the result.
            let expected = if what.starts_with("a full") { code } else { read };
            assert_eq!(code, expected, "`gate {arguments}` with {what}");
            let is_told = what != "a full stdout" || !arguments.contains("--help") && arguments != "--version";
            assert!(is_told || code == Some(3), "`gate {arguments}` with {what}: {code:?}");
        }
    }
}

#[test]
fn colours_reach_what_is_printed_before_the_arguments_are_understood() {
    let home = work();
    for (arguments, colored) in [
        ("run --help --color always", true),
        ("run --help --color=never", false),
        ("run --help", false),
        ("--color always no-such-command", true),
        ("--color never no-such-command", false),
    ] {
        let (_, stdout, stderr) = output(home.path(), arguments);
        assert_eq!((stdout + &stderr).contains('\x1b'), colored, "{arguments}");
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_told() {
    let home = work();
    fs::write(home.path().join("work/guest.wasm"), guests::component("another-name")).expect("written");
    fs::write(home.path().join("cache"), "in the way").expect("written");
    let why = "cannot use the cache folder `[HOME]/cache`";
    let (code, _, stderr) = output(home.path(), "run --verifier json-syntax");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.starts_with(&format!("note: the cache is disabled: {why}: ")), "{stderr}");
    assert_eq!(output(home.path(), "run --verifier json-syntax -q").2, "");
    let (code, stdout, stderr) = output(home.path(), "compile ./guest.wasm");
    assert_eq!((code, stdout.as_str()), (Some(3), ""));
    assert!(stderr.starts_with(&format!("error: {why}\ncaused by: ")), "{stderr}");
}

#[test]
fn a_full_disk_is_no_verdict_and_a_bad_path_a_mistake() {
    let home = work();
    let (code, stdout, stderr) = output(home.path(), "run --output json=/dev/full");
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    let (code, _, stderr) = output(home.path(), "run --output json=no/such/folder/a.json");
    assert_eq!(code, Some(2), "{stderr}");
    let full = File::options().write(true).open("/dev/full").expect("a device that is full");
    let ended = gate(home.path(), "run --format json").stdout(full).status().expect("gate runs");
    assert_eq!(ended.code(), Some(3));
}

#[test]
fn a_plan_that_nobody_wrote_is_told_to_be_one() {
    let home = work();
    let note = "note: there is no gate.toml, so this is the default gate; `gate init` writes one to start from\n";
    assert_eq!(output(home.path(), "plan").2, note);
    assert_eq!(output(home.path(), "run --dry-run").2, note);
    assert_eq!(output(home.path(), "plan -q").2, "");
}
