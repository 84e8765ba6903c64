use super::*;
use crate::Settings;
use gatehost_sdk::{Status, Verdict};
use mutations::Random;

#[path = "../../../sdk/testing/mutations.rs"]
mod mutations;

const TEXTS: &[&str] = &[
    r#"# a workflow
name: CI
on:
  push:
    branches: [main, "release/**"]
  pull_request:

permissions: {}
jobs:
  build-1:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest]
        include:
        - os: a
          with: {b: c, 'd': "e"}
    steps:
    - uses: actions/checkout@v4 # pinned
    - name: 'It''s a test'
      run: |
        cargo test --all

        echo "a: b" # c
      env:
        A: -1
"#,
    "---
- hosts: all
  tasks:
    - name: install
      apt: name=x state=y
    - shell: >-
        a b
        c d

      when: a.b == \"c\"
---
- 1
- - 2
  - 3
- -v
- --port=80
-
  a: b
-
- a:
    - b
  c:
  - d
",
    "services:\r\n  web:\r\n    image: \"nginx:1.0\"\r\n    ports:\r\n      - \"80:80\"\r\n    url: http://a.b/c#d\r\n",
    r#"a: 'x'
"b c": "\n\""
d e: f g # h
ö: ä ü
k:
  l: {m: [n, {o: p}], q: []}

m:
  o p
  q

  r
n: s
 t # u
v:
  "w" # x
y: [
  a, b,
  {c: d,

   e: f},
]
z:
  - [a
    , b
    ]
r: |+
  s


  t
u: v
"#,
];

const ALPHABET: &[&str] = &[
    " ", "  ", "\n", "\n\n", "\t", "\r", "\r\n", ":", ": ", " :", ":\n", "- ", "-", "---", "---\n", "--- ", "...\n",
    "#", " #", "# ", "'", "\"", "\\", "[", "]", "{", "}", ",", ", ", "&a ", "*a", "!a ", "!", "|", "|\n", ">", ">-\n",
    "|2\n", "?", "? ", "%", "@", "`", "=", "<<: ", "~", "a", "b", "1", ".", "a: ", "a: b\n", "- a\n", "\u{0}",
    "\u{7f}", "\u{85}", "\u{a0}", "\u{2028}", "\u{feff}", "ö", "😀", "\\x41", "''",
];

const SCALARS: &[&str] = &[
    "a",
    "b",
    "1",
    "-1",
    "a b",
    "a:b",
    "a#b",
    "'a'",
    "\"a\"",
    "'a: b'",
    "\"a # b\"",
    "[]",
    "{}",
    "[a, b]",
    "[a, [b]]",
    "{a: b}",
    "{a: b, c: d}",
    "{a: b, a: d}",
    "[ a ]",
    "[a,b]",
    "[\"a\", 'b']",
    "{\"a\": b}",
    "{a: {a: b}}",
    "a # c",
    "",
    "# c",
    "~",
    ".5",
    "a.b/c",
    "$a",
    "(a)",
    "<a>",
    "a:",
    "- a",
    "a: b",
    "-",
    "|",
    ">",
    "&a b",
    "*a",
    "!!str a",
    "\"a",
    "'a",
    "[a",
    "a]",
    "a, b",
    "a \"b\"",
    "http://a.b",
    "::",
    "-a",
    "--a",
    "?a",
    "a ",
    "a  # b",
    "''",
    "'a''b'",
    "\"a\\\"b\"",
    "\"\\q\"",
    "{a}",
    "{a: }",
    "[a: b]",
    "[a:b]",
    "[a,]",
    "[-a, -1]",
    "[a #b]",
    "[http://a]",
    "{a:b}",
    "{a: b:c}",
    "'a' b",
    "[a] b",
    "[a]: b",
    "=",
    "<<",
    "...",
    "---",
    "%a",
    "@a",
    "\\a",
    "^",
    ";",
    "+1",
    "{'a': b, \"a\": c}",
    "{a: b, 'a': c}",
    "[a,\n b]",
    "[\n    a,\n    b\n]",
    "{a: b,\n    c: d}",
    "[a\n     b]",
    "[\n]",
    "[a, b,\n]",
    "a\n   b",
    "a\n\n    b",
    "\n     a",
    "\n   a\n   b",
    "\n  'a'",
    "\n    [a]",
    "{\n     a: b,\n  c: [\n  d]}",
];

const KEYS: &[&str] = &[
    "a", "b", "c", "d", "e", "'a'", "\"b\"", "a b", "1", "a.b", "ö", "<<", "-a", "'f'", "g", "h", "i", "j", "k", "...",
    "a:b", "a#b", "\"\\n\"",
];

