//! Recognises most claims that say the signal and nothing against it, without taking them apart: the signal is the last line,
//! after a blank one, and no word in the text can belong to a sentence that takes it back.
//!
//! [`is_said`] answers yes only where the reader of pages would, which the tests compare. Otherwise it says nothing, and the
//! page is read.

mod row;
mod words;

pub(crate) use row::has_no_word_of_it;

use crate::opposite::{is_denied, is_said_in, words_of};
use row::Row;

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
    // Links are defined at the end, mostly.
    let may_define = body.trim_end().rsplit('\n').next().is_some_and(|last| last.starts_with('[') && defines(last));
    is_clear_with(body, may_define).or_else(|| is_clear_with(body, true)).unwrap_or(false)
}

/// Whether a line may define a link.
fn defines(line: &str) -> bool {
    line.as_bytes().windows(2).any(|two| two == b"]:")
}

fn has_brackets(line: &str) -> bool {
    line.bytes().any(|byte| matches!(byte, b'[' | b']'))
}

/// Like [`is_clear`], for a text that may define links (`[1]: https://example.com`) or does not. Returns `None` if it does.
fn is_clear_with(body: &str, may_define: bool) -> Option<bool> {
    let mut in_code = false;
    // Whether code may have started on a line above of the same paragraph.
    let mut may_be_code = false;
    // The line above, if code started in it that may end on the next one. Both are then shown as one line.
    let mut open: Option<Row> = None;
    let mut in_comment = false;
    let mut above = Above { may_define, ..Above::default() };
    for line in body.split('\n') {
        let line = line.trim_end_matches([' ', '\t']);
        let start = line.trim_start_matches(' ');
        let opened = open.take();
        if in_comment || !in_code && start.starts_with("<!--") {
            // It is not shown. A browser shows what is behind it on the same line.
            let end = line.find("-->");
            let is_indented = !in_comment && start.len() + 3 < line.len();
            let is_odd = line.contains("--!") || start.starts_with("<!-->") || start.starts_with("<!--->");
            if is_indented || is_odd || end.is_some_and(|end| end + 3 < line.len()) {
                return Some(false);
            }
            (in_comment, may_be_code) = (end.is_none(), false);
            above.end();
        } else if let Some(rest) = start.strip_prefix("```") {
            let is_fence = if in_code { rest.bytes().all(|byte| byte == b'`') } else { !rest.contains('`') };
            if start.len() < line.len() || !is_fence {
                return Some(false);
            }
            in_code = !in_code;
            above.end();
        } else if start.is_empty() || !in_code && line.len() > 2 && line.bytes().all(|byte| byte == b'-') {
            // A ruler shows nothing, and makes a heading of the line above at most.
            may_be_code = false;
            above.end();
        } else if in_code {
            above.see(line, false);
        } else {
            let continued = opened.and_then(|row| continued_code(start).map(|length| (row, length)));
            let is_continuation = continued.is_some();
            let (mut row, text) = match continued {
                Some((row, length)) => {
                    may_be_code = false;
                    (row.continued(), &start[length..])
                }
                None => (Row::of_markdown(), line),
            };
            let is_read = row.read(text.as_bytes());
            let defines = row.defines || !is_read && defines(line);
            if defines && !may_define {
                return None;
            }
            let is_self_contained = !may_be_code || !line.contains('`');
            let may_be_linked = may_define && has_brackets(line);
            let is_harmless = is_read && !row.may_say() && !(may_be_linked && line.contains("[]"))
                || !may_be_linked && !is_continuation && says_nothing(line);
            if start.starts_with("~~~") || !is_self_contained || !is_harmless {
                return Some(false);
            }
            above.see(line, defines);
            let is_odd = row.backticks % 2 == 1;
            let may_end_below = is_odd && !may_be_code && !row.has_double_backticks && is_read && is_continued(line);
            may_be_code |= is_odd || row.has_double_backticks;
            open = may_end_below.then_some(row);
        }
    }
    above.end();
    Some(!in_code && !in_comment && above.is_clear())
}

