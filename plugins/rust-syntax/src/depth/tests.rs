use super::*;
use mutations::Random;

#[path = "../../../sdk/testing/mutations.rs"]
mod mutations;

const TEXTS: &[&str] = &[
    r###"#![allow(unused)]
//! A module (with [brackets] in its text.
/* a /* nested ( */ comment **/

use std::{collections::HashMap, fmt::{self, Write as _}};

/// It's a `"`.
#[derive(Clone, Debug)]
pub(crate) struct A<'a, T: ?Sized + 'static = u8>(&'a T, [u8; 0x1F_usize]);

impl<'a, T> Iterator for A<'a, T> where T: Fn(&str) -> Vec<Vec<u8>> {
    type Item = u8;
    fn next(&mut self) -> Option<<Self as B>::Item> {
        let r#type = |x: u8, _| -> u8 { x << 1 | 2 & !3 };
        'outer: for (i, _) in (0..10).enumerate().skip(1.max(2)) {
            if self.0.1 >= 1.5 && x != 1. || b'\'' == b'a' { break 'outer } else { continue; }
        }
        match c { '(' | '\'' | '\\' | '\u{1F600}' | '"' => "a\"(", "b" => r"\", _ => return Err(m!($x; "é"))? }
        let s = (b"a\\", c"b", r#"c"#, br##"d"#"##, cr"e", 1_000u64, 0b1, 2f32, 0xe+1, a - -b ^ c % d * e / f);
        unsafe { *p = 1 }; async move { x.await }; macro_rules! n { ($($a:tt)*) => { ~ $($a)* @ } }
    }
}
"###,
    "\n#[test]\r\nfn f() -> impl A + 'static {\r\n    let x: &dyn B = &c::<D>();\r\n    // (\r\n    g(x)?\r\n}\r\n",
];

const ALPHABET: &[&str] = &[
    " ", "\n", "\t", "\r", "\x0B", "\x00", "(", ")", "[", "]", "{", "}", "<", ">", "'", "''", "'a", "'a'", "'\\",
    "'\\''", "'r#a", "\"", "\"a\"", "\\", "\\\"", "b'", "b\"", "c\"", "r\"", "r#\"", "\"#", "br##\"", "\"##", "cr#",
    "r#", "#", "##", "#!", "---", "-", "//", "/*", "*/", "/", "*", ",", ";", ":", "::", "=", "=>", "->", "==", ".",
    "..", "...", "..=", "+", "!", "&", "&&", "|", "||", "@", "$", "%", "^", "~", "?", "`", "_", "0", "1", "1.", "1.5",
    "1e5", "1e-5", "1e", "0x", "0x1e", "0b1", "0o7", "1u8", "1usize", "a", "b", "c", "r", "br", "e", "Self", "self",
    "else", "static", "override", "fn ", " if ", " return ", "gen", "try", "ö", "é'", "\u{a0}", "\u{85}", "\u{200E}",
    "\u{FEFF}", "🦀",
];

/// Many of a few pieces in a row, which are as deep as they are many.
fn document(random: &mut Random) -> String {
    let pieces =
        [random.one_of(ALPHABET), random.one_of(ALPHABET), random.one_of(&["a", " ", "(", "'", "r", "1", "\""])];
    let mut text = String::new();
    for _ in 0..random.below(40) {
        text += random.one_of(&pieces);
        if random.below(10) == 0 {
            text += random.one_of(ALPHABET);
        }
    }
    text
}

/// Whether the tokens are certain. Then they are those of the lexer.
fn checked(text: &str) -> bool {
    let mut kinds = Vec::new();
    let is_certain = tokens::read(text, |kind| {
        kinds.push(kind);
        Some(())
    })
    .is_some();
    let lexed = LexedStr::new(Edition::Edition2024, text);
    let expected = (0..lexed.len()).map(|token| lexed.kind(token)).filter(|kind| !kind.is_trivia());
    let expected: Vec<_> = expected.map(|kind| if kind.is_literal() { SyntaxKind::INT_NUMBER } else { kind }).collect();
    assert!(!is_certain || kinds == expected, "{kinds:?} instead of {expected:?}: {text:?}");
    is_certain
}

#[test]
fn the_tokens_are_those_of_the_lexer() {
    mutations::compare(40_000, TEXTS, ALPHABET, document, checked);
}

#[test]
fn ordinary_texts_need_no_lexer() {
    for text in TEXTS {
        assert!(checked(text) && fits(text).is_some(), "{text}");
    }
}

#[test]
fn every_keyword_is_one() {
    for length in 1..=8 {
        let words = TEXTS.iter().chain(ALPHABET).flat_map(|text| text.as_bytes().windows(length));
        for word in words.filter_map(|word| str::from_utf8(word).ok()) {
            checked(word);
        }
    }
    let all = "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl \
               in let loop macro match mod move mut override priv pub ref return self Self static struct super trait true try type \
               typeof unsafe unsized use virtual where while yield union auto default raw safe macro_rules _ __ S a";
    assert!(checked(all));
}

#[test]
fn what_is_too_deep_does_not_fit() {
    for (shallow, deep) in [
        ("(".repeat(400) + &")".repeat(400), "(".repeat(600) + &")".repeat(600)),
        ("a".to_owned() + &"<b".repeat(400), "a".to_owned() + &"<b".repeat(600)),
        ("!".repeat(900), "!".repeat(1_000)),
    ] {
        assert!(checked(&shallow) && fits(&shallow).is_some() && first_beyond(&shallow).is_none());
        assert!(checked(&deep) && fits(&deep).is_none() && first_beyond(&deep).is_some());
    }
}
