//! A template: text with placeholders such as `{{task}}`.

/// A piece of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Words(&'t str),
    Name(&'t str),
}

/// Splits a template into its pieces. Unmatched braces are text.
pub(crate) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((words, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else { break };
        if !words.is_empty() {
            pieces.push(Piece::Words(words));
        }
        pieces.push(Piece::Name(name.trim()));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Words(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::Piece::{Name, Words};
    use super::*;

    #[test]
    fn names_stand_between_braces() {
        assert_eq!(pieces("a {{ b }}{{c}}\nd"), [Words("a "), Name("b"), Name("c"), Words("\nd")]);
        assert_eq!(pieces("{{a"), [Words("{{a")]);
        assert_eq!(pieces(""), []);
    }
}
