//! The `log` interface: bounded lines for authors and operators of verifiers.

use super::bindings::gatehost::verifier::log as wit;
use super::sandbox::Sandbox;
use crate::text;
use serde::Serialize;

/// How urgent a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the author of the verifier.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is odd.
    Warn,
    /// Something went wrong.
    Error,
    /// Written to the guest's standard output or standard error.
    Printed,
}

impl std::fmt::Display for LogLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Printed => "printed",
        })
    }
}

/// One line of a guest's log, escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// How urgent it is.
    pub severity: LogLevel,
    /// What it says, in one line.
    pub message: String,
}

/// The log of one call.
#[derive(Debug)]
pub(super) struct CallLog {
    lines: Vec<LogLine>,
    bytes_left: usize,
    dropped: u64,
}

impl CallLog {
    pub(super) fn new(bytes: usize) -> Self {
        Self { lines: Vec::new(), bytes_left: bytes, dropped: 0 }
    }

    pub(super) fn write(&mut self, severity: LogLevel, message: &str) {
        // The first line that does not fit ends the log, so that it has no gaps.
        let fits = self.dropped == 0 && message.len() < self.bytes_left;
        if fits {
            self.bytes_left -= message.len() + 1;
            self.lines.push(LogLine { severity, message: text::clean_line(message, message.len()) });
        } else {
            self.dropped += 1;
        }
    }

    /// Counts lines that were dropped elsewhere.
    pub(super) fn drop_lines(&mut self, lines: u64) {
        self.dropped += lines;
    }

    pub(super) fn into_parts(self) -> (Vec<LogLine>, u64) {
        (self.lines, self.dropped)
    }
}

impl wit::Host for Sandbox {
    fn write(&mut self, severity: wit::Severity, message: String) -> wasmtime::Result<()> {
        let severity = match severity {
            wit::Severity::Debug => LogLevel::Debug,
            wit::Severity::Info => LogLevel::Info,
            wit::Severity::Warn => LogLevel::Warn,
            wit::Severity::Error => LogLevel::Error,
        };
        self.log.write(severity, &message);
        Ok(())
    }
}
