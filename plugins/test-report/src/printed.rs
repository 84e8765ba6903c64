//! What a command printed, split into lines once for all readers. The same look at its bytes finds the words that decide which
//! readers are run, and which lines may report a failure.

use std::iter::Copied;
use std::ops::Deref;
use std::slice::Iter;

/// Words in a line or in a text, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u16);

impl Marks {
    /// `fail` or `err`, in any case.
    pub(crate) const FAILURE: Self = Self(1);
    /// ` in `
    pub(crate) const IN: Self = Self(1 << 1);
    /// `<testsuite`
    pub(crate) const JUNIT: Self = Self(1 << 2);
    /// `{"num`
    pub(crate) const JEST_JSON: Self = Self(1 << 3);
    /// `% tests passed, `
    pub(crate) const CTEST: Self = Self(1 << 4);
    /// `"Action":"fail"`
    pub(crate) const GO_FAILURE: Self = Self(1 << 5);
    /// `TRY `
    pub(crate) const TRY: Self = Self(1 << 6);
    /// ` Dubious, test returned ` and `Some tests did not pass: `
    pub(crate) const DOUBT: Self = Self(1 << 7);
    /// A character that moves the cursor, other than a line feed.
    pub(crate) const CONTROL: Self = Self(1 << 8);

    pub(crate) fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    fn add(&mut self, marks: Self) {
        self.0 |= marks.0;
    }
}

/// A text and its lines.
#[derive(Debug)]
pub(crate) struct Printed<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    marks: Vec<Marks>,
    all: Marks,
}

impl<'t> Printed<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let mut printed = Self { text, lines: Vec::new(), marks: Vec::new(), all: Marks::default() };
        let (mut start, mut marks) = (0, Marks::default());
        for (at, byte) in text.bytes().enumerate() {
            match KINDS[usize::from(byte)] {
                Kind::Other => {}
                Kind::LineFeed => {
                    printed.push(start..at, marks);
                    (start, marks) = (at + 1, Marks::default());
                }
                Kind::Start => marks.add(starting(text.as_bytes(), at)),
            }
        }
        if start < text.len() {
            printed.push(start..text.len(), marks);
        }
        printed
    }

    fn push(&mut self, line: std::ops::Range<usize>, marks: Marks) {
        self.lines.push(&self.text[line]);
        self.marks.push(marks);
        self.all.add(marks);
    }

    /// Returns the lines, as `str::lines` does for a text without carriage returns.
    pub(crate) fn lines(&self) -> Copied<Iter<'_, &'t str>> {
        self.lines.iter().copied()
    }

    pub(crate) fn all_lines(&self) -> &[&'t str] {
        &self.lines
    }

    /// Returns the lines with their marks.
    pub(crate) fn marked_lines(&self) -> impl Iterator<Item = (&'t str, Marks)> {
        self.lines().zip(self.marks.iter().copied())
    }

    /// Returns the marks of all lines together.
    pub(crate) fn marks(&self) -> Marks {
        self.all
    }
}

impl Deref for Printed<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}

/// The marks of words that start or, for those that start with a frequent letter, lie around a byte.
fn starting(text: &[u8], at: usize) -> Marks {
    let is = |words: &[u8]| text[at..].starts_with(words);
    let is_word =
        |at: usize, word: &[u8]| text.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word));
    let mark = |is_there: bool, mark: Marks| if is_there { mark } else { Marks::default() };
    match text[at] {
        b'f' | b'F' => mark(is_word(at, b"fail"), Marks::FAILURE),
        b'r' | b'R' => mark(at > 0 && is_word(at - 1, b"err"), Marks::FAILURE),
        b'i' => mark(at > 0 && text[at - 1] == b' ' && is(b"in "), Marks::IN),
        b'<' => mark(is(b"<testsuite"), Marks::JUNIT),
        b'{' => mark(is(b"{\"num"), Marks::JEST_JSON),
        b'%' => mark(is(b"% tests passed, "), Marks::CTEST),
        b'A' => mark(is(b"Action\":\"fail\""), Marks::GO_FAILURE),
        b'T' => mark(is(b"TRY "), Marks::TRY),
        b'D' => mark(is(b"Dubious, test returned "), Marks::DOUBT),
        b'S' => mark(is(b"Some tests did not pass: "), Marks::DOUBT),
        _ => Marks::CONTROL,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Other,
    LineFeed,
    /// One that [`starting`] looks at.
    Start,
}

static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Other; 256];
    let starts = b"fFrRi<{%ATDS\r\x0b\x0c";
    let mut at = 0;
    while at < starts.len() {
        kinds[starts[at] as usize] = Kind::Start;
        at += 1;
    }
    kinds[b'\n' as usize] = Kind::LineFeed;
    kinds
};

/// A line without its indentation, as `trim_start` returns it.
pub(crate) fn bare(line: &str) -> &str {
    let indentation = line.bytes().take_while(|byte| *byte == b' ').count();
    let bare = &line[indentation..];
    match bare.as_bytes().first() {
        Some(b'!'..=b'~') | None => bare,
        Some(_) => bare.trim_start(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_library() {
        for text in ["", "\n", "a", "a\n", "a\n\nb", "\n\n", "a\r\nb\r", "é\n  ✓ a\n"] {
            let printed = Printed::of(text);
            let control = text.contains('\r');
            assert_eq!(printed.marks().has(Marks::CONTROL), control, "{text:?}");
            if !control {
                assert_eq!(printed.lines().collect::<Vec<_>>(), text.lines().collect::<Vec<_>>(), "{text:?}");
            }
            assert!(text.lines().all(|line| bare(line) == line.trim_start()));
        }
    }

    #[test]
    fn words_are_found_wherever_they_are() {
        for (mark, words) in [
            (Marks::FAILURE, &["fail", "FAILED", "xFail", "error", "ERR", "terror"][..]),
            (Marks::IN, &[" in ", "a in b", " in in "]),
            (Marks::JUNIT, &["<testsuite", "<testsuites>"]),
            (Marks::JEST_JSON, &["{\"num"]),
            (Marks::CTEST, &["100% tests passed, 0"]),
            (Marks::GO_FAILURE, &["{\"Action\":\"fail\"}"]),
            (Marks::TRY, &["TRY 1"]),
            (Marks::DOUBT, &[" Dubious, test returned 1", "Some tests did not pass: 1"]),
            (Marks::CONTROL, &["\r", "\u{b}", "\u{c}"]),
        ] {
            for words in words {
                for text in [(*words).to_owned(), format!("a{words}"), format!("{words}é")] {
                    let text = format!("one\n{text}\nthree\n");
                    let printed = Printed::of(&text);
                    let marked: Vec<bool> = printed.marked_lines().map(|(_, marks)| marks.has(mark)).collect();
                    assert_eq!(marked, [false, true, false], "{text:?}");
                }
            }
        }
    }
}
