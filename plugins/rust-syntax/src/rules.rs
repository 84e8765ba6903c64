//! What rustc refuses and rust-analyzer's parser accepts: its own parser's errors, and suffixes of literals, which it
//! refuses right after.

use gatehost_sdk::Finding;
use ra_ap_syntax::ast::{AstNode, Expr};
use ra_ap_syntax::{GreenNode, NodeOrToken, SyntaxKind, SyntaxNode, T};
use std::ops::Deref;

/// A node of the tree that the parser built. It knows its children and nothing else, and to walk over such nodes costs a fraction
/// of what it costs over those of [`SyntaxNode`], each of which is allocated for the walk.
type Node = <GreenNode as Deref>::Target;

/// A token, and where it is.
struct Token<'a> {
    kind: SyntaxKind,
    text: &'a str,
    at: usize,
    /// The kind of the node that it is in.
    parent: SyntaxKind,
}

/// What is wrong with a tree that was parsed without an error, each beside its byte.
pub(crate) fn errors(root: &SyntaxNode) -> Vec<(usize, Finding)> {
    let mut comments = Comments::default();
    let mut neighbours = Neighbours::default();
    let mut errors = Vec::new();
    let mut report = |wrong: Option<RuleError>| {
        errors.extend(wrong.map(|(at, code, message)| (at, Finding::error(code, message))));
    };
    let mut at = 0;
    let mut open = vec![(root.kind(), root.green().children())];
    while let Some((parent, children)) = open.last_mut() {
        match children.next() {
            None => drop(open.pop()),
            Some(NodeOrToken::Node(node)) => {
                let kind = SyntaxKind::from(node.kind().0);
                report(chained(node, kind, at));
                report(incomplete(node, kind, at));
                report(misplaced(node, kind, at, *parent));
                open.push((kind, node.children()));
            }
            Some(NodeOrToken::Token(token)) => {
                let text = token.text();
                let token = Token { kind: SyntaxKind::from(token.kind().0), text, at, parent: *parent };
                at += text.len();
                if token.kind == SyntaxKind::WHITESPACE {
                    continue;
                }
                if token.kind == SyntaxKind::COMMENT {
                    report(comments.comment(&token));
                    continue;
                }
                report(comments.see(&token));
                report(number(&token));
                report(misspelt(&token));
                report(neighbours.see(&token, open.iter().rev().map(|(kind, _)| *kind)));
            }
        }
    }
    report(comments.pending.map(undocumented));
    errors
}

type RuleError = (usize, &'static str, &'static str);

/// The kinds of the children of a node, in order, each with its offset in the node.
fn parts(node: &Node) -> impl Iterator<Item = (usize, SyntaxKind)> {
    let mut end = 0;
    node.children().map(move |part| {
        let (kind, length) = match part {
            NodeOrToken::Node(node) => (node.kind(), node.text_len()),
            NodeOrToken::Token(token) => (token.kind(), token.text_len()),
        };
        let at = end;
        end += usize::from(length);
        (at, SyntaxKind::from(kind.0))
    })
}

fn has(node: &Node, wanted: &[SyntaxKind]) -> bool {
    parts(node).any(|(_, kind)| wanted.contains(&kind))
}

/// Comparisons and ranges are not associative. `Vec<u8>::new()` is a chain of comparisons, too.
fn chained(node: &Node, kind: SyntaxKind, at: usize) -> Option<RuleError> {
    match kind {
        SyntaxKind::BIN_EXPR => {
            let left = first_expression(node.children())?;
            let is_chain = SyntaxKind::from(left.kind().0) == SyntaxKind::BIN_EXPR && compares(left) && compares(node);
            is_chain.then_some((
                at,
                "syntax",
                "comparisons cannot be chained; type arguments in an expression start with `::<`",
            ))
        }
        SyntaxKind::RANGE_EXPR => {
            let (start, end) = bounds(node);
            let is_range = |node: &&Node| SyntaxKind::from(node.kind().0) == SyntaxKind::RANGE_EXPR;
            let is_chain = match (start, end) {
                (Some(start), _) => is_range(&start),
                // `..1..2`, while `.. ..2` is a range up to a range.
                (None, end) => end.filter(is_range).is_some_and(|end| bounds(end).0.is_some()),
            };
            is_chain.then_some((at, "syntax", "ranges cannot be chained"))
        }
        _ => None,
    }
}

