//! The tokens of commands: words, operators and ends of lines.

use crate::Stop;
use crate::words::{Read, Reader, WordRules};

/// What a command can start or go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word { start: usize, end: usize },
    Operator(&'static str),
    Newline,
    End,
}

/// The longest first.
const OPERATORS: &[&str] = &[
    ";;&", "<<-", "<<<", "&>>", "&&", "||", "|&", ";;", ";&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "|", "&", ";",
    "(", ")", "<", ">",
];
/// Those that a POSIX shell does not have.
const OF_BASH: &[&str] = &[";;&", "<<<", "&>>", "|&", ";&", "&>"];

impl Reader<'_> {
    /// The token from here on, which is not taken.
    pub(crate) fn token(&mut self, manner: WordRules) -> Read<Token> {
        self.blanks();
        if self.is_end() {
            return Ok(Token::End);
        }
        if self.peek(0) == b'\n' {
            return Ok(Token::Newline);
        }
        if let Some(operator) = self.operator(manner) {
            return Ok(Token::Operator(operator));
        }
        let start = self.at;
        self.word(manner)?;
        let end = std::mem::replace(&mut self.at, start);
        Ok(Token::Word { start, end })
    }

    pub(super) fn operator(&self, manner: WordRules) -> Option<&'static str> {
        let is_process = matches!(self.peek(0), b'<' | b'>') && self.peek(1) == b'(' && !self.is_posix();
        if is_process || manner.regex && matches!(self.peek(0), b'(' | b'|') {
            return None;
        }
        let fits = |operator: &&&str| self.starts(operator) && !(self.is_posix() && OF_BASH.contains(operator));
        OPERATORS.iter().find(fits).copied()
    }

    pub(super) fn take(&mut self, token: Token) {
        match token {
            Token::Word { end, .. } => self.at = end,
            Token::Operator(operator) => self.at += operator.len(),
            Token::Newline => self.newline(),
            Token::End => {}
        }
    }

    pub(super) fn text_of(&self, token: Token) -> &[u8] {
        match token {
            Token::Word { start, end } => &self.text[start..end],
            _ => b"",
        }
    }

    pub(super) fn is_word(&self, token: Token, word: &str) -> bool {
        self.text_of(token) == word.as_bytes()
    }

    pub(crate) fn unexpected(&self, token: Token) -> Stop {
        match token {
            Token::End => Stop::wrong(self.text.len(), "unexpected-end", "the file ends within a command"),
            Token::Newline => Stop::wrong(self.at, "unexpected-token", "unexpected end of the line"),
            Token::Operator(operator) => Stop::wrong(self.at, "unexpected-token", format!("unexpected `{operator}`")),
            Token::Word { start, .. } => {
                let text = String::from_utf8_lossy(self.text_of(token));
                let shown: String = text.chars().take(40).filter(|shown| !shown.is_control()).collect();
                Stop::wrong(start, "unexpected-token", format!("unexpected `{shown}`"))
            }
        }
    }

    /// The token where a command may start.
    pub(super) fn start(&mut self) -> Read<Token> {
        self.token(WordRules { assigns: true, ..self.manner() })
    }

    pub(crate) fn manner(&self) -> WordRules {
        WordRules { extended: self.extended, ..WordRules::default() }
    }

    pub(super) fn newlines(&mut self) -> Read {
        while self.token(self.manner())? == Token::Newline {
            self.newline();
        }
        Ok(())
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Read {
        let token = self.token(self.manner())?;
        if !self.is_word(token, word) {
            return Err(self.unexpected(token));
        }
        self.take(token);
        Ok(())
    }

    pub(super) fn expect(&mut self, operator: &'static str) -> Read {
        let token = self.token(self.manner())?;
        if token != Token::Operator(operator) {
            return Err(self.unexpected(token));
        }
        self.take(token);
        Ok(())
    }
}
