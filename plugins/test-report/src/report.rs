//! What a report says, whatever its format.

use gatehost_sdk::Place;

/// How much is kept of what a failed test says.
const MESSAGE: usize = 600;

/// A report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    pub(crate) skipped: usize,
    pub(crate) failed: Vec<Failed>,
    /// Why it cannot be relied on.
    pub(crate) problem: Option<String>,
}

/// A failed test.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) name: String,
    pub(crate) message: Option<String>,
    pub(crate) place: Option<Place>,
}

impl Failed {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), message: None, place: None }
    }

    pub(crate) fn saying(self, message: &str) -> Self {
        let message = message.trim();
        let short: String = message.chars().take(MESSAGE).collect();
        let cut = if short.len() < message.len() { "…" } else { "" };
        Self { message: (!message.is_empty()).then(|| format!("{short}{cut}")), ..self }
    }

    pub(crate) fn at(self, place: Option<Place>) -> Self {
        Self { place, ..self }
    }
}

impl Report {
    /// A failure that is counted somewhere must be named somewhere; where it is not, it is one all the same.
    pub(crate) fn expect_failures(&mut self, counted: usize) {
        for number in self.failed.len()..counted.min(self.failed.len() + 100) {
            self.failed.push(Failed::new(format!("a test that the report does not name (number {})", number + 1)));
        }
    }
}

/// The number in front of a word, in a text such as `2 failed, 3 passed`.
pub(crate) fn count(text: &str, word: &str) -> usize {
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let pairs = words.windows(2).filter(|pair| pair[1] == word);
    pairs.filter_map(|pair| pair[0].parse::<usize>().ok()).next_back().unwrap_or(0)
}
