//! Asking the language models that the configuration declares: one question, a fresh context, within budgets.

use crate::commands::{Commands, Script};
use crate::config::Model;
use crate::submission::Executor;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The models of a configuration, and what is left of their budgets in this run.
#[derive(Debug)]
pub struct Models {
    declared: BTreeMap<String, Model>,
    commands: Arc<Commands>,
    executor: Executor,
    /// Where nothing is asked: the nonce, and the answers, in which `{nonce}` stands for it.
    script: Option<(String, Script<Result<Answer, NoAnswer>>)>,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The verifier's own words.
    Text(String),
    /// Content under review.
    Untrusted {
        /// What it is, for the model.
        label: String,
        /// The content.
        content: String,
    },
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the model is told of its role.
    pub system: String,
    /// The prompt, in order.
    pub prompt: Vec<Part>,
    /// A JSON Schema that the answer must follow, where the model's interface can enforce one.
    pub answer_schema: Option<String>,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u32>,
    /// The word that marks what is untrusted.
    pub nonce: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// For a reason that is not known here.
    Other,
    /// It was cut off at a limit.
    Length,
    /// The model refused.
    Refusal,
    /// The model was done.
    End,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// The model that answered, as it named itself.
    pub model: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The model is the executor's own.
    #[error("the model is the executor's own, and its `distinct` demands another")]
    NotDistinct,
    /// A budget of this run is used up.
    #[error("the budget of {0} is used up")]
    Budget(String),
    /// It could not be reached.
    #[error("the model could not be asked: {0}")]
    Unreachable(String),
    /// What came back is no answer.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
}

impl Models {
    /// The models of a configuration, for judging the work of `executor`.
    pub fn new(declared: BTreeMap<String, Model>, commands: Arc<Commands>, executor: Executor) -> Self {
        Self { declared, commands, executor, script: None }
    }

    /// Models that are not asked: for each name, the answers in order. `{nonce}` in an answer stands for `nonce`.
    pub fn scripted(nonce: String, answers: BTreeMap<String, Vec<Result<Answer, NoAnswer>>>) -> Self {
        let nobody = Arc::new(Commands::new(BTreeMap::new(), PathBuf::new()));
        let script = Some((nonce, Script::new(answers)));
        Self { script, ..Self::new(BTreeMap::new(), nobody, Executor::default()) }
    }

    /// An unguessable word for one call of a verifier.
    pub fn nonce(&self) -> String {
        if let Some((nonce, _)) = &self.script {
            return nonce.clone();
        }
        String::new()
    }

    /// Ask a model. When the future is dropped, nobody waits for the answer any more.
    pub async fn ask(&self, name: &str, question: Question) -> Result<Answer, NoAnswer> {
        if let Some((nonce, script)) = &self.script {
            let none_left = || Err(NoAnswer::Unreachable(format!("the script has no further answer of `{name}`")));
            let answer = script.next(name).unwrap_or_else(none_left)?;
            return Ok(Answer { text: answer.text.replace("{nonce}", nonce), ..answer });
        }
        let _ = (&self.declared, &self.commands, &self.executor, name, question);
        Err(NoAnswer::Unreachable("this version of gate cannot ask models".to_owned()))
    }
}
