//! Scans what all dialects have in common: strings, quoted names, comments, brackets, and the ends of statements.

use crate::psql;

/// What is wrong in any dialect, and at which byte.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) at: usize,
}

/// A statement without its `;`.
#[derive(Debug, PartialEq)]
pub(crate) struct Statement<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    /// How many words and marks it has.
    pub(crate) tokens: usize,
    /// How deep its brackets are nested.
    pub(crate) depth: usize,
    /// The first mark that PostgreSQL does not know.
    pub(crate) stray: Option<usize>,
    /// A letter beyond ASCII stands right after a string.
    pub(crate) glued: bool,
}

/// A text as PostgreSQL's own client reads it.
#[derive(Debug)]
pub(crate) struct Lexed<'a> {
    pub(crate) statements: Vec<Statement<'a>>,
    /// What is wrong with any part of it.
    pub(crate) faults: Vec<Fault>,
    /// The first line that begins as a command of psql does and is none.
    pub(crate) unknown_command: Option<usize>,
}

pub(crate) fn lexed(text: &str) -> Lexed<'_> {
    let mut lexer = Lexer::new(text);
    lexer.read();
    Lexed { statements: lexer.statements, faults: lexer.faults, unknown_command: lexer.unknown_command }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    statements: Vec<Statement<'a>>,
    faults: Vec<Fault>,
    unknown_command: Option<usize>,
    /// Where the statement starts that is being read; `None` before its first token.
    start: Option<usize>,
    tokens: usize,
    depth: usize,
    stray: Option<usize>,
    glued: bool,
    /// The brackets that are open.
    open: Vec<(u8, usize)>,
    /// In the body of a function: how many `END` are missing.
    ends: usize,
    last_word: &'a str,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{FEFF}') { 3 } else { 0 };
        Self {
            text,
            at,
            statements: Vec::new(),
            faults: Vec::new(),
            unknown_command: None,
            start: None,
            tokens: 0,
            depth: 0,
            stray: None,
            glued: false,
            open: Vec::new(),
            ends: 0,
            last_word: "",
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn read(&mut self) {
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => self.at += 1,
                b'-' if self.rest().starts_with("--") => self.line(),
                b'/' if self.rest().starts_with("/*") => self.comment(),
                b'\\' if self.start.is_none() => self.command(),
                b';' if self.open.is_empty() && self.ends == 0 => self.end(),
                _ => self.token(byte),
            }
        }
        if let Some(start) = self.start {
            if self.ends > 0 {
                let message = "the file ends in a body of `BEGIN ATOMIC`; expected `END`".to_owned();
                self.faults.push(Fault { code: "unexpected-end", message, at: start });
            }
            self.end();
        }
    }

    fn token(&mut self, byte: u8) {
        let start = self.at;
        self.start.get_or_insert(start);
        self.tokens += 1;
        match byte {
            b'\'' => {
                self.string(self.last_word.eq_ignore_ascii_case("e") && self.is_glued());
                self.glued |= self.rest().starts_with(|next: char| !next.is_ascii());
            }
            b'"' => self.quoted("\"", "a name in double quotes"),
            b'`' => {
                self.stray.get_or_insert(start);
                self.quoted("`", "a name in backticks");
            }
            b'$' => self.dollar(),
            b'(' | b'[' => {
                self.open.push((byte, start));
                self.depth = self.depth.max(self.open.len());
                self.at += 1;
            }
            b')' | b']' => self.close(byte),
            _ if byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii() => return self.word(),
            _ if byte.is_ascii_digit() => {
                let rest = self.rest();
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                if let Some(before) = rest[..length].find("..") {
                    self.stray.get_or_insert(start + before);
                }
                self.at += length;
            }
            _ => {
                if byte.is_ascii_control() || matches!(byte, b'{' | b'}' | b'\\') || self.rest().starts_with("..") {
                    self.stray.get_or_insert(start);
                }
                self.at += 1;
            }
        }
        self.last_word = "";
    }

    /// Whether the last word ends right here, as the `E` of `E'…'` does.
    fn is_glued(&self) -> bool {
        self.text[..self.at].ends_with(self.last_word)
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' && c != '$');
        let word = &rest[..length.unwrap_or(rest.len())];
        self.at += word.len();
        // The body of a function may be statements between `BEGIN ATOMIC` and `END`; `CASE` has an `END` as well.
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        if is("atomic") && self.last_word.eq_ignore_ascii_case("begin") || self.ends > 0 && is("case") {
            self.ends += 1;
        } else if is("end") {
            self.ends = self.ends.saturating_sub(1);
        }
        self.last_word = word;
    }

    fn line(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// A command of psql, for as long as its line.
    fn command(&mut self) {
        let start = self.at;
        self.line();
        let line = &self.text[start + 1..self.at];
        // A command of one mark needs no space after it.
        let name = match line.strip_prefix('!') {
            Some(_) => "!",
            None => line.split([' ', '\t', '\r', ';']).next().unwrap_or_default(),
        };
        if !psql::is_known(name) {
            self.unknown_command.get_or_insert(start);
        } else if reads_input(line) {
            self.skip_data();
        }
    }

    /// Comments nest.
    fn comment(&mut self) {
        let start = self.at;
        let mut depth = 0;
        loop {
            let rest = self.rest();
            match rest.find(['/', '*']) {
                None => return self.unclosed("unclosed-comment", "a comment", start),
                Some(before) => {
                    self.at += before;
                    if self.rest().starts_with("/*") {
                        depth += 1;
                        self.at += 2;
                    } else if self.rest().starts_with("*/") {
                        depth -= 1;
                        self.at += 2;
                        if depth == 0 {
                            return;
                        }
                    } else {
                        self.at += 1;
                    }
                }
            }
        }
    }

    fn unclosed(&mut self, code: &'static str, what: &str, start: usize) {
        self.at = self.text.len();
        self.faults.push(Fault { code, message: format!("{what} is not closed"), at: start });
    }

    fn string(&mut self, escapes: bool) {
        if !escapes {
            return self.quoted("'", "a string");
        }
        let start = self.at;
        self.at += 1;
        while let Some(before) = self.rest().find(['\'', '\\']) {
            let is_escape = self.rest()[before..].starts_with('\\');
            self.at += before + 1;
            if !is_escape {
                return;
            }
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
        self.unclosed("unclosed-string", "a string", start);
    }

    /// A doubled quote is two strings side by side, which comes to the same.
    fn quoted(&mut self, quote: &str, what: &str) {
        let start = self.at;
        match self.text[start + 1..].find(quote) {
            Some(length) => self.at = start + length + 2,
            None => self.unclosed("unclosed-string", what, start),
        }
    }

    /// `$$ … $$`, `$tag$ … $tag$`, or a parameter such as `$1`.
    fn dollar(&mut self) {
        let start = self.at;
        let inside = &self.text[start + 1..];
        let length = inside.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_');
        let is_tag = length.is_some_and(|length| inside[length..].starts_with('$'))
            && !inside.starts_with(|c: char| c.is_ascii_digit());
        let Some(length) = length.filter(|_| is_tag) else {
            // A parameter has a number that fits 31 bits.
            let digits = inside.find(|c: char| !c.is_ascii_digit()).unwrap_or(inside.len());
            if inside[..digits].parse::<i32>().is_err() {
                self.stray.get_or_insert(start);
            }
            self.at += 1;
            return;
        };
        let tag = &self.text[start..start + length + 2];
        let behind = start + tag.len();
        match self.text[behind..].find(tag) {
            Some(before) => self.at = behind + before + tag.len(),
            None => self.unclosed("unclosed-string", &format!("the string of `{tag}`"), start),
        }
    }

    fn close(&mut self, byte: u8) {
        let opening = if byte == b')' { b'(' } else { b'[' };
        if self.open.last().is_some_and(|&(open, _)| open == opening) {
            self.open.pop();
        } else {
            let message = format!("`{}` has no opening bracket", char::from(byte));
            self.faults.push(Fault { code: "unbalanced-bracket", message, at: self.at });
            // What is open stays so no longer: one mistake is reported once.
            self.open.clear();
        }
        self.at += 1;
    }

    /// A statement ends here.
    fn end(&mut self) {
        if let Some(&(open, at)) = self.open.first() {
            let message = format!("`{}` is not closed", char::from(open));
            self.faults.push(Fault { code: "unbalanced-bracket", message, at });
        }
        if let Some(start) = self.start {
            let text = &self.text[start..self.at];
            let stray = self.stray.map(|at| at - start);
            self.statements.push(Statement {
                text,
                at: start,
                tokens: self.tokens,
                depth: self.depth,
                stray,
                glued: self.glued,
            });
        }
        self.at = (self.at + 1).min(self.text.len());
        if self.statements.last().is_some_and(|last| self.start == Some(last.at) && reads_input(last.text)) {
            self.skip_data();
        }
        (self.start, self.tokens, self.depth, self.ends) = (None, 0, 0, 0);
        (self.stray, self.glued) = (None, false);
        self.open.clear();
        self.last_word = "";
    }

    /// What `COPY … FROM stdin` reads, up to a line with `\.` only.
    fn skip_data(&mut self) {
        let rest = self.rest();
        let end = rest.find("\n\\.").map(|at| at + 3);
        self.at += end.unwrap_or(0);
    }
}

fn reads_input(statement: &str) -> bool {
    let starts = statement.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    starts && statement.to_ascii_lowercase().contains("from stdin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        lexed(text).statements.into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn statements_end_at_their_semicolons() {
        for (text, expected) in [
            ("", &[][..]),
            (" -- only; a comment\n/* a; /* nested; */ */ ;;", &[]),
            ("select 1; select 2", &["select 1", "select 2"]),
            ("select ';', \";\", 'it''s;'; b", &["select ';', \";\", 'it''s;'", "b"]),
            ("select E'\\';'; b", &["select E'\\';'", "b"]),
            ("select $$;$$, $a$ $$; $a$, $1; b", &["select $$;$$, $a$ $$; $a$, $1", "b"]),
            ("create rule r as do (a; b); c", &["create rule r as do (a; b)", "c"]),
            (
                "create function f() begin atomic select case when a then b end; select 2; end; c",
                &["create function f() begin atomic select case when a then b end; select 2; end", "c"],
            ),
            ("\\set a 1;\nselect 1;\n\\d b\n", &["select 1"]),
            ("copy a from stdin;\n1\t'\n(\n\\.\nselect 1;", &["copy a from stdin", "select 1"]),
            ("\\copy a from stdin\n1\t'\n(\n\\.\nselect 1;", &["select 1"]),
        ] {
            assert_eq!(texts(text), expected, "{text}");
            assert_eq!(lexed(text).faults, [], "{text}");
        }
    }

    #[test]
    fn a_line_that_is_no_command_is_known() {
        for (text, expected) in [
            ("\\set a 1\n\\dt+ b\n\\!ls\n\\q\r\n\\gset\n", None),
            ("select 1;\n\\this is no command (((", Some(10)),
            ("\\ select 1;", Some(0)),
        ] {
            assert_eq!(lexed(text).unknown_command, expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_closed_has_its_place() {
        for (text, code, at) in [
            ("select 'a", "unclosed-string", 7),
            ("select \"a", "unclosed-string", 7),
            ("select $a$ $$", "unclosed-string", 7),
            ("select /* a", "unclosed-comment", 7),
            ("select (1; select 2", "unbalanced-bracket", 7),
            ("a; create function f() begin atomic select 1; select 2;", "unexpected-end", 3),
            ("select 1); select 2", "unbalanced-bracket", 8),
            ("select (1]; select 2", "unbalanced-bracket", 9),
        ] {
            let faults: Vec<_> = lexed(text).faults.into_iter().map(|fault| (fault.code, fault.at)).collect();
            assert_eq!(faults, [(code, at)], "{text}");
        }
    }
}
