//! Scripted answers, which test cases use instead of commands and models.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};

/// Answers by name, in order. Each answer is used once.
#[derive(Debug)]
pub struct Answers<T>(Mutex<BTreeMap<String, VecDeque<T>>>);

impl<T> Answers<T> {
    /// Returns these answers.
    pub fn new(answers: BTreeMap<String, Vec<T>>) -> Self {
        Self(Mutex::new(answers.into_iter().map(|(name, answers)| (name, answers.into())).collect()))
    }

    /// Returns the next answer for this name, if one is left.
    pub(crate) fn next(&self, name: &str) -> Option<T> {
        self.0.lock().get_mut(name)?.pop_front()
    }
}
