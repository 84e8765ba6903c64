//! `[retry]`, `[escalation]`, `[overrides]`, `[progress]` and `[limits]`: what happens after a failure, who may let work through, and
//! what is written down.

use super::read::{Table, TomlValue};
use crate::limits::StoredLimits;
use crate::retry::{EscalationPolicy, Retries, RetryPolicy};
use crate::tape_files;
use serde::Serialize;
use std::path::{Component, Path};
use std::time::Duration;

/// The most retries, and the largest threshold.
const MOST: u32 = 100;
/// The longest wait before a retry.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);
/// The default and the longest time that an override holds.
const EXPIRY: (Duration, Duration) = (Duration::from_secs(24 * 60 * 60), Duration::from_secs(90 * 24 * 60 * 60));

/// Who may let work through without a pass, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overrides {
    /// Lines in the format of an SSH `allowed_signers` file: a name, and the type and text of a public key.
    pub signers: Vec<String>,
    /// Whether `gate verify` accepts work that was let through.
    pub accept: bool,
    /// How long an override holds at most.
    #[serde(rename = "longest_ms", serialize_with = "crate::config::milliseconds")]
    pub longest: Duration,
}

impl Default for Overrides {
    fn default() -> Self {
        Self { signers: Vec::new(), accept: false, longest: EXPIRY.0 }
    }
}

pub(super) fn retry(mut table: Table<'_>) -> RetryPolicy {
    let default = RetryPolicy::default();
    let mut of = |key, default| table.get(key).and_then(|value| retries(&value, default)).unwrap_or(default);
    let policy = RetryPolicy {
        execution_failure: of("execution-failure", default.execution_failure),
        verify_failure: of("verify-failure", default.verify_failure),
        review_rejection: of("review-rejection", default.review_rejection),
        timeout: of("timeout", default.timeout),
        malformed: of("malformed", default.malformed),
        infra: of("infra", default.infra),
    };
    table.finish();
    policy
}

/// Reads a number, or a table with a number and a duration.
fn retries(value: &TomlValue<'_>, default: Retries) -> Option<Retries> {
    if let Some(most) = value.as_number(0..=u64::from(MOST)) {
        return Some(Retries { most: u32::try_from(most).unwrap_or(MOST), ..default });
    }
    let mut table =
        value.table(&format!("a number of retries from 0 to {MOST}, or `{{ times = 1, after = \"30s\" }}`"))?;
    let most = table.get("times").and_then(|value| value.small(0..=MOST)).unwrap_or(default.most);
    let after = table.get("after").and_then(|value| value.duration_up_to(LONGEST_WAIT));
    table.finish();
    Some(Retries { most, after_seconds: after.map_or(default.after_seconds, |after| after.as_secs()) })
}

pub(super) fn escalation(mut table: Table<'_>) -> EscalationPolicy {
    let default = EscalationPolicy::default();
    let notify = table.get("notify").and_then(|value| value.text("the name of a command"));
    let mut of = |key, default| table.get(key).and_then(|value| value.small(0..=MOST)).unwrap_or(default);
    let policy = EscalationPolicy {
        notify,
        same_task: of("same_task", default.same_task),
        rejections: of("rejections", default.rejections),
        timeouts: of("timeouts", default.timeouts),
        group: of("group", default.group),
    };
    table.finish();
    policy
}

pub(super) fn overrides(mut table: Table<'_>) -> Overrides {
    let signer = |value: &TomlValue<'_>| {
        let text = value.text("a name and an SSH public key")?;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let is_key = |word: &&str| word.starts_with("ssh-") || word.starts_with("ecdsa-") || word.starts_with("sk-");
        match words.as_slice() {
            [_, kind, _, ..] if is_key(kind) && !text.contains('\n') => Some(text),
            _ => value.expected("a line such as `alice@example.com ssh-ed25519 AAAA…`"),
        }
    };
    let signers = table
        .get("signers")
        .and_then(|value| Some(value.list_or_empty("a list of signers")?.iter().filter_map(signer).collect()));
    let overrides = Overrides {
        signers: signers.unwrap_or_default(),
        accept: table.get("accept").and_then(|value| value.flag()).unwrap_or(false),
        longest: table.get("longest").and_then(|value| value.duration_up_to(EXPIRY.1)).unwrap_or(EXPIRY.0),
    };
    table.finish();
    overrides
}

/// Reads `[progress]`: the file that reviews are logged to.
pub(super) fn progress(mut table: Table<'_>) -> Option<String> {
    let file = table.get("file").and_then(|value| {
        let path = value.text("a path relative to this file")?;
        let is_inside = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
        if is_inside && !path.is_empty() { Some(path) } else { value.expected("a path below the folder of this file") }
    });
    table.finish();
    file
}

/// Reads `[limits]`: how much of the answers of commands and models is stored with a run. A run that stores more could not be
/// replayed.
pub(super) fn stored(mut table: Table<'_>) -> StoredLimits {
    let default = StoredLimits::default();
    let mut of = |key, default| {
        let size = table.get(key).and_then(|value| match value.size()? {
            size if size <= tape_files::MAX_BYTES => Some(size),
            _ => value.expected("at most `256MiB`"),
        });
        size.unwrap_or(default)
    };
    let run = of("stored", default.run);
    let stored = StoredLimits { run, check: of("stored_per_check", default.check.min(run)) };
    table.finish();
    stored
}
