//! What Ruff's parser refuses although Python takes it.

use ruff_python_ast::Stmt;
use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_parser::{ParseError, ParseErrorType, UnsupportedSyntaxError, UnsupportedSyntaxErrorKind};
use ruff_text_size::{Ranged, TextSize};
use std::collections::BTreeSet;

/// The errors without those at a `match` behind `;` that turned out to be a name: `x = 1; match(1)`.
pub(crate) fn errors<'e>(errors: &'e [ParseError], body: &[Stmt], text: &str) -> impl Iterator<Item = &'e ParseError> {
    let is_at_match = |error: &ParseError| {
        error.error == ParseErrorType::SimpleAndCompoundStatementOnSameLine && &text[error.location] == "match"
    };
    let mut matches = Matches::default();
    if errors.iter().any(is_at_match) {
        matches.visit_body(body);
    }
    errors.iter().filter(move |error| !is_at_match(error) || matches.0.contains(&error.location.start()))
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
