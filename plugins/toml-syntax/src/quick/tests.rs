use super::*;
use crate::Version;
use gatehost_sdk::{File, Status};
use mutations::Random;

#[path = "../../../sdk/testing/mutations.rs"]
mod mutations;

const TEXTS: &[&str] = &[
    r#"# a package
[package]
name = "a-b"
version.workspace = true
authors = ["A <a@b.c>", 'D'] # e
description = """
A "quoted" text,
over lines.
"""
rust-version = "1.95"

[dependencies]
serde = { version = "1", features = ["derive", "std"], default-features = false }
"quoted key" = 1.5
'other' = -1

[dependencies.c]
path = "../c"
[target.'cfg(unix)'.dependencies]
d.e.f = 0
d.e.g = [[1, 2], [{ x = 1 }, {}], []]

[[bin]]
name = "a"
[[bin]]
name = "b"
[bin.x]
y = true
[[bin.z]]
[[bin.z]]
"#,
    "version = 4\r\n\r\n[[package]]\r\nname = \"a\"\r\ndependencies = [\r\n \"b\",\r\n \"c 1.0\", # d\r\n]\r\n",
    "\ta = '''\nx\ty''z\n'''\n  b = \"\\t\\\\ö\" # ä\n[a1]\nb = false\n[a2.b.c]\n[a2.b]\n[a2]\n",
];

const ALPHABET: &[&str] = &[
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "=",
    " = ",
    ".",
    ",",
    ", ",
    "#",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\\",
    "\\\n",
    "\\e",
    "\\x41",
    "\\u00e9",
    "\\q",
    "0",
    "1",
    "-",
    "+",
    "_",
    "e",
    "inf",
    "nan",
    "0x",
    "1_0",
    "1e5",
    "07:32",
    "1979-05-27",
    "true",
    "a",
    "b",
    "a = 1\n",
    "[a]\n",
    "[[a]]\n",
    "[a.b]\n",
    "a.b = 1\n",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "\u{feff}",
    "ö",
    "😀",
];

const VALUES: &[&str] = &[
    "1",
    "0",
    "-0",
    "+1",
    "01",
    "1.5",
    "1.",
    ".5",
    "1.50",
    "00.5",
    "-1.0",
    "1_0",
    "1e5",
    "0x1",
    "99999999999999999999",
    "true",
    "false",
    "truex",
    "inf",
    "\"a\"",
    "'a'",
    "\"\"",
    "''",
    "\"\\n\"",
    "\"\\\\\"",
    "\"\\q\"",
    "\"\\e\"",
    "\"a",
    "'a",
    "'\\'",
    "\"\\u00e9\"",
    "\"\"\"a\nb\"\"\"",
    "'''a\n'b'''",
    "\"\"\"a\"\"\"\"",
    "\"\"\"a\\\n b\"\"\"",
    "\"\"\"\"\"\"",
    "''''''",
    "\"\"\"\"a\"\"\"",
    "[]",
    "{}",
    "[1, 2]",
    "[1, 2,]",
    "[\n 1, # a\n\n 2,\n]",
    "[,]",
    "[1 2]",
    "[[1], [2]]",
    "{ a = 1 }",
    "{a=1}",
    "{ a = 1, b = 2 }",
    "{ a = 1, a = 2 }",
    "{ a = 1, 'a' = 2 }",
    "{ a = 1, }",
    "{ a.b = 1 }",
    "{\na = 1 }",
    "{ a = 1\n}",
    "{ a = [1,\n2] }",
    "{ a = { b = 1 } }",
    "[{ a = 1 }, { a = 1 }]",
    "1979-05-27",
    "07:32:00",
    "1979-05-27T07:32:00Z",
    "a",
    "",
    "=",
    "\"a\" b",
    "1 # a",
    "1#a",
    "'a'#b",
];

const KEYS: &[&str] = &[
    "a", "b", "c", "d", "e", "a", "b", "'a'", "\"b\"", "a.b", "a.c", "b.a", "a.b.c", "'a'.b", "a-b", "1", "1.2", "''",
    "\"\\n\"", "a . b", "a b", "ö", "f", "g", "h", "i", "a.b.c.d",
];

