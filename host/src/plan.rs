//! The plan: the resolved configuration, in which every name, default and number is fixed before anything runs.
//!
//! A plan contains no path of this machine and no time of day, so two machines that would make the same decisions have equal
//! plans and equal digests. A [`Resolver`] finds verifiers; `gate` runs a plan.

mod canonical;
mod resolve;
#[cfg(test)]
mod tests;
mod voices;

pub use canonical::canonical;
pub use resolve::resolve;
pub(crate) use resolve::{checks_of, gate_of};

use crate::config::{
    self, CommandConfig, Divergence, Enforcement, Flaky, Grant, Inapplicable, Leniency, ModelConfig, Threshold, When,
    milliseconds,
};
use crate::limits::Limits;
use crate::outcome::NodeKind;
use crate::submission::{Executor, Submission};
use crate::verdict::{ErrorKind, Failure};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The version of this format. Another version gives other digests.
const FORMAT: u32 = 1;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The version of this format.
    pub format: u32,
    /// How long the whole gate may take.
    #[serde(rename = "deadline_ms", serialize_with = "milliseconds")]
    pub deadline: Duration,
    /// Whether a pass may not depend on anything that only the author of the change vouches for.
    pub require_trusted: bool,
    /// The files that file checks may match, whatever their own patterns; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The files that no file check matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The gate.
    pub root: PlanNode,
    /// The commands that its checks may run.
    pub commands: BTreeMap<String, CommandConfig>,
    /// The models that its checks may ask.
    pub models: BTreeMap<String, ModelConfig>,
}

impl Plan {
    /// Returns the digest of the plan: `sha256:` and hexadecimal digits, over its canonical JSON.
    pub fn digest(&self) -> String {
        sha256(serde_json::to_value(self).map(|json| canonical(&json)).unwrap_or_default())
    }

    /// Returns the checks of the plan, in order.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.root.walk().filter_map(|node| match &node.what {
            PlanNodeKind::Check(check) => Some(check),
            PlanNodeKind::Gate(_) => None,
        })
    }
}

/// A member of a gate, or the gate that is run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanNode {
    /// The name in reports, unique within its gate.
    pub name: String,
    /// Whether the member takes part at all.
    pub enabled: bool,
    /// Whether the member decides, or only reports.
    pub mode: Enforcement,
    /// The tasks for which it runs; empty for all.
    pub when: Vec<When>,
    /// The member is skipped if the task asks for a lower tier.
    pub tier: Option<u32>,
    /// What happens if the member errors.
    pub on_error: Leniency,
    /// What happens if the member abstains.
    pub on_abstain: Leniency,
    /// What happens if there is nothing to check.
    pub on_nothing: Inapplicable,
    /// The weight of the member in a vote.
    pub weight: u32,
    /// Whether the member is a check or a gate.
    #[serde(flatten)]
    pub what: PlanNodeKind,
}

impl PlanNode {
    /// Returns the kind of the node, as reports name it.
    pub fn kind(&self) -> NodeKind {
        match &self.what {
            PlanNodeKind::Check(_) => NodeKind::Check,
            PlanNodeKind::Gate(gate) => match gate.rule {
                GateRule::Tiers => NodeKind::Tiers,
                GateRule::All => NodeKind::All,
                GateRule::Any => NodeKind::Any,
                GateRule::Not => NodeKind::Not,
                GateRule::Vote(_) => NodeKind::Vote,
            },
        }
    }

    /// Returns the members of a gate, in order; none for a check.
    pub fn members(&self) -> &[PlanNode] {
        match &self.what {
            PlanNodeKind::Check(_) => &[],
            PlanNodeKind::Gate(gate) => &gate.members,
        }
    }

    /// Returns the node and everything below it, in order.
    pub fn walk(&self) -> impl Iterator<Item = &PlanNode> {
        let mut ahead = vec![self];
        std::iter::from_fn(move || {
            let node = ahead.pop()?;
            ahead.extend(node.members().iter().rev());
            Some(node)
        })
    }
}

/// Whether a node is a check or a gate.
#[expect(clippy::large_enum_variant, reason = "a plan has few members, and most of them are checks")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanNodeKind {
    /// A use of a verifier.
    Check(Check),
    /// A rule over members.
    Gate(Gate),
}

/// A rule over members, as the configuration resolves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// How the members are combined.
    pub rule: GateRule,
    /// The gate runs only if a changed file matches one of these patterns; empty for all.
    pub files: Vec<String>,
    /// Patterns of changed files that are ignored.
    pub exclude: Vec<String>,
    /// The time limit of the gate, besides the deadline of the plan.
    #[serde(rename = "timeout_ms", serialize_with = "perhaps_milliseconds")]
    pub timeout: Option<Duration>,
    /// The members, in the order of the file.
    pub members: Vec<PlanNode>,
}

/// How the results of members are combined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateRule {
    /// Run in order; the first member that does not pass decides.
    Tiers,
    /// Every member must pass.
    All,
    /// One member must pass.
    Any,
    /// The only member must fail.
    Not,
    /// The members vote.
    Vote(Vote),
}

