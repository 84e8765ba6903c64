//! Quoted strings with continued lines that are not indented. YAML 1.2 forbids them, and libyaml accepts them:
//!
//! ```yaml
//! message: "one line
//! and another"
//! ```
//!
//! Spaces at the start of such a line are not part of the value. So if the parser stops at one, the line is indented and the
//! text is parsed again.

use crate::Problem;

/// More than any block is indented that a person writes.
const INDENTATION: usize = 100;
/// How many lines are indented. Each takes another reading, and a file that has more of them fails.
const MOST_LINES: usize = 200;
/// How much is read in all, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// Where lines were indented: the bytes, in the text that was read last.
#[derive(Debug, Default)]
pub(crate) struct Indented(Vec<usize>);

impl Indented {
    /// Where a byte of the text with indented lines is in the file.
    pub(crate) fn in_file(&self, at: usize) -> usize {
        let inserted: usize = self.0.iter().map(|&start| at.saturating_sub(start).min(INDENTATION)).sum();
        at - inserted
    }

    fn insert(&mut self, at: usize) {
        for start in self.0.iter_mut().filter(|start| **start > at) {
            *start += INDENTATION;
        }
        self.0.push(at);
    }
}

/// Read a text until no such line is in the way.
pub(crate) fn read(text: &str, read: impl Fn(&str) -> Vec<Problem>) -> (Indented, Vec<Problem>) {
    let mut indented = Indented::default();
    let mut found = read(text);
    let mut changed: Option<String> = None;
    for _ in 0..MOST_LINES.min(MOST_BYTES / text.len().max(1)) {
        let text = changed.as_deref().unwrap_or(text);
        let Some(at) = found.iter().filter(|found| found.is_continued).find_map(|found| continuation(text, found.at))
        else {
            break;
        };
        let mut next = text.to_owned();
        next.insert_str(at, &" ".repeat(INDENTATION));
        indented.insert(at);
        found = read(&next);
        changed = Some(next);
    }
    (indented, found)
}

/// The start of the line at which the parser stopped, unless it starts or ends a document.
fn continuation(text: &str, at: usize) -> Option<usize> {
    let line = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let is_marker = |mark: &str| {
        let behind = text[line..].strip_prefix(mark);
        behind.is_some_and(|behind| behind.chars().next().is_none_or(char::is_whitespace))
    };
    (at < text.len() && !is_marker("---") && !is_marker("...")).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_indented_lines_are_those_of_the_file() {
        let mut indented = Indented::default();
        indented.insert(10);
        indented.insert(5);
        for (at, expected) in [(0, 0), (5, 5), (50, 5), (105, 5), (106, 6), (110, 10), (150, 10), (210, 10), (211, 11)]
        {
            assert_eq!(indented.in_file(at), expected, "{at}");
        }
    }
}
