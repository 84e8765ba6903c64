//! The parts of documents and declarations: a position in the text, names, quoted values, references.

use crate::Problem;

/// An error after which nothing can be read.
pub(crate) type Read<T = ()> = Result<T, Problem>;

/// A place in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn is(&self, start: &str) -> bool {
        self.rest().starts_with(start)
    }

    /// Step over `mark` if it is here.
    pub(crate) fn take(&mut self, mark: &str) -> bool {
        let here = self.is(mark);
        self.at += if here { mark.len() } else { 0 };
        here
    }

    /// Step over spaces, and say whether there were any.
    pub(crate) fn space(&mut self) -> bool {
        let length = self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += length;
        length > 0
    }

    pub(crate) fn expect(&mut self, mark: &str) -> Read {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    pub(crate) fn expect_space(&mut self) -> Read {
        if self.space() { Ok(()) } else { Err(self.expected("a space")) }
    }

    /// What was expected, and what is here instead.
    pub(crate) fn expected(&self, what: &str) -> Problem {
        match self.next() {
            None => self.problem("unexpected-end", format!("the file ends where {what} is expected")),
            // Nobody escapes this one.
            Some('\'') => self.problem("syntax", format!("expected {what}, found `'`")),
            Some(found) => self.problem("syntax", format!("expected {what}, found `{}`", found.escape_debug())),
        }
    }

    pub(crate) fn problem(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), at: self.at }
    }

    /// Go after the next `mark`, and return what is before it.
    pub(crate) fn until(&mut self, mark: &str, code: &'static str, what: &str) -> Read<&'a str> {
        match self.rest().find(mark) {
            Some(length) => {
                let inside = &self.rest()[..length];
                self.at += length + mark.len();
                Ok(inside)
            }
            None => Err(self.problem(code, format!("{what} is not closed; expected `{mark}`"))),
        }
    }

    pub(crate) fn name(&mut self) -> Read<&'a str> {
        let rest = self.rest();
        if !rest.starts_with(starts_name) {
            return Err(self.expected("a name"));
        }
        let length = rest.find(|character| !continues_name(character)).unwrap_or(rest.len());
        self.at += length;
        Ok(&rest[..length])
    }

    /// A name that may start with a digit.
    pub(crate) fn token(&mut self) -> Read<&'a str> {
        let rest = self.rest();
        let length = rest.find(|character| !continues_name(character)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.expected("a name"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// What is in quotes here, of either kind.
    pub(crate) fn quoted(&mut self) -> Read<&'a str> {
        let start = self.at;
        for quote in ["\"", "'"] {
            if self.take(quote) {
                let unclosed = |problem| Problem { at: start, ..problem };
                return self.until(quote, "unclosed-value", "a value").map_err(unclosed);
            }
        }
        Err(self.expected("a value in quotes"))
    }

    /// Behind `&`: a character, or the name of an entity.
    pub(crate) fn reference(&mut self) -> Read<Option<&'a str>> {
        let start = self.at;
        self.at += 1;
        if self.take("#") {
            let (radix, digits) = if self.take("x") { (16, "hexadecimal digits") } else { (10, "digits") };
            let number = self.rest().split(|c: char| !c.is_digit(radix)).next().unwrap_or_default();
            if number.is_empty() {
                return Err(self.expected(digits));
            }
            self.at += number.len();
            let character = u32::from_str_radix(number, radix).ok().and_then(char::from_u32);
            if !character.is_some_and(is_allowed) {
                let message = "a reference to a character is not allowed in XML";
                return Err(Problem { at: start, ..self.problem("bad-character", message) });
            }
            self.expect(";")?;
            return Ok(None);
        }
        if !self.rest().starts_with(starts_name) {
            let message = "`&` does not start a reference here; write `&amp;` for a plain `&`";
            return Err(Problem { at: start, ..self.problem("bare-ampersand", message) });
        }
        let name = self.name()?;
        if !self.take(";") {
            let message = format!("the reference `&{name}` has no `;`; a plain `&` is written `&amp;`");
            return Err(Problem { at: start, ..self.problem("bare-ampersand", message) });
        }
        Ok(Some(name))
    }

    /// Behind `<!--`.
    pub(crate) fn comment(&mut self) -> Read {
        let start = self.at;
        self.at += 4;
        let inside = self.at;
        let unclosed = |problem| Problem { at: start, ..problem };
        let comment = self.until("--", "unclosed-comment", "a comment").map_err(unclosed)?;
        if !self.take(">") {
            let at = inside + comment.len();
            return Err(Problem { at, ..self.problem("syntax", "a comment must not contain `--`") });
        }
        Ok(())
    }

    /// `<?target …?>`.
    pub(crate) fn instruction(&mut self) -> Read {
        let start = self.at;
        self.at += 2;
        let target = self.name()?;
        if target.eq_ignore_ascii_case("xml") {
            let message = "an XML declaration must be at the start of the file";
            return Err(Problem { at: start, ..self.problem("misplaced-declaration", message) });
        }
        if !self.take("?>") {
            self.expect_space()?;
            let unclosed = |problem| Problem { at: start, ..problem };
            self.until("?>", "unclosed-instruction", "an instruction").map_err(unclosed)?;
        }
        Ok(())
    }
}

/// What may stand in a document at all.
pub(crate) fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

pub(crate) fn starts_name(character: char) -> bool {
    matches!(character,
        'a'..='z' | 'A'..='Z' | '_' | ':' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}' | '\u{200D}' | '\u{2070}'..='\u{218F}'
        | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}'
        | '\u{10000}'..='\u{EFFFF}')
}

pub(crate) fn continues_name(character: char) -> bool {
    starts_name(character)
        || matches!(character,
            '0'..='9' | '-' | '.' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}' | '\u{2040}')
}