/// A document of entries at columns that are mostly right.
fn document(random: &mut Random) -> String {
    let mut text = String::new();
    let mut columns = vec![0_usize];
    for _ in 0..1 + random.below(9) {
        let column = match random.below(12) {
            0 => random.below(7),
            1..5 => columns[random.below(columns.len())],
            5..8 => columns[columns.len() - 1] + 2 * random.below(2),
            _ => columns[columns.len() - 1],
        };
        columns.push(column);
        text += &" ".repeat(column);
        match random.below(16) {
            0 => text += random.one_of(&["", "# c", "---", "  ", "#", "--- # c", "...", "a"]),
            1..3 => {
                text += &block_scalar(random, column);
                continue;
            }
            3..7 => text += &format!("- {}", random.one_of(SCALARS)),
            7..10 => {
                columns.push(column + 2);
                text += &format!("- {}: {}", random.one_of(KEYS), random.one_of(SCALARS));
            }
            10 => text += "- - a",
            11 => text += random.one_of(&["-", "-   b: c", "- a:", "-  - a", "- # c"]),
            12 | 13 => {
                columns.push(column + 2);
                text += &format!("{}:", random.one_of(KEYS));
            }
            _ => text += &format!("{}: {}", random.one_of(KEYS), random.one_of(SCALARS)),
        }
        text +=
            random.one_of(&["\n", "\n", "\n", "\n", "\n", "\r\n", "\n\n", " \n", " # c\n", "\n# c\n", "\n   \n", ""]);
    }
    text
}

fn block_scalar(random: &mut Random, column: usize) -> String {
    let start = random.one_of(&["a: ", "- ", "b: ", "- a: ", "\"c\": "]);
    let mut text = format!("{start}{}\n", random.one_of(&["|", ">", "|-", ">+", "| # c", "|2", "|#c", "> "]));
    let inner = column + 1 + random.below(4);
    for _ in 0..random.below(5) {
        let indentation = match random.below(6) {
            0 => random.below(8),
            1 => inner + random.below(3),
            _ => inner,
        };
        let line = random.one_of(&["a", "a: b", "# c", "", "", "\tb", "- c", "'", "---", "ö"]);
        text += &format!("{}{line}\n", " ".repeat(indentation));
    }
    text
}

/// Whether the quick reader accepts a text. It must not if the parser finds anything.
fn checked(text: &str) -> bool {
    let is_yaml = is_yaml(text);
    if is_yaml {
        let verdict = crate::parsed("a.yaml", text, &Settings::default());
        let Verdict { status, findings, .. } = verdict;
        assert!(status == Status::Pass && findings.is_empty(), "{text:?}: {findings:?}");
    }
    is_yaml
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
    for text in
        ["", "\n", "# a\n", "---\n", "--- # a\n---\n", "a:\n", "-\n", "- a: |\n    b\n  c: d", "a: [b, 'c'] # d\n"]
    {
        assert!(checked(text), "{text:?}");
    }
}

#[test]
fn the_rest_is_left_to_the_parser() {
    for text in [
        "a",
        "a: b\n  # c\n  d\n",
        "a: b # c\n  d\n",
        "a: &b c\n",
        "a: *b\n",
        "!a b: c\n",
        "? a\n",
        "%YAML 1.2\n---\na: b\n",
        "a: b\na: c\n",
        "a: b\n'a': c\n",
        "\u{FEFF}a: b\n",
        "a:\tb\n",
        "a: \"b\n  c\"\n",
        "a: [b,\nc]\n",
        "a: [b\n  c]\n",
        "a: [b, # c\n  d]\n",
        "a: |2\n    b\n",
    ] {
        assert!(!is_yaml(text), "{text:?}");
    }
    let keys = |count: usize| (0..count).map(|key| format!("k{key}: v\n")).collect::<String>();
    assert!(checked(&keys(500)));
    assert!(!is_yaml(&(keys(500) + "k7: v\n")));
    assert!(!is_yaml(&"- ".repeat(1_000)));
    assert!(!is_yaml(&format!("a: {}{}", "[".repeat(1_000), "]".repeat(1_000))));
}

/// The parser has limits of lengths.
#[test]
fn length_does_not_matter() {
    let long = "a".repeat(5_000);
    let words = "a b ".repeat(2_000);
    let entries = "a, ".repeat(5_000);
    let lines = "a,\n    ".repeat(5_000);
    let comments = "  # a\n".repeat(5_000);
    for text in [
        format!("k: {long}\n"),
        format!("k: \"{long}\" # {long}\n"),
        format!("k:\n  '{long}'\n"),
        format!("k:\n  {words}c\n  {words}c\n"),
        format!("- {long}\n- \"{long}\"\n- k: {long}\n"),
        format!("-\n  '{long}'\n"),
        format!("k: [{entries}'{long}', {long}]\n"),
        format!("- [{entries}b]\n- [\n    {lines}b]\n"),
        format!("-\n  {{k: [{entries}b], l: {long}}}\n"),
        format!("k:\n  [{entries}b]\n"),
        format!("k:\n{comments}  l: m\n{comments}n:\n{comments}- o\n{comments}- p: q\n{comments}"),
        format!("k: |\n  {long}\n{}  {long}\n", "\n".repeat(5_000)),
        format!("{}k: v\n", "\n".repeat(5_000)),
    ] {
        assert!(checked(&text), "{}", &text[..30]);
    }
    for length in [499, 500] {
        assert!(checked(&format!("{}: b\n", "a".repeat(length))));
        assert!(checked(&format!("- \"{}\": {{{}: b}}\n", "a".repeat(length), "ö".repeat(length / 2))));
    }
    assert!(!is_yaml(&format!("{long}: b\n")));
}
