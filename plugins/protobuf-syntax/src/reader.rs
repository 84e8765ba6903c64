//! Reads tokens: the steps that all parts of the grammar consist of.

use crate::tokens::{Token, TokenKind};
use crate::{Fault, fault};

/// How deep protoc lets messages stand in each other.
const MOST_NESTING: usize = 32;

/// The tokens, and how far they are read.
pub(crate) struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    pub(crate) at: usize,
    /// Whether fields need a label, as in proto2.
    pub(crate) labelled: bool,
    depth: usize,
}

pub(crate) type Read<T = ()> = Result<T, Fault>;

impl<'t> Reader<'t> {
    pub(crate) fn new(tokens: Vec<Token<'t>>) -> Self {
        Self { tokens, at: 0, labelled: true, depth: 0 }
    }

    pub(crate) fn now(&self) -> Token<'t> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        let token = self.now();
        token.text == text && token.kind != TokenKind::String
    }

    pub(crate) fn is_next(&self, text: &str) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|next| next.text == text)
    }

    pub(crate) fn take(&mut self, text: &str) -> bool {
        let is = self.is(text);
        self.at += usize::from(is);
        is
    }

    pub(crate) fn wrong<T>(&self, expected: &str) -> Read<T> {
        let token = self.now();
        Err(match token.kind {
            TokenKind::End => {
                fault(token.at, "unexpected-end", format!("expected {expected}, found the end of the file"))
            }
            _ => {
                let found: String = token.text.chars().take(40).collect();
                fault(token.at, "expected-token", format!("expected {expected}, found `{found}`"))
            }
        })
    }

    pub(crate) fn expect(&mut self, text: &str) -> Read {
        if self.take(text) { Ok(()) } else { self.wrong(&format!("`{text}`")) }
    }

    pub(crate) fn kind(&mut self, kind: TokenKind, what: &str) -> Read {
        if self.now().kind != kind {
            return self.wrong(what);
        }
        self.at += 1;
        Ok(())
    }

    pub(crate) fn name(&mut self) -> Read {
        self.kind(TokenKind::Name, "a name")
    }

    pub(crate) fn integer(&mut self) -> Read {
        self.kind(TokenKind::Integer, "an integer")
    }

    /// One string, or several side by side.
    pub(crate) fn string(&mut self) -> Read {
        self.kind(TokenKind::String, "a string")?;
        while self.now().kind == TokenKind::String {
            self.at += 1;
        }
        Ok(())
    }

    /// `a.b.c`
    pub(crate) fn path(&mut self) -> Read {
        self.name()?;
        while self.take(".") {
            self.name()?;
        }
        Ok(())
    }

    /// A type: a path that may start with a dot.
    pub(crate) fn type_name(&mut self) -> Read {
        self.take(".");
        self.path()
    }

    pub(crate) fn nested(&mut self, read: impl FnOnce(&mut Self) -> Read) -> Read {
        if self.depth >= MOST_NESTING {
            return Err(fault(
                self.now().at,
                "too-deep",
                format!("messages are nested deeper than {MOST_NESTING} levels, the limit of protoc"),
            ));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Everything up to the brace that closes a block, which is open already.
    pub(crate) fn block(&mut self, mut statement: impl FnMut(&mut Self) -> Read) -> Read {
        while !self.take("}") {
            if self.now().kind == TokenKind::End {
                return self.wrong("`}`");
            }
            statement(self)?;
        }
        Ok(())
    }
}
