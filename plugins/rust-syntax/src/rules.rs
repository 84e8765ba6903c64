//! What rustc refuses and rust-analyzer's parser accepts: its own parser's errors, and suffixes of literals, which it
//! refuses right after.

use gatehost_sdk::Finding;
use ra_ap_syntax::ast::{AstNode, BinExpr, BinaryOp, Expr, RangeExpr, RangeItem};
use ra_ap_syntax::{NodeOrToken, SyntaxKind, SyntaxNode, SyntaxToken, T, TextSize};

/// What is wrong with a tree that was parsed without an error, each beside its byte.
pub(crate) fn errors(root: &SyntaxNode) -> Vec<(usize, Finding)> {
    let mut comments = Comments::default();
    let mut errors = Vec::new();
    let mut report = |wrong: Option<RuleError>| {
        errors.extend(wrong.map(|(at, code, message)| (at.into(), Finding::error(code, message))));
    };
    for element in root.descendants_with_tokens() {
        let kind = element.kind();
        match element {
            NodeOrToken::Node(node) => {
                report(chained(&node, kind));
                report(incomplete(&node, kind));
                report(misplaced(&node, kind));
            }
            NodeOrToken::Token(token) => {
                report(comments.see(&token, kind));
                report(number(&token, kind));
                report(misspelt(&token, kind));
            }
        }
    }
    report(comments.pending.map(undocumented));
    errors
}

type RuleError = (TextSize, &'static str, &'static str);

/// Comparisons and ranges are not associative. `Vec<u8>::new()` is a chain of comparisons, too.
fn chained(node: &SyntaxNode, kind: SyntaxKind) -> Option<RuleError> {
    let at = || node.text_range().start();
    match kind {
        SyntaxKind::BIN_EXPR => {
            let is_chain = compares(node) && compares(BinExpr::cast(node.clone())?.lhs()?.syntax());
            is_chain.then(|| {
                (at(), "syntax", "comparisons cannot be chained; type arguments in an expression start with `::<`")
            })
        }
        SyntaxKind::RANGE_EXPR => {
            let range = RangeExpr::cast(node.clone())?;
            let is_chain = match (range.start(), range.end()) {
                (Some(start), _) => matches!(start, Expr::RangeExpr(_)),
                // `..1..2`, while `.. ..2` is a range up to a range.
                (None, Some(Expr::RangeExpr(end))) => end.start().is_some(),
                (None, _) => false,
            };
            is_chain.then(|| (at(), "syntax", "ranges cannot be chained"))
        }
        _ => None,
    }
}

fn compares(node: &SyntaxNode) -> bool {
    let operator = BinExpr::cast(node.clone()).and_then(|binary| binary.op_kind());
    matches!(operator, Some(BinaryOp::CmpOp(_)))
}

/// Nodes that lack a part, or have one that must be the last.
fn incomplete(node: &SyntaxNode, kind: SyntaxKind) -> Option<RuleError> {
    let has = |wanted: &[SyntaxKind]| node.children_with_tokens().any(|part| wanted.contains(&part.kind()));
    match kind {
        SyntaxKind::RECORD_PAT_FIELD_LIST => comma_behind(node, SyntaxKind::REST_PAT),
        SyntaxKind::RECORD_EXPR_FIELD_LIST => comma_behind(node, T![..]),
        SyntaxKind::ARRAY_EXPR => {
            let mut parts = node.children_with_tokens().filter(|part| !part.kind().is_trivia());
            parts.find(|part| part.kind() == T![;])?;
            let next = parts.next().filter(|next| next.kind() == T![']'])?;
            Some((next.text_range().start(), "expected", "expected an expression: the length of the array"))
        }
        SyntaxKind::REF_EXPR if has(&[T![raw]]) && !has(&[T![const], T![mut]]) => {
            let raw = node.children_with_tokens().find(|part| part.kind() == T![raw])?;
            Some((raw.text_range().end(), "expected", "expected `const` or `mut` after `&raw`"))
        }
        _ => None,
    }
}

