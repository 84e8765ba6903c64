//! Bounds the nesting of most texts without the lexer, which would take a quarter of all instructions.
//!
//! It reads brackets, blocks, operators and words as the lexer does, and charges at least what `Scan` charges for each. It leaves
//! to the lexer what it does not read for certain: tabs in indentation, names that are not ASCII, nested f-strings, most errors.

use super::{BLOCK, BRACKET, INTERPOLATED_STRING, LINK, MOST_BRACKETS, MOST_INDENTS, MOST_TOKENS, PREFIX};
use gatehost_sdk::words::{Hits, Words};

/// What a byte of an f-string's field costs at most, unless it is a letter, a digit or `_`: a bracket, after a word.
const IN_FIELD: u32 = LINK + BRACKET + PREFIX;

/// Returns at least the stack in bytes that the parser needs for a text, or `None` if it is not known, or too many brackets,
/// blocks or tokens.
pub(super) fn stack(text: &str) -> Option<u32> {
    // A token has a byte, but for the end of a block, which has one at its start.
    if text.len() > MOST_TOKENS / 2 - 10 {
        return None;
    }
    let text = Words::new(text);
    let level = Level { chain: 0, start: 0 };
    Bound { text, now: level, outer: Vec::new(), columns: Vec::new(), has_lambda: false, deepest: 0 }.read()
}

struct Bound<'a> {
    text: Words<'a>,
    now: Level,
    /// The levels around each open bracket.
    outer: Vec<Level>,
    /// The columns of the blocks that are open.
    columns: Vec<usize>,
    /// Whether a `lambda` was seen. From there on no comma ends a chain.
    has_lambda: bool,
    deepest: u32,
}

/// The stack that is in use: at the current token, and at the start of the bracket or the statement.
#[derive(Clone, Copy)]
struct Level {
    chain: u32,
    start: u32,
}

