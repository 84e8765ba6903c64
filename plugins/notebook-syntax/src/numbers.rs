//! `NaN` and `Infinity`: not JSON, but Python writes them into notebooks and Jupyter reads them.

use gatehost_sdk::Finding;
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
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'N' | b'I' => {
                let word = ["NaN", "Infinity"].into_iter().find(|word| bytes[at..].starts_with(word.as_bytes()));
                if let Some(word) = word
                    && is_value(&bytes[..at], word)
                {
                    found.push((at, word));
                }
                at += word.map_or(1, str::len);
            }
            _ => at += 1,
        }
    }
    found
}

/// Whether a value may start after these bytes: `1NaN` and `-NaN` are nothing to Python either.
fn is_value(before: &[u8], word: &str) -> bool {
    match before.last() {
        Some(b'-') => word == "Infinity",
        Some(byte) => b"[,: \t\r\n".contains(byte),
        None => true,
    }
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
