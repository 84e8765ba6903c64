//! Errors of Ruff's parser for code that Python accepts.

use ruff_python_ast::Stmt;
use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_parser::{ParseError, ParseErrorType, UnsupportedSyntaxError, UnsupportedSyntaxErrorKind};
use ruff_text_size::{Ranged, TextSize};
use std::collections::BTreeSet;

/// The errors without those at a `match` after `;` that turned out to be a name (`x = 1; match(1)`), and at `raise;`.
pub(crate) fn errors<'e>(errors: &'e [ParseError], body: &[Stmt], text: &str) -> impl Iterator<Item = &'e ParseError> {
    let is_at_match = |error: &ParseError| {
        error.error == ParseErrorType::SimpleAndCompoundStatementOnSameLine && &text[error.location] == "match"
    };
    let mut matches = Matches::default();
    if errors.iter().any(is_at_match) {
        matches.visit_body(body);
    }
    errors
        .iter()
        .filter(move |error| !is_at_match(error) || matches.0.contains(&error.location.start()))
        .filter(|error| !is_bare_raise(error, text))
}

/// `raise;` needs no expression.
fn is_bare_raise(error: &ParseError, text: &str) -> bool {
    let (before, behind) = text.split_at(error.location.start().into());
    let before = before.trim_end_matches([' ', '\t', '\x0C']);
    error.error == ParseErrorType::ExpectedExpression
        && behind.trim_start_matches([' ', '\t', '\x0C']).starts_with(';')
        && before
            .strip_suffix("raise")
            .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Whether the version does lack it. Two context managers in parentheses are a tuple to an older Python, which is wrong
/// only when it runs; what is not right with `as` in there is a rule of ours.
pub(crate) fn is_unsupported(error: &UnsupportedSyntaxError) -> bool {
    error.kind != UnsupportedSyntaxErrorKind::ParenthesizedContextManager
}

/// Where `match` statements begin.
#[derive(Default)]
struct Matches(BTreeSet<TextSize>);

impl Visitor<'_> for Matches {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        if stmt.is_match_stmt() {
            self.0.insert(stmt.start());
        }
        walk_stmt(self, stmt);
    }
}
