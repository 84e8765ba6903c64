//! A parser of JSONC and JSON5 that keeps open brackets in a list, so no file is nested too deep for it. For 100,000 nested
//! brackets, which are valid, the crate `json5` 1.3 overflows the stack, and `jsonc-parser` 0.34 refuses them.

use crate::dialect::Dialect;

/// What is wrong, and at which byte.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) at: usize,
}

type Parsed = Result<(), Problem>;

/// The first error of a text in a relaxed dialect.
pub(crate) fn first_problem(text: &str, dialect: Dialect) -> Option<Problem> {
    let mut parser = Parser { text, at: 0, json5: dialect == Dialect::Json5 };
    if text.starts_with('\u{FEFF}') {
        parser.at = '\u{FEFF}'.len_utf8();
    }
    parser.document().err()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    json5: bool,
}

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// What was expected, and what is here instead.
    fn expected(&self, what: &str) -> Problem {
        match self.next() {
            None => {
                let message = format!("the file ends where {what} is expected");
                Problem { code: "unexpected-end", message, at: self.at }
            }
            // Nobody escapes this one.
            Some('\'') => self.problem("syntax", format!("expected {what}, found `'`")),
            Some(found) => self.problem("syntax", format!("expected {what}, found `{}`", found.escape_debug())),
        }
    }

    fn problem(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), at: self.at }
    }

    fn document(&mut self) -> Parsed {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space()?;
            // Where a value is expected: one that opens goes on inside, unless it is empty.
            match self.byte() {
                Some(bracket @ (b'{' | b'[')) => {
                    let closing = bracket + 2;
                    self.at += 1;
                    open.push(closing);
                    self.space()?;
                    if self.byte() != Some(closing) {
                        self.key_in(closing)?;
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // Behind a value: what closes, and then what goes on.
            loop {
                self.space()?;
                let Some(&closing) = open.last() else { return self.end() };
                if self.byte() == Some(b',') {
                    self.at += 1;
                    self.space()?;
                    if self.byte() != Some(closing) {
                        self.key_in(closing)?;
                        break;
                    }
                }
                if self.byte() != Some(closing) {
                    return Err(self.expected(if closing == b'}' { "`,` or `}`" } else { "`,` or `]`" }));
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    fn end(&self) -> Parsed {
        if self.at == self.text.len() { Ok(()) } else { Err(self.expected("the end of the file")) }
    }

    /// In an object, a key and its colon.
    fn key_in(&mut self, closing: u8) -> Parsed {
        if closing == b']' {
            return Ok(());
        }
        match self.next() {
            Some('"') => self.string()?,
            Some('\'') if self.json5 => self.string()?,
            Some(start) if self.json5 && (starts_name(start) || start == '\\') => self.name()?,
            _ => return Err(self.expected(if self.json5 { "a key" } else { "a key in double quotes" })),
        }
        self.space()?;
        if self.byte() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        Ok(())
    }

    fn scalar(&mut self) -> Parsed {
        match self.byte() {
            Some(b'"') => self.string(),
            Some(b'\'') if self.json5 => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'+' | b'.' | b'I' | b'N') if self.json5 => self.number(),
            _ => {
                let word = ["true", "false", "null"].into_iter().find(|word| self.rest().starts_with(word));
                let Some(word) = word else { return Err(self.expected("a value")) };
                self.at += word.len();
                self.not_a_name()
            }
        }
    }

    /// A word or a number ends where it ends: `truex` and `1a` are nothing.
    fn not_a_name(&self) -> Parsed {
        match self.next() {
            Some(next) if continues_name(next) => Err(self.expected("the end of the value")),
            _ => Ok(()),
        }
    }

    fn number(&mut self) -> Parsed {
        if self.byte() == Some(b'-') || self.byte() == Some(b'+') {
            self.at += 1;
        }
        if self.json5 {
            for word in ["Infinity", "NaN"] {
                if self.rest().starts_with(word) {
                    self.at += word.len();
                    return self.not_a_name();
                }
            }
            if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
                self.at += 2;
                if self.digits(|byte| byte.is_ascii_hexdigit()) == 0 {
                    return Err(self.expected("a hexadecimal digit"));
                }
                return self.not_a_name();
            }
        }
        self.decimal()?;
        self.not_a_name()
    }

    fn decimal(&mut self) -> Parsed {
        let start = self.at;
        let whole = self.digits(|byte| byte.is_ascii_digit());
        if whole > 1 && self.text.as_bytes()[start] == b'0' {
            self.at = start;
            return Err(self.problem("syntax", "a number must not have leading zeros"));
        }
        if whole == 0 && !(self.json5 && self.byte() == Some(b'.')) {
            return Err(self.expected("a digit"));
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            let fraction = self.digits(|byte| byte.is_ascii_digit());
            if fraction == 0 && !(self.json5 && whole > 0) {
                return Err(self.expected("a digit"));
            }
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            if self.digits(|byte| byte.is_ascii_digit()) == 0 {
                return Err(self.expected("a digit"));
            }
        }
        Ok(())
    }

    fn digits(&mut self, is_digit: impl Fn(u8) -> bool) -> usize {
        let length = self.text.as_bytes()[self.at..].iter().take_while(|&&byte| is_digit(byte)).count();
        self.at += length;
        length
    }

    /// From its opening quote to after its closing one.
    fn string(&mut self) -> Parsed {
        let start = self.at;
        let quote = self.byte();
        self.at += 1;
        loop {
            match self.byte() {
                None => return Err(Problem { at: start, ..self.problem("unclosed-string", "a string is not closed") }),
                byte if byte == quote => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(b'\n' | b'\r') => {
                    let message = "a string is not closed at the end of its line";
                    return Err(Problem { at: start, ..self.problem("unclosed-string", message) });
                }
                Some(0..0x20) if !self.json5 => {
                    return Err(self.problem("syntax", "a control character in a string must be escaped"));
                }
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Parsed {
        let start = self.at;
        self.at += 1;
        let escaped = self.next();
        self.at += escaped.map_or(0, char::len_utf8);
        let is_right = match escaped {
            None => true, // The string is not closed; its caller says so.
            Some('u') => self.hexadecimal(4),
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => true,
            Some('x') if self.json5 => self.hexadecimal(2),
            Some('0') if self.json5 => !self.byte().is_some_and(|next| next.is_ascii_digit()),
            // JSON5 lets any other character stand for itself, and a line go on.
            Some('\r') if self.json5 => {
                self.at += usize::from(self.byte() == Some(b'\n'));
                true
            }
            Some(other) => self.json5 && !other.is_ascii_digit(),
        };
        if is_right { Ok(()) } else { Err(Problem { at: start, ..self.problem("bad-escape", "an unknown escape") }) }
    }

    fn hexadecimal(&mut self, count: usize) -> bool {
        let digits = self.text.as_bytes().get(self.at..self.at + count);
        let all = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        self.at += if all { count } else { 0 };
        all
    }

    /// A key without quotes.
    fn name(&mut self) -> Parsed {
        while let Some(next) = self.next() {
            if next == '\\' {
                let start = self.at;
                self.at += 1;
                let is_right = self.byte() == Some(b'u') && {
                    self.at += 1;
                    self.hexadecimal(4)
                };
                if !is_right {
                    return Err(Problem { at: start, ..self.problem("bad-escape", "an unknown escape in a key") });
                }
            } else if continues_name(next) {
                self.at += next.len_utf8();
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Skip spaces and comments.
    fn space(&mut self) -> Parsed {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => match self.next() {
                    Some(next) if self.json5 && is_space(next) => self.at += next.len_utf8(),
                    _ => return Ok(()),
                },
            }
        }
    }

    fn comment(&mut self) -> Parsed {
        let rest = self.rest();
        if rest.starts_with("//") {
            let line_end = |c: char| matches!(c, '\n' | '\r') || self.json5 && matches!(c, '\u{2028}' | '\u{2029}');
            self.at += rest.find(line_end).unwrap_or(rest.len());
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let Some(length) = inside.find("*/") else {
                return Err(self.problem("unclosed-comment", "a comment is not closed"));
            };
            self.at += length + 4;
        } else {
            return Err(self.expected("a value, or a comment `//` or `/* */`"));
        }
        Ok(())
    }
}

/// What JSON5 accepts for a space, which is what ECMAScript does.
fn is_space(character: char) -> bool {
    character == '\u{FEFF}' || character.is_whitespace() && character != '\u{85}'
}

/// JSON5 accepts an ECMAScript 5.1 name. Of letters beyond ASCII this knows what Rust does.
fn starts_name(character: char) -> bool {
    matches!(character, '$' | '_') || character.is_alphabetic()
}

/// Beyond ASCII every mark counts that is no space: none of them ends a name.
fn continues_name(character: char) -> bool {
    starts_name(character) || character.is_ascii_digit() || !character.is_ascii() && !is_space(character)
}

#[cfg(test)]
mod tests;
