//! The sections of a prompt that show the submission. The executor may have written any of it, so all of it is untrusted.

use crate::{Settings, World, changes};
use gatehost_sdk::models::{Part, Untrusted};
use gatehost_sdk::submission::{Evidence, Outcome, PriorFinding, Task, ToolCall};
use gatehost_sdk::{Finding, Submission, Verdict};
use std::collections::BTreeMap;

/// The sections, by their placeholders in templates.
pub(crate) struct Material {
    sections: BTreeMap<&'static str, Vec<Part>>,
    /// Files that are listed but not shown.
    pub(crate) excluded: Vec<String>,
    bytes: usize,
}

impl Material {
    /// Collects everything to show. If something cannot be shown, the error is an abstention.
    pub(crate) fn collect(submission: &Submission, settings: &Settings, world: &dyn World) -> Result<Self, Verdict> {
        let changes = changes::show(&submission.changes, settings, world)?;
        let mut material = Self { sections: BTreeMap::new(), excluded: changes.excluded, bytes: 0 };
        material.put("changes", changes.parts);
        material.put("task", submission.task.iter().map(task).collect());
        material.put("criteria", criteria(submission.task.as_ref(), &settings.criteria));
        let documents = settings.documents.iter().map(|path| document(path, world)).collect::<Result<_, _>>()?;
        material.put("documents", documents);
        material.put("evidence", submission.evidence.iter().map(evidence).collect());
        material.put("prior_findings", prior(&submission.prior_findings));
        material.put(
            "claim",
            submission
                .claim
                .iter()
                .flat_map(|claim| {
                    let report = claim.report.as_ref().map(|report| untrusted("the executor's report", report.clone()));
                    std::iter::once(untrusted("the executor's claim", claim.text.clone())).chain(report)
                })
                .collect(),
        );
        let calls: String = submission.tool_calls.iter().map(call).collect();
        material.put("tool_calls", if calls.is_empty() { Vec::new() } else { vec![untrusted("tool calls", calls)] });
        Ok(material)
    }

    fn put(&mut self, name: &'static str, parts: Vec<Part>) {
        self.sections.insert(name, parts);
    }

    /// Takes a section to show it. `None` if there is no section of that name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Vec<Part>> {
        let parts = self.sections.get(name)?.clone();
        self.bytes += parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Untrusted(part) => part.label.len() + part.content.len(),
            })
            .sum::<usize>();
        Some(parts)
    }

    pub(crate) fn is_empty(&self, name: &str) -> bool {
        self.sections.get(name).is_none_or(Vec::is_empty)
    }

    /// The number of bytes that were taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

pub(crate) fn untrusted(label: impl Into<String>, content: impl Into<String>) -> Part {
    Part::Untrusted(Untrusted { label: label.into(), content: content.into() })
}

fn task(task: &Task) -> Part {
    let mut text = String::new();
    for (name, value) in [("id", &task.id), ("title", &task.title), ("description", &task.description)] {
        if !value.is_empty() {
            text += &format!("{name}: {value}\n");
        }
    }
    if let Some(verify) = &task.verify {
        text += &format!("verify command: {verify}\n");
    }
    for (name, values) in [("expected outputs", &task.expected_outputs), ("files that it may change", &task.files)] {
        if !values.is_empty() {
            text += &format!("{name}: {}\n", values.join(", "));
        }
    }
    untrusted("the task", text)
}

/// The criteria of the settings are trusted text; those of the task are not.
fn criteria(task: Option<&Task>, own: &[String]) -> Vec<Part> {
    let list = |criteria: &[String]| criteria.iter().map(|criterion| format!("- {criterion}\n")).collect::<String>();
    let mut parts = Vec::new();
    if !own.is_empty() {
        parts.push(Part::Text(list(own)));
    }
    for (label, criteria) in task.iter().flat_map(|task| {
        [
            ("acceptance criteria of the task", &task.acceptance_criteria),
            ("done criteria of the task", &task.done_criteria),
        ]
    }) {
        if !criteria.is_empty() {
            parts.push(untrusted(label, list(criteria)));
        }
    }
    parts
}

fn document(path: &str, world: &dyn World) -> Result<Part, Verdict> {
    let text =
        world.read(path).and_then(|bytes| String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned()));
    match text {
        Ok(text) => Ok(untrusted(format!("the document {path}"), text)),
        Err(why) => Err(Verdict::abstain(format!("the document `{path}` cannot be shown: {why}"))),
    }
}

fn evidence(evidence: &Evidence) -> Part {
    let outcome = match evidence.outcome {
        Outcome::Fail => "fail",
        Outcome::Pass => "pass",
        Outcome::Abstain => "abstain",
        Outcome::Error => "no answer",
        Outcome::NotApplicable => "not applicable",
    };
    let mut text = format!("verifier {}: {outcome}. {}\n", evidence.verifier, evidence.summary);
    text.extend(evidence.findings.iter().map(finding));
    for command in &evidence.commands {
        let code = command.exit_code.map_or("none".to_owned(), |code| code.to_string());
        text += &format!("ran `{}`, exit code {code}, which printed:\n{}\n", command.argv.join(" "), command.output);
    }
    untrusted(format!("the check {}", evidence.check), text)
}

fn prior(findings: &[PriorFinding]) -> Vec<Part> {
    let line =
        |prior: &PriorFinding| format!("attempt {}, {}: {}", prior.attempt, prior.check, finding(&prior.finding));
    let text: String = findings.iter().map(line).collect();
    if text.is_empty() { Vec::new() } else { vec![untrusted("findings of earlier attempts", text)] }
}

fn finding(finding: &Finding) -> String {
    let place = finding.place.as_ref().map(|place| {
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: ", place.path)
    });
    let hint = finding.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}[{}] {}{hint}\n", place.unwrap_or_default(), finding.code, finding.message)
}

fn call(call: &ToolCall) -> String {
    let outcome = if call.success { "succeeded" } else { "failed" };
    let mut text = format!("{} {outcome}\n", call.tool);
    for (name, value) in [("input", &call.input), ("error", &call.error), ("output", &call.output)] {
        if let Some(value) = value {
            text += &format!("  {name}: {value}\n");
        }
    }
    text
}
