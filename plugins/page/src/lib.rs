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
    quick::plain(text).unwrap_or_else(|| rendered(text))
}

#[cfg(test)]
mod tests;
