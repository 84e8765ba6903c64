//! Asks `git check-ignore` which untracked files are ignored.

use super::child_io::receive;
use super::layout::refuse_unbounded;
use super::program::{Git, failed};
use crate::changes::ChangesError;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The arguments: entries of the index do not matter here.
const QUESTION: &[&str] = &["check-ignore", "--stdin", "-z", "--verbose", "--non-matching", "--no-index"];
const PATIENCE: Duration = Duration::from_secs(120);
/// The most bytes of pending paths, so that writing never blocks.
const WINDOW: usize = 32 << 10;
const START: &[u8] = b"./";

/// Answers whether a file is ignored.
pub(super) struct Ignored<'g> {
    git: &'g Git,
    talk: Option<CheckIgnore>,
}

struct CheckIgnore {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<(Vec<u8>, bool)>,
}

impl Drop for CheckIgnore {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'g> Ignored<'g> {
    pub(super) fn new(git: &'g Git) -> Self {
        Self { git, talk: None }
    }

    /// Returns for each path whether it is ignored, in order.
    pub(super) fn ask(&mut self, paths: &[Vec<u8>]) -> Result<Vec<bool>, ChangesError> {
        let mut ignored = Vec::with_capacity(paths.len());
        let mut asked = 0;
        let mut waiting = 0;
        for path in paths {
            while asked < paths.len() && (waiting == 0 || waiting + paths[asked].len() < WINDOW) {
                waiting += paths[asked].len() + START.len() + 1;
                // So that a name is always read as a path.
                let question = [START, &paths[asked], b"\0"].concat();
                // If git stopped reading, its output says why.
                let _ = self.talk()?.stdin.write_all(&question);
                asked += 1;
            }
            waiting = waiting.saturating_sub(path.len() + START.len() + 1);
            ignored.push(self.answer(path)?);
        }
        Ok(ignored)
    }

    fn talk(&mut self) -> Result<&mut CheckIgnore, ChangesError> {
        if self.talk.is_none() {
            // Git starts while the configuration is read.
            self.talk = Some(CheckIgnore::start(self.git)?);
            self.refuse_unbounded()?;
        }
        self.talk.as_mut().ok_or_else(|| failed(QUESTION, "the process is not running"))
    }

    /// Refuses an unbounded pattern file that the configuration names. Those in the working tree are checked while walking
    /// it.
    fn refuse_unbounded(&self) -> Result<(), ChangesError> {
        let question = ["config", "--null", "--type=path", "--get", "core.excludesFile"];
        let answer = self.git.ask(&question)?;
        if !answer.status.success() {
            return Ok(());
        }
        use std::os::unix::ffi::OsStringExt;
        let path = answer.stdout.strip_suffix(b"\0").unwrap_or(&answer.stdout).to_vec();
        refuse_unbounded(&self.git.root.join(PathBuf::from(std::ffi::OsString::from_vec(path))))
    }

    fn answer(&mut self, path: &[u8]) -> Result<bool, ChangesError> {
        let Some(talk) = &mut self.talk else { return Err(failed(QUESTION, "the process is not running")) };
        let why = match receive(&talk.answers, PATIENCE, &self.git.deadline)? {
            Ok((about, is_ignored)) if about.strip_prefix(START) == Some(path) => return Ok(is_ignored),
            Ok(_) => "it sent an unexpected answer".to_owned(),
            Err(RecvTimeoutError::Timeout) => {
                format!("timed out after {} s and was killed", PATIENCE.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => match talk.child.wait() {
                Ok(status) => format!("it exited before it answered ({status})"),
                Err(error) => error.to_string(),
            },
        };
        self.talk = None;
        Err(failed(QUESTION, &why))
    }
}

impl CheckIgnore {
    fn start(git: &Git) -> Result<Self, ChangesError> {
        let mut child = git.spawn(QUESTION)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(QUESTION, "its pipes are missing"));
        };
        // Warnings are about invalid patterns, which ignore less, not more.
        if let Some(mut stderr) = child.stderr.take() {
            thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        }
        let (sender, answers) = sync_channel(1 << 10);
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                // The file of the pattern, its line, the pattern and the path.
                let mut fields = [const { Vec::new() }; 4];
                for field in &mut fields {
                    if !matches!(stdout.read_until(0, field), Ok(1..)) || field.pop() != Some(0) {
                        return;
                    }
                }
                let [_, _, pattern, path] = fields;
                let is_ignored = !pattern.is_empty() && pattern[0] != b'!';
                if sender.send((path, is_ignored)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, stdin, answers })
    }
}
