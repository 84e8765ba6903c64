//! Reads values: strings, numbers, booleans, arrays and inline tables.

use super::{MOST_NESTING, Quick};
use gatehost_sdk::words::{Hits, KeysOf};

impl Quick<'_> {
    /// Reads a value. Returns the offset after it.
    #[inline(always)]
    pub(super) fn value(&mut self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'[' | b'{' => self.nested(at),
            _ => self.scalar(at),
        }
    }

    fn scalar(&self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            quote @ (b'"' | b'\'') => {
                if self.byte(at + 1)? == quote {
                    return if self.byte(at + 2) == Some(quote) { self.lines(at + 3, quote) } else { Some(at + 2) };
                }
                self.string(at + 1, quote)
            }
            b't' => self.text.has(at, b"true").then_some(at + 4),
            b'f' => self.text.has(at, b"false").then_some(at + 5),
            b'-' | b'+' => self.number(at + 1),
            b'0'..=b'9' => self.number(at),
            _ => None,
        }
    }

    /// Reads a string on one line from after its quote on.
    #[inline(always)]
    fn string(&self, mut at: usize, quote: u8) -> Option<usize> {
        loop {
            at = self.text.find(at, |word| {
                Hits::of(word, quote) | Hits::of(word, b'\\') | Hits::controls(word) | Hits::of(word, 0x7F)
            });
            at = match self.byte(at)? {
                b'\\' if quote == b'"' => self.escape(at + 1)?,
                b'\\' | b'\t' => at + 1,
                byte if byte == quote => return Some(at + 1),
                _ => return None,
            };
        }
    }

    fn escape(&self, at: usize) -> Option<usize> {
        matches!(self.byte(at)?, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't').then_some(at + 1)
    }

    /// Reads a string over several lines from after its quotes on.
    fn lines(&self, mut at: usize, quote: u8) -> Option<usize> {
        loop {
            at = self.text.find(at, |word| {
                Hits::of(word, quote) | Hits::of(word, b'\\') | Hits::controls(word) | Hits::of(word, 0x7F)
            });
            at = match self.byte(at)? {
                // A backslash at the end of a line is left to the parser.
                b'\\' if quote == b'"' => self.escape(at + 1)?,
                b'\\' | b'\t' | b'\n' => at + 1,
                b'\r' if self.byte(at + 1)? == b'\n' => at + 2,
                byte if byte == quote => {
                    if self.byte(at + 1)? != quote {
                        at + 1
                    } else if self.byte(at + 2)? != quote {
                        at + 2
                    } else {
                        // More quotes belong to the string.
                        return (self.byte(at + 3) != Some(quote)).then_some(at + 3);
                    }
                }
                _ => return None,
            };
        }
    }

    /// Reads a decimal number after its sign.
    fn number(&self, at: usize) -> Option<usize> {
        let end = self.digits(at)?;
        // `01` is no number, and `1979-05-27` one of another kind.
        if self.byte(at)? == b'0' && end > at + 1 {
            return None;
        }
        let end = if self.byte(end) == Some(b'.') { self.digits(end + 1)? } else { end };
        match self.byte(end) {
            None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'#' | b',' | b']' | b'}') => Some(end),
            _ => None,
        }
    }

    /// One digit or more.
    fn digits(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while self.byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at += 1;
        }
        (at > from).then_some(at)
    }

    /// Reads an array or an inline table from its bracket on.
    fn nested(&mut self, mut at: usize) -> Option<usize> {
        // For each that is open: whether it is an inline table, and its keys.
        let mut open = Vec::with_capacity(MOST_NESTING);
        loop {
            match self.byte(at)? {
                b'[' => {
                    open.push((false, self.keys.open()));
                    at = self.lines_between(at + 1)?;
                    if self.byte(at)? != b']' {
                        if open.len() == MOST_NESTING {
                            return None;
                        }
                        continue;
                    }
                }
                b'{' => {
                    open.push((true, self.keys.open()));
                    at = self.space(at + 1);
                    if self.byte(at)? != b'}' {
                        if open.len() == MOST_NESTING {
                            return None;
                        }
                        at = self.inline_key(at, &mut open.last_mut()?.1)?;
                        continue;
                    }
                }
                _ => at = self.scalar(at)?,
            }
            loop {
                let (is_table, keys) = open.last_mut()?;
                at = if *is_table { self.space(at) } else { self.lines_between(at)? };
                match (self.byte(at)?, *is_table) {
                    (b',', false) => {
                        at = self.lines_between(at + 1)?;
                        if self.byte(at)? != b']' {
                            break;
                        }
                    }
                    (b',', true) => {
                        at = self.space(at + 1);
                        at = self.inline_key(at, keys)?;
                        break;
                    }
                    (b']', false) | (b'}', true) => {
                        self.keys.close(*keys)?;
                        open.pop();
                        at += 1;
                        if open.is_empty() {
                            return Some(at);
                        }
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Reads the space between the values of an array: spaces, line breaks and comments.
    #[inline(always)]
    fn lines_between(&self, at: usize) -> Option<usize> {
        let mut at = self.space(at);
        while let b'\n' | b'\r' | b'#' = self.byte(at)? {
            at = self.rest(at)?;
            at = self.space(at);
        }
        Some(at)
    }

    /// Reads a key of an inline table, up to its value. Dotted keys are left to the parser.
    fn inline_key(&mut self, at: usize, keys: &mut KeysOf) -> Option<usize> {
        let (from, to, next) = self.key(at)?;
        self.keys.add(keys, self.text.digest(from, to))?;
        let at = self.space(next);
        (self.byte(at)? == b'=').then(|| self.space(at + 1))
    }
}
