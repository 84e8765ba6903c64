//! The inside of one line: code, bold text, links, and the words between them.

use crate::{Spans, Voice};
use std::borrow::Cow;
use std::ops::Range;

/// The pieces of one line of a paragraph, if it is in the quick part of Markdown.
pub(crate) fn line(text: &str) -> Option<Spans<'_>> {
    spans("", text, text)
}

/// The spans of a line: its prefix as it is shown, and its text, which ends the line. `line` starts with the prefix, perhaps in
/// another spelling.
pub(super) fn spans<'t>(prefix: &'static str, line: &'t str, text: &'t str) -> Option<Spans<'t>> {
    let start = line.len() - text.len();
    if text.bytes().all(is_plain) && start == prefix.len() && line.starts_with(prefix) {
        return Some(Spans::One([(Voice::Plain, Cow::Borrowed(line))]));
    }
    let mut reader = Reader::of(line);
    reader.add(prefix);
    reader.read(start..line.len())?;
    Some(reader.done())
}

/// The pieces of a line. What the author says is copied only if it is not in the line as it is shown.
pub(super) struct Reader<'t> {
    line: &'t str,
    done: Vec<(Voice, Cow<'t, str>)>,
    /// The current piece, as a range of the line.
    plain: Range<usize>,
    /// The current piece, if it had to be copied.
    copied: Option<String>,
}

impl<'t> Reader<'t> {
    pub(super) fn of(line: &'t str) -> Self {
        Self { line, done: Vec::new(), plain: 0..0, copied: None }
    }

    /// Add words that may be the next ones of the line.
    pub(super) fn add(&mut self, words: &'static str) {
        let end = self.plain.end;
        if self.copied.is_none() && self.line.as_bytes()[end..].starts_with(words.as_bytes()) {
            self.plain.end += words.len();
        } else {
            self.copy().push_str(words);
        }
    }

