//! Why there is no result of a command: an error of the check, whatever its verifier would say.

use crate::verdict::{ErrorKind, Failure};

/// Why there is no result of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoResult {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl NoResult {
    /// Returns the command could not be started, confined or attended to.
    pub fn not_started(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::CommandNotStarted, message: message.into(), hint: None }
    }

    /// Returns the command changed what it must not.
    pub fn tampered(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::CommandTampered, ..Self::not_started(message) }
    }

    /// Adds what to do about it.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Says which command it was.
    pub(super) fn of(self, name: &str) -> Self {
        Self { message: format!("the command `{name}`: {}", self.message), ..self }
    }

    /// Returns which of the two it is: `command.not-started` or `command.tampered`.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it, if that is known.
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
