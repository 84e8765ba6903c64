//! The resource limits of a verifier, and of what a run stores. Data only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The limits of one call of a verifier. Exceeding one ends the call with an error of its own kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Time from the start of the call, including the host's share (`limit.time`).
    #[serde(rename = "time_ms", with = "milliseconds")]
    #[schemars(with = "u64")]
    pub time: Duration,
    /// Bytes of all linear memories together (`limit.memory`).
    pub memory: usize,
    /// Elements of all tables together (`limit.memory`).
    pub table_elements: usize,
    /// Bytes that may cross the boundary in one direction in one call (`limit.transfer`).
    pub transfer: usize,
    /// Handles that may be open at the same time (`limit.handles`).
    pub handles: usize,
    /// Calls of host functions (`limit.hostcalls`).
    pub hostcalls: u64,
    /// Random bytes in one request (`limit.random`).
    pub random: u64,
    /// Bytes of a file, or of all texts of a submission (`input.limit`).
    pub input: u64,
    /// Bytes of log that are kept. More are counted and dropped, which is not an error.
    pub log: usize,
    /// Findings that are kept. More are counted and dropped, which is not an error.
    pub findings: usize,
}

/// How many bytes of answers a run stores, before they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredLimits {
    /// For one check.
    pub check: u64,
    /// For the whole run.
    pub run: u64,
}

impl Default for StoredLimits {
    fn default() -> Self {
        Self { check: 16 << 20, run: 64 << 20 }
    }
}

/// Durations in whole milliseconds.
mod milliseconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            memory: 256 << 20,
            table_elements: 100_000,
            transfer: 4 << 20,
            handles: 256,
            hostcalls: 100_000,
            random: 64 << 10,
            input: 64 << 20,
            log: 64 << 10,
            findings: 1_000,
        }
    }
}
