//! Constructors for findings, places and verdicts.

use crate::submission::{Change, ChangeKind, ChangeState, CommandEvidence, Evaluator, Evidence, Executor, Outcome};
use crate::submission::{Task, TaskSource};
use crate::{Category, Class, Content, Edit, File, Finding, Fix, Level, Metric, Place, Status, Submission, Verdict};

impl Verdict {
    /// Returns `pass`: the work is acceptable.
    pub fn pass() -> Self {
        Self {
            status: Status::Pass,
            confidence: None,
            summary: String::new(),
            findings: Vec::new(),
            class: None,
            needs_person: false,
            metrics: Vec::new(),
        }
    }

    /// Returns `fail`: the work is not acceptable, for these reasons.
    pub fn fail(summary: impl Into<String>, findings: Vec<Finding>) -> Self {
        Self { status: Status::Fail, summary: summary.into(), findings, ..Self::pass() }
    }

    /// Returns the verdict for these findings: a failure if one of them is an error.
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        let findings: Vec<Finding> = findings.into_iter().collect();
        let wrong = findings.iter().any(|finding| finding.level == Level::Error);
        Self { status: if wrong { Status::Fail } else { Status::Pass }, findings, ..Self::pass() }
    }

    /// Returns `abstain`: the verifier should check the input but cannot, for this reason.
    pub fn abstain(summary: impl Into<String>) -> Self {
        Self { status: Status::Abstain, summary: summary.into(), ..Self::pass() }
    }

    /// Returns `not-applicable`: the input does not concern this verifier, for this reason.
    pub fn not_applicable(summary: impl Into<String>) -> Self {
        Self { status: Status::NotApplicable, summary: summary.into(), ..Self::pass() }
    }

    /// Sets the failure class.
    pub fn class(self, class: Class) -> Self {
        Self { class: Some(class), ..self }
    }

    /// Requests a decision by a person, whatever the status is.
    pub fn needs_person(self) -> Self {
        Self { needs_person: true, ..self }
    }

    /// Adds a measured number.
    pub fn metric(mut self, name: &str, value: f64) -> Self {
        self.metrics.push(Metric { name: name.into(), value });
        self
    }
}

impl From<Finding> for Verdict {
    /// Returns the verdict for one finding: a failure if it is an error.
    fn from(finding: Finding) -> Self {
        Self::of([finding])
    }
}

impl From<Vec<Finding>> for Verdict {
    /// Returns the verdict for these findings: a failure if one of them is an error.
    fn from(findings: Vec<Finding>) -> Self {
        Self::of(findings)
    }
}

impl Finding {
    fn new(level: Level, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            level,
            message: message.into(),
            place: None,
            hint: None,
            category: Category::Work,
            key: None,
            url: None,
            fix: None,
        }
    }

    /// Returns a finding of level `error`: the work must not pass with it.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Error, code, message)
    }

    /// Returns a finding of level `warning`: worth fixing.
    pub fn warning(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Warning, code, message)
    }

    /// Returns a finding of level `note`: information.
    pub fn note(code: &str, message: impl Into<String>) -> Self {
        Self::new(Level::Note, code, message)
    }

    /// Sets the place.
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Sets the hint: what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets the category, if the finding is not about the work.
    pub fn category(self, category: Category) -> Self {
        Self { category, ..self }
    }

    /// Sets the key, which identifies the finding besides its code and file, such as the name of a test.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Adds a fix: edits of the file, in the order of the file.
    pub fn fix(self, description: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self { fix: Some(Fix { description: description.into(), edits }), ..self }
    }

    /// Returns the code, line and column, if it has all three. For tests of a verifier.
    pub fn spot(&self) -> Option<(String, u32, u32)> {
        let place = self.place.as_ref()?;
        Some((self.code.clone(), place.line?, place.column?))
    }
}

impl Place {
    /// Returns the place of a whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, column: None, end_line: None, end_column: None }
    }

    /// Returns the place of a whole file, if the path is inside the workspace: relative, and without `.` and `..`.
    pub fn inside(path: &str) -> Option<Self> {
        let good = |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
        let inside = path.len() < 1_000 && !path.contains(['\\', '\0']) && path.split('/').all(good);
        inside.then(|| Self::file(path))
    }

    /// Sets the line and the column, both from 1.
    pub fn position(self, line: u32, column: u32) -> Self {
        Self { line: Some(line), column: Some(column), ..self }
    }
}

