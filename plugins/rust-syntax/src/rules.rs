//! What rustc's parser refuses and rust-analyzer's takes.

use gatehost_sdk::Finding;
use ra_ap_syntax::ast::{AstNode, BinExpr, BinaryOp, Expr, RangeExpr, RangeItem};
use ra_ap_syntax::{NodeOrToken, SyntaxKind, SyntaxNode, SyntaxToken, TextSize};

/// What is wrong with a tree that was parsed without an error, each beside its byte.
pub(crate) fn errors(root: &SyntaxNode) -> Vec<(usize, Finding)> {
    let wrong = root.descendants_with_tokens().filter_map(|element| match element {
        NodeOrToken::Node(node) => chained(&node),
        NodeOrToken::Token(token) => number(&token),
    });
    wrong.map(|(at, code, message)| (at.into(), Finding::error(code, message))).collect()
}

type Wrong = (TextSize, &'static str, &'static str);

/// Comparisons and ranges are not associative. `Vec<u8>::new()` is a chain of comparisons, too.
fn chained(node: &SyntaxNode) -> Option<Wrong> {
    let at = node.text_range().start();
    match node.kind() {
        SyntaxKind::BIN_EXPR => {
            let is_chain = compares(node) && compares(BinExpr::cast(node.clone())?.lhs()?.syntax());
            is_chain.then_some((
                at,
                "syntax",
                "comparisons cannot be chained; type arguments of a value begin with `::<`",
            ))
        }
        SyntaxKind::RANGE_EXPR => {
            let range = RangeExpr::cast(node.clone())?;
            let is_chain = match (range.start(), range.end()) {
                (Some(start), _) => matches!(start, Expr::RangeExpr(_)),
                // `..1..2`, while `.. ..2` is a range up to a range.
                (None, Some(Expr::RangeExpr(end))) => end.start().is_some(),
                (None, _) => false,
            };
            is_chain.then_some((at, "syntax", "ranges cannot be chained"))
        }
        _ => None,
    }
}

fn compares(node: &SyntaxNode) -> bool {
    let operator = BinExpr::cast(node.clone()).and_then(|binary| binary.op_kind());
    matches!(operator, Some(BinaryOp::CmpOp(_)))
}

/// A number has no digit that its base has not, and none of another base has a point or an exponent.
fn number(token: &SyntaxToken) -> Option<Wrong> {
    let at = token.text_range().start();
    let (base, digits) = token.text().split_at_checked(2)?;
    let first_beyond = match base {
        "0b" => '2',
        "0o" => '8',
        "0x" => ':',
        _ => return None,
    };
    match token.kind() {
        SyntaxKind::FLOAT_NUMBER => Some((at, "literal", "a number with a point or an exponent is decimal")),
        SyntaxKind::INT_NUMBER => {
            let mut digits = digits.chars().take_while(|digit| digit.is_ascii_digit() || *digit == '_');
            digits.any(|digit| digit.is_ascii_digit() && digit >= first_beyond).then_some((
                at,
                "literal",
                "a digit is beyond the base of the number",
            ))
        }
        _ => None,
    }
}
