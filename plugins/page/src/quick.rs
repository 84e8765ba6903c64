//! Reads the Markdown that most claims consist of, without a parser: paragraphs, headings, lists, closed blocks of code and
//! plain tables, with code, emphasis and links on one line. Starting the parser costs more than all the rest.
//!
//! If a text contains anything else (quotations, HTML, entities, escapes, nested emphasis, indented text), [`page`]
//! returns `None`, and the renderer reads the whole text. The tests compare both on random texts.

mod inline;

pub(crate) use inline::line;
pub use inline::starts_entity;

use super::{Shown, Spans, Voice};
use gatehost_sdk::markdown::Visibility;
use inline::{Reader, is_readable, spans};
use std::borrow::Cow;

/// The lines of a text, if all of it is in the quick part of Markdown.
pub(super) fn page(text: &str) -> Option<Vec<Shown<'_>>> {
    let mut page = Page { rows: Vec::with_capacity(16), last: Last::Blank, list: None };
    let mut lines = (1..).zip(text.split('\n'));
    while let Some((number, line)) = lines.next() {
        let line = line.trim_end_matches(' ');
        if line.is_empty() {
            page.blank_line();
        } else if let Some(fence) = line.strip_prefix("```") {
            if fence.contains('`') || !is_readable(fence) {
                return None;
            }
            page.block(Last::Block);
            page.code(&mut lines)?;
        } else if line.len() > 2 && line.bytes().all(|byte| byte == b'-') {
            // A ruler; below a paragraph it makes a heading.
            if page.last == Last::Text {
                return None;
            }
            page.block(Last::Block);
        } else if line.starts_with('|') {
            page.table(number, line, &mut lines)?;
        } else {
            page.line(number, line)?;
        }
    }
    Some(page.rows)
}

/// The line before.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Blank,
    /// Of a paragraph, which may be that of an item.
    Text,
    /// Of anything that a line of text does not continue.
    Block,
}

/// A list that the next item may continue.
struct List {
    /// The mark of its outermost items.
    mark: u8,
    /// Where the text of the items that are open starts, from the outermost.
    levels: Vec<usize>,
    /// Whether a blank line, or an item inside another, was seen.
    is_loose: bool,
    is_nested: bool,
}

struct Page<'t> {
    rows: Vec<Shown<'t>>,
    last: Last,
    list: Option<List>,
}

impl<'t> Page<'t> {
    fn blank_line(&mut self) {
        self.last = Last::Blank;
        if let Some(list) = &mut self.list {
            list.is_loose = true;
        }
    }

    /// A block starts: an empty line parts it from the one before.
    fn block(&mut self, last: Last) {
        self.list = None;
        self.part();
        self.last = last;
    }

    fn part(&mut self) {
        if let Some(number) = self.rows.last().filter(|last| !last.spans.is_empty()).map(|last| last.number) {
            self.push(number, Spans::Many(Vec::new()), true);
        }
    }

    fn push(&mut self, number: usize, spans: Spans<'t>, begins: bool) {
        self.rows.push(Shown { number, spans, visibility: Visibility::Plain, begins });
    }

    /// A heading, an item, or a line of a paragraph.
    fn line(&mut self, number: usize, line: &'t str) -> Option<()> {
        let bytes = line.as_bytes();
        let level = bytes.iter().take_while(|byte| **byte == b'#').count();
        if level > 0 {
            let title = line[level..].strip_prefix(' ').filter(|title| starts_text(title.as_bytes()))?;
            if level > 6 || title.ends_with('#') {
                return None;
            }
            self.block(Last::Block);
            let spans = spans("# ", &line[level - 1..], title)?;
            self.push(number, spans, true);
            return Some(());
        }
        let indentation = bytes.iter().take_while(|byte| **byte == b' ').count();
        if let Some(item) = item(&bytes[indentation..]) {
            return self.item(number, line, indentation, item);
        }
        let begins = self.last != Last::Text;
        // An indented line continues a paragraph, and starts something else anywhere else.
        let words = &line[indentation..];
        if !starts_text(words.as_bytes()) || begins && indentation > 0 {
            return None;
        }
        if begins {
            self.block(Last::Text);
        }
        let spans = spans("", words, words)?;
        self.push(number, spans, begins);
        Some(())
    }

