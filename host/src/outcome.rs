//! The result of a gate: a tree that contains every member, whether it ran or not. Data only.

mod node;

pub use node::Node;

use crate::limits::Limits;
use crate::submission::ModelEvidence;
use crate::verdict::Status;
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

fn is_false(flag: &bool) -> bool {
    !flag
}

pub(crate) fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}

pub(crate) fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(milliseconds / 1e3).map_err(serde::de::Error::custom)
}
