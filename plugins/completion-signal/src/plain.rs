//! Recognises most claims that say the signal and nothing against it, without taking them apart: the signal is the last line,
//! after a blank one, and no word in the text can belong to a sentence that takes it back.
//!
//! [`is_said`] answers yes only where the reader of pages would, which the tests compare. Otherwise it says nothing, and the
//! page is read.

use crate::opposite::{DENIAL, DONE_WORD, MATTERING, NEGATION, SAYING, STRONG, WILL, is_denied, is_said_in, words_of};

/// Whether a claim ends with the signal, and clearly says nothing against it.
pub(crate) fn is_said(text: &str, signal: &str) -> bool {
    let is_plain = |signal: &[u8]| match signal {
        [first, .., last] => {
            first.is_ascii_alphabetic()
                && last.is_ascii_alphanumeric()
                && signal.windows(2).all(|pair| pair[0].is_ascii_alphanumeric() || pair[0] == b'_' && pair[1] != b'_')
        }
        _ => false,
    };
    let end = text.trim_end_matches(['\n', ' ']);
    let Some(body) = end.strip_suffix(signal).filter(|_| is_plain(signal.as_bytes())) else { return false };
    (body.is_empty() || body.ends_with("\n\n")) && is_clear(body)
}

/// Whether nothing in a text hides what follows it, takes it back, or introduces it.
fn is_clear(body: &str) -> bool {
    let mut in_code = false;
    let mut last: Option<&str> = None;
    for line in body.split('\n') {
        let line = line.trim_end_matches(' ');
        let start = line.trim_start_matches(' ');
        if let Some(rest) = start.strip_prefix("```") {
            let is_fence = if in_code { rest.bytes().all(|byte| byte == b'`') } else { !rest.contains('`') };
            if start.len() < line.len() || !is_fence {
                return false;
            }
            in_code = !in_code;
        } else if start.is_empty() || !in_code && line.len() > 2 && line.bytes().all(|byte| byte == b'-') {
            // A ruler shows nothing, and makes a heading of the line above at most.
            continue;
        } else if !in_code && (start.starts_with('~') || !is_harmless(line)) {
            return false;
        } else {
            last = Some(line);
        }
    }
    // What is shown of the line above must end as it is written.
    let is_simple = |byte: u8| byte.is_ascii() && !b"[]<>&\\~|".contains(&byte);
    let above = |line: &str| {
        let end = line.trim_end_matches(['*', '_', '`', ')', '"']);
        let simple = line.bytes().all(is_simple) && line.bytes().any(|byte| byte.is_ascii_alphanumeric());
        let is_whole = end.ends_with(['.', '!', '?']) && !end.ends_with("..");
        simple && !end.ends_with(['#', '.', ':']) && !gatehost_page::breaks_off(end) || simple && is_whole
    };
    !in_code && last.is_none_or(above)
}

/// What a byte may be part of.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// A word.
    Letter,
    /// Nothing that matters.
    Other,
    /// Something that needs a look at what is around it.
    Special,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Special; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_special = matches!(
            byte as u8,
            b':' | b'*' | b'`' | b'\'' | b'[' | b')' | b'&' | b'<' | b'~' | b'\\' | 0x7f | 0..0x20
        );
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            _ if is_special => Class::Special,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

/// For each letter that a word in [`MATTERING`] starts with, its lengths and its second letters, as bits. Few other words fit.
const STARTS: [(u32, u32); 32] = {
    let mut starts = [(0, 0); 32];
    let (mut list, mut at) = (0, 0);
    while list < MATTERING.len() {
        if at == MATTERING[list].1.len() {
            (list, at) = (list + 1, 0);
            continue;
        }
        let word = MATTERING[list].1[at].as_bytes();
        let start = &mut starts[(word[0] & 31) as usize];
        start.0 |= 1 << word.len();
        start.1 |= 1 << (word[1] & 31);
        at += 1;
    }
    starts
};

