//! A file as one line: with the semicolons that Go inserts at the ends of lines, and without comments.

use crate::depth::Token;
use gosyn::token::{Keyword, Operator, Token as Kind};

/// The text in one line, with every token at the character where it was.
pub(crate) fn joined(text: &str, tokens: &[Token]) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut joined = vec![' '; characters.len() + 1];
    let mut from = 0;
    let mut ends_statement = false;
    for token in tokens.iter().filter(|token| !matches!(token.kind, Kind::Comment(_))) {
        let start = token.start.min(characters.len());
        let end = token.end.clamp(start, characters.len());
        if let Some(line_end) =
            characters[from.min(start)..start].iter().position(|&c| c == '\n').filter(|_| ends_statement)
        {
            joined[from + line_end] = ';';
        }
        for (at, &character) in characters.iter().enumerate().take(end).skip(start) {
            joined[at] = if character == '\n' { ' ' } else { character };
        }
        (from, ends_statement) = (end, is_last(&token.kind));
    }
    if ends_statement {
        joined[from] = ';';
    }
    joined.into_iter().collect()
}

/// Whether a line that ends with this token ends a statement.
pub(crate) fn is_last(kind: &Kind) -> bool {
    use Keyword as K;
    use Operator as O;
    match kind {
        Kind::Literal(..) => true,
        Kind::Keyword(word) => matches!(word, K::Break | K::Continue | K::FallThrough | K::Return),
        Kind::Operator(operator) => {
            matches!(operator, O::Inc | O::Dec | O::ParenRight | O::BarackRight | O::BraceRight)
        }
        Kind::Comment(_) => false,
    }
}
