//! Mutated texts, with which the tests of a quick reader compare it with the parser.
//!
//! `QUICK_CASES` sets how many cases a test tries, and `QUICK_SEED` which; `QUICK_FILES` names a file with the paths of real files,
//! one per line, that are mutated in addition to the texts of the test.

use std::str::FromStr;

/// A generator of random numbers.
pub(crate) struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15 ^ variable("QUICK_SEED", 0_u64))
    }

    /// A number below another.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

fn variable<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Tries `check` on random texts: `generated` ones and mutations of them and of `texts`, with pieces of `alphabet` inserted. `check`
/// returns whether the quick reader accepted the text; at least a tenth must be accepted and rejected each.
pub(crate) fn compare(
    cases: usize,
    texts: &[&str],
    alphabet: &[&str],
    generated: impl Fn(&mut Random) -> String,
    check: impl Fn(&str) -> bool,
) {
    let list = std::env::var("QUICK_FILES").ok().and_then(|list| std::fs::read_to_string(list).ok());
    let real: Vec<String> =
        list.iter().flat_map(|list| list.lines()).filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let texts: Vec<&str> = texts.iter().copied().chain(real.iter().map(String::as_str)).collect();
    let mut random = Random::new();
    let mut count = [0_usize; 2];
    for _ in 0..variable("QUICK_CASES", cases) {
        let mut text = match random.below(2) {
            0 => generated(&mut random),
            _ => {
                let text = random.one_of(&texts);
                some_lines(&mut random, text)
            }
        };
        for _ in 0..random.below(4) {
            mutate(&mut random, &mut text, alphabet);
        }
        count[usize::from(check(&text))] += 1;
    }
    let [rejected, accepted] = count;
    let least = if real.is_empty() { (accepted + rejected) / 10 } else { 0 };
    assert!(accepted > least && rejected > least, "{accepted} accepted, {rejected} rejected");
}

/// A few lines in a row, mostly, as long texts are slow to parse and mostly alike.
fn some_lines(random: &mut Random, text: &str) -> String {
    if text.len() < 4_000 && random.below(4) == 0 {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start = match random.below(2) {
        0 => 0,
        _ => random.below(lines.len()),
    };
    let count = 1 + random.below(12);
    lines[start.min(lines.len())..].iter().take(count).copied().collect()
}

fn mutate(random: &mut Random, text: &mut String, alphabet: &[&str]) {
    let at = text.floor_char_boundary(random.below(text.len() + 1));
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    match random.below(9) {
        0 | 1 if at < text.len() => drop(text.remove(at)),
        2 if at < text.len() => {
            let next = text[at..].chars().next().map_or(at, |char| at + char.len_utf8());
            text.replace_range(at..next, random.one_of(alphabet));
        }
        3 => text.insert_str(line, &" ".repeat(1 + random.below(3))),
        4 if text[line..].starts_with(' ') => drop(text.remove(line)),
        5 => {
            let copied = text[line..line_end].to_owned();
            text.insert_str(line_end, &copied);
        }
        6 => text.replace_range(line..line_end, ""),
        7 => {
            // A line from elsewhere.
            let from = text.floor_char_boundary(random.below(text.len() + 1));
            let moved = text[from..].split_inclusive('\n').next().unwrap_or_default().to_owned();
            text.insert_str(line, &moved);
        }
        _ => text.insert_str(at, random.one_of(alphabet)),
    }
}
