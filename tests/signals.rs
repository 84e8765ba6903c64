//! Sending signals to a program under test.

use std::process::Command;

/// Sends the signal `name` (`INT`, `TERM`, …) to a process.
pub(crate) fn send(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

/// Resets SIGINT and SIGHUP to their defaults for this process and all that it starts from now on.
///
/// A shell starts background jobs with SIGINT ignored, `nohup` does the same with SIGHUP, and ignored signals are inherited:
/// without this, the tests of interruptions would fail when the whole suite runs in the background.
#[expect(unsafe_code, reason = "std cannot change signal handlers")]
pub(crate) fn heed_interrupts() {
    // SAFETY: the default action replaces no handlers of this program's.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::signal(libc::SIGHUP, libc::SIG_DFL);
    }
}
