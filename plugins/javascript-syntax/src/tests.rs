use super::*;
use gatehost_sdk::Status;

fn verdict(path: &str, text: &str) -> Verdict {
    let verdict = JavascriptSyntax::check(&File::new(path, text), Settings::default());
    assert!(JavascriptSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn first(path: &str, text: &str) -> Option<(String, u32, u32)> {
    let finding = verdict(path, text).findings.into_iter().next()?;
    Some(finding.spot().expect("every finding has its place"))
}

#[test]
fn valid_files_pass() {
    for (path, text) in [
        ("a.js", ""),
        ("a.js", "#!/usr/bin/env node\r\nlet a = 1;\r\n"),
        ("a.js", "\u{FEFF}let a = 1;"),
        ("a.js", "import a from 'b';\nawait a;\nexport default class { #x = 1; static { this.y; } }"),
        ("a.js", "var await = 1; with (a) b; return 010;"),
        ("a.js", "const a = <p>don't {b /* } */}</p>;"),
        ("a.js", "x = a / b / c; y = /[/(]/.test('('); if (a) /re/.exec(b)"),
        ("a.cjs", "return require('a')\n"),
        ("a.jsx", "export const A = () => <><B {...c} d='\"'>(({'}'}</B></>;"),
        ("a.ts", "enum A { B } let a: Map<string, Array<number>> = <any>b; abstract class C<T> { declare x?: T }"),
        ("a.ts", "let a: string; let a: string;"),
        ("a.tsx", "const f = <T,>(a: T) => <A<T> b={a as T}/>;"),
        ("a.d.ts", "declare const a: unique symbol;\nexport {}\n"),
        (
            "a.js",
            "l: m: for (;;) { () => { for (;;) break; k: { break k } switch (1) { default: break } }; continue l }",
        ),
        (
            "a.js",
            "class A { static async *private() {} readonly; override = 1; declare() {} get public() { return 1 } }",
        ),
        ("a.ts", "for (;;) { switch (a) { case 1: continue } l: { break l } }"),
        ("a.ts", "interface A { x: { y: 1, z: 2 }; (a: B): C /*\n*/ new (): D\n[k: string]: E, m?(): void }"),
        ("a.ts", "type A = { readonly a: 1; get b(): 2\r\nset b(c: 2) }; let x: {}, y: { a };"),
        ("a.mts", "export type { A } from './a.mjs' with { 'resolution-mode': 'import' }"),
    ] {
        assert_eq!(first(path, text), None, "{text}");
        assert_eq!(verdict(path, text).status, Status::Pass, "{text}");
    }
}

#[test]
fn the_first_error_has_its_code_and_place() {
    for (path, text, code, line, column) in [
        ("a.js", "let ö = ;", "unexpected-token", 1, 9),
        ("a.js", "f(1\nlet x = 2", "expected-token", 2, 1),
        ("a.js", "x = 'a\n", "unterminated", 1, 5),
        ("a.js", "x = /(/", "regular-expression", 1, 6),
        ("a.js", "let a;\nlet a;", "redeclared", 2, 5),
        ("a.js", "break;", "early-error", 1, 1),
        ("a.js", "for (const a of b) { c.map(x => { if (x) continue }) }", "early-error", 1, 42),
        ("a.js", "switch (a) { case 1: b.map(async () => { break }) }", "early-error", 1, 42),
        ("a.js", "l: for (;;) { b.map(() => { break l }) }", "early-error", 1, 35),
        ("a.js", "l: for (;;) { b.map(() => { for (;;) continue l }) }", "early-error", 1, 47),
        ("a.js", "l: { for (;;) continue l }", "early-error", 1, 1),
        ("a.ts", "for (;;) { () => { continue } }", "early-error", 1, 20),
        ("a.ts", "for (;;) { class A { static { break } } }", "early-error", 1, 31),
        ("a.js", "class A { private x = 1 }", "unexpected-token", 1, 11),
        ("a.js", "class A { static readonly x = 1 }", "unexpected-token", 1, 11),
        ("a.js", "class A { declare x }", "unexpected-token", 1, 11),
        ("a.js", "class A { override m() {} }", "unexpected-token", 1, 11),
        ("a.js", "class A { protected accessor x = 1 }", "unexpected-token", 1, 11),
        ("a.js", "class A { x? }", "unexpected-token", 1, 11),
        ("a.js", "class A { m?() {} }", "unexpected-token", 1, 11),
        ("a.js", "class A { constructor(private x) {} }", "syntax", 1, 23),
        ("a.ts", "interface A { x: number y: string }", "expected-token", 1, 25),
        ("a.ts", "type A = { x: number, y: string z: 1 }", "expected-token", 1, 33),
        ("a.ts", "interface A { m(): void n(): void }", "expected-token", 1, 25),
        ("a.ts", "interface A { x y }", "expected-token", 1, 17),
        ("a.js", "import a from 'a';\nreturn", "syntax", 2, 1),
        ("a.mjs", "return", "syntax", 1, 1),
        ("a.cjs", "import a from 'a'", "early-error", 1, 1),
        ("a.js", "1 = x", "invalid-target", 1, 1),
        ("a.js", "let a: string", "expected-token", 1, 6),
        ("a.js", "x = \0", "invalid-character", 1, 5),
        ("a.jsx", "x = <a></b>", "expected-token", 1, 10),
        ("a.ts", "let a: = 1", "unexpected-token", 1, 8),
        ("a.ts", "x = <p></p>", "unexpected-token", 1, 9),
    ] {
        assert_eq!(first(path, text), Some((code.to_owned(), line, column)), "{text}");
        assert_eq!(verdict(path, text).status, Status::Fail);
    }
}

#[test]
fn elements_in_js_can_be_refused() {
    let file = File::new("a.js", "x = <p/>");
    assert_eq!(JavascriptSyntax::check(&file, Settings { jsx_in_js: false, strict: false }).status, Status::Fail);
}

#[test]
fn what_is_not_for_this_parser_is_not_judged() {
    assert_eq!(verdict("a.vue", "let a").status, Status::Abstain);
    let file = File::new("a.js", b"\xFF\xFEa\0");
    assert_eq!(JavascriptSyntax::check(&file, Settings::default()).findings[0].code, "utf-16");
}

/// Above the limit a clean parse is not enough to know, and an error is.
#[test]
fn what_is_too_long_for_early_errors_does_not_pass() {
    let long = "f(1);\n".repeat(90_000);
    for (path, start, expected) in [
        ("a.js", "", Status::Abstain),
        ("a.js", "let a; let a;", Status::Abstain),
        ("a.js", "break;", Status::Fail),
        ("a.js", "f(;", Status::Fail),
        ("a.ts", "", Status::Pass),
    ] {
        let verdict = verdict(path, &(start.to_owned() + &long));
        assert_eq!(verdict.status, expected, "{path} {start}");
        assert!(expected != Status::Abstain || verdict.findings[0].code == "too-long");
    }
}

/// What would overflow the stack of a guest is not parsed.
#[test]
fn depth_never_reaches_the_parser() {
    for (path, part) in [
        ("a.js", "("),
        ("a.js", "["),
        ("a.js", "{"),
        ("a.js", "f("),
        ("a.js", "!"),
        ("a.js", "a+"),
        ("a.js", "a=>"),
        ("a.js", "(a,b)=>"),
        ("a.js", "a?b:"),
        ("a.js", "a=\n"),
        ("a.js", "if(a)"),
        ("a.js", "if(a)b,c;else "),
        ("a.js", "if(a){}else "),
        ("a.js", "for(;;)"),
        ("a.js", "`${"),
        ("a.js", "typeof "),
        ("a.js", "<a>"),
        ("a.js", "<a b={"),
        ("a.js", "(\")\","),
        ("a.js", "x=/\"/,("),
        ("a.ts", "A<"),
        ("a.ts", "let a:B<C,D<"),
        ("a.ts", "<A>"),
    ] {
        assert_eq!(verdict(path, &part.repeat(5_000)).status, Status::Abstain, "{part}");
    }
    assert_eq!(verdict("a.js", &("a".to_owned() + &".a".repeat(5_000))).status, Status::Abstain);
    assert_eq!(verdict("a.js", &("x = /".to_owned() + &"(".repeat(5_000))).status, Status::Abstain);
}

#[test]
fn length_alone_is_not_depth() {
    for part in [
        "const a = require('b')\n",
        "if (a) { b() } else { c() }\n",
        "function f(a) { return a < b << 1 }",
        "f(() => { x = { a: [1, 2], b: `${c}` } });\n",
        "x = <p>don't {a}</p>\n",
        "x = a / 2; y = '('; // (\n",
    ] {
        let text = part.replace("const", "var").repeat(2_000);
        assert_eq!(verdict("a.js", &text).status, Status::Pass, "{part}");
    }
    let text = "type A<T> = Map<string, Array<T>>; if (a < b) c()\n".repeat(2_000);
    assert_eq!(verdict("a.ts", &text).status, Status::Pass);
}

#[test]
fn a_template_and_another_language_are_not_applicable() {
    for (text, expected) in [
        ("import a from '{{ cookiecutter.a }}';\nconst b = {{ cookiecutter.b }};\n", Status::NotApplicable),
        ("{% if a %}\nb();\n{% endif %}\n", Status::NotApplicable),
        ("const a = <%= b %>;\n", Status::NotApplicable),
        ("#!/usr/bin/env python3\ndef f(): pass\n", Status::NotApplicable),
        ("// @flow\nopaque type A = {| b: ?string |};\n", Status::NotApplicable),
        ("const A = () => <B style={{ color }} c=></B>;\n", Status::Fail),
        ("const a = `{{ b }}` c;\n", Status::Fail),
        ("let a = ; // {{ b }}\n", Status::Fail),
        ("const A = () => <B style={{ color }}/>;\n", Status::Pass),
    ] {
        assert_eq!(verdict("a.js", text).status, expected, "{text}");
        let settings = Settings { strict: true, ..Settings::default() };
        let strict = JavascriptSyntax::check(&File::new("a.js", text), settings);
        assert_eq!(strict.status == Status::Pass, expected == Status::Pass, "{text}");
        assert_ne!(strict.status, Status::NotApplicable, "{text}");
    }
}

/// As acorn and tsc say.
#[test]
fn what_the_references_take_passes() {
    for (path, text) in [
        ("a.js", "let: 1"),
        ("a.cjs", "x = let => let + 1"),
        ("a.js", "var let = 1; let; let(); let.x = 2; for (let in {}) ; let\nlet2"),
        ("a.js", "(let) => 1; let ? 1 : 2; let++"),
        ("a.mjs", "await using x = y;"),
        ("a.ts", "async () => { await using x = y }"),
        ("a.js", "async function f() { for (await using x of y) ; }"),
        ("a.js", "export { a } from 'b'; export { from }; var from"),
        ("a.ts", "export { from }\nfrom\nvar from"),
        ("a.ts", "declare function f(): void; declare class A {}"),
        ("a.d.ts", "export default function (): void;"),
        ("a.ts", "x = 0 + 0.1 + 0o10 + 0x10 + 0n + 0e1"),
        ("a.js", "x = 010"),
    ] {
        assert_eq!(first(path, text), None, "{text}");
    }
}

#[test]
fn what_the_references_refuse_fails() {
    for (path, text, code, line, column) in [
        ("a.js", "let let = 1", "early-error", 1, 5),
        ("a.mjs", "let: 1", "unexpected-token", 1, 4),
        ("a.js", "'use strict'; let: 1", "unexpected-token", 1, 18),
        ("a.js", "let[0] = 1", "unexpected-token", 1, 5),
        ("a.ts", "export { a } from;", "expected-token", 1, 13),
        ("a.js", "let a; export { a } from;", "expected-token", 1, 20),
        ("a.js", "function f() { await using x = y; }", "early-error", 1, 16),
        ("a.ts", "() => { await using x = y }", "early-error", 1, 9),
        ("a.js", "async () => { function g() { await using x = y } }", "early-error", 1, 30),
        ("a.ts", "declare function (): void;", "expected-token", 1, 1),
        ("a.ts", "export declare function (): void", "expected-token", 1, 8),
        ("a.ts", "declare class {}", "expected-token", 1, 1),
        ("a.ts", "x = 010", "early-error", 1, 5),
        ("a.tsx", "x = 08.5", "early-error", 1, 5),
    ] {
        assert_eq!(first(path, text), Some((code.to_owned(), line, column)), "{text}");
    }
}
