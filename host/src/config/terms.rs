//! On which terms a member takes part in a gate: when it runs, for how long, and what its silence counts as.
//!
//! Gates, checks and members of gates have the same terms. Those of a member go before those of what it names.

use super::read::Table;
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// A task for which something runs.
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

/// What becomes of a member that gave no answer or no judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Leniency {
    /// It stands, and so nothing passes.
    #[default]
    Block,
    /// It is let through, and what passes because of that is marked.
    Warn,
    /// A person is asked.
    Escalate,
}

/// What becomes of an input that a verifier says is not for it, and of a gate that has nothing to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Inapplicable {
    /// It counts neither way.
    #[default]
    Skip,
    /// It is an abstention.
    Block,
}

/// Whether a member decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// It does.
    #[default]
    Enforce,
    /// It only reports what it would have decided.
    Shadow,
}

/// How the runs of a flaky check come to one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PassIf {
    /// Every run must pass.
    #[default]
    All,
    /// One run must pass.
    Any,
}

/// A check that is known to answer now this, now that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flaky {
    /// How often it is run.
    pub runs: u32,
    /// What its runs come to when they disagree.
    pub pass_if: PassIf,
}

/// The terms, as far as they are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberTerms {
    /// The tasks for which it runs; any of them suffices.
    pub when: Option<Vec<When>>,
    /// It runs unless the task asks for a lower tier.
    pub tier: Option<u32>,
    /// For a gate, it runs if such a file changed; for a check, the files that it judges.
    pub files: Option<Vec<String>>,
    /// Files that do not count.
    pub exclude: Option<Vec<String>>,
    /// Whether it takes part at all.
    pub enabled: Option<bool>,
    /// How long it may take: for a check, each time that it is asked.
    pub timeout: Option<Duration>,
    /// How often a verifier that gives no answer is asked.
    pub attempts: Option<u32>,
    /// How often it is run to see whether it agrees with itself.
    pub flaky: Option<Flaky>,
    /// What becomes of no answer.
    pub on_error: Option<Leniency>,
    /// What becomes of no judgement.
    pub on_abstain: Option<Leniency>,
    /// What becomes of inputs that a verifier says are not for it.
    pub on_not_applicable: Option<Inapplicable>,
    /// What becomes of a gate that has nothing to check.
    pub on_nothing: Option<Inapplicable>,
    /// Whether it decides.
    pub mode: Option<Enforcement>,
    /// How sure a pass must be, to be one.
    pub min_confidence: Option<f64>,
    /// How sure a pass must be for nobody to be asked.
    pub escalate_below: Option<f64>,
}

impl MemberTerms {
    /// These terms, and where they say nothing, the other ones.
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