    fn add_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
        } else if self.copied.is_none() && self.plain.is_empty() {
            self.plain = range;
        } else if self.copied.is_none() && self.plain.end == range.start {
            self.plain.end = range.end;
        } else {
            let words = &self.line[range];
            self.copy().push_str(words);
        }
    }

    fn copy(&mut self) -> &mut String {
        self.copied.get_or_insert_with(|| self.line[self.plain.clone()].to_owned())
    }

    /// End the current piece; the next one starts at `at`.
    fn end(&mut self, at: usize) {
        let plain = std::mem::replace(&mut self.plain, at..at);
        let words = self.copied.take().map_or(Cow::Borrowed(&self.line[plain]), Cow::Owned);
        if !words.is_empty() {
            self.done.push((Voice::Plain, words));
        }
    }

    pub(super) fn done(mut self) -> Spans<'t> {
        self.end(0);
        Spans::Many(self.done)
    }

    /// Read a part of the line: code, bold text, links, and characters that mean nothing where they are.
    pub(super) fn read(&mut self, part: Range<usize>) -> Option<()> {
        let text = &self.line[..part.end];
        let bytes = text.as_bytes();
        let byte_at = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
        let (mut at, mut start) = (part.start, part.start);
        let mut bold = false;
        while let Some(&byte) = bytes.get(at) {
            if is_plain(byte) {
                at += 1;
                continue;
            }
            let next = byte_at(at + 1);
            let before = if at > part.start { bytes[at - 1] } else { b' ' };
            let literal = match byte {
                // Emphasis starts or ends at the edge of a word.
                b'_' => before.is_ascii_alphanumeric() && next.is_ascii_alphanumeric(),
                b'<' => !next.is_ascii_alphabetic() && !matches!(next, b'/' | b'!' | b'?'),
                b'&' => !starts_entity(&bytes[at + 1..]),
                b'!' => next != b'[',
                // Marks before a space begin no emphasis, and what they could end was refused.
                b'*' if !bold => {
                    let marks = bytes[at..].iter().take_while(|byte| **byte == b'*').count();
                    let literal = byte_at(at + marks) == b' ';
                    at += if literal { marks - 1 } else { 0 };
                    literal
                }
                // A colon makes a definition, which gives a meaning to brackets elsewhere.
                b']' => !matches!(next, b'(' | b'[' | b':'),
                _ if byte >= 0x80 => {
                    let character = text[at..].chars().next().filter(|character| is_known(*character))?;
                    at += character.len_utf8() - 1;
                    true
                }
                _ => false,
            };
            if literal {
                at += 1;
                continue;
            }
            self.add_range(start..at);
            match byte {
                b'`' => {
                    let marks = if next == b'`' { 2 } else { 1 };
                    let start = at + marks;
                    let end = start + bytes[start..].windows(marks).position(|end| end == &b"``"[..marks])?;
                    let inside = &text[start..end];
                    let trimmed = inside.is_empty() || inside.starts_with([' ', '`']) || inside.ends_with([' ', '`']);
                    if byte_at(end + marks) == b'`' || trimmed || !is_readable(inside) {
                        return None;
                    }
                    self.end(end + marks);
                    self.done.push((Voice::Code, Cow::Borrowed(&self.line[start..end])));
                    at = end + marks;
                }
                b'*' if next == b'*' => {
                    let behind = byte_at(at + 2);
                    let opens = matches!(before, b' ' | b'(') && behind.is_ascii_alphanumeric()
                        || before == b' ' && behind == b'`';
                    if !(if bold { closes(before, behind) } else { opens }) {
                        return None;
                    }
                    bold = !bold;
                    at += 2;
                }
                b'*' | b'_' if !bold => {
                    let end = at + 1 + bytes[at + 1..].iter().position(|other| *other == byte)?;
                    let opens = matches!(before, b' ' | b'(') && next.is_ascii_alphanumeric();
                    let is_simple = bytes[at + 1..end].iter().all(|byte| is_plain(*byte));
                    if !opens || !is_simple || !closes(bytes[end - 1], byte_at(end + 1)) {
                        return None;
                    }
                    self.add_range(at + 1..end);
                    at = end + 1;
                }
                b'[' => {
                    let end = at + bytes[at..].iter().position(|byte| *byte == b']')?;
                    let words = &text[at + 1..end];
                    if words.contains(['[', '*']) {
                        return None;
                    }
                    if let Some(target) = text[end + 1..].strip_prefix('(') {
                        let length = target.find(')')?;
                        if !target[..length].bytes().all(is_address) || words.is_empty() {
                            return None;
                        }
                        self.read(at + 1..end)?;
                        at = end + 1 + length + 2;
                    } else {
                        self.add_range(at..at + 1);
                        at += 1;
                    }
                }
                _ => return None,
            }
            start = at;
        }
        self.add_range(start..part.end);
        (!bold).then_some(())
    }
}

/// Whether a mark between these bytes ends emphasis.
fn closes(before: u8, behind: u8) -> bool {
    let ends = behind == b' ';
    (before.is_ascii_alphanumeric() || before == b'`') && (ends || b".,;:!?)".contains(&behind))
        || b".,;:!?)".contains(&before) && ends
}

/// Whether `&` and the text behind it may be an entity.
pub fn starts_entity(behind: &[u8]) -> bool {
    let name = behind.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#').count();
    name > 0 && behind.get(name) == Some(&b';')
}

/// Bytes that mean nothing anywhere inside a line.
fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let known = b" .,;:?'\"()/%$@+-=#>{}^ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut at = 0;
        while at < known.len() {
            plain[known[at] as usize] = true;
            at += 1;
        }
        plain
    };
    PLAIN[usize::from(byte)]
}

/// Bytes of a link's address that need no rules.
fn is_address(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/.:-_#?=%+,@".contains(&byte)
}

/// Whether code reads as it is written: no control character, and nothing invisible.
pub(super) fn is_readable(text: &str) -> bool {
    let ascii = |byte: u8| (b' '..0x7f).contains(&byte);
    text.bytes().all(ascii)
        || text.chars().all(|character| u8::try_from(character).is_ok_and(ascii) || is_known(character))
}

/// Characters beyond ASCII that are seen and mean nothing: letters of Europe, quotation marks, dashes, arrows, symbols.
fn is_known(character: char) -> bool {
    matches!(character, '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{2FF}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205E}'
        | '\u{2190}'..='\u{2BFF}' | '\u{1F300}'..='\u{1FAFF}')
}
