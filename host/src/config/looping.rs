//! `[loop]` and `[gate.NAME.loop]`: how often an executor is sent back, and for how long it may work.

use super::read::Table;
use std::time::Duration;

/// The most bounces.
const MOST_BOUNCES: u32 = 1_000;
/// How long an executor may work if nothing else is said, and at most.
const EXECUTOR_TIMEOUT: (Duration, Duration) = (Duration::from_secs(5 * 60), Duration::from_secs(15 * 60));

/// The budgets of a loop, as far as they are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loop {
    /// How often the work is sent back.
    pub max_bounces: Option<u32>,
    /// How long one attempt of the executor may take.
    pub executor_timeout: Option<Duration>,
    /// Whether the loop ends when an attempt fails exactly as the one before it.
    pub stop_when_unchanged: Option<bool>,
}

impl Loop {
    /// How often the work is sent back if nothing else is said.
    pub const MAX_BOUNCES: u32 = 2;

    /// What is not given here is as it is there.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            max_bounces: self.max_bounces.or(other.max_bounces),
            executor_timeout: self.executor_timeout.or(other.executor_timeout),
            stop_when_unchanged: self.stop_when_unchanged.or(other.stop_when_unchanged),
        }
    }

    /// How often the work is sent back.
    pub fn bounces(&self) -> u32 {
        self.max_bounces.unwrap_or(Self::MAX_BOUNCES)
    }

    /// How long one attempt of the executor may take.
    pub fn timeout(&self) -> Duration {
        self.executor_timeout.unwrap_or(EXECUTOR_TIMEOUT.0)
    }

    /// Whether the loop ends when an attempt fails exactly as the one before it.
    pub fn stops_when_unchanged(&self) -> bool {
        self.stop_when_unchanged.unwrap_or(true)
    }

    /// Reads a duration as the configuration has it, for a flag.
    pub fn parse_timeout(text: &str) -> Option<Duration> {
        super::units::duration(text).filter(|time| !time.is_zero() && *time <= EXECUTOR_TIMEOUT.1)
    }
}

pub(super) fn read(mut table: Table<'_>) -> Loop {
    let budgets = Loop {
        max_bounces: table.get("max_bounces").and_then(|value| value.small(0..=MOST_BOUNCES)),
        executor_timeout: table.get("executor_timeout").and_then(|value| value.duration_up_to(EXECUTOR_TIMEOUT.1)),
        stop_when_unchanged: table.get("stop_when_unchanged").and_then(|value| value.flag()),
    };
    table.finish();
    budgets
}
