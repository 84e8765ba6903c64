//! Recognises most valid YAML quickly. The real parser checks every text that this does not recognise, so this may reject valid
//! YAML, but must never accept a text in which the parser finds something.
//!
//! It reads block mappings and sequences, plain and block scalars, quoted scalars on one line, flow collections of scalars,
//! comments and `---`. It leaves everything else to the parser: anchors, aliases, tags, directives, `?`, quoted scalars over several
//! lines, tabs between tokens. Tests compare it with the parser on generated and mutated texts.

mod flow;

use gatehost_sdk::words::{Hits, Keys, KeysOf, Words};

/// Returns whether a text is YAML without any finding, for certain.
pub(crate) fn is_yaml(text: &str) -> bool {
    let text = Words::new(text);
    Quick { text, open: Vec::with_capacity(32), keys: Keys::default(), has_root: false, awaits: Awaits::Nothing }
        .stream()
        .is_some()
}

/// Deeper texts are left to the parser, as it has a limit.
const MOST_NESTING: usize = 200;
/// The parser has a limit for keys, too.
const LONGEST_KEY: usize = 500;

struct Quick<'a> {
    text: Words<'a>,
    open: Vec<Open>,
    keys: Keys,
    /// Whether the document has a root node.
    has_root: bool,
    /// What the lines after the last entry may have for it, if they are indented further.
    awaits: Awaits,
}

/// A collection that is open.
#[derive(Clone, Copy)]
struct Open {
    /// The indentation of its entries.
    column: usize,
    is_mapping: bool,
    keys: KeysOf,
}

#[derive(Clone, Copy, PartialEq)]
enum Awaits {
    Nothing,
    Value,
    /// More lines of a plain scalar.
    Plain,
}

/// What ends a line of a plain scalar.
enum End {
    /// A colon that is followed by a space or the end of the line.
    Colon(usize),
    /// The end of the line, or a comment, with the start of the next line and what it may have.
    Line(usize, Awaits),
}

