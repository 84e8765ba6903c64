//! The texts that a rule looks at, and whether they are all there.

use crate::Subject;
use gatehost_sdk::submission::{Change, ChangeKind, LineKind};
use gatehost_sdk::{Finding, Submission};
use rules::{Compiled, Rule, Text, Texts};

/// Refuse what a rule says about texts that it does not look at.
pub(crate) fn fits(place: Subject, tools: &[String], rule: &Rule) -> Result<(), String> {
    if !rule.files.is_empty() && place != Subject::AddedLines {
        return Err("`files` is allowed only with `in = \"added-lines\"`".to_owned());
    }
    if !tools.is_empty() && place != Subject::ToolOutput {
        return Err("`tools` is allowed only with `in = \"tool-output\"`".to_owned());
    }
    Ok(())
}

pub(crate) fn claim(submission: &Submission) -> Texts<'_> {
    let said = submission.claim.iter().filter(|claim| !claim.text.trim().is_empty());
    let known: Vec<Text<'_>> = said.map(|claim| Text { text: claim.text.as_str(), from: None }).collect();
    let missing = known.is_empty().then(|| Finding::error("no-claim", "the submission has no claim"));
    Texts { name: "the claim", known, unknown: None, missing }
}

pub(crate) fn added_lines<'a>(changes: &'a [Change], rule: &Compiled<'_>) -> Texts<'a> {
    let mut known = Vec::new();
    let mut unknown = changes.is_empty().then(|| "the submission has no changed files".to_owned());
    for change in changes {
        if change.kind == ChangeKind::Deleted || !rule.applies_to(&change.path) {
            continue;
        }
        let Some(hunks) = &change.hunks else {
            unknown = unknown.or_else(|| Some(format!("the added lines of `{}` are unknown", change.path)));
            continue;
        };
        for hunk in hunks {
            let mut number = hunk.new_start;
            for line in &hunk.lines {
                if line.kind == LineKind::Added {
                    known.push(Text { text: line.text.as_str(), from: Some((&change.path, number)) });
                }
                if line.kind != LineKind::Removed {
                    number = number.saturating_add(1);
                }
            }
        }
    }
    Texts { name: "the added lines", known, unknown, missing: None }
}

/// The calls are known where there is one. That the tools of a rule are not among them is then a fact: what is forbidden
/// there was not done, and what is required was not.
pub(crate) fn tool_output<'s>(submission: &'s Submission, tools: &[String]) -> Texts<'s> {
    let calls = &submission.tool_calls;
    let mut known = Vec::new();
    let mut unknown = calls.is_empty().then(|| "the submission has no tool calls".to_owned());
    for call in calls.iter().filter(|call| tools.is_empty() || tools.contains(&call.tool)) {
        match &call.output {
            Some(text) => known.push(Text { text, from: None }),
            None => {
                unknown = unknown.or_else(|| Some(format!("the output of a call of `{}` is unknown", call.tool)));
            }
        }
    }
    Texts { name: "the tool output", known, unknown, missing: None }
}