impl Edit {
    /// Returns the edit that replaces the bytes from `start` to `end` of a text.
    pub fn replace(text: &str, start: usize, end: usize, replacement: impl Into<String>) -> Self {
        let (from, to) = (TextPosition::of(text, start), TextPosition::of(text, end));
        Self {
            start_line: from.line,
            start_column: from.column,
            end_line: to.line,
            end_column: to.column,
            replacement: replacement.into(),
        }
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
    /// Returns the position of the byte at `offset`, or of the end if the text is shorter.
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
    /// Returns a file as the host passes it: as text if it is UTF-8.
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let content = match String::from_utf8(bytes.into()) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Binary(error.into_bytes()),
        };
        Self { path: path.into(), content, executable: false, link_target: None }
    }

    /// Returns the text, or `None` if the file is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Binary(_) | Content::Missing => None,
        }
    }

    /// Returns the bytes; empty for a broken symlink.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text.as_bytes(),
            Content::Binary(bytes) => bytes,
            Content::Missing => &[],
        }
    }

    /// Returns the place of the byte at `offset`.
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

impl Class {
    /// Returns its name in reports.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ExecutionFailure => "execution-failure",
            Self::VerifyFailure => "verify-failure",
            Self::ReviewRejection => "review-rejection",
            Self::Blocked => "blocked",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::Other(word) => word,
        }
    }
}

// Values of which nothing is known: for tests, which fill in what they are about.

#[expect(clippy::derivable_impls, reason = "the type is generated from wit/")]
impl Default for Executor {
    fn default() -> Self {
        Self { name: None, model: None, family: None, session: None, ended: None }
    }
}

#[expect(clippy::derivable_impls, reason = "the type is generated from wit/")]
impl Default for Evaluator {
    fn default() -> Self {
        Self { completed: false, text: String::new(), name: None, model: None, session: None }
    }
}

impl Default for Change {
    fn default() -> Self {
        Self {
            path: String::new(),
            kind: ChangeKind::Added,
            state: ChangeState::Untracked,
            old_path: None,
            size: None,
            hunks: None,
            old_mode: None,
            new_mode: None,
        }
    }
}

impl Default for Task {
    fn default() -> Self {
        Self {
            id: String::new(),
            title: String::new(),
            description: String::new(),
            acceptance_criteria: Vec::new(),
            done_criteria: Vec::new(),
            verify: None,
            phase: None,
            previous_phase: None,
            index: None,
            total: None,
            expected_outputs: Vec::new(),
            files: Vec::new(),
            tier: None,
            source: TaskSource::Author,
            group: None,
            depends_on: Vec::new(),
            size: None,
            commit: None,
        }
    }
}

#[expect(clippy::derivable_impls, reason = "the type is generated from wit/")]
impl Default for CommandEvidence {
    fn default() -> Self {
        Self {
            name: String::new(),
            argv: Vec::new(),
            exit_code: None,
            signal: None,
            timed_out: false,
            output: String::new(),
            stdout_length: 0,
            stdout_sha256: String::new(),
            stderr_length: 0,
            stderr_sha256: String::new(),
            started: String::new(),
            duration_ms: 0,
            sandbox: String::new(),
            on_base: false,
            replayed: false,
        }
    }
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            check: String::new(),
            verifier: String::new(),
            outcome: Outcome::Fail,
            summary: String::new(),
            findings: Vec::new(),
            commands: Vec::new(),
            digest: String::new(),
            class: None,
            confidence: None,
            models: Vec::new(),
        }
    }
}

impl Default for Submission {
    fn default() -> Self {
        Self {
            task: None,
            claim: None,
            tool_calls: Vec::new(),
            changes: Vec::new(),
            attempt: 1,
            executor: Executor::default(),
            prior_findings: Vec::new(),
            evidence: Vec::new(),
            evaluator: None,
            base: None,
            attempts_allowed: None,
            review: None,
            tree_digest: None,
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
