//! Models over HTTP: a local server implements both APIs, and misbehaves as a script says.

mod asking;
mod faults;
mod injection;
mod recorded;
mod reviewers;
mod server;
mod tapes;

use gatehost::commands::Commands;
use gatehost::config::{self, ModelConfig};
use gatehost::environment::Environment;
use gatehost::models::{ModelAnswer, ModelQuestion, ModelTape, Models, NoAnswer, PromptPart};
use gatehost::outcome::ModelUse;
use gatehost::submission::Executor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The variable with the key of the tests, which cargo sets.
const KEY: &str = "CARGO_MANIFEST_DIR";
const APIS: [&str; 2] = ["anthropic", "openai"];

/// Returns a model as gate.toml declares it.
fn model(api: &str, url: &str, more: &str) -> ModelConfig {
    let file = format!(
        "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"x\"\n[model.m]\napi = \"{api}\"\nmodel = \"small\"\nurl = \"{url}\"\nkey_env = \"{KEY}\"\n{more}\n"
    );
    config::parse(file.as_bytes()).expect("valid").models.remove("m").expect("declared")
}

fn models(model: ModelConfig, executor: Executor, tape: Option<ModelTape>) -> Models {
    let commands = Arc::new(Commands::new(BTreeMap::new(), ".".into()));
    let models = Models::new(BTreeMap::from([("m".to_owned(), model)]), commands, executor, tape.map(Arc::new));
    models.with_environment(Environment::of_process())
}

fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("threads")
}

fn question(models: &Models, words: &str) -> ModelQuestion {
    ModelQuestion {
        system: "You are a reviewer.".to_owned(),
        prompt: vec![PromptPart::Text(words.to_owned())],
        answer_schema: None,
        max_tokens: None,
        nonce: models.nonce().expect("randomness"),
    }
}

/// Asks a server at `url` once.
fn ask(api: &str, url: &str, more: &str) -> (ModelUse, Result<ModelAnswer, NoAnswer>) {
    ask_all(&models(model(api, url, more), Executor::default(), None), 1).remove(0)
}

/// Asks several times, one after the other.
fn ask_all(models: &Models, times: usize) -> Vec<(ModelUse, Result<ModelAnswer, NoAnswer>)> {
    let tokio = tokio();
    let answers = (0..times).map(|_| tokio.block_on(models.ask("m", question(models, "Is it good?")))).collect();
    tokio.shutdown_timeout(std::time::Duration::ZERO);
    answers
}
