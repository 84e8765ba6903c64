//! Supervises the child process of a hook, so that there is an answer before the deadline whatever happens to the child.
//!
//! The child has its own process group, so that everything it started can be killed with it. It inherits neither our
//! standard output nor our standard error, because a host waits until both are closed. Its standard input stays open as
//! long as this process runs; when it closes, the child exits.

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that are read from a child.
const MAX_BYTES: u64 = 64 << 20;
/// How long to wait for the rest of the output after the child has ended.
const GRACE: Duration = Duration::from_millis(500);

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ChildExit {
    /// Well.
    Done,
    /// It failed, for this reason.
    Died(String),
    /// It timed out and was killed.
    Late,
}

/// How a child ended, and its output until then.
#[derive(Debug, PartialEq, Eq)]
pub struct ChildResult {
    /// How.
    pub exit: ChildExit,
    /// What it printed.
    pub printed: Vec<u8>,
}

/// Starts a child, sends it one line, and waits until it ends.
pub fn supervise(mut command: Command, line: &[u8], deadline: Duration) -> io::Result<ChildResult> {
    let end = Instant::now() + deadline;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = Killed(command.spawn()?);
    let (stdin, stdout) = (child.0.stdin.take(), child.0.stdout.take());
    let mut line = line.to_vec();
    line.push(b'\n');
    // On a thread of its own, because the child may not read. The pipe is returned, so that it stays open.
    let _writer = thread::Builder::new().spawn(move || {
        let mut stdin = stdin;
        if let Some(stdin) = &mut stdin {
            let _ = stdin.write_all(&line).and_then(|()| stdin.flush());
        }
        stdin
    })?;
    let printed = Arc::new(Mutex::new(Vec::new()));
    let (tell, told) = mpsc::channel();
    let reading = Arc::clone(&printed);
    thread::Builder::new().spawn(move || {
        if let Some(stdout) = stdout {
            read(stdout, &reading);
        }
        let _ = tell.send(());
    })?;
    let taken = || std::mem::take(&mut *printed.lock());
    let mut is_read = false;
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let now = Instant::now();
        if let Some(status) = child.0.try_wait()? {
            ended.get_or_insert((status, now));
        }
        match ended {
            // If the output has not ended, a process that the child started still has the pipe open.
            Some((status, at)) if is_read || now > at + GRACE => {
                return Ok(ChildResult { exit: exit_of(status), printed: taken() });
            }
            _ if now >= end => return Ok(ChildResult { exit: ChildExit::Late, printed: taken() }),
            _ if is_read => thread::sleep(Duration::from_millis(1)),
            _ => match told.recv_timeout((end - now).min(Duration::from_millis(50))) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => is_read = true,
                Err(RecvTimeoutError::Timeout) => {}
            },
        }
    }
}

/// Reads to the end into a shared buffer.
fn read(mut from: impl Read, to: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 8 << 10];
    let mut left = MAX_BYTES;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        left = left.saturating_sub(count as u64);
        if left > 0 {
            to.lock().extend_from_slice(&buffer[..count]);
        }
    }
}

fn exit_of(status: ExitStatus) -> ChildExit {
    match (status.code(), status.signal()) {
        (Some(0), _) => ChildExit::Done,
        (Some(code), _) => ChildExit::Died(format!("it ended with exit code {code}")),
        (None, Some(signal)) => ChildExit::Died(format!("it was killed by signal {signal}")),
        (None, None) => ChildExit::Died("it ended without an exit code".to_owned()),
    }
}

/// Kills the process group of the child when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // If the child ended by itself, the group is empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.kill();
        // Does not wait for a process that cannot be killed.
        for _ in 0..20 {
            match self.0.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str, deadline: u64) -> ChildResult {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        supervise(command, b"{}", Duration::from_millis(deadline)).expect("started")
    }

    fn done(printed: &str) -> ChildResult {
        ChildResult { exit: ChildExit::Done, printed: printed.into() }
    }

    #[test]
    fn whatever_becomes_of_the_child_there_is_an_answer() {
        assert_eq!(ended("cat > /dev/null & printf yes", 20_000), done("yes"));
        assert_eq!(ended("read line; printf %s \"$line\"", 20_000), done("{}"));
        for (script, words) in [
            ("kill -9 $$", "signal 9"),
            ("kill -ABRT $$", "signal 6"),
            ("kill -SEGV $$", "signal 11"),
            ("exit 101", "exit code 101"),
            ("printf '{\"answer\":\"idle\"}'; exit 1", "exit code 1"),
        ] {
            assert!(matches!(ended(script, 20_000).exit, ChildExit::Died(why) if why.contains(words)), "{script}");
        }
        assert_eq!(ended("while :; do :; done", 300).exit, ChildExit::Late);
        assert_eq!(ended("sleep 60 & wait", 300).exit, ChildExit::Late);
        assert_eq!(ended("exec >&-; sleep 60", 300).exit, ChildExit::Late);
    }

    #[test]
    fn what_was_printed_before_the_end_is_there() {
        assert_eq!(ended("echo a; sleep 60", 1_000), ChildResult { exit: ChildExit::Late, printed: b"a\n".to_vec() });
        let killed =
            ChildResult { exit: ChildExit::Died("it was killed by signal 9".to_owned()), printed: b"a\n".to_vec() };
        assert_eq!(ended("echo a; kill -9 $$", 20_000), killed);
    }

    #[test]
    fn a_grandchild_that_holds_the_pipe_is_not_waited_for() {
        let start = Instant::now();
        assert_eq!(ended("sleep 60 & exit 0", 30_000), done(""));
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
