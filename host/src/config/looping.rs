//! `[loop]` and `[gate.NAME.loop]`: how often an executor is sent back, how long it may work, and how much it may cost.

use super::read::Table;
use std::time::Duration;

/// The most bounces and iterations.
const MOST: u32 = 1_000;
/// The most tokens.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// The default and the longest time limit of an executor.
const EXECUTOR_TIMEOUT: (Duration, Duration) = (Duration::from_secs(5 * 60), Duration::from_secs(15 * 60));

/// What happens to findings that the executor cannot fix: findings about the specification, and findings for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnSpecFinding {
    /// The loop ends, and human review is needed.
    #[default]
    Block,
    /// The findings become suggestions, and the loop completes.
    Suggest,
}

/// What happens to work that a reviewer rejected in every iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReviewLimit {
    /// The loop ends without a pass.
    #[default]
    Block,
    /// The loop completes with warnings.
    Proceed,
}

/// The budgets of a loop that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopConfig {
    /// How often the work is sent back.
    pub max_bounces: Option<u32>,
    /// How often a reviewer may reject the work.
    pub review_iterations: Option<u32>,
    /// How often the work is built and evaluated.
    pub max_iterations: Option<u32>,
    /// How long one attempt of the executor may take.
    pub executor_timeout: Option<Duration>,
    /// Whether the loop ends when an attempt fails exactly as the one before it.
    pub stop_when_unchanged: Option<bool>,
    /// How many tokens all attempts may use together, including those of the evaluator and of the models of the gate.
    pub max_tokens: Option<u64>,
    /// How much all attempts may cost together, in thousandths of a currency unit.
    pub max_cost: Option<u64>,
    /// What happens to findings that the executor cannot fix.
    pub on_spec_finding: Option<OnSpecFinding>,
    /// What happens to work that a reviewer rejected in every iteration.
    pub on_review_limit: Option<OnReviewLimit>,
    /// Whether fixes that verifiers offer are applied before the work is sent back.
    pub fix: Option<bool>,
}

impl LoopConfig {
    /// The default of `max_bounces`.
    pub const MAX_BOUNCES: u32 = 2;
    /// The default of `review_iterations` and `max_iterations`.
    pub const ITERATIONS: u32 = 3;

    /// Returns these budgets, with those of `other` where one is not set.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            max_bounces: self.max_bounces.or(other.max_bounces),
            review_iterations: self.review_iterations.or(other.review_iterations),
            max_iterations: self.max_iterations.or(other.max_iterations),
            executor_timeout: self.executor_timeout.or(other.executor_timeout),
            stop_when_unchanged: self.stop_when_unchanged.or(other.stop_when_unchanged),
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_cost: self.max_cost.or(other.max_cost),
            on_spec_finding: self.on_spec_finding.or(other.on_spec_finding),
            on_review_limit: self.on_review_limit.or(other.on_review_limit),
            fix: self.fix.or(other.fix),
        }
    }

    /// Returns how often the work is sent back. If only the number of reviews or evaluations is raised, the number of
    /// bounces is raised with it.
    pub fn bounces(&self) -> u32 {
        let asked = self.review_iterations.max(self.max_iterations).map_or(0, |most| most.saturating_sub(1));
        self.max_bounces.unwrap_or(Self::MAX_BOUNCES.max(asked))
    }

    /// Returns how often a reviewer may reject the work.
    pub fn reviews(&self) -> u32 {
        self.review_iterations.unwrap_or(Self::ITERATIONS)
    }

    /// Returns how often the work is built and evaluated.
    pub fn iterations(&self) -> u32 {
        self.max_iterations.unwrap_or(Self::ITERATIONS)
    }

    /// Returns the time limit of the next attempt after so many time-outs: twice as long each time, up to the longest.
    pub fn timeout(&self, exceeded: u32) -> Duration {
        let first = self.executor_timeout.unwrap_or(EXECUTOR_TIMEOUT.0);
        first.saturating_mul(1 << exceeded.min(10)).min(EXECUTOR_TIMEOUT.1)
    }

    /// Returns whether the loop ends when an attempt fails exactly as the one before it.
    pub fn stops_when_unchanged(&self) -> bool {
        self.stop_when_unchanged.unwrap_or(true)
    }

    /// Parses a duration as gate.toml has it, for a flag.
    pub fn parse_timeout(text: &str) -> Option<Duration> {
        super::units::duration(text).filter(|time| !time.is_zero() && *time <= EXECUTOR_TIMEOUT.1)
    }
}

pub(super) fn read(mut table: Table<'_>) -> LoopConfig {
    let spec = [("block", OnSpecFinding::Block), ("suggest", OnSpecFinding::Suggest)];
    let limit = [("block", OnReviewLimit::Block), ("proceed", OnReviewLimit::Proceed)];
    let budgets = LoopConfig {
        max_bounces: table.get("max_bounces").and_then(|value| value.small(0..=MOST)),
        review_iterations: table.get("review_iterations").and_then(|value| value.small(1..=MOST)),
        max_iterations: table.get("max_iterations").and_then(|value| value.small(1..=MOST)),
        executor_timeout: table.get("executor_timeout").and_then(|value| value.duration_up_to(EXECUTOR_TIMEOUT.1)),
        stop_when_unchanged: table.get("stop_when_unchanged").and_then(|value| value.flag()),
        max_tokens: table.get("max_tokens").and_then(|value| value.number(1..=MOST_TOKENS)),
        max_cost: table.get("max_cost").and_then(|value| value.price()),
        on_spec_finding: table.get("on_spec_finding").and_then(|value| value.word(&spec)),
        on_review_limit: table.get("on_review_limit").and_then(|value| value.word(&limit)),
        fix: table.get("fix").and_then(|value| value.flag()),
    };
    table.finish();
    budgets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_doubles_up_to_the_most_that_is_allowed() {
        let budgets = LoopConfig { executor_timeout: Some(Duration::from_secs(4 * 60)), ..LoopConfig::default() };
        let minutes = |exceeded| budgets.timeout(exceeded).as_secs() / 60;
        assert_eq!([0, 1, 2, 3, 99].map(minutes), [4, 8, 15, 15, 15]);
    }

    #[test]
    fn more_iterations_make_room_for_their_bounces() {
        let of =
            |reviews, bounces| LoopConfig { review_iterations: reviews, max_bounces: bounces, ..LoopConfig::default() };
        assert_eq!(
            [of(None, None), of(Some(5), None), of(Some(1), None), of(Some(5), Some(1))].map(|it| it.bounces()),
            [2, 4, 2, 1]
        );
    }
}
