//! `let` as a name, as scripts outside strict mode may have it, in the places where oxc accepts it for a declaration.

/// The text with another name in place of each `let` that can only be a name; `None` where there is none, or the script is
/// strict.
pub(crate) fn renamed(text: &str) -> Option<String> {
    if text.contains("use strict") {
        return None;
    }
    let bytes = text.as_bytes();
    let is_part = |byte: Option<&u8>| {
        byte.is_some_and(|&byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\\' | b'.' | b'#') || byte >= 0x80
        })
    };
    let mut renamed: Option<String> = None;
    for (at, word) in text.match_indices("let") {
        if at > 0 && is_part(bytes.get(at - 1)) {
            continue;
        }
        // What a declaration declares is never `let`.
        let before = text[..at].trim_end();
        if before.ends_with("let") || before.ends_with("const") {
            continue;
        }
        let behind = text[at + word.len()..].trim_start_matches([' ', '\t']);
        let is_name =
            behind.starts_with([':', '=', ';', ',', ')', '?', '(', '.', '+', '-', '*', '`', '<', '>', '&', '|']);
        if is_name {
            renamed.get_or_insert_with(|| text.to_owned()).replace_range(at..at + word.len(), "l_t");
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn only_a_name_is_renamed() {
        for (text, expected) in [
            ("let: 1", Some("l_t: 1")),
            ("x = let => let + 1", Some("x = l_t => l_t + 1")),
            ("let x = 1; let [a] = b; let {c} = d", None),
            ("outlet: 1; a.let = 2", None),
            ("'use strict'; let: 1", None),
        ] {
            assert_eq!(renamed(text).as_deref(), expected, "{text}");
        }
    }
}
