//! Reads a stream of documents, and checks what the parser does not: missing and duplicate keys, tabs before a block, and
//! entries of flow collections that are not indented.

use crate::{Problem, Settings, kind};
use gatehost_sdk::Level;
use gatehost_sdk::text::one_line;
use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// As libyaml has it.
const MOST_NESTING: usize = 1_000;

/// Read the stream from `start` on. Returns where it could not be read any further.
pub(crate) fn read(text: &str, start: usize, settings: &Settings, found: &mut Vec<Problem>) -> Option<usize> {
    let mut options = Options::default();
    options.flow_nesting_limit = MOST_NESTING;
    options.block_nesting_limit = MOST_NESTING;
    let mut parser = Parser::new_from_str_with_options(&text[start..], options);
    let mut keys = Keys { text, start, settings, open: Vec::new(), blocks: Vec::new() };
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => {
                let unindented = keys.unindented(&event, &span);
                let odd = keys.see(event, &span).or(unindented);
                // An error that comes after many odd keys must still find a place.
                found.extend(odd.filter(|_| found.len() < crate::MOST_FINDINGS));
            }
            Err(error) => {
                let error = problem(&error, text, start);
                let at = error.at;
                found.push(error);
                return Some(at);
            }
        }
    }
    None
}

fn problem(error: &ScanError, text: &str, start: usize) -> Problem {
    let (code, hint) = kind::code(error.kind());
    let at = start + error.marker().byte_offset().unwrap_or_default();
    let message = match code {
        "too-deep" => format!("the nesting is deeper than {MOST_NESTING} levels, the limit of libyaml"),
        _ => error.info(),
    };
    let at = at.min(text.len());
    Problem { level: Level::Error, code, message, hint, at, is_continued: kind::is_continued(error.kind()) }
}

/// The collections that are open, and the keys of those that are mappings.
struct Keys<'a> {
    text: &'a str,
    start: usize,
    settings: &'a Settings,
    open: Vec<Open<'a>>,
    /// For each of these, the column of the innermost block that it is, or is in, and whether it is a flow collection.
    blocks: Vec<(Option<usize>, bool)>,
}

enum Open<'a> {
    Sequence,
    Mapping {
        /// Whether the next node is a key.
        key: bool,
        /// The keys so far, and whether each is plain: `1` and `"1"` are two.
        seen: BTreeSet<(Cow<'a, str>, bool)>,
    },
}

impl<'a> Keys<'a> {
    fn see(&mut self, event: Event<'a>, span: &Span) -> Option<Problem> {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let is_missing = plain && anchor == 0 && tag.is_none() && self.is_missing(span);
                let seen = self.keys_for_node()?;
                if is_missing {
                    let level = self.settings.empty_keys.level()?;
                    let hint = Some("write the key; an empty key is `\"\"`");
                    return self.odd(level, "empty-key", "expected a key before `:`".to_owned(), hint, span);
                }
                // `<<` merges, and may do so twice.
                if value == "<<" || seen.insert((value.clone(), plain)) {
                    return None;
                }
                let message = format!("the key `{}` occurs twice in one mapping", one_line(&value));
                self.odd(self.settings.duplicate_keys.level()?, "duplicate-key", message, None, span)
            }
            Event::Alias(_) => {
                self.keys_for_node();
                None
            }
            Event::SequenceStart(style, ..) => {
                self.keys_for_node();
                self.open.push(Open::Sequence);
                self.open_block(style, span);
                self.tab_before(style, span)
            }
            Event::MappingStart(style, ..) => {
                self.keys_for_node();
                self.open.push(Open::Mapping { key: true, seen: BTreeSet::new() });
                self.open_block(style, span);
                self.tab_before(style, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.blocks.pop();
                None
            }
            _ => None,
        }
    }

    fn open_block(&mut self, style: StructureStyle, span: &Span) {
        let is_flow = style != StructureStyle::Block;
        let outer = self.blocks.last().and_then(|(column, _)| *column);
        let column = if is_flow || self.is_unindented(span) { outer } else { self.column(span) };
        self.blocks.push((column, is_flow));
    }

    /// Whether the block that was opened last is a sequence that is a value of a mapping and not indented further than it. The
    /// parser says of these alone that they start behind their first `-`.
    fn is_unindented(&self, span: &Span) -> bool {
        let [.., Open::Mapping { .. }, Open::Sequence] = self.open[..] else { return false };
        let Some(at) = span.start.byte_offset().map(|offset| self.start + offset) else { return false };
        let line = self.text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        !self.text[at..].starts_with('-') || !self.text[line..at].trim_start_matches([' ', '\u{FEFF}']).is_empty()
    }

    /// How many characters stand before a node on its line.
    fn column(&self, span: &Span) -> Option<usize> {
        let before = &self.text[..self.start + span.start.byte_offset()?];
        Some(before[before.rfind(['\n', '\r']).map_or(0, |end| end + 1)..].chars().count())
    }

    /// An entry of a flow collection that starts a line, no further to the right than the block around it. A bracket that
    /// closes one may stand there: everybody writes that.
    fn unindented(&self, event: &Event<'a>, span: &Span) -> Option<Problem> {
        let is_node =
            matches!(event, Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..));
        let Some((Some(column), true)) = self.blocks.last().filter(|_| is_node) else { return None };
        let at = self.start + span.start.byte_offset()?;
        let before = self.text[..at].trim_end_matches([' ', '\t']);
        let is_first = before.ends_with(['\n', '\r']) && !self.text[at..].starts_with([']', '}', ',']);
        if !is_first || at - before.len() > *column {
            return None;
        }
        let level = self.settings.flow_indentation.level()?;
        let message = "an entry of `[…]` or `{…}` is not indented further than the block around it".to_owned();
        self.odd(level, "indentation", message, Some("indent the line"), span)
    }

    /// A node is here: where it is a key, the keys before it.
    fn keys_for_node(&mut self) -> Option<&mut BTreeSet<(Cow<'a, str>, bool)>> {
        match self.open.last_mut() {
            Some(Open::Mapping { key, seen }) => {
                *key = !*key;
                (!*key).then_some(seen)
            }
            _ => None,
        }
    }

    /// Whether a node that is a key is not written: `: value`, and not `?` followed by nothing, which libyaml accepts.
    fn is_missing(&self, span: &Span) -> bool {
        let Some(at) = span.start.byte_offset().map(|offset| self.start + offset) else { return false };
        self.text[at..].starts_with(':') && span.is_empty() && !self.text[..at].trim_end().ends_with('?')
    }

    /// A block's indentation is spaces. The parser counts a tab as one before the first line of a block.
    fn tab_before(&self, style: StructureStyle, span: &Span) -> Option<Problem> {
        if style != StructureStyle::Block {
            return None;
        }
        let at = self.start + span.start.byte_offset()?;
        let line = self.text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        // Behind anything but marks of blocks a tab is not indentation.
        let indent = self.text[line..at].split(|char| !"\u{FEFF} \t-?:".contains(char)).next()?;
        let at = line + indent.find('\t')?;
        let (code, hint) = kind::TAB_AS_INDENTATION;
        let message = "a tab indents a block; YAML allows only spaces".to_owned();
        Some(Problem { level: Level::Error, code, message, hint: Some(hint), at, is_continued: false })
    }

    fn odd(
        &self,
        level: Level,
        code: &'static str,
        message: String,
        hint: Option<&'static str>,
        span: &Span,
    ) -> Option<Problem> {
        Some(Problem { level, code, message, hint, at: self.start + span.start.byte_offset()?, is_continued: false })
    }
}
