use super::*;
use gatehost_sdk::Status;

fn verdict(bytes: &[u8]) -> Verdict {
    let verdict = GraphqlSyntax::check(&File::new("a.graphql", bytes), Settings::default());
    assert!(GraphqlSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn places(bytes: &[u8]) -> Vec<(String, u32, u32)> {
    let findings = verdict(bytes).findings.into_iter();
    findings.map(|finding| finding.spot().expect("every finding has its place")).collect()
}

#[test]
fn valid_documents_have_no_error() {
    for text in [
        "{ a }",
        "\u{FEFF}query A($b: [Int!]! = [1]) @c {\r\n  d: e(f: {g: $b}) { ...H ... on I { j } }\r\n}\r\n",
        "fragment H on I { j }",
        "\"\"\"ö\"\"\" type A implements B & C @d { \"e\" f(g: Int = 1): [H!]! }",
        "extend schema @link(url: \"a\")\nunion A = | B | C\nenum D { E }\nscalar F\ninput G { h: Int }",
        "directive @a(b: Int) repeatable on FIELD | OBJECT",
        "\"since 2025\" query a { b }\n\"\"\"ö\n\"\"\" # c\nfragment d on E { f }",
        "query a(\"b\" $c: D = \"e\" $f: G, \"\"\"h\"\"\" $i: J) { k(l: [\"m\" $c]) }",
    ] {
        assert_eq!(places(text.as_bytes()), [], "{text}");
    }
}

#[test]
fn the_first_error_has_its_place() {
    for (bytes, code, line, column) in [
        (&b""[..], "unexpected-end", 1, 1),
        (b"# nothing\n", "unexpected-end", 2, 1),
        (b"{ a", "unexpected-end", 1, 4),
        (b"{ a: }", "syntax", 1, 6),
        (b"{}", "syntax", 1, 2),
        (b"type A {\r\n  b Int\r\n}", "syntax", 2, 5),
        (b"type A { b: [Int }", "syntax", 1, 18),
        (b"{ a(b C) }", "syntax", 1, 5),
        (b"{ a(b: {c false}) }", "syntax", 1, 9),
        (b"enum A { true }", "syntax", 1, 10),
        (b"{ a\0 }", "syntax", 1, 4),
        (b"type A { b: C }\nschema", "syntax", 2, 1),
        (b"schema @a # b\n", "syntax", 1, 1),
        (b"schema { query: }", "syntax", 1, 10),
        ("# ö\n{ a(b: \"ö) }".as_bytes(), "syntax", 2, 8),
        (b"\"a\" { b }", "syntax", 1, 1),
        (b"query a(\"b\" $c: D) { e(f: \"g\" $c) }", "syntax", 1, 31),
        ("\"ö\" query a { b: }".as_bytes(), "syntax", 1, 18),
        (b"{ a(b: \"\xFF\") }", "not-utf-8", 1, 9),
    ] {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(places(bytes).first(), Some(&(code.to_owned(), line, column)), "{text:?}");
        assert_eq!(verdict(bytes).status, Status::Fail, "{text:?}");
    }
}

#[test]
fn the_parser_goes_on_after_an_error() {
    let lines: Vec<u32> =
        places(b"type A { b Int }\ntype C { d: Int }\nenum E { null }\n").iter().map(|p| p.1).collect();
    assert_eq!((lines.first(), lines.last()), (Some(&1), Some(&3)));
    assert!(!lines.contains(&2));
}

#[test]
fn what_is_too_deep_or_too_long_is_not_judged() {
    let nested = |depth: usize| "{a".repeat(depth) + &"}".repeat(depth);
    assert_eq!(verdict(nested(150).as_bytes()).status, Status::Pass);
    let lists = format!("type A {{ b: {}Int{} }}", "[".repeat(100_000), "]".repeat(100_000));
    for deep in [nested(100_000), lists, "{...".repeat(100_000)] {
        assert_eq!(verdict(deep.as_bytes()).status, Status::Abstain, "{}", &deep[..20]);
    }
    assert_eq!(verdict("{a}".repeat(MOST_TOKENS / 3 + 1).as_bytes()).findings[0].code, "too-long");
}

#[test]
fn a_draft_is_not_judged() {
    for text in ["directive @a @b on FIELD", "directive @a on DIRECTIVE_DEFINITION", "extend directive @a @b"] {
        assert_eq!(verdict(text.as_bytes()).status, Status::Abstain, "{text}");
    }
}

#[test]
fn a_template_is_not_applicable() {
    let text = "type {{ name }} {\n  a: Int\n}\n";
    assert_eq!(verdict(text.as_bytes()).status, Status::NotApplicable);
    let strict = GraphqlSyntax::check(&File::new("a.graphql", text), Settings { strict: true });
    assert_eq!(strict.status, Status::Fail);
    assert_eq!(verdict(b"type A {\n  a Int # {{ b }}\n}\n").status, Status::Fail);
}