fn compares(node: &Node) -> bool {
    has(node, &[T![==], T![!=], T![<=], T![>=], T![<], T![>]])
}

/// The first of the children that is an expression.
fn first_expression<'a, T>(mut children: impl Iterator<Item = NodeOrToken<&'a Node, T>>) -> Option<&'a Node> {
    children.find_map(|part| part.into_node().filter(|node| Expr::can_cast(SyntaxKind::from(node.kind().0))))
}

/// What a range is from and to.
fn bounds(range: &Node) -> (Option<&Node>, Option<&Node>) {
    let operator = parts(range).position(|(_, kind)| matches!(kind, T![..] | T![..=])).unwrap_or_default();
    (first_expression(range.children().take(operator)), first_expression(range.children().skip(operator + 1)))
}

/// Nodes that lack a part, or have one that must be the last.
fn incomplete(node: &Node, kind: SyntaxKind, at: usize) -> Option<RuleError> {
    match kind {
        SyntaxKind::RECORD_PAT_FIELD_LIST => comma_behind(node, SyntaxKind::REST_PAT, at),
        SyntaxKind::RECORD_EXPR_FIELD_LIST => comma_behind(node, T![..], at),
        SyntaxKind::ARRAY_EXPR => {
            let mut parts = parts(node).filter(|(_, kind)| !kind.is_trivia());
            parts.find(|(_, kind)| *kind == T![;])?;
            let (next, _) = parts.next().filter(|(_, kind)| *kind == T![']'])?;
            Some((at + next, "expected", "expected an expression: the length of the array"))
        }
        SyntaxKind::REF_EXPR if has(node, &[T![raw]]) && !has(node, &[T![const], T![mut]]) => {
            let mut behind = parts(node).skip_while(|(_, kind)| *kind != T![raw]).skip(1);
            let end = behind.next().map_or(usize::from(node.text_len()), |(end, _)| end);
            Some((at + end, "expected", "expected `const` or `mut` after `&raw`"))
        }
        _ => None,
    }
}

/// Parts that rustc does not accept where they stand.
fn misplaced(node: &Node, kind: SyntaxKind, at: usize, parent: SyntaxKind) -> Option<RuleError> {
    let message = match (kind, parent) {
        (SyntaxKind::CONST, SyntaxKind::EXTERN_ITEM_LIST) => "an `extern` block cannot contain `const`; write `static`",
        (SyntaxKind::REST_PAT, SyntaxKind::RECORD_PAT_FIELD_LIST) if has(node, &[SyntaxKind::ATTR]) => {
            "`..` in a pattern cannot have an attribute"
        }
        (SyntaxKind::MACRO_PAT, SyntaxKind::RANGE_PAT) => "a bound of a range pattern cannot be a macro call",
        (SyntaxKind::IDENT_PAT, SyntaxKind::RANGE_PAT) if has(node, &[T![ref], T![mut]]) => {
            "a bound of a range pattern cannot be a binding"
        }
        _ => return None,
    };
    Some((at, "syntax", message))
}

/// Nothing follows the `..` of a pattern, nor the base of a struct.
fn comma_behind(node: &Node, rest: SyntaxKind, at: usize) -> Option<RuleError> {
    let mut parts = parts(node);
    parts.find(|(_, kind)| *kind == rest)?;
    let (comma, _) = parts.find(|(_, kind)| *kind == T![,])?;
    Some((at + comma, "expected", "expected `}` after `..`, found `,`"))
}

/// Doc comments document what follows them, or what they stand in.
#[derive(Default)]
struct Comments {
    /// A doc comment of what follows, so far of nothing.
    pending: Option<usize>,
    /// A doc comment before a `#`, which may begin an attribute of what is around it.
    before_pound: Option<usize>,
    /// Whether something stands before the current token that a comment `//!` cannot follow.
    is_inside: bool,
    /// How many brackets of an attribute are open; the first is its `#`.
    attribute: usize,
    /// Whether the current token follows a keyword that a name must follow.
    after_keyword: bool,
}

