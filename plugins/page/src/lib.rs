//! A text as a CommonMark renderer shows it: without markup, with decoded entities, line by line.
//!
//! For verifiers that read prose: the words of each line, and whether the author says or quotes them. Strikethrough and
//! tables are read as on GitHub. Lines are those of the source, so that a finding can name one. A renderer joins the lines of a
//! paragraph, so [`Shown::begins`] tells whether a line starts something new.

mod quick;
mod rendered;
mod words;

use gatehost_sdk::markdown::Visibility;
use rendered::rendered;
use std::borrow::Cow;

pub use quick::starts_entity;
pub use words::{breaks_off, count_words, folded, lowercase, split_words, unspaced};

/// A line as it is shown. There is an empty line between blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'t> {
    /// The number of its line in the source, from 1.
    pub number: usize,
    /// The pieces of the line. A list item starts with `- ` or `1. `, a heading with `# `, and the cells of a table with `| `.
    pub spans: Spans<'t>,
    /// Whether it is the author's own, quoted or hidden.
    pub visibility: Visibility,
    /// Whether it starts something new, instead of continuing the line before.
    pub begins: bool,
}

/// The pieces of a line. Most lines have one, which needs no allocation.
#[derive(Clone, Debug)]
pub enum Spans<'t> {
    /// One piece.
    One([(Voice, Cow<'t, str>); 1]),
    /// Any number of pieces.
    Many(Vec<(Voice, Cow<'t, str>)>),
}

impl<'t> std::ops::Deref for Spans<'t> {
    type Target = [(Voice, Cow<'t, str>)];

    fn deref(&self) -> &Self::Target {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}

impl PartialEq for Spans<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Spans<'_> {}

/// Who says a piece of a line, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// In the author's own words.
    Plain,
    /// As code, or as somebody else's words.
    Code,
    /// Crossed out, or in place of a picture.
    Struck,
    /// In an HTML element with a style or an attribute that may hide it. Evidence against the author counts here; evidence for the
    /// author does not.
    Styled,
}

impl Shown<'_> {
    /// Returns the whole line, with code between backticks and crossed-out text between `~~`.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (voice, words) in &*self.spans {
            match voice {
                Voice::Plain => text.push_str(words),
                Voice::Code => text.extend(["`", &**words, "`"]),
                Voice::Struck => text.extend(["~~", &**words, "~~"]),
                Voice::Styled => text.extend(["<", &**words, ">"]),
            }
        }
        text
    }

    /// Returns whether the line is blank.
    pub fn is_blank(&self) -> bool {
        self.spans.iter().all(|(_, words)| words.trim().is_empty())
    }
}

/// Returns the lines of a text as a renderer shows them.
pub fn shown(text: &str) -> Vec<Shown<'_>> {
    quick::page(text).unwrap_or_else(|| rendered(text))
}

/// Returns the pieces of a single line, as a renderer shows them in a paragraph. `None` if that needs a renderer.
pub fn line(text: &str) -> Option<Spans<'_>> {
    quick::line(text)
}

#[cfg(test)]
mod tests;
