//! Recognises most valid JSON quickly. The real parser checks every text that this does not recognise, so this may reject valid
//! JSON, but must never accept invalid JSON.
//!
//! Nearly every checked file is valid, and in the sandbox each round of a loop costs a check of the deadline. So this reads
//! eight bytes per round if it can. A test compares it with the parser on mutated texts.

/// Whether this is one JSON text for certain.
pub(crate) fn is_json(text: &str) -> bool {
    Quick { text: text.as_bytes() }.document().is_some()
}

struct Quick<'a> {
    text: &'a [u8],
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of every byte that is zero; above the first such byte there may be others.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

/// The same for bytes below 0x20.
fn controls(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & HIGH
}

/// The same for what ends a run of plain characters in a string: a quote, a backslash, a control character.
fn special(word: u64) -> u64 {
    zeros(word ^ (ONES * 0x22)) | zeros(word ^ (ONES * 0x5C)) | controls(word)
}

impl Quick<'_> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.text.get(at..)?.first_chunk()?))
    }

    fn document(&self) -> Option<()> {
        // The closing brackets that are still to come.
        let mut open: Vec<u8> = Vec::with_capacity(64);
        let mut at = 0;
        loop {
            at = self.space(at);
            at = match self.byte(at)? {
                b'"' => self.string(at + 1)?,
                b'-' | b'0'..=b'9' => self.number(at)?,
                bracket @ (b'{' | b'[') => {
                    // Two further in ASCII.
                    let closing = bracket + 2;
                    at = self.space(at + 1);
                    if self.byte(at)? == closing {
                        at + 1
                    } else {
                        open.push(closing);
                        if closing == b'}' {
                            at = self.key(at)?;
                        }
                        continue;
                    }
                }
                b't' => self.word_of(at, b"true")?,
                b'f' => self.word_of(at, b"false")?,
                b'n' => self.word_of(at, b"null")?,
                _ => return None,
            };
            // Behind a value: what closes, and then what goes on.
            loop {
                at = self.space(at);
                let Some(&closing) = open.last() else { return (at == self.text.len()).then_some(()) };
                match self.byte(at)? {
                    b',' => {
                        at += 1;
                        if closing == b'}' {
                            at = self.key(self.space(at))?;
                        }
                        break;
                    }
                    byte if byte == closing => {
                        open.pop();
                        at += 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Most often there is none, and so no loop to enter.
    #[inline(always)]
    fn space(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(b' ') if self.byte(at + 1).is_some_and(|next| next > b' ') => at + 1,
            Some(0..=b' ') => self.spaces(at),
            _ => at,
        }
    }

    fn spaces(&self, mut at: usize) -> usize {
        loop {
            match self.byte(at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
                _ => return at,
            }
            while self.word(at) == Some(ONES * 0x20) {
                at += 8;
            }
        }
    }

    fn word_of(&self, at: usize, word: &[u8]) -> Option<usize> {
        self.text[at..].starts_with(word).then_some(at + word.len())
    }

    /// A key and its colon.
    fn key(&self, at: usize) -> Option<usize> {
        if self.byte(at)? != b'"' {
            return None;
        }
        let at = self.string(at + 1)?;
        let at = self.space(at);
        (self.byte(at)? == b':').then_some(at + 1)
    }

    /// From after the opening quote to after the closing one. A short one is settled without a loop.
    #[inline(always)]
    fn string(&self, at: usize) -> Option<usize> {
        if let Some(word) = self.word(at) {
            let hits = special(word);
            let end = at + hits.trailing_zeros() as usize / 8;
            if hits != 0 && self.byte(end) == Some(b'"') {
                return Some(end + 1);
            }
        }
        self.long_string(at)
    }

    fn long_string(&self, mut at: usize) -> Option<usize> {
        loop {
            while let Some(word) = self.word(at) {
                let hits = special(word);
                if hits != 0 {
                    at += hits.trailing_zeros() as usize / 8;
                    break;
                }
                at += 8;
            }
            match self.byte(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at = self.escape(at + 1)?,
                0..0x20 => return None,
                _ => at += 1,
            }
        }
    }

    fn escape(&self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
            b'u' => {
                let digits = self.text.get(at + 1..at + 5)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
            }
            _ => None,
        }
    }

    fn number(&self, mut at: usize) -> Option<usize> {
        if self.byte(at)? == b'-' {
            at += 1;
        }
        at = if self.byte(at)? == b'0' { at + 1 } else { self.digits(at)? };
        if self.byte(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.byte(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.byte(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        Some(at)
    }

    /// One digit or more.
    fn digits(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while self.byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
            at += 1;
        }
        (at > from).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;

    const TEXTS: &[&str] = &[
        r#"{"a": [1, -2.5e+3, 0, 0.1E-2], "b\u00e9\"": {"c": null, "d": [true, false, [], {}]}, "e": "a longer text, ö"}"#,
        "[\n        {\n                \"id\": 12,\r\n\t\"name\": \"tab \\t and \\\\ and \\/\"\n        }\n]\n",
        r#"["", "12345678", "1234567\"", "\uD834\uDD1E", "\ud800", [[[[[[[[]]]]]]]], {"": {"": {"": 0}}}]"#,
        "-0.0e0",
        " \"x\" ",
        "00 01 1. .1 1e 1e+ - +1 tru nul falsee {,} [,] [1,] {\"a\"} {\"a\":} {\"a\":1,} {1:2} \"\u{1}\" \"\t\" '' //",
    ];

    fn parser_accepts(text: &str) -> bool {
        serde_json::from_str::<IgnoredAny>(text).is_ok()
    }

    #[test]
    fn it_agrees_with_the_parser_on_mutated_texts() {
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        let alphabet: Vec<char> = "{}[]\",:\\/ \n\t\r\u{0}\u{1f}\u{7f}0123456789-+.eEtrufalsn\"\"öu".chars().collect();
        let (mut accepted, mut refused) = (0, 0);
        for _ in 0..300_000 {
            let whole = TEXTS[next(TEXTS.len())];
            let mut text: Vec<char> = match next(4) {
                0 => whole.split(' ').nth(next(30)).unwrap_or(whole).chars().collect(),
                _ => whole.chars().collect(),
            };
            for _ in 0..next(3) {
                let at = next(text.len() + 1);
                match next(3) {
                    0 if at < text.len() => drop(text.remove(at)),
                    1 if at < text.len() => text[at] = alphabet[next(alphabet.len())],
                    _ => text.insert(at, alphabet[next(alphabet.len())]),
                }
            }
            let text: String = text.into_iter().collect();
            let expected = parser_accepts(&text);
            assert_eq!(is_json(&text), expected, "{text:?}");
            if expected { accepted += 1 } else { refused += 1 }
        }
        assert!(accepted > 30_000 && refused > 30_000, "{accepted} accepted, {refused} refused");
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
}
