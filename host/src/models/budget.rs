//! What one run may spend on a model: requests, tokens, bytes and time.
//!
//! Tokens are taken off before a question is asked, by an estimate that is rather too high, so that many questions at
//! once cannot overdraw; when the answer is there, what it really took replaces the estimate. What was asked and not
//! answered stays taken off: it may have been spent.

use super::prompt::Rendered;
use super::{NoAnswer, Tokens};
use crate::config::ModelConfig;
use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What is left of a model's budgets.
#[derive(Debug)]
pub(super) struct ModelBudget(Mutex<Left>);

#[derive(Debug)]
struct Left {
    requests: u32,
    tokens: u64,
    bytes: u64,
    time: Duration,
}

impl ModelBudget {
    pub(super) fn of(model: &ModelConfig) -> Self {
        Self(Mutex::new(Left {
            requests: model.max_requests,
            tokens: model.max_run_tokens,
            bytes: model.max_run_bytes,
            time: model.max_run_time,
        }))
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.lock()
    }

    /// Takes off what a question will take.
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

/// Text has rarely fewer than three bytes for a token; the answer may be as long as it is allowed to be.
fn estimate(question: &Rendered) -> u64 {
    question.bytes().div_ceil(3) + u64::from(question.max_tokens)
}

/// What one question spends.
pub(super) struct Spending<'b> {
    budget: &'b ModelBudget,
    since: Instant,
    /// What was taken off.
    tokens: u64,
    time: Duration,
}

impl Spending<'_> {
    /// Returns how long the question may take at most.
    pub(super) fn time_left(&self) -> Duration {
        self.time
    }

    /// These bytes go out.
    pub(super) fn sent(&self, bytes: u64) -> Result<(), NoAnswer> {
        let mut left = self.budget.left();
        left.bytes = left.bytes.checked_sub(bytes).ok_or_else(|| NoAnswer::Budget("bytes".to_owned()))?;
        Ok(())
    }

    /// These bytes came in.
    pub(super) fn received(&self, bytes: u64) {
        let mut left = self.budget.left();
        left.bytes = left.bytes.saturating_sub(bytes);
    }

    /// Returns how many bytes may still come in.
    pub(super) fn bytes_left(&self) -> u64 {
        self.budget.left().bytes
    }

    /// The answer is there, and took this much, where the model says so.
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
