//! The grammar of commands: lists, pipelines, definitions of functions, and what they consist of.

mod compound;
mod simple;
mod tokens;

use crate::Stop;
use crate::words::{Read, Reader, is_name};
use simple::is_assignment;
pub(crate) use tokens::Token;

/// Words that end a part of a compound command. No command starts with one.
const ENDERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "in", "}"];

impl Reader<'_> {
    /// The whole file.
    pub(crate) fn file(&mut self) -> Read {
        self.list()?;
        match self.token(self.manner())? {
            Token::End => Ok(()),
            token => Err(self.unexpected(token)),
        }
    }

    /// Commands up to the bracket that ends a substitution; there may be none.
    pub(crate) fn commands_until_bracket(&mut self, start: usize) -> Read {
        self.list()?;
        match self.token(self.manner())? {
            Token::Operator(")") => {
                self.at += 1;
                Ok(())
            }
            Token::End => Err(Stop::wrong(start, "unclosed-expansion", "`(` is not closed")),
            token => Err(self.unexpected(token)),
        }
    }

    /// Commands, up to what cannot start one. Returns whether there were any.
    fn list(&mut self) -> Read<bool> {
        let mut any = false;
        loop {
            self.newlines()?;
            let token = self.start()?;
            let ends = match token {
                Token::End | Token::Operator(")" | ";;" | ";&" | ";;&") => true,
                Token::Word { .. } => ENDERS.iter().any(|ender| self.is_word(token, ender)),
                _ => false,
            };
            if ends {
                return Ok(any);
            }
            self.and_or()?;
            any = true;
            match self.token(self.manner())? {
                separator @ (Token::Operator(";" | "&") | Token::Newline) => self.take(separator),
                _ => return Ok(any),
            }
        }
    }

    /// Commands that must be there.
    fn body(&mut self) -> Read {
        self.nested(|reader| {
            if reader.list()? {
                return Ok(());
            }
            let token = reader.token(reader.manner())?;
            Err(reader.unexpected(token))
        })
    }

    fn and_or(&mut self) -> Read {
        self.pipeline()?;
        while let operator @ Token::Operator("&&" | "||") = self.token(self.manner())? {
            self.take(operator);
            self.newlines()?;
            self.pipeline()?;
        }
        Ok(())
    }

    fn pipeline(&mut self) -> Read {
        let mut prefixed = false;
        loop {
            let token = self.start()?;
            let is_time = !self.is_posix() && self.is_word(token, "time");
            if !is_time && !self.is_word(token, "!") || self.is_posix() && prefixed {
                break;
            }
            self.take(token);
            prefixed = true;
            let next = self.token(self.manner())?;
            if is_time && self.is_word(next, "-p") {
                self.take(next);
            }
        }
        if prefixed && !self.is_posix() {
            let token = self.token(self.manner())?;
            if matches!(token, Token::Newline | Token::End | Token::Operator(";" | "&" | ")" | "&&" | "||")) {
                return Ok(());
            }
        }
        self.command()?;
        while let operator @ Token::Operator("|" | "|&") = self.token(self.manner())? {
            self.take(operator);
            self.newlines()?;
            self.command()?;
        }
        Ok(())
    }

    fn command(&mut self) -> Read {
        if self.compound()? {
            return self.redirections();
        }
        let token = self.start()?;
        let Token::Word { start, end } = token else { return self.simple() };
        match &self.text[start..end] {
            b"function" if !self.is_posix() => {
                self.take(token);
                self.function()
            }
            b"coproc" if !self.is_posix() => {
                self.take(token);
                self.coprocess()
            }
            word if word == b"!" || ENDERS.iter().any(|ender| ender.as_bytes() == word) => Err(self.unexpected(token)),
            _ => {
                // `name ()`
                self.at = end;
                if self.token(self.manner())? == Token::Operator("(") && !self.starts_array(start, end) {
                    return self.definition(start, end);
                }
                self.at = start;
                self.simple()
            }
        }
    }

    fn starts_array(&self, start: usize, end: usize) -> bool {
        !self.is_posix() && self.text.get(end) == Some(&b'(') && is_assignment(&self.text[start..end])
    }

    fn definition(&mut self, start: usize, end: usize) -> Read {
        let bracket = self.at;
        self.at += 1;
        if self.token(self.manner())? != Token::Operator(")") {
            self.at = bracket;
            return Err(self.unexpected(Token::Operator("(")));
        }
        self.at += 1;
        let name = &self.text[start..end];
        if self.is_posix() && !is_name(name) {
            return Err(Stop::wrong(start, "bad-name", "a function name must be a plain word"));
        }
        self.newlines()?;
        if self.is_posix() {
            return self.nested(Self::command);
        }
        self.nested(Self::shell_command)
    }

    fn function(&mut self) -> Read {
        let name = self.token(self.manner())?;
        if !matches!(name, Token::Word { .. }) {
            return Err(self.unexpected(name));
        }
        self.take(name);
        if self.token(self.manner())? == Token::Operator("(") {
            let bracket = self.at;
            self.at += 1;
            if self.token(self.manner())? == Token::Operator(")") {
                self.at += 1;
            } else {
                // The body is a subshell.
                self.at = bracket;
            }
        }
        self.newlines()?;
        self.nested(Self::shell_command)
    }
}
