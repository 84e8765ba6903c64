//! The expectations are those of protoc.

use super::*;
use gatehost_sdk::Status;

fn verdict(text: &str) -> Verdict {
    let verdict = ProtobufSyntax::check(&File::new("a.proto", text), Settings::default());
    assert!(ProtobufSyntax::ABOUT.undeclared(&verdict).is_empty());
    verdict
}

fn first(text: &str) -> Option<(String, u32, u32)> {
    let finding = verdict(text).findings.into_iter().next()?;
    Some(finding.spot().expect("every finding has its place"))
}

#[test]
fn valid_files_pass() {
    for text in [
        "",
        "\u{FEFF}// a\n/* b */\nsyntax = \"proto3\";\r\nimport public \"a.proto\";\npackage a.b;\noption java_package = \"c\" 'd';\n",
        "syntax = 'proto3';\nmessage A {\n  int32 a = 1 [deprecated = true, (x.y).z = -1.5e3];\n  map<string, .b.C> d = 0x2;\n  repeated A message = 03;\n  reserved 4, 5 to 7, 9 to max;\n  reserved \"e\", \"f\";\n  oneof g { option (h) = { i: [1, {j: 2}] }; string k = 10; }\n  enum L { option allow_alias = true; M = 0; N = -1; reserved -5 to -2; ; }\n  message O {}\n  ;\n}\n",
        "message A { required group B = 1 { optional int32 c = 2; } extensions 100 to 199 [verification = UNVERIFIED]; }\nextend A { optional string d = 100; }\n",
        "syntax = \"proto3\";\nservice S { option deprecated = true; rpc A(B) returns (stream .c.D); rpc E(stream F) returns (G) { option (h) = 1; ; } ; }\n",
        "edition = \"2023\";\nmessage A { int32 a = 1 [features.field_presence = EXPLICIT]; reserved b, c; }\n",
        "syntax = \"proto2\";\nmessage A { optional float a = 1 [default = -inf]; optional string b = 2 [default = \"\\x41\\101\\u00e9\"]; }\n",
    ] {
        assert_eq!(first(text), None, "{text}");
        assert_eq!(verdict(text).status, Status::Pass, "{text}");
    }
}

#[test]
fn the_first_error_has_its_code_and_place() {
    for (text, code, line, column) in [
        ("syntax = \"proto4\";\n", "syntax", 1, 10),
        ("syntax = \"proto3\"\nmessage A {}\n", "expected-token", 2, 1),
        ("message A {\n  optional int32 a = ;\n}\n", "expected-token", 2, 22),
        ("message A { int32 a = 1; }\n", "expected-token", 1, 13),
        ("syntax = \"proto3\"; message A { int32 a = 1 }\n", "expected-token", 1, 44),
        ("syntax = \"proto3\"; message A { int32 a = 1;\n", "unexpected-end", 2, 1),
        ("syntax = \"proto3\"; message A { oneof b { repeated int32 a = 1; } }\n", "expected-token", 1, 42),
        ("message A {} }\n", "expected-token", 1, 14),
        ("extend A { }\n", "expected-token", 1, 12),
        ("enum A { B = 1, C = 2; }\n", "expected-token", 1, 15),
        ("service A { rpc B(C) return (D); }\n", "expected-token", 1, 22),
        ("service A { rpc B(C) returns (D) }\n", "expected-token", 1, 34),
        ("import a;\n", "expected-token", 1, 8),
        ("option a = ;\n", "expected-token", 1, 12),
        ("option a = \"b\n\";\n", "unclosed-string", 1, 12),
        ("option a = \"\\q\";\n", "bad-escape", 1, 13),
        ("/* a\n", "unclosed-comment", 1, 1),
        ("option a = 08;\n", "bad-number", 1, 12),
        ("option a = 1b;\n", "bad-number", 1, 12),
        ("message Ö {}\n", "bad-character", 1, 9),
        ("mesage A {}\n", "expected-token", 1, 1),
    ] {
        assert_eq!(first(text), Some((code.to_owned(), line, column)), "{text}");
    }
}

#[test]
fn depth_has_an_end() {
    let nested = |depth: usize| "message A {".repeat(depth) + &"}".repeat(depth);
    assert_eq!(verdict(&nested(32)).status, Status::Pass);
    assert_eq!(first(&nested(33)).expect("an error").0, "too-deep");
    assert_eq!(first(&nested(100_000)).expect("an error").0, "too-deep");
    let aggregate = format!("option a = {}{};", "{".repeat(100_000), "}".repeat(100_000));
    assert_eq!(verdict(&aggregate).status, Status::Pass);
}

#[test]
fn a_template_is_not_applicable() {
    let text = "syntax = \"proto3\";\npackage {{ cookiecutter.name }};\n";
    assert_eq!(verdict(text).status, Status::NotApplicable);
    let strict = ProtobufSyntax::check(&File::new("a.proto", text), Settings { strict: true });
    assert_eq!(strict.status, Status::Fail);
}

/// Whatever is cut out of a file or doubled in it, there is an answer.
#[test]
fn nothing_makes_it_panic() {
    let text = "syntax = \"proto3\"; message A { map<string, B> c = 1 [(d).e = {f: 'g'}]; oneof h { int32 i = 0x2; } reserved 3 to max; } service J { rpc K(stream L) returns (M) {} }";
    for at in 0..text.len() {
        for end in at + 1..text.len().min(at + 5) {
            drop(verdict(&(text[..at].to_owned() + &text[end..])));
            drop(verdict(&(text[..end].to_owned() + &text[at..])));
        }
        drop(verdict(&text[..at]));
    }
}
