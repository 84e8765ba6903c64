//! Scripted answers of commands and models for a case.
//!
//! ```json
//! { "tests": [{ "exit": 1, "stdout": "1 failed\n" }, { "timed_out": true }, { "not_started": "no such program" }] }
//! ```
//! ```json
//! { "nonce": "NONCE", "answers": { "reviewer": [{ "text": "VERDICT {nonce} pass" }, { "unreachable": "offline" }] } }
//! ```

use crate::commands::{Captured, CommandEnding, CommandResult, Commands, NoResult};
use crate::config::SandboxLevel;
use crate::models::{ModelAnswer, Models, NoAnswer, Stop};
use crate::runtime::{AskModels, Granted, RunCommands};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// `commands.json`: the results of each command, in order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct CommandScript(BTreeMap<String, Vec<ScriptedRun>>);

/// `models.json`: the nonce, and the answers of each model, in order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelScript {
    #[serde(default)]
    nonce: Option<String>,
    answers: BTreeMap<String, Vec<ScriptedAnswer>>,
}

impl CommandScript {
    /// Returns commands with these results.
    pub(super) fn commands(&self) -> Granted<dyn RunCommands> {
        let names: Vec<String> = self.0.keys().cloned().collect();
        let answers = self.0.iter().map(|(name, runs)| (name.clone(), runs.iter().map(|run| run.ran(name)).collect()));
        Granted { names, by: Arc::new(Commands::scripted(answers.collect())) }
    }
}

impl ModelScript {
    /// Returns models with these answers.
    pub(super) fn models(&self) -> Granted<dyn AskModels> {
        let names: Vec<String> = self.answers.keys().cloned().collect();
        let answers = self.answers.iter();
        let answers = answers.map(|(name, all)| (name.clone(), all.iter().map(|one| one.0.clone()).collect()));
        let nonce = self.nonce.clone().unwrap_or_else(|| "NONCE".to_owned());
        Granted { names, by: Arc::new(Models::scripted(nonce, answers.collect())) }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RunText")]
struct ScriptedRun {
    argv: Vec<String>,
    ending: Result<CommandEnding, NoResult>,
    stdout: String,
    stderr: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunText {
    argv: Option<Vec<String>>,
    exit: Option<i32>,
    signal: Option<i32>,
    timed_out: Option<bool>,
    not_started: Option<String>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
}

impl TryFrom<RunText> for ScriptedRun {
    type Error = &'static str;

    fn try_from(text: RunText) -> Result<Self, Self::Error> {
        let ending = match (text.exit, text.signal, text.timed_out, text.not_started) {
            (Some(code), None, None, None) => Ok(CommandEnding::Exited(code)),
            (None, Some(signal), None, None) => Ok(CommandEnding::Signalled(signal)),
            (None, None, Some(true), None) => Ok(CommandEnding::TimedOut),
            (None, None, None, Some(why)) => Err(NoResult::not_started(why)),
            _ => return Err("expected one of `exit`, `signal`, `timed_out: true` and `not_started`"),
        };
        Ok(Self { argv: text.argv.unwrap_or_default(), ending, stdout: text.stdout, stderr: text.stderr })
    }
}

impl ScriptedRun {
    fn ran(&self, name: &str) -> Result<CommandResult, NoResult> {
        let argv = if self.argv.is_empty() { vec![name.to_owned()] } else { self.argv.clone() };
        Ok(CommandResult {
            argv,
            ending: self.ending.clone()?,
            name: name.to_owned(),
            stdout: captured(&self.stdout),
            stderr: captured(&self.stderr),
            started: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            sandbox: SandboxLevel::None,
            advice: None,
            rewrites: Vec::new(),
            replayed: false,
            on_base: false,
        })
    }
}

fn captured(text: &str) -> Captured {
    let sha256 = crate::text::hex(&Sha256::digest(text));
    Captured { head: text.as_bytes().to_vec(), tail: Vec::new(), length: text.len() as u64, sha256 }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "AnswerText")]
struct ScriptedAnswer(Result<ModelAnswer, NoAnswer>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerText {
    text: Option<String>,
    #[serde(default)]
    stop: StopText,
    model: Option<String>,
    not_distinct: Option<bool>,
    budget: Option<String>,
    unreachable: Option<String>,
    timeout: Option<String>,
    malformed: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StopText {
    Other,
    Length,
    Refusal,
    #[default]
    End,
}

impl TryFrom<AnswerText> for ScriptedAnswer {
    type Error = &'static str;

    fn try_from(text: AnswerText) -> Result<Self, Self::Error> {
        let stop = match text.stop {
            StopText::Other => Stop::Other,
            StopText::Length => Stop::Length,
            StopText::Refusal => Stop::Refusal,
            StopText::End => Stop::End,
        };
        let model = text.model.unwrap_or_else(|| "scripted".to_owned());
        let no_answers = [
            text.not_distinct.filter(|flag| *flag).map(|_| NoAnswer::NotDistinct),
            text.budget.map(NoAnswer::Budget),
            text.unreachable.map(NoAnswer::Unreachable),
            text.timeout.map(NoAnswer::Timeout),
            text.malformed.map(NoAnswer::Malformed),
        ];
        let mut no_answers = no_answers.into_iter().flatten();
        Ok(Self(match (text.text, no_answers.next(), no_answers.next()) {
            (Some(text), None, _) => Ok(ModelAnswer { text, stop, model }),
            (None, Some(why), None) => Err(why),
            _ => {
                return Err(
                    "expected one of `text`, `not_distinct: true`, `budget`, `unreachable`, `timeout` and `malformed`",
                );
            }
        }))
    }
}
