//! `NaN` and `Infinity`: not JSON, but Python writes them into notebooks and Jupyter reads them.

use gatehost_sdk::Finding;
use gatehost_sdk::words::{Hits, Words};
use std::borrow::Cow;

/// The text with a zero of the same length for each such word outside strings, and a warning for each.
pub(crate) fn replaced(text: &str) -> (Cow<'_, str>, Vec<(usize, Finding)>) {
    let found = words(text);
    if found.is_empty() {
        return (text.into(), Vec::new());
    }
    let mut json = text.to_owned();
    for &(at, word) in &found {
        json.replace_range(at..at + word.len(), &format!("{:<1$}", 0, word.len()));
    }
    let message = |word: &str| format!("`{word}` is not JSON; Jupyter accepts it, but other readers may not");
    let warnings = found.into_iter().map(|(at, word)| (at, Finding::warning("not-json-number", message(word))));
    (json.into(), warnings.collect())
}

fn words(text: &str) -> Vec<(usize, &'static str)> {
    let words = Words::new(text);
    let (mut found, mut at) = (Vec::new(), 0);
    loop {
        at = words.find(at, |word| Hits::of(word, b'"') | Hits::of(word, b'N') | Hits::of(word, b'I'));
        match words.byte(at) {
            None => return found,
            Some(b'"') => at = end_of_string(words, at),
            Some(_) => {
                let word = ["NaN", "Infinity"].into_iter().find(|word| words.has(at, word.as_bytes()));
                if let Some(word) = word
                    && is_value(&text.as_bytes()[..at], word)
                {
                    found.push((at, word));
                }
                at += word.map_or(1, str::len);
            }
        }
    }
}

/// Whether a value may start after these bytes: `1NaN` and `-NaN` are nothing to Python either.
fn is_value(before: &[u8], word: &str) -> bool {
    match before.last() {
        Some(b'-') => word == "Infinity",
        Some(byte) => b"[,: \t\r\n".contains(byte),
        None => true,
    }
}

fn end_of_string(words: Words, start: usize) -> usize {
    let mut at = start + 1;
    loop {
        at = words.find(at, |word| Hits::of(word, b'"') | Hits::of(word, b'\\'));
        match words.byte(at) {
            Some(b'\\') => at += 2,
            _ => return at + 1,
        }
    }
}
