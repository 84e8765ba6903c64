//! Checks SQLite, with a parser that reads the whole text.

use crate::lexed::{Fault, lexed};
use crate::{MOST_NESTING, Outcome};
use gatehost_sdk::text::one_line;
use std::borrow::Cow;
use std::ops::Range;
use turso_parser::error::Error;
use turso_parser::lexer::Lexer;
use turso_parser::parser::Parser;
use turso_parser::token::TokenType;

/// The answer for a file that may be of any dialect. SQLite ends an open comment at the end of the file, no other does.
pub(crate) fn answer_in_doubt(text: &str) -> Outcome {
    match answer(text) {
        Outcome::Valid if ends_in_open_comment(text) => Outcome::Unknown("a comment is not closed".to_owned()),
        answer => answer,
    }
}

fn ends_in_open_comment(text: &str) -> bool {
    let last = Lexer::new(text.as_bytes()).map_while(Result::ok).last();
    last.is_some_and(|token| token.value.starts_with(b"/*") && (token.value.len() < 4 || !token.value.ends_with(b"*/")))
}

pub(crate) fn answer(text: &str) -> Outcome {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if deepest(text) > MOST_NESTING || lexed(text).statements.iter().any(|statement| statement.depth > MOST_NESTING) {
        return Outcome::Unknown(format!("brackets are nested deeper than {MOST_NESTING} levels"));
    }
    let for_parser = with_quoted_brackets(text);
    let extension = not_sqlite(&for_parser);
    match parsed(&for_parser, text) {
        Outcome::Invalid(faults) => match extension.filter(|extension| faults[0].at > extension.at) {
            Some(extension) => Outcome::Invalid(vec![extension]),
            None => Outcome::Invalid(faults),
        },
        Outcome::Valid => extension.map_or(Outcome::Valid, |extension| Outcome::Invalid(vec![extension])),
        unsure => unsure,
    }
}

/// The text in SQLite's older spelling, byte for byte as long. The parser reads `[…]` as an array and `:1` as a slice,
/// which SQLite does not have, and does not know the parameter `#a`.
fn with_quoted_brackets(text: &str) -> Cow<'_, str> {
    let mut bytes = Cow::Borrowed(text.as_bytes());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let next = rest.get(1).copied().unwrap_or_default();
        let until = |end: &[u8], from: usize| {
            let found = rest.get(from..).and_then(|behind| behind.windows(end.len()).position(|part| part == end));
            found.map(|found| from + found + end.len())
        };
        let end = match byte {
            b'\'' | b'"' | b'`' => until(&[byte], 1),
            b'-' if next == b'-' => until(b"\n", 2),
            b'/' if next == b'*' => until(b"*/", 2),
            b'[' => until(b"]", 1),
            _ => Some(1),
        };
        let Some(length) = end else { break };
        match byte {
            b'[' => {
                // Two quotes side by side would be one in a name.
                let beside = [at.checked_sub(1), Some(at + length)].map(|at| at.and_then(|at| bytes.get(at)).copied());
                let quote = if beside.contains(&Some(b'"')) { b'`' } else { b'"' };
                let name = &mut bytes.to_mut()[at..at + length];
                name.iter_mut().filter(|byte| **byte == quote).for_each(|byte| *byte = b'_');
                (name[0], name[length - 1]) = (quote, quote);
            }
            b':' if next.is_ascii_digit() => bytes.to_mut()[at] = b'$',
            b'#' if next.is_ascii_alphabetic() || next == b'_' => bytes.to_mut()[at] = b'$',
            _ => {}
        }
        at += length;
    }
    match bytes {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        // Only ASCII was replaced, by ASCII.
        Cow::Owned(bytes) => String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// How often a text is parsed again without syntax that the parser does not know.
const MOST_REPAIRS: usize = 1_000;

/// The answer of the parser. It does not know all of SQLite: after `REFERENCES` it reads `NOT` as the start of
/// `NOT DEFERRABLE`, and it lacks the constraints that SQLite 3.53 added to `ALTER TABLE`. Both are blanked, and the text
/// is parsed again.
fn parsed(for_parser: &str, text: &str) -> Outcome {
    let mut blanked: Option<String> = None;
    for _ in 0..MOST_REPAIRS {
        let current = blanked.as_deref().unwrap_or(for_parser);
        let mut parser = Parser::new(current.as_bytes());
        let error = loop {
            match parser.next_cmd() {
                Ok(Some(_)) => {}
                Ok(None) => return Outcome::Valid,
                Err(error) => break error,
            }
        };
        let at = parser.offset().min(text.len());
        let Some(unknown) = not_null(current, &error).or_else(|| altered_constraint(current, &error)) else {
            return of_error(&error, text, at);
        };
        let spaces = " ".repeat(unknown.len());
        blanked.get_or_insert_with(|| for_parser.to_owned()).replace_range(unknown, &spaces);
    }
    Outcome::Unknown(format!("more than {MOST_REPAIRS} constraints are unknown to the parser"))
}

/// A token, and the bytes where it stands.
type Spanned = (TokenType, Range<usize>);

fn tokens(text: &str) -> impl Iterator<Item = Spanned> + '_ {
    let mut lexer = Lexer::new(text.as_bytes());
    std::iter::from_fn(move || {
        let token = lexer.by_ref().map_while(Result::ok).find(|token| !token.token_type.is_none())?;
        let end = text.len() - lexer.remaining().len();
        Some((token.token_type, end - token.value.len()..end))
    })
}

