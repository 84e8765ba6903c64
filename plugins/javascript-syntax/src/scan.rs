//! Where a text is nested deeper than the parser's recursion can follow, or longer than its memory holds.
//!
//! A lexer without a parser cannot know all of JavaScript: whether `/` begins a regular expression and `<` an element
//! or a type argument is told here by the token before. Where that guess is wrong, only the meter is.

mod elements;

use crate::level::{Level, Words};
use gatehost_sdk::nesting::Nesting;

/// Why a text is not given to the parser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LimitExceeded {
    /// Deeper than the stack.
    Stack,
    /// More tokens than fit the memory, with their tree.
    Tokens,
}

/// The most tokens that are parsed.
pub(crate) const MOST_TOKENS: usize = 1_500_000;

/// What each costs the parser, or the walk over its tree, in bytes of stack; measured in the sandbox.
const BRACKET: u32 = 1_650;
const ELEMENT: u32 = 700;
const STATEMENT: u32 = 720;
const HEAVY: u32 = 660;
const LINK: u32 = 310;
const BINARY: u32 = 170;
const GROUP: u32 = 620;
const MEMBER: u32 = 60;

/// Which of the languages a file is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    pub(crate) typescript: bool,
    pub(crate) jsx: bool,
}

/// How many tokens the text has, about, or the first byte at which it goes beyond something.
pub(crate) fn tokens(text: &str, dialect: Dialect) -> Result<usize, (usize, LimitExceeded)> {
    let mut scan = Scan {
        text: text.as_bytes(),
        at: 0,
        dialect,
        nesting: Nesting::new(),
        levels: Vec::new(),
        after_operand: false,
        after_head: false,
        ended: StatementEnd::Surely,
        newline: true,
    };
    for tokens in 0..MOST_TOKENS {
        let start = scan.at;
        if scan.at >= text.len() {
            return Ok(tokens);
        }
        match scan.levels.last() {
            Some(Level::Tag) => scan.in_tag(),
            Some(Level::Children) => scan.in_children(),
            _ => scan.in_code(),
        }
        if scan.nesting.is_too_deep() {
            return Err((start, LimitExceeded::Stack));
        }
    }
    Err((scan.at, LimitExceeded::Tokens))
}

