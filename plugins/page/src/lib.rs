//! A text as a CommonMark renderer shows it: without markup, with decoded entities, line by line.
//!
//! For verifiers that read prose: what the page says, where, and whether the author says it or quotes it. Strikethrough and
//! tables are read as on GitHub. Lines are those of the source, so that a finding can name one. A renderer joins the lines of a
//! paragraph, so [`Shown::begins`] tells whether a line starts something new.

mod words;

use gatehost_sdk::markdown::Visibility;
use gatehost_sdk::text::visible;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

pub use words::{breaks_off, folded, unspaced};

/// A line that is shown. Between blocks there is an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The number of its line in the source, from 1.
    pub number: usize,
    /// What stands on it. A list item starts with `- ` or `1. `, a heading with `# `, and the cells of a table with `| `.
    pub spans: Vec<(Voice, String)>,
    /// How it stands there.
    pub visibility: Visibility,
    /// Whether it starts something new, and does not go on with the line before.
    pub begins: bool,
}

/// How a piece of a line is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// In the author's own words.
    Plain,
    /// As code, or as somebody else's words.
    Code,
    /// Crossed out, or in place of a picture.
    Struck,
    /// In an element of HTML with a style or an attribute that may hide it. Read what speaks against the author, and
    /// nothing that speaks for him.
    Styled,
}

impl Shown {
    /// The whole line, code between backticks and what is crossed out between `~~`.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (voice, words) in &self.spans {
            match voice {
                Voice::Plain => text.push_str(words),
                Voice::Code => text.extend(["`", words, "`"]),
                Voice::Struck => text.extend(["~~", words, "~~"]),
                Voice::Styled => text.extend(["<", words, ">"]),
            }
        }
        text
    }

    /// Whether nothing stands on it.
    pub fn is_blank(&self) -> bool {
        self.spans.iter().all(|(_, words)| words.trim().is_empty())
    }
}

/// The lines of a text as a renderer shows them.
pub fn shown(text: &str) -> Vec<Shown> {
    plain(text).unwrap_or_else(|| rendered(text))
}

/// The lines of a text without any markup, which need no renderer: starting a renderer takes longer than all the rest.
fn plain(text: &str) -> Option<Vec<Shown>> {
    let mut rows: Vec<Shown> = Vec::new();
    let mut begins = true;
    for (number, line) in (1..).zip(text.split('\n')) {
        let line = line.trim_end_matches(' ');
        if line.is_empty() {
            begins = true;
            continue;
        }
        let bytes = line.as_bytes();
        let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let is_plain = |(at, byte): (usize, &u8)| match byte {
            // Emphasis starts or ends at the edge of a word.
            b'_' => at > 0 && is_word(at - 1) && is_word(at + 1),
            _ => byte.is_ascii_alphanumeric() || b" .,;:!?'\"()/%$@+-".contains(byte),
        };
        if !bytes[0].is_ascii_alphabetic() || !bytes.iter().enumerate().all(is_plain) {
            return None;
        }
        if let Some(last) = rows.last().filter(|_| begins) {
            rows.push(Shown { number: last.number, spans: Vec::new(), visibility: Visibility::Plain, begins: true });
        }
        let spans = vec![(Voice::Plain, line.to_owned())];
        rows.push(Shown { number, spans, visibility: Visibility::Plain, begins });
        begins = false;
    }
    Some(rows)
}