/// The statement `ALTER TABLE` at which the parser stopped, if it adds, drops or changes a constraint as SQLite can since
/// version 3.53.
fn altered_constraint(text: &str, error: &Error) -> Option<Range<usize>> {
    use TokenType as T;
    let Error::ParseUnexpectedToken { offset, .. } = error else { return None };
    let mut statement: Vec<Spanned> = Vec::new();
    for token in tokens(text) {
        let ends = token.0 == T::TK_SEMI;
        if ends && token.1.start < *offset {
            statement.clear();
        } else if ends {
            break;
        } else {
            statement.push(token);
        }
    }
    let range = statement.first()?.1.start..statement.last()?.1.end;
    let kinds: Vec<T> = statement.iter().map(|token| token.0).collect();
    let [T::TK_ALTER, T::TK_TABLE, rest @ ..] = &kinds[..] else { return None };
    let rest = match rest {
        [_, T::TK_DOT, _, rest @ ..] | [_, rest @ ..] => rest,
        [] => return None,
    };
    let is_known = match rest {
        [T::TK_DROP, T::TK_CONSTRAINT, _] => true,
        [T::TK_ALTER, T::TK_COLUMNKW, _, change @ ..] | [T::TK_ALTER, _, change @ ..] => matches!(
            change,
            [T::TK_DROP, T::TK_NOT, T::TK_NULL]
                | [T::TK_SET, T::TK_NOT, T::TK_NULL]
                | [T::TK_SET, T::TK_NOT, T::TK_NULL, T::TK_ON, T::TK_CONFLICT, _]
        ),
        [T::TK_ADD, T::TK_CONSTRAINT, _, T::TK_CHECK, ..] | [T::TK_ADD, T::TK_CHECK, ..] => {
            let first = kinds.len() - rest.len() + 1;
            // The parser does not know what to do on a conflict of a check.
            let is_handled = matches!(rest, [.., T::TK_ON, T::TK_CONFLICT, _]);
            let last = kinds.len() - if is_handled { 4 } else { 1 };
            is_one_constraint(&text[statement.get(first)?.1.start..statement.get(last)?.1.end])
        }
        _ => false,
    };
    is_known.then_some(range)
}

/// Whether a text is one constraint of a table.
fn is_one_constraint(text: &str) -> bool {
    let table = format!("CREATE TABLE a (b, {text})");
    let commas = tokens(text).scan(0_usize, |depth, (kind, _)| {
        match kind {
            TokenType::TK_LP => *depth += 1,
            TokenType::TK_RP => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth == 0 && kind == TokenType::TK_COMMA)
    });
    commas.filter(|is_comma| *is_comma).count() == 0 && Parser::new(table.as_bytes()).all(|statement| statement.is_ok())
}

/// The `NOT NULL` after the `REFERENCES` of a column at which the parser stopped.
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

