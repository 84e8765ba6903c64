//! Recognises most well-formed XML quickly. The checker in `document.rs` reads every text that this does not recognise, so this may
//! reject well-formed XML, but must never accept a text in which the checker finds something.
//!
//! It reads elements and attributes with names in ASCII, text, the five entities that need no declaration, comments and CDATA
//! sections. It leaves everything else to the checker: declarations in a document type, character references, processing
//! instructions, prefixes that another element than the root declares. Tests compare it with the checker on generated and mutated
//! texts.

use gatehost_sdk::words::{Hits, Keys, Words};
use std::ops::Range;

/// How many prefixes the root element may declare and use; a name is compared with all of them.
const MOST_PREFIXES: usize = 16;

/// Returns whether a text is well-formed XML without any finding, for certain.
pub(crate) fn is_xml(text: &str) -> bool {
    let text = Words::new(text);
    let open = Vec::with_capacity(32);
    Quick { text, open, keys: Keys::default(), prefixes: Vec::new(), used: Vec::new() }.document().is_some()
}

struct Quick<'a> {
    text: Words<'a>,
    /// The names of the elements that are open.
    open: Vec<Range<usize>>,
    /// The attributes of an element.
    keys: Keys,
    /// The prefixes that the root element declares.
    prefixes: Vec<Range<usize>>,
    /// The prefixes that the root element uses.
    used: Vec<Range<usize>>,
}

