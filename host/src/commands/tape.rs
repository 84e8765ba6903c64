//! Recordings of command results, to repeat a run without running the commands.
//!
//! A tape is JSON Lines: one object for each run of a command, in the order in which the runs ended. On replay, each name
//! gets its own lines in order. A line can be written by hand: it needs only the command and how it ended.
//!
//! ```json
//! {"command": "verify", "exit_code": 1, "stdout": "1 test failed\n"}
//! ```

use super::{Advice, Captured, CommandEnding, CommandResult, NoResult, Rewrite};
use crate::config::{CommandConfig, SandboxLevel};
use crate::tape_files::{MAX_BYTES, StoredTape, TapeFiles};
use crate::text::{self, hex};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A recording of command results.
#[derive(Debug)]
pub enum CommandTape {
    /// Results are recorded.
    Record(CommandRecorder),
    /// Commands are not run; their results are replayed.
    Replay(CommandPlayer),
}

/// Writes results to every one of these files.
#[derive(Debug, Default)]
pub struct CommandRecorder(TapeFiles);

impl CommandRecorder {
    fn note(&self, check: &str, ran: &CommandResult) -> Result<(), NoResult> {
        let written = self.0.append(check, &CommandTapeLine::of(ran));
        written.map_err(|error| NoResult::not_started(format!("cannot write to the recording: {error}")))
    }
}

/// Reads a tape.
#[derive(Debug)]
pub struct CommandPlayer {
    /// Shared by all runs that use the tape: each result is given once.
    lines: Arc<Mutex<TapeLines>>,
    copy: CommandRecorder,
}

/// A tape, and where the lines of each command are: a parsed line takes many times as much memory.
#[derive(Debug)]
struct TapeLines {
    text: String,
    places: BTreeMap<String, VecDeque<(u32, u32)>>,
}

impl TapeLines {
    fn next(&mut self, command: &str) -> Option<CommandTapeLine> {
        let (start, end) = self.places.get_mut(command)?.pop_front()?;
        serde_json::from_str(&self.text[start as usize..end as usize]).ok()
    }
}

/// Why a tape cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadCommandTape {
    /// There is a file already.
    #[error("cannot record commands to `{}`: the file exists", .0.display())]
    Exists(PathBuf),
    /// The file cannot be made or read.
    #[error("cannot open the recording `{}`: {source}", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is too long.
    #[error("the recording `{}` has more than {MAX_BYTES} bytes", .0.display())]
    TooLong(PathBuf),
    /// A line is not the result of a command.
    #[error("the recording `{}`, line {line}: {message}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// One line of a tape.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTapeLine {
    command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    #[serde(default, skip_serializing_if = "TapeOutput::is_empty")]
    stdout: TapeOutput,
    #[serde(default, skip_serializing_if = "TapeOutput::is_empty")]
    stderr: TapeOutput,
    #[serde(default)]
    duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    advice: Option<Advice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rewrites: Vec<Rewrite>,
}

/// An output: its text, or its beginning and its end if it is too long. Bytes that are not text, or that JSON would have to escape,
/// are base64.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum TapeOutput {
    Whole(String),
    Cut {
        head: String,
        tail: String,
        length: u64,
        sha256: String,
    },
    Bytes {
        head_base64: TapeBytes,
        #[serde(default, skip_serializing_if = "TapeBytes::is_empty")]
        tail_base64: TapeBytes,
        length: u64,
        sha256: String,
    },
}

/// Bytes in base64.
#[derive(Debug, Default)]
struct TapeBytes(Vec<u8>);

impl TapeBytes {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for TapeBytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&base64::display::Base64Display::new(&self.0, &STANDARD))
    }
}

impl<'de> Deserialize<'de> for TapeBytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Returns text that is shorter in JSON than in base64.
fn plain(bytes: &[u8]) -> Option<&str> {
    let escaped = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    let length: usize = bytes.iter().map(escaped).sum();
    str::from_utf8(bytes).ok().filter(|_| length <= bytes.len() / 3 * 4 + 64)
}

impl Default for TapeOutput {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

impl TapeOutput {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(text) if text.is_empty())
    }

    fn of(captured: &Captured) -> Self {
        let Captured { head, tail, length, sha256 } = captured;
        match (plain(head), plain(tail)) {
            (Some(whole), _) if *length == whole.len() as u64 => Self::Whole(whole.to_owned()),
            (Some(head), Some(tail)) => {
                let (head, tail) = (head.to_owned(), tail.to_owned());
                Self::Cut { head, tail, length: *length, sha256: sha256.clone() }
            }
            _ => Self::Bytes {
                head_base64: TapeBytes(head.clone()),
                tail_base64: TapeBytes(tail.clone()),
                length: *length,
                sha256: sha256.clone(),
            },
        }
    }

    fn captured(self) -> Captured {
        match self {
            Self::Whole(text) => {
                let sha256 = hex(&Sha256::digest(&text));
                Captured { length: text.len() as u64, head: text.into_bytes(), tail: Vec::new(), sha256 }
            }
            Self::Cut { head, tail, length, sha256 } => {
                Captured { head: head.into_bytes(), tail: tail.into_bytes(), length, sha256 }
            }
            Self::Bytes { head_base64: TapeBytes(head), tail_base64: TapeBytes(tail), length, sha256 } => {
                Captured { head, tail, length, sha256 }
            }
        }
    }
}

