//! Which shapes a text may contain: those of which it has a mark. One pass over the text, whatever the number of shapes.

use crate::shapes::{SHAPES, Shape};

/// A mark: its first two bytes, all of them, and the index of its shape.
type Mark = (u16, &'static str, usize);

const COUNT: usize = {
    let (mut count, mut shape) = (0, 0);
    while shape < SHAPES.len() {
        count += SHAPES[shape].marks.len();
        shape += 1;
    }
    count
};

/// All marks, ordered by their first two bytes.
static MARKS: [Mark; COUNT] = {
    let mut marks = [(0, "", 0); COUNT];
    let (mut at, mut shape) = (0, 0);
    while shape < SHAPES.len() {
        let own = SHAPES[shape].marks;
        let mut mark = 0;
        while mark < own.len() {
            let bytes = own[mark].as_bytes();
            let new = (pair(bytes[0], bytes[1]), own[mark], shape);
            let mut place = at;
            while place > 0 && marks[place - 1].0 > new.0 {
                marks[place] = marks[place - 1];
                place -= 1;
            }
            marks[place] = new;
            (at, mark) = (at + 1, mark + 1);
        }
        shape += 1;
    }
    marks
};

/// For each pair of bytes, a bit that says whether a mark starts with it.
static PAIRS: [u64; 1024] = {
    let mut pairs = [0; 1024];
    let mut at = 0;
    while at < COUNT {
        let pair = MARKS[at].0 as usize;
        pairs[pair / 64] |= 1 << (pair % 64);
        at += 1;
    }
    pairs
};

const fn pair(first: u8, second: u8) -> u16 {
    u16::from_be_bytes([first, second])
}

/// The shapes of which a mark stands in the text, in the order of the table.
pub(crate) fn present(text: &str) -> Vec<&'static Shape> {
    let bytes = text.as_bytes();
    let mut seen = [false; SHAPES.len()];
    for (at, window) in bytes.windows(2).enumerate() {
        let pair = pair(window[0], window[1]);
        let index = usize::from(pair);
        if PAIRS[index / 64] >> (index % 64) & 1 == 0 {
            continue;
        }
        let first = MARKS.partition_point(|(start, ..)| *start < pair);
        for (_, mark, shape) in MARKS[first..].iter().take_while(|(start, ..)| *start == pair) {
            if bytes[at..].starts_with(mark.as_bytes()) {
                seen[*shape] = true;
            }
        }
    }
    SHAPES.iter().zip(seen).filter_map(|(shape, seen)| seen.then_some(shape)).collect()
}
