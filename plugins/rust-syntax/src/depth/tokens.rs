//! Reads the tokens of most texts without the lexer, which takes several times as many instructions.
//!
//! It leaves to the lexer what it does not read for certain: names that are not ASCII, unknown prefixes of strings, suffixes of
//! strings, most errors, and what may stand at the beginning of a script.

use gatehost_sdk::words::{Hits, Words};
use ra_ap_parser::{SyntaxKind, T};

/// Calls `take` with the kind of each token, without spaces and comments, until it returns `None`. Every literal is an
/// `INT_NUMBER`. Returns `None` if a token is not certain, or was not taken.
pub(super) fn read(text: &str, take: impl FnMut(SyntaxKind) -> Option<()>) -> Option<()> {
    let mut tokens = Tokens { text: Words::new(text), take };
    tokens.beginning()?;
    tokens.read()
}

struct Tokens<'a, F> {
    text: Words<'a>,
    take: F,
}

const LITERAL: SyntaxKind = SyntaxKind::INT_NUMBER;

impl<F: FnMut(SyntaxKind) -> Option<()>> Tokens<'_, F> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.byte(at)
    }

    /// Returns the offset after spaces and the ends of lines.
    #[inline(always)]
    fn space(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b'\t'..=b'\r' | b' ')) {
            at = self.text.spaces(at + 1);
        }
        at
    }

    /// Leaves the first line of a script and the manifest after it to the lexer.
    fn beginning(&self) -> Option<()> {
        let is_script =
            self.byte(self.space(0)) == Some(b'-') || self.text.has(0, b"#!") && self.byte(self.space(2)) != Some(b'[');
        (!is_script).then_some(())
    }

    fn read(&mut self) -> Option<()> {
        let mut at = 0;
        while let Some(byte) = self.byte(at) {
            at = match byte {
                b'\t'..=b'\r' | b' ' => self.space(at),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(at, byte)?,
                b'0'..=b'9' => self.number(at)?,
                b'"' => self.string(at)?,
                b'\'' => self.quote(at)?,
                b'/' => match self.byte(at + 1) {
                    Some(b'/') => self.text.find(at + 2, |word| Hits::of(word, b'\n')),
                    Some(b'*') => self.comment(at)?,
                    _ => self.one(at, T![/])?,
                },
                b'#' if matches!(self.byte(at + 1), Some(b'#' | b'"')) => return None,
                _ => self.one(at, of_byte(byte)?)?,
            };
        }
        Some(())
    }

    #[inline(always)]
    fn one(&mut self, at: usize, kind: SyntaxKind) -> Option<usize> {
        (self.take)(kind)?;
        Some(at + 1)
    }

    /// Reads a comment `/* … */`, in which others may be.
    fn comment(&self, at: usize) -> Option<usize> {
        let mut at = at + 2;
        let mut depth = 1_usize;
        loop {
            at = self.text.find(at, |word| Hits::of(word, b'*') | Hits::of(word, b'/'));
            if self.text.has(at, b"*/") {
                at += 2;
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            } else if self.text.has(at, b"/*") {
                at += 2;
                depth += 1;
            } else {
                self.byte(at)?;
                at += 1;
            }
        }
    }

    /// Reads a name or a keyword, or the string that it is the prefix of.
    #[inline(always)]
    fn word(&mut self, from: usize, first: u8) -> Option<usize> {
        let end = self.text.find(from, Hits::not_of_words);
        match self.byte(end) {
            Some(b'"' | b'\'' | b'#') => return self.prefixed(from, end),
            Some(0x80..) => return None,
            _ => {}
        }
        let is_like_keyword = end - from <= 8 && (first >= b'a' || first == b'S');
        let kind = match is_like_keyword.then(|| keyword(self.text.start(from, end))).flatten() {
            Some(kind) => kind,
            None if first == b'_' && end - from == 1 => T![_],
            None => SyntaxKind::IDENT,
        };
        (self.take)(kind)?;
        Some(end)
    }

    /// Reads a string or a character with a prefix, or a raw name.
    fn prefixed(&mut self, from: usize, end: usize) -> Option<usize> {
        let is = |prefix: &[u8]| end - from == prefix.len() && self.text.has(from, prefix);
        match self.byte(end)? {
            b'"' if is(b"b") || is(b"c") => self.string(end),
            b'\'' if is(b"b") => self.character(end),
            b'"' | b'#' if is(b"r") || is(b"br") || is(b"cr") => {
                let quote = self.text.find(end, |word| Hits::not(word, b'#'));
                if self.byte(quote)? == b'"' {
                    return self.raw_string(quote, quote - end);
                }
                let is_name = is(b"r") && quote == end + 1 && self.is_start_of_word(quote);
                let end = self.text.find(quote, Hits::not_of_words);
                if !is_name || matches!(self.byte(end), Some(0x80..)) {
                    return None;
                }
                (self.take)(SyntaxKind::IDENT)?;
                Some(end)
            }
            _ => None,
        }
    }

    fn is_start_of_word(&self, at: usize) -> bool {
        matches!(self.byte(at), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..))
    }

    /// Takes a string or a character, unless it has a suffix.
    fn literal(&mut self, end: usize) -> Option<usize> {
        if self.is_start_of_word(end) {
            return None;
        }
        (self.take)(LITERAL)?;
        Some(end)
    }

    fn string(&mut self, quote: usize) -> Option<usize> {
        let mut at = quote + 1;
        loop {
            at = self.text.find(at, |word| Hits::of(word, b'"') | Hits::of(word, b'\\'));
            match self.byte(at)? {
                b'"' => return self.literal(at + 1),
                _ => at += 2,
            }
        }
    }

    fn raw_string(&mut self, quote: usize, hashes: usize) -> Option<usize> {
        let mut at = quote + 1;
        loop {
            at = self.text.find(at, |word| Hits::of(word, b'"')) + 1;
            self.byte(at - 1)?;
            let end = (at..at + hashes).find(|&at| self.byte(at) != Some(b'#'));
            match end {
                None if hashes < 256 => return self.literal(at + hashes),
                None => return None,
                Some(end) => at = end,
            }
        }
    }

    /// Reads a lifetime or a character.
    fn quote(&mut self, at: usize) -> Option<usize> {
        if self.byte(at + 2) == Some(b'\'') || !self.is_start_of_word(at + 1) {
            return self.character(at);
        }
        let end = self.text.find(at + 1, Hits::not_of_words);
        if matches!(self.byte(end), Some(b'\'' | b'#' | 0x80..)) {
            return None;
        }
        (self.take)(SyntaxKind::LIFETIME_IDENT)?;
        Some(end)
    }

    /// Reads a character from its first quote on.
    fn character(&mut self, at: usize) -> Option<usize> {
        let mut end = at + 2;
        match self.byte(at + 1)? {
            b'\\' => {
                // `\'`, `\x7F` or `\u{7FFF}`
                end += 1;
                while matches!(self.byte(end), Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'{' | b'}')) {
                    end += 1;
                }
            }
            b'\'' | 0x80.. => return None,
            _ => {}
        }
        match self.byte(end)? {
            b'\'' => self.literal(end + 1),
            _ => None,
        }
    }

    /// Reads a number, with its suffix.
    fn number(&mut self, from: usize) -> Option<usize> {
        let mut end = self.text.find(from, Hits::not_of_words);
        // `1.5` and `1.`, but neither `1..2` nor `1.max(2)`
        if self.byte(end) == Some(b'.') && self.byte(end + 1) != Some(b'.') && !self.is_start_of_word(end + 1) {
            if (from..end).any(|at| !matches!(self.byte(at), Some(b'0'..=b'9' | b'_'))) {
                return None;
            }
            end = self.text.find(end + 1, Hits::not_of_words);
        }
        match self.byte(end) {
            // `1e-5`, if the `e` is no digit
            Some(b'+' | b'-') if matches!(self.byte(end - 1), Some(b'e' | b'E')) && !self.text.has(from, b"0x") => None,
            Some(b'"' | b'\'' | b'#' | 0x80..) => None,
            _ => {
                (self.take)(LITERAL)?;
                Some(end)
            }
        }
    }
}

