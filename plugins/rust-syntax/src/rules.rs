//! What rustc refuses and rust-analyzer's parser takes: its own parser's errors, and suffixes of literals, which it
//! refuses right behind.

use gatehost_sdk::Finding;
use ra_ap_syntax::ast::{AstNode, BinExpr, BinaryOp, Expr, RangeExpr, RangeItem};
use ra_ap_syntax::{NodeOrToken, SyntaxKind, SyntaxNode, SyntaxToken, T, TextSize};

/// What is wrong with a tree that was parsed without an error, each beside its byte.
pub(crate) fn errors(root: &SyntaxNode) -> Vec<(usize, Finding)> {
    let mut comments = Comments::default();
    let mut errors = Vec::new();
    let mut report = |wrong: Option<Wrong>| {
        errors.extend(wrong.map(|(at, code, message)| (at.into(), Finding::error(code, message))));
    };
    for element in root.descendants_with_tokens() {
        match element {
            NodeOrToken::Node(node) => {
                report(chained(&node));
                report(incomplete(&node));
            }
            NodeOrToken::Token(token) => {
                report(comments.see(&token));
                report(number(&token));
                report(misspelt(&token));
            }
        }
    }
    report(comments.pending.map(undocumented));
    errors
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

/// Nodes that lack a part, or have one that must be the last.
fn incomplete(node: &SyntaxNode) -> Option<Wrong> {
    let has = |wanted: &[SyntaxKind]| node.children_with_tokens().any(|part| wanted.contains(&part.kind()));
    match node.kind() {
        SyntaxKind::RECORD_PAT_FIELD_LIST => comma_behind(node, SyntaxKind::REST_PAT),
        SyntaxKind::RECORD_EXPR_FIELD_LIST => comma_behind(node, T![..]),
        SyntaxKind::ARRAY_EXPR => {
            let mut parts = node.children_with_tokens().filter(|part| !part.kind().is_trivia());
            parts.find(|part| part.kind() == T![;])?;
            let next = parts.next().filter(|next| next.kind() == T![']'])?;
            Some((next.text_range().start(), "expected", "expected an expression: how often the value is repeated"))
        }
        SyntaxKind::REF_EXPR if has(&[T![raw]]) && !has(&[T![const], T![mut]]) => {
            let raw = node.children_with_tokens().find(|part| part.kind() == T![raw])?;
            Some((raw.text_range().end(), "expected", "expected `const` or `mut` behind `&raw`"))
        }
        _ => None,
    }
}

/// Nothing follows the `..` of a pattern, nor the base of a struct.
fn comma_behind(node: &SyntaxNode, rest: SyntaxKind) -> Option<Wrong> {
    let mut parts = node.children_with_tokens();
    parts.find(|part| part.kind() == rest)?;
    let comma = parts.find(|part| part.kind() == T![,])?;
    Some((comma.text_range().start(), "expected", "expected `}` behind `..`, found `,`"))
}

/// Doc comments document what follows them, or what they stand in.
#[derive(Default)]
struct Comments {
    /// A doc comment of what follows, so far of nothing.
    pending: Option<TextSize>,
    /// Whether something stands before the current token that a comment `//!` cannot follow.
    is_inside: bool,
    /// How many brackets of an attribute are open; the first is its `#`.
    attribute: usize,
}

impl Comments {
    fn see(&mut self, token: &SyntaxToken) -> Option<Wrong> {
        let at = token.text_range().start();
        let kind = token.kind();
        if kind == SyntaxKind::COMMENT {
            let text = token.text();
            let is_inner = text.starts_with("//!") || text.starts_with("/*!");
            if !(is_inner || is_outer(text)) || is_in_macro(token) {
                return None;
            }
            if is_inner {
                let is_late = self.is_inside || self.pending.is_some();
                return is_late.then_some((
                    at,
                    "syntax",
                    "a comment `//!` stands before everything else that it documents",
                ));
            }
            self.pending.get_or_insert(at);
            return None;
        }
        if kind.is_trivia() {
            return None;
        }
        let pending = self.pending.take();
        self.step(kind);
        let closes = matches!(kind, T!['}'] | T![')'] | T![']']);
        pending.filter(|_| closes && !is_in_macro(token)).map(undocumented)
    }

    /// Attributes `#![…]` may stand before a comment `//!`, and so may the brace that opens what it documents.
    fn step(&mut self, kind: SyntaxKind) {
        match kind {
            T![#] if self.attribute == 0 && !self.is_inside => self.attribute = 1,
            T!['['] if self.attribute > 0 => self.attribute += 1,
            // The bracket that closes the first one ends the attribute.
            T![']'] if self.attribute > 0 => self.attribute -= if self.attribute == 2 { 2 } else { 1 },
            _ if self.attribute > 0 => {}
            T!['{'] => self.is_inside = false,
            SyntaxKind::SHEBANG => {}
            _ => self.is_inside = true,
        }
    }
}

fn is_outer(comment: &str) -> bool {
    (comment.starts_with("///") && !comment.starts_with("////"))
        || (comment.starts_with("/**") && !comment.starts_with("/***") && comment != "/**/")
}

fn is_in_macro(token: &SyntaxToken) -> bool {
    token.parent().is_some_and(|parent| parent.kind() == SyntaxKind::TOKEN_TREE)
}

fn undocumented(at: TextSize) -> Wrong {
    (at, "syntax", "a doc comment documents nothing: nothing follows it")
}

/// A number has no digit that its base has not, and none of another base has a point or an exponent.
fn number(token: &SyntaxToken) -> Option<Wrong> {
    if !matches!(token.kind(), SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER) {
        return None;
    }
    let at = token.text_range().start();
    let text = token.text();
    let (first_beyond, digits) = match text.get(..2) {
        Some("0b") => ('2', &text[2..]),
        Some("0o") => ('8', &text[2..]),
        Some("0x") => (':', &text[2..]),
        _ => (':', text),
    };
    let is_decimal = digits.len() == text.len();
    if token.kind() == SyntaxKind::FLOAT_NUMBER {
        if !is_decimal {
            return Some((at, "literal", "a number with a point or an exponent is decimal"));
        }
        let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit() || "._eE+-".contains(c));
        return of_suffix(token, suffix, &["f16", "f32", "f64", "f128"]);
    }
    let is_hexadecimal = text.starts_with("0x");
    let is_digit = |c: char| c == '_' || if is_hexadecimal { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
    let suffix = digits.trim_start_matches(is_digit);
    let mut digits = digits[..digits.len() - suffix.len()].chars();
    if digits.any(|digit| digit.is_ascii_digit() && digit >= first_beyond) {
        return Some((at, "literal", "a digit is beyond the base of the number"));
    }
    of_suffix(token, suffix, SUFFIXES)
}

const SUFFIXES: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f16", "f32", "f64", "f128",
];

/// A macro may take any suffix.
fn of_suffix(token: &SyntaxToken, suffix: &str, known: &[&str]) -> Option<Wrong> {
    let is_wrong = !suffix.is_empty() && !known.contains(&suffix) && !is_in_macro(token);
    is_wrong.then(|| (token.text_range().start(), "literal", "a number has no such suffix"))
}

/// The next token on one side that is more than space.
fn beside(token: &SyntaxToken, next: fn(&SyntaxToken) -> Option<SyntaxToken>) -> Option<SyntaxKind> {
    let kinds = std::iter::successors(next(token), next).map(|token| token.kind());
    kinds.filter(|kind| !kind.is_trivia()).take(1).next()
}

/// Tokens that are none, names that cannot be raw, strings with a suffix.
fn misspelt(token: &SyntaxToken) -> Option<Wrong> {
    let at = token.text_range().start();
    match token.kind() {
        T![?] => {
            let next = beside(token, SyntaxToken::next_token);
            let is_bare = matches!(beside(token, SyntaxToken::prev_token), Some(T![:] | T![+]))
                && matches!(next, Some(T![>] | T![,] | T![+] | T![=] | T!['{'] | T![')'] | T![;]));
            is_bare.then_some((token.text_range().end(), "expected", "expected a trait behind `?`"))
        }
        SyntaxKind::ERROR => Some((at, "syntax", "a character that no token starts with")),
        SyntaxKind::IDENT if token.text().starts_with("r#") => {
            let is_reserved = matches!(&token.text()[2..], "self" | "Self" | "super" | "crate" | "_");
            is_reserved.then_some((at, "syntax", "this word cannot be a raw identifier"))
        }
        SyntaxKind::STRING | SyntaxKind::BYTE_STRING | SyntaxKind::C_STRING | SyntaxKind::CHAR | SyntaxKind::BYTE => {
            let is_plain = token.text().ends_with(['"', '\'', '#']);
            (!is_plain && !is_in_macro(token)).then_some((at, "literal", "a string or a character has no suffix"))
        }
        _ => None,
    }
}
