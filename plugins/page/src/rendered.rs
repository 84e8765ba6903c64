//! Reads any text with the CommonMark parser.

use super::{Shown, Spans, Voice};
use gatehost_sdk::markdown::Visibility;
use gatehost_sdk::text::visible;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::borrow::Cow;
use std::ops::Range;

pub(super) fn rendered(text: &str) -> Vec<Shown<'static>> {
    let text = normal(text);
    let mut page = Page {
        text: &text,
        starts: std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect(),
        rows: Vec::new(),
        row: None,
        quotes: 0,
        prefix: "",
        lists: Vec::new(),
        block: Block::Text,
        open: Vec::new(),
    };
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    for (event, place) in Parser::new_ext(&text, options).into_offset_iter() {
        page.event(event, place);
    }
    page.end_row();
    page.rows
}

/// Without what nobody sees, and with one kind of line end.
fn normal(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !matches!(byte, b'\r' | 0xB | 0xC)) {
        return Cow::Borrowed(text);
    }
    let one = visible(text).replace("\r\n", "\n");
    let ends = ['\r', '\u{B}', '\u{C}', '\u{85}', '\u{2028}', '\u{2029}'];
    Cow::Owned(one.replace(ends, "\n"))
}

/// Elements of HTML that stand on lines of their own.
const BLOCKS: &[&str] =
    crate::words!("p div li tr td th dt dd summary details section article header footer h1 h2 h3 h4 h5 h6");

/// What kind of block a piece of text is in.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    Text,
    /// With how it stands there.
    Code(Visibility),
    Html,
}

struct Page<'t> {
    text: &'t str,
    /// Where its lines start.
    starts: Vec<usize>,
    rows: Vec<Shown<'static>>,
    row: Option<Shown<'static>>,
    quotes: usize,
    /// What the next row starts with.
    prefix: &'static str,
    /// What an item of each open list starts with.
    lists: Vec<&'static str>,
    block: Block,
    /// Elements of HTML, pictures and crossed-out pieces that are open, each with what it makes of the words in it.
    open: Vec<(String, Voice)>,
}