/// Whether no sentence of a line says that the work is not complete, however the line is shown.
fn is_harmless(line: &str) -> bool {
    if has_no_word_of_it([line.as_bytes()]) {
        return true;
    }
    // A line that is indented far may be code. Without marks, it says the same.
    let words = line.trim_start_matches(' ');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" .,;:!?'\"%/+-=()".contains(&byte);
    let spans = if line.len() - words.len() < 4 || words.bytes().all(is_plain) {
        gatehost_page::line(words.strip_prefix("* ").unwrap_or(words))
    } else {
        None
    };
    spans.map(|spans| words_of(&spans)).is_some_and(|words| !is_said_in(&words) && !is_denied(&words))
}

/// Whether the words of a row, in one piece or several, can be neither a denial nor a sentence that says the opposite.
pub(crate) fn has_no_word_of_it<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let mut row = Row { kinds: 0, words: 0, answer: 2, shown_in_part: false };
    let readable = pieces.into_iter().all(|piece| row.read(piece));
    let Row { kinds, words, answer, shown_in_part } = row;
    let has_both = |kinds: u8, both: u8| kinds & both == both;
    // A word that denies does so alone, with one more word, or as an answer behind a colon.
    let denies = kinds & DENIAL != 0 && (words <= 2 || answer <= 1 || shown_in_part);
    let says = kinds & STRONG != 0 || has_both(kinds, DONE_WORD | NEGATION) || has_both(kinds, WILL | SAYING);
    readable && !denies && !says
}

/// What is known of a row so far.
struct Row {
    /// The kinds of words that matter.
    kinds: u8,
    words: usize,
    /// The words behind the last colon.
    answer: usize,
    /// Whether only some of its words are shown.
    shown_in_part: bool,
}

impl Row {
    /// Read a piece. Returns whether its words are known: no mark may join or hide some.
    fn read(&mut self, piece: &[u8]) -> bool {
        let mut rest = piece;
        loop {
            let length = rest.iter().take_while(|byte| CLASSES[usize::from(**byte)] == Class::Letter).count();
            if length > 0 {
                (self.words, self.answer) = (self.words + 1, self.answer + 1);
                self.kinds |= kinds(&rest[..length]);
            }
            let Some((&byte, behind)) = rest[length..].split_first() else { return true };
            rest = behind;
            if CLASSES[usize::from(byte)] == Class::Other {
                continue;
            }
            let next = behind.first().copied().unwrap_or(b' ');
            match byte {
                b':' => self.answer = 0,
                // The words inside are not read, or only some of them.
                b'`' => self.shown_in_part = true,
                b'[' if length == 0 => self.shown_in_part = true,
                // "isn't"
                b'\'' if next == b't' || next == b'T' => self.kinds |= NEGATION,
                b'\'' => {}
                // Marks that vanish between letters, links and tags.
                b'*' if length == 0 || !next_letter(behind) => {}
                b')' if !next.is_ascii_alphabetic() => {}
                b'&' if !next.is_ascii_alphanumeric() && next != b'#' => {}
                b'<' if length == 0 && !next.is_ascii_alphabetic() && !matches!(next, b'/' | b'!' | b'?') => {}
                // Dashes, quotation marks, arrows and symbols, of which none looks like a letter.
                0xE2 => match behind {
                    [0x80, 0x99, behind @ ..] => {
                        self.kinds |= NEGATION;
                        rest = behind;
                    }
                    [0x80, 0x90..=0xA7, behind @ ..] | [0x86..=0x90 | 0x94..=0xAE, _, behind @ ..] => rest = behind,
                    _ => return false,
                },
                _ => return false,
            }
        }
    }
}

/// Whether a letter follows a run of marks.
fn next_letter(behind: &[u8]) -> bool {
    behind.iter().find(|byte| !matches!(byte, b'*' | b'_')).is_some_and(u8::is_ascii_alphabetic)
}

/// The kinds of a word.
fn kinds(word: &[u8]) -> u8 {
    let [first, second, ..] = word else { return 0 };
    let (lengths, seconds) = STARTS[usize::from(first & 31)];
    if word.len() > 12 || lengths >> word.len() & 1 == 0 || seconds >> (second & 31) & 1 == 0 {
        return 0;
    }
    let is = |words: &[&str]| words.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word));
    MATTERING.iter().filter(|(_, words)| is(words)).fold(0, |kinds, (kind, _)| kinds | kind)
}
