//! A text as a CommonMark renderer shows it: without markup, with decoded entities, line by line.
//!
//! For verifiers that read prose: what the page says, where, and whether the author says it or quotes it. Strikethrough and
//! tables are read as on GitHub. Lines are those of the source, so that a finding can name one. A renderer joins the lines of a
//! paragraph, so [`Shown::begins`] tells whether a line starts something new.

mod quick;
mod rendered;
mod words;

use gatehost_sdk::markdown::Visibility;
use rendered::rendered;
use std::borrow::Cow;

pub use words::{breaks_off, count_words, folded, lowercase, split_words, unspaced};

/// A line that is shown. Between blocks there is an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'t> {
    /// The number of its line in the source, from 1.
    pub number: usize,
    /// What stands on it. A list item starts with `- ` or `1. `, a heading with `# `, and the cells of a table with `| `.
    pub spans: Spans<'t>,
    /// How it stands there.
    pub visibility: Visibility,
    /// Whether it starts something new, and does not go on with the line before.
    pub begins: bool,
}

/// The pieces of a line. Most lines have one, which needs no memory of its own.
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

impl Shown<'_> {
    /// The whole line, code between backticks and what is crossed out between `~~`.
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

    /// Whether nothing stands on it.
    pub fn is_blank(&self) -> bool {
        self.spans.iter().all(|(_, words)| words.trim().is_empty())
    }
}

/// The lines of a text as a renderer shows them.
pub fn shown(text: &str) -> Vec<Shown<'_>> {
    quick::page(text).unwrap_or_else(|| rendered(text))
}

/// The pieces of a line by itself, as a renderer shows them in a paragraph. `None` if it takes a renderer to say.
pub fn line(text: &str) -> Option<Spans<'_>> {
    quick::line(text)
}

#[cfg(test)]
mod tests;
