//! Checks PostgreSQL, statement by statement.

use crate::lexed::{Fault, Lexed, Statement, lexed};
use crate::words::{Word, words};
use crate::{FORMAT, MOST_NESTING, Outcome, Version, actions, newer};
use gatehost_sdk::foreign;
use gatehost_sdk::text::one_line;
use postgresql_cst_parser::ParserError;

/// How many words and marks a statement may have: a list is nested as deep as it is long, and twice this many fit the
/// stack.
const MOST_TOKENS: usize = 4_000;
/// Behind a statement that is complete this is an error, and nowhere before. So the parser never builds its tree, which
/// would take more stack than the parsing.
const SENTINEL: &str = "\n;)";

/// What a text may have: the parser compares each word with every keyword, which takes its time.
const MOST_BYTES: usize = 2 << 20;
/// How many words and marks are parsed in one go. Starting the parser costs more than a short statement.
const BATCH: usize = 1_000;

/// The outcome as PostgreSQL, with at least this many faults if there are so many.
pub(crate) fn answer(text: &str, version: Version, most: usize) -> Outcome {
    if text.len() > MOST_BYTES {
        return Outcome::Unknown("the file is larger than 2 MiB".to_owned());
    }
    let Lexed { statements, faults, unknown_command } = lexed(text);
    if let Some(at) = unknown_command {
        let line = text[..at].matches('\n').count() + 1;
        return Outcome::Unknown(format!("line {line} starts with `\\\\` and is not a known psql command"));
    }
    if !faults.is_empty() {
        return Outcome::Invalid(faults);
    }
    let mut wrong = Vec::new();
    for batch in batches(&statements) {
        if wrong.len() >= most || batch.len() > 1 && are_right(batch) {
            continue;
        }
        for statement in batch {
            if wrong.len() >= most {
                break;
            }
            match judge(text, statement, version) {
                Outcome::Valid => {}
                Outcome::Invalid(faults) => wrong.extend(faults),
                // One error is enough to know; otherwise not all of the file is judged.
                Outcome::Unknown(_) | Outcome::Template(_) if !wrong.is_empty() => {}
                unsure => return unsure,
            }
        }
    }
    if wrong.is_empty() { Outcome::Valid } else { Outcome::Invalid(wrong) }
}

/// The statements in groups of up to [`BATCH`] words and marks; a longer one is alone.
fn batches<'s, 'a>(statements: &'s [Statement<'a>]) -> Vec<&'s [Statement<'a>]> {
    let mut batches = Vec::new();
    let mut rest = statements;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fitting = rest.iter().take_while(|statement| {
            tokens += statement.tokens;
            tokens <= BATCH
        });
        let (batch, behind) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = behind;
    }
    batches
}

/// Whether a group of statements is right for certain. What is not sure is looked at one by one.
fn are_right(batch: &[Statement]) -> bool {
    let odd = |statement: &Statement| {
        statement.depth > MOST_NESTING
            || statement.stray.is_some()
            || beyond_the_lexer(statement).is_some()
            || actions::refused(statement.text).is_some()
    };
    let texts: Vec<&str> = batch.iter().map(|statement| statement.text).collect();
    !batch.iter().any(odd) && problem(&texts.join("\n;\n")).is_none()
}

fn judge(text: &str, statement: &Statement, version: Version) -> Outcome {
    if statement.tokens > MOST_TOKENS {
        return Outcome::Unknown(format!("a statement has more than {MOST_TOKENS} tokens"));
    }
    if statement.depth > MOST_NESTING {
        return Outcome::Unknown(format!("brackets are nested deeper than {MOST_NESTING} levels"));
    }
    if let Some(what) = beyond_the_lexer(statement) {
        return Outcome::Unknown(format!("the parser does not support {what}"));
    }
    // On such a mark the parser would panic.
    let stray = statement.stray.map(|at| (at, near(&statement.text[at..at + 1])));
    let refused = || actions::refused(statement.text).map(|(at, word)| (at, near(word)));
    let found = stray.or_else(|| problem_in(statement.text, version)).or_else(refused);
    let Some((at, message)) = found else { return Outcome::Valid };
    if let Some(reason) = foreign::reason(text, &FORMAT, statement.at + at) {
        return Outcome::Template(reason);
    }
    if let Some(what) = not_sql(statement.text, at) {
        return Outcome::Unknown(format!("a statement contains {what}"));
    }
    Outcome::Invalid(vec![Fault { code: "syntax", message, at: statement.at + at }])
}

