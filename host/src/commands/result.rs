//! The result of a command, and what of it goes into the record.

use crate::config::SandboxLevel;
use crate::submission::{CommandEvidence, Printed};
use crate::text;
use crate::verdict::{Edit, ErrorKind};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// The most commands or models of a check that its record lists. Others are counted.
pub(crate) const MAX_LISTED: usize = 1_000;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnding {
    /// It timed out.
    TimedOut,
    /// The command was killed by this signal.
    Signalled(i32),
    /// The command exited with this code. Only 0 is a success.
    Exited(i32),
}

/// The captured output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning; the whole output if `length` is its length.
    pub head: Vec<u8>,
    /// The end, if the middle was left out.
    pub tail: Vec<u8>,
    /// How many bytes were written in all.
    pub length: u64,
    /// SHA-256 of all bytes, in hexadecimal.
    pub sha256: String,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct CommandResult {
    /// Its name in the configuration.
    pub name: String,
    /// What was run.
    pub argv: Vec<String>,
    /// How it ended.
    pub ending: CommandEnding,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// When it began.
    pub started: SystemTime,
    /// How long it ran.
    pub duration: Duration,
    /// The sandbox level.
    pub sandbox: SandboxLevel,
    /// The configuration key that may help, if the output suggests that the command failed because of the sandbox.
    pub advice: Option<Advice>,
    /// The changes that a command with `fixes = true` would make.
    pub rewrites: Vec<Rewrite>,
    /// Whether the command was not run, and its result was replayed from another run.
    pub replayed: bool,
    /// Whether the command ran on the base commit.
    pub on_base: bool,
}

/// Advice for a command that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What the command lacks, as an error kind.
    pub kind: ErrorKind,
    /// What it lacks, in words.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl std::fmt::Display for Advice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

/// The changes that a command would make to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// The file.
    pub path: String,
    /// The edits; empty if the file is not text, or would be deleted.
    pub edits: Vec<Edit>,
}

/// How many bytes of the beginning and of the end of an output are shown.
const SHOWN: usize = 2_000;

impl CommandResult {
    /// Returns the result with what the record shows of it: a verifier can run a command many times, and its outputs are large.
    pub(crate) fn shortened(self) -> Self {
        Self { stdout: self.stdout.shortened(), stderr: self.stderr.shortened(), rewrites: Vec::new(), ..self }
    }
}

impl Captured {
    /// Returns the output without the middle that is never shown. A character has at most 4 bytes.
    fn shortened(self) -> Self {
        const END: usize = 4 * SHOWN;
        let Self { mut head, mut tail, length, sha256 } = self;
        if head.len() + tail.len() > 2 * END {
            // What is shown first may end in the tail, and what is shown last may begin in the head.
            let (of_tail, of_head) = (END.saturating_sub(head.len()), END.saturating_sub(tail.len()));
            let middle = [&head[head.len() - of_head..], &tail[..of_tail]].concat();
            tail = [&middle, &tail[tail.len().saturating_sub(END)..]].concat();
            head = head[..END.min(head.len())].to_vec();
        }
        Self { head, tail, length, sha256 }
    }
}

impl From<&CommandResult> for CommandEvidence {
    fn from(ran: &CommandResult) -> Self {
        let printed = |captured: &Captured| Printed { length: captured.length, sha256: captured.sha256.clone() };
        let (exit_code, signal) = match ran.ending {
            CommandEnding::Exited(code) => (Some(code), None),
            CommandEnding::Signalled(signal) => (None, Some(signal)),
            CommandEnding::TimedOut => (None, None),
        };
        Self {
            name: ran.name.clone(),
            argv: ran.argv.clone(),
            exit_code,
            signal,
            timed_out: ran.ending == CommandEnding::TimedOut,
            output: output(ran),
            stdout: printed(&ran.stdout),
            stderr: printed(&ran.stderr),
            started: text::timestamp(ran.started),
            duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            sandbox: ran.sandbox.as_str().to_owned(),
            on_base: ran.on_base,
            replayed: ran.replayed,
        }
    }
}

/// Returns the output, and the advice if there is any.
fn output(ran: &CommandResult) -> String {
    let printed = shortened(&ran.stdout) + &shortened(&ran.stderr);
    match &ran.advice {
        None => printed,
        Some(advice) if printed.is_empty() || printed.ends_with('\n') => format!("{printed}[gate] {advice}\n"),
        Some(advice) => format!("{printed}\n[gate] {advice}\n"),
    }
}

/// Returns an output as text, shortened in the middle.
fn shortened(captured: &Captured) -> String {
    let head = String::from_utf8_lossy(&captured.head);
    let tail = String::from_utf8_lossy(&captured.tail);
    let whole: Vec<char> = head.chars().chain(tail.chars()).collect();
    let left_out = captured.length > (captured.head.len() + captured.tail.len()) as u64;
    let text = |chars: &[char]| text::clean(&chars.iter().collect::<String>(), chars.len());
    if whole.len() <= 2 * SHOWN && !left_out {
        return text(&whole);
    }
    let (first, last) = (&whole[..SHOWN.min(whole.len())], &whole[whole.len().saturating_sub(SHOWN)..]);
    format!("{}\n[…]\n{}", text(first), text(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_output_is_shown_as_before() {
        let text: String = (0..60_000).map(|n| ['a', '\n', 'ä', '€', '🦀', '\0'][n * 7 % 6]).collect();
        let bytes = text.into_bytes();
        // Whole characters: what is cut out of a long output begins and ends anywhere.
        for head in [0, 12, 3_996, 7_992, 8_004, 15_996, 16_008, 20_004, 100_008] {
            for (tail, more) in [(0, 0), (0, 9), (12, 0), (2_004, 9), (7_992, 9), (20_004, 9), (20_016, 0)] {
                let (head, tail) = (bytes[..head].to_vec(), bytes[bytes.len() - tail..].to_vec());
                let length = (head.len() + tail.len() + more) as u64;
                let captured = Captured { head, tail, length, sha256: String::new() };
                let short = captured.clone().shortened();
                assert!(short.head.len() + short.tail.len() <= 8 * SHOWN);
                assert!(shortened(&short) == shortened(&captured), "{} {}", captured.head.len(), captured.tail.len());
            }
        }
    }
}
