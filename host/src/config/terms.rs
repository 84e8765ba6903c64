//! The terms of a member: when it runs, for how long, and what happens if it errors or abstains.
//!
//! Gates, checks and members have the same terms. The terms of a member override those of the gate or check that it names.

use super::read::Table;
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// A condition on the task under which a member runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The first task of a phase.
    PhaseBoundary,
    /// Every task whose index is a multiple of this.
    Every(u32),
    /// The last task.
    Final,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PhaseBoundary => f.write_str("phase-boundary"),
            Self::Every(n) => write!(f, "every {n}"),
            Self::Final => f.write_str("final"),
        }
    }
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What happens if a member errors or abstains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Leniency {
    /// Nothing passes.
    #[default]
    Block,
    /// The error is ignored, and a pass that depends on it is marked.
    Warn,
    /// Human review is needed.
    Escalate,
}

/// What happens if a verifier says that an input is not applicable, or if a gate has nothing to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Inapplicable {
    /// It counts neither for nor against the work.
    #[default]
    Skip,
    /// It counts as an abstention.
    Block,
}

/// Whether the result of a member counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// It counts.
    #[default]
    Enforce,
    /// It is only reported.
    Shadow,
}

/// How the runs of a flaky check are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PassIf {
    /// Every run must pass.
    #[default]
    All,
    /// One run must pass.
    Any,
}

/// A check whose result may differ between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flaky {
    /// How often the check runs.
    pub runs: u32,
    /// The result if the runs disagree.
    pub pass_if: PassIf,
}

/// The terms that are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberTerms {
    /// The member runs if one of these conditions holds.
    pub when: Option<Vec<When>>,
    /// The member is skipped if the task asks for a lower tier.
    pub tier: Option<u32>,
    /// For a gate: it runs only if a changed file matches. For a check: the files that it judges.
    pub files: Option<Vec<String>>,
    /// Patterns of files that are ignored.
    pub exclude: Option<Vec<String>>,
    /// Whether the member takes part at all.
    pub enabled: Option<bool>,
    /// The time limit; for a check, of each run.
    pub timeout: Option<Duration>,
    /// How often a check runs if its verifier errors.
    pub attempts: Option<u32>,
    /// How often a flaky check runs, to see whether its runs agree.
    pub flaky: Option<Flaky>,
    /// What happens if the member errors.
    pub on_error: Option<Leniency>,
    /// What happens if the member abstains.
    pub on_abstain: Option<Leniency>,
    /// What happens if a verifier says that an input is not applicable.
    pub on_not_applicable: Option<Inapplicable>,
    /// What happens if a gate has nothing to check.
    pub on_nothing: Option<Inapplicable>,
    /// Whether the result counts.
    pub mode: Option<Enforcement>,
    /// The least confidence of a pass; a less confident pass is an abstention.
    pub min_confidence: Option<f64>,
    /// A pass with less confidence than this needs human review.
    pub escalate_below: Option<f64>,
}

impl MemberTerms {
    /// Returns these terms, with those of `other` where one is not set.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            when: self.when.clone().or_else(|| other.when.clone()),
            tier: self.tier.or(other.tier),
            files: self.files.clone().or_else(|| other.files.clone()),
            exclude: self.exclude.clone().or_else(|| other.exclude.clone()),
            enabled: self.enabled.or(other.enabled),
            timeout: self.timeout.or(other.timeout),
            attempts: self.attempts.or(other.attempts),
            flaky: self.flaky.or(other.flaky),
            on_error: self.on_error.or(other.on_error),
            on_abstain: self.on_abstain.or(other.on_abstain),
            on_not_applicable: self.on_not_applicable.or(other.on_not_applicable),
            on_nothing: self.on_nothing.or(other.on_nothing),
            mode: self.mode.or(other.mode),
            min_confidence: self.min_confidence.or(other.min_confidence),
            escalate_below: self.escalate_below.or(other.escalate_below),
        }
    }

    pub(super) fn read(table: &mut Table<'_>) -> Self {
        let leniency =
            [("block", Leniency::Block), ("warn", Leniency::Warn), ("escalate", Leniency::Escalate)].as_slice();
        Self {
            when: table.get("when").and_then(|value| {
                let list = value.list("a list of `phase-boundary`, `every N` and `final`")?;
                Some(
                    list.iter()
                        .filter_map(|value| {
                            let read = value.as_str().and_then(read_when);
                            read.or_else(|| value.expected("`phase-boundary`, `every N` with N from 1, or `final`"))
                        })
                        .collect(),
                )
            }),
            tier: table.get("tier").and_then(|value| value.small(1..=1_000)),
            files: table.get("files").and_then(|value| value.patterns(false)),
            exclude: table.get("exclude").and_then(|value| value.patterns(true)),
            enabled: table.get("enabled").and_then(|value| value.flag()),
            timeout: table.get("timeout").and_then(|value| value.duration()),
            attempts: table.get("attempts").and_then(|value| value.small(1..=10)),
            flaky: table.get("flaky").and_then(|value| read_flaky(value.table("a table such as `{ runs = 2 }`")?)),
            on_error: table.get("on_error").and_then(|value| value.word(leniency)),
            on_abstain: table.get("on_abstain").and_then(|value| value.word(leniency)),
            on_not_applicable: table
                .get("on_not_applicable")
                .and_then(|value| value.word(&[("skip", Inapplicable::Skip), ("block", Inapplicable::Block)])),
            on_nothing: table
                .get("on_nothing")
                .and_then(|value| value.word(&[("pass", Inapplicable::Skip), ("block", Inapplicable::Block)])),
            mode: table
                .get("mode")
                .and_then(|value| value.word(&[("enforce", Enforcement::Enforce), ("shadow", Enforcement::Shadow)])),
            min_confidence: table.get("min_confidence").and_then(|value| value.fraction()),
            escalate_below: table.get("escalate_below").and_then(|value| value.fraction()),
        }
    }
}

fn read_when(text: &str) -> Option<When> {
    match text {
        "phase-boundary" => Some(When::PhaseBoundary),
        "final" => Some(When::Final),
        _ => {
            let number = text.strip_prefix("every ")?;
            let plain = number.bytes().all(|byte| byte.is_ascii_digit());
            number.parse().ok().filter(|number| plain && *number > 0).map(When::Every)
        }
    }
}

fn read_flaky(mut table: Table<'_>) -> Option<Flaky> {
    let runs = table.need("runs", "how often it is run").and_then(|value| value.small(2..=20));
    let pass_if = table.get("pass_if").and_then(|value| value.word(&[("all", PassIf::All), ("any", PassIf::Any)]));
    table.finish();
    Some(Flaky { runs: runs?, pass_if: pass_if.unwrap_or_default() })
}
