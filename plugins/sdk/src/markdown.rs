//! The lines of a Markdown text, and whether each is the author's own, quoted or hidden.
//!
//! This reads line by line, for verifiers that look for a report or a checkbox on a line. Verifiers that read prose use
//! `gatehost-page`, which renders with pulldown-cmark.

use std::ops::RangeInclusive;

/// Whether a line is the author's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// In the author's own words.
    Plain,
    /// In a closed fenced code block, or on a line of a blockquote.
    Quoted,
    /// In a closed HTML comment, which a renderer does not show.
    Hidden,
    /// Plain or quoted: below a fence or a comment that is not closed, or indented like code. Evidence against the author
    /// counts here; evidence for the author does not.
    Unclear,
}

/// A line. The text after a comment on its last line is a line of its own with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its characters, without the end of the line.
    pub text: &'a str,
    /// Whether it is the author's own words.
    pub visibility: Visibility,
}

/// A fenced code block that is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced<'a> {
    /// The first word after the opening fence, such as `json`; may be empty.
    pub language: &'a str,
    /// The text between the fences.
    pub body: &'a str,
    /// Its lines from 1, with both fences.
    pub lines: RangeInclusive<usize>,
}

/// Returns the lines of a text, without a byte order mark. Every character that is shown as a line break ends a line.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    read(text).lines
}

/// Returns the fenced code blocks of a text. A fence that is not closed starts no block, so the text after it stays visible.
pub fn fenced(text: &str) -> Vec<Fenced<'_>> {
    read(text).blocks
}

fn read(text: &str) -> Reader<'_> {
    let mut reader = Reader { text, lines: Vec::new(), blocks: Vec::new(), open: Open::Nothing };
    let mut start = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let mut number = 1;
    while start < text.len() {
        let (end, next) = line_end(text, start);
        reader.line(Row { number, start, next, text: &text[start..end] });
        (start, number) = (next, number + 1);
    }
    reader
}

/// Where the line that starts at `start` ends, and where the next one starts.
fn line_end(text: &str, start: usize) -> (usize, usize) {
    const ENDS: [char; 7] = ['\n', '\r', '\u{B}', '\u{C}', '\u{85}', '\u{2028}', '\u{2029}'];
    let rest = &text[start..];
    let Some(length) = rest.find(ENDS) else { return (text.len(), text.len()) };
    let ending = &rest[length..];
    let mark = if ending.starts_with("\r\n") { 2 } else { ending.chars().next().map_or(0, char::len_utf8) };
    (start + length, start + length + mark)
}

#[derive(Clone, Copy)]
struct Row<'a> {
    number: usize,
    start: usize,
    /// Where the next one starts.
    next: usize,
    text: &'a str,
}

struct Reader<'a> {
    text: &'a str,
    lines: Vec<Line<'a>>,
    blocks: Vec<Fenced<'a>>,
    open: Open<'a>,
}

/// What is open, with the index of the line that opened it.
#[derive(Clone, Copy)]
enum Open<'a> {
    Nothing,
    Comment(usize),
    Fence { first: usize, mark: &'a str, row: Row<'a> },
}

impl<'a> Reader<'a> {
    fn line(&mut self, row: Row<'a>) {
        match self.open {
            Open::Fence { first, mark, row: opening } => {
                self.push(row.number, row.text, Visibility::Unclear);
                if closes(mark, opening.text, row.text) {
                    let after = opening.text.trim()[mark.len()..].trim();
                    self.blocks.push(Fenced {
                        language: after.split_whitespace().next().unwrap_or_default(),
                        body: &self.text[opening.next..row.start],
                        lines: opening.number..=row.number,
                    });
                    self.close(first, Visibility::Quoted);
                }
            }
            Open::Comment(first) => self.comment(first, row, row.text.find("-->")),
            Open::Nothing => self.outside(row),
        }
    }

    fn outside(&mut self, row: Row<'a>) {
        let start = row.text.trim_start();
        let mark = opening_fence(start);
        let first = self.lines.len();
        if start.starts_with('>') {
            self.push(row.number, row.text, Visibility::Quoted);
        } else if !mark.is_empty() {
            self.push(row.number, row.text, Visibility::Unclear);
            self.open = Open::Fence { first, mark, row };
        } else if start.starts_with("<!--") {
            // `<!-->` is a comment already.
            let from = row.text.len() - start.len() + 2;
            self.comment(first, row, row.text[from..].find("-->").map(|at| from + at));
        } else {
            let visibility = if self.is_code(row.text) { Visibility::Unclear } else { Visibility::Plain };
            self.push(row.number, row.text, visibility);
        }
    }