/// How a vote is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vote {
    /// How many of the cast votes must be in favour.
    pub threshold: Threshold,
    /// How many voices may be missing: the number of voters less the quorum.
    ///
    /// The quorum is stored as a number of allowed absences, because a fixed number of required ballots would let a failing
    /// member open a gate: its ballot could be the one that the quorum lacked, and turn an abstention into a pass.
    pub absences: u32,
    /// Whether members that do not apply count as absent. They do if the configuration sets a quorum.
    pub gone_are_missing: bool,
    /// What happens if some votes are in favour, but too few.
    pub on_divergence: Divergence,
    /// For each member, the number of its voice. Members of one voice have one ballot together.
    pub voices: Vec<usize>,
}

/// One resolved use of a verifier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The name of the member, which is that of its [`PlanNode`].
    #[serde(skip)]
    pub member: String,
    /// The name of its `[check.*]`.
    pub check: String,
    /// The verifier, as the configuration names it. For a path outside the workspace, only the file name.
    pub verifier: String,
    /// The digest of the verifier's bytes.
    pub digest: String,
    /// Whether the verifier is called for each file, or once with the submission.
    pub shape: Shape,
    /// The settings, a JSON object that is valid under the verifier's schema.
    pub settings: serde_json::Value,
    /// The grants of the check.
    pub grants: BTreeSet<Grant>,
    /// The limits of one call.
    pub limits: Limits,
    /// Patterns of the files that the check judges; empty for a submission verifier.
    pub files: Vec<String>,
    /// Patterns of files that the check does not judge.
    pub exclude: Vec<String>,
    /// The time limit of each run of the check.
    #[serde(rename = "timeout_ms", serialize_with = "milliseconds")]
    pub timeout: Duration,
    /// How often the check runs if the verifier errors.
    pub attempts: u32,
    /// How often a flaky check runs, to see whether its runs agree.
    pub flaky: Option<Flaky>,
    /// The least confidence of a pass; a less confident pass is an abstention.
    pub min_confidence: Option<f64>,
    /// A pass with less confidence than this needs human review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_below: Option<f64>,
    /// What happens if the verifier says that an input is not applicable.
    pub on_not_applicable: Inapplicable,
    /// Whether the check sees the uncommitted changes of the working tree, whatever the selection is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub working_tree: bool,
    /// Whether the commands of the check must fail on the base commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub red_green: bool,
    /// Which parts of a submission the verifier is given. Follows from the digest.
    #[serde(skip)]
    pub reads: SubmissionParts,
}

impl Check {
    /// Returns the digest of the settings: `sha256:` and hexadecimal digits, over their canonical JSON.
    pub fn settings_digest(&self) -> String {
        sha256(canonical(&self.settings))
    }
}

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", crate::text::hex(&Sha256::digest(bytes)))
}

/// Whether a verifier is called for each file, or once with the submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Each file.
    File,
    /// The submission.
    Submission,
}

impl Shape {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Submission => "submission",
        }
    }
}

/// Which parts of a submission a verifier is given. One that is not bundled is given all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmissionParts(u8);

impl SubmissionParts {
    /// The claim of the executor.
    pub const CLAIM: Self = Self(1);
    /// The answer of a separate evaluator.
    pub const EVALUATOR: Self = Self(2);
    /// The tools that were called.
    pub const TOOL_CALLS: Self = Self(4);
    /// Who did the work, which attempt it is, and what was found in earlier ones.
    pub const HISTORY: Self = Self(8);
    /// No part.
    pub const NONE: Self = Self(0);
    /// All parts.
    pub const ALL: Self = Self(15);

    /// Returns the union of both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether all parts of `other` are in this set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the submission without the parts that are not among these.
    pub fn of(self, submission: &Submission) -> Submission {
        let mut given = submission.clone();
        if !self.has(Self::CLAIM) {
            given.claim = None;
        }
        if !self.has(Self::EVALUATOR) {
            given.evaluator = None;
        }
        if !self.has(Self::TOOL_CALLS) {
            given.tool_calls.clear();
        }
        if !self.has(Self::HISTORY) {
            (given.attempt, given.attempts_allowed, given.review) = (0, None, None);
            given.prior_findings.clear();
            given.executor = Executor::default();
        }
        given
    }
}

/// Finds verifiers.
pub trait Resolver {
    /// Finds the verifier of a check, and validates the settings and grants of the check against it. Called once for each
    /// check that takes part.
    fn verifier(&self, check: &config::CheckConfig) -> Result<ResolvedVerifier, Vec<Refusal>>;
}

/// A verifier that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedVerifier {
    /// The digest of its bytes.
    pub digest: String,
    /// Whether the verifier is called for each file, or once with the submission. `None` for a program, which can do both:
    /// with `files`, it judges files.
    pub shape: Option<Shape>,
    /// The default file patterns of the verifier.
    pub files: Vec<String>,
    /// Whether the verifier judges the working tree, whatever the selection is.
    pub working_tree: bool,
    /// Which parts of a submission the verifier is given.
    pub reads: SubmissionParts,
}

/// Why the verifier of a check cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The entry of the check, such as `verifier` or `settings.max`.
    pub at: String,
    /// What was expected, and what was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let at = match failure.kind {
            ErrorKind::SettingsInvalid => "settings",
            ErrorKind::LinkCapabilityDenied => "grants",
            _ => "verifier",
        };
        Self { at: at.to_owned(), message: failure.message, hint: failure.hint }
    }
}

fn perhaps_milliseconds<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => milliseconds(duration, serializer),
        None => serializer.serialize_none(),
    }
}
