//! SQLite, by a parser that reads the whole text.

use crate::lexed::{Fault, statements};
use crate::{Answer, MOST_NESTING};
use gatehost_sdk::text::one_line;
use turso_parser::error::Error;
use turso_parser::parser::Parser;

pub(crate) fn answer(text: &str) -> Answer {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let (statements, _) = statements(text);
    if deepest(text) > MOST_NESTING || statements.iter().any(|statement| statement.depth > MOST_NESTING) {
        return Answer::Unsure(format!("brackets are nested deeper than {MOST_NESTING} levels"));
    }
    for command in Parser::new(text.as_bytes()) {
        if let Err(error) = command {
            return of_error(&error, text);
        }
    }
    Answer::Right
}

/// How deep brackets can be at most, whatever is a string and what is not.
fn deepest(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b';' => depth = 0,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn of_error(error: &Error, text: &str) -> Answer {
    let wrong = |code, message: String, at: usize| Answer::Wrong(vec![Fault { code, message, at: at.min(text.len()) }]);
    match error {
        Error::UnterminatedLiteral { offset, .. } | Error::UnterminatedBracket { offset, .. } => {
            wrong("unclosed-string", "a string or a quoted name is not closed".to_owned(), *offset)
        }
        // SQLite itself ends such a comment at the end of the file.
        Error::UnterminatedBlockComment { .. } => Answer::Right,
        Error::ParseUnexpectedEOF => wrong("unexpected-end", "the file ends within a statement".to_owned(), text.len()),
        Error::ParseUnexpectedToken { token_text, offset, .. } => {
            wrong("syntax", format!("syntax error near `{}`", one_line(token_text)), *offset)
        }
        Error::UnrecognizedToken { token_text, offset, .. } => {
            wrong("syntax", format!("unrecognized token `{}`", one_line(token_text)), *offset)
        }
        // Limits and rules of the parser's own, which SQLite need not share.
        other => Answer::Unsure(one_line(&other.to_string())),
    }
}