/// The first syntax that the parser accepts and SQLite does not: what the parser's own database adds (types, domains,
/// sequences, materialized views, arrays), a `)` right after a comma, and a `UNION`, `EXCEPT` or `INTERSECT` without
/// anything to combine, which the parser reads as a name. The arguments of a virtual table are for its module to judge.
fn not_sqlite(text: &str) -> Option<Fault> {
    use TokenType as T;
    let fault = |message: String, at| Some(Fault { code: "syntax", message, at });
    let near = |range: &Range<usize>| fault(near(&text[range.clone()]), range.start);
    let bare = |(_, range): &Spanned| {
        fault(format!("expected `SELECT` or `VALUES` after `{}`", &text[range.clone()]), range.start)
    };
    let is_operator = |kind: T| matches!(kind, T::TK_UNION | T::TK_EXCEPT | T::TK_INTERSECT);
    let mut before = (T::TK_SEMI, 0..0);
    let mut statement = Statement::default();
    for token in tokens(text) {
        let (kind, range) = token.clone();
        let is_combined = match before.0 {
            T::TK_UNION => matches!(kind, T::TK_ALL | T::TK_SELECT | T::TK_VALUES),
            T::TK_EXCEPT | T::TK_INTERSECT => matches!(kind, T::TK_SELECT | T::TK_VALUES),
            _ => true,
        };
        if !is_combined {
            return bare(&before);
        }
        match (before.0, kind) {
            (_, T::TK_SEMI) => statement = Statement::default(),
            (T::TK_COMMA, T::TK_RP) if !statement.is_virtual => {
                return fault("expected an expression after `,`, found `)`".to_owned(), range.start);
            }
            (T::TK_LP | T::TK_COMMA | T::TK_EQ, T::TK_DEFAULT)
                if !statement.is_virtual && statement.first != Some(T::TK_PRAGMA) =>
            {
                return near(&range);
            }
            (T::TK_WITHIN, T::TK_GROUP) if tokens(&text[range.end..]).next()?.0 == T::TK_LP => return near(&range),
            (_, T::TK_ARRAY_CONTAINS | T::TK_ARRAY_OVERLAP) => return near(&range),
            _ if statement.is_extended_by(kind, &text[range.clone()]) => return near(&range),
            _ => {}
        }
        before = token;
    }
    is_operator(before.0).then(|| bare(&before)).flatten()
}

/// The beginning of a statement, as far as it was read.
#[derive(Default)]
struct Statement {
    first: Option<TokenType>,
    length: usize,
    is_virtual: bool,
    is_index: bool,
}

impl Statement {
    /// Reads one more token of the statement. Returns whether it belongs to a statement that SQLite does not have.
    fn is_extended_by(&mut self, kind: TokenType, text: &str) -> bool {
        use TokenType as T;
        self.length += 1;
        let first = *self.first.get_or_insert(kind);
        self.is_virtual |= kind == T::TK_VIRTUAL;
        self.is_index |= first == T::TK_CREATE && self.length <= 3 && kind == T::TK_INDEX;
        let names_object = || ["type", "domain", "sequence"].iter().any(|object| text.eq_ignore_ascii_case(object));
        match (first, self.length) {
            (T::TK_OPTIMIZE, 1) => true,
            (T::TK_BEGIN, 2) => kind == T::TK_CONCURRENT,
            (T::TK_CREATE, 2) => kind == T::TK_MATERIALIZED || names_object(),
            (T::TK_DROP, 2) => names_object(),
            _ => self.is_index && matches!(kind, T::TK_USING | T::TK_WITH),
        }
    }
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

/// The answer for an error of the parser, which stopped at this byte.
fn of_error(error: &Error, text: &str, stopped: usize) -> Outcome {
    let wrong =
        |code, message: String, at: usize| Outcome::Invalid(vec![Fault { code, message, at: at.min(text.len()) }]);
    // The parser read the text with other brackets.
    let written = |token: &str, at: usize| text.get(at..at + token.len()).unwrap_or(token).to_owned();
    match error {
        Error::UnterminatedLiteral { offset, .. } | Error::UnterminatedBracket { offset, .. } => {
            wrong("unclosed-string", "a string or a quoted name is not closed".to_owned(), *offset)
        }
        // SQLite itself ends such a comment at the end of the file.
        Error::UnterminatedBlockComment { .. } => Outcome::Valid,
        Error::ParseUnexpectedEOF => wrong("unexpected-end", "the file ends within a statement".to_owned(), text.len()),
        Error::ParseUnexpectedToken { token_text, offset, .. } => {
            wrong("syntax", near(&written(token_text, *offset)), *offset)
        }
        Error::UnrecognizedToken { token_text, offset, .. }
        | Error::BadNumber { token_text, offset, .. }
        | Error::BadFractionalPart { token_text, offset, .. }
        | Error::BadExponentPart { token_text, offset, .. }
        | Error::ExpectedEqualsSign { token_text, offset, .. }
        | Error::MalformedHexInteger { token_text, offset, .. } => {
            wrong("syntax", format!("unrecognized token `{}`", one_line(&written(token_text, *offset))), *offset)
        }
        Error::Custom(message) | Error::ParseError(message) if !is_own_limit(message) => {
            wrong("syntax", one_line(message), stopped)
        }
        other => Outcome::Unknown(one_line(&other.to_string())),
    }
}

/// Whether a message is about a limit or a rule that SQLite does not share.
fn is_own_limit(message: &str) -> bool {
    ["Expression tree is too large", "positional variable", "variable number", " columns for ", "vtab args"]
        .iter()
        .any(|part| message.contains(part))
}

fn near(token: &str) -> String {
    format!("syntax error near `{}`", one_line(token))
}