impl Comments {
    fn comment(&mut self, token: &Token) -> Option<RuleError> {
        let Token { text, at, .. } = *token;
        let is_inner = text.starts_with("//!") || text.starts_with("/*!");
        if !(is_inner || is_outer(text)) || token.is_in_macro() {
            return None;
        }
        if let Some(cr) = text.find('\r') {
            return Some((at + cr, "syntax", "a doc comment contains a carriage return without a line feed"));
        }
        if self.after_keyword || token.parent == SyntaxKind::TUPLE_TYPE {
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
        None
    }

    /// Takes a token that is neither space nor a comment.
    fn see(&mut self, token: &Token) -> Option<RuleError> {
        let kind = token.kind;
        let pending = self.pending.take();
        let before_pound = self.before_pound.take();
        self.step(kind);
        self.after_keyword = matches!(kind, T![fn] | T![struct] | T![enum] | T![trait] | T![mod] | T![static]);
        if let Some(at) = before_pound.filter(|_| kind == T![!]) {
            return Some((at, "syntax", "a `///` comment cannot precede an attribute `#![…]`"));
        }
        let at = pending?;
        if kind == T![#] && !token.is_in_macro() {
            self.before_pound = Some(at);
        }
        let closes = matches!(kind, T!['}'] | T![')'] | T![']'] | T![;]);
        (closes && !token.is_in_macro()).then(|| undocumented(at))
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

impl Token<'_> {
    fn is_in_macro(&self) -> bool {
        self.parent == SyntaxKind::TOKEN_TREE
    }
}

fn undocumented(at: usize) -> RuleError {
    (at, "syntax", "a doc comment documents nothing: no item follows it")
}

/// A number has no digit that its base has not, and none of another base has a point or an exponent.
fn number(token: &Token) -> Option<RuleError> {
    let Token { kind, text, at, .. } = *token;
    if !matches!(kind, SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER) {
        return None;
    }
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
fn of_suffix(token: &Token, suffix: &str, known: &[&str]) -> Option<RuleError> {
    let is_wrong = !suffix.is_empty() && !known.contains(&suffix) && !token.is_in_macro();
    is_wrong.then_some((token.at, "literal", "the suffix of a number is unknown"))
}

/// Tokens that are none, names that cannot be raw, strings with a suffix.
fn misspelt(token: &Token) -> Option<RuleError> {
    let Token { kind, text, at, .. } = *token;
    match kind {
        SyntaxKind::LIFETIME_IDENT if !token.is_in_macro() => {
            let is_keyword = KEYWORDS.contains(&&text[1..]);
            is_keyword.then_some((at, "syntax", "a lifetime cannot have the name of a keyword"))
        }
        SyntaxKind::ERROR => Some((at, "syntax", "unknown start of a token")),
        SyntaxKind::IDENT if text.starts_with("r#") => {
            let is_reserved = matches!(&text[2..], "self" | "Self" | "super" | "crate" | "_");
            is_reserved.then_some((at, "syntax", "this keyword cannot be a raw identifier"))
        }
        SyntaxKind::STRING | SyntaxKind::BYTE_STRING | SyntaxKind::C_STRING | SyntaxKind::CHAR | SyntaxKind::BYTE => {
            let is_plain = text.ends_with(['"', '\'', '#']);
            (!is_plain && !token.is_in_macro()).then_some((
                at,
                "literal",
                "a string or a character cannot have a suffix",
            ))
        }
        _ => None,
    }
}

/// Tokens that cannot stand between those around them.
#[derive(Default)]
struct Neighbours {
    /// The token before the current one.
    before: Option<SyntaxKind>,
    /// The end of a `?` after which a trait is missing, if one of some tokens follows.
    question: Option<usize>,
}

impl Neighbours {
    /// Takes a token that is neither space nor a comment, and the kinds of the nodes that it is in, the innermost first.
    fn see(&mut self, token: &Token, mut nodes: impl Iterator<Item = SyntaxKind>) -> Option<RuleError> {
        let before = self.before.replace(token.kind);
        if let Some(end) = self.question.take() {
            let is_bare = matches!(token.kind, T![>] | T![,] | T![+] | T![=] | T!['{'] | T![')'] | T![;]);
            return is_bare.then_some((end, "expected", "expected a trait after `?`"));
        }
        match (before?, token.kind) {
            (T![:] | T![+], T![?]) => {
                self.question = Some(token.at + 1);
                None
            }
            // The parser makes no difference between a first parameter and a later one.
            (T![,], T![self]) => {
                let is_parameter = nodes.by_ref().find(|kind| !is_name(*kind)) == Some(SyntaxKind::PARAM)
                    && nodes.next() == Some(SyntaxKind::PARAM_LIST)
                    && nodes.next() == Some(SyntaxKind::FN);
                is_parameter.then_some((token.at, "syntax", "`self` must be the first parameter"))
            }
            _ => None,
        }
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
