//! Reads a text eight bytes at a time.
//!
//! In the sandbox each round of a loop also checks the deadline, so a loop over words costs far less than one over bytes. The quick
//! readers of the syntax verifiers, which recognise most valid files without a parser, are made of this.

use std::ops::Range;

/// One in every byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Bytes, to be read by their offsets.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(&'a [u8]);

/// Bytes of a word that were looked for: those whose highest bits are set. Only the first of them is certain.
#[derive(Clone, Copy, Debug)]
pub struct Hits(u64);

impl std::ops::BitOr for Hits {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Hits {
    /// Returns the bytes of a word that are this byte.
    #[inline(always)]
    pub fn of(word: u64, byte: u8) -> Self {
        let zeros = word ^ (ONES * u64::from(byte));
        Self(zeros.wrapping_sub(ONES) & !zeros)
    }

    /// Returns the control characters below the space.
    #[inline(always)]
    pub fn controls(word: u64) -> Self {
        Self(word.wrapping_sub(ONES * 0x20) & !word)
    }

    /// Returns DEL and the bytes of characters that are not ASCII, in UTF-8.
    #[inline(always)]
    pub fn beyond_ascii(word: u64) -> Self {
        Self(word.wrapping_add(ONES))
    }

    /// Returns the bytes that are not ASCII letters.
    #[inline(always)]
    pub fn not_letters(word: u64) -> Self {
        let lower = (word | (ONES * 0x20)) & !HIGH;
        Self(!within(lower, b'a', b'z') | word)
    }

    /// Returns the bytes that are neither ASCII letters nor digits nor `_`.
    #[inline(always)]
    pub fn not_of_words(word: u64) -> Self {
        let low = word & !HIGH;
        let is_other = (low ^ (ONES * u64::from(b'_'))) + !HIGH;
        Self(!(within(low | (ONES * 0x20), b'a', b'z') | within(low, b'0', b'9')) & is_other | word)
    }

    /// Returns the bytes that are not this byte.
    #[inline(always)]
    pub fn not(word: u64, byte: u8) -> Self {
        let others = word ^ (ONES * u64::from(byte));
        Self(((others & !HIGH) + !HIGH) | others)
    }
}

/// The bytes of a word without highest bits that are between two others, as highest bits.
#[inline(always)]
fn within(word: u64, first: u8, last: u8) -> u64 {
    let from = |first: u8| word + ONES * u64::from(0x80 - first);
    from(first) & !from(last + 1)
}

impl<'a> Words<'a> {
    /// Returns the bytes of a text.
    pub fn new(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self(text.as_ref())
    }

    /// Returns the number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "offsets are compared with it")]
    #[inline(always)]
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Returns the byte at an offset; `None` at the end.
    #[inline(always)]
    pub fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Returns whether the text goes on with these bytes.
    #[inline(always)]
    pub fn has(self, at: usize, bytes: &[u8]) -> bool {
        self.0.get(at..).is_some_and(|rest| rest.starts_with(bytes))
    }

    /// Returns whether two ranges have the same bytes.
    #[inline(always)]
    pub fn equal(self, a: Range<usize>, b: Range<usize>) -> bool {
        a.len() == b.len() && self.0.get(a) == self.0.get(b)
    }

    /// Returns the next eight bytes, the first in the lowest bits, with zeros after the end.
    #[inline(always)]
    fn word(self, at: usize) -> u64 {
        match self.0.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => self.last_word(at),
        }
    }

    /// Returns up to eight bytes from `from` to `to`, the first in the lowest bits.
    #[inline(always)]
    pub fn start(self, from: usize, to: usize) -> u64 {
        self.word(from) & (u64::MAX >> (64 - 8 * (to - from).clamp(1, 8)))
    }

    #[inline(never)]
    fn last_word(self, at: usize) -> u64 {
        let rest = self.0.get(at..).unwrap_or_default();
        rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    /// Returns the offset of the first byte from `at` on that `hits` finds, or the end.
    #[inline(always)]
    pub fn find(self, mut at: usize, hits: impl Fn(u64) -> Hits) -> usize {
        while at < self.0.len() {
            let found = hits(self.word(at)).0 & HIGH;
            if found != 0 {
                return self.0.len().min(at + found.trailing_zeros() as usize / 8);
            }
            at += 8;
        }
        self.0.len()
    }

    /// Returns the next eight bytes, the first in the lowest bits, and the number of them before the first that `hits` finds. There
    /// are zeros after the end.
    #[inline(always)]
    pub fn until(self, at: usize, hits: impl Fn(u64) -> Hits) -> (u64, usize) {
        let word = self.word(at);
        (word, (hits(word).0 & HIGH).trailing_zeros() as usize / 8)
    }

    /// Returns the offset after the spaces at `at`. Most often there are none, or few.
    #[inline(always)]
    pub fn spaces(self, at: usize) -> usize {
        match self.byte(at) {
            Some(b' ') if self.byte(at + 1) != Some(b' ') => at + 1,
            Some(b' ') => self.find(at + 2, |word| Hits::not(word, b' ')),
            _ => at,
        }
    }

    /// Returns a number for the bytes of a range that is equal for equal bytes.
    #[inline(always)]
    pub fn digest(self, from: usize, to: usize) -> u64 {
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut digest = (to - from) as u64;
        let mut at = from;
        while at < to {
            let word = self.start(at, to);
            digest = (digest.rotate_left(29) ^ word).wrapping_mul(MIX);
            at += 8;
        }
        digest
    }

    /// Returns the offset after the character that starts at `at` and is not ASCII; `None` for the few that are not for text: C1
    /// controls, line and paragraph separators, the byte order mark and noncharacters.
    pub fn beyond_ascii(self, at: usize) -> Option<usize> {
        let [first, second] = [self.byte(at)?, self.byte(at + 1)?];
        match first {
            ..0xC2 => None,
            0xC2 if second < 0xA0 => None,
            0xC2..0xE0 => Some(at + 2),
            0xE0..0xF0 => match (first, second, self.byte(at + 2)?) {
                (0xE2, 0x80, 0xA8 | 0xA9) | (0xEF, 0xBB, 0xBF) | (0xEF, 0xBF, 0xBE | 0xBF) => None,
                _ => Some(at + 3),
            },
            _ => Some(at + 4),
        }
    }
}

/// The keys of the mappings that are open, to find one that occurs twice.
#[derive(Debug, Default)]
pub struct Keys {
    digests: Vec<u64>,
}

/// The keys of one mapping: those of the mappings in it are gone when the next key comes.
#[derive(Clone, Copy, Debug)]
pub struct KeysOf {
    start: usize,
    /// One bit for each digest, so that most keys are known to be new at once.
    seen: u64,
    /// Whether a key has yet to be compared with those before it.
    is_open: bool,
}

/// Up to how many keys a new one is compared with at once.
const FEW: usize = 32;

impl Keys {
    /// Returns the keys of a mapping that begins.
    pub fn open(&self) -> KeysOf {
        KeysOf { start: self.digests.len(), seen: 0, is_open: false }
    }

