//! The texts that a rule looks at, and whether they are all there.

use crate::{Rule, Where};
use gatehost_sdk::glob::Glob;
use gatehost_sdk::submission::{Change, ChangeKind, LineKind};
use gatehost_sdk::{Finding, Place, Submission, TextPosition};

/// Where a rule looks.
pub(crate) enum Subject<'a> {
    Claim,
    /// The added lines of the files that match, or of all.
    AddedLines(Vec<Glob>),
    /// The output of these tools, or of all.
    ToolOutput(&'a [String]),
}

pub(crate) struct Texts<'a> {
    /// What they are, for a message.
    pub(crate) name: &'static str,
    pub(crate) known: Vec<Text<'a>>,
    /// Why there may be more.
    pub(crate) unknown: Option<String>,
    /// What is wrong, where there should be a text and is none.
    pub(crate) missing: Option<Finding>,
}

pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    /// The path and line of the text, where it is a line of a file.
    line: Option<(&'a str, u32)>,
}

impl Text<'_> {
    /// The finding with its place, where the text has one.
    pub(crate) fn place(&self, at: usize, finding: Finding) -> Finding {
        match self.line {
            None => finding,
            Some((path, line)) => finding.at(Place::file(path).position(line, TextPosition::of(self.text, at).column)),
        }
    }
}

impl<'a> Subject<'a> {
    pub(crate) fn of(rule: &'a Rule) -> Result<Self, String> {
        if !rule.files.is_empty() && rule.r#in != Where::AddedLines {
            return Err("`files` is for rules about `added-lines`".to_owned());
        }
        if !rule.tools.is_empty() && rule.r#in != Where::ToolOutput {
            return Err("`tools` is for rules about `tool-output`".to_owned());
        }
        Ok(match rule.r#in {
            Where::Claim => Self::Claim,
            Where::ToolOutput => Self::ToolOutput(&rule.tools),
            Where::AddedLines => {
                let globs = rule.files.iter().map(|glob| Glob::new(glob).map_err(|why| format!("`{glob}`: {why}")));
                Self::AddedLines(globs.collect::<Result<_, _>>()?)
            }
        })
    }

    pub(crate) fn texts<'s>(&self, submission: &'s Submission) -> Texts<'s> {
        match self {
            Self::Claim => claim(submission),
            Self::AddedLines(globs) => added_lines(&submission.changes, globs),
            Self::ToolOutput(tools) => tool_output(submission, tools),
        }
    }
}

fn claim(submission: &Submission) -> Texts<'_> {
    let known: Vec<Text<'_>> =
        submission.claim.iter().map(|claim| Text { text: claim.text.as_str(), line: None }).collect();
    let missing = known.is_empty().then(|| Finding::error("no-claim", "there is no claim to look at"));
    Texts { name: "the claim", known, unknown: None, missing }
}

fn added_lines<'a>(changes: &'a [Change], globs: &[Glob]) -> Texts<'a> {
    let mut known = Vec::new();
    let mut unknown = changes.is_empty().then(|| "the submission names no changed file".to_owned());
    for change in changes {
        if change.kind == ChangeKind::Deleted
            || !(globs.is_empty() || globs.iter().any(|glob| glob.matches(&change.path)))
        {
            continue;
        }
        let Some(hunks) = &change.hunks else {
            unknown = unknown.or_else(|| Some(format!("the added lines of `{}` are not known", change.path)));
            continue;
        };
        for hunk in hunks {
            let mut number = hunk.new_start;
            for line in &hunk.lines {
                if line.kind == LineKind::Added {
                    known.push(Text { text: line.text.as_str(), line: Some((&change.path, number)) });
                }
                if line.kind != LineKind::Removed {
                    number = number.saturating_add(1);
                }
            }
        }
    }
    Texts { name: "the added lines", known, unknown, missing: None }
}

fn tool_output<'s>(submission: &'s Submission, tools: &[String]) -> Texts<'s> {
    let calls = &submission.tool_calls;
    let mut known = Vec::new();
    let mut unknown = calls.is_empty().then(|| "the submission names no tool call".to_owned());
    for call in calls.iter().filter(|call| tools.is_empty() || tools.contains(&call.tool)) {
        match &call.output {
            Some(text) => known.push(Text { text, line: None }),
            None => {
                unknown = unknown.or_else(|| Some(format!("the output of a call of `{}` is not known", call.tool)));
            }
        }
    }
    Texts { name: "the tool output", known, unknown, missing: None }
}