/// A document of tables and values with few names, so that many of them meet.
fn document(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(9) {
        text += random.one_of(&["", "", "", "", " ", "\t"]);
        text += &match random.below(8) {
            0..3 => format!("[{}]", random.one_of(KEYS)),
            3 | 4 => format!("[[{}]]", random.one_of(KEYS)),
            5 => random
                .one_of(&["", "# a", "[ a ]", "[a]]", "[[a]", "[]", "a", "[a]b = 1", "[[ a ]]", "[ [a]]"])
                .to_owned(),
            _ => format!(
                "{}{}{}",
                random.one_of(KEYS),
                random.one_of(&[" = ", " = ", "=", "\t= ", " "]),
                random.one_of(VALUES)
            ),
        };
        text += random.one_of(&["\n", "\n", "\n", "\n", "\r\n", " \n", " # a\n", "\t#\n", "\n\n", "", "\r"]);
    }
    text
}

/// Whether the quick reader accepts a text. It must not if the parser finds anything.
fn checked(text: &str) -> bool {
    let is_toml = is_toml(text);
    if is_toml {
        for version in [Version::V1_0, Version::V1_1] {
            let verdict = crate::parsed(&File::new("a.toml", text), text, version);
            assert!(verdict.status == Status::Pass && verdict.findings.is_empty(), "{text:?}: {:?}", verdict.findings);
        }
    }
    is_toml
}

#[test]
fn the_parser_finds_nothing_in_what_is_recognised() {
    mutations::compare(30_000, TEXTS, ALPHABET, document, checked);
}

#[test]
fn ordinary_texts_are_recognised() {
    for text in TEXTS {
        assert!(checked(text), "{text}");
    }
    for text in [
        "",
        "\n",
        "# a",
        "a = 1",
        "[a]",
        "[[a]]\n[[a]]\n[a.b]\n[[a]]\n[a.b]\n",
        "a.b = 1\na.c = 2\n",
        "[a.b]\n[a]\nc = 1\n",
    ] {
        assert!(checked(text), "{text:?}");
    }
}

#[test]
fn the_rest_is_left_to_the_parser() {
    for text in [
        "a = 1979-05-27",
        "a = 1\na = 2\n",
        "[a]\n[a]\n",
        "[[a]]\n[a]\n",
        "a = 1\n[a]\n",
        "a = {}\n[a.b]\n",
        "[a]\nb.c = 1\n[a.b]\n",
        "[a.b]\n[a]\nb.c = 1\n",
        "a = []\n[[a]]\n",
        "[a.b]\n[[a]]\n",
        "a = { b = 1, b = 2 }\n",
        "a.b = 1\n[a.c]\n",
        "\u{FEFF}a = 1\n",
        "a = 0x1\n",
        "a = \"\\e\"\n",
        "a = { b = 1,\n }\n",
    ] {
        assert!(!is_toml(text), "{text:?}");
    }
    let keys = |count: usize| (0..count).map(|key| format!("k{key} = \"value\"\n")).collect::<String>();
    assert!(checked(&keys(500)));
    assert!(!is_toml(&(keys(500) + "k7 = 1\n")));
    assert!(!is_toml(&format!("a = {}{}", "[".repeat(100), "]".repeat(100))));
    assert!(!is_toml(&format!("[{}a]", "a.".repeat(100))));
}

#[test]
fn length_does_not_matter() {
    let long = "a".repeat(5_000);
    let numbers = "1, ".repeat(5_000);
    for text in [
        format!("{long} = '{long}' # {long}\n[b.{long}]\n\"{long}\" = \"\"\"\n{long}\n\"\"\"\n"),
        format!("a = [{numbers}]\nb = {{ c = [{numbers}1], {long} = 2 }}\n"),
        "# a\n".repeat(5_000),
        "[[a]]\nb = 1\n".repeat(2_000),
    ] {
        assert!(checked(&text), "{}", &text[..30]);
    }
}