    /// A line of a comment, and the rest of the line where the comment ends on it.
    fn comment(&mut self, first: usize, row: Row<'a>, end: Option<usize>) {
        let Some(end) = end.map(|at| at + "-->".len()) else {
            self.push(row.number, row.text, Visibility::Unclear);
            self.open = Open::Comment(first);
            return;
        };
        self.push(row.number, &row.text[..end], Visibility::Unclear);
        self.close(first, Visibility::Hidden);
        if !row.text[end..].trim().is_empty() {
            self.push(row.number, &row.text[end..], Visibility::Plain);
        }
    }

    /// Indented like code, and not in the middle of a paragraph.
    fn is_code(&self, text: &str) -> bool {
        let indent = &text[..text.len() - text.trim_start().len()];
        let in_paragraph =
            self.lines.last().is_some_and(|last| last.visibility == Visibility::Plain && !is_blank(last.text));
        (indent.len() >= 4 || indent.contains('\t')) && !in_paragraph && !is_blank(text)
    }

    fn push(&mut self, number: usize, text: &'a str, visibility: Visibility) {
        self.lines.push(Line { number, text, visibility });
    }

    fn close(&mut self, first: usize, visibility: Visibility) {
        self.lines[first..].iter_mut().for_each(|line| line.visibility = visibility);
        self.open = Open::Nothing;
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The run of at least three backticks or tildes that opens a block. If another backtick follows on the line, it is inline
/// code.
fn opening_fence(start: &str) -> &str {
    let mark = ['`', '~']
        .into_iter()
        .map(|mark| &start[..start.len() - start.trim_start_matches(mark).len()])
        .find(|run| run.len() >= 3)
        .unwrap_or_default();
    if mark.starts_with('`') && start[mark.len()..].contains('`') { "" } else { mark }
}

/// Whether a line closes a fence: it is at least as long, has nothing else on its line, and is not indented like code.
fn closes(mark: &str, opening: &str, line: &str) -> bool {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let same = mark.chars().next().unwrap_or_default();
    let rest = line.trim().trim_start_matches(same);
    rest.is_empty() && line.trim().len() >= mark.len() && indent(line) < indent(opening) + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_stands_between_two_fences() {
        for (text, expected) in [
            ("", vec![]),
            ("```\na\n```", vec![("", "a\n", 1..=3)]),
            ("x\n```yaml title=1\na\nb\n```\ny", vec![("yaml", "a\nb\n", 2..=5)]),
            ("~~~\n```\n~~~\n", vec![("", "```\n", 1..=3)]),
            ("````\n```\n````", vec![("", "```\n", 1..=3)]),
            ("  ```\r\na\r\n  ```\r\n", vec![("", "a\r\n", 1..=3)]),
            ("```\na\n``` b\n", vec![]),
            ("```\na", vec![]),
            ("```a``` b\n```\nc\n```", vec![("", "c\n", 2..=4)]),
            ("```\n```", vec![("", "", 1..=2)]),
            ("```\n    ```\n```", vec![("", "    ```\n", 1..=3)]),
            ("- a\n\n      ```\n      b\n      ```", vec![("", "      b\n", 3..=5)]),
        ] {
            let found: Vec<_> =
                fenced(text).into_iter().map(|block| (block.language, block.body, block.lines)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_said_or_shown() {
        use Visibility::{Hidden, Plain, Quoted, Unclear};
        for (text, expected) in [
            ("", &[][..]),
            ("a\r\nb\rc\u{2028}d", &[(1, "a", Plain), (2, "b", Plain), (3, "c", Plain), (4, "d", Plain)]),
            ("\u{FEFF}a\n\n", &[(1, "a", Plain), (2, "", Plain)]),
            ("> a\nb", &[(1, "> a", Quoted), (2, "b", Plain)]),
            ("```\na\n```\nb", &[(1, "```", Quoted), (2, "a", Quoted), (3, "```", Quoted), (4, "b", Plain)]),
            ("```\n> a", &[(1, "```", Unclear), (2, "> a", Unclear)]),
            ("```a``` b", &[(1, "```a``` b", Plain)]),
            ("<!--\n```\n-->\na", &[(1, "<!--", Hidden), (2, "```", Hidden), (3, "-->", Hidden), (4, "a", Plain)]),
            ("<!-- a --> b", &[(1, "<!-- a -->", Hidden), (1, " b", Plain)]),
            ("<!-->a", &[(1, "<!-->", Hidden), (1, "a", Plain)]),
            ("<!-- a\nb", &[(1, "<!-- a", Unclear), (2, "b", Unclear)]),
            ("    a\n   b", &[(1, "    a", Unclear), (2, "   b", Plain)]),
            ("a\n    b\n\n\tc", &[(1, "a", Plain), (2, "    b", Plain), (3, "", Plain), (4, "\tc", Unclear)]),
        ] {
            let found: Vec<_> = lines(text).into_iter().map(|line| (line.number, line.text, line.visibility)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
