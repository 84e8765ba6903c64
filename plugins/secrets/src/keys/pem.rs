//! Private keys as text, however they are spelled: a line that begins one, and after it some of the key.
//!
//! Programs write a key as one string with escapes, as strings that are joined or stand side by side, as a list of lines,
//! after the marks of comments, in JSON within JSON, with `%0A`, `&#10;` or `<br>` for the ends of lines. All of it comes
//! down to words of base64 between marks and short words. A program that only looks for such a line has no such words
//! after it. The first line may be joined from pieces as well, a whole file may be encoded in base64 (as in a Secret of
//! Kubernetes), and PuTTY has a format of its own.

use std::ops::Range;

/// How far after its first line a key is searched.
const REACH: usize = 2_000;
/// How long a word must be to be a piece of a key, and how much there must be of it.
const PIECE: usize = 16;
const ENOUGH: usize = 32;
/// How a key starts that is encoded in base64: `-----BEGIN`.
const ENCODED: &str = "LS0tLS1CRUdJTi";
const PUTTY: &str = "PuTTY-User-Key-File-";

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
    let joined = text.match_indices("-----BEGIN").filter_map(|(at, begin)| {
        let end = key_end(text, joined_header_end(text, at + begin.len())?)?;
        Some(at..end)
    });
    let encoded = text.match_indices(ENCODED).filter_map(|(at, _)| Some(at..encoded_end(text, at)?));
    let putty = text.match_indices(PUTTY).filter_map(|(at, _)| {
        let lines = at + text[at..].find("Private-Lines:").filter(|length| *length < 4 * REACH)?;
        Some(at..key_end(text, lines)?)
    });
    for place in joined.chain(encoded).chain(putty).collect::<Vec<_>>() {
        if !found.iter().any(|known| known.start <= place.start && place.start < known.end) {
            found.push(place);
        }
    }
    found.sort_by_key(|place| place.start);
    found
}

/// The end of a first line whose words stand in several strings or have something invisible in them, after its `BEGIN`.
fn joined_header_end(text: &str, start: usize) -> Option<usize> {
    let mut words = String::new();
    for (at, character) in text[start..].char_indices().take(120) {
        if words.ends_with("PRIVATEKEY") && character == '-' {
            let dashes = text[start + at..].bytes().take_while(|byte| *byte == b'-').count();
            return Some(start + at + dashes);
        }
        match character {
            'A'..='Z' | '0'..='9' => words.push(character),
            _ if character.is_alphanumeric() || words.len() > 40 => return None,
            _ => {}
        }
    }
    None
}

/// The end of the base64 that starts at `start`, if it encodes a private key.
fn encoded_end(text: &str, start: usize) -> Option<usize> {
    let mut decoded = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for (at, byte) in text.bytes().enumerate().skip(start).take(REACH) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            // Wrapped lines, quoted or not.
            b' ' | b'\n' | b'\r' | b'\t' | b'"' | b'\'' | b'\\' => continue,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
        // Far enough for the first line and some of the key.
        if decoded.len() == 128 {
            let is_key = find(&String::from_utf8_lossy(&decoded)).first().is_some_and(|place| place.start == 0);
            return is_key.then_some(at + 1);
        }
    }
    None
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
    // Four and a space in files of SSH2.
    let dashes = |text: &str| {
        ["----", "\\u002d", "\\x2d", "%2D", "&#45;"].iter().any(|dash| text.trim_start_matches(' ').starts_with(dash))
    };
    let after = text[key + 3..].strip_prefix(" BLOCK").unwrap_or(&text[key + 3..]);
    let whole = is_space(&text[at + "PRIVATE".len()..key])
        && before[..begin].trim_end_matches(' ').ends_with(['-', 'd', 'D', ';'])
        && !before[begin..].contains('\n')
        && dashes(after);
    whole.then(|| text.len() - after.trim_start_matches(['-', ' ']).len())
}

/// The end of the first pieces of a key after `start`, if there are enough of them before another line of dashes.
fn key_end(text: &str, start: usize) -> Option<usize> {
    let mut limit = text.len().min(start + REACH);
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    let body = &text[start..limit];
    let body = &body[..body.find("-----").unwrap_or(body.len())];
    if let Some(end) = cut_end(body) {
        return Some(start + end);
    }
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

/// The end of a key that is cut into short strings of one length: `"MIIEow" + "IBAAKC" + …`.
fn cut_end(body: &str) -> Option<usize> {
    let is_joint = |between: &str| between.contains(['"', '\'', '`']) && !between.contains(char::is_alphanumeric);
    let mut cut = String::new();
    let (mut length, mut last) = (0, 0);
    for word in body.split(|character: char| !is_word(character) || character == '+').filter(|word| word.len() >= 4) {
        let at = word.as_ptr() as usize - body.as_ptr() as usize;
        if word.len() != length || !is_joint(&body[last..at]) {
            (length, cut) = (word.len(), String::new());
        }
        cut.push_str(word);
        last = at + word.len();
        if cut.len() >= 6 * length && cut.len() >= ENOUGH && length < PIECE && is_piece(&cut) {
            return Some(last);
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
pub(super) fn is_piece(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
    word.len() >= PIECE && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}
