//! PostgreSQL, statement by statement.

use crate::lexed::{Fault, Lexed, Statement, lexed};
use crate::{Answer, FORMAT, MOST_FINDINGS, MOST_NESTING, Version, actions, newer};
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

pub(crate) fn answer(text: &str, version: Version) -> Answer {
    if text.len() > MOST_BYTES {
        return Answer::Unsure("larger than 2 MiB".to_owned());
    }
    let Lexed { statements, faults, unknown_command } = lexed(text);
    if let Some(at) = unknown_command {
        let line = text[..at].matches('\n').count() + 1;
        return Answer::Unsure(format!("line {line} is no command of psql that this verifier knows"));
    }
    if !faults.is_empty() {
        return Answer::Wrong(faults);
    }
    let mut wrong = Vec::new();
    for batch in batches(&statements) {
        if batch.len() > 1 && are_right(batch) {
            continue;
        }
        for statement in batch {
            match judge(text, statement, version) {
                Answer::Right => {}
                Answer::Wrong(faults) => wrong.extend(faults),
                // One error is enough to know; otherwise not all of the file is judged.
                Answer::Unsure(_) | Answer::Template(_) if !wrong.is_empty() => {}
                unsure => return unsure,
            }
        }
        if wrong.len() >= MOST_FINDINGS {
            break;
        }
    }
    if wrong.is_empty() { Answer::Right } else { Answer::Wrong(wrong) }
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

fn judge(text: &str, statement: &Statement, version: Version) -> Answer {
    if statement.tokens > MOST_TOKENS {
        return Answer::Unsure(format!("a statement has more than {MOST_TOKENS} words and marks"));
    }
    if statement.depth > MOST_NESTING {
        return Answer::Unsure(format!("brackets are nested deeper than {MOST_NESTING} levels"));
    }
    if let Some(what) = beyond_the_lexer(statement) {
        return Answer::Unsure(format!("the parser does not know {what}"));
    }
    // On such a mark the parser would panic.
    let stray = statement.stray.map(|at| (at, near(&statement.text[at..at + 1])));
    let refused = || actions::refused(statement.text).map(|(at, word)| (at, near(word)));
    let found = stray.or_else(|| problem_in(statement.text, version)).or_else(refused);
    let Some((at, message)) = found else { return Answer::Right };
    if let Some(reason) = foreign::reason(text, &FORMAT, statement.at + at) {
        return Answer::Template(reason);
    }
    if let Some(what) = not_sql(statement.text) {
        return Answer::Unsure(format!("a statement contains {what}"));
    }
    Answer::Wrong(vec![Fault { code: "syntax", message, at: statement.at + at }])
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
        Some("a letter beyond ASCII right behind a string")
    } else {
        None
    }
}

/// What is replaced before PostgreSQL sees the statement.
fn not_sql(statement: &str) -> Option<&'static str> {
    let bytes = statement.as_bytes();
    let is_variable = |at: usize| {
        bytes[at] == b':'
            && (at == 0 || bytes[at - 1] != b':')
            && bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'_' | b'\'' | b'"'))
    };
    if ["{{", "{%", "${"].iter().any(|mark| statement.contains(mark)) {
        Some("a mark of a template")
    } else if (0..bytes.len()).any(is_variable) {
        Some("a variable of psql or a named parameter")
    } else if statement.contains('?') {
        Some("a parameter `?`")
    } else {
        None
    }
}
