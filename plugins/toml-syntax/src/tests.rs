use super::*;
use gatehost_sdk::Status;

fn verdict(bytes: &[u8], version: Version) -> Verdict {
    let verdict = TomlSyntax::check(&File::new("a.toml", bytes), Settings { version, strict: false });
    assert!(TomlSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn places(bytes: &[u8], version: Version) -> Vec<(String, u32, u32)> {
    let findings = verdict(bytes, version).findings.into_iter();
    findings.map(|finding| finding.spot().expect("every finding has its place")).collect()
}

#[test]
fn valid_toml_has_no_error() {
    for text in [
        "",
        "# nothing",
        "\u{FEFF}a = 1\r\n",
        "[a]\nb = \"c\"\n[[d]]\ne.f = 1979-05-27T07:32:00Z\n",
        "a = 99999999999999999999\nb = 0x1F\nc = -nan\n",
        "a = { b = 1,\n c = \"\\e\\x41\", }\nd = 07:32\n",
    ] {
        assert_eq!(places(text.as_bytes(), Version::V1_1), [], "{text:?}");
    }
}

#[test]
fn every_error_has_its_place() {
    for (bytes, code, line, column) in [
        (&b"a = \n"[..], "syntax", 1, 5),
        (b"a 1\n", "syntax", 1, 3),
        (b"a = [1, 2\n", "syntax", 1, 10),
        (b"[a\nb = 1\n", "syntax", 1, 3),
        (b"a = \"b\n", "syntax", 1, 7),
        (b"a = 0x\n", "syntax", 1, 5),
        (b"a = 01\n", "syntax", 1, 5),
        (b"a = \"\\q\"\n", "syntax", 1, 7),
        (b"a = 2026-02-30\n", "syntax", 1, 5),
        (b"a = 1\nb = 2\na = 3\n", "duplicate-key", 3, 1),
        (b"[a]\n[a]\n", "duplicate-key", 2, 2),
        ("\"ö\" = 1 2\n".as_bytes(), "syntax", 1, 7),
        (b"a = \0\n", "syntax", 1, 5),
        (b"a = '\xFF'\n", "not-utf-8", 1, 6),
    ] {
        let found = places(bytes, Version::V1_1);
        assert_eq!(found, [(code.to_owned(), line, column)], "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_parser_goes_on_after_an_error() {
    let lines: Vec<u32> = places(b"a = \nb = 1\nc 2\n[d\n", Version::V1_1).iter().map(|found| found.1).collect();
    assert_eq!(lines, [1, 3, 4]);
    assert_eq!(places("a = \n".repeat(1_000).as_bytes(), Version::V1_1).len(), MOST_FINDINGS);
}

#[test]
fn version_1_0_had_less() {
    for (text, column) in [
        ("a = { b = 1, }", 12),
        ("a = { b = 1\n}", 12),
        ("a = \"\\e\"", 5),
        ("\"\\x41\" = 1", 1),
        ("a = 07:32", 5),
        ("a = 1979-05-27 07:32-07:00", 5),
    ] {
        assert_eq!(places(text.as_bytes(), Version::V1_0), [("toml-1-0".to_owned(), 1, column)], "{text}");
        assert_eq!(places(text.as_bytes(), Version::V1_1), [], "{text}");
    }
    for text in ["a = [\n1,\n]", "a = { b = [1,\n2,], c = '\\e' }", "a = \"\\\\e\"", "a = 1979-05-27T07:32:00-07:00"] {
        assert_eq!(places(text.as_bytes(), Version::V1_0), [], "{text}");
    }
}

#[test]
fn what_is_too_deep_is_not_judged() {
    let nested = |depth| format!("a = {}{}\n", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(verdict(nested(79).as_bytes(), Version::V1_1).status, Status::Pass);
    for deep in [nested(100_000), format!("a = {}", "{a = ".repeat(100_000)), format!("{}b = 1", "a.".repeat(100_000))]
    {
        assert_eq!(verdict(deep.as_bytes(), Version::V1_1).status, Status::Abstain, "{}", &deep[..20]);
    }
}

#[test]
fn a_template_is_not_applicable() {
    for (text, expected) in [
        ("[package]\nname = {{ name }}\n", Status::NotApplicable),
        ("{% if a %}\n[a]\n{% endif %}\n", Status::NotApplicable),
        ("[{{project-name}}]\na = \"{{ b }}\"\n", Status::NotApplicable),
        ("name = \"{{ name }}\"\n", Status::Pass),
        ("name = \"{{ name }}\" 1\n", Status::Fail),
    ] {
        assert_eq!(verdict(text.as_bytes(), Version::V1_1).status, expected, "{text}");
        let settings = Settings { strict: true, ..Settings::default() };
        let strict = TomlSyntax::check(&File::new("a.toml", text), settings);
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
    }
}

/// A document that can be built, with digits in every number, has no problem that reading it event by event would find.
#[test]
fn a_document_that_is_built_is_read_without_a_problem() {
    let parts = [
        "a",
        "b.c",
        "\"d e\"",
        "'f'",
        " = ",
        "=",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        ",",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "#",
        "# c\n",
        "1",
        "01",
        "0x",
        "0x1F",
        "0o8",
        "0b2",
        "-",
        "+1",
        "1_0",
        "_",
        "1.",
        "1.5",
        ".5",
        "1e",
        "1e6",
        "inf",
        "-nan",
        "true",
        "tru",
        "1979-05-27",
        "07:32",
        "07:32:00",
        "1979-05-27T07:32:00Z",
        "2026-02-30",
        "\"",
        "\"\"\"",
        "'",
        "\'\'\'",
        "\\e",
        "\\x41",
        "\\q",
        "\u{0}",
        "\u{7f}",
        "\u{FEFF}",
        "ö",
    ];
    // A fixed sequence: a failure is the same for everybody.
    let mut state: u64 = 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut built = 0;
    for _ in 0..200_000 {
        let text: String = if next(2) == 0 {
            (0..next(8)).map(|_| parts[next(parts.len())]).collect()
        } else {
            // Nearer to a document.
            let line = |next: &mut dyn FnMut(usize) -> usize| {
                [parts[next(4)], " = ", parts[next(parts.len())], parts[next(parts.len())], "\n"].concat()
            };
            [line(&mut next), line(&mut next)].concat()
        };
        let Ok(table) = DeTable::parse(&text) else { continue };
        if !table.get_ref().values().all(|value| has_digits(value.get_ref())) {
            continue;
        }
        built += 1;
        let problems: Vec<String> =
            events::problems(&text, Version::V1_1).into_iter().map(|problem| problem.message).collect();
        assert!(problems.is_empty(), "{text:?}: {problems:?}");
    }
    assert!(built > 5_000, "{built}");
}