impl CommandTapeLine {
    fn of(ran: &CommandResult) -> Self {
        let (exit_code, signal) = match ran.ending {
            CommandEnding::Exited(code) => (Some(code), None),
            CommandEnding::Signalled(signal) => (None, Some(signal)),
            CommandEnding::TimedOut => (None, None),
        };
        Self {
            command: ran.name.clone(),
            argv: ran.argv.clone(),
            exit_code,
            signal,
            timed_out: ran.ending == CommandEnding::TimedOut,
            stdout: TapeOutput::of(&ran.stdout),
            stderr: TapeOutput::of(&ran.stderr),
            duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            advice: ran.advice.clone(),
            rewrites: ran.rewrites.clone(),
        }
    }

    /// Returns how the command ended; the line must have exactly one of the three keys.
    fn ending(&self) -> Option<CommandEnding> {
        match (self.exit_code, self.signal, self.timed_out) {
            (Some(code), None, false) => Some(CommandEnding::Exited(code)),
            (None, Some(signal), false) => Some(CommandEnding::Signalled(signal)),
            (None, None, true) => Some(CommandEnding::TimedOut),
            _ => None,
        }
    }
}

impl CommandTape {
    /// Creates a file to record to. An existing file is never overwritten.
    pub fn record(path: &Path) -> Result<Self, BadCommandTape> {
        Ok(Self::Record(CommandRecorder(create(path)?)))
    }

    /// Returns the same tape, whose results are also stored with the run.
    pub(crate) fn and_stored(tape: Option<&Self>, stored: Arc<StoredTape>) -> Self {
        match tape {
            None => Self::Record(CommandRecorder(TapeFiles::default().and_stored(stored))),
            Some(Self::Record(CommandRecorder(files))) => Self::Record(CommandRecorder(files.and_stored(stored))),
            Some(Self::Replay(CommandPlayer { lines, .. })) => {
                let copy = CommandRecorder(TapeFiles::default().and_stored(stored));
                Self::Replay(CommandPlayer { lines: Arc::clone(lines), copy })
            }
        }
    }

    /// Reads a file to replay.
    pub fn replay(path: &Path) -> Result<Self, BadCommandTape> {
        let unusable = |source| BadCommandTape::Unusable { path: path.to_owned(), source };
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(unusable)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(BadCommandTape::TooLong(path.to_owned()));
        }
        let mut places: BTreeMap<String, VecDeque<(u32, u32)>> = BTreeMap::new();
        let mut end = 0;
        for (line, entry) in (1..).zip(text.split_inclusive('\n')) {
            let start = end;
            end += u32::try_from(entry.len()).unwrap_or(u32::MAX);
            if entry.trim().is_empty() {
                continue;
            }
            let invalid = |message: String| BadCommandTape::Invalid { path: path.to_owned(), line, message };
            let entry: CommandTapeLine =
                serde_json::from_str(entry).map_err(|error| invalid(text::clean_line(&error.to_string(), 200)))?;
            if entry.ending().is_none() {
                return Err(invalid("expected one of `exit_code`, `signal` and `timed_out`".to_owned()));
            }
            places.entry(entry.command).or_default().push_back((start, end));
        }
        let lines = Arc::new(Mutex::new(TapeLines { text, places }));
        Ok(Self::Replay(CommandPlayer { lines, copy: CommandRecorder::default() }))
    }

    /// Returns the recorded result of a command for a check.
    pub(super) fn played(
        &self,
        check: &str,
        name: &str,
        command: &CommandConfig,
    ) -> Option<Result<CommandResult, NoResult>> {
        let Self::Replay(CommandPlayer { lines, copy }) = self else { return None };
        let next = lines.lock().next(name);
        let missing = |what: &str| {
            NoResult::not_started(format!("the recording {what}")).with_hint("record it again with `--record-commands`")
        };
        let played = match next {
            None => Err(missing("has no further run of this command")),
            Some(line) if !line.argv.is_empty() && line.argv != command.run => {
                Err(missing("was recorded with other arguments"))
            }
            Some(line) => {
                line.ending().ok_or_else(|| missing("does not say how it ended")).map(|ending| CommandResult {
                    name: name.to_owned(),
                    argv: command.run.clone(),
                    ending,
                    stdout: line.stdout.captured(),
                    stderr: line.stderr.captured(),
                    started: SystemTime::now(),
                    duration: Duration::from_millis(line.duration_ms),
                    sandbox: SandboxLevel::None,
                    advice: line.advice,
                    rewrites: line.rewrites,
                    replayed: true,
                    on_base: false,
                })
            }
        };
        Some(played.and_then(|ran| copy.note(check, &ran).map(|()| ran)))
    }

    /// Records the result of a command for a check. If it cannot be written, the command has no result, because a recording must be
    /// complete.
    pub(super) fn note(&self, check: &str, ran: &CommandResult) -> Result<(), NoResult> {
        if let Self::Record(recorder) = self { recorder.note(check, ran) } else { Ok(()) }
    }
}

