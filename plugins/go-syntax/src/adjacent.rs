//! Finds a missing comma or semicolon, after which gosyn's parser continues without an error.
//!
//! Names and literals are next to each other in few places of Go: a name before its type, a name before the path of an
//! import, a type before the tag of a field. Everywhere else, something is missing between them.

use crate::depth::Token;
use gosyn::token::{Keyword, LitKind, Operator, Token as Kind};

/// The first token before which something is missing.
pub(crate) fn first_error<'t>(text: &str, tokens: &'t [Token]) -> Option<&'t Token> {
    let breaks = line_breaks(text, tokens);
    let tokens: Vec<&Token> = tokens.iter().filter(|token| !matches!(token.kind, Kind::Comment(_))).collect();
    let mut scan = Scan { open: Vec::new(), statement: None, signature: None };
    for (at, token) in tokens.iter().enumerate() {
        let before = (at > 0 && !breaks[at]).then(|| &tokens[at - 1].kind);
        let earlier = (at > 1 && !breaks[at] && !breaks[at - 1]).then(|| &tokens[at - 2].kind);
        let first = (at > 2).then(|| &tokens[at - 3].kind);
        if before.is_some_and(|before| scan.is_missing(first, earlier, before, &token.kind)) {
            return Some(token);
        }
        scan.take(at.checked_sub(1).map(|at| &tokens[at].kind), &token.kind, at > 0 && breaks[at]);
    }
    None
}

/// For every token that is no comment: whether a line ended before it.
pub(crate) fn line_breaks(text: &str, tokens: &[Token]) -> Vec<bool> {
    let mut characters = text.chars();
    let (mut at, mut broken) = (0, false);
    let mut breaks = Vec::new();
    for token in tokens {
        let mut breaks_in =
            |length: usize| characters.by_ref().take(length).filter(|&character| character == '\n').count() > 0;
        let gap = breaks_in(token.start.saturating_sub(at));
        let inside = breaks_in(token.end.saturating_sub(token.start));
        at = token.end;
        broken |= gap;
        match token.kind {
            Kind::Comment(_) => broken |= inside,
            _ => breaks.push(std::mem::take(&mut broken)),
        }
    }
    breaks
}

#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    /// `(` or `[`.
    Round,
    /// `(` of a function's signature, after which its result follows.
    Signature,
    /// `{` of statements or of a value.
    Brace,
    /// `{` of a `struct` or an `interface`.
    Type,
}

struct Scan {
    /// The brackets that are open, each with how the statement around it starts.
    open: Vec<(Bracket, Option<Keyword>)>,
    /// The keyword that the current statement starts with: only declarations have names side by side.
    statement: Option<Keyword>,
    /// The bracket that closed right before was one of a signature.
    signature: Option<bool>,
}

impl Scan {
    fn is_missing(&self, first: Option<&Kind>, earlier: Option<&Kind>, before: &Kind, token: &Kind) -> bool {
        let is_name = |kind: &Kind| matches!(kind, Kind::Literal(LitKind::Ident, _));
        let is_literal = |kind: &Kind| matches!(kind, Kind::Literal(..));
        let is_number =
            |kind: &Kind| is_literal(kind) && !is_name(kind) && !matches!(kind, Kind::Literal(LitKind::String, _));
        // Nothing but an operator can follow a literal, and no number or `!` an operand.
        if is_literal(before)
            && (!is_name(before) && is_literal(token) || is_number(token) || *token == Operator::Not.into())
        {
            return true;
        }
        if is_name(before) && is_name(token) {
            let is_third = earlier.is_some_and(is_name);
            let is_pointer = earlier == Some(&Operator::Star.into())
                && first.is_some_and(|kind| matches!(kind, Kind::Operator(Operator::ParenLeft | Operator::Comma)));
            return is_third || is_pointer || self.is_in_statement();
        }
        let is_behind_call = *before == Operator::ParenRight.into() && self.signature == Some(false);
        if is_name(before) && matches!(token, Kind::Literal(LitKind::String, _)) {
            return self.is_in_statement() && self.statement != Some(Keyword::Import);
        }
        is_behind_call && (is_name(token) && self.is_in_statement() || is_number(token))
    }

    /// Whether the innermost bracket is one of statements or values, in what is no declaration.
    fn is_in_statement(&self) -> bool {
        let is_declaration = matches!(
            self.statement,
            Some(Keyword::Var | Keyword::Const | Keyword::Type | Keyword::Func | Keyword::Import)
        );
        self.open.last().is_some_and(|(bracket, _)| *bracket == Bracket::Brace) && !is_declaration
    }

    fn take(&mut self, before: Option<&Kind>, token: &Kind, is_new_line: bool) {
        let starts = match before {
            None => true,
            Some(Kind::Operator(Operator::BraceLeft | Operator::SemiColon)) => true,
            Some(Kind::Operator(Operator::Comma | Operator::Colon)) => {
                self.open.last().is_some_and(|open| open.0 == Bracket::Brace)
            }
            Some(before) => {
                is_new_line && crate::joined::is_last(before) && !matches!(self.open.last(), Some((Bracket::Round, _)))
            }
        };
        // A comma goes on with a list of names: `var a, b int`.
        let goes_on = matches!(before, Some(Kind::Operator(Operator::Comma))) && self.statement.is_some();
        if starts && !goes_on {
            self.statement = match token {
                Kind::Keyword(word) => Some(*word),
                _ => None,
            };
        }
        self.signature = None;
        match token {
            Kind::Operator(Operator::ParenLeft) => {
                let is_signature = matches!(before, Some(Kind::Keyword(Keyword::Func)))
                    || self.statement == Some(Keyword::Func)
                    || self.open.last().is_some_and(|open| open.0 == Bracket::Type);
                self.push(if is_signature { Bracket::Signature } else { Bracket::Round });
            }
            Kind::Operator(Operator::BarackLeft) => self.push(Bracket::Round),
            Kind::Operator(Operator::BraceLeft) => {
                let is_type = matches!(before, Some(Kind::Keyword(Keyword::Struct | Keyword::Interface)));
                self.push(if is_type { Bracket::Type } else { Bracket::Brace });
                self.statement = None;
            }
            Kind::Operator(Operator::ParenRight | Operator::BarackRight | Operator::BraceRight) => {
                if let Some((bracket, statement)) = self.open.pop() {
                    self.statement = statement;
                    self.signature = Some(bracket == Bracket::Signature);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, bracket: Bracket) {
        self.open.push((bracket, self.statement));
    }
}
