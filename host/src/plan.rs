//! What a configuration means: one value in which every name, default and number is resolved before anything runs.
//!
//! It holds no path of this machine and no time of day, so that two machines that would decide alike have equal plans
//! and equal digests. How verifiers are found is left to a [`Resolver`]; running a plan is left to `gate`.

mod canonical;
mod resolve;
#[cfg(test)]
mod tests;
mod voices;

pub use canonical::canonical;
pub use resolve::resolve;

use crate::config::{
    self, CommandConfig, Divergence, Enforcement, Flaky, Grant, Inapplicable, Leniency, ModelConfig, Threshold, When,
    milliseconds,
};
use crate::limits::Limits;
use crate::outcome::NodeKind;
use crate::verdict::{ErrorKind, Failure};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The version of the shape of a plan; another one makes other digests.
const FORMAT: u32 = 1;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The version of this shape.
    pub format: u32,
    /// How long the whole gate may take.
    #[serde(rename = "deadline_ms", serialize_with = "milliseconds")]
    pub deadline: Duration,
    /// Whether a pass may rest on nothing that only the author of the change says.
    pub require_trusted: bool,
    /// The files that checks of files look at, whatever they are for; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The files that no check of files looks at.
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
    /// The digest of the plan: `sha256:` and hexadecimal digits, over its canonical JSON.
    pub fn digest(&self) -> String {
        sha256(serde_json::to_value(self).map(|json| canonical(&json)).unwrap_or_default())
    }

    /// Its checks, in order.
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
    /// Its name in reports, unlike that of every other member of the same gate.
    pub name: String,
    /// Whether it takes part at all.
    pub enabled: bool,
    /// Whether it decides.
    pub mode: Enforcement,
    /// The tasks for which it runs; empty for all.
    pub when: Vec<When>,
    /// It runs unless the task asks for a lower tier.
    pub tier: Option<u32>,
    /// What becomes of no answer.
    pub on_error: Leniency,
    /// What becomes of no judgement.
    pub on_abstain: Leniency,
    /// What becomes of it when there is nothing to check.
    pub on_nothing: Inapplicable,
    /// How much its vote weighs.
    pub weight: u32,
    /// What it is.
    #[serde(flatten)]
    pub what: PlanNodeKind,
}

impl PlanNode {
    /// Its kind in reports.
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

    /// Its members, in order.
    pub fn members(&self) -> &[PlanNode] {
        match &self.what {
            PlanNodeKind::Check(_) => &[],
            PlanNodeKind::Gate(gate) => &gate.members,
        }
    }

    /// The node and everything below it, in order.
    pub fn walk(&self) -> impl Iterator<Item = &PlanNode> {
        let mut ahead = vec![self];
        std::iter::from_fn(move || {
            let node = ahead.pop()?;
            ahead.extend(node.members().iter().rev());
            Some(node)
        })
    }
}

/// What a member is.
#[expect(clippy::large_enum_variant, reason = "a plan has few members, and most of them are checks")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanNodeKind {
    /// A use of a verifier.
    Check(Check),
    /// A rule over members.
    Gate(Gate),
}

/// A rule over members.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// How the members come to one answer.
    pub rule: GateRule,
    /// It runs if a file changed that matches one of these; empty for all.
    pub files: Vec<String>,
    /// Changed files that do not count.
    pub exclude: Vec<String>,
    /// How long it may take, besides the deadline of the plan.
    #[serde(rename = "timeout_ms", serialize_with = "perhaps_milliseconds")]
    pub timeout: Option<Duration>,
    /// The members, in the order of the file.
    pub members: Vec<PlanNode>,
}

/// How members come to one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateRule {
    /// In order; the first that does not pass decides.
    Tiers,
    /// Every one must pass.
    All,
    /// One must pass.
    Any,
    /// The one must fail.
    Not,
    /// They vote.
    Vote(Vote),
}

/// How a vote is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vote {
    /// How much of what was cast must be for it.
    pub threshold: Threshold,
    /// How many voices may be missing: the number of voters less the quorum.
    ///
    /// A fixed number of ballots that must be cast would open a gate to a member that fails: its ballot could be the
    /// one that the quorum lacked, and so turn an abstention into a pass. A fixed number of absences cannot.
    pub absences: u32,
    /// Whether who does not apply is missing too, as it is where the configuration names a quorum.
    pub gone_are_missing: bool,
    /// What becomes of some for it, but too few.
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
    /// The verifier, as the configuration names it; of a path outside the workspace, only the name of the file.
    pub verifier: String,
    /// The digest of the verifier's bytes.
    pub digest: String,
    /// What the verifier is called with.
    pub shape: Shape,
    /// The settings, a JSON object that is valid under the verifier's schema.
    pub settings: serde_json::Value,
    /// What it may do.
    pub grants: BTreeSet<Grant>,
    /// What one call may use.
    pub limits: Limits,
    /// The files that it judges; none for a verifier of submissions.
    pub files: Vec<String>,
    /// Files that it does not judge.
    pub exclude: Vec<String>,
    /// How long it may take each time that it is asked.
    #[serde(rename = "timeout_ms", serialize_with = "milliseconds")]
    pub timeout: Duration,
    /// How often it is asked while it gives no answer.
    pub attempts: u32,
    /// How often it is run to see whether it agrees with itself.
    pub flaky: Option<Flaky>,
    /// How sure a pass must be, to be one.
    pub min_confidence: Option<f64>,
    /// How sure a pass must be for nobody to be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_below: Option<f64>,
    /// What becomes of an input that the verifier says is not for it.
    pub on_not_applicable: Inapplicable,
    /// Whether it is shown what is not committed in the working tree, whatever is judged.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub working_tree: bool,
    /// Whether its commands must fail on the base.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub red_green: bool,
    /// Which parts of a submission it may look at. Follows from the digest.
    #[serde(skip)]
    pub reads: SubmissionParts,
}

impl Check {
    /// The digest of the settings: `sha256:` and hexadecimal digits, over their canonical JSON.
    pub fn settings_digest(&self) -> String {
        sha256(canonical(&self.settings))
    }
}

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", crate::text::hex(&Sha256::digest(bytes)))
}

/// What a verifier is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Each file.
    File,
    /// The submission.
    Submission,
}

impl Shape {
    /// The word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Submission => "submission",
        }
    }
}

/// Which parts of a submission a verifier may look at. Of one that is not bundled nobody knows, so it may look at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmissionParts(u8);

impl SubmissionParts {
    /// What the executor says that it did.
    pub const CLAIM: Self = Self(1);
    /// What a separate evaluator said.
    pub const EVALUATOR: Self = Self(2);
    /// The tools that were called.
    pub const TOOL_CALLS: Self = Self(4);
    /// None of these.
    pub const NONE: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self(7);

    /// These and those.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether these are among them.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Where verifiers come from.
pub trait Resolver {
    /// Finds the verifier of a check, and holds the check's settings and grants against it. Asked once for each check
    /// that takes part.
    fn verifier(&self, check: &config::CheckConfig) -> Result<ResolvedVerifier, Vec<Refusal>>;
}

/// A verifier that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedVerifier {
    /// The digest of its bytes.
    pub digest: String,
    /// What it is called with. None for a program, which judges files where it is said which, and else the submission.
    pub shape: Option<Shape>,
    /// The files that it judges if the check does not say.
    pub files: Vec<String>,
    /// Whether it is about the working tree, whatever is judged.
    pub working_tree: bool,
    /// Which parts of a submission it may look at.
    pub reads: SubmissionParts,
}

/// Why a check cannot have its verifier.
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
