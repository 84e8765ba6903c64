//! Why a command has no result. This is an error of the check, whatever its verifier would say.

use crate::verdict::{ErrorKind, Failure};

/// Why a command has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoResult {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl NoResult {
    /// Returns the reason for a command that could not be started, confined or supervised.
    pub fn not_started(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::CommandNotStarted, message: message.into(), hint: None }
    }

    /// Returns the reason for a command that changed protected files.
    pub fn tampered(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::CommandTampered, ..Self::not_started(message) }
    }

    /// Adds what to do about it.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the name of the command.
    pub(super) fn of(self, name: &str) -> Self {
        Self { message: format!("the command `{name}`: {}", self.message), ..self }
    }

    /// Returns `command.not-started` or `command.tampered`.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the hint, if there is one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<NoResult> for Failure {
    fn from(NoResult { kind, message, hint }: NoResult) -> Self {
        let failure = Self::new(kind, message);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
