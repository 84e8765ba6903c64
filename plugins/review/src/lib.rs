//! Shared code of the reviewers: what they show to a model, and how they read its answer.
//!
//! A reviewer has a template, which a policy can replace, and an answer format, which it cannot: so no edit of a prompt loses
//! the nonce. Everything that the executor may have written is sent to the model as untrusted parts. If a part cannot be shown
//! in full, no model is asked, and the reviewer abstains.

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
pub use review::{CATEGORIES, Review, ReviewOutcome};
pub use world::{Host, World};

use serde::Deserialize;

/// The settings that every reviewer takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The template of the prompt.
    pub prompt: Option<String>,
    /// The granted model to ask.
    pub model: Option<String>,
    /// Criteria besides those of the task.
    pub criteria: Vec<String>,
    /// Files of the workspace that the result must agree with.
    pub documents: Vec<String>,
    /// Patterns of changed files that are listed but not shown.
    pub exclude: Vec<String>,
    /// Whether to show the executor's claim, report and tool calls.
    pub show_claim: bool,
    /// The size limit of the material in bytes.
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