    fn item(&mut self, number: usize, line: &'t str, indentation: usize, (mark, width): (u8, usize)) -> Option<()> {
        let ordered = mark == b'.';
        let text = indentation + width;
        let continues = self.list.as_mut().is_some_and(|list| {
            let level = if indentation == 0 { Some(0) } else { list.levels.iter().position(|at| *at == indentation) };
            match level {
                Some(0) if indentation == 0 => {
                    list.levels.clear();
                    list.mark == mark
                }
                Some(level) => {
                    list.levels.truncate(level + 1);
                    list.is_nested = true;
                    true
                }
                None => false,
            }
        });
        if !continues {
            // In the middle of a paragraph, only the number 1 starts a list.
            let starts = indentation == 0 && !(ordered && self.last == Last::Text && !line.starts_with("1. "));
            if !starts {
                return None;
            }
            self.block(Last::Text);
            self.list = Some(List { mark, levels: Vec::new(), is_loose: false, is_nested: false });
        }
        let list = self.list.as_mut()?;
        // What else such a list looks like depends on its blank lines and on the other marks.
        if list.is_nested && (list.is_loose || ordered || list.mark != mark) {
            return None;
        }
        list.levels.push(text);
        let content = &line[text..];
        if !starts_text(content.as_bytes()) {
            return None;
        }
        let prefix = if ordered { "1. " } else { "- " };
        let spans = spans(prefix, &line[indentation..], content)?;
        self.last = Last::Text;
        self.push(number, spans, true);
        Some(())
    }

    /// The lines of a block of code down to its end.
    fn code(&mut self, lines: &mut impl Iterator<Item = (usize, &'t str)>) -> Option<()> {
        loop {
            let (number, line) = lines.next()?;
            let end = line.trim_end_matches(' ').trim_start_matches('`');
            if line.starts_with("```") && end.is_empty() {
                return Some(());
            }
            // A fence that is indented may be the end.
            if !is_readable(line) || line.trim_start().starts_with("```") {
                return None;
            }
            let spans = Spans::One([(Voice::Plain, Cow::Borrowed(line))]);
            self.rows.push(Shown { number, spans, visibility: Visibility::Quoted, begins: true });
        }
    }

    /// A table down to the blank line behind it, with the same cells in each row.
    fn table(
        &mut self,
        number: usize,
        head: &'t str,
        lines: &mut impl Iterator<Item = (usize, &'t str)>,
    ) -> Option<()> {
        let columns = cells(head)?.count();
        let (_, ruler) = lines.next()?;
        let is_rule = |cell: &str| {
            let dashes = cell.trim_matches(' ');
            let dashes = dashes.strip_prefix(':').unwrap_or(dashes);
            let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
            !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
        };
        let ruler = ruler.trim_end_matches(' ');
        if self.last == Last::Text || cells(ruler)?.count() != columns || !cells(ruler)?.all(is_rule) {
            return None;
        }
        self.list = None;
        self.last = Last::Block;
        self.row(number, head, columns)?;
        for (number, line) in lines {
            let line = line.trim_end_matches(' ');
            if line.is_empty() {
                self.last = Last::Blank;
                return Some(());
            }
            self.row(number, line, columns)?;
        }
        Some(())
    }

    fn row(&mut self, number: usize, line: &'t str, columns: usize) -> Option<()> {
        if cells(line)?.count() != columns {
            return None;
        }
        let mut row = Reader::of(line);
        let mut start = 1;
        for cell in cells(line)? {
            let words = cell.trim_matches(' ');
            let from = start + (cell.len() - cell.trim_start_matches(' ').len());
            row.add("| ");
            row.read(from..from + words.len())?;
            row.add(" ");
            start += cell.len() + 1;
        }
        self.push(number, row.done(), true);
        Some(())
    }
}

/// The cells of a row that starts and ends with a bar.
fn cells(line: &str) -> Option<impl Iterator<Item = &str>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|'))
}

/// The mark of an item, and how far its text is from it: `- `, `* `, `12. `.
fn item(line: &[u8]) -> Option<(u8, usize)> {
    match line {
        [mark @ (b'-' | b'*'), b' ', ..] => Some((*mark, 2)),
        _ => {
            let digits = line.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
            (digits > 0 && line[digits..].starts_with(b". ")).then_some((b'.', digits + 2))
        }
    }
}

/// Whether a line starts like text, and not like a block of another kind.
fn starts_text(line: &[u8]) -> bool {
    match line {
        [b'*', b'*', next, ..] => next.is_ascii_alphanumeric() || *next == b'`',
        [b'*' | b'_', next, ..] => next.is_ascii_alphanumeric(),
        [b'`', b'`', b'`', ..] => false,
        [b'`', ..] => true,
        [first, ..] if first.is_ascii_digit() => {
            let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
            !matches!(line.get(digits), Some(b'.' | b')'))
        }
        [first, ..] => first.is_ascii_alphabetic() || *first >= 0x80 || b"(\"'[$%@/.,;!?:{^".contains(first),
        [] => false,
    }
}
