//! What became of a gate: a tree in which every member is accounted for, whether it ran or not. Data only.

use crate::limits::Limits;
use crate::submission::{CommandEvidence, ModelEvidence};
use crate::verdict::{Class, Level, Rule, Status, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// What a member of the tree is.
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

/// What became of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It abstained: a person should look.
    Abstain,
    /// It gave no answer.
    Error,
    /// It did not apply; `Node::reason` says why. Counts neither way.
    Skipped,
    /// Its verifier says that the input is not for it. Counts neither way.
    NotApplicable,
    /// An earlier tier decided.
    NotReached,
    /// The result was certain without it.
    NotNeeded,
}

impl Outcome {
    /// What it counts as, where it counts at all.
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

/// Why a member was skipped. `Node::reason` says the same in words, with details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SkipReason {
    /// No file that is judged matches the check.
    NoFile,
    /// No changed file matches the gate.
    NoChangedFile,
    /// It is not due for this task, by facts that the caller vouches for.
    NotDue,
    /// It is not due for this task, by the word of the author of the change.
    NotDueByAuthor,
    /// It is above the tier that the caller asked for.
    AboveTier,
    /// It is above the tier that the author of the change asked for.
    AboveTierByAuthor,
    /// The configuration disables it.
    Disabled,
    /// The caller left it out by a flag.
    LeftOut,
    /// None of its members applies.
    NoMember,
}

impl SkipReason {
    /// Returns whether it was skipped because nothing of the change concerns it, and nobody but the caller had a part in
    /// that.
    pub fn is_unconcerned(self) -> bool {
        matches!(self, Self::NoFile | Self::NoChangedFile | Self::NotDue)
    }

    /// Returns whether it was skipped by the word of the author of the change.
    pub fn is_authors_word(self) -> bool {
        matches!(self, Self::NotDueByAuthor | Self::AboveTierByAuthor)
    }
}

/// How bad a failure is, for whoever decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// A deterministic check failed.
    Hard,
    /// A reviewer's judgement.
    Semantic,
    /// There is no judgement.
    Inconclusive,
    /// The verifier, and not the work, is at fault.
    Infra,
}

/// How a vote was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct VoteCount {
    /// The weight of the ballots for it.
    #[serde(rename = "for")]
    pub in_favour: u64,
    /// The weight of the ballots against it.
    pub against: u64,
    /// How many voices did not vote.
    pub absent: u64,
    /// The result: `pass`, `fail`, `divided` or `no-quorum`.
    pub decision: String,
}

/// Which verifier a check used, and on which terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct VerifierId {
    /// As the configuration names it.
    pub name: String,
    /// The digest of the component's bytes.
    pub digest: String,
    /// The digest of the settings, as canonical JSON.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// What it was granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// What one call may use.
    #[serde(default)]
    pub limits: Limits,
}

/// A file that a check judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct JudgedFile {
    /// The path relative to the root of the workspace.
    pub path: String,
    /// `sha256:` and hexadecimal digits, over its bytes; empty where it could not be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// What the verifier says of it.
    pub status: Status,
    /// Whether the verifier passed the same bytes in an earlier run, and was not called again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// That run, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub established: Option<String>,
    /// Why it was not judged, where it was not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A question to a model, and what that took.
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
    /// `unreachable`, `malformed`).
    pub ended: String,
    /// The family that the model belongs to, where the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// SHA-256 of the question, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub question_sha256: String,
    /// SHA-256 of the answer, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_sha256: Option<String>,
    /// What it cost in the currency of the configured prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The tokens of the question, where the model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The tokens of the answer, where the model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// How many requests were sent.
    pub requests: u32,
    /// Whether the answer was recorded in another run.
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

/// A member whose error or abstention was let through by a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Relaxation {
    /// The member's name.
    pub member: String,
    /// What it said.
    pub was: Status,
    /// The setting that let it through, such as `on_error = "warn"`.
    pub by: String,
}

/// One member of a gate, or the gate itself, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What became of it, after everything that the configuration says about it.
    pub outcome: Outcome,
    /// Why it was skipped, or how its outcome came about where that is not plain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it was skipped, as a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Whether it passed because the change holds nothing that any of its checks is for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nothing_to_check: bool,
    /// Which kind of failure it is: the verifier's word, or the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// How bad it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// How sure the outcome is: 1 for a deterministic check; of a vote, the share that is for it; of `all` and `tiers`, the
    /// least of the members; of `any`, that of the surest pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// How a vote was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vote: Option<VoteCount>,
    /// The index of the next task for which it will not be skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due: Option<u32>,
    /// Whether it only reports what it would have decided.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shadow: bool,
    /// Whether a person is asked to decide.
    #[serde(default, skip_serializing_if = "is_false")]
    pub escalated: bool,
    /// Whether its runs disagreed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub flaky: bool,
    /// Whether it was decided by an evaluator's answer for which only the author of the change vouches.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_authors_word: bool,
    /// What a pass of it rests on, besides passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<Relaxation>,
    /// How often the verifier was asked.
    #[serde(default, skip_serializing_if = "is_at_most_one")]
    pub attempts: u32,
    /// The verifier, for a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<VerifierId>,
    /// What each run of a flaky check said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Status>,
    /// The files that were judged, for a check of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<JudgedFile>>,
    /// What the verifier said, for a check that ran; for the whole gate, why its pass does not stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What the verifier says about the codes of its findings, so that a report can explain them without the verifier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What was run for it, every time that it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandEvidence>,
    /// The models that were asked for it, every time that it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUse>,
    /// When it began, counted from the start of the run; nothing for a member that did not run.
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
    /// Returns a member of which nothing is known but what became of it.
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

    /// Returns whether the author of the change had a part in it: by a word that skipped it, or by an evaluator's answer.
    pub fn rests_on_author(&self) -> bool {
        !self.shadow && (self.by_authors_word || self.skipped.is_some_and(SkipReason::is_authors_word))
    }

    /// Returns how many of the judged files were not judged again, since the same verifier passed the same bytes before.
    pub fn cached(&self) -> usize {
        self.files.iter().flatten().filter(|file| file.cached).count()
    }

    /// Returns the commands whose output says more than the findings do: of a check that found one thing wrong at most.
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