/// Parts that rustc does not accept where they stand.
fn misplaced(node: &SyntaxNode, kind: SyntaxKind) -> Option<RuleError> {
    let is_in = |parent: SyntaxKind| node.parent().is_some_and(|node| node.kind() == parent);
    let has = |wanted: SyntaxKind| node.children_with_tokens().any(|part| part.kind() == wanted);
    let message = match kind {
        SyntaxKind::CONST if is_in(SyntaxKind::EXTERN_ITEM_LIST) => {
            "an `extern` block cannot contain `const`; write `static`"
        }
        SyntaxKind::REST_PAT if is_in(SyntaxKind::RECORD_PAT_FIELD_LIST) && has(SyntaxKind::ATTR) => {
            "`..` in a pattern cannot have an attribute"
        }
        SyntaxKind::MACRO_PAT if is_in(SyntaxKind::RANGE_PAT) => "a bound of a range pattern cannot be a macro call",
        SyntaxKind::IDENT_PAT if is_in(SyntaxKind::RANGE_PAT) && (has(T![ref]) || has(T![mut])) => {
            "a bound of a range pattern cannot be a binding"
        }
        _ => return None,
    };
    Some((node.text_range().start(), "syntax", message))
}

/// Nothing follows the `..` of a pattern, nor the base of a struct.
fn comma_behind(node: &SyntaxNode, rest: SyntaxKind) -> Option<RuleError> {
    let mut parts = node.children_with_tokens();
    parts.find(|part| part.kind() == rest)?;
    let comma = parts.find(|part| part.kind() == T![,])?;
    Some((comma.text_range().start(), "expected", "expected `}` after `..`, found `,`"))
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
    /// Whether the current token follows a keyword that a name must follow.
    after_keyword: bool,
}

