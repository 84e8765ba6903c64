//! Recognises most valid JSON quickly. The real parser checks every text that this does not recognise, so this may reject valid
//! JSON, but must never accept invalid JSON.
//!
//! Nearly every checked file is valid, and in the sandbox each round of a loop costs a check of the deadline. So this reads
//! eight bytes per round if it can. A test compares it with the parser on mutated texts.

use gatehost_sdk::words::{Hits, Words};

/// Whether this is one JSON text for certain.
pub(crate) fn is_json(text: &str) -> bool {
    Quick { text: Words::new(text) }.document().is_some()
}

struct Quick<'a> {
    text: Words<'a>,
}

/// What ends a run of plain characters in a string: a quote, a backslash, a control character.
#[inline(always)]
fn special(word: u64) -> Hits {
    Hits::of(word, b'"') | Hits::of(word, b'\\') | Hits::controls(word)
}

impl Quick<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.byte(at)
    }

    fn document(&self) -> Option<()> {
        // The closing brackets that are still to come.
        let mut open: Vec<u8> = Vec::with_capacity(64);
        let mut at = 0;
        loop {
            at = self.space(at);
            at = match self.byte(at)? {
                b'"' => self.string(at + 1)?,
                b'-' | b'0'..=b'9' => self.number(at)?,
                bracket @ (b'{' | b'[') => {
                    // Two further in ASCII.
                    let closing = bracket + 2;
                    at = self.space(at + 1);
                    if self.byte(at)? == closing {
                        at + 1
                    } else {
                        open.push(closing);
                        if closing == b'}' {
                            at = self.key(at)?;
                        }
                        continue;
                    }
                }
                b't' => self.word_of(at, b"true")?,
                b'f' => self.word_of(at, b"false")?,
                b'n' => self.word_of(at, b"null")?,
                _ => return None,
            };
            // Behind a value: what closes, and then what goes on.
            loop {
                at = self.space(at);
                let Some(&closing) = open.last() else { return (at == self.text.len()).then_some(()) };
                match self.byte(at)? {
                    b',' => {
                        at += 1;
                        if closing == b'}' {
                            at = self.key(self.space(at))?;
                        }
                        break;
                    }
                    byte if byte == closing => {
                        open.pop();
                        at += 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Most often there is none, and so no loop to enter.
    #[inline(always)]
    fn space(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(b' ') if self.byte(at + 1).is_some_and(|next| next > b' ') => at + 1,
            Some(0..=b' ') => self.spaces(at),
            _ => at,
        }
    }

    fn spaces(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(at) {
            at = self.text.spaces(at + 1);
        }
        at
    }

    fn word_of(&self, at: usize, word: &[u8]) -> Option<usize> {
        self.text.has(at, word).then_some(at + word.len())
    }

    /// A key and its colon.
    fn key(&self, at: usize) -> Option<usize> {
        if self.byte(at)? != b'"' {
            return None;
        }
        let at = self.string(at + 1)?;
        let at = self.space(at);
        (self.byte(at)? == b':').then_some(at + 1)
    }

    /// From after the opening quote to after the closing one. A short one is settled without a loop.
    #[inline(always)]
    fn string(&self, at: usize) -> Option<usize> {
        let (_, length) = self.text.until(at, special);
        match self.byte(at + length) {
            Some(b'"') => Some(at + length + 1),
            _ => self.long_string(at),
        }
    }

    fn long_string(&self, mut at: usize) -> Option<usize> {
        loop {
            at = self.text.find(at, special);
            match self.byte(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at = self.escape(at + 1)?,
                _ => return None,
            }
        }
    }

    fn escape(&self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
            b'u' => {
                let mut digits = (at + 1..at + 5).map(|at| self.byte(at));
                digits.all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit())).then_some(at + 5)
            }
            _ => None,
        }
    }

    fn number(&self, mut at: usize) -> Option<usize> {
        if self.byte(at)? == b'-' {
            at += 1;
        }
        at = if self.byte(at)? == b'0' { at + 1 } else { self.digits(at)? };
        if self.byte(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.byte(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.byte(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        Some(at)
    }

    /// One digit or more.
    fn digits(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while self.byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at += 1;
        }
        (at > from).then_some(at)
    }
}

#[cfg(test)]
mod tests;
