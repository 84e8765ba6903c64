use super::*;
use gatehost_sdk::Status;

fn verdict(bytes: &[u8], settings: Settings) -> Verdict {
    let verdict = YamlSyntax::check(&File::new("a.yaml", bytes), settings);
    assert!(YamlSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn places(bytes: &[u8]) -> Vec<(String, u32, u32)> {
    let findings = verdict(bytes, Settings::default()).findings.into_iter();
    findings.map(|finding| finding.spot().expect("every finding has its place")).collect()
}

#[test]
fn valid_yaml_has_no_error() {
    for text in [
        "",
        "# nothing\n",
        "a: 1\r\nb:\r\n  - c\r\n",
        "--- a\n--- b\n...\n",
        "\u{FEFF}a: 1\n",
        "{a: [1, 2], \"b\": {}}",
        "a: &x {b: c}\nd: *x\ne:\n  <<: *x\n  <<: *x\n",
        "? \n: v\n",
        "run: |\n  {{ not: a: template }}\n",
        "1: a\n\"1\": b\n",
        "'': a\n",
        "a:\tb\nc\t: d\t# e\n",
        "- &a\tb: c\n- -a\tb: c\n",
        "-\ta\n-\t{a: b}\n-\t|\n  c\n",
        "[\n\ta: b\n]",
        "a: |\n  b\n  \tc: d\n",
    ] {
        assert_eq!(places(text.as_bytes()), [], "{text:?}");
    }
    assert_eq!(places(b"\xFF\xFEa\x00:\x00 \x001\x00"), []);
}

#[test]
fn every_error_has_its_place() {
    for (bytes, code, line, column) in [
        (&b"a: b: c\n"[..], "unexpected-colon", 1, 5),
        (b"a: [1, 2\n", "unclosed-bracket", 1, 4),
        (b"a: [1}\n", "unexpected-bracket", 1, 4),
        (b"a: ]\n", "unexpected-bracket", 1, 4),
        (b"a: \"b\n", "unclosed-string", 2, 1),
        (b"a:\n\tb: c\n", "tab", 2, 2),
        (b"\ta: b\n", "tab", 1, 1),
        (b"--- # c\n \ta: b\n", "tab", 2, 2),
        (b"-\ta: b\n", "tab", 1, 2),
        (b"a:\n  - b\n  - \tc: d\n", "tab", 3, 5),
        (b"\t- a\n", "tab", 1, 1),
        (b"-\t&a b: c\n", "tab", 1, 2),
        (b"a: 1\n  b: 2\n", "unexpected-colon", 2, 4),
        (b"a:\n  b: 1\n c: 2\n", "expected-key", 3, 2),
        ("ö: *b\n".as_bytes(), "unknown-anchor", 1, 4),
        (b"a: @b\n", "unexpected-character", 1, 4),
        (b"a: \"\\q\"\n", "bad-escape", 1, 4),
        (b"a: \0\n", "control-character", 1, 4),
        (b"a: !x!y z\n", "unknown-tag-handle", 1, 4),
        (b"a: 1\n: 2\n", "empty-key", 2, 1),
        (b"[{: a}]", "empty-key", 1, 3),
        (b"a: \xFF\n", "not-utf-8", 1, 4),
        (b"a: 1\nb: 2\na: 3\n", "duplicate-key", 3, 1),
    ] {
        assert_eq!(places(bytes), [(code.to_owned(), line, column)], "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_next_document_is_read_after_an_error() {
    let text = b"a: b: c\n--- fine\n---- not a start\n---\nd: 'e\n--- [\n";
    let codes: Vec<_> = places(text).into_iter().map(|(code, line, _)| (code, line)).collect();
    let expected = [("unexpected-colon", 1), ("unclosed-string", 6), ("unclosed-bracket", 6)];
    assert_eq!(codes, expected.map(|(code, line)| (code.to_owned(), line)));
    assert_eq!(places("---\na: b: c\n".repeat(200).as_bytes()).len(), MOST_FINDINGS);
}

#[test]
fn an_error_after_many_warnings_is_an_error() {
    let text = "a: 1\n".repeat(1_000) + "b: [\n";
    assert_eq!(verdict(text.as_bytes(), Settings::default()).status, Status::Fail);
    assert_eq!(places(text.as_bytes()).len(), MOST_FINDINGS + 1);
}

#[test]
fn a_template_is_not_applicable() {
    for (text, expected) in [
        ("{{- if .Values.on }}\na: b\n{{- end }}\n", Status::NotApplicable),
        ("a:\n  {{- toYaml .Values.b | nindent 2 }}\n", Status::NotApplicable),
        ("a: \"{{ .Values.b | default \"c\" }}\"\n", Status::NotApplicable),
        ("{% for a in b %}\n- {{ a }}\n{% endfor %}\n", Status::NotApplicable),
        ("<% if a %>\nb: c\n<% end %>\n", Status::NotApplicable),
        ("# vim: ft=helm\na: b: c\n", Status::NotApplicable),
        ("a: {{ b }}\n", Status::Pass),
        ("on: ${{ x\n  a: b: c\n", Status::Fail),
        ("a: b: c\n# {{ d }}\n", Status::Fail),
        ("a: |\n  {{ b }}\nc: d: e\n", Status::Fail),
    ] {
        assert_eq!(verdict(text.as_bytes(), Settings::default()).status, expected, "{text}");
        let strict = verdict(text.as_bytes(), Settings { strict: true, ..Settings::default() });
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
    }
}

#[test]
fn the_settings_weigh_odd_keys() {
    let settings = || Settings { duplicate_keys: Severity::Error, empty_keys: Severity::Ignore, ..Settings::default() };
    assert_eq!(verdict(b"{a: 1, a: 2}", settings()).status, Status::Fail);
    assert_eq!(verdict(b": 1\n", settings()).status, Status::Pass);
    assert_eq!(verdict(b"{a: 1, a: 2}", Settings::default()).status, Status::Pass);
}

#[test]
fn depth_needs_no_stack_and_has_an_end() {
    assert_eq!(places(("[".repeat(900) + &"]".repeat(900)).as_bytes()), []);
    for deep in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000), "? ".repeat(100_000)] {
        assert_eq!(places(deep.as_bytes())[0].0, "too-deep");
    }
}

#[test]
fn an_alias_is_not_expanded() {
    let mut text = String::from("a0: &a0 [x, x]\n");
    for n in 1..200 {
        text += &format!("a{n}: &a{n} [*a{m}, *a{m}, *a{m}]\n", m = n - 1);
    }
    assert_eq!(places(text.as_bytes()), []);
}

/// The yaml-test-suite's 9C9N and its like. A closing bracket may stand anywhere.
#[test]
fn entries_of_a_flow_collection_are_indented() {
    for (text, line) in [
        ("---\nflow: [a,\nb,\nc]\n", 3),
        ("flow: [\na\n]\n", 2),
        ("k: {\na: b\n}\n", 2),
        ("- [\na]\n", 2),
        ("a:\n  b: [\n  c\n  ]\n", 3),
        ("a: [\n  [\nb]]\n", 3),
        ("a: [\n\"b\"]\n", 2),
        ("a:\n- b\n- [c,\nd]\n", 4),
        ("a:\n- b:\n  - [c,\n  d]\n", 4),
    ] {
        assert_eq!(
            places(text.as_bytes()).first(),
            Some(&(
                "indentation".to_owned(),
                line,
                1 + text.lines().nth(line as usize - 1).map_or(0, |found| found.len() - found.trim_start().len())
                    as u32
            )),
            "{text:?}"
        );
        let settings = Settings { flow_indentation: Severity::Ignore, ..Settings::default() };
        assert_eq!(verdict(text.as_bytes(), settings).status, Status::Pass, "{text:?}");
    }
    for text in [
        "flow: [\n  a\n]\n",
        "a:\n  b: [\n    c,\n    {d: e}\n  ]\n",
        "a:\n  b: {\n    c: d\n}\n",
        "[\na,\nb\n]\n",
        "--- {\na: b\n}\n",
        "- [\n a]\n- {b: [\n  c]}\n",
        "a: [b\n  , c\n]\n",
        "a: [\n# b\n c]\n",
        // A sequence that is not indented further than its key.
        "a:\n- # b\n- [c,\n d]\n",
        "a:\n- b: c\n- {d,\n e}\n",
        "a: !!seq\n- - b\n  - [c,\n   d]\n",
        "? # a\n- b\n- [c,\n d]\n: &e # f\n-\n- [g,\n h]\n",
        "a: &b\n  - c\n  - [d,\n   e]\n",
    ] {
        assert_eq!(places(text.as_bytes()), [], "{text:?}");
    }
}

/// As libyaml says.
#[test]
fn a_string_may_go_on_at_its_keys_indentation() {
    for text in [
        "msg: \"x\ny\"\n",
        "a:\n  msg: \"x\n  y\"\n",
        "a:\n  msg: 'x\n y'\n  b: c\n",
        "a:\n  msg: 'x\ny\nz'\n",
        "msg: 'x\n\ny'\nb: c\n",
        "- - 'x\ny'\n",
        "msg: \"x\ny: z\"\nb: 1\n",
        "msg: 'x\n---y'\n",
        "a: 'x\r\ny'\r\n",
    ] {
        assert_eq!(places(text.as_bytes()), [], "{text:?}");
    }
    for (text, code, line, column) in [
        ("'x\ny': z\n", "syntax", 2, 3),
        ("msg: 'x\n--- y'\n", "unclosed-string", 2, 1),
        ("msg: 'x\n... y'\n", "unclosed-string", 2, 1),
        ("msg: 'x\ny\n", "unclosed-string", 3, 1),
        ("msg: 'x\ny' z\n", "syntax", 2, 4),
        ("msg: 'x\ny'\na: b: c\n", "unexpected-colon", 3, 5),
    ] {
        let found = places(text.as_bytes());
        assert_eq!(found.first(), Some(&(code.to_owned(), line, column)), "{text:?}");
    }
}
