//! Keeps the beginning and the end of an output of any length.

use super::Captured;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// How many bytes of the beginning and of the end are kept.
pub(super) const KEPT: usize = 1 << 20;

/// An output while it is read.
#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    length: u64,
    digest: Sha256,
}

impl Capture {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.digest.update(bytes);
        let (head, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(&rest[rest.len().saturating_sub(KEPT)..]);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
    }

    pub(super) fn finish(self) -> Captured {
        let sha256 = crate::text::hex(&self.digest.finalize());
        let (mut head, mut tail) = (self.head, Vec::from(self.tail));
        // Nothing is missing in between, so it is one piece.
        if self.length == (head.len() + tail.len()) as u64 {
            head.append(&mut tail);
        }
        Captured { head, tail, length: self.length, sha256 }
    }
}

impl Captured {
    /// Adds a line of `gate` at the end, unless a part of the output is left out.
    pub(super) fn with_note(self, note: &str) -> Self {
        if self.length != (self.head.len() + self.tail.len()) as u64 {
            return self;
        }
        let mut capture = Capture::default();
        [&*self.head, &*self.tail].into_iter().for_each(|bytes| capture.add(bytes));
        let separator = if self.head.is_empty() || self.head.ends_with(b"\n") { "" } else { "\n" };
        capture.add(format!("{separator}[gate] {note}\n").as_bytes());
        capture.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::default();
        pieces.iter().for_each(|piece| capture.add(piece));
        capture.finish()
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let all = captured(&[b"ab", b"", b"c"]);
        assert_eq!((&*all.head, &*all.tail, all.length), (&b"abc"[..], &b""[..], 3));
        assert_eq!(all.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn of_a_long_output_the_middle_is_left_out() {
        let whole: Vec<u8> = (0..3 * KEPT + 7).map(|n| (n % 251) as u8).collect();
        for size in [1 << 16, KEPT + 1, whole.len()] {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            let all = captured(&pieces);
            assert_eq!(all.length, whole.len() as u64);
            assert!(all.head == whole[..KEPT] && all.tail == whole[whole.len() - KEPT..], "in pieces of {size}");
        }
        let twice = captured(&[&whole[..2 * KEPT]]);
        assert!(twice.head == whole[..2 * KEPT] && twice.tail.is_empty());
    }
}