fn rendered(text: &str) -> Vec<Shown> {
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
fn normal(text: &str) -> String {
    let one = visible(text).replace("\r\n", "\n");
    let ends = ['\r', '\u{B}', '\u{C}', '\u{85}', '\u{2028}', '\u{2029}'];
    one.replace(ends, "\n")
}

/// Elements of HTML that stand on lines of their own.
const BLOCKS: &str = "p div li tr td th dt dd summary details section article header footer h1 h2 h3 h4 h5 h6";

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
    rows: Vec<Shown>,
    row: Option<Shown>,
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
                    row.spans.push((Voice::Plain, " ".to_owned()));
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
            let blank = Shown { number: last.number, spans: Vec::new(), visibility: Visibility::Plain, begins: true };
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
        self.row = Some(Shown { number: 0, spans: Vec::new(), visibility: Visibility::Plain, begins: false });
    }

    fn words(&mut self, words: &str, at: usize, voice: Option<Voice>) {
        if self.row.as_ref().is_none_or(|row| row.number == 0) {
            let number = self.starts.partition_point(|start| *start <= at);
            let prefix = std::mem::take(&mut self.prefix);
            let spans = if prefix.is_empty() { Vec::new() } else { vec![(Voice::Plain, prefix.to_owned())] };
            let begins = self.row.is_none();
            self.row = Some(Shown { number, spans, visibility: self.visibility(at), begins });
        }
        let inner = self.open.iter().map(|(_, voice)| *voice).find(|voice| *voice != Voice::Plain);
        let voice = inner.or(voice).unwrap_or(Voice::Plain);
        // An entity may stand for what nobody sees.
        let words = visible(words).replace('\n', " ");
        let Some(row) = &mut self.row else { return };
        match row.spans.last_mut() {
            Some((last, words_so_far)) if *last == voice && voice == Voice::Plain => words_so_far.push_str(&words),
            _ => row.spans.push((voice, words)),
        }
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
        let is_block = BLOCKS.split(' ').any(|block| block == name);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Vec<(usize, String, Visibility)> {
        shown(text)
            .into_iter()
            .filter(|row| !row.is_blank())
            .map(|row| (row.number, row.text(), row.visibility))
            .collect()
    }

    #[test]
    fn a_line_is_what_a_reader_sees() {
        use Visibility::{Plain, Quoted, Unclear};
        for (text, expected) in [
            ("", &[][..]),
            ("a **b** _c_ [d](e) <b>f</b>", &[(1, "a b c d f", Plain)]),
            ("F**AI**L &#70;AIL F&shy;AIL", &[(1, "FAIL FAIL FAIL", Plain)]),
            ("a\nb\\\nc<br>d", &[(1, "a", Plain), (2, "b", Plain), (3, "c", Plain), (3, "d", Plain)]),
            (
                "# a\n\n- b\n- [x] c\n\n1. d",
                &[(1, "# a", Plain), (3, "- b", Plain), (4, "- [x] c", Plain), (6, "1. d", Plain)],
            ),
            ("~~a~~ `b` <del>c</del> ![d](e)", &[(1, "~~a~~ `b` ~~c~~ ~~d~~", Plain)]),
            ("> a\nb\n\nc", &[(1, "a", Quoted), (2, "b", Unclear), (4, "c", Plain)]),
            ("```\na\nb\n```\nc", &[(2, "a", Quoted), (3, "b", Quoted), (5, "c", Plain)]),
            ("```\na", &[(2, "a", Unclear)]),
            ("    a", &[(1, "a", Unclear)]),
            ("<!-- a -->\nb", &[(2, "b", Plain)]),
            ("<!-- a --> b", &[(1, "b", Unclear)]),
            ("a <!-- b --> c", &[(1, "a  c", Plain)]),
            ("<!-- a\nb", &[(1, "a", Unclear), (2, "b", Unclear)]),
            ("<!--\na\n-->\nb", &[(4, "b", Plain)]),
            ("[//]: # (a)\n\nb", &[(3, "b", Plain)]),
            ("<div>\na &#98;\n</div>\n\nc", &[(2, "a b", Unclear), (5, "c", Plain)]),
            ("<div hidden>\n\na\n\n</div>\n\nb", &[(3, "<a>", Unclear), (7, "b", Plain)]),
            (
                "<details><summary>a</summary>b</details>\n\n<h1>c</h1>d",
                &[(1, "a", Unclear), (1, "b", Unclear), (3, "c", Unclear), (3, "d", Unclear)],
            ),
            ("| a | b |\n|---|---|\n| c | d |", &[(1, "| a | b ", Plain), (3, "| c | d ", Plain)]),
            ("\u{FEFF}a\rb\u{2028}c", &[(1, "a", Plain), (2, "b", Plain), (3, "c", Plain)]),
            ("\\*a\\* &lt;b&gt;", &[(1, "*a* <b>", Plain)]),
        ] {
            let expected: Vec<(usize, String, Visibility)> =
                expected.iter().map(|&(number, text, visibility)| (number, text.to_owned(), visibility)).collect();
            assert_eq!(page(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_without_markup_reads_as_rendered() {
        for text in [
            "",
            "\n\n",
            "All tests pass.\n\nTASK_COMPLETE\n",
            "All tests pass. This is not\nTASK_COMPLETE",
            "a  \nb \n\n\n\nc's \"d\" (e): f/g, 100 % - h; i!\n",
            "see http://example.com/a_b and me@example.com: it's - fine",
            "a --\nb ---\nc",
            "x\n  \ny",
        ] {
            assert_eq!(plain(text).as_deref(), Some(&*rendered(text)), "{text:?}");
        }
        // And whatever else counts as plain.
        let alphabet: Vec<char> = "abT1 _-.:()'\"\n+/!".chars().collect();
        let mut state: u32 = 7;
        let mut compared = 0;
        for _ in 0..5_000 {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) as usize
            };
            let length = next() % 14;
            let text: String = (0..length).map(|_| alphabet[next() % alphabet.len()]).collect();
            if let Some(plain) = plain(&text) {
                assert_eq!(plain, rendered(&text), "{text:?}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
        for marked in [
            "a\n---", "- a", "1. a", "a\n===", " a", "a\tb", "a_ b", "_a", "*a*", "a\\b", "&lt;", "é", "a\r\nb", "`a`",
            "+ a",
        ] {
            assert_eq!(plain(marked), None, "{marked:?}");
        }
    }

    #[test]
    fn a_line_begins_or_goes_on() {
        let begins =
            |text: &str| shown(text).iter().filter(|row| !row.is_blank()).map(|row| row.begins).collect::<Vec<_>>();
        assert_eq!(begins("a\nb\n\nc"), [true, false, true]);
        assert_eq!(begins("- a\nb\n- c"), [true, false, true]);
    }

    #[test]
    fn a_long_text_of_marks_takes_no_longer_than_its_length() {
        for mark in ["[", "> ", "`", "<b>", "&", "~~a", "| "] {
            let text = mark.repeat(100_000);
            assert!(shown(&text).len() <= 100_001, "{mark}");
        }
    }
}
