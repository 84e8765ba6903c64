//! The program itself is killed: a caller must not take that for a pass.
//!
//! Guests run in the process of the host, so there is no runner process whose death could be reported (B19). Tested here is
//! what a caller sees: the exit code and the output.

use crate::{guests, signals};
use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_gate_that_is_killed_has_said_nothing() {
    signals::heed_interrupts();
    let folder = crate::support::tempdir().expect("a folder");
    fs::write(folder.path().join("spin.wasm"), guests::component("spin-in-check")).expect("written");
    fs::write(folder.path().join("a.txt"), "a").expect("written");
    for name in ["KILL", "ABRT", "SEGV", "TERM", "INT"] {
        // At its start, while it compiles, while the guest computes: its answer would take ten seconds.
        for after in [0, 20, 500].map(Duration::from_millis) {
            let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"));
            gate.args(["run", "--verifier", "./spin.wasm", "--files", "a.txt"]).current_dir(folder.path());
            gate.env("GATE_CACHE_DIR", folder.path().join("cache"));
            let child = gate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
            thread::sleep(after);
            signals::send(child.id(), name);
            let output = child.wait_with_output().expect("it ends");
            assert!(!output.status.success(), "SIG{name} after {after:?}: {output:?}");
            assert_eq!(printed(&output), "", "SIG{name} after {after:?}");
        }
    }
}

#[test]
fn without_memory_a_bad_file_does_not_pass() {
    let folder = crate::support::tempdir().expect("a folder");
    fs::write(folder.path().join("bad.json"), "{\"a\": }").expect("written");
    let (mut gave_up, mut judged) = (0, 0);
    for mebibytes in [8, 64, 128, 160, 192, 256, 384, 512, 1 << 10, 8 << 10, 256 << 10] {
        let script = format!("ulimit -v {}; exec \"$0\" run --files bad.json", mebibytes << 10);
        let mut starved = Command::new("sh");
        starved.args(["-c", &script, env!("CARGO_BIN_EXE_gate")]).current_dir(folder.path());
        let output = starved.env("GATE_CACHE_DIR", folder.path().join("cache")).output().expect("a shell");
        assert!(!output.status.success(), "{mebibytes} MiB: {output:?}");
        if output.status.code() == Some(1) {
            assert!(printed(&output).contains("gate default: fail"), "{mebibytes} MiB: {output:?}");
            judged += 1;
        } else {
            gave_up += 1;
        }
    }
    // The limits reach from too little for anything to enough for all.
    assert!(gave_up > 0 && judged > 0, "{gave_up} gave up, {judged} judged");
}
