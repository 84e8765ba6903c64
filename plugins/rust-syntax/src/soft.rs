//! What rust-analyzer's parser refuses and rustc's takes: line ends of Windows in strings, syntax that rustc parses and
//! refuses later or after a feature, and the nameless parameters of the edition 2015.

use ra_ap_parser::{Edition, LexedStr, SyntaxKind, T};

/// The text as rustc's lexer sees it, where lines end as on Windows.
pub(crate) fn with_line_feeds(text: &str) -> Option<String> {
    text.contains("\r\n").then(|| text.replace("\r\n", "\n"))
}

/// The text with spaces for the comments between `#!` and `[` at its beginning. rustc reads that as an attribute, and
/// the parser as the first line of a script.
pub(crate) fn with_plain_attribute(text: &str) -> Option<String> {
    let behind = text.strip_prefix("#!")?;
    if !behind.starts_with('/') {
        return None;
    }
    let lexed = LexedStr::new(Edition::Edition2024, behind);
    let is_doc = |text: &str| (text.starts_with("///") && !text.starts_with("////")) || text.starts_with("//!");
    let first = (0..lexed.len()).find(|&token| !lexed.kind(token).is_trivia() || is_doc(lexed.text(token)))?;
    if lexed.kind(first) != T!['['] {
        return None;
    }
    let (comments, rest) = behind.split_at(lexed.text_start(first));
    let spaces: String = comments.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
    Some(format!("#!{spaces}{rest}"))
}

/// Whether a text with errors has none once what rustc's parser accepts is written as rust-analyzer's does.
pub(crate) fn is_right(text: &str, edition: Edition) -> bool {
    rewritten(text, edition).is_some_and(|rewritten| crate::errors(&rewritten, edition).is_empty())
}

/// The text without such syntax; `None` where there is none.
fn rewritten(text: &str, edition: Edition) -> Option<String> {
    let lexed = LexedStr::new(edition, text);
    let tokens = (0..lexed.len()).filter(|&token| !lexed.kind(token).is_trivia()).map(|token| Token {
        kind: lexed.kind(token),
        text: lexed.text(token),
        at: lexed.text_start(token),
    });
    // The first item follows nothing; the others follow the end of one.
    let tokens: Vec<Token> = std::iter::once(Token { kind: T![;], text: "", at: 0 }).chain(tokens).collect();
    let mut edits: Vec<Edit> = tokens.windows(4).filter_map(|window| superfluous(window)).collect();
    edits.extend(visible_variants(&tokens));
    edits.extend(macros_in_arms(&tokens));
    if edition == Edition::Edition2015 {
        edits.extend(nameless_parameters(&tokens));
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| edit.at);
    let mut rewritten = String::with_capacity(text.len() + 3 * edits.len());
    let mut from = 0;
    for edit in edits {
        rewritten.push_str(&text[from..edit.at]);
        rewritten.push_str(edit.inserted);
        from = edit.at + edit.removed;
    }
    rewritten.push_str(&text[from..]);
    Some(rewritten)
}

#[derive(Clone, Copy)]
struct Token<'a> {
    kind: SyntaxKind,
    text: &'a str,
    at: usize,
}

struct Edit {
    at: usize,
    removed: usize,
    inserted: &'static str,
}

/// `unsafe mod`, `final fn`, `const move ||`, the `!` of `T: !Copy`, `const { … }` as an item, and others.
fn superfluous(window: &[Token]) -> Option<Edit> {
    let &[first, second, third, fourth] = window else { return None };
    let is_before_item = matches!(first.kind, T![;] | T!['{'] | T!['}'] | T![']'] | T![pub]);
    // An inner attribute is allowed in a function, and not there.
    if is_before_item && (second.kind, third.kind) == (T![const], T!['{']) && fourth.kind != T![#] {
        return Some(Edit { at: second.at, removed: second.text.len(), inserted: "fn _f()" });
    }
    // `impl A for .. {}`
    if (first.kind, second.kind, third.kind) == (T![for], T![.], T![.]) && fourth.kind == T!['{'] {
        return Some(Edit { at: second.at, removed: third.at + 1 - second.at, inserted: "()" });
    }
    // `fn(mut self)` and `fn(self: u8)` as types
    if (first.kind, second.kind) == (T![fn], T!['(']) {
        let end = match (third.kind, fourth.kind) {
            (T![mut], T![self]) => fourth.at + fourth.text.len(),
            (T![self], T![:]) => third.at + third.text.len(),
            _ => return None,
        };
        return Some(Edit { at: third.at, removed: end - third.at, inserted: "_" });
    }
    let token = match (first.kind, second.kind, third.kind) {
        (T![unsafe], T![mod], _) => first,
        (T![const], T![move] | T![|] | T![static], _) => first,
        (_, T![fn] | T![unsafe] | T![async] | T![const] | T![extern], _) if first.text == "final" => first,
        (T![:] | T![+], T![!], SyntaxKind::IDENT) => second,
        _ => return None,
    };
    Some(Edit { at: token.at, removed: token.text.len(), inserted: "" })
}

