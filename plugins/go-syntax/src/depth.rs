//! Finds the first place where a text is nested too deep for the parser's recursion.

use crate::adjacent::line_breaks;
use crate::joined::is_last;
use gatehost_sdk::nesting::Nesting;
use gosyn::LexicalToken;
use gosyn::token::{Keyword, Operator, Token as Kind};

/// What each costs the parser in bytes of stack; measured in the sandbox.
const BRACKET: u32 = 5_000;
const STATEMENT: u32 = 3_000;
const PREFIX: u32 = 1_500;
const LINK: u32 = 600;

/// A token, and the characters that it takes in the file.
pub(crate) struct Token {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

impl Token {
    /// A token of the text with one line break before it.
    pub(crate) fn of(token: LexicalToken) -> Self {
        Self { start: token.start.saturating_sub(1), end: token.end.saturating_sub(1), kind: token.token }
    }
}

/// The first character at which the text goes beyond the stack.
pub(crate) fn first_beyond(text: &str, tokens: &[Token]) -> Option<usize> {
    let mut nesting = Nesting::new();
    let mut before = None;
    let code = tokens.iter().filter(|token| !matches!(token.kind, Kind::Comment(_)));
    for (Token { start, kind, .. }, is_new_line) in code.zip(line_breaks(text, tokens)) {
        if is_new_line && before.is_some_and(is_last) {
            nesting.end_of_statement();
        }
        before = Some(kind);
        match kind {
            Kind::Operator(operator) => of_operator(&mut nesting, *operator),
            // `else if` and types are read one within another.
            Kind::Keyword(Keyword::Else) => nesting.link_statement(STATEMENT),
            Kind::Keyword(Keyword::Func | Keyword::Map | Keyword::Chan | Keyword::Struct | Keyword::Interface) => {
                nesting.link(PREFIX);
            }
            // It may follow an `else`; the end of a line ends the statement before it.
            Kind::Keyword(Keyword::If) => {}
            Kind::Keyword(_) => nesting.end_of_statement(),
            Kind::Literal(..) | Kind::Comment(_) => {}
        }
        if nesting.is_too_deep() {
            return Some(*start);
        }
    }
    None
}

fn of_operator(nesting: &mut Nesting, operator: Operator) {
    use Operator as O;
    match operator {
        O::ParenLeft | O::BarackLeft | O::BraceLeft => nesting.open(BRACKET),
        O::ParenRight | O::BarackRight | O::BraceRight => nesting.close(),
        O::Comma => nesting.end_of_chain(),
        O::SemiColon | O::Assign | O::Define => nesting.end_of_statement(),
        O::Not | O::Star | O::And | O::Arrow | O::Xor | O::Tiled | O::Add | O::Sub => nesting.link(PREFIX),
        _ => nesting.link(LINK),
    }
}