    /// Adds the digest of a key; `None` if the mapping has another key with this digest.
    #[inline(always)]
    pub fn add(&mut self, mapping: &mut KeysOf, digest: u64) -> Option<()> {
        let bit = 1 << (digest >> 58);
        if mapping.seen & bit != 0 {
            let keys = &self.digests[mapping.start..];
            if keys.len() > FEW {
                mapping.is_open = true;
            } else if keys.contains(&digest) {
                return None;
            }
        }
        mapping.seen |= bit;
        self.digests.push(digest);
        Some(())
    }

    /// Forgets the keys of a mapping that ends; `None` if two of them have the same digest.
    #[inline(always)]
    pub fn close(&mut self, mapping: KeysOf) -> Option<()> {
        if mapping.is_open && !self.are_different(mapping.start) {
            return None;
        }
        self.digests.truncate(mapping.start);
        Some(())
    }

    fn are_different(&mut self, start: usize) -> bool {
        let keys = &mut self.digests[start..];
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair[0] != pair[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_is_found_wherever_it_is() {
        for length in 0..30 {
            for at in 0..length {
                for byte in 0..=0x7F_u8 {
                    let mut bytes = vec![b' '; length];
                    bytes[at] = byte;
                    let text = String::from_utf8(bytes).expect("ASCII");
                    let words = Words::new(&text);
                    let expected = |is: bool| if is { at } else { length };
                    assert_eq!(words.find(0, |word| Hits::not(word, b' ')), expected(byte != b' '));
                    assert_eq!(words.find(0, Hits::controls), expected(byte < 0x20));
                    assert_eq!(words.find(0, Hits::beyond_ascii), expected(byte == 0x7F));
                    let words_of_x = text.replace(' ', "x");
                    let is_of_word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ');
                    assert_eq!(Words::new(&words_of_x).find(0, Hits::not_of_words), expected(!is_of_word));
                    let is_letter = byte.is_ascii_alphabetic() || byte == b' ';
                    assert_eq!(Words::new(&words_of_x).find(0, Hits::not_letters), expected(!is_letter));
                    let (bytes, count) = Words::new(&words_of_x).until(0, Hits::not_letters);
                    assert_eq!((bytes as u8, count), (words_of_x.as_bytes()[0], expected(!is_letter).min(8)));
                    let either = |word| Hits::of(word, b':') | Hits::of(word, b'#');
                    assert_eq!(words.find(0, either), expected(matches!(byte, b':' | b'#')));
                    assert_eq!(words.spaces(0), expected(byte != b' '));
                }
            }
        }
    }

    #[test]
    fn every_character_ends_where_it_ends() {
        for char in (0x80..=0x10_FFFF).filter_map(char::from_u32) {
            let text = format!("ab{char}");
            let words = Words::new(&text);
            assert_eq!(words.find(0, Hits::beyond_ascii), 2);
            assert_eq!(words.find(0, Hits::not_of_words), 2);
            assert_eq!(words.find(0, Hits::not_letters), 2);
            let end = words.beyond_ascii(2);
            let is_text =
                !char.is_control() && !matches!(char, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}');
            assert_eq!(end, is_text.then_some(text.len()), "{char:?}");
        }
    }

    #[test]
    fn equal_keys_are_found() {
        let text = "a".repeat(20) + &"a".repeat(20) + "b";
        let words = Words::new(&text);
        for length in 0..=20 {
            assert_eq!(words.digest(0, length), words.digest(20, 20 + length));
        }
        assert_ne!(words.digest(0, 20), words.digest(0, 19));
        assert_ne!(words.digest(20, 40), words.digest(21, 41));
        for count in [1_u64, 5, 33, 200] {
            let mut keys = Keys::default();
            let mut outer = keys.open();
            for key in 0..count {
                keys.add(&mut outer, key << 52).expect("a new key");
                let mut inner = keys.open();
                keys.add(&mut inner, key << 52).expect("a new mapping");
                keys.close(inner).expect("all are different");
            }
            let again = keys.add(&mut outer, 0);
            assert!(again.is_none() || keys.close(outer).is_none(), "{count}");
        }
    }
}
