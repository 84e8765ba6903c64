//! Sends the sample through a hook, as a host or git would.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The time limit of a hook for the sample.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command within the time limit.
pub(super) fn finish(mut command: Command, input: &[u8]) -> Result<Output, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that reads nothing is judged by its output.
        let _ = stdin.write_all(input);
    }
    let id = child.id();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    match told.recv_timeout(PATIENCE) {
        Ok(output) => output.map_err(|error| format!("cannot be waited for until it ends: {error}")),
        Err(_) => {
            if let Some(id) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
            Err(format!("timed out after {} s", PATIENCE.as_secs()))
        }
    }
}

/// Returns the first line that a program prints for `--version`.
pub(super) fn version(program: &str) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let output = finish(command, b"")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next().filter(|_| output.status.success()) {
        Some(line) => Ok(gatehost::text::clean_line(line.trim(), 100)),
        None => Err(format!("ended with {}", output.status)),
    }
}
