//! A question to a model, its answer, and why there is none.

use crate::text;
use crate::verdict::{ErrorKind, Failure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    /// Text of the verifier.
    Text(String),
    /// Content under review.
    Untrusted {
        /// A label for the model.
        label: String,
        /// The content.
        content: String,
    },
}

/// A question to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelQuestion {
    /// The system prompt.
    pub system: String,
    /// The prompt, in order.
    pub prompt: Vec<PromptPart>,
    /// A JSON Schema for the answer, if the API can enforce one.
    pub answer_schema: Option<String>,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u32>,
    /// The word that marks untrusted content.
    pub nonce: String,
}

impl ModelQuestion {
    /// Returns SHA-256 of the question, in hexadecimal, without the nonce, which differs in every call.
    pub(super) fn sha256(&self) -> String {
        let mut hasher = Sha256::new();
        let mut add = |part: &str| {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.replace(&self.nonce, "{nonce}"));
        };
        add(&self.system);
        for part in &self.prompt {
            match part {
                PromptPart::Text(text) => add(text),
                PromptPart::Untrusted { label, content } => {
                    add(label);
                    add(content);
                }
            }
        }
        add(self.answer_schema.as_deref().unwrap_or_default());
        text::hex(&hasher.finalize())
    }
}

/// Returns SHA-256 of a text, in hexadecimal, without the nonce, which differs in every call.
pub(super) fn sha256(said: &str, nonce: &str) -> String {
    text::hex(&Sha256::digest(said.replace(nonce, "{nonce}")))
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// Another reason.
    Other,
    /// It was cut off at a limit.
    Length,
    /// The model refused.
    Refusal,
    /// The model was done.
    End,
}

impl Stop {
    /// Returns the word used in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Length => "length",
            Self::Refusal => "refusal",
            Self::End => "end",
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// The model that answered, as it named itself.
    pub model: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoAnswer {
    /// The model is the one that the executor used.
    #[error("the model also did the work, which `distinct` does not allow")]
    NotDistinct,
    /// A budget of this run is used up.
    #[error("the budget of {0} is used up")]
    Budget(String),
    /// The model could not be reached.
    #[error("cannot reach the model: {0}")]
    Unreachable(String),
    /// It did not answer in time.
    #[error("the model did not answer within {0}")]
    Timeout(String),
    /// The response is not an answer.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
}

impl NoAnswer {
    /// Returns the word used in every report.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotDistinct => "not-distinct",
            Self::Budget(_) => "budget",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout(_) => "timeout",
            Self::Malformed(_) => "malformed",
        }
    }

    /// Returns the failure of a check whose model `name` did not answer.
    pub fn failure(&self, name: &str) -> Failure {
        let (kind, hint) = match self {
            Self::NotDistinct => {
                let hint = format!("give `[model.{name}]` another model, or set its `distinct = false`");
                (ErrorKind::LlmNotDistinct, Some(hint))
            }
            Self::Budget(what) => {
                let key = if what == "requests" { "max_requests".to_owned() } else { format!("max_run_{what}") };
                (ErrorKind::LlmBudget, Some(format!("raise `{key}` of `[model.{name}]`")))
            }
            Self::Unreachable(_) => (ErrorKind::LlmUnreachable, None),
            Self::Timeout(_) => (ErrorKind::LlmTimeout, Some(format!("raise `timeout` of `[model.{name}]`"))),
            Self::Malformed(_) => (ErrorKind::LlmMalformed, None),
        };
        Failure { hint, ..Failure::new(kind, crate::text::clean_line(&format!("`{name}`: {self}"), 500)) }
    }
}
