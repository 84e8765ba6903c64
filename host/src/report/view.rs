//! The view of a member that all machine formats share: its path in the gate, and whether it decided.
//!
//! A check that failed below a gate that passed (a branch of `any`, a minority of a vote, a check in shadow mode) is shown,
//! but must not turn a build red. A gate that did not pass must turn it red, even if no single check did.

use crate::outcome::{Node, NodeKind, Outcome};
use crate::record::Record;
use crate::text;
use crate::verdict::{Category, Finding, Level, Status};

/// A member of the gate, and what it has to do with the result.
pub(super) struct Member<'r> {
    pub(super) node: &'r Node,
    /// The names from the gate down, joined by `/`.
    pub(super) path: String,
    /// Why its answer does not count, if it does not.
    pub(super) moot: Option<String>,
}

impl<'r> Member<'r> {
    /// Returns whether it is one of the reasons why the gate did not pass.
    pub(super) fn blocks(&self) -> bool {
        self.moot.is_none() && is_blocking(self.node.outcome)
    }

    /// Returns its findings.
    pub(super) fn findings(&self) -> impl Iterator<Item = &'r Finding> {
        self.node.verdict.iter().flat_map(|verdict| &verdict.findings)
    }

    /// Returns the level of a finding in the whole report. It is not an error if its check does not count or passed
    /// nevertheless.
    pub(super) fn level(&self, finding: &Finding) -> Level {
        if self.moot.is_some() { Level::Note } else { finding.level }
    }

    /// Returns whether a person must decide about the finding.
    pub(super) fn needs_person(&self, finding: &Finding) -> bool {
        finding.category == Category::Manual || self.node.verdict.as_ref().is_some_and(|verdict| verdict.needs_person)
    }

    /// Returns the rule name for findings of this member.
    pub(super) fn rule(&self, code: &str) -> String {
        let verifier = self.node.verifier.as_ref().map_or("gate", |verifier| verifier.name.as_str());
        format!("{verifier}/{code}")
    }

    /// Returns its summary, with a note if characters of it are shown as marks.
    pub(super) fn noted_summary(&self) -> String {
        text::noted(self.summary(), 0)
    }

    /// Returns its summary in one line.
    pub(super) fn summary(&self) -> String {
        let verdict = self.node.verdict.as_ref();
        let error = verdict.and_then(|verdict| verdict.error.as_ref());
        let said = verdict.map(|verdict| verdict.summary.as_str()).unwrap_or_default();
        let parts =
            [error.map(|error| format!("{}: {}", error.kind, error.message)).unwrap_or_default(), said.to_owned()];
        let mut parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if !self.node.reason.is_empty() {
            parts.push(self.node.reason.clone());
        }
        if parts.is_empty() {
            let many = self.findings().count();
            let findings = text::count(many, "finding");
            parts.push(if many == 0 { self.node.outcome.as_str().to_owned() } else { findings });
        }
        text::clean(&parts.join("; "), usize::MAX)
    }
}

/// Returns every member of the gate, the gate first.
pub(super) fn members(record: &Record) -> Vec<Member<'_>> {
    let mut members = Vec::new();
    collect(&record.gate, String::new(), None, &mut members);
    members
}

/// Returns every check, in the order of the gate.
pub(super) fn checks(record: &Record) -> Vec<Member<'_>> {
    let mut members = members(record);
    members.retain(|member| member.node.kind == NodeKind::Check);
    members
}

/// Returns the members that explain why the gate did not pass: checks, votes without a decision, and gates without a member
/// that explains it.
pub(super) fn blockers(record: &Record) -> Vec<Member<'_>> {
    let members = members(record);
    let blocking: Vec<String> =
        members.iter().filter(|member| member.blocks()).map(|member| member.path.clone()).collect();
    let says_itself = |member: &Member<'_>| {
        let below = format!("{}/", member.path);
        let undecided = member.node.kind == NodeKind::Vote && member.node.outcome == Outcome::Abstain;
        member.blocks() && (undecided || !blocking.iter().any(|path| path.starts_with(&below)))
    };
    members.into_iter().filter(says_itself).collect()
}

fn collect<'r>(node: &'r Node, above: String, moot: Option<String>, members: &mut Vec<Member<'r>>) {
    let path = if above.is_empty() { node.name.clone() } else { format!("{above}/{}", node.name) };
    let moot = moot.or_else(|| node.shadow.then(|| "it is in shadow mode".to_owned()));
    let below = moot.clone().or_else(|| match node.outcome {
        outcome if node.kind == NodeKind::Check || is_blocking(outcome) => None,
        outcome => {
            Some(format!("`{}` {}", node.name, if outcome == Outcome::Pass { "passed" } else { outcome.as_str() }))
        }
    });
    // A check that passed has its own warnings; only what would block is moot below a pass.
    members.push(Member { node, path: path.clone(), moot });
    for child in &node.children {
        let moot =
            below.clone().filter(|_| child.outcome != Outcome::Pass || child.shadow || node.outcome != Outcome::Pass);
        collect(child, path.clone(), moot, members);
    }
}

fn is_blocking(outcome: Outcome) -> bool {
    matches!(outcome.status(), Some(Status::Fail | Status::Abstain | Status::Error))
}

/// Returns the path for a finding without a place: the configuration, or the folder itself.
pub(super) fn fallback_path(record: &Record) -> &str {
    let name = match record.policy.source.as_str() {
        "file" => record.policy.name.as_str(),
        // The name says which commit: "gate.toml of `COMMIT`".
        "base" => record.policy.name.rsplit_once(" of `").map_or(".", |(file, _)| file),
        _ => ".",
    };
    if name.starts_with(['/', '.']) { "." } else { name }
}

/// Returns a message, its hint, and a note if characters of it are shown as marks.
pub(super) fn text(finding: &Finding) -> String {
    let hint = finding.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let text = text::clean(&format!("{}{hint}", finding.message), usize::MAX);
    let fix = finding.fix.as_ref().map_or("", |fix| fix.description.as_str());
    let path = finding.place.as_ref().map_or("", |place| place.path.as_str());
    let beside = [&finding.code, fix, path].iter().map(|text| text::invisible(text)).sum();
    text::noted(text, beside)
}
