//! One member of a gate with its result.

use super::{JudgedFile, ModelUse, NodeKind, Outcome, Relaxation, Severity, SkipReason, VerifierId, VoteCount};
use super::{from_milliseconds, is_false, milliseconds};
use crate::submission::CommandEvidence;
use crate::verdict::{Class, Level, Rule, Status, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// One member of a gate, or the gate itself, and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Its outcome, after all settings are applied.
    pub outcome: Outcome,
    /// Why it was skipped, or how its outcome came about, if that is not obvious.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it was skipped, as a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Whether it passed because none of its checks applies to the change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nothing_to_check: bool,
    /// The class of the failure: the verifier's, or the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The severity of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The confidence of the outcome: 1 for a deterministic check; for a vote, the share in favour; for `all` and `tiers`,
    /// the least of the members; for `any`, that of the surest pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// How a vote was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vote: Option<VoteCount>,
    /// The index of the next task for which it will not be skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due: Option<u32>,
    /// Whether it is in shadow mode, so that it only reports.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shadow: bool,
    /// Whether human review is needed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub escalated: bool,
    /// Whether its runs disagreed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub flaky: bool,
    /// Whether it depends on an evaluator's answer that only the author of the change vouches for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_authors_word: bool,
    /// The relaxations that a pass depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<Relaxation>,
    /// How often the check ran.
    #[serde(default, skip_serializing_if = "is_at_most_one")]
    pub attempts: u32,
    /// The earlier run whose pass was reused, because nothing that it depends on has changed. A gate that passes has no such
    /// member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<String>,
    /// The verifier, for a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<VerifierId>,
    /// The status of each run of a flaky check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Status>,
    /// The checked files, for a file check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<JudgedFile>>,
    /// The verdict of a check that ran; for the whole gate, why its pass does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The rules of the reported codes, so that a report can explain them without the verifier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The commands of all its runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandEvidence>,
    /// The models that all its runs asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUse>,
    /// How many more commands ran and models were asked. Of each run, the first 1,000 are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: u64,
    /// When it started, counted from the start of the run; absent if it did not run.
    #[serde(
        rename = "started_ms",
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "perhaps_milliseconds",
        deserialize_with = "perhaps_from_milliseconds"
    )]
    #[schemars(with = "Option<f64>")]
    pub started: Option<Duration>,
    /// How long it took.
    #[serde(rename = "duration_ms", serialize_with = "milliseconds", deserialize_with = "from_milliseconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// Its members, in the order of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

impl Node {
    /// Returns a member with nothing but its name, kind and outcome.
    pub fn new(name: impl Into<String>, kind: NodeKind, outcome: Outcome) -> Self {
        Self {
            name: name.into(),
            kind,
            outcome,
            reason: String::new(),
            skipped: None,
            nothing_to_check: false,
            class: None,
            severity: None,
            confidence: None,
            vote: None,
            next_due: None,
            shadow: false,
            escalated: false,
            flaky: false,
            by_authors_word: false,
            relaxed: Vec::new(),
            attempts: 0,
            reused: None,
            verifier: None,
            runs: Vec::new(),
            files: None,
            verdict: None,
            rules: Vec::new(),
            commands: Vec::new(),
            models: Vec::new(),
            unlisted: 0,
            started: None,
            duration: Duration::ZERO,
            children: Vec::new(),
        }
    }

    /// Returns whether the author of the change influenced it: by a statement that skipped it, or by an evaluator's answer.
    pub fn rests_on_author(&self) -> bool {
        !self.shadow && (self.by_authors_word || self.skipped.is_some_and(SkipReason::is_authors_word))
    }

    /// Returns how many of the checked files were cached.
    pub fn cached(&self) -> usize {
        self.files.iter().flatten().filter(|file| file.cached).count()
    }

    /// Returns the commands whose output says more than the findings: those of a check with at most one finding.
    pub fn commands_to_quote(&self) -> impl Iterator<Item = &CommandEvidence> {
        let findings = self.verdict.iter().flat_map(|verdict| &verdict.findings);
        let explained = findings.filter(|finding| finding.level == Level::Error).count() > 1;
        let quoted = self.outcome != Outcome::Pass && !explained;
        self.commands.iter().filter(move |command| quoted && !command.output.trim().is_empty())
    }

    /// Returns the node and everything below it, in order.
    pub fn walk(&self) -> impl Iterator<Item = &Node> {
        let mut ahead = vec![self];
        std::iter::from_fn(move || {
            let node = ahead.pop()?;
            ahead.extend(node.children.iter().rev());
            Some(node)
        })
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_at_most_one(attempts: &u32) -> bool {
    *attempts <= 1
}

fn perhaps_milliseconds<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => milliseconds(duration, serializer),
        None => serializer.serialize_none(),
    }
}

fn perhaps_from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let milliseconds = Option::<f64>::deserialize(deserializer)?;
    let duration = milliseconds.map(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1e3));
    duration.transpose().map_err(serde::de::Error::custom)
}
