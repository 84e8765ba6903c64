//! The budgets of a model in one run: requests, tokens, bytes and time.
//!
//! Tokens are deducted before a question is sent, by a high estimate, so that parallel questions cannot exceed the budget.
//! The actual number replaces the estimate when the answer arrives. A question without an answer stays deducted, because it
//! may have been billed.

use super::prompt::Rendered;
use super::{NoAnswer, Tokens};
use crate::config::ModelConfig;
use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The remaining budgets of a model.
#[derive(Debug)]
pub(super) struct ModelBudget(Mutex<RemainingBudget>);

#[derive(Debug)]
struct RemainingBudget {
    requests: u32,
    tokens: u64,
    bytes: u64,
    time: Duration,
}

impl ModelBudget {
    pub(super) fn of(model: &ModelConfig) -> Self {
        Self(Mutex::new(RemainingBudget {
            requests: model.max_requests,
            tokens: model.max_run_tokens,
            bytes: model.max_run_bytes,
            time: model.max_run_time,
        }))
    }

    fn left(&self) -> MutexGuard<'_, RemainingBudget> {
        self.0.lock()
    }

    /// Deducts the estimate for a question.
    pub(super) fn begin(&self, question: &Rendered) -> Result<Spending<'_>, NoAnswer> {
        let used_up = |what: &str| NoAnswer::Budget(what.to_owned());
        let tokens = estimate(question);
        let mut left = self.left();
        if left.time.is_zero() {
            return Err(used_up("time"));
        }
        let requests = left.requests.checked_sub(1).ok_or_else(|| used_up("requests"))?;
        left.tokens = left.tokens.checked_sub(tokens).ok_or_else(|| used_up("tokens"))?;
        left.requests = requests;
        let time = left.time;
        Ok(Spending { budget: self, since: Instant::now(), tokens, time })
    }
}

/// Estimates the tokens of a question: at least three bytes per token, and an answer of maximum length.
fn estimate(question: &Rendered) -> u64 {
    question.bytes().div_ceil(3) + u64::from(question.max_tokens)
}

/// The budget of one question.
pub(super) struct Spending<'b> {
    budget: &'b ModelBudget,
    since: Instant,
    /// The deducted tokens.
    tokens: u64,
    time: Duration,
}

impl Spending<'_> {
    /// Returns the time limit of the question.
    pub(super) fn time_left(&self) -> Duration {
        self.time
    }

    /// Deducts sent bytes.
    pub(super) fn sent(&self, bytes: u64) -> Result<(), NoAnswer> {
        let mut left = self.budget.left();
        left.bytes = left.bytes.checked_sub(bytes).ok_or_else(|| NoAnswer::Budget("bytes".to_owned()))?;
        Ok(())
    }

    /// Deducts received bytes.
    pub(super) fn received(&self, bytes: u64) {
        let mut left = self.budget.left();
        left.bytes = left.bytes.saturating_sub(bytes);
    }

    /// Returns how many bytes may still be received.
    pub(super) fn bytes_left(&self) -> u64 {
        self.budget.left().bytes
    }

    /// Replaces the estimate by the token counts of the answer, if it has any.
    pub(super) fn settle(&self, tokens: Option<Tokens>) {
        if let Some(Tokens { input, output }) = tokens {
            let mut left = self.budget.left();
            left.tokens = left.tokens.saturating_add(self.tokens).saturating_sub(input.saturating_add(output));
        }
    }
}

impl Drop for Spending<'_> {
    fn drop(&mut self) {
        let mut left = self.budget.left();
        left.time = left.time.saturating_sub(self.since.elapsed());
    }
}
