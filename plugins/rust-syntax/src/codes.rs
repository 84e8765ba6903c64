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
    let mut message = in_plain_words(message);
    if message.chars().nth(1).is_some_and(char::is_lowercase) {
        message[..1].make_ascii_lowercase();
    }
    Finding::error(code, message)
}

/// The parser's names of tokens, as they are written.
const TOKENS: &[(&str, &str)] = &[
    ("SEMICOLON", "`;`"),
    ("COMMA", "`,`"),
    ("COLON", "`:`"),
    ("COLON2", "`::`"),
    ("EQ", "`=`"),
    ("FAT_ARROW", "`=>`"),
    ("THIN_ARROW", "`->`"),
    ("L_PAREN", "`(`"),
    ("R_PAREN", "`)`"),
    ("L_BRACK", "`[`"),
    ("R_BRACK", "`]`"),
    ("L_CURLY", "`{`"),
    ("R_CURLY", "`}`"),
    ("L_ANGLE", "`<`"),
    ("R_ANGLE", "`>`"),
    ("PIPE", "`|`"),
    ("BANG", "`!`"),
    ("IDENT", "a name"),
    ("STRING", "a string"),
    ("LIFETIME_IDENT", "a lifetime"),
];

fn in_plain_words(message: &str) -> String {
    let name = message.strip_prefix("expected ").unwrap_or_default();
    match TOKENS.iter().find(|(token, _)| *token == name) {
        Some((_, written)) => format!("expected {written}"),
        None => message.to_owned(),
    }
}
