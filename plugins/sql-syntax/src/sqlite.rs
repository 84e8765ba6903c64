//! SQLite, by a parser that reads the whole text.

use crate::lexed::{Fault, lexed};
use crate::{Answer, MOST_NESTING};
use gatehost_sdk::text::one_line;
use std::ops::Range;
use turso_parser::error::Error;
use turso_parser::lexer::Lexer;
use turso_parser::parser::Parser;
use turso_parser::token::TokenType;

/// The answer for a file that may be of any dialect. SQLite ends an open comment at the end of the file, no other does.
pub(crate) fn answer_in_doubt(text: &str) -> Answer {
    match answer(text) {
        Answer::Right if ends_in_open_comment(text) => Answer::Unsure("a comment is not closed".to_owned()),
        answer => answer,
    }
}

fn ends_in_open_comment(text: &str) -> bool {
    let last = Lexer::new(text.as_bytes()).map_while(Result::ok).last();
    last.is_some_and(|token| token.value.starts_with(b"/*") && (token.value.len() < 4 || !token.value.ends_with(b"*/")))
}

pub(crate) fn answer(text: &str) -> Answer {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if deepest(text) > MOST_NESTING || lexed(text).statements.iter().any(|statement| statement.depth > MOST_NESTING) {
        return Answer::Unsure(format!("brackets are nested deeper than {MOST_NESTING} levels"));
    }
    match parsed(text) {
        Answer::Right => {}
        other => return other,
    }
    match misplaced(text) {
        Some(fault) => Answer::Wrong(vec![fault]),
        None => Answer::Right,
    }
}

/// How many constraints are looked through that the parser does not take.
const MOST_CONSTRAINTS: usize = 1_000;

/// What the parser says. Behind `REFERENCES` it takes `NOT` for the start of `NOT DEFERRABLE`, so a `NOT NULL` there is
/// left out, and the text is read again.
fn parsed(text: &str) -> Answer {
    let mut changed: Option<String> = None;
    for _ in 0..MOST_CONSTRAINTS {
        let current = changed.as_deref().unwrap_or(text);
        let Some(error) = Parser::new(current.as_bytes()).find_map(Result::err) else { return Answer::Right };
        let Some(constraint) = not_null(current, &error) else { return of_error(&error, text) };
        let spaces = " ".repeat(constraint.len());
        changed.get_or_insert_with(|| text.to_owned()).replace_range(constraint, &spaces);
    }
    Answer::Unsure(format!("more than {MOST_CONSTRAINTS} columns have `NOT NULL` behind `REFERENCES`"))
}

/// The `NOT NULL` behind the `REFERENCES` of a column at which the parser stopped.
fn not_null(text: &str, error: &Error) -> Option<Range<usize>> {
    let Error::ParseUnexpectedToken { offset, .. } = error else { return None };
    let null = text.get(*offset..*offset + 4).filter(|word| word.eq_ignore_ascii_case("null"))?;
    let before = text[..*offset].trim_end();
    let not = before
        .len()
        .checked_sub(3)
        .filter(|&at| before.get(at..).is_some_and(|word| word.eq_ignore_ascii_case("not")))?;
    let statement = &before[before.rfind(';').map_or(0, |end| end + 1)..not].to_ascii_lowercase();
    let references = statement.rfind("references")?;
    // A comma at the same depth would start another column.
    let (mut depth, mut is_same) = (0_i32, true);
    for byte in statement[references..].bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => is_same = false,
            _ => {}
        }
    }
    // `FOREIGN KEY (a) REFERENCES b` is a constraint of the table, which has no `NOT NULL`.
    let column = statement[..references].trim_end();
    let is_key = column.ends_with(')') && column[..column.rfind('(')?].trim_end().ends_with("key");
    (is_same && depth == 0 && !is_key).then_some(not..*offset + null.len())
}

/// What the parser takes and SQLite does not: a `)` right behind a comma, and a `UNION`, `EXCEPT` or `INTERSECT` without
/// anything to combine, which the parser takes for a name. The arguments of a virtual table are for its module to judge.
fn misplaced(text: &str) -> Option<Fault> {
    use TokenType as T;
    let mut lexer = Lexer::new(text.as_bytes());
    let (mut before, mut operator, mut is_virtual) = (T::TK_SEMI, None, false);
    let fault = |message, at| Some(Fault { code: "syntax", message, at });
    let bare = |(at, word): (usize, &str)| fault(format!("expected `SELECT` or `VALUES` behind `{word}`"), at);
    while let Some(Ok(token)) = lexer.next() {
        let kind = token.token_type;
        if kind.is_none() {
            continue;
        }
        let is_combined = match before {
            T::TK_UNION => matches!(kind, T::TK_ALL | T::TK_SELECT | T::TK_VALUES),
            T::TK_EXCEPT | T::TK_INTERSECT => matches!(kind, T::TK_SELECT | T::TK_VALUES),
            _ => true,
        };
        if !is_combined {
            return operator.and_then(bare);
        }
        match kind {
            T::TK_VIRTUAL => is_virtual = true,
            T::TK_SEMI => is_virtual = false,
            T::TK_RP if before == T::TK_COMMA && !is_virtual => {
                let at = text.len() - lexer.remaining().len() - 1;
                return fault("expected an expression behind `,`, found `)`".to_owned(), at);
            }
            _ => {}
        }
        let is_operator = matches!(kind, T::TK_UNION | T::TK_EXCEPT | T::TK_INTERSECT);
        if is_operator && before != T::TK_LBRACKET {
            let end = text.len() - lexer.remaining().len();
            let start = end - token.value.len();
            (before, operator) = (kind, Some((start, &text[start..end])));
        } else {
            (before, operator) = (if is_operator { T::TK_ID } else { kind }, None);
        }
    }
    operator.and_then(bare)
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
