use super::*;

fn problem(text: &str, dialect: Dialect) -> Option<(&'static str, usize)> {
    first_problem(text, dialect).map(|problem| (problem.code, problem.at))
}

#[test]
fn jsonc_has_comments_and_trailing_commas_and_nothing_more() {
    for text in ["// a\n{\"a\": [1, 2,], /* b */ \"c\": {},}", "\u{FEFF}[]", "[] // end", "/**/1/**/", "[/*,*/\r\n]"] {
        assert_eq!(problem(text, Dialect::Jsonc), None, "{text}");
    }
    for (text, code, at) in [
        ("", "unexpected-end", 0),
        ("// only\n", "unexpected-end", 8),
        ("[,]", "syntax", 1),
        ("[1,,]", "syntax", 3),
        ("{,}", "syntax", 1),
        ("{'a': 1}", "syntax", 1),
        ("{a: 1}", "syntax", 1),
        ("[+1]", "syntax", 1),
        ("[.5]", "syntax", 1),
        ("[01]", "syntax", 1),
        ("[1.]", "syntax", 3),
        ("[0x1]", "syntax", 2),
        ("[1 2]", "syntax", 3),
        ("{\"a\" 1}", "syntax", 5),
        ("[1}", "syntax", 2),
        ("[] []", "syntax", 3),
        ("[\"\\x41\"]", "bad-escape", 2),
        ("[\"\\u12\"]", "bad-escape", 2),
        ("[\"a\nb\"]", "unclosed-string", 1),
        ("[\"a", "unclosed-string", 1),
        ("[1 /* ", "unclosed-comment", 3),
        ("[1 / 2]", "syntax", 3),
        ("[truex]", "syntax", 5),
        ("[\u{A0}]", "syntax", 1),
    ] {
        assert_eq!(problem(text, Dialect::Jsonc), Some((code, at)), "{text}");
    }
}

#[test]
fn json5_has_what_its_page_says() {
    for text in [
        "{unquoted: 'and \\'you\\'', \"a\": 'line \\\n on', hex: 0xdecaf, half: .5, two: 2., p: +1, i: -Infinity, n: NaN}",
        "{$_ö\\u0061: '\\x41\\0\\v', 'b': [],}",
        "\u{A0}\u{2028}null\u{FEFF}",
        "['\u{2028}\t', '\\\r\n']",
        "// c\u{2028}1",
    ] {
        assert_eq!(problem(text, Dialect::Json5), None, "{text}");
    }
    for (text, code, at) in [
        ("010", "syntax", 0),
        ("0x", "unexpected-end", 2),
        ("[1a]", "syntax", 2),
        ("{1: 1}", "syntax", 1),
        ("{a-b: 1}", "syntax", 2),
        ("'a\nb'", "unclosed-string", 0),
        ("'\\1'", "bad-escape", 1),
        ("'\\01'", "bad-escape", 1),
        ("{\\x61: 1}", "bad-escape", 1),
        (".", "unexpected-end", 1),
        ("undefined", "syntax", 0),
    ] {
        assert_eq!(problem(text, Dialect::Json5), Some((code, at)), "{text}");
    }
}

#[test]
fn depth_needs_no_stack() {
    let deep = "[".repeat(100_000) + "1," + &"]".repeat(100_000);
    assert_eq!(problem(&deep, Dialect::Json5), None);
    assert_eq!(problem(&"{\"a\":".repeat(100_000), Dialect::Jsonc), Some(("unexpected-end", 500_000)));
}