/// Creates a file that only its owner can read.
fn create(path: &Path) -> Result<TapeFiles, BadCommandTape> {
    TapeFiles::create(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => BadCommandTape::Exists(path.to_owned()),
        _ => BadCommandTape::Unusable { path: path.to_owned(), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> CommandConfig {
        let config = crate::config::parse(b"[gate.g]\nall=[\"c\"]\n[check.c]\nverifier=\"command\"\ngrants=[\"command:it\"]\n[command.it]\nrun=[\"true\", \"x\"]\n");
        config.expect("a configuration").commands["it"].clone()
    }

    #[test]
    fn what_was_recorded_is_replayed_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape");
        let tape = CommandTape::record(&path).expect("a tape");
        let ran = |code| CommandResult {
            name: "it".to_owned(),
            argv: command().run,
            ending: CommandEnding::Exited(code),
            stdout: TapeOutput::Whole("out\n".to_owned()).captured(),
            stderr: TapeOutput::default().captured(),
            started: SystemTime::now(),
            duration: Duration::from_millis(7),
            sandbox: SandboxLevel::None,
            advice: None,
            rewrites: Vec::new(),
            replayed: false,
            on_base: false,
        };
        tape.note("c", &ran(1)).expect("noted");
        tape.note("c", &ran(0)).expect("noted");
        assert!(matches!(CommandTape::record(&path), Err(BadCommandTape::Exists(_))));
        let tape = CommandTape::replay(&path).expect("a tape");
        for code in [1, 0] {
            let played = tape.played("c", "it", &command()).expect("played").expect("a result");
            assert_eq!(
                (played.ending, &*played.stdout.head, played.replayed),
                (CommandEnding::Exited(code), &b"out\n"[..], true)
            );
        }
        assert!(tape.played("c", "it", &command()).expect("played").is_err(), "none is left");
    }

    #[test]
    fn nothing_that_does_not_say_how_it_ended_is_played() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape");
        for (line, message) in [
            ("{\"command\": \"it\"}", "expected one of"),
            ("{\"command\": \"it\", \"exit_code\": 0, \"timed_out\": true}", "expected one of"),
            ("{\"command\": \"it\", \"exit\": 0}", "unknown field"),
            ("exit 0", "expected value"),
        ] {
            std::fs::write(&path, line).expect("written");
            let error = CommandTape::replay(&path).expect_err(line).to_string();
            assert!(error.contains(message) && error.contains("line 1"), "{error}");
        }
        std::fs::write(&path, "{\"command\": \"it\", \"argv\": [\"false\"], \"exit_code\": 0}").expect("written");
        let tape = CommandTape::replay(&path).expect("a tape");
        assert!(tape.played("c", "it", &command()).expect("played").is_err(), "another command");
    }

    #[test]
    fn every_output_is_replayed_byte_by_byte_and_takes_little_more_space() {
        let digest = |bytes: &[u8]| hex(&Sha256::digest(bytes));
        let noise: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        for (head, tail, length) in [
            (&b""[..], &b""[..], 0),
            (b"text, with \"quotes\" and \xc3\xa4\n", b"", 32),
            (&[0; 10_000], b"", 10_000),
            (&[0; 10_000], &[0x1b; 10_000], 5_000_000),
            (&noise, b"", 10_000),
            (&noise, b"text", 20_000),
            (b"text", &noise, 20_000),
            // Cut within a character.
            (b"\xc3", b"\xa4", 1_000),
            (b"a head", b"a tail", 1_000),
        ] {
            let head = head.to_vec();
            let ran = Captured { tail: tail.to_vec(), length, sha256: digest(&head), head };
            let line = serde_json::to_string(&TapeOutput::of(&ran)).expect("JSON");
            assert!(line.len() <= (ran.head.len() + ran.tail.len()) * 4 / 3 + 300, "{} bytes", line.len());
            let read: TapeOutput = serde_json::from_str(&line).expect("an output");
            assert_eq!(read.captured(), ran, "{line}");
        }
        // As earlier versions wrote it.
        let old = r#"{"head": "a\u0000", "tail": "b", "length": 100, "sha256": "00"}"#;
        let read: TapeOutput = serde_json::from_str(old).expect("an output");
        assert_eq!(
            (read.captured().head, serde_json::from_str::<TapeOutput>("\"\\u0000\"").expect("one").captured().head),
            (b"a\0".to_vec(), vec![0])
        );
        assert!(serde_json::from_str::<TapeOutput>(r#"{"head_base64": "?", "length": 1, "sha256": ""}"#).is_err());
    }
}
