use super::*;
use mutations::Random;
use serde::de::IgnoredAny;

#[path = "../../../sdk/testing/mutations.rs"]
mod mutations;

const TEXTS: &[&str] = &[
    r#"{"a": [1, -2.5e+3, 0, 0.1E-2], "b\u00e9\"": {"c": null, "d": [true, false, [], {}]}, "e": "a longer text, ö"}"#,
    "[\n        {\n                \"id\": 12,\r\n\t\"name\": \"tab \\t and \\\\ and \\/\"\n        }\n]\n",
    r#"["", "12345678", "1234567\"", "\uD834\uDD1E", "\ud800", [[[[[[[[]]]]]]]], {"": {"": {"": 0}}}]"#,
    "-0.0e0",
    " \"x\" ",
    "00 01 1. .1 1e 1e+ - +1 tru nul falsee {,} [,] [1,] {\"a\"} {\"a\":} {\"a\":1,} {1:2} \"\u{1}\" \"\t\" '' //",
];

const ALPHABET: &[&str] = &[
    "{", "}", "[", "]", "\"", "\"\"", ",", ":", "\\", "/", " ", "        ", "\n", "\t", "\r", "\u{0}", "\u{1f}",
    "\u{7f}", "0", "1", "9", "-", "+", ".", "e", "E", "t", "r", "u", "f", "a", "l", "s", "n", "ö", "null", "\\u00",
];

fn parser_accepts(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[test]
fn it_agrees_with_the_parser_on_mutated_texts() {
    let part = |random: &mut Random| {
        let text = random.one_of(TEXTS);
        text.split(' ').nth(random.below(30)).unwrap_or(text).to_owned()
    };
    mutations::compare(200_000, TEXTS, ALPHABET, part, |text| {
        let expected = parser_accepts(text);
        assert_eq!(is_json(text), expected, "{text:?}");
        expected
    });
}

#[test]
fn every_place_of_every_byte_in_a_string_is_seen() {
    for length in 0..40 {
        for at in 0..length {
            for byte in 0..=0x7F_u8 {
                let mut inside = vec![b'x'; length];
                inside[at] = byte;
                let text = format!("\"{}\"", String::from_utf8(inside).expect("ASCII"));
                assert_eq!(is_json(&text), parser_accepts(&text), "{text:?}");
            }
        }
    }
}
