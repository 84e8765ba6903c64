//! The verdict of a check: what a verifier decided, or why there is no decision. Data only.

mod error_kind;

use crate::text::clean;
pub use error_kind::ErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most characters of a failure's message, and of its hint.
const MAX_TEXT: usize = 4_000;

/// The result of a check or a gate. Only [`Status::Pass`] passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The work is not acceptable.
    Fail,
    /// The work is acceptable.
    Pass,
    /// The verifier should judge the work and cannot: human review is needed.
    Abstain,
    /// There is no answer. Set by the host only.
    Error,
    /// The verifier does not apply to the input. It counts neither for nor against the work.
    NotApplicable,
}

impl Status {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Pass => "pass",
            Self::Abstain => "abstain",
            Self::Error => "error",
            Self::NotApplicable => "not-applicable",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The work must not pass with this.
    Error,
    /// Worth fixing.
    Warning,
    /// Information.
    Note,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// The place of a finding. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The path relative to the root of the workspace.
    pub path: String,
    /// The line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The last line, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The column just past the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
}

impl Place {
    /// Returns whether it ends where it starts or later. Without a last line, it ends in its line.
    pub(crate) fn ends_behind_start(&self) -> bool {
        let Some(line) = self.line else { return self.end_line.is_none() && self.end_column.is_none() };
        let end_line = self.end_line.unwrap_or(line);
        let columns = self.column.zip(self.end_column);
        end_line > line || end_line == line && columns.is_none_or(|(start, end)| start <= end)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}

/// What a finding is about, which decides who has to act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// The work: its author can fix it.
    #[default]
    Work,
    /// The specification or the task: changing the work does not help.
    Specification,
    /// Something that only a person can do.
    Manual,
}

impl Category {
    fn is_work(&self) -> bool {
        *self == Self::Work
    }
}

/// A replacement of a part of a file; see `wit/types.wit`. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The line of the first character that is replaced.
    pub start_line: u32,
    /// The column of the first character that is replaced.
    pub start_column: u32,
    /// The line of the first character that is kept again.
    pub end_line: u32,
    /// The column of the first character that is kept again.
    pub end_column: u32,
    /// The new text.
    pub replacement: String,
}

impl Fix {
    /// The most edits.
    pub(crate) const MAX_EDITS: usize = 10_000;
    /// The most bytes of all replacements.
    pub(crate) const MAX_BYTES: usize = 64 << 10;
}

/// A fix of a finding: edits of the file of its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// What the fix does, in one line.
    pub description: String,
    /// The edits, in the order of the file.
    pub edits: Vec<Edit>,
}

/// One thing that a verifier reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Its code, stable within the verifier.
    pub code: String,
    /// How much it weighs.
    pub level: Level,
    /// What is wrong.
    pub message: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Category::is_work")]
    pub category: Category,
    /// What identifies the finding besides its code and its file, such as the name of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A page that explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Identifies the finding across attempts: a hash of the check, the code, the path, and the key or the text of the line.
    /// Set by the host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
}

impl Finding {
    /// Returns a finding with nothing but a code, a level and a message.
    pub fn new(code: impl Into<String>, level: Level, message: impl Into<String>) -> Self {
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
            fingerprint: String::new(),
        }
    }
}

/// A kind of finding that a verifier can report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// The code of its findings; `*` for all codes that come from the settings.
    pub code: String,
    /// The level that its findings usually have.
    pub level: Level,
    /// What it means, in one line.
    pub summary: String,
    /// How to fix it, and why it matters.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub help: String,
    /// A page that explains it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub url: Option<String>,
}

/// The class of a failure, which decides about retries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The executor reports that it failed.
    ExecutionFailure,
    /// A command, a test or a rule failed on the work.
    VerifyFailure,
    /// A reviewer rejected the work.
    ReviewRejection,
    /// The work is blocked by something else.
    Blocked,
    /// A step exceeded its time limit.
    Timeout,
    /// A report or an answer has the wrong format.
    Malformed,
    /// The verifier failed, not the work. Set by the host only.
    Infra,
    /// Another class, named by the verifier.
    Other(String),
}

impl Class {
    /// The classes that have a name of their own.
    const NAMED: [(&str, Self); 7] = [
        ("execution-failure", Self::ExecutionFailure),
        ("verify-failure", Self::VerifyFailure),
        ("review-rejection", Self::ReviewRejection),
        ("blocked", Self::Blocked),
        ("timeout", Self::Timeout),
        ("malformed", Self::Malformed),
        ("infra", Self::Infra),
    ];

    /// Returns the word used in every report.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            named => Self::NAMED.iter().find(|(_, class)| class == named).map_or("", |(name, _)| name),
        }
    }
}

impl From<String> for Class {
    fn from(word: String) -> Self {
        let named = Self::NAMED.into_iter().find(|(name, _)| *name == word);
        named.map_or(Self::Other(word), |(_, class)| class)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Class {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Class {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Class".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = Self::NAMED.map(|(name, _)| name);
        schemars::json_schema!({ "type": "string", "description": "Which kind of failure this is.", "examples": names })
    }
}

/// A number that a verifier measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[error("{message}")]
pub struct Failure {
    /// The stable name of what happened.
    pub kind: ErrorKind,
    /// What happened, for a person.
    pub message: String,
    /// What to do about it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failure {
    /// Returns a failure without a hint. Texts may contain foreign words, so they are escaped.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: clean(&message.into(), MAX_TEXT), hint: None }
    }

    /// Adds what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(clean(&hint.into(), MAX_TEXT)), ..self }
    }
}

/// The result of one call of a verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What it says.
    pub status: Status,
    /// The confidence, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// One line for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Which kind of failure this is, as the verifier says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Whether a person must decide, whatever the status says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_person: bool,
    /// The measured numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Why there is no answer; present exactly when the status is `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How many findings were left out because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub findings_omitted: u64,
    /// How many findings lost their fix because the fixes were too large.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fixes_omitted: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Verdict {
    /// Returns a verdict with nothing but this status.
    pub fn of(status: Status) -> Self {
        Self {
            status,
            confidence: None,
            summary: String::new(),
            class: None,
            needs_person: false,
            metrics: Vec::new(),
            error: None,
            findings: Vec::new(),
            findings_omitted: 0,
            fixes_omitted: 0,
        }
    }
}

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Self {
        Self { error: Some(failure), ..Self::of(Status::Error) }
    }
}
