//! Recognises most valid TOML quickly. The real parser checks every text that this does not recognise, so this may reject valid
//! TOML, but must never accept a text in which the parser finds something, in either version of TOML.
//!
//! It reads tables, arrays of tables, keys in any notation without escapes, strings, decimal numbers, booleans, arrays and inline
//! tables on one line. It leaves everything else to the parser: dates, exponents, other radixes, `\u`, escapes in keys. Tests
//! compare it with the parser on generated and mutated texts.

mod value;

use gatehost_sdk::words::{Hits, Keys, Words};

/// Returns whether a text is TOML without any finding, for certain.
pub(crate) fn is_toml(text: &str) -> bool {
    let words = Words::new(text);
    let slots = vec![0; (text.len() / 8).next_power_of_two().max(64)];
    let root = Node { parent: 0, from: 0, to: 0, kind: Kind::Table };
    let mut nodes = Vec::with_capacity(64);
    nodes.push(root);
    Quick { text: words, nodes, slots, keys: Keys::default(), table: ROOT }.document().is_some()
}

/// Deeper texts are left to the parser, as it has a limit.
const MOST_NESTING: usize = 20;

/// The index of the document among the nodes.
const ROOT: u32 = 0;

struct Quick<'a> {
    text: Words<'a>,
    /// Everything that has a name outside inline tables.
    nodes: Vec<Node>,
    /// A hash table of nodes. 0, the root, marks a free slot.
    slots: Vec<u32>,
    /// The keys of the inline tables that are open.
    keys: Keys,
    /// The table that the lines belong to.
    table: u32,
}

/// A key of a table, and what it stands for.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// Where the key is in the text.
    from: u32,
    to: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Value,
    /// A table with a header of its own, or an element of an array of tables.
    Table,
    /// A table that only the headers of tables in it have named so far.
    Implied,
    /// A table that dotted keys define.
    Dotted,
    /// An array of tables, with its last element.
    Array(u32),
}

