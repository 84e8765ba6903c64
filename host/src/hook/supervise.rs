//! Watches the child process of a hook: whatever becomes of it, there is an answer before the deadline.
//!
//! The child has its own process group, so that everything it started can be ended with it, and inherits neither our
//! standard output nor our standard error: a host waits for whoever holds them. Its standard input stays open as long as we
//! live; when it closes, the child ends itself.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes of an answer.
const MAX_BYTES: u64 = 64 << 20;
/// How long the rest of an answer is waited for after the child has ended.
const GRACE: Duration = Duration::from_millis(500);

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ended well, and printed this.
    Answered(Vec<u8>),
    /// It did not, in these words.
    Died(String),
    /// It did not end in time, and was killed.
    Late,
}

/// Starts a child, hands it one line, and waits for its answer.
pub fn supervise(mut command: Command, line: &[u8], deadline: Duration) -> io::Result<Ended> {
    let end = Instant::now() + deadline;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = Killed(command.spawn()?);
    let (stdin, stdout) = (child.0.stdin.take(), child.0.stdout.take());
    let mut line = line.to_vec();
    line.push(b'\n');
    // A child that does not read must not keep us from watching it. The pipe is handed back, to stay open.
    let writer = thread::Builder::new().spawn(move || {
        let mut stdin = stdin;
        if let Some(stdin) = &mut stdin {
            let _ = stdin.write_all(&line).and_then(|()| stdin.flush());
        }
        stdin
    })?;
    let (tell, told) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(MAX_BYTES).read_to_end(&mut bytes);
        }
        let _ = tell.send(bytes);
    })?;
    let mut printed = None;
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let now = Instant::now();
        if let Some(status) = child.0.try_wait()? {
            ended.get_or_insert((status, now));
        }
        match (&mut printed, ended) {
            (Some(bytes), Some((status, _))) => {
                drop(writer);
                return Ok(told_by(status, std::mem::take(bytes)));
            }
            // Something that it left behind still holds the pipe.
            (None, Some((status, at))) if now > at + GRACE => return Ok(told_by(status, Vec::new())),
            _ if now >= end => return Ok(Ended::Late),
            (Some(_), None) => thread::sleep(Duration::from_millis(1)),
            (None, _) => match told.recv_timeout((end - now).min(Duration::from_millis(50))) {
                Ok(bytes) => printed = Some(bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => printed = Some(Vec::new()),
            },
        }
    }
}

fn told_by(status: ExitStatus, printed: Vec<u8>) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Answered(printed),
        (Some(code), _) => Ended::Died(format!("it ended with exit code {code}")),
        (None, Some(signal)) => Ended::Died(format!("it was killed by signal {signal}")),
        (None, None) => Ended::Died("it ended without an exit code".to_owned()),
    }
}

/// Kills the group of the child when it is dropped, however that comes about.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // Nobody of the group is left where the child ended well.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.kill();
        // It is dead or about to be; what cannot be killed is not waited for.
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

    fn ended(script: &str, deadline: u64) -> Ended {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        supervise(command, b"{}", Duration::from_millis(deadline)).expect("started")
    }

    #[test]
    fn whatever_becomes_of_the_child_there_is_an_answer() {
        assert_eq!(ended("cat > /dev/null & printf yes", 20_000), Ended::Answered(b"yes".to_vec()));
        assert_eq!(ended("read line; printf %s \"$line\"", 20_000), Ended::Answered(b"{}".to_vec()));
        for (script, words) in [
            ("kill -9 $$", "signal 9"),
            ("kill -ABRT $$", "signal 6"),
            ("kill -SEGV $$", "signal 11"),
            ("exit 101", "exit code 101"),
            ("printf '{\"answer\":\"idle\"}'; exit 1", "exit code 1"),
        ] {
            assert!(matches!(ended(script, 20_000), Ended::Died(why) if why.contains(words)), "{script}");
        }
        assert_eq!(ended("while :; do :; done", 300), Ended::Late);
        assert_eq!(ended("sleep 60 & wait", 300), Ended::Late);
        assert_eq!(ended("exec >&-; sleep 60", 300), Ended::Late);
    }

    #[test]
    fn a_grandchild_that_holds_the_pipe_is_not_waited_for() {
        let start = Instant::now();
        assert_eq!(ended("sleep 60 & exit 0", 30_000), Ended::Answered(Vec::new()));
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
