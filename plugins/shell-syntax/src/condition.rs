//! Conditions: `[[ … ]]`.

use crate::Stop;
use crate::commands::Token;
use crate::words::{Read, Reader, WordRules};

const BINARY: &[&str] = &["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

impl Reader<'_> {
    /// From after `[[` to after `]]`.
    pub(crate) fn condition(&mut self) -> Read {
        self.either()?;
        self.skip_newlines()?;
        match self.token(WordRules::default())? {
            Token::Word { start, end } if &self.text[start..end] == b"]]" => {
                self.at = end;
                Ok(())
            }
            token => Err(self.unexpected(token)),
        }
    }

    fn skip_newlines(&mut self) -> Read {
        while self.token(WordRules::default())? == Token::Newline {
            self.newline();
        }
        Ok(())
    }

    fn either(&mut self) -> Read {
        loop {
            self.term()?;
            let before = self.at;
            self.skip_newlines()?;
            match self.token(WordRules::default())? {
                Token::Operator("&&" | "||") => self.at += 2,
                _ => {
                    self.at = before;
                    return Ok(());
                }
            }
        }
    }

    fn term(&mut self) -> Read {
        self.skip_newlines()?;
        let token = self.token(WordRules::default())?;
        let (start, end) = match token {
            Token::Operator("(") => {
                self.at += 1;
                self.nested(Self::either)?;
                self.skip_newlines()?;
                return match self.token(WordRules::default())? {
                    Token::Operator(")") => {
                        self.at += 1;
                        Ok(())
                    }
                    token => Err(self.unexpected(token)),
                };
            }
            Token::Word { start, end } => (start, end),
            token => return Err(self.unexpected(token)),
        };
        let word = &self.text[start..end];
        if word == b"]]" {
            return Err(self.unexpected(token));
        }
        self.at = end;
        if word == b"!" {
            return self.nested(Self::term);
        }
        if is_unary(word) {
            return self.operand(WordRules::default());
        }
        self.binary(start)
    }

    /// What follows a first operand.
    fn binary(&mut self, start: usize) -> Read {
        let token = self.token(WordRules::default())?;
        match token {
            Token::Operator("<" | ">") => {
                self.at += 1;
                self.operand(WordRules::default())
            }
            Token::Operator("&&" | "||" | ")") => Ok(()),
            Token::Word { start, end } => {
                let word = &self.text[start..end];
                if word == b"]]" {
                    return Ok(());
                }
                if !BINARY.iter().any(|known| known.as_bytes() == word) {
                    return Err(Stop::wrong(start, "syntax", "expected an operator of `[[ … ]]`"));
                }
                let manner = match word {
                    b"=~" => WordRules { regex: true, ..WordRules::default() },
                    b"=" | b"==" | b"!=" => WordRules { extended: true, ..WordRules::default() },
                    _ => WordRules::default(),
                };
                self.at = end;
                self.operand(manner)
            }
            Token::End => Err(Stop::wrong(start, "unexpected-end", "`[[` is not closed")),
            token => Err(self.unexpected(token)),
        }
    }

    fn operand(&mut self, manner: WordRules) -> Read {
        match self.token(manner)? {
            Token::Word { start, end } if &self.text[start..end] != b"]]" => {
                self.at = end;
                Ok(())
            }
            token => Err(self.unexpected(token)),
        }
    }
}

fn is_unary(word: &[u8]) -> bool {
    matches!(word, [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter))
}