/// The visibility of a variant: `enum E { pub A }`.
fn visible_variants(tokens: &[Token]) -> Vec<Edit> {
    let mut edits = Vec::new();
    // For every open bracket: whether it is the brace of an enum.
    let mut brackets = Vec::new();
    let mut is_enum = false;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            T![enum] => is_enum = true,
            T![;] => is_enum = false,
            T!['{'] => brackets.push(std::mem::take(&mut is_enum)),
            T!['('] | T!['['] => brackets.push(false),
            T!['}'] | T![')'] | T![']'] => drop(brackets.pop()),
            T![pub] if brackets.last() == Some(&true) => {
                let starts = at > 0 && matches!(tokens[at - 1].kind, T!['{'] | T![,] | T![']']);
                let is_restricted = tokens.get(at + 1).is_some_and(|next| next.kind == T!['(']);
                let ends = |end: &usize| !is_restricted || tokens[*end].kind == T![')'];
                let name = (at..tokens.len()).find(ends).and_then(|end| tokens.get(end + 1));
                if let Some(name) = name.filter(|name| starts && name.kind == SyntaxKind::IDENT) {
                    edits.push(Edit { at: token.at, removed: name.at - token.at, inserted: "" });
                }
            }
            _ => {}
        }
    }
    edits
}

/// The braces of a macro in an arm, where a bar follows: `A => m! {} | b`. To rustc, the macro is an operand.
fn macros_in_arms(tokens: &[Token]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (at, window) in tokens.windows(4).enumerate() {
        let kinds = [window[1].kind, window[2].kind, window[3].kind];
        let arrow = at > 0 && (tokens[at - 1].kind, window[0].kind) == (T![=], T![>]);
        if !arrow || kinds != [SyntaxKind::IDENT, T![!], T!['{']] {
            continue;
        }
        let mut depth = 0_usize;
        let close = (at + 3..tokens.len()).find(|&end| {
            match tokens[end].kind {
                T!['{'] => depth += 1,
                T!['}'] => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(close) = close.filter(|close| tokens.get(close + 1).is_some_and(|next| next.kind == T![|])) else {
            continue;
        };
        edits.push(Edit { at: window[3].at, removed: 1, inserted: "(" });
        edits.push(Edit { at: tokens[close].at, removed: 1, inserted: ")" });
    }
    edits
}

/// In the edition 2015 a parameter of a trait's function may be a type alone: `trait T { fn f(u8); }`.
fn nameless_parameters(tokens: &[Token]) -> Vec<Edit> {
    let mut edits = Vec::new();
    // For every open brace: whether it is of a trait.
    let mut braces = vec![false];
    let mut is_trait = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.kind {
            T![trait] => is_trait = true,
            T![;] => is_trait = false,
            T!['{'] => braces.push(std::mem::take(&mut is_trait)),
            T!['}'] => drop(braces.pop()),
            T![fn] if braces.last() == Some(&true) => {
                if let Some(open) = parameters(tokens, at) {
                    at = nameless_in(tokens, open, &mut edits);
                }
            }
            _ => {}
        }
        at += 1;
    }
    edits
}

/// The bracket that opens the parameters of the function whose `fn` is here.
fn parameters(tokens: &[Token], at: usize) -> Option<usize> {
    let mut angles = 0_usize;
    for (open, token) in tokens.iter().enumerate().skip(at + 1) {
        match token.kind {
            T![<] => angles += 1,
            T![>] => angles = angles.saturating_sub(1),
            T!['('] if angles == 0 => return Some(open),
            SyntaxKind::IDENT => {}
            _ if angles == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Name the parameters of this bracket that have none. Returns where the bracket closes.
fn nameless_in(tokens: &[Token], open: usize, edits: &mut Vec<Edit>) -> usize {
    let (mut depth, mut start, mut is_named) = (0_usize, None, false);
    for (at, token) in tokens.iter().enumerate().skip(open + 1) {
        let is_end = depth == 0 && matches!(token.kind, T![,] | T![')']);
        if is_end {
            if let Some(first) = start.take().filter(|_| !is_named) {
                edits.push(Edit { at: first, removed: 0, inserted: "_: " });
            }
            is_named = false;
            if token.kind == T![')'] {
                return at;
            }
            continue;
        }
        start.get_or_insert(token.at);
        match token.kind {
            T!['('] | T!['['] | T!['{'] | T![<] => depth += 1,
            T![')'] | T![']'] | T!['}'] | T![>] => depth = depth.saturating_sub(1),
            T![self] | T![#] => is_named = true,
            T![:] if depth == 0 => {
                let is_path =
                    [at.wrapping_sub(1), at + 1].iter().any(|&next| tokens.get(next).is_some_and(|t| t.kind == T![:]));
                is_named |= !is_path;
            }
            _ => {}
        }
    }
    tokens.len()
}