impl Page<'_> {
    fn event(&mut self, event: Event<'_>, place: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, place),
            Event::End(end) => self.end(end),
            Event::Text(words) => match self.block {
                Block::Code(_) => self.code(&words, place.start),
                Block::Text | Block::Html => self.words(&words, place.start, None),
            },
            Event::Code(words) => self.words(&words, place.start, Some(Voice::Code)),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::InlineHtml(raw) => self.inline_html(&raw),
            Event::Rule => {
                self.end_row();
                self.blank();
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, place: Range<usize>) {
        match tag {
            Tag::Paragraph => self.begin(),
            Tag::Heading { .. } => {
                self.begin();
                self.prefix = "# ";
            }
            Tag::BlockQuote(_) => {
                self.begin();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.begin();
                self.block = Block::Code(match kind {
                    CodeBlockKind::Fenced(_) if is_closed(&self.text[place]) => Visibility::Quoted,
                    _ => Visibility::Unclear,
                });
            }
            Tag::HtmlBlock => {
                self.begin();
                self.block = Block::Html;
                // Line by line, a comment would end where its line does.
                self.html(&self.text[place.clone()], place.start);
            }
            Tag::List(first) => {
                if self.row.is_some() {
                    self.end_row()
                } else {
                    self.begin()
                }
                self.lists.push(if first.is_some() { "1. " } else { "- " });
            }
            Tag::Item => {
                self.end_row();
                self.prefix = self.lists.last().copied().unwrap_or_default();
            }
            Tag::TableHead | Tag::TableRow => {
                self.end_row();
                self.open.retain(|(name, _)| name != "td");
            }
            Tag::TableCell => self.words("| ", place.start, Some(Voice::Plain)),
            Tag::Strikethrough => self.open.push(("~~".to_owned(), Voice::Struck)),
            Tag::Image { .. } => self.open.push(("image".to_owned(), Voice::Struck)),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::BlockQuote(_) => {
                self.end_row();
                self.quotes -= 1;
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                self.end_row();
                self.block = Block::Text;
            }
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::Table => {
                self.end_row();
                self.prefix = "";
            }
            TagEnd::TableCell => {
                if let Some(row) = &mut self.row {
                    add(&mut row.spans, Voice::Plain, " ");
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Strikethrough => self.close("~~"),
            TagEnd::Image => self.close("image"),
            _ => {}
        }
    }

    /// A block begins: what was open of the last one ends, and an empty line parts them. The first block of a list item
    /// stands on its line.
    fn begin(&mut self) {
        self.end_row();
        if self.prefix.is_empty() {
            self.blank();
        }
        // Elements that are only open within a line end with its block.
        self.open.retain(|(name, voice)| *voice == Voice::Styled || name.is_empty());
    }

    fn blank(&mut self) {
        if let Some(last) = self.rows.last().filter(|last| !last.spans.is_empty()) {
            let blank = Shown {
                number: last.number,
                spans: Spans::Many(Vec::new()),
                visibility: Visibility::Plain,
                begins: true,
            };
            self.rows.push(blank);
        }
    }

    fn end_row(&mut self) {
        self.rows.extend(self.row.take().filter(|row| row.number > 0));
    }

    fn line_break(&mut self) {
        let Some(row) = self.row.take().filter(|row| row.number > 0) else { return };
        self.rows.push(row);
        // The rest is set by the words that follow.
        self.row =
            Some(Shown { number: 0, spans: Spans::Many(Vec::new()), visibility: Visibility::Plain, begins: false });
    }

    fn words(&mut self, words: &str, at: usize, voice: Option<Voice>) {
        if self.row.as_ref().is_none_or(|row| row.number == 0) {
            let number = self.starts.partition_point(|start| *start <= at);
            let prefix = std::mem::take(&mut self.prefix);
            let spans = if prefix.is_empty() { Vec::new() } else { vec![(Voice::Plain, Cow::Borrowed(prefix))] };
            let spans = Spans::Many(spans);
            let begins = self.row.is_none();
            self.row = Some(Shown { number, spans, visibility: self.visibility(at), begins });
        }
        let inner = self.open.iter().map(|(_, voice)| *voice).find(|voice| *voice != Voice::Plain);
        let voice = inner.or(voice).unwrap_or(Voice::Plain);
        // An entity may stand for what nobody sees.
        let words = if words.bytes().all(|byte| byte.is_ascii() && byte != b'\n') {
            Cow::Borrowed(words)
        } else {
            Cow::Owned(visible(words).replace('\n', " "))
        };
        let Some(row) = &mut self.row else { return };
        add(&mut row.spans, voice, &words);
    }

    fn visibility(&self, at: usize) -> Visibility {
        match self.block {
            Block::Code(visibility) if self.quotes == 0 || visibility == Visibility::Unclear => visibility,
            Block::Html => Visibility::Unclear,
            _ if self.quotes > 0 => {
                // A line that goes on with a quotation without its mark may be meant to be none.
                let line = self.starts[self.starts.partition_point(|start| *start <= at) - 1];
                if self.text[line..at].contains('>') { Visibility::Quoted } else { Visibility::Unclear }
            }
            _ if self.open.iter().any(|(_, voice)| *voice == Voice::Styled) => Visibility::Unclear,
            _ => Visibility::Plain,
        }
    }

    fn code(&mut self, words: &str, at: usize) {
        let mut start = at;
        for line in words.split_inclusive('\n') {
            self.end_row();
            self.words(line.trim_end_matches('\n'), start, Some(Voice::Plain));
            start = (start + line.len()).min(self.text.len());
            while !self.text.is_char_boundary(start) {
                start -= 1;
            }
        }
    }

    /// A block of HTML: what stands between its tags, as words that may be meant for nobody. A comment is nothing.
    fn html(&mut self, raw: &str, at: usize) {
        let mut rest = raw;
        while !rest.is_empty() {
            let here = at + raw.len() - rest.len();
            if let Some(comment) = rest.strip_prefix("<!--") {
                // One that nothing closes stays visible.
                let end = comment.find("-->").map_or(0, |end| end + 3);
                rest = &comment[end..];
            } else if let Some(next) = rest.strip_prefix('\n') {
                self.end_row();
                rest = next;
            } else if let Some((tag, after)) = tag(rest) {
                self.inline_html(tag);
                rest = after;
            } else {
                let first = rest.chars().next().map_or(0, char::len_utf8);
                let (words, after) =
                    rest.split_at(rest[first..].find(['<', '\n']).map_or(rest.len(), |end| end + first));
                if !words.trim().is_empty() {
                    self.words(&decoded(words), here, Some(Voice::Plain));
                }
                rest = after;
            }
        }
    }

    /// A tag: a line break, or the beginning or the end of an element that makes something of its words.
    fn inline_html(&mut self, raw: &str) {
        let inside = raw.trim_start_matches('<').trim_end_matches('>');
        let name: String = inside.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let attributes = inside[name.len().min(inside.len())..].to_ascii_lowercase();
        if name.is_empty() || inside.ends_with('/') && name != "br" {
            return;
        }
        let is_block = BLOCKS.contains(&&*name);
        if inside.starts_with('/') {
            self.close(&name);
            if is_block {
                self.line_break();
            }
            return;
        }
        let hides = ["hidden", "style", "class"].iter().any(|word| attributes.contains(word));
        let voice = match name.as_str() {
            _ if (is_block || name == "br") && !hides => return self.line_break(),
            "hr" | "img" | "input" | "wbr" | "col" | "meta" | "link" => return,
            "del" | "s" | "strike" => Voice::Struck,
            "code" | "kbd" | "samp" | "tt" | "q" | "pre" | "blockquote" | "cite" => Voice::Code,
            "template" | "script" | "title" | "textarea" | "noscript" | "select" | "object" | "svg" => Voice::Styled,
            _ if hides => Voice::Styled,
            _ => Voice::Plain,
        };
        if voice != Voice::Plain {
            self.open.push((name, voice));
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|(open, _)| open == name) {
            self.open.remove(at);
        }
    }
}

/// Adds a piece to a row. What the author says in a row is one piece.
fn add(spans: &mut Spans<'static>, voice: Voice, words: &str) {
    let Spans::Many(spans) = spans else { return };
    match spans.last_mut() {
        Some((Voice::Plain, last)) if voice == Voice::Plain => last.to_mut().push_str(words),
        _ => spans.push((voice, Cow::Owned(words.to_owned()))),
    }
}

/// The tag that a text starts with, and what follows it.
fn tag(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('<')?;
    let starts = inside.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/' || first == '!');
    let end = text.find('>').filter(|_| starts)? + 1;
    Some(text.split_at(end))
}

/// A line of HTML with its entities decoded.
fn decoded(words: &str) -> String {
    let events = Parser::new(words.trim_start()).filter_map(|event| match event {
        Event::Text(words) | Event::Code(words) => Some(words.into_string()),
        _ => None,
    });
    events.collect()
}

/// Whether a fenced block has its closing fence.
fn is_closed(block: &str) -> bool {
    let block = block.trim_end();
    let mark = block.trim_start_matches([' ', '>']).chars().next().unwrap_or('`');
    let length = block.trim_start_matches([' ', '>']).chars().take_while(|&found| found == mark).count();
    let last = block.rsplit('\n').next().unwrap_or_default().trim_start_matches([' ', '\t', '>']);
    block.contains('\n') && last.chars().all(|found| found == mark) && last.chars().count() >= length
}
