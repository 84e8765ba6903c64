//! The content of a report of any format, and how several reports of one run are merged.

use gatehost_sdk::Place;

/// How much is kept of what a failed test says.
const MESSAGE: usize = 600;

/// A report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    pub(crate) skipped: usize,
    pub(crate) failed: Vec<FailedTest>,
    /// Why it cannot be relied on.
    pub(crate) problem: Option<String>,
}

/// A failed test.
#[derive(Clone, Debug)]
pub(crate) struct FailedTest {
    pub(crate) name: String,
    pub(crate) message: Option<String>,
    pub(crate) place: Option<Place>,
    /// Whether the report says which test it is.
    named: bool,
}

impl FailedTest {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), message: None, place: None, named: true }
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

    /// The last word of its name, by which two formats name the same test.
    fn last_word(&self) -> &str {
        let mut words = self.name.split(|character: char| !character.is_alphanumeric() && character != '_');
        words.rfind(|word| !word.is_empty()).unwrap_or_default()
    }
}

impl Report {
    /// A failure that is counted somewhere must be named somewhere; where it is not, it is one all the same.
    pub(crate) fn expect_failures(&mut self, counted: usize) {
        for number in self.failed.len()..counted.min(self.failed.len() + 100) {
            let name = format!("a test that the report does not name (number {})", number + 1);
            self.failed.push(FailedTest { named: false, ..FailedTest::new(name) });
        }
    }

    /// Two reports of one format: of different tests.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.failed.extend(other.failed);
        Self {
            passed: self.passed + other.passed,
            skipped: self.skipped + other.skipped,
            failed: self.failed,
            problem: self.problem.or(other.problem),
        }
    }

    /// Several reports of one run in different formats: of the same tests, perhaps. What one counts, all together have at
    /// least; a failure of any counts, and is told once.
    pub(crate) fn together(mut reports: Vec<Self>) -> Option<Self> {
        reports.sort_by_key(|report| std::cmp::Reverse(report.failed.len()));
        reports.into_iter().reduce(|mut all, other| {
            let counted = other.failed.len();
            for failed in other.failed {
                let known = all.failed.iter().any(|told| told.last_word() == failed.last_word());
                // One without a name may be any of those that have one.
                if !known && (failed.named || all.failed.len() < counted) {
                    all.failed.push(failed);
                }
            }
            Self {
                passed: all.passed.max(other.passed),
                skipped: all.skipped.max(other.skipped),
                failed: all.failed,
                problem: all.problem.or(other.problem),
            }
        })
    }
}

/// The number in front of a word, in a text such as `2 failed, 3 passed`.
pub(crate) fn count(text: &str, word: &str) -> usize {
    count_in(&words(text), word)
}

/// Whether a number above 0 is in front of one of these words.
pub(crate) fn counts_any(text: &str, counted: &[&str]) -> bool {
    let words = words(text);
    counted.iter().any(|word| count_in(&words, word) > 0)
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

fn count_in(words: &[&str], word: &str) -> usize {
    let pairs = words.windows(2).filter(|pair| pair[1] == word);
    pairs.filter_map(|pair| pair[0].parse::<usize>().ok()).next_back().unwrap_or(0)
}

/// The number after a word, in a text such as `Failures: 1, Errors: 2` or `failures=1`.
pub(crate) fn labelled(text: &str, word: &str) -> usize {
    let words = words(text);
    let pairs = words.windows(2).filter(|pair| pair[0].eq_ignore_ascii_case(word));
    pairs.filter_map(|pair| pair[1].parse::<usize>().ok()).next().unwrap_or(0)
}
