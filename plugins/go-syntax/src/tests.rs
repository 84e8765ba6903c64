use super::*;
use gatehost_sdk::Status;

fn verdict(text: &str) -> Verdict {
    let verdict = GoSyntax::check(&File::new("a.go", text), Settings::default());
    assert!(GoSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn first(text: &str) -> Option<(String, u32, u32)> {
    let finding = verdict(text).findings.into_iter().next()?;
    Some(finding.spot().expect("every finding has its place"))
}

#[test]
fn valid_go_passes() {
    for text in [
        "package a\n",
        "\u{FEFF}package a // b\r\n\r\nimport (\r\n\t\"fmt\"\r\n\t. \"c\"\r\n)\r\n",
        "package a\nfunc f[T any, U ~int | ~string](a T, b ...U) (c map[string][]T, err error) { return }\n",
        "package a\nfunc main() {\n\tfor i := range 10 {\n\t\tgo func() { <-c }()\n\t}\n\tswitch x := y.(type) {\n\tcase int, *T:\n\t}\n}\n",
        "package a\ntype T struct {\n\t*B `json:\"b\nc\"`\n\tx, y int\n}\nvar _ = T{x: 1, y: 0x1_0}\n",
        "package a\nfunc f() { if x := g(); x > 1 {} else if y {} else {} ; select { case v, ok := <-c: _ = v; default: } }\n",
    ] {
        assert_eq!(first(text), None, "{text}");
        assert_eq!(verdict(text).status, Status::Pass, "{text}");
    }
}

#[test]
fn the_first_error_has_its_code_and_place() {
    for (text, code, line, column) in [
        ("", "unexpected-end", 1, 1),
        ("package a\n\nfunc f( {}\n", "syntax", 3, 10),
        ("package a\n/* ö\n */ var ö = = 1\n", "syntax", 3, 14),
        ("package a\nfunc f() {\n\tx := []int{1, 2\n}\n}\n", "syntax", 4, 1),
        ("package a\nfunc f() {", "syntax", 2, 11),
        ("package a\nx := 1\n", "expected-token", 2, 1),
        ("package a\nvar s = \"b\n", "invalid-token", 2, 9),
    ] {
        assert_eq!(first(text), Some((code.to_owned(), line, column)), "{text}");
        assert_eq!(verdict(text).status, Status::Fail, "{text}");
    }
}

/// gosyn's parser goes on where something is missing between two operands.
#[test]
fn nothing_stands_side_by_side_that_should_not() {
    let body = |statement: &str| format!("package a\nfunc f() {{\n{statement}\n}}\n");
    for (text, line, column) in [
        (body("x := []int{1 2}"), 3, 14),
        (body("x := []string{\"a\" \"b\"}"), 3, 19),
        (body("ifif !x {}"), 3, 6),
        (body("varvar x int"), 3, 8),
        (body("return r.re()Find(s)"), 3, 14),
        (body("return a b"), 3, 10),
        (body("x := T{Name \"b\"}"), 3, 13),
        (body("x := T{\nName 64,\n}"), 4, 6),
        ("package a\nfunc f() (a b c, d int) {}\n".into(), 2, 15),
        ("package a\nfunc f() (*a b) {}\n".into(), 2, 14),
    ] {
        assert_eq!(first(&text), Some(("expected-token".to_owned(), line, column)), "{text}");
    }
    for text in [
        body("var x, y int"),
        body("var x func(a int) (b string)\nvar y func() int"),
        body("const (\na int = 1\nb = 2\n)"),
        body("type T struct {\na, b int `x`\nc func() int \"tag\"\n*D\n}"),
        body("x := func(a int) string { return a }\ny := []func() int{func() int { return 1 }}"),
        body("x := map[string]int{\"a\": 1, b: 2}\nfor range x {}\nL:\nfor {}"),
        body("switch x := y.(type) {\ncase int, string: f()\ndefault: var z int\n}"),
        body("select {\ncase c <- 1: var a int\n}"),
        body("x := struct{ a int }{1}; y := interface{ f() int }(nil)"),
        body("go func() error { return nil }()\ndefer func() (err error) { return }()"),
        body("f(1, func() T { return nil }, func(a int) (b T) { return })"),
        "package a\nimport f \"fmt\"\nimport (\n. \"b\"\n_ \"c\"\nd \"e\"\n)\n".into(),
        "package a\ntype I interface {\nf(a int) string\ng() (int, error)\n~int | string\n}\n".into(),
        "package a\nfunc (r *T[K]) f(a, b int, c ...string) (d int, e error) { return 1, nil }\nvar F = func() int { return 1 }\n".into(),
        "package a\nvar (\nx int\ny, z string = \"\", \"\"\n)\ntype (\nA B\nC = D\n)\n".into(),
        "package a\nfunc f[T any, U interface{ m() int }](x T) U { type L map[T]U; return nil }\n".into(),
    ] {
        assert_eq!(first(&text), None, "{text}");
    }
}

#[test]
fn a_template_is_not_applicable() {
    let text = "package {{ .Package }}\n\nfunc f() {}\n";
    assert_eq!(verdict(text).status, Status::NotApplicable);
    let strict = GoSyntax::check(&File::new("a.go", text), Settings { strict: true });
    assert_eq!(strict.status, Status::Fail);
    assert_eq!(verdict("package a\nfunc f( {} // {{ .B }}\n").status, Status::Fail);
}

#[test]
fn depth_never_reaches_the_parser() {
    for part in [
        "(",
        "[",
        "{",
        "f(",
        "!",
        "-",
        "*",
        "&",
        "<-",
        "[]",
        "map[a]",
        "chan ",
        "func() ",
        "if a {} else ",
        "func() { ",
        "a+b*(",
        "struct { x ",
        "interface { f() ",
    ] {
        let text = format!("package a\nfunc f() {{ x = {}", part.repeat(5_000));
        assert_ne!(verdict(&text).status, Status::Pass, "{part}");
    }
    let chain = format!("package a\nfunc f() {{ {} {{}} }}", "if a {} else ".repeat(1_000));
    assert_eq!(verdict(&chain).status, Status::Abstain);
}

#[test]
fn length_alone_is_not_depth() {
    for part in [
        "x := a + b * c\n",
        "if a { b() } else { c() }\n",
        "f(func() { g(1, []int{2, 3}) })\n",
        "x.y.z().w = *p\n",
        "t.Run(a.b, c.d)\n",
    ] {
        let text = format!("package a\nfunc f() {{\n{}}}\n", part.repeat(2_000));
        assert_eq!(verdict(&text).status, Status::Pass, "{part}");
    }
    let bodiless = format!("package a\n{}", "func (x *T) f(y T) T // c\n".repeat(2_000));
    assert_eq!(verdict(&bodiless).status, Status::Pass);
}

/// Whatever is cut out of a file or doubled in it, there is an answer.
#[test]
fn nothing_makes_it_panic() {
    let text = "package a\n\nimport \"fmt\"\n\ntype T[K comparable] struct {\n\ta, b map[K][]int `x`\n\t*B\n}\n\nfunc (t *T[K]) f(x ...int) (int, error) {\n\tfor i, v := range t.a[1:2:3] {\n\t\tswitch y := v.(type) {\n\t\tcase int:\n\t\t\tgo fmt.Println('\\u00e9', 0x1p-2, 1i, `r\n`)\n\t\tdefault:\n\t\t\tbreak\n\t\t}\n\t}\n\tselect {\n\tcase c <- 1:\n\tcase z, ok := <-d:\n\t}\n\treturn 1, nil\n}\n";
    assert_eq!(verdict(text).status, Status::Pass);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for &at in &places {
        for &end in places.iter().filter(|&&end| end > at && end < at + 4) {
            drop(verdict(&(text[..at].to_owned() + &text[end..])));
            drop(verdict(&(text[..end].to_owned() + &text[at..])));
        }
        drop(verdict(&text[..at]));
    }
}
