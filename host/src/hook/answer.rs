//! The output of a hook for its host: one JSON object or nothing, and an exit code.

use serde_json::Value;

/// The most characters of a reason.
const MAX_CHARS: usize = 2_000;

/// The output and the exit code of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// On standard output: one JSON object, or nothing.
    pub stdout: String,
    /// On standard error.
    pub stderr: String,
    /// The exit code: 0, or 2 if the host can be blocked only by it.
    pub exit: u8,
}

impl Answer {
    pub(super) fn silent() -> Self {
        Self { stdout: String::new(), stderr: String::new(), exit: 0 }
    }

    pub(super) fn json(object: &Value) -> Self {
        Self { stdout: object.to_string(), ..Self::silent() }
    }

    /// Returns exit code 2, with the reason on standard error.
    pub fn refuse(reason: &str) -> Self {
        Self { stderr: bounded(reason), exit: 2, ..Self::silent() }
    }
}

/// Returns a reason that every host accepts: not empty, not too long, and without characters that could hide text.
pub(super) fn bounded(reason: &str) -> String {
    let text = crate::text::clean(reason.trim(), usize::MAX);
    match text.chars().count() {
        0 => "The gate did not pass.".to_owned(),
        count if count <= MAX_CHARS => text,
        _ => text.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
    }
}
