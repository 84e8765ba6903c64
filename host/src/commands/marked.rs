//! Killing the processes of a program whose supervisor is gone.
//!
//! Orphans of a supervisor that was killed become children of a process that this program does not control, so no list of
//! children names them. They still have the environment that they inherited: the program gets a variable with a value of
//! its own, and every process that has it is killed. A process that cleared its environment is not found, so the caller
//! must not treat such a program as ended.

use crate::random::random;
use crate::text::hex;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

/// The variable that holds the mark.
pub(super) const VARIABLE: &str = "GATE_SUPERVISED";

/// How long processes are looked for that keep starting others.
const MOST: Duration = Duration::from_secs(5);
/// How often none must be found: a process that just calls `execve` has no environment for a moment.
const EMPTY_LOOKS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(2);
/// The most bytes of an environment that are read. Linux accepts no longer ones by default.
const MAX_ENVIRONMENT: u64 = 8 << 20;

/// Returns a mark that no other program has.
pub(super) fn new_mark() -> Option<String> {
    random::<16>().map(|bytes| hex(&bytes))
}

/// Kills every process with this mark, and returns when none is left or time is up.
pub(super) fn kill_marked(mark: &str) {
    let variable = format!("{VARIABLE}={mark}");
    let until = Instant::now() + MOST;
    let mut empty = 0;
    while empty < EMPTY_LOOKS && Instant::now() < until {
        empty = if kill_once(variable.as_bytes()) { 0 } else { empty + 1 };
        thread::sleep(PAUSE);
    }
}

/// Kills the processes that have this variable now. Returns whether there were any.
fn kill_once(variable: &[u8]) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let pids = processes.flatten().filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let mut found = false;
    for pid in pids.filter(|pid| *pid != getpid()) {
        // Opened before its environment is read, so that the signal reaches the same process.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let mut environment = Vec::new();
        let Ok(file) = File::open(format!("/proc/{}/environ", pid.as_raw_nonzero())) else { continue };
        if file.take(MAX_ENVIRONMENT).read_to_end(&mut environment).is_err() {
            continue;
        }
        if environment.split(|byte| *byte == 0).any(|entry| entry == variable) {
            found = true;
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_processes_with_the_mark_are_killed() {
        let [mark, other] = [new_mark().expect("a mark"), new_mark().expect("a mark")];
        assert_ne!(mark, other);
        let start = |mark: &str| {
            Command::new("sh").args(["-c", "sleep 1000 & wait"]).env(VARIABLE, mark).spawn().expect("it starts")
        };
        let (mut marked, mut unmarked) = (start(&mark), start(&other));
        kill_marked(&mark);
        assert!(!marked.wait().expect("it ended").success());
        assert!(unmarked.try_wait().expect("its state").is_none());
        kill_marked(&other);
        assert!(!unmarked.wait().expect("it ended").success());
    }
}
