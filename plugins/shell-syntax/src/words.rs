//! Words: quotes, expansions and what they contain, and the here-documents that wait for the end of a line.

use crate::{Dialect, Stop};
use std::collections::HashMap;

/// How a word is read.
#[derive(Clone, Copy, Default)]
pub(crate) struct WordRules {
    /// It may be an assignment, so that `a[1 + 2]=3` is one word.
    pub(crate) assigns: bool,
    /// It is an element of `a=(…)`, so that `[1 + 2]=3` is one word.
    pub(crate) in_array: bool,
    /// `@(a|b)` is a pattern.
    pub(crate) extended: bool,
    /// It is a regular expression after `=~`.
    pub(crate) regex: bool,
}

/// A here-document whose text starts on the next line.
struct Document {
    end: Vec<u8>,
    strips_tabs: bool,
}

/// A text and how far it is read.
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) at: usize,
    pub(crate) dialect: Dialect,
    /// How many commands and expansions are open around this place.
    pub(crate) depth: usize,
    /// How many command substitutions are.
    substitutions: usize,
    /// Whether `@(a|b)` is a pattern everywhere.
    pub(crate) extended: bool,
    documents: Vec<Document>,
    /// Where each expansion ends, by where it starts. A token may be looked at several times, and what is nested in it as
    /// often at every level.
    known: HashMap<(usize, bool), Result<usize, Stop>>,
}

/// How deep commands and expansions may be nested: half of what the stack of a guest holds.
const MOST_DEPTH: usize = 100;