/// The kind of a token of one byte.
#[inline(always)]
fn of_byte(byte: u8) -> Option<SyntaxKind> {
    Some(match byte {
        b'(' => T!['('],
        b')' => T![')'],
        b'[' => T!['['],
        b']' => T![']'],
        b'{' => T!['{'],
        b'}' => T!['}'],
        b'<' => T![<],
        b'>' => T![>],
        b';' => T![;],
        b',' => T![,],
        b'.' => T![.],
        b':' => T![:],
        b'=' => T![=],
        b'&' => T![&],
        b'|' => T![|],
        b'!' => T![!],
        b'-' => T![-],
        b'+' => T![+],
        b'*' => T![*],
        b'#' => T![#],
        b'?' => T![?],
        b'@' => T![@],
        b'$' => T![$],
        b'%' => T![%],
        b'^' => T![^],
        b'~' => T![~],
        _ => return None,
    })
}

/// The keyword of these bytes, the first in the lowest bits.
#[inline(always)]
fn keyword(bytes: u64) -> Option<SyntaxKind> {
    let (keyword, kind) = BY_DIGEST[digest(bytes)];
    (keyword == bytes).then_some(kind)
}

/// A number of seven bits that is another for each keyword.
#[inline(always)]
const fn digest(bytes: u64) -> usize {
    (bytes.wrapping_mul(0x203D_5D64_077C_F60D) >> 57) as usize
}

static BY_DIGEST: [(u64, SyntaxKind); 128] = {
    let mut table = [(0, SyntaxKind::IDENT); 128];
    let mut at = 0;
    while at < KEYWORDS.len() {
        let (word, kind) = KEYWORDS[at];
        let (mut bytes, mut length) = (0, word.len());
        while length > 0 {
            length -= 1;
            bytes = bytes << 8 | word.as_bytes()[length] as u64;
        }
        assert!(table[digest(bytes)].0 == 0, "two keywords have the same digest");
        table[digest(bytes)] = (bytes, kind);
        at += 1;
    }
    table
};

/// The keywords of the edition 2024.
const KEYWORDS: &[(&str, SyntaxKind)] = &[
    ("Self", T![Self]),
    ("abstract", T![abstract]),
    ("as", T![as]),
    ("async", T![async]),
    ("await", T![await]),
    ("become", T![become]),
    ("box", T![box]),
    ("break", T![break]),
    ("const", T![const]),
    ("continue", T![continue]),
    ("crate", T![crate]),
    ("do", T![do]),
    ("dyn", T![dyn]),
    ("else", T![else]),
    ("enum", T![enum]),
    ("extern", T![extern]),
    ("false", T![false]),
    ("final", T![final]),
    ("fn", T![fn]),
    ("for", T![for]),
    ("gen", T![gen]),
    ("if", T![if]),
    ("impl", T![impl]),
    ("in", T![in]),
    ("let", T![let]),
    ("loop", T![loop]),
    ("macro", T![macro]),
    ("match", T![match]),
    ("mod", T![mod]),
    ("move", T![move]),
    ("mut", T![mut]),
    ("override", T![override]),
    ("priv", T![priv]),
    ("pub", T![pub]),
    ("ref", T![ref]),
    ("return", T![return]),
    ("self", T![self]),
    ("static", T![static]),
    ("struct", T![struct]),
    ("super", T![super]),
    ("trait", T![trait]),
    ("true", T![true]),
    ("try", T![try]),
    ("type", T![type]),
    ("typeof", T![typeof]),
    ("unsafe", T![unsafe]),
    ("unsized", T![unsized]),
    ("use", T![use]),
    ("virtual", T![virtual]),
    ("where", T![where]),
    ("while", T![while]),
    ("yield", T![yield]),
];
