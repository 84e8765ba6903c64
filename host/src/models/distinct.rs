//! Decides whether a model is the one that did the work.
//!
//! Every question has a fresh context, so it is never the session of the executor. What remains to compare is the model: the
//! same name is the same model, whatever the provider, tag or date. If the model of the executor is unknown, no model is
//! refused.

use crate::config::ModelConfig;
use crate::submission::Executor;

/// Returns whether this model must not judge the work of this executor.
pub(super) fn refused(model: &ModelConfig, name: Option<&str>, executor: &Executor) -> bool {
    model.distinct && name.zip(executor.model.as_deref()).is_some_and(|(name, other)| is_same(name, other))
}

/// Returns whether two names refer to the same model.
pub(super) fn is_same(name: &str, other: &str) -> bool {
    let (name, other) = (bare(name), bare(other));
    !name.is_empty() && name == other
}

/// Returns a name without provider (`anthropic/…`), tag (`:tag`, `@date`) and date (`-20260101`, `-latest`).
fn bare(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let mut name = name.split(['@', ':']).next().unwrap_or_default();
    name = name.strip_suffix("-latest").unwrap_or(name);
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((rest, end)) = name.rsplit_once('-') {
        if digits(end, 8) {
            name = rest;
        } else if digits(end, 2)
            && let Some((rest, month)) = rest.rsplit_once('-')
            && digits(month, 2)
            && let Some((rest, year)) = rest.rsplit_once('-')
            && digits(year, 4)
        {
            name = rest;
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_model_by_another_name_is_the_same() {
        for (name, expected) in [
            ("large-4", "large-4"),
            ("vendor/large-4", "large-4"),
            ("Large-4-20260131", "large-4"),
            ("large-4@20260131", "large-4"),
            ("large-4-latest", "large-4"),
            ("large-4-2026-01-31", "large-4"),
            ("large:8b-q4", "large"),
            ("large-4-1", "large-4-1"),
            ("20260131", "20260131"),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }
}
