//! An interrupted run leaves nothing behind.

use super::stage::*;
use crate::signals;
use gatehost::config::SandboxLevel;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{ptr, thread};

/// A repository whose gate runs a command that would take ten minutes.
fn repository(mark: &str) -> TestBed {
    let bed = TestBed::new(SandboxLevel::None).file("a.txt", &"text\n".repeat(1_000)).file(
        "gate.toml",
        &format!(
            "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"command\"\ngrants = [\"command:it\"]\n[command.it]\n\
             run = [\"sh\", \"-c\", \"touch started; setsid sleep {mark} & sleep {mark}; sleep 600\"]\n\
             workspace = \"read-write\"\n"
        ),
    );
    for arguments in [&["init", "-q"][..], &["add", "a.txt", "gate.toml"]] {
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.args(arguments).current_dir(bed.root()).status().expect("git runs").success());
    }
    bed
}

fn gate(bed: &TestBed, temporary: &Path) -> Command {
    let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
    // What is staged is judged in a snapshot.
    gate.args(["run", "g", "--staged"]).current_dir(bed.root());
    gate.env("GATE_CACHE_DIR", temporary.join("cache")).env("TMPDIR", temporary);
    gate
}

/// Waits until the command runs.
fn wait_for(mark: &str) {
    let start = Instant::now();
    while processes_with(mark) < 3 {
        assert!(start.elapsed() < 2 * PATIENCE, "`{mark}` never ran");
        thread::sleep(Duration::from_millis(10));
    }
}

fn left_in(temporary: &Path) -> Vec<String> {
    let names = fs::read_dir(temporary).expect("there").flatten().map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with("gate-")).collect()
}

#[test]
fn a_run_that_is_interrupted_ends_everything_and_leaves_nothing() {
    signals::heed_interrupts();
    for (number, (name, code)) in [("INT", 130), ("TERM", 143), ("HUP", 129)].into_iter().enumerate() {
        let mark = mark(900 + number);
        let (bed, temporary) = (repository(&mark), tempfile::tempdir().expect("a folder"));
        let mut gate = gate(&bed, temporary.path());
        let child = gate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_for(&mark);
        assert!(!left_in(temporary.path()).is_empty(), "{name}: it makes a snapshot");
        signals::send(child.id(), name);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted\n", "{name}");
        assert_eq!(left_in(temporary.path()), Vec::<String>::new(), "{name}");
        assert_no_survivor(&mark, SandboxLevel::None);
    }
}

/// Only `gate` itself: the programs that it starts can be ended like any other.
#[test]
fn what_is_started_holds_no_signal_back() {
    let bed = repository("unused").file(
        "gate.toml",
        "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"command\"\ngrants = [\"command:it\"]\n[command.it]\n\
         run = [\"sh\", \"-c\", \"kill -TERM $$; echo held back\"]\n",
    );
    let temporary = tempfile::tempdir().expect("a folder");
    let mut gate = gate(&bed, temporary.path());
    let output = gate.args(["--format", "json"]).output().expect("run");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("\"signal\": 15") && !printed.contains("held back\\n"), "{printed}");
}

#[test]
fn what_is_to_be_ignored_is_ignored() {
    let mark = mark(910);
    let (bed, temporary) = (repository(&mark), tempfile::tempdir().expect("a folder"));
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" run g --staged", env!("CARGO_BIN_EXE_gate")]).current_dir(bed.root());
    shell.env("GATE_CACHE_DIR", temporary.path().join("cache")).env("TMPDIR", temporary.path());
    let mut child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for(&mark);
    signals::send(child.id(), "HUP");
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("known").is_none(), "it was ended");
    signals::send(child.id(), "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
}

/// Opens a terminal, and returns what is written to it.
#[expect(unsafe_code, reason = "std has no terminals")]
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: there is room for both, and nobody else has them.
    unsafe {
        let opened = libc::openpty(&raw mut ours, &raw mut theirs, ptr::null_mut(), ptr::null(), &raw const size);
        assert_eq!(opened, 0, "a terminal");
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}

#[test]
fn the_panel_is_cleared_before_anything_is_said() {
    signals::heed_interrupts();
    let mark = mark(920);
    let (bed, temporary) = (repository(&mark), tempfile::tempdir().expect("a folder"));
    let (mut ours, theirs) = terminal();
    let mut gate = gate(&bed, temporary.path());
    gate.env("TERM", "xterm").stdout(Stdio::null()).stderr(Stdio::from(theirs));
    let mut child = gate.spawn().expect("it starts");
    drop(gate);
    let reading = thread::spawn(move || {
        let mut shown = Vec::new();
        // A terminal whose other end is closed ends with an error.
        let _ = ours.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    wait_for(&mark);
    thread::sleep(Duration::from_millis(300));
    signals::send(child.id(), "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let shown = reading.join().expect("read");
    let (before, after) = shown.rsplit_once("step 0/1").expect("a panel");
    assert!(before.contains("gate g ["), "{shown:?}");
    // What was drawn last is erased, and nothing is drawn after it.
    assert!(after.contains("\x1b[2K") && after.trim_end().ends_with("interrupted"), "{after:?}");
}
