//! The output of a hook for its host: one JSON object or nothing, and an exit code.

use crate::text;
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

/// Returns a reason that every host accepts: not empty, not too long, and without characters that could hide text. If it has
/// marks, it has the note about them, too.
pub(super) fn bounded(reason: &str) -> String {
    let text = text::clean(reason.trim(), usize::MAX);
    if text.is_empty() {
        return "The gate did not pass.".to_owned();
    }
    let whole = noted(text.clone());
    if whole.chars().count() <= MAX_CHARS {
        return whole;
    }
    noted(text::first(&text, MAX_CHARS - MAX_NOTE).to_owned() + "…")
}

/// The most characters that a note and the sign of a cut take.
const MAX_NOTE: usize = 100;

fn noted(text: String) -> String {
    match text::note_line(&text).filter(|_| !text::has_note(&text)) {
        Some(line) => format!("{text}\n{}", line.trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_with_marks_has_a_note_however_long_it_is() {
        assert_eq!(bounded(" "), "The gate did not pass.");
        assert_eq!(bounded("plain\n"), "plain");
        for length in 0..3_000 {
            let reason = format!("a\u{200b}{}", "x".repeat(length));
            let noted = format!("{reason}\nNote: 1 invisible character is shown as a mark ⟨U+…⟩.\nIt runs again.\n");
            for text in [bounded(&reason), bounded(&noted)] {
                assert!(text.chars().count() <= MAX_CHARS, "{length}");
                assert!(text.contains("⟨U+200B⟩") && text.matches("Note: ").count() == 1, "{length}");
            }
        }
    }
}
