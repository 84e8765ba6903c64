//! What became of a gate: a tree in which every member is accounted for, whether it ran or not. Data only.

use crate::submission::CommandEvidence;
use crate::verdict::{Level, Status, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// What a member of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
            Self::Skipped | Self::NotReached | Self::NotNeeded => None,
        }
    }

    /// The word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Abstain => "abstain",
            Self::Error => "error",
            Self::Skipped => "skipped",
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
        }
    }
}

/// Why a check is skipped that is for other files than there are.
pub const NO_FILE: &str = "no file matches";

/// Which verifier a check used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifierId {
    /// As the configuration names it.
    pub name: String,
    /// The digest of the component's bytes.
    pub digest: String,
}

/// A question to a model, and what that took.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModelUse {
    /// The model, as the configuration names it.
    pub name: String,
    /// The model that answered, as it named itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the answer ended (`end`, `length`, `refusal`, `other`), or why there is none (`not-distinct`, `budget`,
    /// `unreachable`, `malformed`).
    pub ended: &'static str,
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
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
}

/// A member whose error or abstention was let through by a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relaxation {
    /// The member's name.
    pub member: String,
    /// What it said.
    pub was: Status,
    /// The setting that let it through, such as `on_error = "warn"`.
    pub by: String,
}

/// One member of a gate, or the gate itself, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What became of it, after everything that the configuration says about it.
    pub outcome: Outcome,
    /// Why it was skipped, or how its outcome came about where that is not plain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The index of the next task for which it will not be skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_due: Option<u32>,
    /// Whether it only reports what it would have decided.
    #[serde(skip_serializing_if = "is_false")]
    pub shadow: bool,
    /// Whether a person is asked to decide.
    #[serde(skip_serializing_if = "is_false")]
    pub escalated: bool,
    /// Whether its runs disagreed.
    #[serde(skip_serializing_if = "is_false")]
    pub flaky: bool,
    /// What a pass of it rests on, besides passes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<Relaxation>,
    /// How often the verifier was asked.
    #[serde(skip_serializing_if = "is_at_most_one")]
    pub attempts: u32,
    /// The verifier, for a check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier: Option<VerifierId>,
    /// How many files were judged, for a check of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// How many of them passed the same verifier before, unchanged, and so were not judged again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reused: Option<usize>,
    /// What the verifier said, for a check that ran; for the whole gate, why its pass does not stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What was run for it, every time that it was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandEvidence>,
    /// The models that were asked for it, every time that it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUse>,
    /// How long it took.
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// Its members, in the order of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

impl Node {
    /// A member of which nothing is known but what became of it.
    pub fn new(name: impl Into<String>, kind: NodeKind, outcome: Outcome) -> Self {
        Self {
            name: name.into(),
            kind,
            outcome,
            reason: String::new(),
            next_due: None,
            shadow: false,
            escalated: false,
            flaky: false,
            relaxed: Vec::new(),
            attempts: 0,
            verifier: None,
            files: None,
            reused: None,
            verdict: None,
            commands: Vec::new(),
            models: Vec::new(),
            duration: Duration::ZERO,
            children: Vec::new(),
        }
    }

    /// Say nothing of what was remembered, so that a run tells the same whatever was run before.
    pub fn hide_reuse(&mut self) {
        self.reused = None;
        self.children.iter_mut().for_each(Self::hide_reuse);
    }

    /// The commands whose output says more than the findings do: of a check that found one thing wrong at most.
    pub fn commands_to_quote(&self) -> impl Iterator<Item = &CommandEvidence> {
        let findings = self.verdict.iter().flat_map(|verdict| &verdict.findings);
        let explained = findings.filter(|finding| finding.level == Level::Error).count() > 1;
        let quoted = self.outcome != Outcome::Pass && !explained;
        self.commands.iter().filter(move |command| quoted && !command.output.trim().is_empty())
    }

    /// The node and everything below it, in order.
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

fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}