impl Quick<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.byte(at)
    }

    fn stream(&mut self) -> Option<()> {
        let mut at = 0;
        loop {
            let start = at;
            at = self.text.spaces(at);
            match self.byte(at) {
                None => return self.close_to(0),
                Some(b'\n') => at += 1,
                Some(b'\r') => at = self.rest(at, true)?,
                Some(b'#') => {
                    at = self.line(at)?;
                    if self.awaits == Awaits::Plain {
                        self.awaits = Awaits::Nothing;
                    }
                }
                Some(b'-') if at == start && self.text.has(at, b"---") => {
                    at = self.rest(at + 3, false)?;
                    self.close_to(0)?;
                    self.has_root = false;
                }
                Some(first) => {
                    let is_item = first == b'-' && self.is_blank(at + 1);
                    at = self.entry(at, at - start, is_item)?;
                }
            }
        }
    }

    /// Whether a space, a line break or the end is here.
    #[inline(always)]
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b' ' | b'\n' | b'\r'))
    }

    /// Reads a line from the start of its entry on.
    fn entry(&mut self, at: usize, column: usize, is_item: bool) -> Option<usize> {
        loop {
            match self.open.last() {
                Some(&top) if top.column == column && top.is_mapping != is_item => break,
                // A sequence that is no further to the right than its key.
                Some(&top) if top.column == column && top.is_mapping && self.awaits == Awaits::Value => {
                    self.push(column, false)?;
                    break;
                }
                Some(&top) if top.column < column => match self.awaits {
                    Awaits::Nothing => return None,
                    Awaits::Value if is_item => {
                        self.push(column, false)?;
                        break;
                    }
                    Awaits::Value => return self.node(at, Some(column)),
                    Awaits::Plain => match self.plain(at)? {
                        End::Line(next, awaits) => {
                            self.awaits = awaits;
                            return Some(next);
                        }
                        End::Colon(_) => return None,
                    },
                },
                Some(_) => {
                    self.pop()?;
                    if self.open.is_empty() {
                        return None;
                    }
                }
                None if self.has_root => return None,
                None => {
                    self.has_root = true;
                    self.push(column, !is_item)?;
                    break;
                }
            }
        }
        if is_item { self.item(at, column) } else { self.pair(at) }
    }

    /// Reads an entry of a sequence from its `-` on, and those of the sequences that begin on the same line.
    fn item(&mut self, mut at: usize, mut column: usize) -> Option<usize> {
        loop {
            let next = self.text.spaces(at + 1);
            column += next - at;
            at = next;
            if self.is_blank(at) || self.byte(at) == Some(b'#') {
                self.awaits = Awaits::Value;
                return self.rest(at, true);
            }
            if self.byte(at) != Some(b'-') || !self.is_blank(at + 1) {
                return self.node(at, Some(column));
            }
            self.push(column, false)?;
        }
    }

    /// Reads a key and its value, at the start of a line.
    fn pair(&mut self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            quote @ (b'"' | b'\'') => {
                let (end, has_escape) = self.quoted(at, quote)?;
                self.key(at + 1, end - 1, end, has_escape)
            }
            // At the start of a line these can be something else.
            b'-' => None,
            b'.' if self.text.has(at, b"...") => None,
            _ => match self.plain(at)? {
                End::Colon(colon) => self.key(at, colon, colon, false),
                End::Line(..) => None,
            },
        }
    }

    /// Reads a value from its key on, which ends before `colon`.
    fn key(&mut self, from: usize, mut to: usize, colon: usize, has_escape: bool) -> Option<usize> {
        // `a : b`
        let is_plain = to == colon;
        while is_plain && to > from && self.byte(to - 1) == Some(b' ') {
            to -= 1;
        }
        if has_escape || to - from > LONGEST_KEY || self.byte(colon)? != b':' || !self.is_blank(colon + 1) {
            return None;
        }
        self.add_key(from, to)?;
        let at = self.text.spaces(colon + 1);
        if self.is_blank(at) || self.byte(at) == Some(b'#') {
            self.awaits = Awaits::Value;
            return self.rest(at, true);
        }
        self.awaits = Awaits::Nothing;
        self.node(at, None)
    }

    fn add_key(&mut self, from: usize, to: usize) -> Option<()> {
        let digest = self.text.digest(from, to);
        self.keys.add(&mut self.open.last_mut()?.keys, digest)
    }

    /// Reads a node that begins on this line, up to the start of the next line. At `mapping` it may be a mapping.
    #[inline(always)]
    fn node(&mut self, at: usize, mapping: Option<usize>) -> Option<usize> {
        let (from, to, colon, has_escape) = match self.byte(at)? {
            quote @ (b'"' | b'\'') => {
                let (end, has_escape) = self.quoted(at, quote)?;
                if self.byte(end) != Some(b':') {
                    self.awaits = Awaits::Nothing;
                    return self.rest(end, false);
                }
                (at + 1, end - 1, end, has_escape)
            }
            b'[' | b'{' => {
                let end = self.flow(at)?;
                self.awaits = Awaits::Nothing;
                return self.rest(end, false);
            }
            b'|' | b'>' => {
                self.awaits = Awaits::Nothing;
                return self.block_scalar(at + 1);
            }
            _ => match self.plain(at)? {
                End::Line(next, awaits) => {
                    self.awaits = awaits;
                    return Some(next);
                }
                End::Colon(colon) => (at, colon, colon, false),
            },
        };
        self.push(mapping?, true)?;
        self.key(from, to, colon, has_escape)
    }

    /// Reads a line of a plain scalar that begins here.
    #[inline(always)]
    fn plain(&self, from: usize) -> Option<End> {
        if !self.starts_plain(from)? {
            return None;
        }
        let stops =
            |word| Hits::of(word, b':') | Hits::of(word, b'#') | Hits::controls(word) | Hits::beyond_ascii(word);
        let mut at = from;
        loop {
            at = self.text.find(at, stops);
            at = match self.byte(at) {
                Some(b':') if !self.is_blank(at + 1) => at + 1,
                Some(b':') => return Some(End::Colon(at)),
                Some(b'#') if self.byte(at - 1)? != b' ' => at + 1,
                None | Some(b'\n' | b'\r') => return Some(End::Line(self.rest(at, false)?, Awaits::Plain)),
                Some(b'#') => return Some(End::Line(self.line(at)?, Awaits::Nothing)),
                Some(0x80..) => self.text.beyond_ascii(at)?,
                _ => return None,
            };
        }
    }

    /// Whether a plain scalar can begin here.
    #[inline(always)]
    fn starts_plain(&self, at: usize) -> Option<bool> {
        Some(match self.byte(at)? {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'_'
            | b'.'
            | b'/'
            | b'$'
            | b'('
            | b'<'
            | b'='
            | b'+'
            | b'~'
            | b'^'
            | b'\\'
            | b';'
            | 0x80.. => true,
            b'-' => matches!(self.byte(at + 1)?, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'/' | b'_'),
            _ => false,
        })
    }

    /// Reads a string in quotes on one line. Returns the offset after it, and whether it has an escape.
    #[inline(always)]
    fn quoted(&self, from: usize, quote: u8) -> Option<(usize, bool)> {
        let stops =
            |word| Hits::of(word, quote) | Hits::of(word, b'\\') | Hits::controls(word) | Hits::beyond_ascii(word);
        let mut at = from + 1;
        let mut has_escape = false;
        loop {
            at = self.text.find(at, stops);
            at = match self.byte(at)? {
                b'\\' if quote == b'\'' => at + 1,
                b'\\' => {
                    has_escape = true;
                    match self.byte(at + 1)? {
                        b'"' | b'\\' | b'/' | b'n' | b'r' | b't' => at + 2,
                        _ => return None,
                    }
                }
                b'\'' if self.byte(at + 1) == Some(b'\'') => {
                    has_escape = true;
                    at + 2
                }
                byte if byte == quote => return Some((at + 1, has_escape)),
                0x80.. => self.text.beyond_ascii(at)?,
                _ => return None,
            };
        }
    }

    /// Reads what may follow a node on its line: spaces, a comment, the line break. `may_comment` says that a comment may begin
    /// here without a space.
    #[inline(always)]
    fn rest(&self, at: usize, may_comment: bool) -> Option<usize> {
        match self.byte(at) {
            None => Some(at),
            Some(b'\n') => Some(at + 1),
            _ => self.long_rest(at, may_comment),
        }
    }

    fn long_rest(&self, from: usize, may_comment: bool) -> Option<usize> {
        let at = self.text.spaces(from);
        match self.byte(at) {
            None => Some(at),
            Some(b'\n') => Some(at + 1),
            Some(b'\r') => (self.byte(at + 1)? == b'\n').then_some(at + 2),
            Some(b'#') if may_comment || at > from => self.line(at),
            _ => None,
        }
    }

    /// Reads a line of any text. Returns the start of the next line.
    #[inline(always)]
    fn line(&self, mut at: usize) -> Option<usize> {
        loop {
            at = self.text.find(at, |word| Hits::controls(word) | Hits::beyond_ascii(word));
            at = match self.byte(at) {
                None => return Some(at),
                Some(b'\n') => return Some(at + 1),
                Some(b'\t') => at + 1,
                Some(b'\r') => return (self.byte(at + 1)? == b'\n').then_some(at + 2),
                Some(0x80..) => self.text.beyond_ascii(at)?,
                _ => return None,
            };
        }
    }

    /// Reads a block scalar from after its `|` or `>` on.
    fn block_scalar(&mut self, at: usize) -> Option<usize> {
        let parent = self.open.last()?.column;
        let has_chomping = matches!(self.byte(at)?, b'+' | b'-');
        let mut at = self.rest(at + usize::from(has_chomping), false)?;
        let mut blank = 0;
        let mut column = None;
        loop {
            let start = at;
            at = self.text.spaces(at);
            let indentation = at - start;
            match self.byte(at) {
                None | Some(b'\n' | b'\r') => {
                    if column.is_none() {
                        blank = indentation.max(blank);
                    }
                    if self.byte(at).is_none() {
                        return (column.is_some() || blank == 0).then_some(at);
                    }
                    at = self.rest(at, false)?;
                    continue;
                }
                Some(b'\t') if column.is_none() => return None,
                Some(_) => {}
            }
            match column {
                _ if indentation <= parent => return (column.is_some() || blank == 0).then_some(start),
                None if blank <= indentation => column = Some(indentation),
                Some(column) if column <= indentation => {}
                _ => return None,
            }
            at = self.line(at)?;
        }
    }

    fn push(&mut self, column: usize, is_mapping: bool) -> Option<()> {
        self.awaits = Awaits::Nothing;
        self.open.push(Open { column, is_mapping, keys: self.keys.open() });
        (self.open.len() <= MOST_NESTING).then_some(())
    }

    fn pop(&mut self) -> Option<()> {
        self.awaits = Awaits::Nothing;
        self.keys.close(self.open.pop()?.keys)
    }

    /// Closes the collections after the first so many.
    fn close_to(&mut self, count: usize) -> Option<()> {
        while self.open.len() > count {
            self.pop()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
