//! Finds the words that matter, without a comparison for most others.

use crate::opposite::MATTERING;

/// The words of [`MATTERING`] with their kinds, by their first letters.
static WORDS: [(u128, u16); COUNT] = {
    let mut words = [(0, 0); COUNT];
    let (mut list, mut at, mut count) = (0, 0, 0);
    while list < MATTERING.len() {
        if at == MATTERING[list].1.len() {
            (list, at) = (list + 1, 0);
            continue;
        }
        let new = (packed(MATTERING[list].1[at].as_bytes()), MATTERING[list].0);
        let mut place = count;
        while place > 0 && words[place - 1].0 as u8 > new.0 as u8 {
            words[place] = words[place - 1];
            place -= 1;
        }
        words[place] = new;
        (at, count) = (at + 1, count + 1);
    }
    words
};
/// The longest word that fits a number.
const LONGEST: usize = 16;

/// The letters of a word in lower case, the first of them in the lowest byte.
const fn packed(word: &[u8]) -> u128 {
    assert!(word.len() <= LONGEST);
    let (mut packed, mut at) = (0, word.len());
    while at > 0 {
        at -= 1;
        packed = packed << 8 | (word[at] | 0x20) as u128;
    }
    packed
}

const COUNT: usize = {
    let (mut list, mut count) = (0, 0);
    while list < MATTERING.len() {
        count += MATTERING[list].1.len();
        list += 1;
    }
    count
};

/// What is known of the words that start with a letter.
#[derive(Clone, Copy)]
struct Start {
    /// Their lengths and their second letters, as bits. Few other words fit.
    lengths: u32,
    seconds: u32,
    /// Where they are in [`WORDS`].
    first: usize,
    count: usize,
}

static STARTS: [Start; 32] = {
    let mut starts = [Start { lengths: 0, seconds: 0, first: 0, count: 0 }; 32];
    let mut at = 0;
    while at < COUNT {
        let word = WORDS[at].0;
        let start = &mut starts[(word as u8 & 31) as usize];
        start.lengths |= 1 << (16 - word.leading_zeros() / 8);
        start.seconds |= 1 << ((word >> 8) as u8 & 31);
        start.first = if start.count == 0 { at } else { start.first };
        start.count += 1;
        at += 1;
    }
    starts
};

/// Whether a word of this length that starts with these bytes may be one of [`MATTERING`].
#[inline(always)]
pub(super) fn may_matter(bytes: u64, length: usize) -> bool {
    let start = &STARTS[(bytes & 31) as usize];
    length <= LONGEST
        && start.lengths >> length & 1 != 0
        && (length == 1 || start.seconds >> (bytes >> 8 & 31) & 1 != 0)
}

/// The kinds of a word that may matter, by up to eight bytes of its start and of its rest.
pub(super) fn kinds([first, rest]: [(u64, usize); 2]) -> u16 {
    let lower = |(bytes, length): (u64, usize)| match length {
        0 => 0,
        _ => (bytes | 0x2020_2020_2020_2020) & (u64::MAX >> (64 - 8 * length.min(8))),
    };
    let (first, rest) = (lower(first), lower(rest));
    let start = &STARTS[(first & 31) as usize];
    let words = &WORDS[start.first..start.first + start.count];
    let is_it = |known: u128| known as u64 == first && (known >> 64) as u64 == rest;
    words.iter().filter(|(known, _)| is_it(*known)).fold(0, |kinds, (_, kind)| kinds | kind)
}
