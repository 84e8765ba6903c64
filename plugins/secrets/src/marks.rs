//! Which shapes a text may contain: those of which it has a mark. One pass over the text, whatever the number of shapes.

use crate::shapes::{SHAPES, Shape};

/// For each pair of bytes, a bit that says whether a mark starts with it.
const PAIRS: [u64; 1024] = {
    let mut pairs = [0; 1024];
    let mut shape = 0;
    while shape < SHAPES.len() {
        let marks = SHAPES[shape].marks;
        let mut mark = 0;
        while mark < marks.len() {
            let pair = pair(marks[mark].as_bytes()[0], marks[mark].as_bytes()[1]);
            pairs[pair / 64] |= 1 << (pair % 64);
            mark += 1;
        }
        shape += 1;
    }
    pairs
};

const fn pair(first: u8, second: u8) -> usize {
    first as usize * 256 + second as usize
}

/// The shapes of which a mark stands in the text, in the order of the table.
pub(crate) fn present(text: &str) -> Vec<&'static Shape> {
    let bytes = text.as_bytes();
    let mut seen = [false; SHAPES.len()];
    for (at, window) in bytes.windows(2).enumerate() {
        let pair = pair(window[0], window[1]);
        if PAIRS[pair / 64] >> (pair % 64) & 1 == 0 {
            continue;
        }
        for (shape, seen) in SHAPES.iter().zip(&mut seen) {
            *seen = *seen || shape.marks.iter().any(|mark| bytes[at..].starts_with(mark.as_bytes()));
        }
    }
    SHAPES.iter().zip(seen).filter_map(|(shape, seen)| seen.then_some(shape)).collect()
}
