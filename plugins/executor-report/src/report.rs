//! The fields of a report.

use crate::Field;
use serde::Deserialize;
use serde_json::Value;

/// What the executor says of itself. Fields that are not known are its own business.
#[derive(Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) status: Reported,
    pub(crate) task_name: Option<String>,
    pub(crate) files_modified: Option<Vec<String>>,
    pub(crate) verification: Option<Verification>,
    pub(crate) done_criteria_met: Option<bool>,
    /// A text, or a list of what was seen.
    pub(crate) evidence: Option<Value>,
    pub(crate) error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reported {
    Success,
    Failure,
    Blocked,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Verification {
    pub(crate) command: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) output_summary: Option<String>,
}

impl Report {
    /// A field's name, and whether the report says something in it.
    pub(crate) fn has(&self, field: Field) -> (&'static str, bool) {
        let says = |text: &Option<String>| text.as_deref().is_some_and(|text| !is_nothing(text));
        match field {
            Field::TaskName => ("task_name", says(&self.task_name)),
            Field::FilesModified => ("files_modified", self.files_modified.is_some()),
            Field::OutputSummary => {
                ("verification.output_summary", self.verification.as_ref().is_some_and(|run| says(&run.output_summary)))
            }
            Field::Evidence => {
                let says = |value: &Value| match value {
                    Value::String(text) => !is_nothing(text),
                    Value::Array(items) => !items.is_empty(),
                    Value::Object(fields) => !fields.is_empty(),
                    Value::Null | Value::Bool(_) | Value::Number(_) => false,
                };
                ("evidence", self.evidence.as_ref().is_some_and(says))
            }
        }
    }
}

/// Whether a text only says that there is none.
pub(crate) fn is_nothing(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || ["none", "null", "n/a", "-"].iter().any(|nothing| text.eq_ignore_ascii_case(nothing))
}
