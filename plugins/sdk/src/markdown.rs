//! Lines of Markdown: which of them the author says, and which are only shown.
//!
//! This reads line by line, for verifiers that look for a report or a checkbox on a line. Verifiers that read prose use
//! `gatehost-page`, which renders with pulldown-cmark.

use std::ops::RangeInclusive;

/// How a line stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// In the author's own words.
    Plainly,
    /// Shown: in a fenced code block that is closed, or on a line of a blockquote.
    Quoted,
    /// In an HTML comment that is closed: no reader of the page sees it.
    Hidden,
    /// One way or the other: below a fence or a comment that nothing closes, or indented like code. Who looks for what
    /// speaks against the author reads it; who looks for what speaks for him does not.
    Unclear,
}

/// A line; what follows a comment on its last line comes as a line of its own with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its characters, without the end of the line.
    pub text: &'a str,
    /// How it stands there.
    pub said: Said,
}

/// A fenced code block that is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced<'a> {
    /// The first word after the opening fence, such as `json`; empty where there is none.
    pub language: &'a str,
    /// What stands between the fences.
    pub body: &'a str,
    /// Its lines from 1, with both fences.
    pub lines: RangeInclusive<usize>,
}

/// The lines of a text, without a byte order mark. Whatever a reader sees as the end of a line is one.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    read(text).lines
}

/// The fenced code blocks of a text. A fence that nothing closes makes none: what follows it stays visible.
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
                self.push(row.number, row.text, Said::Unclear);
                if closes(mark, opening.text, row.text) {
                    let after = opening.text.trim()[mark.len()..].trim();
                    self.blocks.push(Fenced {
                        language: after.split_whitespace().next().unwrap_or_default(),
                        body: &self.text[opening.next..row.start],
                        lines: opening.number..=row.number,
                    });
                    self.close(first, Said::Quoted);
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
            self.push(row.number, row.text, Said::Quoted);
        } else if !mark.is_empty() {
            self.push(row.number, row.text, Said::Unclear);
            self.open = Open::Fence { first, mark, row };
        } else if start.starts_with("<!--") {
            // `<!-->` is a comment already.
            let from = row.text.len() - start.len() + 2;
            self.comment(first, row, row.text[from..].find("-->").map(|at| from + at));
        } else {
            let said = if self.is_code(row.text) { Said::Unclear } else { Said::Plainly };
            self.push(row.number, row.text, said);
        }
    }

    /// A line of a comment, and the rest of the line where the comment ends on it.
    fn comment(&mut self, first: usize, row: Row<'a>, end: Option<usize>) {
        let Some(end) = end.map(|at| at + "-->".len()) else {
            self.push(row.number, row.text, Said::Unclear);
            self.open = Open::Comment(first);
            return;
        };
        self.push(row.number, &row.text[..end], Said::Unclear);
        self.close(first, Said::Hidden);
        if !row.text[end..].trim().is_empty() {
            self.push(row.number, &row.text[end..], Said::Plainly);
        }
    }

    /// Indented like code, and not in the middle of a paragraph.
    fn is_code(&self, text: &str) -> bool {
        let indent = &text[..text.len() - text.trim_start().len()];
        let in_paragraph = self.lines.last().is_some_and(|last| last.said == Said::Plainly && !is_blank(last.text));
        (indent.len() >= 4 || indent.contains('\t')) && !in_paragraph && !is_blank(text)
    }

    fn push(&mut self, number: usize, text: &'a str, said: Said) {
        self.lines.push(Line { number, text, said });
    }

    fn close(&mut self, first: usize, said: Said) {
        self.lines[first..].iter_mut().for_each(|line| line.said = said);
        self.open = Open::Nothing;
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The run of at least three backticks or tildes that opens a block. In the words after backticks there are none:
/// that is code within a line.
fn opening_fence(start: &str) -> &str {
    let mark = ['`', '~']
        .into_iter()
        .map(|mark| &start[..start.len() - start.trim_start_matches(mark).len()])
        .find(|run| run.len() >= 3)
        .unwrap_or_default();
    if mark.starts_with('`') && start[mark.len()..].contains('`') { "" } else { mark }
}

/// A closing fence is as long at least, stands alone, and is not indented like code.
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
        use Said::{Hidden, Plainly, Quoted, Unclear};
        for (text, expected) in [
            ("", &[][..]),
            ("a\r\nb\rc\u{2028}d", &[(1, "a", Plainly), (2, "b", Plainly), (3, "c", Plainly), (4, "d", Plainly)]),
            ("\u{FEFF}a\n\n", &[(1, "a", Plainly), (2, "", Plainly)]),
            ("> a\nb", &[(1, "> a", Quoted), (2, "b", Plainly)]),
            ("```\na\n```\nb", &[(1, "```", Quoted), (2, "a", Quoted), (3, "```", Quoted), (4, "b", Plainly)]),
            ("```\n> a", &[(1, "```", Unclear), (2, "> a", Unclear)]),
            ("```a``` b", &[(1, "```a``` b", Plainly)]),
            ("<!--\n```\n-->\na", &[(1, "<!--", Hidden), (2, "```", Hidden), (3, "-->", Hidden), (4, "a", Plainly)]),
            ("<!-- a --> b", &[(1, "<!-- a -->", Hidden), (1, " b", Plainly)]),
            ("<!-->a", &[(1, "<!-->", Hidden), (1, "a", Plainly)]),
            ("<!-- a\nb", &[(1, "<!-- a", Unclear), (2, "b", Unclear)]),
            ("    a\n   b", &[(1, "    a", Unclear), (2, "   b", Plainly)]),
            ("a\n    b\n\n\tc", &[(1, "a", Plainly), (2, "    b", Plainly), (3, "", Plainly), (4, "\tc", Unclear)]),
        ] {
            let found: Vec<_> = lines(text).into_iter().map(|line| (line.number, line.text, line.said)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