/// Whether a line of text goes on in the next one, so that code that starts in it may end there.
fn is_continued(line: &str) -> bool {
    let is_text = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'*' | b'`' | b'(' | b' ');
    let is_indented = line.starts_with("    ") || line.as_bytes().windows(5).any(|spaces| spaces == b"     ");
    line.as_bytes().first().is_some_and(is_text)
        && !is_indented
        && !line.bytes().any(|byte| matches!(byte, b'<' | b'|' | b'\t'))
}

/// The length of code that started on the line above, with the mark at its end, if the line clearly continues a paragraph.
fn continued_code(start: &str) -> Option<usize> {
    let is_text = match start.as_bytes() {
        [b'-', b'-', third, ..] => third.is_ascii_alphabetic(),
        [first, ..] => first.is_ascii_alphabetic() || matches!(first, b'"' | b'\'' | b'='),
        [] => false,
    };
    let end = start.bytes().position(|byte| byte == b'`')?;
    (is_text && !start.contains('|') && start.as_bytes().get(end + 1) != Some(&b'`')).then_some(end + 1)
}

/// The lines that may be shown last.
#[derive(Default)]
struct Above<'t> {
    /// Whether the text may define links. A definition is not shown.
    may_define: bool,
    /// The last line of the current block of lines, and if the text may define links, all of them and whether one does.
    last: Option<&'t str>,
    block: Vec<&'t str>,
    defines: bool,
    /// The last line of the last block that is shown, and the lines below it that may be definitions or shown.
    shown: Option<&'t str>,
    below: Vec<&'t str>,
}

impl<'t> Above<'t> {
    fn see(&mut self, line: &'t str, defines: bool) {
        self.last = Some(line);
        if self.may_define {
            self.block.push(line);
            self.defines |= defines;
        }
    }

    /// A block of lines ends.
    fn end(&mut self) {
        let Some(line) = self.last.take() else { return };
        if std::mem::take(&mut self.defines) {
            self.below.append(&mut self.block);
        } else {
            self.shown = Some(line);
            self.block.clear();
            self.below.clear();
        }
    }

    /// Whether no line introduces what follows, or is taken for something else than it is written as.
    fn is_clear(&self) -> bool {
        self.shown.iter().chain(&self.below).all(|line| self.is_clear_end(line))
    }

    fn is_clear_end(&self, line: &str) -> bool {
        // What is shown of the line must end as it is written.
        let end = line.trim_end_matches(['*', '_', '`', ')', '"', ' ']);
        let is_whole = end.ends_with(['.', '!', '?']) && !end.ends_with("..");
        let is_open = || end.ends_with(['#', '.', ':', ']']) || gatehost_page::breaks_off(end);
        let is_shown = || is_shown(line) && !(self.may_define && has_brackets(line));
        (is_shown() || self.may_define && is_definition(line)) && (is_whole || !is_open())
    }
}

/// `[1]: https://example.com`, which defines a link or is shown as it is.
fn is_definition(line: &str) -> bool {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.'^#".contains(&byte);
    let is_address = |byte: u8| byte.is_ascii_alphanumeric() || b"/.:-_#?=%+,@".contains(&byte);
    let parts = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    parts.is_some_and(|(label, address)| {
        label.bytes().all(is_label) && !address.is_empty() && address.bytes().all(is_address)
    })
}

