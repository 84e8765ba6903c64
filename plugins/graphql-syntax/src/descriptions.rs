//! Descriptions of operations, variables and fragments, which GraphQL has since September 2025 and the parser does not
//! know yet.

use apollo_parser::{Lexer, TokenKind};
use std::ops::Range;

/// The text with spaces for each such description, so that every place stays; `None` where there is none.
pub(crate) fn blanked(text: &str) -> Option<String> {
    let mut blanked = None;
    let mut walk = Walk::default();
    for token in Lexer::new(text).filter_map(Result::ok) {
        let range = token.index()..token.index() + token.data().len();
        if let Some(description) = walk.step(token.kind(), token.data(), range) {
            let spaces = " ".repeat(description.len());
            blanked.get_or_insert_with(|| text.to_owned()).replace_range(description, &spaces);
        }
    }
    blanked
}

/// Where in a document the current token stands.
#[derive(Default)]
struct Walk {
    depth: usize,
    /// Behind the keyword of an operation, and maybe its name.
    is_header: bool,
    /// Between the brackets of an operation's variables.
    in_variables: bool,
    /// The string right before, where it may be a description.
    description: Option<Range<usize>>,
    is_behind_equals: bool,
}

impl Walk {
    /// The description that this token shows the string before it to be.
    fn step(&mut self, kind: TokenKind, data: &str, range: Range<usize>) -> Option<Range<usize>> {
        if let TokenKind::Whitespace | TokenKind::Comment | TokenKind::Comma = kind {
            return None;
        }
        let before = self.description.take();
        let is_operation = matches!(data, "query" | "mutation" | "subscription");
        let is_described = match kind {
            TokenKind::Name => self.depth == 0 && (is_operation || data == "fragment"),
            TokenKind::Dollar => self.in_variables && self.depth == 1,
            _ => false,
        };
        match kind {
            // A string after `=` is a value.
            TokenKind::StringValue if !self.is_behind_equals => self.description = Some(range),
            TokenKind::LCurly | TokenKind::LParen | TokenKind::LBracket => {
                self.in_variables |= self.is_header && kind == TokenKind::LParen;
                self.depth += 1;
            }
            TokenKind::RCurly | TokenKind::RParen | TokenKind::RBracket => {
                self.depth = self.depth.saturating_sub(1);
                self.in_variables &= self.depth > 0;
            }
            _ => {}
        }
        self.is_header = kind == TokenKind::Name && self.depth == 0 && (is_operation || self.is_header);
        self.is_behind_equals = kind == TokenKind::Eq;
        before.filter(|_| is_described)
    }
}
