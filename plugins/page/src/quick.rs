//! Reads a text without any markup, which needs no renderer.

use super::{Shown, Voice};
use gatehost_sdk::markdown::Visibility;

/// The lines of a text without any markup, which need no renderer: starting a renderer takes longer than all the rest.
pub(super) fn plain(text: &str) -> Option<Vec<Shown>> {
    let mut rows: Vec<Shown> = Vec::new();
    let mut begins = true;
    for (number, line) in (1..).zip(text.split('\n')) {
        let line = line.trim_end_matches(' ');
        if line.is_empty() {
            begins = true;
            continue;
        }
        let bytes = line.as_bytes();
        let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let is_plain = |(at, byte): (usize, &u8)| match byte {
            // Emphasis starts or ends at the edge of a word.
            b'_' => at > 0 && is_word(at - 1) && is_word(at + 1),
            _ => byte.is_ascii_alphanumeric() || b" .,;:!?'\"()/%$@+-".contains(byte),
        };
        if !bytes[0].is_ascii_alphabetic() || !bytes.iter().enumerate().all(is_plain) {
            return None;
        }
        if let Some(last) = rows.last().filter(|_| begins) {
            rows.push(Shown { number: last.number, spans: Vec::new(), visibility: Visibility::Plain, begins: true });
        }
        let spans = vec![(Voice::Plain, line.to_owned())];
        rows.push(Shown { number, spans, visibility: Visibility::Plain, begins });
        begins = false;
    }
    Some(rows)
}
