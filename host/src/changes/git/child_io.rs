//! Exchanges data with a child process until it ends or times out.

use crate::deadline::{Deadline, Late};
use std::io::{self, Read};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The output of a child, and how it ended.
#[derive(Debug)]
pub(super) struct ChildOutput<T> {
    pub(super) status: ExitStatus,
    pub(super) stdout: T,
    pub(super) stderr: String,
}

/// The deadline of a run may become known later, so it is looked at this often.
const TICK: Duration = Duration::from_millis(100);

/// Receives the next message of a child, waiting at most this long.
pub(super) fn receive<T>(
    messages: &Receiver<T>,
    patience: Duration,
    deadline: &Deadline,
) -> Result<Result<T, RecvTimeoutError>, Late> {
    let end = Instant::now() + patience;
    loop {
        deadline.check()?;
        let left = end.saturating_duration_since(Instant::now());
        match messages.recv_timeout(left.min(TICK)) {
            Err(RecvTimeoutError::Timeout) if left > TICK => {}
            received => return Ok(received),
        }
    }
}

/// Writes and reads at the same time, so that neither side blocks on a full pipe. If one side fails or time is up, the child
/// is killed, which ends the other.
pub(super) fn communicate<T: Send>(
    mut child: Child,
    patience: Duration,
    deadline: &Deadline,
    speak: impl FnOnce(ChildStdin) -> io::Result<()> + Send,
    listen: impl FnOnce(ChildStdout) -> io::Result<T> + Send,
) -> io::Result<ChildOutput<T>> {
    let (Some(stdin), Some(stdout), Some(mut stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("its pipes are missing"));
    };
    let (sender, ends) = mpsc::channel();
    let (spoken, heard) = (sender.clone(), sender.clone());
    thread::scope(|scope| {
        scope.spawn(move || {
            // If the child stopped reading, its output says why.
            let _ = speak(stdin);
            let _ = spoken.send(true);
        });
        let listening = scope.spawn(move || {
            let result = listen(stdout);
            let _ = heard.send(result.is_ok());
            result
        });
        let complaints = scope.spawn(move || {
            let mut text = Vec::new();
            let result = stderr.read_to_end(&mut text);
            let _ = sender.send(result.is_ok());
            String::from_utf8_lossy(&text).trim_end().to_owned()
        });
        let end = Instant::now() + patience;
        let (is_whole, is_late) = loop {
            let left = end.saturating_duration_since(Instant::now());
            match ends.recv_timeout(left.min(TICK)) {
                Ok(true) => {}
                Ok(false) => break (false, false),
                Err(RecvTimeoutError::Disconnected) => break (true, false),
                Err(RecvTimeoutError::Timeout) if left > TICK && !deadline.is_over() => {}
                Err(RecvTimeoutError::Timeout) => break (false, true),
            }
        };
        let ended_early = || io::Error::other("a thread ended early");
        if !is_whole {
            child.kill()?;
        }
        let status = child.wait()?;
        let stdout = listening.join().map_err(|_| ended_early())?;
        let stderr = complaints.join().map_err(|_| ended_early())?;
        if is_late {
            return Err(io::Error::other(format!("timed out after {} s and was killed", patience.as_secs())));
        }
        Ok(ChildOutput { status, stdout: stdout?, stderr })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    const A_WHILE: Duration = Duration::from_secs(100);

    fn shell(script: &str) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell.spawn().expect("a shell")
    }

    fn whole(mut pipe: ChildStdout) -> io::Result<String> {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn an_answer_has_both_outputs_and_the_exit() {
        let (child, deadline) = (shell("cat; echo no >&2; exit 3"), Deadline::default());
        let answer = communicate(child, A_WHILE, &deadline, |mut pipe| pipe.write_all(b"yes"), whole);
        let answer = answer.expect("an answer");
        assert_eq!((answer.status.code(), &*answer.stdout, &*answer.stderr), (Some(3), "yes", "no"));
    }

    #[test]
    fn who_does_not_answer_is_ended() {
        let over = Deadline::default();
        for (patience, deadline) in [(Duration::from_millis(20), &Deadline::default()), (A_WHILE, &over)] {
            over.set("g", Duration::from_millis(20), Duration::ZERO);
            let late = communicate(shell("exec sleep 600"), patience, deadline, |_| Ok(()), whole);
            assert!(late.expect_err("too late").to_string().contains("was killed"));
        }
    }

    #[test]
    fn a_side_that_fails_ends_the_other() {
        let endless = |mut pipe: ChildStdin| loop {
            pipe.write_all(&[b'x'; 4096])?;
        };
        let refuse = |_: ChildStdout| Err::<(), _>(io::Error::other("refused"));
        let refused = communicate(shell("exec sleep 600"), A_WHILE, &Deadline::default(), endless, refuse);
        assert_eq!(refused.expect_err("refused").to_string(), "refused");
    }
}
