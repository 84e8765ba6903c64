//! Private keys, however they are spelled: a line that begins one, and after it some of the key.
//!
//! Programs write a key as one string with escapes, as strings that are joined or stand side by side, as a list of lines,
//! after the marks of comments, in JSON within JSON, with `%0A`, `&#10;` or `<br>` for the ends of lines. All of it comes
//! down to words of base64 between marks and short words. A program that only looks for such a line has no such words
//! after it.

use std::ops::Range;

/// How far after its first line a key is searched.
const REACH: usize = 2_000;
/// How long a word must be to be a piece of a key, and how much there must be of it.
const PIECE: usize = 16;
const ENOUGH: usize = 32;

/// Where keys are: from the line that begins one to the end of the first pieces.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices("PRIVATE") {
        let Some(body) = header_end(text, at) else { continue };
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        if let Some(end) = key_end(text, body) {
            let line = text[..at].rfind("-----BEGIN").filter(|start| at - start < 80).unwrap_or(at);
            found.push(line..end);
        }
    }
    found
}

/// The end of `-----BEGIN … PRIVATE KEY-----`, of which the middle starts at `at`; its spaces may be written otherwise.
fn header_end(text: &str, at: usize) -> Option<usize> {
    let mut start = at.saturating_sub(60);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let before = &text[start..at];
    let begin = before.rfind("BEGIN")?;
    let key = at + text[at..].find("KEY")?;
    let is_space = |between: &str| between.len() <= 8 && !between.is_empty() && !between.contains(['\n', '\r']);
    let dashes = |text: &str| text.starts_with("-----") || text.starts_with("\\u002d") || text.starts_with("%2D");
    let after = text[key + 3..].strip_prefix(" BLOCK").unwrap_or(&text[key + 3..]);
    let whole = is_space(&text[at + "PRIVATE".len()..key])
        && before[..begin].ends_with(['-', 'd', 'D'])
        && !before[begin..].contains('\n')
        && dashes(after);
    whole.then(|| text.len() - after.trim_start_matches('-').len())
}

/// The end of the first pieces of a key after `start`, if there are enough of them before another line of dashes.
fn key_end(text: &str, start: usize) -> Option<usize> {
    let mut limit = text.len().min(start + REACH);
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    let body = &text[start..limit];
    let body = &body[..body.find("-----").unwrap_or(body.len())];
    let mut gathered = 0;
    let mut at = 0;
    for word in body.split(|character: char| !is_word(character)) {
        let end = at + word.len();
        at = end + body[end..].chars().next().map_or(0, char::len_utf8);
        if is_piece(word) {
            gathered += word.len();
            if gathered >= ENOUGH {
                return Some(start + end);
            }
        }
    }
    None
}

/// The pieces of a key in a text, without what stands between them.
pub(crate) fn pieces(text: &str) -> String {
    text.split(|character: char| !is_word(character)).filter(|word| is_piece(word)).collect()
}

/// Whether a character is one of base64.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/')
}

/// A word that nobody would say: long, of both cases and digits.
fn is_piece(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
    word.len() >= PIECE && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}
