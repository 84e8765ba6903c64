//! Constructors for findings, places and verdicts.

use crate::submission::Executor;
use crate::{Content, File, Finding, Level, Place, Status, Submission, Verdict};

impl Verdict {
    /// The work is acceptable.
    pub fn pass() -> Self {
        Self { status: Status::Pass, confidence: None, summary: String::new(), findings: Vec::new(), class: None }
    }

    /// The work is not acceptable, for these reasons.
    pub fn fail(summary: impl Into<String>, findings: Vec<Finding>) -> Self {
        Self { status: Status::Fail, summary: summary.into(), findings, ..Self::pass() }
    }

    /// The verdict that rests on these findings: a failure if one of them is an error.
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        let findings: Vec<Finding> = findings.into_iter().collect();
        let wrong = findings.iter().any(|finding| finding.level == Level::Error);
        Self { status: if wrong { Status::Fail } else { Status::Pass }, findings, ..Self::pass() }
    }

    /// This verifier cannot judge, for this reason.
    pub fn abstain(summary: impl Into<String>) -> Self {
        Self { status: Status::Abstain, summary: summary.into(), ..Self::pass() }
    }
}

impl From<Finding> for Verdict {
    /// The verdict that rests on one finding: a failure if it is an error.
    fn from(finding: Finding) -> Self {
        Self::of([finding])
    }
}

impl From<Vec<Finding>> for Verdict {
    /// The verdict that rests on what was found: a failure if there is an error among it.
    fn from(findings: Vec<Finding>) -> Self {
        Self::of(findings)
    }
}

impl Finding {
    fn new(level: Level, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.into(), level, message: message.into(), place: None, hint: None }
    }

    /// Something that must not pass.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Error, code, message)
    }

    /// Something worth repairing.
    pub fn warning(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Warning, code, message)
    }

    /// Information.
    pub fn note(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Note, code, message)
    }

    /// Where it is.
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// What to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Its code, line and column, where it has all three: what a test of a verifier compares.
    pub fn spot(&self) -> Option<(String, u32, u32)> {
        let place = self.place.as_ref()?;
        Some((self.code.clone(), place.line?, place.column?))
    }
}

impl Place {
    /// A whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, column: None, end_line: None, end_column: None }
    }

    /// A whole file, where the host would take the path for one inside the work: relative, and without `.` and `..`.
    pub fn inside(path: &str) -> Option<Self> {
        let good = |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
        let inside = path.len() < 1_000 && !path.contains(['\\', '\0']) && path.split('/').all(good);
        inside.then(|| Self::file(path))
    }

    /// A line and a column, both from 1.
    pub fn position(self, line: u32, column: u32) -> Self {
        Self { line: Some(line), column: Some(column), ..self }
    }
}

/// A line and a column, both from 1, in Unicode characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl TextPosition {
    /// The position of the byte at `offset`, or of the end where the text is shorter.
    pub fn of(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX - 1) + 1;
        Self {
            line: count(before.bytes().filter(|&byte| byte == b'\n').count()),
            column: count(before[line_start..].chars().count()),
        }
    }
}

impl File {
    /// A file as the host hands it over: as text where it is UTF-8.
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let content = match String::from_utf8(bytes.into()) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Binary(error.into_bytes()),
        };
        Self { path: path.into(), content }
    }

    /// The text, or `None` where the file is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Binary(_) => None,
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text.as_bytes(),
            Content::Binary(bytes) => bytes,
        }
    }

    /// The place of the byte at `offset`.
    pub fn place_of(&self, offset: usize) -> Place {
        match self.text() {
            Some(text) => {
                let TextPosition { line, column } = TextPosition::of(text, offset);
                Place::file(&self.path).position(line, column)
            }
            None => Place::file(&self.path),
        }
    }
}

/// Nothing was submitted: for tests that fill in what they are about.
impl Default for Submission {
    fn default() -> Self {
        Self {
            task: None,
            claim: None,
            tool_calls: Vec::new(),
            changes: Vec::new(),
            attempt: 1,
            executor: Executor { name: None, model: None, family: None, session: None },
            prior_findings: Vec::new(),
            evidence: Vec::new(),
            evaluator: None,
            base: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "a\nöb\n";
        for (offset, line, column) in [(0, 1, 1), (1, 1, 2), (2, 2, 1), (3, 2, 1), (4, 2, 2), (6, 3, 1), (99, 3, 1)] {
            assert_eq!(TextPosition::of(text, offset), TextPosition { line, column }, "at {offset}");
        }
    }

    #[test]
    fn a_warning_alone_does_not_fail() {
        assert_eq!(Verdict::from(Finding::warning("w", "odd")).status, Status::Pass);
        assert_eq!(Verdict::from(Finding::error("e", "wrong")).status, Status::Fail);
    }
}
