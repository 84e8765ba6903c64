use super::*;
use gatehost_sdk::Status;

fn verdict(bytes: &[u8], version: &str) -> Verdict {
    let settings = Settings { version: version.into(), strict: false };
    let verdict = PythonSyntax::check(&File::new("a.py", bytes), settings);
    assert!(PythonSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn first(bytes: &[u8], version: &str) -> Option<(String, u32, u32)> {
    let finding = verdict(bytes, version).findings.into_iter().next()?;
    Some(finding.spot().expect("every finding has its place"))
}

#[test]
fn valid_python_passes() {
    for text in [
        "",
        "\u{FEFF}x = 1\r\n",
        "\x0c\nmatch x:\n    case [1, *rest] if rest: pass\n",
        "type A[T = int] = list[T]\nt'{x!r:>{w}}'\n",
        "try: pass\nexcept A, B: pass\n",
        "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n",
        "def f(a, *, b):\n    def g():\n        nonlocal a, b, __class__\n    __class__ = 1\n",
        "class A:\n    def f(self):\n        nonlocal __class__\n",
        "def f():\n    import a.b as c, d.e\n    def g():\n        nonlocal c, d\n",
        "def f():\n    [y := 1 for x in z]\n    def g():\n        nonlocal y\n",
        "def f():\n    try: pass\n    except E as e: pass\n    def g():\n        nonlocal e\n",
        "async def f():\n    return [await x async for x in y]\n",
        "def f():\n    return (x async for x in y)\n",
        "def f():\n    global x\n    x = 1\n",
        "for x in y:\n    break\nelse:\n    pass\nwhile 1:\n    continue\n",
        "f = lambda: (yield)\n",
        "[x for x in (lambda: (yield))()]\n",
        "\"\\N{BULLET}\"\n",
        "x = 1; match(1); match = 2\n",
        "try: pass\nexcept E: pass\nexcept: pass\n",
        "def f():\n    try: pass\n    except* E:\n        def g(): return\n        for x in y: break\n    else: return\n",
        "def f():\n    @(q := 1)\n    class A(metaclass=(r := 1)): pass\n    def g():\n        nonlocal q, r\n",
        "def f():\n    import x\n    [x for x in y]\n    global x\n    def x(): pass\n",
        "with a as (*b,), c as [*d]: pass\n",
        "x.__debug__ += y.__debug__\n",
        "f\"{*a,} {x:{y:{z}}} {x:{f'{y:{z}}'}}\"\n",
        "match x:\n    case 'a' 'b': pass\n    case (1 as a) | (2 as a): pass\n    case (a as b): pass\n",
    ] {
        assert_eq!(first(text.as_bytes(), "3.14"), None, "{text}");
        assert_eq!(verdict(text.as_bytes(), "3.14").status, Status::Pass, "{text}");
    }
}

#[test]
fn the_first_error_has_its_code_and_place() {
    for (bytes, code, line, column) in [
        (&b"x = = 1\n"[..], "expected-expression", 1, 5),
        (b"f(1\nx = 2\n", "expected-token", 2, 1),
        ("ö = 'a\n".as_bytes(), "unclosed-string", 1, 5),
        (b"def f():\nreturn\n", "indentation", 2, 1),
        (b"if 1:\n  a\n b\n", "indentation", 3, 1),
        (b"1 = x\n", "invalid-target", 1, 1),
        (b"f'{x!z}'\n", "interpolated-string", 1, 6),
        (b"'\\N{no such name}'\n", "string-escape", 1, 5),
        (b"return 1\n", "outside-function", 1, 1),
        (b"class A:\n    yield\n", "outside-function", 2, 5),
        (b"def f():\n    await x\n", "outside-function", 2, 5),
        (b"[(yield) for x in y]\n", "outside-function", 1, 3),
        (b"for x in y:\n    def f():\n        break\n", "outside-loop", 3, 9),
        (b"while 1: pass\nelse: continue\n", "outside-loop", 2, 7),
        (b"def f(a, a): pass\n", "duplicate-name", 1, 10),
        (b"nonlocal x\n", "declaration", 1, 1),
        (b"x = 1\ndef f():\n    nonlocal x\n", "declaration", 3, 14),
        (b"def f():\n    x = 1\n    global x\n", "declaration", 2, 5),
        (b"def f():\n    x = 1\n    def g():\n        x\n        nonlocal x\n", "declaration", 4, 9),
        (b"def f():\n    def x(): pass\n    global x\n", "declaration", 2, 9),
        (b"def f():\n    class x: pass\n    global x\n", "declaration", 2, 11),
        (b"def f():\n    try: pass\n    except E as x: pass\n    global x\n", "declaration", 3, 17),
        (b"def f():\n    match y:\n        case [1, *x]: pass\n    global x\n", "declaration", 3, 19),
        (b"def f():\n    [x := 1 for y in z]\n    global x\n", "declaration", 2, 6),
        (b"def f():\n    global x\n    x = 1\n    global x\n", "declaration", 3, 5),
        (b"def f(x):\n    def g():\n        global x\n        nonlocal x\n", "declaration", 4, 9),
        (b"def f():\n    [x for x in y]\n    def g():\n        nonlocal x\n", "declaration", 4, 18),
        (b"try: pass\nexcept: pass\nexcept E: pass\n", "invalid", 2, 1),
        (b"def f():\n    try: pass\n    except* E: return\n", "invalid", 3, 16),
        (b"for x in y:\n    try: pass\n    except* E:\n        if x: continue\n", "invalid", 4, 15),
        (b"while 1:\n    try: pass\n    except* E:\n        for x in y: pass\n        else: break\n", "invalid", 5, 15),
        (b"match x:\n    case f'a': pass\n", "invalid", 2, 10),
        (b"match x:\n    case (a as b) | (b as a): pass\n", "invalid", 2, 11),
        (b"match x:\n    case A(__debug__=1): pass\n", "invalid", 2, 12),
        (b"with a as *b: pass\n", "invalid", 1, 11),
        (b"f(__debug__=1)\n", "invalid", 1, 3),
        (b"x.__debug__ = 1\n", "invalid", 1, 3),
        (b"f'{*a}'\n", "invalid", 1, 4),
        (b"f'{x:{y:{z:{w}}}}'\n", "interpolated-string", 1, 12),
        (b"x = 1; match x:\n    case 1: pass\n", "syntax", 1, 8),
        (b"x = 1 match(1)\n", "syntax", 1, 7),
        (b"# coding: latin-1\n\xC3\xA9 = 1\n", "syntax", 2, 2),
        (b"\"\"\"\n# coding: latin-1\n\"\"\"\nx = '\xE9'\n", "not-utf-8", 4, 6),
        (b"# coding: ascii\nx = '\xC3\xA9'\n", "encoding", 1, 1),
        (b"\xEF\xBB\xBF# coding: latin-1\n", "encoding", 1, 1),
        (b"import a\nfrom __future__ import annotations\n", "future-import", 2, 1),
        (b"x = 1 \0\n", "nul", 1, 7),
        (b"\xFF\xFEx\0", "utf-16", 1, 1),
        (b"x = '\xE9'\n", "not-utf-8", 1, 6),
    ] {
        let expected = Some((code.to_owned(), line, column));
        assert_eq!(first(bytes, "3.14"), expected, "{:?}", String::from_utf8_lossy(bytes));
        assert_eq!(verdict(bytes, "3.14").status, Status::Fail);
    }
}

#[test]
fn newer_syntax_is_an_error_in_an_older_version() {
    for (text, since, before) in [
        ("match x:\n    case 1: pass\n", "3.10", "3.9"),
        ("type A = int\n", "3.12", "3.11"),
        ("match *a, b:\n    case 1: pass\n", "3.10", "3.9"),
        ("try: pass\nexcept A, B: pass\n", "3.14", "3.13"),
        ("class A[*Ts = *tuple[int]]: pass\n", "3.13", "3.12"),
        ("class A[**P = [int]]: pass\n", "3.13", "3.12"),
        ("with (a as b): pass\n", "3.9", "3.8"),
        ("with (a, b as c): pass\n", "3.9", "3.8"),
        ("@(a)\ndef f(): pass\n", "3.9", "3.8"),
        ("@ (a.b)()\nclass A: pass\n", "3.9", "3.8"),
        ("f'{x=}'\n", "3.8", "3.7"),
    ] {
        assert_eq!(first(text.as_bytes(), since), None, "{text}");
        assert_eq!(first(text.as_bytes(), before).expect("an error").0, "version", "{text}");
    }
}

#[test]
fn what_an_older_version_takes_passes() {
    for text in
        ["with (a, b): pass\n", "with (a) as b, (c): pass\n", "@a.b(c)\n@ \\\n d\ndef f(): pass\n", "f'{x:{y}}'\n"]
    {
        assert_eq!(first(text.as_bytes(), "3.7"), None, "{text}");
    }
    // One specification less than since 3.12.
    assert_eq!(first(b"f'{x:{y:{z}}}'\n", "3.12"), None);
    assert_eq!(first(b"f'{x:{y:{z}}}'\n", "3.11"), Some(("interpolated-string".to_owned(), 1, 9)));
}

#[test]
fn a_declared_encoding_counts() {
    for text in [
        &b"\n \t# coding:\t latin-1\nx = '\xE9'\n"[..],
        b"# \xE9 xcoding coding=Latin_1-unix\r\nx = '\xE9'\r\n",
        b"#!/usr/bin/python\r\n# coding: iso-8859-1\r\nx = '\xE9'\r\n",
        b"\xEF\xBB\xBF# coding: utf_8\nx = '\xC3\xA9'\n",
        b"# coding: ascii\nx = 1\n",
        b"# coding: koi8-r\nx = 1\n",
    ] {
        assert_eq!(verdict(text, "3.14").status, Status::Pass, "{}", String::from_utf8_lossy(text));
    }
    assert_eq!(verdict(b"# -*- coding: latin-1 -*-\nx = '\xE9'\n", "3.14").status, Status::Pass);
    assert_eq!(
        verdict(b"#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\nx = '\xE9'\n", "3.14").status,
        Status::Pass
    );
}

#[test]
fn later_errors_are_reported_too() {
    let codes: Vec<_> =
        verdict(b"x = = 1\ny = 'a\nz = 1\n", "3.14").findings.into_iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["expected-expression", "unclosed-string"]);
    assert_eq!(verdict("x = = 1\n".repeat(100).as_bytes(), "3.14").findings.len(), 50);
}

/// What would overflow the stack of a guest gets an answer, and what is merely long gets the right one.
#[test]
fn depth_never_reaches_the_parser() {
    let many = 20_000;
    let indented: String = (0..200).map(|level| " ".repeat(level) + "if a:\n").collect();
    for (text, expected) in [
        ("(".repeat(many), Status::Fail),
        ("(".repeat(200) + &")".repeat(200), Status::Pass),
        ("(".repeat(201) + &")".repeat(201), Status::Fail),
        (indented, Status::Fail),
        ("not ".repeat(many) + "x", Status::Abstain),
        ("-".repeat(many) + "x", Status::Abstain),
        ("lambda a, b: ".repeat(many) + "x", Status::Abstain),
        ("a + ".repeat(many) + "a", Status::Abstain),
        ("a".to_owned() + &".a".repeat(many), Status::Abstain),
        ("a".to_owned() + &"()".repeat(many), Status::Abstain),
        ("f\"{".repeat(many), Status::Abstain),
        ("a ** ".repeat(many) + "a", Status::Abstain),
        ("a if b else ".repeat(many) + "c", Status::Abstain),
        ("a;".repeat(260_000), Status::Abstain),
        ("if a: pass\n".to_owned() + &"elif a: pass\n".repeat(10_000), Status::Pass),
        ("x = [".to_owned() + &"lambda a, b: a + b, ".repeat(5_000) + "]", Status::Pass),
        ("x = a".to_owned() + &" or a".repeat(10_000), Status::Pass),
        ("# (((\n".repeat(many), Status::Pass),
        ("x = '".to_owned() + &"(".repeat(many) + "'", Status::Pass),
    ] {
        assert_eq!(verdict(text.as_bytes(), "3.14").status, expected, "{}", &text[..20]);
    }
}

#[test]
fn a_template_and_another_language_are_not_applicable() {
    for (text, expected) in [
        ("from {{ cookiecutter.package }} import x\n", Status::NotApplicable),
        ("x = 1\n{% if cookiecutter.a == 'b' %}\ny = 2\n{% endif %}\n", Status::NotApplicable),
        ("class <%= name %>:\n    pass\n", Status::NotApplicable),
        ("#!/usr/bin/env ruby\nputs 'a' if b\n", Status::NotApplicable),
        ("# -*- mode: ruby -*-\nputs 'a' if b\n", Status::NotApplicable),
        ("#!/bin/sh\nx = {{y}}\n", Status::Pass),
        ("x = = '{{ a }}'\n", Status::Fail),
        ("#!/usr/bin/env python3\nputs 'a' if b\n", Status::Fail),
    ] {
        assert_eq!(verdict(text.as_bytes(), "3.14").status, expected, "{text}");
        let strict = PythonSyntax::check(&File::new("a.py", text), Settings { strict: true, ..Settings::default() });
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
    }
}

/// As CPython 3.13 says.
#[test]
fn what_cpython_takes_passes() {
    for text in [
        "raise;",
        "if x: raise ; y\n",
        "f(await x for x in y)\n",
        "class A:\n    x = (await x for x in y)\n",
        "[(await x for x in y) for z in w]\n",
        "(x for z in y for x in await z)\n",
        "def f(x: (lambda: (yield))) -> (lambda: (yield)): pass\n",
        "x: (lambda: (z := 1)) = 1\n",
        "*a, = *b, c\nx: int = *a, b\n(*a,)\n",
        "match x:\n    case [(a), *_]: pass\n    case (*a,): pass\n    case *a, b: pass\n",
    ] {
        assert_eq!(first(text.as_bytes(), "3.14"), None, "{text}");
        assert_eq!(verdict(text.as_bytes(), "3.14").status, Status::Pass, "{text}");
    }
}

#[test]
fn what_cpython_refuses_fails() {
    for (text, code, line, column) in [
        ("raise x;;\n", "syntax", 1, 9),
        ("xraise y;\n", "syntax", 1, 8),
        ("[await x for x in y]\n", "outside-function", 1, 2),
        ("(x for x in await y)\n", "outside-function", 1, 13),
        ("def f(x: (yield)): pass\n", "invalid", 1, 11),
        ("*a\n", "invalid", 1, 1),
        ("def f():\n    *a + b\n", "invalid", 2, 5),
        ("x: int = *a\n", "invalid", 1, 10),
        ("x += *a\n", "invalid", 1, 6),
        ("match x:\n    case [(*a), 1]: pass\n", "invalid", 2, 12),
        ("match x:\n    case ((*a), b): pass\n", "invalid", 2, 12),
    ] {
        assert_eq!(first(text.as_bytes(), "3.14"), Some((code.to_owned(), line, column)), "{text}");
    }
}

#[test]
fn blocks_are_nested_as_deep_as_in_cpython() {
    let nested = |head: &str, levels: usize| -> String {
        (0..levels).map(|level| " ".repeat(level) + head + "\n").collect::<String>() + &" ".repeat(levels) + "pass\n"
    };
    let tried = |levels: usize| {
        let tries: String = (0..levels).map(|level| " ".repeat(level) + "try:\n").collect();
        let handlers = (0..levels).rev().map(|level| " ".repeat(level) + "except: pass\n");
        tries + &" ".repeat(levels) + "pass\n" + &handlers.collect::<String>()
    };
    let coroutine = |levels| {
        "async def f():\n".to_owned() + &nested("for x in y:", levels).replace("for", " for").replace("pass", " pass")
    };
    let handled = |levels| nested("try: pass", levels).replace("try: pass\n", "try: pass\nexcept:\n");
    for (text, version, expected) in [
        (nested("for x in y:", 21), "3.14", None),
        (nested("for x in y:", 22), "3.14", Some(22)),
        (nested("for x in y:", 20), "3.11", None),
        (nested("for x in y:", 21), "3.11", Some(21)),
        (nested("while x:", 22), "3.14", Some(22)),
        (nested("with x, y:", 11), "3.14", Some(11)),
        (nested("if x:", 60), "3.14", None),
        (tried(20), "3.14", None),
        (tried(21), "3.14", Some(21)),
        (handled(1), "3.14", None),
        (nested("for x in y:", 21).replace("pass", "def f():\n                      for x in y: pass"), "3.14", None),
    ] {
        let found = first(text.as_bytes(), version);
        assert_eq!(
            found.map(|(code, line, _)| (code, line)),
            expected.map(|line| ("too-deep".to_owned(), line)),
            "{text}"
        );
    }
    assert_eq!(first(coroutine(20).as_bytes(), "3.14"), None);
    assert_eq!(first(coroutine(21).as_bytes(), "3.14").map(|found| found.0).as_deref(), Some("too-deep"));
}

#[test]
fn encodings_above_ascii_are_read() {
    for text in [
        &b"# coding: koi8-r\nx = '\xE9' # \xFF\n"[..],
        b"# coding: cp1251\n\xEF\xF0\xE8 = 1\n",
        b"# coding: windows-1252\nx = '\x93\x94'\n",
        // The second byte of a character is a backslash, and a single byte is a letter.
        b"# coding: shift_jis\nx = '\x83\x5C'\ny = '\xB1'\n",
        b"# coding: gbk\nx = '\x95\x5C'\n",
        b"# coding: euc-jp\nx = '\xA4\xA2'\n",
    ] {
        assert_eq!(verdict(text, "3.14").status, Status::Pass, "{}", String::from_utf8_lossy(text));
    }
    assert_eq!(verdict(b"# coding: koi8-r\nx = '\xE9\n", "3.14").status, Status::Fail);
    assert_eq!(verdict(b"# coding: rot42\nx = '\xE9'\n", "3.14").status, Status::Abstain);
}
