//! Flow collections, on one line or several.

use super::{LONGEST_KEY, Open, Quick};

impl Quick<'_> {
    /// Reads a flow collection. Returns the offset after it.
    pub(super) fn flow(&mut self, mut at: usize) -> Option<usize> {
        let around = self.open.len();
        let column = self.flow_column()?;
        loop {
            match self.byte(at)? {
                bracket @ (b'[' | b'{') => {
                    self.push(column, bracket == b'{')?;
                    at = self.flow_space(at + 1, column)?;
                    // Two further in ASCII.
                    if self.byte(at)? != bracket + 2 {
                        if bracket == b'{' {
                            at = self.flow_key(at)?;
                        }
                        continue;
                    }
                }
                quote @ (b'"' | b'\'') => at = self.quoted(at, quote)?.0,
                _ => {
                    at = self.flow_plain(at)?;
                    if self.byte(at)? == b':' {
                        return None;
                    }
                }
            }
            loop {
                at = self.flow_space(at, column)?;
                let is_mapping = self.open.last()?.is_mapping;
                let closing = if is_mapping { b'}' } else { b']' };
                match self.byte(at)? {
                    b',' => {
                        at = self.flow_space(at + 1, column)?;
                        if self.byte(at)? == closing {
                            continue;
                        }
                        if is_mapping {
                            at = self.flow_key(at)?;
                        }
                        break;
                    }
                    byte if byte == closing => {
                        self.pop()?;
                        at += 1;
                        if self.open.len() == around {
                            return Some(at);
                        }
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Returns the column that the lines of a flow collection must be indented further than.
    fn flow_column(&self) -> Option<usize> {
        match self.open[..] {
            // The parser does not tell where a sequence begins that is no further to the right than its key.
            [.., Open { column: key, is_mapping: true, .. }, Open { column, is_mapping: false, .. }]
                if key == column =>
            {
                Some(usize::MAX)
            }
            [.., Open { column, .. }] => Some(column),
            [] => None,
        }
    }

    /// Reads spaces and line breaks. What begins a line is indented further than the block around it, or is a closing bracket.
    #[inline(always)]
    fn flow_space(&self, at: usize, column: usize) -> Option<usize> {
        let at = self.text.spaces(at);
        match self.byte(at)? {
            b'\n' | b'\r' => self.flow_lines(at, column),
            _ => Some(at),
        }
    }

    fn flow_lines(&self, mut at: usize, column: usize) -> Option<usize> {
        loop {
            let start = self.rest(at, false)?;
            at = self.text.spaces(start);
            match self.byte(at)? {
                b'\n' | b'\r' => {}
                b']' | b'}' => return Some(at),
                _ => return (at - start > column).then_some(at),
            }
        }
    }

    /// Reads a key of a flow mapping, its colon and the spaces after it.
    fn flow_key(&mut self, from: usize) -> Option<usize> {
        let (start, end, colon) = match self.byte(from)? {
            quote @ (b'"' | b'\'') => {
                let (end, has_escape) = self.quoted(from, quote)?;
                if has_escape {
                    return None;
                }
                (from + 1, end - 1, end)
            }
            _ => {
                let colon = self.flow_plain(from)?;
                (from, colon, colon)
            }
        };
        if end - start > LONGEST_KEY || self.byte(colon)? != b':' || self.byte(colon + 1)? != b' ' {
            return None;
        }
        self.add_key(start, end)?;
        Some(self.text.spaces(colon + 1))
    }

    /// Reads a plain scalar in a flow collection. Returns the offset of what ends it: a comma, a bracket, a colon or
    /// the end of the line.
    fn flow_plain(&self, from: usize) -> Option<usize> {
        if !self.starts_plain(from)? {
            return None;
        }
        let mut at = from;
        loop {
            at = match self.byte(at)? {
                b',' | b']' | b'}' | b'\n' | b'\r' => return Some(at),
                b':' => match self.byte(at + 1)? {
                    b' ' => return (self.byte(at - 1)? != b' ').then_some(at),
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' => at + 1,
                    _ => return None,
                },
                b'[' | b'{' | b'#' | ..b' ' | 0x7F => return None,
                0x80.. => self.text.beyond_ascii(at)?,
                _ => at + 1,
            };
        }
    }
}
