use super::*;
use gatehost_sdk::Status;

fn verdict(text: &str, edition: Option<&str>) -> Verdict {
    let settings = Settings { edition: edition.map(str::to_owned), strict: false };
    let verdict = RustSyntax::check(&File::new("a.rs", text), settings);
    assert_eq!(RustSyntax::ABOUT.undeclared(&verdict), None);
    verdict
}

fn first(text: &str) -> Option<(String, u32, u32)> {
    let finding = verdict(text, None).findings.into_iter().next()?;
    Some(finding.spot().expect("every finding has its place"))
}

#[test]
fn valid_rust_passes() {
    for text in [
        "",
        "#!/usr/bin/env run\r\nfn main() {}\r\n",
        "fn f<'a, T: Into<Vec<u8>>>(x: &'a T) -> impl Fn(&str) -> bool + 'a { move |a| a < \"b\" && 1 > 2 }",
        "macro_rules! m { ($($x:expr),* $(,)?) => { $($x)+* }; }",
        "async fn f() -> Result<(), Box<dyn Error>> { let Some(x) = y else { return Err(z)? }; g(x).await }",
        "// ((((\nconst A: &str = r#\"({[\"#; const B: char = '\\''; const C: &CStr = c\"x\";",
        "fn async() { await(); }",
        "unsafe extern \"C\" { safe fn f(); }",
        "\u{FEFF}#!/usr/bin/env run\nfn main() {}",
        "fn f() { (a < b) == c; a < b && c < d; a == b as u8; Vec::<u8>::new(); <Vec<u8>>::new(); m!(a < b < c) }",
        "fn f() { (1..2)..3; 1..(2..3); .. ..2; 1.. ..2; a[..].x[1..] }",
        "const A: (u8, u64, f32) = (0b1_0u8, 0xFF_e9, 1e3); const B: u8 = 0o17 + 0b1.x();",
    ] {
        assert_eq!(first(text), None, "{text}");
        assert_eq!(verdict(text, None).status, Status::Pass, "{text}");
    }
}

#[test]
fn the_first_error_has_its_code_and_place() {
    for (text, code, line, column) in [
        ("fn f( {}", "expected", 1, 6),
        ("fn f() {\n    let ö = ;\n}", "expected", 2, 13),
        ("fn f() {", "expected", 1, 9),
        ("const A: &str = \"a", "unterminated", 1, 17),
        ("/* a", "unterminated", 1, 1),
        ("const A: char = '';", "literal", 1, 17),
        ("const A: &str = \"\\q\";", "literal", 1, 17),
        ("fn f() { x = \0; }", "expected", 1, 14),
        ("\u{FEFF}fn f( {}", "expected", 1, 7),
        ("fn f() { a < b < c; }", "syntax", 1, 10),
        ("fn f() { if a == b != c {} }", "syntax", 1, 13),
        ("fn f() { let x = Vec<u8>::new(); }", "syntax", 1, 18),
        ("fn f() { 1..2..3 }", "syntax", 1, 10),
        ("fn f() { 1..=2..3 }", "syntax", 1, 10),
        ("fn f() { ..1..2 }", "syntax", 1, 10),
        ("const A: u8 = 0b12;", "literal", 1, 15),
        ("const A: u8 = 0o8u8;", "literal", 1, 15),
        ("m! { 0b1_2 }", "literal", 1, 6),
        ("const A: f32 = 0b1e3;", "literal", 1, 16),
    ] {
        assert_eq!(first(text), Some((code.to_owned(), line, column)), "{text}");
        assert_eq!(verdict(text, None).status, Status::Fail, "{text}");
    }
}

#[test]
fn an_edition_can_be_set() {
    let old = "fn async() {}";
    assert_eq!(verdict(old, Some("2015")).status, Status::Pass);
    assert_eq!(verdict(old, Some("2018")).status, Status::Fail);
}

#[test]
fn what_is_not_utf8_fails() {
    let file = File::new("a.rs", b"fn f() { \"\xFF\" }");
    assert_eq!(RustSyntax::check(&file, Settings::default()).findings[0].code, "not-utf-8");
}

/// What would overflow the stack of a guest is not parsed.
#[test]
fn depth_never_reaches_the_parser() {
    for part in [
        "(",
        "[",
        "{",
        "f(",
        "!",
        "&",
        "a+",
        "a=",
        "||",
        "|a, b|",
        "|a: A<B, C>|",
        "return ",
        "if a {b;} else ",
        "if ",
        "match a {_ => ",
        "A<",
        "A<B, ",
        "fn()->",
        "Fn()->",
        "*const ",
        "a::",
        "mod a {",
        "m!(",
        "#[a(",
    ] {
        let text = format!("fn f() {{ let x = {}", part.repeat(10_000));
        assert_eq!(verdict(&text, None).status, Status::Abstain, "{part}");
    }
    assert_eq!(verdict(&format!("fn f() {{ a{} }}", ".b()?".repeat(10_000)), None).status, Status::Abstain);
}

#[test]
fn length_alone_is_not_depth() {
    for (start, part, end) in [
        ("", "fn f() -> bool { a < b || c > d }\n", ""),
        ("fn f() { match a {", "A | B => if a { |a, b| c } else { d },", "} }"),
        ("fn f() {", "if a { b } if let Some(x) = c { d } x.y();\n", "}"),
        ("const A: &[(u8, &str)] = &[", "(1, \"(\"), ", "];"),
        ("", "/* /* ( */ */ // (\n", ""),
        ("", "#[a(b = \"c\")] pub struct A<T: B = C>(D<E, F>);\n", ""),
    ] {
        let text = format!("{start}{}{end}", part.repeat(1_500));
        assert_eq!(verdict(&text, None).status, Status::Pass, "{part}");
    }
}

#[test]
fn a_template_is_not_applicable() {
    for (text, expected) in [
        ("use {{crate_name}}::run;\nfn main() { run() }\n", Status::NotApplicable),
        ("fn main() {\n    {% if a %}\n    b();\n    {% endif %}\n}\n", Status::NotApplicable),
        ("struct {{ name | upper_camel_case }};\n", Status::NotApplicable),
        ("fn main() { {{ a }} }\n", Status::Pass),
        ("fn main() { let x = ; // {{ a }}\n}\n", Status::Fail),
    ] {
        assert_eq!(verdict(text, None).status, expected, "{text}");
        let strict = RustSyntax::check(&File::new("a.rs", text), Settings { strict: true, ..Settings::default() });
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
    }
}