pub(crate) type Read<T = ()> = Result<T, Stop>;

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t [u8], dialect: Dialect) -> Self {
        Self {
            text,
            at: 0,
            dialect,
            depth: 0,
            substitutions: 0,
            extended: dialect == Dialect::Bash && mentions_patterns(text),
            documents: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub(crate) fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(crate) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(crate) fn starts(&self, mark: &str) -> bool {
        self.text[self.at.min(self.text.len())..].starts_with(mark.as_bytes())
    }

    pub(crate) fn is_posix(&self) -> bool {
        self.dialect == Dialect::Posix
    }

    /// Read something that is nested.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MOST_DEPTH {
            return Err(Stop::TooDeep(self.at));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Skip spaces, comments and continued lines, up to a newline or a token.
    pub(crate) fn blanks(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'#' => self.at += self.text[self.at..].iter().take_while(|&&byte| byte != b'\n').count(),
                _ => return,
            }
        }
    }

    /// A newline, and the here-documents that start after it.
    pub(crate) fn newline(&mut self) {
        self.at += 1;
        for document in std::mem::take(&mut self.documents) {
            self.document(&document);
        }
    }

    /// One that never ends goes to the end of the file, as in every shell.
    fn document(&mut self, document: &Document) {
        while !self.is_end() {
            let rest = &self.text[self.at..];
            let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            let indent = rest[..length].iter().take_while(|&&byte| document.strips_tabs && byte == b'\t').count();
            let line = &rest[indent..length];
            if line == document.end {
                self.at += (length + 1).min(rest.len());
                return;
            }
            // `EOF)` ends a document in a command substitution as well.
            let closed =
                self.substitutions > 0 && line.strip_prefix(&*document.end).is_some_and(|rest| rest.starts_with(b")"));
            if closed && !document.end.is_empty() {
                self.at += indent + document.end.len();
                return;
            }
            self.at += (length + 1).min(rest.len());
        }
    }

    /// Note a here-document that this word ends.
    pub(crate) fn expect_document(&mut self, word: &[u8], strips_tabs: bool) {
        let mut end = Vec::with_capacity(word.len());
        let mut bytes = word.iter().copied();
        let mut quote = None;
        while let Some(byte) = bytes.next() {
            match (byte, quote) {
                (b'\'' | b'"', None) => quote = Some(byte),
                (_, Some(open)) if byte == open => quote = None,
                (b'\\', None | Some(b'"')) => end.extend(bytes.next().filter(|&next| next != b'\n')),
                _ => end.push(byte),
            }
        }
        self.documents.push(Document { end, strips_tabs });
    }

    /// A word from here on. Its length may be 0.
    pub(crate) fn word(&mut self, manner: WordRules) -> Read {
        let start = self.at;
        while !self.is_end() {
            match self.peek(0) {
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                b'\'' => self.single()?,
                b'"' => self.double()?,
                b'`' => self.backticks()?,
                b'$' => self.expansion(false)?,
                b'<' | b'>' if self.peek(1) == b'(' && !self.is_posix() && !manner.regex => {
                    self.at += 1;
                    self.once(false, Self::substitution)?;
                }
                b'(' if manner.regex => self.pair(b'(', b')')?,
                b'|' if manner.regex => self.at += 1,
                b'?' | b'*' | b'+' | b'@' | b'!' if manner.extended && self.peek(1) == b'(' => {
                    self.at += 1;
                    self.pair(b'(', b')')?;
                }
                b'[' if !self.is_posix() && self.is_subscript(start, manner) => self.pair(b'[', b']')?,
                b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>' => break,
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn is_subscript(&self, start: usize, manner: WordRules) -> bool {
        let name = &self.text[start..self.at];
        manner.in_array && name.is_empty() || manner.assigns && is_name(name)
    }

    fn unclosed(&self, at: usize, mark: &str) -> Stop {
        let code = if matches!(mark, "'" | "\"" | "`") { "unclosed-string" } else { "unclosed-expansion" };
        Stop::wrong(at, code, format!("`{mark}` is not closed"))
    }

    fn single(&mut self) -> Read {
        let start = self.at;
        let length = self.text[start + 1..].iter().position(|&byte| byte == b'\'');
        self.at = start + 2 + length.ok_or_else(|| self.unclosed(start, "'"))?;
        Ok(())
    }

    /// `$'…'`, in which a backslash escapes.
    fn escaped(&mut self) -> Read {
        let start = self.at;
        self.at += 2;
        while !self.is_end() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
        Err(self.unclosed(start, "'"))
    }

    fn double(&mut self) -> Read {
        let start = self.at;
        self.at += 1;
        while !self.is_end() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'`' => self.backticks()?,
                b'$' => self.expansion(true)?,
                _ => self.at += 1,
            }
        }
        Err(self.unclosed(start, "\""))
    }

    /// bash reads what is in them when it runs it.
    fn backticks(&mut self) -> Read {
        let start = self.at;
        self.at += 1;
        while !self.is_end() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
        Err(self.unclosed(start, "`"))
    }

    /// What a `$` starts.
    fn expansion(&mut self, quoted: bool) -> Read {
        self.once(quoted, |reader| reader.expand(quoted))
    }

    /// Read what starts here, unless it was read before.
    fn once(&mut self, quoted: bool, read: impl FnOnce(&mut Self) -> Read) -> Read {
        let start = self.at;
        let known = match self.known.get(&(start, quoted)) {
            Some(known) => known.clone(),
            None => {
                let waiting = self.documents.len();
                let known = read(self).map(|()| self.at);
                self.documents.truncate(waiting);
                self.known.insert((start, quoted), known.clone());
                known
            }
        };
        self.at = known?;
        Ok(())
    }

    fn expand(&mut self, quoted: bool) -> Read {
        match (self.peek(1), self.peek(2)) {
            (b'(', b'(') if self.arithmetic(3)? => Ok(()),
            (b'(', _) => {
                self.at += 1;
                self.substitution()
            }
            (b'{', _) => self.nested(|reader| reader.parameter(quoted)),
            (b'[', _) if !self.is_posix() => {
                self.at += 1;
                self.pair(b'[', b']')
            }
            (b'\'', _) if !quoted && !self.is_posix() => self.escaped(),
            (b'$', _) => {
                self.at += 2;
                Ok(())
            }
            _ => {
                self.at += 1;
                Ok(())
            }
        }
    }

    /// `$((…))` or `((…))`, whose first `skip` bytes are marks; nothing is read where it is none.
    pub(crate) fn arithmetic(&mut self, skip: usize) -> Read<bool> {
        let start = self.at;
        self.at += skip - 1;
        match self.pair(b'(', b')') {
            Ok(()) if self.peek(0) == b')' => {
                self.at += 1;
                Ok(true)
            }
            Err(deep @ Stop::TooDeep(_)) => Err(deep),
            _ => {
                self.at = start;
                Ok(false)
            }
        }
    }

    /// Up to the mark that closes this one, with what is quoted or expanded in between.
    fn pair(&mut self, open: u8, close: u8) -> Read {
        let start = self.at;
        self.nested(|reader| {
            let mut count = 0;
            while !reader.is_end() {
                match reader.peek(0) {
                    b'\\' => reader.at += 2,
                    b'\'' => reader.single()?,
                    b'"' => reader.double()?,
                    b'`' => reader.backticks()?,
                    b'$' => reader.expansion(false)?,
                    byte => {
                        reader.at += 1;
                        count += i32::from(byte == open) - i32::from(byte == close);
                        if count == 0 {
                            return Ok(());
                        }
                    }
                }
            }
            let mark = [open].map(char::from).iter().collect::<String>();
            Err(reader.unclosed(start, &mark))
        })
    }

    /// `${…}`. In a POSIX shell, single quotes within double quotes are text.
    fn parameter(&mut self, quoted: bool) -> Read {
        let start = self.at;
        self.at += 2;
        while !self.is_end() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\'' if !(quoted && self.is_posix()) => self.single()?,
                b'"' => self.double()?,
                b'`' => self.backticks()?,
                b'$' => self.expansion(quoted)?,
                _ => self.at += 1,
            }
        }
        Err(self.unclosed(start, "${"))
    }

    /// `$(…)`, `<(…)`: commands, from the bracket on.
    fn substitution(&mut self) -> Read {
        let start = self.at;
        self.at += 1;
        self.substitutions += 1;
        let result = self.nested(|reader| reader.commands_until_bracket(start));
        self.substitutions -= 1;
        result
    }
}

/// Whether a script mentions the option that makes `@(a|b)` a pattern: bash reads line by line, and knows it by then.
fn mentions_patterns(text: &[u8]) -> bool {
    text.windows(7).any(|window| window == b"extglob")
}

/// Whether a text is a name of a variable.
pub(crate) fn is_name(name: &[u8]) -> bool {
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
