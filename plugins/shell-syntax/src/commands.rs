//! The grammar of commands: lists, pipelines, compound commands, functions and redirections.

use crate::Stop;
use crate::words::{Read, Reader, WordRules, is_name};

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
const REDIRECTIONS: &[&str] = &["<<-", "<<<", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"];
/// Words that end a part of a compound command. No command starts with one.
const ENDERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "in", "}"];
/// Commands whose arguments may be assignments of arrays.
const DECLARING: &[&str] = &["alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"];

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

    fn operator(&self, manner: WordRules) -> Option<&'static str> {
        let is_process = matches!(self.peek(0), b'<' | b'>') && self.peek(1) == b'(' && !self.is_posix();
        if is_process || manner.regex && matches!(self.peek(0), b'(' | b'|') {
            return None;
        }
        let fits = |operator: &&&str| self.starts(operator) && !(self.is_posix() && OF_BASH.contains(operator));
        OPERATORS.iter().find(fits).copied()
    }

    fn take(&mut self, token: Token) {
        match token {
            Token::Word { end, .. } => self.at = end,
            Token::Operator(operator) => self.at += operator.len(),
            Token::Newline => self.newline(),
            Token::End => {}
        }
    }

    fn text_of(&self, token: Token) -> &[u8] {
        match token {
            Token::Word { start, end } => &self.text[start..end],
            _ => b"",
        }
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
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
    fn start(&mut self) -> Read<Token> {
        self.token(WordRules { assigns: true, ..self.manner() })
    }

    pub(crate) fn manner(&self) -> WordRules {
        WordRules { extended: self.extended, ..WordRules::default() }
    }

    fn newlines(&mut self) -> Read {
        while self.token(self.manner())? == Token::Newline {
            self.newline();
        }
        Ok(())
    }

    fn expect_word(&mut self, word: &str) -> Read {
        let token = self.token(self.manner())?;
        if !self.is_word(token, word) {
            return Err(self.unexpected(token));
        }
        self.take(token);
        Ok(())
    }

    fn expect(&mut self, operator: &'static str) -> Read {
        let token = self.token(self.manner())?;
        if token != Token::Operator(operator) {
            return Err(self.unexpected(token));
        }
        self.take(token);
        Ok(())
    }

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

    /// A compound command with its redirections.
    fn shell_command(&mut self) -> Read {
        if self.compound()? {
            return self.redirections();
        }
        let token = self.token(self.manner())?;
        Err(self.unexpected(token))
    }

    fn coprocess(&mut self) -> Read {
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
    fn compound(&mut self) -> Read<bool> {
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

    fn branches(&mut self) -> Read {
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
    fn looped(&mut self, braces: bool) -> Read {
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
    fn over(&mut self, counts: bool) -> Read {
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

    fn cases(&mut self) -> Read {
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

    /// Redirections after a compound command.
    fn redirections(&mut self) -> Read {
        while self.redirection()? {}
        Ok(())
    }

    /// One redirection, if there is one.
    fn redirection(&mut self) -> Read<bool> {
        let start = self.at;
        let mut token = self.token(self.manner())?;
        // `2>`, `{fd}>`
        if let Token::Word { start: from, end } = token
            && matches!(self.text.get(end), Some(b'<' | b'>'))
            && is_descriptor(&self.text[from..end], self.is_posix())
        {
            self.at = end;
            token = self.token(self.manner())?;
        }
        let Token::Operator(operator) = token else {
            self.at = start;
            return Ok(false);
        };
        if !REDIRECTIONS.contains(&operator) {
            self.at = start;
            return Ok(false);
        }
        self.take(token);
        let target = self.token(self.manner())?;
        let Token::Word { start, end } = target else { return Err(self.unexpected(target)) };
        self.at = end;
        if matches!(operator, "<<" | "<<-") {
            let word = self.text[start..end].to_vec();
            self.expect_document(&word, operator == "<<-");
        }
        Ok(true)
    }

    /// A simple command: assignments, words and redirections, at least one of them.
    fn simple(&mut self) -> Read {
        let (mut any, mut assigns, mut declares) = (false, true, false);
        loop {
            if self.redirection()? {
                any = true;
                continue;
            }
            let token = self.token(WordRules { assigns: assigns || declares, ..self.manner() })?;
            let Token::Word { start, end } = token else {
                return match token {
                    Token::Operator("(") => Err(self.unexpected(token)),
                    _ if any => Ok(()),
                    _ => Err(self.unexpected(token)),
                };
            };
            self.at = end;
            any = true;
            let word = &self.text[start..end];
            if (assigns || declares) && self.starts_array(start, end) {
                self.nested(Self::array)?;
                // What follows at once is a part of the word.
                self.word(self.manner())?;
            } else if assigns && !is_assigned(word) {
                assigns = false;
                declares = DECLARING.iter().any(|name| name.as_bytes() == word);
            }
        }
    }

    /// `(a b [1]=c)`
    fn array(&mut self) -> Read {
        let start = self.at;
        self.at += 1;
        loop {
            match self.token(WordRules { in_array: true, ..self.manner() })? {
                word @ (Token::Word { .. } | Token::Newline) => self.take(word),
                Token::Operator(")") => {
                    self.at += 1;
                    return Ok(());
                }
                Token::End => return Err(Stop::wrong(start, "unclosed-expansion", "`(` is not closed")),
                token => return Err(self.unexpected(token)),
            }
        }
    }
}

/// How many parts the semicolons outside brackets and quotes make.
fn parts(text: &[u8]) -> usize {
    let (mut parts, mut depth, mut quote) = (1, 0, None);
    for &byte in text {
        match (byte, quote) {
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(open)) => quote = Some(open).filter(|&open| open != byte),
            (b'(' | b'{', None) => depth += 1,
            (b')' | b'}', None) => depth -= 1,
            (b';', None) if depth == 0 => parts += 1,
            _ => {}
        }
    }
    parts
}

/// `2`, `{fd}`
fn is_descriptor(word: &[u8], posix: bool) -> bool {
    let named = word.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")).is_some_and(is_name);
    !word.is_empty() && word.iter().all(u8::is_ascii_digit) || named && !posix
}

/// `a=`, `a+=`, `a[1]=`: what an array may follow.
fn is_assignment(word: &[u8]) -> bool {
    word.strip_suffix(b"=").is_some_and(|name| {
        let name = name.strip_suffix(b"+").unwrap_or(name);
        let plain = name.iter().position(|&byte| byte == b'[').map_or(name, |at| &name[..at]);
        is_name(plain) && (plain.len() == name.len() || name.ends_with(b"]"))
    })
}

/// `a=b`
fn is_assigned(word: &[u8]) -> bool {
    let Some(at) = word.iter().position(|&byte| byte == b'=') else { return false };
    is_assignment(&word[..=at])
        || word.iter().position(|&byte| byte == b'[').is_some_and(|open| open < at && is_name(&word[..open]))
}
