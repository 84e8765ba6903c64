//! Asks the language models that the configuration declares: one question, a fresh context, within budgets.
//!
//! The key of a model is read when the model is asked, and is sent in one header. It appears nowhere else, whatever the
//! server returns.

#[cfg(feature = "models")]
mod anthropic;
mod budget;
mod command;
mod distinct;
#[cfg(feature = "models")]
mod http;
#[cfg(feature = "models")]
mod key;
#[cfg(feature = "models")]
mod openai;
mod prompt;
mod question;
#[cfg(feature = "models")]
mod strict;
mod tape;
#[cfg(feature = "models")]
mod transport;

pub use question::{ModelAnswer, ModelQuestion, NoAnswer, PromptPart, Stop};
pub use tape::{BadModelTape, ModelTape};

use crate::commands::{Answers, Commands};
use crate::config::{Api, ModelConfig};
use crate::environment::Environment;
use crate::outcome::ModelUse;
use crate::random::random;
use crate::submission::Executor;
use budget::ModelBudget;
use prompt::Rendered;
use question::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Checks that a model over HTTP can be reached and accepts its key, without asking it anything. Blocks.
#[cfg(feature = "models")]
pub fn reach(model: &ModelConfig, environment: &Environment, within: Duration) -> Result<(), NoAnswer> {
    transport::reach(environment, model, within)
}

/// Returns whether two names refer to the same model, whatever the provider, tag or date.
pub fn is_same_model(one: &str, other: &str) -> bool {
    distinct::is_same(one, other)
}

/// The models of a configuration, and the budgets that are left in this run.
#[derive(Debug)]
pub struct Models {
    declared: BTreeMap<String, DeclaredModel>,
    commands: Arc<Commands>,
    executor: Executor,
    tape: Option<Arc<ModelTape>>,
    #[cfg(feature = "models")]
    client: http::Client,
    /// The environment that holds the keys.
    #[cfg_attr(not(feature = "models"), expect(dead_code, reason = "nobody is asked over HTTP"))]
    environment: Environment,
    /// Scripted answers and their nonce. If they are set, no model is asked.
    script: Option<(String, Answers<Result<ModelAnswer, NoAnswer>>)>,
}

#[derive(Debug)]
struct DeclaredModel {
    model: ModelConfig,
    budget: ModelBudget,
}

/// The response of a model, with its token counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    text: String,
    stop: Stop,
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Tokens>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    input: u64,
    output: u64,
}

/// The response or the reason why there is none, and how many requests were sent.
struct ModelExchange {
    came: Result<Reply, NoAnswer>,
    attempts: u32,
}

impl Models {
    /// Returns the models of a configuration, for work of `executor`. With a tape, answers are recorded to it or replayed
    /// from it.
    pub fn new(
        declared: BTreeMap<String, ModelConfig>,
        commands: Arc<Commands>,
        executor: Executor,
        tape: Option<Arc<ModelTape>>,
    ) -> Self {
        let declare =
            |(name, model): (String, ModelConfig)| (name, DeclaredModel { budget: ModelBudget::of(&model), model });
        let declared = declared.into_iter().map(declare).collect();
        Self {
            declared,
            commands,
            executor,
            tape,
            #[cfg(feature = "models")]
            client: http::Client::default(),
            environment: Environment::default(),
            script: None,
        }
    }

    /// Sets the environment that holds the keys.
    pub fn with_environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    /// Returns models that are not asked: `answers` has their answers by name, in order. `{nonce}` in an answer stands for
    /// `nonce`.
    pub fn scripted(nonce: String, answers: BTreeMap<String, Vec<Result<ModelAnswer, NoAnswer>>>) -> Self {
        let nobody = Arc::new(Commands::new(BTreeMap::new(), PathBuf::new()));
        let script = Some((nonce, Answers::new(answers)));
        Self { script, ..Self::new(BTreeMap::new(), nobody, Executor::default(), None) }
    }

    /// Returns an unguessable word for one call of a verifier: 160 bits as letters and digits. `None` if the operating
    /// system has no randomness.
    pub fn nonce(&self) -> Option<String> {
        if let Some((nonce, _)) = &self.script {
            return Some(nonce.clone());
        }
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let letter = |byte: u8| char::from(LETTERS[usize::from(byte % 32)]);
        random::<32>().map(|bytes| bytes.into_iter().map(letter).collect())
    }

    /// Asks a model, and returns the answer and what it cost. Dropping the future cancels the request.
    pub async fn ask(&self, name: &str, question: ModelQuestion) -> (ModelUse, Result<ModelAnswer, NoAnswer>) {
        self.ask_for("", name, question).await
    }

