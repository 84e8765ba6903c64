//! The findings of errors: their codes, which are stable, and their texts, which are the parser's.

use gatehost_sdk::Finding;

/// The finding of an error with this text.
pub(crate) fn of(message: &str) -> Finding {
    let lower = message.to_ascii_lowercase();
    let code = if lower.starts_with("expected ") {
        "expected"
    } else if lower.contains("unterminated") || lower.contains("missing trailing") {
        "unterminated"
    } else if lower.contains("literal") || lower.contains("escape") {
        "literal"
    } else {
        "syntax"
    };
    let mut message = message.to_owned();
    if message.chars().nth(1).is_some_and(char::is_lowercase) {
        message[..1].make_ascii_lowercase();
    }
    Finding::error(code, message)
}