#[derive(Clone, Copy, Default, PartialEq)]
enum StatementEnd {
    #[default]
    No,
    /// A brace closed, of a block or of an object.
    Perhaps,
    /// A semicolon, after which only an `else` goes on.
    Surely,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    nesting: Nesting,
    levels: Vec<Level>,
    /// The token before could end an expression.
    after_operand: bool,
    /// The word before takes a parenthesis and then a statement: `if`, `for`, `while`, `with`.
    after_head: bool,
    /// Whether the token before ends a statement.
    ended: StatementEnd,
    /// There was a line break since the token before.
    newline: bool,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_to(&mut self, end: impl Fn(u8) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| end(byte)).unwrap_or(rest.len());
    }

    fn skip_past(&mut self, end: &[u8]) {
        let rest = &self.text[self.at..];
        let found = rest.windows(end.len()).position(|window| window == end);
        self.at += found.map_or(rest.len(), |at| at + end.len());
    }

    fn open(&mut self, level: Level, cost: u32) {
        self.levels.push(level);
        self.nesting.open(cost);
    }

    fn pop(&mut self) {
        self.levels.pop();
        self.nesting.close();
    }

    /// Close the innermost level of this kind, and what was left open in it. Nothing where there is none.
    fn close(&mut self, is_it: fn(&Level) -> bool) -> Option<Level> {
        let depth = self.levels.iter().rposition(is_it)?;
        let level = self.levels[depth];
        while self.levels.len() > depth {
            self.pop();
        }
        Some(level)
    }

    fn end_of_statement(&mut self) {
        while self.levels.last() == Some(&Level::Angle) {
            self.pop();
        }
        self.nesting.end_of_statement();
    }

    fn in_code(&mut self) {
        let byte = self.peek(0);
        match byte {
            b'\n' | b'\r' => {
                self.newline = true;
                self.at += 1;
            }
            b' ' | b'\t' => self.skip_to(|byte| byte != b' ' && byte != b'\t'),
            b'/' if self.peek(1) == b'/' => self.skip_to(|byte| byte == b'\n'),
            b'/' if self.peek(1) == b'*' => {
                self.at += 2;
                self.skip_past(b"*/");
            }
            _ => {
                self.token(byte);
                self.newline = false;
            }
        }
    }

    fn token(&mut self, byte: u8) {
        let starts_word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'@') || byte >= 0x80;
        if starts_word {
            return self.word();
        }
        match std::mem::take(&mut self.ended) {
            StatementEnd::Perhaps if !matches!(byte, b'{' | b'"' | b'\'' | b'`' | b';') => {}
            StatementEnd::No => {}
            _ => self.end_of_statement(),
        }
        let after_head = std::mem::take(&mut self.after_head);
        self.at += 1;
        match byte {
            b'"' | b'\'' => self.string(byte),
            b'`' => {
                self.nesting.link(LINK);
                self.template();
            }
            b'(' => self.open_bracket(Level::Paren { of_head: after_head }),
            b'[' => self.open_bracket(Level::Square),
            b'{' => self.open_bracket(Level::Brace),
            b')' => {
                let closed = self.close(|level| matches!(level, Level::Paren { .. }));
                self.after_operand = closed != Some(Level::Paren { of_head: true });
            }
            b']' => {
                self.close(|level| *level == Level::Square);
                self.after_operand = true;
            }
            b'}' => self.close_brace(),
            b';' => {
                self.ended = StatementEnd::Surely;
                self.after_operand = false;
            }
            b',' => {
                self.nesting.end_of_chain();
                self.after_operand = false;
            }
            b'/' if !self.after_operand => self.regular_expression(),
            b'<' => self.less(),
            b'>' if self.levels.last() == Some(&Level::Angle) && self.text[self.at.saturating_sub(2)] != b'=' => {
                self.pop();
                self.after_operand = true;
            }
            _ => self.operator(byte),
        }
    }

    fn open_bracket(&mut self, level: Level) {
        // A call or an index is a link of what goes before it, too.
        self.nesting.link(LINK);
        self.open(level, BRACKET);
        self.after_operand = false;
    }

    fn close_brace(&mut self) {
        let closed = self.close(|level| matches!(level, Level::Brace | Level::Template));
        self.after_operand = true;
        match closed {
            Some(Level::Template) => self.template(),
            // The tag or the text that it stood in goes on.
            _ if matches!(self.levels.last(), Some(Level::Tag | Level::Children)) => {}
            _ => self.ended = StatementEnd::Perhaps,
        }
    }

    fn operator(&mut self, byte: u8) {
        match byte {
            b'=' if self.peek(0) == b'>' => {
                self.at += 1;
                self.nesting.link(HEAVY);
            }
            b':' => self.nesting.link(HEAVY),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' if self.after_operand => self.nesting.link(BINARY),
            _ => self.nesting.link(LINK),
        }
        // The second half of `&&`, `++` and the like is no operator of its own.
        let is_double = self.peek(0) == byte && matches!(byte, b'&' | b'|' | b'?' | b'*' | b'=' | b'>' | b'.');
        if is_double {
            self.at += 1;
        }
        let is_step = matches!(byte, b'+' | b'-') && self.peek(0) == byte;
        if is_step {
            self.at += 1;
        } else {
            self.after_operand = byte == b'!' && self.after_operand && self.dialect.typescript;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        self.at += 1;
        self.skip_to(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80));
        let word = &self.text[start..self.at];
        // Behind a dot it is a name, whatever it says.
        let words = if start > 0 && self.text[start - 1] == b'.' { Words::Name } else { Words::of(word) };
        let goes_on = matches!(words, Words::Binary | Words::Else);
        let ended = std::mem::take(&mut self.ended) != StatementEnd::No || (self.newline && self.after_operand);
        if ended && !goes_on {
            self.end_of_statement();
        }
        match words {
            Words::Else | Words::Statement | Words::Head => self.nesting.link_statement(STATEMENT),
            Words::Heavy => self.nesting.link(HEAVY),
            Words::Prefix | Words::Binary => self.nesting.link(LINK),
            Words::Name => {}
        }
        self.after_head = words == Words::Head;
        self.after_operand = words == Words::Name;
    }

    fn string(&mut self, quote: u8) {
        loop {
            self.skip_to(|byte| byte == quote || byte == b'\\' || byte == b'\n');
            match self.peek(0) {
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                byte if byte == quote => break self.at += 1,
                _ => break,
            }
        }
        self.after_operand = true;
    }

    /// From within a template to its end, or into what it interpolates.
    fn template(&mut self) {
        while self.at < self.text.len() {
            self.skip_to(|byte| matches!(byte, b'`' | b'\\' | b'$'));
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at = (self.at + 2).min(self.text.len()),
                (b'$', b'{') => {
                    self.at += 2;
                    self.open(Level::Template, BRACKET);
                    self.after_operand = false;
                    return;
                }
                (b'`', _) => {
                    self.at += 1;
                    break;
                }
                _ => self.at = (self.at + 1).min(self.text.len()),
            }
        }
        self.after_operand = true;
    }

    /// A literal, whose groups and classes nest as well.
    fn regular_expression(&mut self) {
        let outside = self.nesting.levels();
        let mut in_class = false;
        while !self.nesting.is_too_deep() {
            match self.peek(0) {
                b'\n' | 0 => break,
                b'\\' => self.at += 1,
                b'/' if !in_class => {
                    self.at += 1;
                    break;
                }
                b'[' => {
                    in_class = true;
                    self.nesting.open(GROUP);
                }
                b']' => {
                    in_class = false;
                    self.close_group(outside);
                }
                b'(' if !in_class => self.nesting.open(GROUP),
                b')' if !in_class => self.close_group(outside),
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        if !self.nesting.is_too_deep() {
            while self.nesting.levels() > outside {
                self.nesting.close();
            }
        }
        self.after_operand = true;
    }

    fn close_group(&mut self, outside: usize) {
        if self.nesting.levels() > outside {
            self.nesting.close();
        }
    }

    fn less(&mut self) {
        let next = self.peek(0);
        let is_element = self.dialect.jsx && !self.after_operand && (next == b'>' || next.is_ascii_alphabetic());
        if is_element && !self.begins_type_parameters() {
            return self.open(Level::Tag, ELEMENT);
        }
        self.nesting.link(LINK);
        if next == b'<' {
            self.at += 1;
        } else if self.dialect.typescript && next != b'=' {
            self.open(Level::Angle, BRACKET);
        }
        self.after_operand = false;
    }

    /// `<T,>(a) => a` and `<T extends A>(a) => a`, where elements are possible too.
    fn begins_type_parameters(&self) -> bool {
        let rest = &self.text[self.at..];
        let name = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len());
        let rest = rest[name..].trim_ascii_start();
        self.dialect.typescript && (rest.starts_with(b",") || rest.starts_with(b"extends "))
    }
}