/// Whether a line is shown, and its last word as it is written.
fn is_shown(line: &str) -> bool {
    let last_word = line.rsplit(' ').next().unwrap_or_default();
    let start = line.trim_start_matches(' ');
    let is_item = start.starts_with("- ") || start.starts_with("* ");
    let is_written = |(at, byte): (usize, u8)| {
        let (before, behind) = (&line.as_bytes()[..at], &line.as_bytes()[at + 1..]);
        match byte {
            b'<' | b'\\' => false,
            // It crosses nothing out: none follows that would close it, and behind a space it closes none.
            b'~' => {
                matches!(before.last(), None | Some(b' '))
                    && behind.first().is_some_and(u8::is_ascii_alphanumeric)
                    && !behind.contains(&b'~')
            }
            // An item is no row of a table.
            b'|' => is_item,
            b'&' => !gatehost_page::starts_entity(behind),
            // A quotation.
            b'>' => before.iter().any(u8::is_ascii_alphabetic),
            b']' if behind.starts_with(b"(") => is_link_before_words(behind),
            b']' => !matches!(behind.first(), Some(b'[' | b':')),
            _ => true,
        }
    };
    if !line.bytes().enumerate().all(|(at, byte)| !MARKS[usize::from(byte)] || is_written((at, byte))) {
        return false;
    }
    // Marks inside of it may vanish, as in `isn*'t*`.
    let inside = last_word.trim_matches(['*', '_', '`', '(', ')', '"']);
    let is_written = last_word.is_ascii() && !inside.contains('*') && !(inside.contains('_') && inside.contains('\''));
    is_written && line.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether what follows the words of a link, or of something that looks like one, is an address and then more words.
fn is_link_before_words(behind: &[u8]) -> bool {
    let is_address = |byte: &&u8| byte.is_ascii_alphanumeric() || b"/.:-_#?=%+,@".contains(byte);
    let length = behind[1..].iter().take_while(is_address).count();
    let words = behind[1 + length..].strip_prefix(b") ");
    length > 0 && words.is_some_and(|words| words.iter().any(u8::is_ascii_alphanumeric))
}

/// Bytes that may hide something.
static MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let all = b"<\\~|&>]";
    let mut at = 0;
    while at < all.len() {
        marks[all[at] as usize] = true;
        at += 1;
    }
    marks
};

/// Whether no sentence of a line says that the work is not complete, however the line is shown.
fn says_nothing(line: &str) -> bool {
    let words = line.trim_start_matches(' ');
    let read = if is_raw(words.as_bytes()) {
        Some(gatehost_page::lowercase(words))
    } else if !line.as_bytes().windows(4).any(|spaces| spaces == b"    ") {
        gatehost_page::line(words.strip_prefix("* ").unwrap_or(words)).map(|spans| words_of(&spans))
    } else {
        // It may be code.
        None
    };
    // Emphasis is not shown.
    let is_denied_so = |words: &str| words.contains(['*', '_']) && is_denied(&words.replace(['*', '_'], ""));
    read.is_some_and(|words| !is_said_in(&words) && !is_denied(&words) && !is_denied_so(&words))
}

/// Whether the words of a line are shown as they are written, whatever else is shown: no mark joins or hides some.
fn is_raw(line: &[u8]) -> bool {
    let at = |at: usize| line.get(at).copied().unwrap_or(b' ');
    (0..line.len()).all(|place| match line[place] {
        b'*' | b'_' => keeps_words_apart(line, place),
        b']' => !matches!(at(place + 1), b'(' | b'[' | b':'),
        // Before a letter, it is shown.
        b'\\' => at(place + 1).is_ascii_alphanumeric(),
        byte => RAW[usize::from(byte)],
    })
}

/// Whether no word is joined if the marks around a place vanish as emphasis.
fn keeps_words_apart(line: &[u8], place: usize) -> bool {
    let is_mark = |byte: &u8| matches!(byte, b'*' | b'_');
    let start = place - line[..place].iter().rev().take_while(|byte| is_mark(byte)).count();
    let end = place + line[place..].iter().take_while(|byte| is_mark(byte)).count();
    let before = line[..start].last().copied().unwrap_or(b' ');
    let behind = line.get(end).copied().unwrap_or(b' ');
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'\'';
    // Inside a word, `_` is no emphasis.
    let is_inside = before.is_ascii_alphanumeric() && behind.is_ascii_alphanumeric();
    !is_part(before) || !is_part(behind) || is_inside && line[start..end].iter().all(|byte| *byte == b'_')
}

static RAW: [bool; 256] = {
    let mut raw = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        raw[byte] = !matches!(byte as u8, b'`' | b'&' | b'<' | b'~' | 0..0x20 | 0x7f);
        byte += 1;
    }
    raw
};
