//! Appends the results of reviews to the file of `[progress]`, for people and agents. `gate` never reads the file.

use super::review;
use crate::error::Error;
use crate::record::Record;
use crate::session::ProgressFile;
use crate::text::clean_line;
use crate::verdict::Level;

const SUGGESTIONS: &str = "## Review Suggestions";
/// The most findings of a review that are listed.
const MAX_FINDINGS: usize = 3;

/// Appends the results of the reviews of an attempt. `action` says what follows.
pub(super) fn review(
    file: &ProgressFile,
    task: &str,
    iteration: u32,
    record: &Record,
    action: &str,
) -> Result<(), Error> {
    let reviews = review::reviews(record);
    let mut text = String::new();
    if reviews.is_empty() {
        if let Some(next) = review::next_review(record) {
            text.push_str(&format!("\nSkipping artifact review (next at task {next})\n"));
        }
    } else {
        let passed = reviews.iter().all(|(_, passed)| *passed);
        let status = if passed { "REVIEW_PASS" } else { "REVIEW_FAIL" };
        let findings =
            reviews.iter().filter_map(|(node, _)| node.verdict.as_ref()).flat_map(|verdict| &verdict.findings);
        let findings = findings.filter(|finding| finding.level != Level::Note);
        let findings: Vec<String> = findings.take(MAX_FINDINGS).map(review::line).collect();
        let findings = if findings.is_empty() { "none".to_owned() } else { findings.join("; ") };
        let task = clean_line(task, 60);
        text = format!(
            "\n### Review: execution (Task {task}, Iteration {iteration})\n- Status: {status}\n- Findings: {findings}\n- Action: {action}\n"
        );
    }
    append(file, &text)
}

/// Appends suggestions, under their heading.
pub(super) fn suggestions(file: &ProgressFile, suggestions: &[String]) -> Result<(), Error> {
    if suggestions.is_empty() {
        return Ok(());
    }
    let lines: String = suggestions.iter().map(|suggestion| format!("- {suggestion}\n")).collect();
    append(file, &format!("\n{SUGGESTIONS}\n\n{lines}"))
}

fn append(file: &ProgressFile, text: &str) -> Result<(), Error> {
    file.append(text).map_err(|error| {
        Error::host(format_args!("cannot write the progress file `{}`", file.path().display())).because(error)
    })
}