impl Quick<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.byte(at)
    }

    fn document(&mut self) -> Option<()> {
        // A size that is not too large for the verifier fits.
        u32::try_from(self.text.len()).ok()?;
        let mut at = 0;
        loop {
            at = self.space(at);
            at = match self.byte(at) {
                None => return Some(()),
                Some(b'\n') => at + 1,
                Some(b'\r' | b'#') => self.rest(at)?,
                Some(b'[') => self.header(at + 1)?,
                Some(_) => {
                    let at = self.pair(at)?;
                    let at = self.value(at)?;
                    self.rest(at)?
                }
            };
        }
    }

    /// Returns the offset after spaces and tabs.
    #[inline(always)]
    fn space(&self, at: usize) -> usize {
        let mut at = self.text.spaces(at);
        while self.byte(at) == Some(b'\t') {
            at = self.text.spaces(at + 1);
        }
        at
    }

    /// Reads what may follow on a line: spaces, a comment, the line break.
    #[inline(always)]
    fn rest(&self, at: usize) -> Option<usize> {
        match self.byte(at) {
            Some(b'\n') => Some(at + 1),
            _ => self.long_rest(at),
        }
    }

    fn long_rest(&self, at: usize) -> Option<usize> {
        let at = self.space(at);
        match self.byte(at) {
            None => Some(at),
            Some(b'\n') => Some(at + 1),
            Some(b'\r') => (self.byte(at + 1)? == b'\n').then_some(at + 2),
            Some(b'#') => self.comment(at),
            _ => None,
        }
    }

    fn comment(&self, mut at: usize) -> Option<usize> {
        loop {
            at = self.text.find(at, |word| Hits::controls(word) | Hits::of(word, 0x7F));
            match self.byte(at) {
                None => return Some(at),
                Some(b'\n') => return Some(at + 1),
                Some(b'\r') => return (self.byte(at + 1)? == b'\n').then_some(at + 2),
                Some(b'\t') => at += 1,
                _ => return None,
            }
        }
    }

    /// Reads the header of a table from after its first bracket on.
    fn header(&mut self, at: usize) -> Option<usize> {
        let is_array = self.byte(at)? == b'[';
        let mut at = if is_array { at + 1 } else { at };
        let mut table = ROOT;
        for _ in 0..MOST_NESTING {
            let (from, to, next) = self.key(at)?;
            at = next;
            let is_last = match self.byte(at)? {
                b'.' => false,
                b']' => true,
                _ => return None,
            };
            let (node, is_new) = self.node(table, from, to)?;
            let element = self.nodes.len() as u32;
            let this = self.nodes.get_mut(node as usize)?;
            if is_last && is_array {
                if !is_new && !matches!(this.kind, Kind::Array(_)) {
                    return None;
                }
                this.kind = Kind::Array(element);
                self.nodes.push(Node { parent: node, from: 0, to: 0, kind: Kind::Table });
                self.table = element;
                return if self.byte(at + 1)? == b']' { self.rest(at + 2) } else { None };
            }
            if is_last {
                if !is_new && this.kind != Kind::Implied {
                    return None;
                }
                this.kind = Kind::Table;
                self.table = node;
                return self.rest(at + 1);
            }
            table = match this.kind {
                _ if is_new => {
                    this.kind = Kind::Implied;
                    node
                }
                Kind::Table | Kind::Implied => node,
                Kind::Array(element) => element,
                Kind::Value | Kind::Dotted => return None,
            };
            at += 1;
        }
        None
    }

    /// Reads a key, which may be dotted, up to its value.
    fn pair(&mut self, mut at: usize) -> Option<usize> {
        let mut table = self.table;
        for _ in 0..MOST_NESTING {
            let (from, to, next) = self.key(at)?;
            let (node, is_new) = self.node(table, from, to)?;
            if self.byte(next)? != b'.' {
                let at = self.space(next);
                return (is_new && self.byte(at)? == b'=').then(|| self.space(at + 1));
            }
            let this = self.nodes.get_mut(node as usize)?;
            if is_new {
                this.kind = Kind::Dotted;
            } else if this.kind != Kind::Dotted {
                return None;
            }
            table = node;
            at = next + 1;
        }
        None
    }

    /// Reads one part of a key. Returns its range without quotes, and the offset after it.
    #[inline(always)]
    fn key(&self, from: usize) -> Option<(usize, usize, usize)> {
        match self.byte(from)? {
            quote @ (b'"' | b'\'') => {
                let end = self.text.find(from + 1, |word| {
                    Hits::of(word, quote) | Hits::of(word, b'\\') | Hits::controls(word) | Hits::of(word, 0x7F)
                });
                (self.byte(end)? == quote).then_some((from + 1, end, end + 1))
            }
            _ => {
                let mut at = from;
                while matches!(self.byte(at)?, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-') {
                    at += 1;
                }
                (at > from).then_some((from, at, at))
            }
        }
    }

    /// Returns the node of a key in a table, and whether it is new. A new one is a value until told otherwise.
    #[inline(always)]
    fn node(&mut self, parent: u32, from: usize, to: usize) -> Option<(u32, bool)> {
        let digest = self.text.digest(from, to) ^ u64::from(parent).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let digest = digest.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let last = self.slots.len() - 1;
        let mut slot = (digest >> 32) as usize & last;
        // Free slots are rare in a text of short keys, and an author may choose keys that want the same slot.
        for _ in 0..64 {
            match self.slots[slot] {
                0 => {
                    let node = self.nodes.len() as u32;
                    self.nodes.push(Node { parent, from: from as u32, to: to as u32, kind: Kind::Value });
                    self.slots[slot] = node;
                    return Some((node, true));
                }
                node => {
                    let Node { parent: other, from: start, to: end, .. } = self.nodes[node as usize];
                    if other == parent && self.text.equal(start as usize..end as usize, from..to) {
                        return Some((node, false));
                    }
                }
            }
            slot = (slot + 1) & last;
        }
        None
    }
}

#[cfg(test)]
mod tests;