impl Comments {
    fn see(&mut self, token: &SyntaxToken, kind: SyntaxKind) -> Option<RuleError> {
        if kind == SyntaxKind::COMMENT {
            let at = token.text_range().start();
            let text = token.text();
            let is_inner = text.starts_with("//!") || text.starts_with("/*!");
            if !(is_inner || is_outer(text)) || is_in_macro(token) {
                return None;
            }
            if let Some(cr) = text.find('\r') {
                let cr = TextSize::try_from(cr).unwrap_or_default();
                return Some((at + cr, "syntax", "a doc comment contains a carriage return without a line feed"));
            }
            if self.after_keyword || token.parent().is_some_and(|parent| parent.kind() == SyntaxKind::TUPLE_TYPE) {
                return Some((at, "syntax", "a doc comment is not allowed here"));
            }
            if is_inner {
                let is_late = self.is_inside || self.pending.is_some();
                return is_late.then_some((
                    at,
                    "syntax",
                    "a `//!` comment must come before everything else in its module or block",
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
        self.after_keyword = matches!(kind, T![fn] | T![struct] | T![enum] | T![trait] | T![mod] | T![static]);
        let at = pending?;
        let is_inner_attribute = kind == T![#] && beside(token, SyntaxToken::next_token) == Some(T![!]);
        if is_inner_attribute && !is_in_macro(token) {
            return Some((at, "syntax", "a `///` comment cannot precede an attribute `#![…]`"));
        }
        let closes = matches!(kind, T!['}'] | T![')'] | T![']'] | T![;]);
        (closes && !is_in_macro(token)).then(|| undocumented(at))
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

fn undocumented(at: TextSize) -> RuleError {
    (at, "syntax", "a doc comment documents nothing: no item follows it")
}

/// A number has no digit that its base has not, and none of another base has a point or an exponent.
fn number(token: &SyntaxToken, kind: SyntaxKind) -> Option<RuleError> {
    if !matches!(kind, SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER) {
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
    if kind == SyntaxKind::FLOAT_NUMBER {
        if !is_decimal {
            return Some((at, "literal", "a number with a point or an exponent must be decimal"));
        }
        let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit() || "._eE+-".contains(c));
        return of_suffix(token, suffix, &["f16", "f32", "f64", "f128"]);
    }
    let is_hexadecimal = text.starts_with("0x");
    let is_digit = |c: char| c == '_' || if is_hexadecimal { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
    let suffix = digits.trim_start_matches(is_digit);
    let mut digits = digits[..digits.len() - suffix.len()].chars();
    if digits.any(|digit| digit.is_ascii_digit() && digit >= first_beyond) {
        return Some((at, "literal", "a digit is too large for the base of the number"));
    }
    of_suffix(token, suffix, SUFFIXES)
}

const SUFFIXES: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f16", "f32", "f64", "f128",
];

/// A macro may take any suffix.
fn of_suffix(token: &SyntaxToken, suffix: &str, known: &[&str]) -> Option<RuleError> {
    let is_wrong = !suffix.is_empty() && !known.contains(&suffix) && !is_in_macro(token);
    is_wrong.then(|| (token.text_range().start(), "literal", "the suffix of a number is unknown"))
}

/// The next token on one side that is more than space.
fn beside(token: &SyntaxToken, next: fn(&SyntaxToken) -> Option<SyntaxToken>) -> Option<SyntaxKind> {
    let kinds = std::iter::successors(next(token), next).map(|token| token.kind());
    kinds.filter(|kind| !kind.is_trivia()).take(1).next()
}

/// Tokens that are none, names that cannot be raw, strings with a suffix.
fn misspelt(token: &SyntaxToken, kind: SyntaxKind) -> Option<RuleError> {
    let at = || token.text_range().start();
    match kind {
        T![?] => {
            let is_bare = matches!(beside(token, SyntaxToken::prev_token), Some(T![:] | T![+]))
                && matches!(
                    beside(token, SyntaxToken::next_token),
                    Some(T![>] | T![,] | T![+] | T![=] | T!['{'] | T![')'] | T![;])
                );
            is_bare.then_some((token.text_range().end(), "expected", "expected a trait after `?`"))
        }
        // The parser makes no difference between a first parameter and a later one.
        T![self] if beside(token, SyntaxToken::prev_token) == Some(T![,]) => {
            let mut nodes = token.parent_ancestors().map(|node| node.kind());
            let is_parameter = nodes.by_ref().find(|kind| !is_name(*kind)) == Some(SyntaxKind::PARAM)
                && nodes.next() == Some(SyntaxKind::PARAM_LIST)
                && nodes.next() == Some(SyntaxKind::FN);
            is_parameter.then(|| (at(), "syntax", "`self` must be the first parameter"))
        }
        SyntaxKind::LIFETIME_IDENT if !is_in_macro(token) => {
            let is_keyword = KEYWORDS.contains(&&token.text()[1..]);
            is_keyword.then(|| (at(), "syntax", "a lifetime cannot have the name of a keyword"))
        }
        SyntaxKind::ERROR => Some((at(), "syntax", "unknown start of a token")),
        SyntaxKind::IDENT if token.text().starts_with("r#") => {
            let is_reserved = matches!(&token.text()[2..], "self" | "Self" | "super" | "crate" | "_");
            is_reserved.then(|| (at(), "syntax", "this keyword cannot be a raw identifier"))
        }
        SyntaxKind::STRING | SyntaxKind::BYTE_STRING | SyntaxKind::C_STRING | SyntaxKind::CHAR | SyntaxKind::BYTE => {
            let is_plain = token.text().ends_with(['"', '\'', '#']);
            (!is_plain && !is_in_macro(token))
                .then(|| (at(), "literal", "a string or a character cannot have a suffix"))
        }
        _ => None,
    }
}

/// Keywords of every edition. The lifetime `'static` is none.
const KEYWORDS: &[&str] = &[
    "as", "break", "const", "continue", "crate", "else", "enum", "extern", "false", "fn", "for", "if", "impl", "in",
    "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "struct", "super", "trait",
    "true", "type", "unsafe", "use", "where", "while",
];

/// Whether a node is a name in a pattern, or a part of one.
fn is_name(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        SyntaxKind::NAME
            | SyntaxKind::NAME_REF
            | SyntaxKind::IDENT_PAT
            | SyntaxKind::PATH_PAT
            | SyntaxKind::PATH
            | SyntaxKind::PATH_SEGMENT
    )
}