/// What is wrong with a statement by the grammar of a version.
fn problem_in(statement: &str, version: Version) -> Option<(usize, String)> {
    let found = problem(statement)?;
    let Some(rewritten) = newer::as_17(statement).filter(|_| version == Version::Eighteen) else { return Some(found) };
    problem(&rewritten.text).map(|(at, message)| (rewritten.original(at).min(statement.len()), message))
}

fn problem(statement: &str) -> Option<(usize, String)> {
    let text = format!("{statement}{SENTINEL}");
    let sentinel = text.len() - 1;
    match postgresql_cst_parser::parse(&text).err()? {
        ParserError::ParseError { start_byte_pos, .. } if start_byte_pos >= sentinel => None,
        ParserError::ParseError { start_byte_pos, end_byte_pos, .. } => {
            let at = start_byte_pos.min(statement.len());
            let message = match statement.get(at..end_byte_pos.min(statement.len())) {
                None | Some("") => "syntax error at the end of the statement".to_owned(),
                Some(token) => near(token),
            };
            Some((at, message))
        }
        ParserError::ScanReport(report) => Some((report.position_in_bytes.min(statement.len()), report.message)),
        ParserError::ScanError { message } => Some((0, message)),
    }
}

fn near(token: &str) -> String {
    format!("syntax error at or near `{}`", one_line(token))
}

/// What makes the parser's lexer panic.
fn beyond_the_lexer(statement: &Statement) -> Option<&'static str> {
    let has = |wanted: fn(&[u8]) -> bool| statement.text.as_bytes().windows(3).any(wanted);
    if has(|bytes| matches!(bytes, [b'u' | b'U', b'&', b'\'' | b'"'])) {
        Some("strings and names of the form `U&'…'`")
    } else if has(|bytes| matches!(bytes, [b'0', b'b' | b'B', b'0' | b'1' | b'_'])) {
        Some("numbers that start with `0b`")
    } else if has(|bytes| matches!(bytes, [b'\\', b'u' | b'U', next] if next.is_ascii_hexdigit())) {
        Some("escapes of the form `\\u0061`")
    } else if statement.glued {
        Some("a non-ASCII letter right after a string")
    } else {
        None
    }
}

/// What a client or a template engine replaces before PostgreSQL reads the statement, which has its error at this byte.
fn not_sql(statement: &str, error: usize) -> Option<&'static str> {
    let has_mark = |text: &str| ["{{", "{%", "${"].iter().any(|mark| text.contains(mark));
    let is_string = |word: &Word| word.text.starts_with(['\'', '"']);
    let words = words(statement);
    let mut bare = vec![b' '; statement.len()];
    for word in words.iter().filter(|word| !is_string(word)) {
        bare[word.at..word.at + word.text.len()].copy_from_slice(word.text.as_bytes());
    }
    // A string right before the error may have ended at a quote of the template in it: `'{{ a('b') }}'`.
    let cut = words.iter().rfind(|word| word.at < error).filter(|word| is_string(word));
    let bytes = statement.as_bytes();
    let is_variable = |at: usize| {
        // Behind an operand it is a cast with one colon.
        let is_cast = at > 0 && matches!(bytes[at - 1], b':' | b')' | b']' | b'\'');
        bare[at] == b':'
            && !is_cast
            && bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'_' | b'\'' | b'"'))
    };
    if has_mark(&String::from_utf8_lossy(&bare)) || cut.is_some_and(|word| has_mark(word.text)) {
        Some("template syntax")
    } else if (0..bytes.len()).any(is_variable) {
        Some("a psql variable or a named parameter")
    } else if bare.contains(&b'?') {
        Some("a parameter `?`")
    } else {
        None
    }
}