impl Quick<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.byte(at)
    }

    fn document(&mut self) -> Option<()> {
        let at = self.declaration()?;
        let mut at = self.outside(at)?;
        if self.text.has(at, b"<!DOCTYPE ") {
            at = self.document_type(at + 10)?;
            at = self.outside(at)?;
        }
        at = self.start_tag(at, true)?;
        while !self.open.is_empty() {
            at = self.content(at)?;
        }
        (self.outside(at)? == self.text.len()).then_some(())
    }

    /// Reads an XML declaration, if there is one.
    fn declaration(&self) -> Option<usize> {
        if !self.text.has(0, b"<?xml ") {
            return Some(0);
        }
        let mut at = self.declared(6, b"version=", |byte| matches!(byte, b'0'..=b'9' | b'.'))?;
        if self.text.has(at, b" encoding=") {
            at = self.declared(at + 1, b"encoding=", |byte| byte.is_ascii_alphanumeric() || byte == b'-')?;
        }
        if self.text.has(at, b" standalone=\"no\"") {
            at += " standalone=\"no\"".len();
        }
        at = self.text.spaces(at);
        self.text.has(at, b"?>").then_some(at + 2)
    }

    /// Reads a part of the declaration with a value of at least one letter or digit and others that are allowed.
    fn declared(&self, at: usize, name: &[u8], is_allowed: fn(u8) -> bool) -> Option<usize> {
        if !self.text.has(at, name) {
            return None;
        }
        let at = at + name.len();
        let quote = self.byte(at).filter(|byte| matches!(byte, b'"' | b'\''))?;
        let mut end = at + 1;
        while is_allowed(self.byte(end)?) {
            end += 1;
        }
        let starts_right = match name[0] {
            b'v' => end > at + 1,
            _ => self.byte(at + 1)?.is_ascii_alphabetic(),
        };
        (starts_right && self.byte(end)? == quote).then_some(end + 1)
    }

    /// Reads a document type without declarations of its own.
    fn document_type(&self, at: usize) -> Option<usize> {
        let mut at = self.name(self.space(at))?;
        let next = self.space(at);
        let literals = match self.byte(next)? {
            b'P' if next > at && self.text.has(next, b"PUBLIC") => 2,
            b'S' if next > at && self.text.has(next, b"SYSTEM") => 1,
            _ => 0,
        };
        if literals > 0 {
            at = next + 6;
        }
        for _ in 0..literals {
            let quote = self.space(at);
            if quote == at || !matches!(self.byte(quote)?, b'"' | b'\'') {
                return None;
            }
            at = quote + 1;
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -./:_+".contains(&byte);
            while is_plain(self.byte(at)?) {
                at += 1;
            }
            if self.byte(at)? != self.byte(quote)? {
                return None;
            }
            at += 1;
        }
        at = self.space(at);
        (self.byte(at)? == b'>').then_some(at + 1)
    }

    /// Reads spaces and comments before and after the root element.
    fn outside(&self, mut at: usize) -> Option<usize> {
        loop {
            at = self.space(at);
            if !self.text.has(at, b"<!--") {
                return Some(at);
            }
            at = self.comment(at + 4)?;
        }
    }

    /// Returns the offset after spaces, tabs and line breaks.
    #[inline(always)]
    fn space(&self, at: usize) -> usize {
        let mut at = self.text.spaces(at);
        while let Some(b'\n' | b'\t' | b'\r') = self.byte(at) {
            at = self.text.spaces(at + 1);
        }
        at
    }

    /// Reads text, and what follows it: a tag, a comment, a CDATA section or an entity.
    fn content(&mut self, mut at: usize) -> Option<usize> {
        loop {
            at = self.text.find(at, |word| {
                Hits::of(word, b'<')
                    | Hits::of(word, b'&')
                    | Hits::of(word, b']')
                    | Hits::controls(word)
                    | Hits::beyond_ascii(word)
            });
            at = match self.byte(at)? {
                b'<' => break,
                b'\n' | b'\t' | b'\r' => self.space(at + 1),
                b'&' => self.entity(at + 1)?,
                b']' if self.text.has(at + 1, b"]>") => return None,
                b']' => at + 1,
                0x80.. => self.text.beyond_ascii(at)?,
                _ => return None,
            };
        }
        match self.byte(at + 1)? {
            b'/' => self.end_tag(at + 2),
            b'!' if self.text.has(at + 2, b"--") => self.comment(at + 4),
            b'!' if self.text.has(at + 2, b"[CDATA[") => self.until(at + 9, b"]]>"),
            _ => self.start_tag(at, false),
        }
    }

    /// Reads a comment from after its start on.
    fn comment(&self, at: usize) -> Option<usize> {
        let end = self.until(at, b"--")?;
        (self.byte(end)? == b'>').then_some(end + 1)
    }

    /// Reads any text up to after `mark`.
    fn until(&self, mut at: usize, mark: &[u8]) -> Option<usize> {
        let first = *mark.first()?;
        loop {
            at = self.text.find(at, |word| Hits::of(word, first) | Hits::controls(word) | Hits::beyond_ascii(word));
            at = match self.byte(at)? {
                byte if byte == first => {
                    if self.text.has(at, mark) {
                        return Some(at + mark.len());
                    }
                    at + 1
                }
                b'\n' | b'\t' | b'\r' => at + 1,
                0x80.. => self.text.beyond_ascii(at)?,
                _ => return None,
            };
        }
    }

    fn entity(&self, at: usize) -> Option<usize> {
        let names: [&[u8]; 5] = [b"amp;", b"lt;", b"gt;", b"quot;", b"apos;"];
        names.into_iter().find(|name| self.text.has(at, name)).map(|name| at + name.len())
    }

    /// Reads a name. Returns the offset after it.
    #[inline(always)]
    fn name(&self, from: usize) -> Option<usize> {
        if !matches!(self.byte(from)?, b'a'..=b'z' | b'A'..=b'Z' | b'_') {
            return None;
        }
        let mut at = from + 1;
        while matches!(self.byte(at)?, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9' | b'-' | b'.') {
            at += 1;
        }
        Some(at)
    }

    /// Reads a name that may have a prefix, which must be declared.
    #[inline(always)]
    fn prefixed(&mut self, from: usize, is_root: bool) -> Option<usize> {
        let end = self.name(from)?;
        if self.byte(end)? != b':' {
            return Some(end);
        }
        self.with_prefix(from, end, is_root)
    }

    fn with_prefix(&mut self, from: usize, end: usize, is_root: bool) -> Option<usize> {
        if is_root {
            self.used.push(from..end);
            if self.used.len() > MOST_PREFIXES {
                return None;
            }
        } else if !self.is_declared(from..end) {
            return None;
        }
        let end = self.name(end + 1)?;
        (self.byte(end)? != b':').then_some(end)
    }

    fn is_declared(&self, prefix: Range<usize>) -> bool {
        let is = |declared: &Range<usize>| self.text.equal(declared.clone(), prefix.clone());
        prefix.len() == 3 && self.text.has(prefix.start, b"xml") || self.prefixes.iter().any(is)
    }

    fn end_tag(&mut self, at: usize) -> Option<usize> {
        let name = self.open.pop()?;
        let end = at + name.len();
        if !self.text.equal(at..end, name) {
            return None;
        }
        let end = self.space(end);
        (self.byte(end)? == b'>').then_some(end + 1)
    }

    /// Reads a start tag, or the tag of an empty element.
    fn start_tag(&mut self, at: usize, is_root: bool) -> Option<usize> {
        if self.byte(at)? != b'<' {
            return None;
        }
        let mut end = self.prefixed(at + 1, is_root)?;
        let name = at + 1..end;
        let mut names = self.keys.open();
        let is_empty = loop {
            let at = self.space(end);
            match self.byte(at)? {
                b'>' => {
                    end = at + 1;
                    break false;
                }
                b'/' if self.byte(at + 1)? == b'>' => {
                    end = at + 2;
                    break true;
                }
                _ if at == end => return None,
                _ => {}
            }
            end = self.attribute_name(at, is_root)?;
            self.keys.add(&mut names, self.text.digest(at, end))?;
            let at = self.space(end);
            if self.byte(at)? != b'=' {
                return None;
            }
            end = self.value(self.space(at + 1))?;
        };
        self.keys.close(names)?;
        if is_root && !self.used.iter().all(|prefix| self.is_declared(prefix.clone())) {
            return None;
        }
        if !is_empty {
            self.open.push(name);
        }
        Some(end)
    }

    #[inline(always)]
    fn attribute_name(&mut self, at: usize, is_root: bool) -> Option<usize> {
        if !self.text.has(at, b"xmlns:") {
            return self.prefixed(at, is_root);
        }
        let end = self.name(at + 6)?;
        self.prefixes.push(at + 6..end);
        (is_root && self.prefixes.len() <= MOST_PREFIXES && self.byte(end)? != b':').then_some(end)
    }

    /// Reads a value in quotes.
    fn value(&self, at: usize) -> Option<usize> {
        let quote = self.byte(at).filter(|byte| matches!(byte, b'"' | b'\''))?;
        let mut at = at + 1;
        loop {
            at = self.text.find(at, |word| {
                Hits::of(word, quote)
                    | Hits::of(word, b'<')
                    | Hits::of(word, b'&')
                    | Hits::controls(word)
                    | Hits::beyond_ascii(word)
            });
            at = match self.byte(at)? {
                byte if byte == quote => return Some(at + 1),
                b'\n' | b'\t' | b'\r' => at + 1,
                b'&' => self.entity(at + 1)?,
                0x80.. => self.text.beyond_ascii(at)?,
                _ => return None,
            };
        }
    }
}

#[cfg(test)]
mod tests;
