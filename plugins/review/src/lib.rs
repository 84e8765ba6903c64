//! What the reviewers have in common: what they show to a model, and how they read its answer.
//!
//! A reviewer has a template, which a policy may replace, and the form of its answer, which nobody may: so no edit of a
//! prompt can lose the nonce. Everything that the executor may have written goes to the model as untrusted parts. When
//! not all of it can be shown, nothing is asked and the reviewer abstains: half a review is none.

pub mod answer;
mod changes;
mod material;
pub mod place;
mod review;
pub mod schema;
#[cfg(any(test, feature = "scripted"))]
pub mod scripted;
mod template;
mod world;

pub use place::Paths;
pub use review::{CATEGORIES, Review, Reviewed};
pub use world::{Host, World};

use serde::Deserialize;

/// The settings that every reviewer takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The template of the prompt.
    pub prompt: Option<String>,
    /// Which of the granted models is asked.
    pub model: Option<String>,
    /// What the result must satisfy beside what the task says.
    pub criteria: Vec<String>,
    /// Files of the work that the result must agree with.
    pub documents: Vec<String>,
    /// Changed files that need not be shown.
    pub exclude: Vec<String>,
    /// Whether the executor's own words are shown.
    pub show_claim: bool,
    /// The most bytes of material.
    pub max_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prompt: None,
            model: None,
            criteria: Vec::new(),
            documents: Vec::new(),
            exclude: Vec::new(),
            show_claim: false,
            max_bytes: 200_000,
        }
    }
}
