//! Compound commands: groups, subshells, branches, loops and cases.

use super::Token;
use super::simple::parts;
use crate::Stop;
use crate::words::{Read, Reader, is_name};

impl Reader<'_> {
    /// A compound command with its redirections.
    pub(super) fn shell_command(&mut self) -> Read {
        if self.compound()? {
            return self.redirections();
        }
        let token = self.token(self.manner())?;
        Err(self.unexpected(token))
    }

    pub(super) fn coprocess(&mut self) -> Read {
        if self.compound()? {
            return self.redirections();
        }
        let token = self.start()?;
        if let Token::Word { .. } = token {
            let start = self.at;
            self.take(token);
            if self.compound()? {
                return self.redirections();
            }
            self.at = start;
        }
        self.simple()
    }

    /// A compound command, if there is one.
    pub(super) fn compound(&mut self) -> Read<bool> {
        let token = self.start()?;
        let start = self.at;
        match token {
            Token::Operator("(") => {
                if !self.is_posix() && self.starts("((") && self.arithmetic(2)? {
                    return Ok(true);
                }
                self.at = start + 1;
                self.body()?;
                self.expect(")")?;
                return Ok(true);
            }
            Token::Word { .. } => {}
            _ => return Ok(false),
        }
        let word = self.text_of(token);
        let of_bash = matches!(word, b"[[" | b"select");
        if of_bash && self.is_posix() {
            return Ok(false);
        }
        match word {
            b"{" => {
                self.take(token);
                self.body()?;
                self.expect_word("}")?;
            }
            b"if" => {
                self.take(token);
                self.branches()?;
            }
            b"while" | b"until" => {
                self.take(token);
                self.body()?;
                self.looped(false)?;
            }
            b"for" | b"select" => {
                let counts = word == b"for" && !self.is_posix();
                self.take(token);
                self.over(counts)?;
            }
            b"case" => {
                self.take(token);
                self.nested(Self::cases)?;
            }
            b"[[" => {
                self.take(token);
                self.nested(Self::condition)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn branches(&mut self) -> Read {
        self.body()?;
        self.expect_word("then")?;
        self.body()?;
        loop {
            let token = self.token(self.manner())?;
            match self.text_of(token) {
                b"elif" => {
                    self.take(token);
                    self.body()?;
                    self.expect_word("then")?;
                    self.body()?;
                }
                b"else" => {
                    self.take(token);
                    self.body()?;
                    return self.expect_word("fi");
                }
                _ => return self.expect_word("fi"),
            }
        }
    }

    /// `do … done`, or where it may be, `{ … }`.
    pub(super) fn looped(&mut self, braces: bool) -> Read {
        let token = self.token(self.manner())?;
        if braces && !self.is_posix() && self.is_word(token, "{") {
            self.take(token);
            self.body()?;
            return self.expect_word("}");
        }
        self.expect_word("do")?;
        self.body()?;
        self.expect_word("done")
    }

    /// What follows `for` and `select`.
    pub(super) fn over(&mut self, counts: bool) -> Read {
        self.blanks();
        let start = self.at;
        if counts && self.starts("((") {
            if !self.arithmetic(2)? {
                return Err(self.unexpected(Token::Operator("(")));
            }
            if parts(&self.text[start + 2..self.at - 2]) != 3 {
                return Err(Stop::wrong(start, "syntax", "`for ((…))` needs three expressions"));
            }
            if let separator @ (Token::Operator(";") | Token::Newline) = self.token(self.manner())? {
                self.take(separator);
            }
            self.newlines()?;
            return self.looped(true);
        }
        let name = self.token(self.manner())?;
        let Token::Word { start, end } = name else { return Err(self.unexpected(name)) };
        if self.is_posix() && !is_name(&self.text[start..end]) {
            return Err(Stop::wrong(start, "bad-name", "the variable of `for` must be a plain name"));
        }
        self.take(name);
        if self.token(self.manner())? == Token::Operator(";") {
            self.at += 1;
            self.newlines()?;
            return self.looped(true);
        }
        self.newlines()?;
        let token = self.token(self.manner())?;
        if self.is_word(token, "in") {
            self.take(token);
            loop {
                match self.token(self.manner())? {
                    word @ Token::Word { .. } => self.take(word),
                    end @ (Token::Operator(";") | Token::Newline) => {
                        self.take(end);
                        break;
                    }
                    token => return Err(self.unexpected(token)),
                }
            }
            self.newlines()?;
        }
        self.looped(true)
    }

    pub(super) fn cases(&mut self) -> Read {
        let subject = self.token(self.manner())?;
        if !matches!(subject, Token::Word { .. }) {
            return Err(self.unexpected(subject));
        }
        self.take(subject);
        self.newlines()?;
        self.expect_word("in")?;
        loop {
            self.newlines()?;
            let mut token = self.token(self.manner())?;
            if self.is_word(token, "esac") {
                self.take(token);
                return Ok(());
            }
            if token == Token::Operator("(") {
                self.at += 1;
                token = self.token(self.manner())?;
            }
            loop {
                if !matches!(token, Token::Word { .. }) {
                    return Err(self.unexpected(token));
                }
                self.take(token);
                match self.token(self.manner())? {
                    Token::Operator("|") => {
                        self.at += 1;
                        token = self.token(self.manner())?;
                    }
                    Token::Operator(")") => {
                        self.at += 1;
                        break;
                    }
                    token => return Err(self.unexpected(token)),
                }
            }
            self.list()?;
            match self.token(self.manner())? {
                end @ Token::Operator(";;" | ";&" | ";;&") => self.take(end),
                token if self.is_word(token, "esac") => {}
                token => return Err(self.unexpected(token)),
            }
        }
    }
}
