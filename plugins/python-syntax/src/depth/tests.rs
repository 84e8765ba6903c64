use super::*;
use mutations::Random;

#[path = "../../../sdk/testing/mutations.rs"]
mod mutations;

const TEXTS: &[&str] = &[
    r#"#!/usr/bin/env python
"""A module (with [brackets] in its text."""
from __future__ import annotations

import os, sys


class A(B, metaclass=C):
    x: int = -1  # it's (
    y = {"a": [1, 2.5e-3, 0x1F], 'b': ("c" if x else not d, *e), **f}

    def g(self, *args, h=lambda a, b: a + b, **kwargs) -> dict[str, int]:
        if args[0] == 1 and not self.x or y is None:
            return f"{args!r:>10} {{x}} {kwargs['a']} {len(args)}" + r'\' % (' + b"\""
        for i in range(10): print(i); continue
        raise ValueError(
            "a ]" "b",
            # c (
            ~i ** -2,
        ) from None

    async def j(self):
        k = await l(m := 1) \
            + 2
        yield '''n ( ' '' o'''
        return 1if p else"q"
"#,
    "def f():\r\n    a = b[1:2, ...]\r\n    if a:\r\n        pass\r\n    elif b: c\r\n\r\n    return [x for x in y if x]\r\n",
];

const ALPHABET: &[&str] = &[
    " ",
    "    ",
    "\n",
    "\t",
    "\r",
    "\r\n",
    "\x0C",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\"\"\"",
    "'''",
    "\\",
    "\\\n",
    "#",
    ",",
    ";",
    ":",
    ":=",
    "=",
    "==",
    ".",
    "...",
    "+",
    "-",
    "*",
    "**",
    "~",
    "@",
    "!",
    "!=",
    "$",
    "?",
    "f\"",
    "f'",
    "rf'",
    "t\"",
    "rb'",
    "u'",
    "f'''",
    "{x",
    "{x}",
    "{{",
    "}}",
    "{x:>{y}}",
    "{x!r}",
    "\\N{",
    " if ",
    " else ",
    " not ",
    " lambda x, y: ",
    " await ",
    " yield ",
    " in ",
    " is ",
    "1",
    "1if",
    "1lambda x: ",
    "0x",
    "1e5",
    "a",
    "b",
    "_",
    "ö",
    "\u{a0}",
    "def f():\n",
    "    ",
];

/// Many of a few pieces in a row, which are as deep as they are many.
fn document(random: &mut Random) -> String {
    let pieces = [random.one_of(ALPHABET), random.one_of(ALPHABET), random.one_of(&["a", " ", "(", "'", "b", "f'{"])];
    let mut text = String::new();
    for _ in 0..random.below(40) {
        text += random.one_of(&pieces);
        if random.below(10) == 0 {
            text += random.one_of(ALPHABET);
        }
    }
    text
}

/// Whether there is a bound. It must not be below what the tokens show.
fn checked(text: &str) -> bool {
    let Some(bound) = bound::stack(text) else { return false };
    let mut scan = Scan::default();
    let mut lexer = lex(text, Mode::Module);
    let (mut tokens, mut brackets, mut indents) = (0, 0, 0);
    loop {
        let token = lexer.next_token();
        if token == TokenKind::EndOfFile {
            break;
        }
        scan.take(token);
        tokens += 1;
        brackets = scan.brackets.len().max(brackets);
        indents = scan.indents.max(indents);
    }
    let exact = scan.nesting.deepest();
    assert!(exact <= bound, "{exact} of at most {bound}: {text:?}");
    assert!(brackets <= MOST_BRACKETS && indents <= MOST_INDENTS && tokens < MOST_TOKENS, "{text:?}");
    true
}

#[test]
fn the_bound_is_not_below_what_the_tokens_show() {
    mutations::compare(20_000, TEXTS, ALPHABET, document, checked);
}

#[test]
fn ordinary_texts_have_a_bound() {
    for text in TEXTS {
        assert!(checked(text), "{text}");
        assert!(bound::stack(text).is_some_and(|stack| stack < STACK / 4));
    }
}

#[test]
fn what_is_too_deep_has_none() {
    let blocks = |count: usize| (0..count).map(|level| " ".repeat(level) + "if a:\n").collect::<String>();
    for (shallow, deep) in [
        ("(".repeat(200) + &")".repeat(200), "(".repeat(201) + &")".repeat(201)),
        (blocks(100), blocks(101)),
        ("x = ".to_owned() + &"~".repeat(300) + "x", "x = ".to_owned() + &"~".repeat(500) + "x"),
    ] {
        assert!(checked(&shallow) && first_beyond(&shallow).is_none());
        assert!(bound::stack(&deep).is_none_or(|stack| stack > STACK));
        assert!(first_beyond(&deep).is_some());
    }
}
