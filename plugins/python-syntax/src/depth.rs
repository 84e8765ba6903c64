//! Finds the first place where a text is nested deeper than Python allows, or too deep for the parser's recursion.

mod bound;

use gatehost_sdk::nesting::{Nesting, STACK};
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer::lex};

/// Why a text is not given to the parser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LimitExceeded {
    /// More than CPython itself allows of this.
    Python(&'static str),
    /// More than the parser's recursion can follow.
    Stack,
    /// More tokens than fit the memory, with their tree.
    Tokens,
}

/// The most tokens that are parsed. It takes twice as many, and all of them errors, to fill the memory of a call.
pub(crate) const MOST_TOKENS: usize = 500_000;

/// CPython's `MAXLEVEL` and `MAXINDENT`.
const MOST_BRACKETS: usize = 200;
const MOST_INDENTS: usize = 99;

/// What each costs the parser, or the walk over its tree, in bytes of stack; measured in the sandbox.
const BRACKET: u32 = 1_100;
const BLOCK: u32 = 900;
const INTERPOLATED_STRING: u32 = 1_400;
const PREFIX: u32 = 950;
const LINK: u32 = 220;

/// The first byte at which the text goes beyond something.
pub(crate) fn first_beyond(text: &str) -> Option<(usize, LimitExceeded)> {
    if bound::stack(text).is_some_and(|stack| stack <= STACK) {
        return None;
    }
    let beyond = Scan::over(text)?;
    // The lexer does not tell where it is, so the shortest beginning that is too deep tells: rare, and cheap enough.
    let (mut fits, mut too_deep) = (0, text.len());
    while too_deep - fits > 1 {
        let middle = text.floor_char_boundary(fits + (too_deep - fits) / 2);
        match middle {
            _ if middle == fits => break,
            _ if Scan::over(&text[..middle]).is_some() => too_deep = middle,
            _ => fits = middle,
        }
    }
    Some((fits, beyond))
}

#[derive(Default)]
struct Scan {
    nesting: Nesting,
    /// For every open bracket: how many lambdas wait for their colon. Their commas end no chain.
    brackets: Vec<u32>,
    lambdas: u32,
    indents: usize,
    after_operand: bool,
}

impl Scan {
    /// What the text goes beyond.
    fn over(text: &str) -> Option<LimitExceeded> {
        let mut scan = Self::default();
        let mut lexer = lex(text, Mode::Module);
        for _ in 0..MOST_TOKENS {
            let token = lexer.next_token();
            if token == TokenKind::EndOfFile {
                return None;
            }
            scan.take(token);
            if scan.brackets.len() > MOST_BRACKETS {
                return Some(LimitExceeded::Python("more than 200 nested brackets"));
            }
            if scan.indents > MOST_INDENTS {
                return Some(LimitExceeded::Python("more than 99 levels of indentation"));
            }
            if scan.nesting.is_too_deep() {
                return Some(LimitExceeded::Stack);
            }
        }
        Some(LimitExceeded::Tokens)
    }

    fn take(&mut self, token: TokenKind) {
        use TokenKind as T;
        match token {
            T::Lpar | T::Lsqb | T::Lbrace => {
                // A call or a subscript is a link of what goes before it, too.
                self.nesting.link(LINK);
                self.nesting.open(BRACKET);
                self.brackets.push(std::mem::take(&mut self.lambdas));
            }
            T::Rpar | T::Rsqb | T::Rbrace => {
                if let Some(lambdas) = self.brackets.pop() {
                    self.lambdas = lambdas;
                    self.nesting.close();
                }
            }
            T::Indent => {
                self.indents += 1;
                self.nesting.open(BLOCK);
            }
            T::Dedent => {
                self.indents = self.indents.saturating_sub(1);
                self.nesting.close();
            }
            T::FStringStart | T::TStringStart => self.nesting.open(INTERPOLATED_STRING),
            T::FStringEnd | T::TStringEnd => self.nesting.close(),
            T::Newline | T::Semi => self.nesting.end_of_chain(),
            T::Comma if self.lambdas == 0 => self.nesting.end_of_chain(),
            T::Colon => self.lambdas = self.lambdas.saturating_sub(1),
            T::Lambda => {
                self.lambdas += 1;
                self.nesting.link(PREFIX);
            }
            T::Not | T::Await | T::Yield | T::Tilde | T::DoubleStar => self.nesting.link(PREFIX),
            T::Plus | T::Minus | T::Star if !self.after_operand => self.nesting.link(PREFIX),
            T::If | T::Else => self.nesting.link(2 * LINK),
            // Chains of these are flat in the tree.
            T::And | T::Or | T::Equal => {}
            _ if token.is_operator() => self.nesting.link(LINK),
            _ => {}
        }
        self.after_operand = matches!(token, T::Rpar | T::Rsqb | T::Rbrace | T::FStringEnd | T::TStringEnd)
            || !(token.is_operator() || token.is_non_soft_keyword());
    }
}

#[cfg(test)]
mod tests;
