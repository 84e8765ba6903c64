//! Simple commands: assignments, words and redirections.

use super::Token;
use crate::Stop;
use crate::words::{Read, Reader, WordRules, is_name};

const REDIRECTIONS: &[&str] = &["<<-", "<<<", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"];
/// Commands whose arguments may be assignments of arrays.
const DECLARING: &[&str] = &["alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"];

impl Reader<'_> {
    /// Redirections after a compound command.
    pub(super) fn redirections(&mut self) -> Read {
        while self.redirection()? {}
        Ok(())
    }

    /// One redirection, if there is one.
    pub(super) fn redirection(&mut self) -> Read<bool> {
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
    pub(super) fn simple(&mut self) -> Read {
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
    pub(super) fn array(&mut self) -> Read {
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
pub(super) fn parts(text: &[u8]) -> usize {
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
pub(super) fn is_descriptor(word: &[u8], posix: bool) -> bool {
    let named = word.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")).is_some_and(is_name);
    !word.is_empty() && word.iter().all(u8::is_ascii_digit) || named && !posix
}

/// `a=`, `a+=`, `a[1]=`: what an array may follow.
pub(super) fn is_assignment(word: &[u8]) -> bool {
    word.strip_suffix(b"=").is_some_and(|name| {
        let name = name.strip_suffix(b"+").unwrap_or(name);
        let plain = name.iter().position(|&byte| byte == b'[').map_or(name, |at| &name[..at]);
        is_name(plain) && (plain.len() == name.len() || name.ends_with(b"]"))
    })
}

/// `a=b`
pub(super) fn is_assigned(word: &[u8]) -> bool {
    let Some(at) = word.iter().position(|&byte| byte == b'=') else { return false };
    is_assignment(&word[..=at])
        || word.iter().position(|&byte| byte == b'[').is_some_and(|open| open < at && is_name(&word[..open]))
}
