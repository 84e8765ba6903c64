//! The result of a gate: a tree that contains every member, whether it ran or not. Data only.

use crate::limits::Limits;
use crate::submission::{CommandEvidence, ModelEvidence};
use crate::verdict::{Class, Level, Rule, Status, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// The kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A use of a verifier.
    Check,
    /// Members in order; the first that does not pass decides.
    Tiers,
    /// Members that vote.
    Vote,
    /// Every member must pass.
    All,
    /// One member must pass.
    Any,
    /// The member must fail.
    Not,
}

/// The outcome of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It abstained: human review is needed.
    Abstain,
    /// It errored.
    Error,
    /// It was skipped; `Node::reason` says why. Counts neither way.
    Skipped,
    /// The verifier does not apply to the input. Counts neither way.
    NotApplicable,
    /// An earlier tier decided.
    NotReached,
    /// The result was settled without it.
    NotNeeded,
}

impl Outcome {
    /// Returns the status that counts, if the outcome counts at all.
    pub fn status(self) -> Option<Status> {
        match self {
            Self::Pass => Some(Status::Pass),
            Self::Fail => Some(Status::Fail),
            Self::Abstain => Some(Status::Abstain),
            Self::Error => Some(Status::Error),
            Self::Skipped | Self::NotApplicable | Self::NotReached | Self::NotNeeded => None,
        }
    }

    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Abstain => "abstain",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::NotApplicable => "not applicable",
            Self::NotReached => "not reached",
            Self::NotNeeded => "not needed",
        }
    }
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        match status {
            Status::Pass => Self::Pass,
            Status::Fail => Self::Fail,
            Status::Abstain => Self::Abstain,
            Status::Error => Self::Error,
            Status::NotApplicable => Self::NotApplicable,
        }
    }
}

/// Why a member was skipped. `Node::reason` has the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SkipReason {
    /// No checked file matches the check.
    NoFile,
    /// No changed file matches the gate.
    NoChangedFile,
    /// It is not due for this task, according to the caller.
    NotDue,
    /// It is not due for this task, according to the author of the change.
    NotDueByAuthor,
    /// It is above the tier that the caller asked for.
    AboveTier,
    /// It is above the tier that the author of the change asked for.
    AboveTierByAuthor,
    /// The configuration disables it.
    Disabled,
    /// The caller excluded it with a flag.
    LeftOut,
    /// None of its members applies.
    NoMember,
}

impl SkipReason {
    /// Returns whether it was skipped because it does not apply to the change, and only the caller decided that.
    pub fn is_unconcerned(self) -> bool {
        matches!(self, Self::NoFile | Self::NoChangedFile | Self::NotDue)
    }

    /// Returns whether it was skipped because the author of the change said so.
    pub fn is_authors_word(self) -> bool {
        matches!(self, Self::NotDueByAuthor | Self::AboveTierByAuthor)
    }
}

/// The severity of a failure, for deciding what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// A deterministic check failed.
    Hard,
    /// A reviewer rejected the work.
    Semantic,
    /// There is no judgement.
    Inconclusive,
    /// The verifier failed, not the work.
    Infra,
}

/// How a vote was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct VoteCount {
    /// The weight of the votes in favour.
    #[serde(rename = "for")]
    pub in_favour: u64,
    /// The weight of the votes against.
    pub against: u64,
    /// How many voices did not vote.
    pub absent: u64,
    /// The result: `pass`, `fail`, `divided` or `no-quorum`.
    pub decision: String,
}

/// The verifier of a check, with its settings, grants and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct VerifierId {
    /// The name in the configuration.
    pub name: String,
    /// The digest of the component's bytes.
    pub digest: String,
    /// The digest of the settings, as canonical JSON.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// The grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The limits of one call.
    #[serde(default)]
    pub limits: Limits,
}

/// A file that a check judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct JudgedFile {
    /// The path relative to the root of the workspace.
    pub path: String,
    /// `sha256:` and hexadecimal digits, over the bytes; empty if they could not be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The status of the file.
    pub status: Status,
    /// Whether the pass was cached.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// The run that established a cached pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub established: Option<String>,
    /// Why it was not judged, if so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A question to a model, and its cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelUse {
    /// The model, as the configuration names it.
    pub name: String,
    /// The model that answered, as it named itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the answer ended (`end`, `length`, `refusal`, `other`), or why there is none (`not-distinct`, `budget`,
    /// `unreachable`, `timeout`, `malformed`).
    pub ended: String,
    /// The family of the model, if the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// SHA-256 of the question, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub question_sha256: String,
    /// SHA-256 of the answer, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_sha256: Option<String>,
    /// The cost in the currency of the configured prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The tokens of the question, if the model reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The tokens of the answer, if the model reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// How many requests were sent.
    pub requests: u32,
    /// Whether the answer was replayed from another run.
    #[serde(skip_serializing_if = "is_false")]
    pub replayed: bool,
    /// How long it took.
    #[serde(rename = "duration_ms", serialize_with = "milliseconds", deserialize_with = "from_milliseconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
}

impl From<&ModelUse> for ModelEvidence {
    fn from(used: &ModelUse) -> Self {
        Self {
            name: used.name.clone(),
            model: used.model.clone(),
            family: used.family.clone(),
            ended: used.ended.clone(),
            question_sha256: used.question_sha256.clone(),
            answer_sha256: used.answer_sha256.clone(),
            replayed: used.replayed,
        }
    }
}

/// An error or abstention of a member that a setting ignores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Relaxation {
    /// The member's name.
    pub member: String,
    /// The status of the member.
    pub was: Status,
    /// The setting that let it through, such as `on_error = "warn"`.
    pub by: String,
}

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
    /// The run in which it passed, where nothing that it depends on has changed since and it was not asked again. A gate that
    /// passes has none of these.
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

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_at_most_one(attempts: &u32) -> bool {
    *attempts <= 1
}

pub(crate) fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}

pub(crate) fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(milliseconds / 1e3).map_err(serde::de::Error::custom)
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
