use super::*;
use gatehost_sdk::Status;

fn verdict(text: &str, edition: Option<&str>) -> Verdict {
    let settings = Settings { edition: edition.map(str::to_owned), strict: false };
    let verdict = RustSyntax::check(&File::new("a.rs", text), settings);
    assert!(RustSyntax::ABOUT.undeclared(&verdict).is_empty());
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
        "enum E { pub A, pub(crate) B(u8), #[a] pub(in a::b) C { d: u8 } }",
        "type A = fn(mut self); type B = fn(self: u8, c: D); type E = fn(mut self: u8);",
        "fn f() { match a { B => m! {} | c, D => m! { e } F => m! {} } }",
        "impl A for .. {}",
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
        ("enum E { A pub }", "expected", 1, 11),
        ("enum E { pub }", "expected", 1, 10),
        ("struct S { pub }", "expected", 1, 16),
        ("fn f(a: B) { pub c }", "expected", 1, 17),
        ("fn f() { for .. {} }", "expected", 1, 16),
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

/// As rustc's parser says, in every edition or in the one that takes it.
#[test]
fn what_rustc_takes_passes() {
    let pattern = format!("fn f() {{ match a {{ {} => 1, _ => 2 }} }}", vec!["A::B"; 3_000].join(" | "));
    for text in [
        "/// a\r\nfn f() { let a = \"x \\\r\n   y\"; }\r\n",
        "const A: &str = \"a\r\nb\"; const B: &str = r\"a\r\nb\"; const C: &[u8] = b\"a\r\nb\";\r\n",
        "const A: &[u8] = br\"a\r\nb\"; const B: &CStr = c\"a\r\nb\";\r\n/** a\r\n b */\r\nfn f() {}\r\n",
        "trait T { fn f(i32); fn g(&str, Vec<u8>) -> u8; fn h<A: B<C>>(&self, a: A, A::B) {} }",
        "unsafe mod a {} unsafe mod b;",
        "fn f<T: !Copy + ?Sized + !A<B>>() {}",
        "trait A { final fn f() {} } impl A { final fn f() {} } final fn f() {}",
        "fn f() { const move || 1; const || 1; }",
        "//! a\n#![a(b[c])]\n//! d\nmod e { //! f\n fn g() {} } fn h() { /*! i */ }",
        "#!/usr/bin/env run\n//! a\n//// b\n/*** c */\n/**/\n",
        "m! { /// a\n }",
        "fn f() { let A(.., ) = a; let A { .. } = b; A { ..c }; A { d, .. } = e; [0; 1]; [0] }",
        "fn f() { raw; &raw const x; &raw mut y; &raw; &raw.x; &raw[1]; &raw(1) }",
        "fn f() { m!(1a, \"a\"b, 'a'b, 1.0f33); x?; y? + 1 }",
        "fn f() { 1u8 as u16; 0x1u8; 0b1_u8; 1usize; 1i128; 1.0f64; 1e3f32; 1f16; 1f128; 0o7i64; 0xf32; 1_ }",
        "fn r#fn(r#type: u8) { r#type; }",
        "const { assert!(true) } mod a { #[b] const { 1; } pub const { 2; } } fn f() { let x = const { 3 }; }",
        "#!//bin/run\n/* a */ [allow(b)]\nfn f() {}",
        "struct A(u8, /// x\nu8); fn f(/// a\nb: u8) { [1, /// c\n2]; }",
        "fn f<'r#ref>(a: &'r#ref u8) -> &'static u8 {} trait A { fn g(self, a: u8) { b(1, self) } }",
        "fn f() { match a { 1..=B => 2, A::C.. => 3, ref d => 4 } }",
        &pattern,
    ] {
        assert_eq!(first(text), None, "{text}");
        assert_eq!(verdict(text, None).status, Status::Pass, "{text}");
    }
}

#[test]
fn what_rustc_refuses_fails() {
    for (text, code, line, column) in [
        ("fn f() {\n /// a\n}", "syntax", 2, 2),
        ("fn f() {}\n/// a\n", "syntax", 2, 1),
        ("fn f() {}\n/** a */\n", "syntax", 2, 1),
        ("struct A { b: u8, /// c\n}", "syntax", 1, 19),
        ("struct A(u8, /// c\n);", "syntax", 1, 14),
        ("enum A { B, /// c\n /// d\n}", "syntax", 1, 13),
        ("trait A { /// c\n}", "syntax", 1, 11),
        ("fn f() { match a { b => c, /// d\n } }", "syntax", 1, 28),
        ("/// a\n//! b\nfn f() {}\n", "syntax", 2, 1),
        ("fn f() {}\n//! b\n", "syntax", 2, 1),
        ("m!(\u{201C}a\u{201D});", "syntax", 1, 4),
        ("m!(`);", "syntax", 1, 4),
        ("m!(\u{2013});", "syntax", 1, 4),
        ("fn f() { let A { .., } = a; }", "expected", 1, 20),
        ("fn f() { let A { a, .., b } = a; }", "expected", 1, 23),
        ("fn f() { A { .., } = a; }", "expected", 1, 16),
        ("fn f() { A { ..b, }; }", "syntax", 1, 17),
        ("const A: [u8; 1] = [0; ];", "expected", 1, 24),
        ("fn f() { &raw x; }", "expected", 1, 14),
        ("fn f<T: ?>() {}", "expected", 1, 10),
        ("const A: u8 = 1a;", "literal", 1, 15),
        ("const A: u8 = 1u88;", "literal", 1, 15),
        ("const A: f32 = 1.0f33;", "literal", 1, 16),
        ("fn f(r#self: u8) {}", "syntax", 1, 6),
        ("use r#crate::x;", "syntax", 1, 5),
        ("const A: &str = \"a\"b;", "literal", 1, 17),
        ("const A: u8 = b'a'x;", "literal", 1, 15),
        ("extern \"C\"x fn f() {}", "literal", 1, 8),
        ("fn f() {}\r\nfn g( {}\r\n", "expected", 2, 6),
        ("trait T { fn f(mut i32); }", "syntax", 1, 23),
        ("fn /// a\nf() {}", "syntax", 1, 4),
        ("fn f() { /// a\n; }", "syntax", 1, 10),
        ("type A = (u8, /// a\nu8);", "syntax", 1, 15),
        ("/// a\n#![b]", "syntax", 1, 1),
        ("/// a\rb\nfn f() {}", "syntax", 1, 6),
        ("extern \"C\" { const A: u8; }", "syntax", 1, 14),
        ("fn f() -> &'ref u8 {}", "syntax", 1, 12),
        ("fn f() { 'loop: loop {} }", "syntax", 1, 10),
        ("fn f(a: u8, self: u8) {}", "syntax", 1, 13),
        ("trait T { fn f(a: u8, self); }", "syntax", 1, 27),
        ("fn f() { let A { #[b] .. } = a; }", "syntax", 1, 18),
        ("fn f() { match a { [b, ref c..] => 1 } }", "syntax", 1, 24),
        ("fn f() { let m!() ..= 1 = 2; }", "syntax", 1, 14),
        ("#!///bin/run\n[allow(b)]\nfn f() {}", "expected", 2, 1),
    ] {
        assert_eq!(first(text), Some((code.to_owned(), line, column)), "{text}");
        assert_eq!(verdict(text, None).status, Status::Fail, "{text}");
    }
}