    /// Asks a model on behalf of a check.
    pub(crate) async fn ask_for(
        &self,
        check: &str,
        name: &str,
        question: ModelQuestion,
    ) -> (ModelUse, Result<ModelAnswer, NoAnswer>) {
        let start = Instant::now();
        let (question_sha256, nonce) = (question.sha256(), question.nonce.clone());
        let ModelExchange { came, attempts } = match (&self.script, self.declared.get(name)) {
            (Some((nonce, script)), _) => ModelExchange::scripted(name, nonce, script),
            (None, Some(declared)) => self.exchange(check, name, declared, question).await,
            (None, None) => ModelExchange::none(NoAnswer::Unreachable("the model is not declared".to_owned())),
        };
        let tokens = came.as_ref().ok().and_then(|reply| reply.tokens);
        let used = ModelUse {
            name: name.to_owned(),
            model: came.as_ref().ok().map(|reply| crate::text::clean_line(&reply.model, 200)),
            ended: came.as_ref().map_or_else(NoAnswer::as_str, |reply| reply.stop.as_str()).to_owned(),
            family: self.declared.get(name).and_then(|declared| declared.model.family.clone()),
            question_sha256,
            answer_sha256: came.as_ref().ok().map(|reply| sha256(&reply.text, &nonce)),
            cost: tokens
                .zip(self.declared.get(name))
                .and_then(|(tokens, declared)| declared.model.cost(tokens.input, tokens.output)),
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            requests: attempts,
            replayed: self.tape.as_ref().is_some_and(|tape| tape.is_replayed()),
            duration: start.elapsed(),
        };
        (used, came.map(|Reply { text, stop, model, .. }| ModelAnswer { text, stop, model }))
    }

    async fn exchange(
        &self,
        check: &str,
        name: &str,
        declared: &DeclaredModel,
        question: ModelQuestion,
    ) -> ModelExchange {
        let DeclaredModel { model, budget } = declared;
        if distinct::refused(model, model.model.as_deref(), &self.executor) {
            return ModelExchange::none(NoAnswer::NotDistinct);
        }
        let rendered = match prompt::render(&question, model.max_tokens) {
            Ok(rendered) => rendered,
            Err(why) => return ModelExchange::none(why),
        };
        let spending = match budget.begin(&rendered) {
            Ok(spending) => spending,
            Err(why) => return ModelExchange::none(why),
        };
        let ModelExchange { came, attempts } = match self.tape.as_deref() {
            Some(ModelTape::Replay(player)) => {
                ModelExchange { came: player.play(check, name, model, &rendered), attempts: 0 }
            }
            Some(ModelTape::Record(recorder)) => {
                let ModelExchange { came, attempts } = self.send(check, model, &rendered, &spending).await;
                let came = recorder.record(check, name, model, &rendered, came);
                ModelExchange { came, attempts }
            }
            None => self.send(check, model, &rendered, &spending).await,
        };
        if let Ok(reply) = &came {
            spending.settle(reply.tokens);
        }
        let came = came.and_then(|reply| match reply.stop {
            // An alias may still have led to the model of the executor.
            _ if distinct::refused(model, Some(&reply.model), &self.executor) => Err(NoAnswer::NotDistinct),
            Stop::End if reply.text.trim().is_empty() => Err(NoAnswer::Malformed("it is empty".to_owned())),
            _ => Ok(reply),
        });
        ModelExchange { came, attempts }
    }

    async fn send(
        &self,
        check: &str,
        model: &ModelConfig,
        rendered: &Rendered,
        spending: &budget::Spending<'_>,
    ) -> ModelExchange {
        let within = model.timeout.min(spending.time_left());
        match model.api {
            Api::Command => command::ask(&self.commands, check, model, rendered, within, spending).await,
            #[cfg(feature = "models")]
            Api::Anthropic | Api::Openai => {
                transport::ask(&self.client, &self.environment, model, rendered, within, spending).await
            }
            #[cfg(not(feature = "models"))]
            Api::Anthropic | Api::Openai => {
                let why = "this program was built without the feature `models`";
                ModelExchange::none(NoAnswer::Unreachable(why.to_owned()))
            }
        }
    }
}

impl ModelExchange {
    fn scripted(name: &str, nonce: &str, script: &Answers<Result<ModelAnswer, NoAnswer>>) -> Self {
        let none_left = || Err(NoAnswer::Unreachable(format!("`models.json` has no further answer of `{name}`")));
        let came = script.next(name).unwrap_or_else(none_left).map(|ModelAnswer { text, stop, model }| Reply {
            text: text.replace("{nonce}", nonce),
            stop,
            model,
            tokens: None,
        });
        Self { came, attempts: 0 }
    }

    fn none(why: NoAnswer) -> Self {
        Self { came: Err(why), attempts: 0 }
    }
}

fn no_answer_within(time: Duration) -> NoAnswer {
    let shown =
        if time.as_millis() < 1_000 { format!("{} ms", time.as_millis()) } else { format!("{} s", time.as_secs()) };
    NoAnswer::Timeout(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CommandConfig;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_nonces_are_alike() {
        let commands = Arc::new(Commands::new(BTreeMap::<String, CommandConfig>::new(), ".".into()));
        let models = Models::new(BTreeMap::new(), commands, Executor::default(), None);
        let nonces: BTreeSet<String> = (0..1_000).map(|_| models.nonce().expect("randomness")).collect();
        assert_eq!(nonces.len(), 1_000);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        assert!(nonces.iter().all(|nonce| nonce.len() == 32 && nonce.chars().all(plain)));
    }
}