impl Bound<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.byte(at)
    }

    fn read(mut self) -> Option<u32> {
        let mut at = 0;
        while at < self.text.len() {
            let start = at;
            at = self.text.spaces(at);
            at = match self.byte(at) {
                None => break,
                Some(b'\n') => at + 1,
                Some(b'\r') => self.line_break(at)?,
                Some(b'#') => self.comment(at),
                Some(b'\t' | b'\\') => return None,
                Some(_) => {
                    self.indent(at - start)?;
                    self.statement(at)?
                }
            };
        }
        self.outer.is_empty().then_some(self.deepest)
    }

    fn line_break(&self, at: usize) -> Option<usize> {
        (self.byte(at + 1)? == b'\n').then_some(at + 2)
    }

    /// Returns the offset of the end of the line.
    fn comment(&self, at: usize) -> usize {
        self.text.find(at, |word| Hits::of(word, b'\n') | Hits::of(word, b'\r'))
    }

    /// Opens or closes blocks at the start of a line.
    fn indent(&mut self, column: usize) -> Option<()> {
        let last = self.columns.last().copied().unwrap_or_default();
        if last < column {
            self.columns.push(column);
            if self.columns.len() > MOST_INDENTS {
                return None;
            }
        }
        if last > column {
            while self.columns.last().is_some_and(|&last| last > column) {
                self.columns.pop();
            }
            // No block begins at this column.
            if self.columns.last().copied().unwrap_or_default() != column {
                return None;
            }
        }
        let start = BLOCK * self.columns.len() as u32;
        self.now = Level { chain: start, start };
        Some(())
    }

    /// Ends a chain.
    #[inline(always)]
    fn end_of_chain(&mut self) {
        self.deepest = self.deepest.max(self.now.chain);
        self.now.chain = self.now.start;
    }

    /// Reads from the first token of a logical line to the start of the next line.
    fn statement(&mut self, mut at: usize) -> Option<usize> {
        loop {
            let Some(byte) = self.byte(at) else {
                self.end_of_chain();
                return Some(at);
            };
            at = match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(at)?,
                b' ' => self.text.spaces(at),
                b'\t' => at + 1,
                b'(' | b'[' | b'{' => {
                    self.now.chain += LINK;
                    self.outer.push(self.now);
                    let start = self.now.chain + BRACKET;
                    self.now = Level { chain: start, start };
                    if self.outer.len() > MOST_BRACKETS {
                        return None;
                    }
                    at + 1
                }
                b')' | b']' | b'}' => {
                    self.end_of_chain();
                    self.now = self.outer.pop()?;
                    at + 1
                }
                b',' => {
                    if self.has_lambda {
                        self.now.chain += LINK;
                    } else {
                        self.end_of_chain();
                    }
                    at + 1
                }
                b'.' | b'=' | b':' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'<' | b'>' | b'!' => {
                    self.now.chain += LINK;
                    at + 1
                }
                b'+' | b'-' | b'*' | b'~' => {
                    self.now.chain += PREFIX;
                    at + 1
                }
                b'"' | b'\'' => self.string(at, byte, false)?,
                b'0'..=b'9' => self.number(at)?,
                b'#' => self.comment(at),
                b';' => {
                    self.end_of_chain();
                    at + 1
                }
                b'\\' if self.byte(at + 1)? == b'\n' => at + 2,
                b'\n' | b'\r' => {
                    let next = if byte == b'\r' { self.line_break(at)? } else { at + 1 };
                    if self.outer.is_empty() {
                        self.end_of_chain();
                        return Some(next);
                    }
                    next
                }
                _ => return None,
            };
        }
    }

    /// Returns the offset after letters, digits and `_`.
    #[inline(always)]
    fn end_of_word(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_')) {
            at += 1;
        }
        at
    }

    /// Reads a name or a keyword, and the string that it is the prefix of.
    #[inline(always)]
    fn word(&mut self, from: usize) -> Option<usize> {
        let end = self.end_of_word(from + 1);
        let length = end - from;
        if length <= 6 {
            if let Some(quote @ (b'"' | b'\'')) = self.byte(end)
                && length <= 2
            {
                let [first, last] = [self.byte(from)?, self.byte(end - 1)?].map(|byte| byte.to_ascii_lowercase());
                let is_prefix = |byte| matches!(byte, b'r' | b'b' | b'u' | b'f' | b't');
                if is_prefix(first) && is_prefix(last) {
                    return self.string(end, quote, matches!(first, b'f' | b't') || matches!(last, b'f' | b't'));
                }
            }
            // `not`, `await`, `yield`, `lambda`, `if`, `else`, `in`, `is`, and others of their initials.
            if length >= 2 && matches!(self.byte(from)?, b'n' | b'a' | b'y' | b'l' | b'i' | b'e') {
                self.now.chain += PREFIX;
                self.has_lambda |= self.text.has(from, b"lambda");
            }
        }
        Some(end)
    }

    /// Reads a number, and the keyword that may follow it without a space.
    fn number(&mut self, from: usize) -> Option<usize> {
        let end = self.end_of_word(from);
        self.now.chain += PREFIX;
        // `1lambda` and `1f"…"`
        let is_certain =
            !self.text.has(end.saturating_sub(6), b"lambda") && !matches!(self.byte(end), Some(b'"' | b'\''));
        is_certain.then_some(end)
    }

    /// Reads a string from its first quote on.
    fn string(&mut self, at: usize, quote: u8, is_interpolated: bool) -> Option<usize> {
        let quotes = [quote; 3];
        let is_triple = self.text.has(at, &quotes);
        let from = if is_triple { at + 3 } else { at + 1 };
        if is_interpolated {
            return self.interpolated(from, quote, is_triple);
        }
        let mut at = from;
        loop {
            at = if is_triple {
                self.text.find(at, |word| Hits::of(word, quote) | Hits::of(word, b'\\'))
            } else {
                self.text.find(at, |word| Hits::of(word, quote) | Hits::of(word, b'\\') | Hits::controls(word))
            };
            at = match self.byte(at)? {
                b'\\' => at + 2,
                b'\n' | b'\r' => return None,
                byte if byte != quote => at + 1,
                _ if !is_triple => return Some(at + 1),
                _ if self.text.has(at, &quotes) => return Some(at + 3),
                _ => at + 1,
            };
        }
    }

    fn interpolated(&mut self, mut at: usize, quote: u8, is_triple: bool) -> Option<usize> {
        let quotes = [quote; 3];
        let mut cost = self.now.chain + INTERPOLATED_STRING;
        loop {
            at = match self.byte(at)? {
                b'\\' if matches!(self.byte(at + 1)?, b'{' | b'}' | b'N' | b'\n' | b'\r') => return None,
                b'\\' => at + 2,
                b'\n' | b'\r' if !is_triple => return None,
                b'{' if self.byte(at + 1)? == b'{' => at + 2,
                b'{' => self.field(at + 1, quote, &mut cost)?,
                b'}' if self.byte(at + 1)? == b'}' => at + 2,
                b'}' => return None,
                byte if byte == quote && !is_triple => {
                    at += 1;
                    break;
                }
                byte if byte == quote && self.text.has(at, &quotes) => {
                    at += 3;
                    break;
                }
                _ => at + 1,
            };
        }
        self.deepest = self.deepest.max(cost);
        Some(at)
    }

    /// Reads a field of an f-string from after its `{` on.
    fn field(&self, mut at: usize, quote: u8, cost: &mut u32) -> Option<usize> {
        let mut brackets = 0_usize;
        *cost += IN_FIELD;
        loop {
            let byte = self.byte(at)?;
            at += 1;
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => continue,
                b'}' if brackets == 0 => return Some(at),
                b'(' | b'[' => brackets += 1,
                b')' | b']' => brackets = brackets.checked_sub(1)?,
                b'"' | b'\'' if byte != quote => {
                    // A string in the field.
                    while self.byte(at)? != byte {
                        if matches!(self.byte(at)?, b'{' | b'}' | b'"' | b'\'' | b'\\' | b'\n' | b'\r') {
                            return None;
                        }
                        at += 1;
                    }
                    at += 1;
                }
                b'{' | b'}' | b'"' | b'\'' | b'\\' | b'\n' | b'\r' | b'#' | 0x80.. => return None,
                _ => {}
            }
            *cost += IN_FIELD;
        }
    }
}
