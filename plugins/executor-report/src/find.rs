//! Finds the report, next to the claim or in its text, and reads it.

use crate::report::Report;
use gatehost_sdk::markdown;
use gatehost_sdk::submission::Claim;
use gatehost_sdk::text::one_line;
use serde_json::Value;

const KEYS: [&str; 3] = ["status", "verification", "done_criteria_met"];
const LANGUAGES: [&str; 4] = ["", "yaml", "yml", "json"];

/// Why there is no report: the code and the message of a finding.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

fn unreadable(code: &'static str, message: impl Into<String>) -> Unreadable {
    Unreadable { code, message: message.into() }
}

/// The report of a claim, or why there is none.
pub(crate) fn report(claim: Option<&Claim>) -> Result<Report, Unreadable> {
    let Some(claim) = claim else {
        return Err(unreadable("no-claim", "the submission has no claim, so there is no report"));
    };
    if let Some(beside) = &claim.report {
        return read(beside, value(beside)?);
    }
    let mut reports = Vec::new();
    let mut broken = None;
    for block in markdown::fenced(&claim.text).iter().filter(|block| is_data(block.language)) {
        match value(block.body) {
            Ok(value) if looks_like_one(&value) => reports.push((block.body, value)),
            Ok(_) => {}
            // Somebody else's YAML need not be ours to read; what starts like a report should be.
            Err(why) if starts_like_one(block.body) => broken = broken.or(Some(why)),
            Err(_) => {}
        }
    }
    match (reports.pop(), broken) {
        (Some(_), _) if !reports.is_empty() => {
            Err(unreadable("two-reports", format!("the claim has {} reports; expected one", reports.len() + 1)))
        }
        (_, Some(why)) => Err(why),
        (Some((text, value)), None) => read(text, value),
        (None, None) => match value(&claim.text) {
            Ok(value) if looks_like_one(&value) => read(&claim.text, value),
            Err(why) if starts_like_one(&claim.text) => Err(why),
            _ => Err(unreadable(
                "no-report",
                "the claim has no structured report, neither in `claim.report` nor in its text",
            )),
        },
    }
}

/// Whether a block may be a report: `yaml`, `YAML`, or of no language.
fn is_data(language: &str) -> bool {
    LANGUAGES.iter().any(|known| known.eq_ignore_ascii_case(language))
}

fn looks_like_one(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| KEYS.iter().any(|key| fields.contains_key(*key)))
}

fn starts_like_one(text: &str) -> bool {
    let start = text.trim_start().trim_start_matches("---").trim_start();
    start.starts_with("status:") || (start.starts_with('{') && start.contains("\"status\""))
}

/// JSON or else YAML, whatever it says.
fn value(text: &str) -> Result<Value, Unreadable> {
    let is_json = text.trim_start().starts_with('{');
    let read = if is_json {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    };
    read.map_err(|why: String| unreadable("malformed-report", format!("the report cannot be read: {}", one_line(&why))))
}

/// The report itself: read again from the text, because a value has already forgotten a key that stood twice.
fn read(text: &str, value: Value) -> Result<Report, Unreadable> {
    let Value::Object(fields) = value else {
        return Err(unreadable("malformed-report", "the report is not a mapping of keys to values"));
    };
    match fields.get("status") {
        None | Some(Value::Null) => {
            return Err(unreadable(
                "missing-field",
                "the report has no `status`; expected `success`, `failure` or `blocked`",
            ));
        }
        Some(Value::String(status)) if ["success", "failure", "blocked"].contains(&status.as_str()) => {}
        Some(other) => {
            let found = one_line(&other.to_string());
            let message = format!("the report's `status` is {found}; expected `success`, `failure` or `blocked`");
            return Err(unreadable("unknown-status", message));
        }
    }
    let read: Result<Report, String> = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    };
    read.map_err(|why| unreadable("malformed-report", format!("the report cannot be read: {}", one_line(&why))))
}
