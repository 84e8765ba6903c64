//! The `models` interface: questions to the models that a check is granted, by name.

use super::{AskModels, Granted};
use crate::commands::MAX_LISTED;
use crate::models::{ModelQuestion, NoAnswer, PromptPart, Stop};
use crate::outcome::ModelUse;
use crate::runtime::bindings::gatehost::verifier::models as wit;
use crate::runtime::ending::GuestEnded;
use crate::runtime::sandbox::Sandbox;
use crate::text;
use crate::verdict::{ErrorKind, Failure};

/// The models that a guest may ask, and the questions that it asked.
pub(crate) struct Asker {
    granted: Granted<dyn AskModels>,
    nonce: Option<String>,
    asked: Vec<ModelUse>,
    /// How many more were asked.
    unlisted: u64,
    /// The first question without an answer, which makes the call an error.
    unanswered: Option<Failure>,
}

impl Asker {
    pub(crate) fn new(granted: Granted<dyn AskModels>) -> Self {
        let nonce = granted.by.nonce();
        Self { granted, nonce, asked: Vec::new(), unlisted: 0, unanswered: None }
    }

    /// Returns the questions, how many more there were, and the first failure if there was one.
    pub(crate) fn into_uses(self) -> (Vec<ModelUse>, u64, Option<Failure>) {
        (self.asked, self.unlisted, self.unanswered)
    }

    fn nonce(&self) -> wasmtime::Result<String> {
        let none = || GuestEnded::error(ErrorKind::HostFailed, "the operating system provides no random numbers");
        self.nonce.clone().ok_or_else(none)
    }
}

impl Sandbox {
    /// Returns the models of the check. The import is linked only if it is granted; if that should ever be wrong, the guest
    /// ends.
    fn asker(&mut self) -> wasmtime::Result<&mut Asker> {
        self.models
            .as_mut()
            .ok_or_else(|| GuestEnded::error(ErrorKind::LinkCapabilityDenied, "the check has no grant `model:NAME`"))
    }
}

impl wit::Host for Sandbox {
    fn granted(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.asker()?.granted.names.clone())
    }

    fn nonce(&mut self) -> wasmtime::Result<String> {
        self.asker()?.nonce()
    }

    async fn ask(&mut self, name: String, request: wit::Request) -> wasmtime::Result<Result<wit::Answer, wit::Error>> {
        let asker = self.asker()?;
        if !asker.granted.names.contains(&name) {
            let message = format!(
                "the verifier asked the model `{}`, but its check has no grant for it",
                text::clean_line(&name, 60)
            );
            asker.unanswered.get_or_insert_with(|| Failure::new(ErrorKind::LinkCapabilityDenied, message));
            return Ok(Err(wit::Error::NotGranted));
        }
        let question = question(request, asker.nonce()?);
        let models = asker.granted.by.clone();
        let _paused = self.time.pause();
        let (used, came) = models.ask(&name, question).await;
        let asker = self.asker()?;
        if asker.asked.len() < MAX_LISTED {
            asker.asked.push(used);
        } else {
            asker.unlisted += 1;
        }
        if let Err(why) = &came {
            asker.unanswered.get_or_insert_with(|| why.failure(&name));
        }
        Ok(match came {
            Ok(answer) => Ok(wit::Answer {
                text: answer.text,
                stop: match answer.stop {
                    Stop::Other => wit::Stop::Other,
                    Stop::Length => wit::Stop::Length,
                    Stop::Refusal => wit::Stop::Refusal,
                    Stop::End => wit::Stop::End,
                },
                model: text::clean_line(&answer.model, 200),
            }),
            Err(error) => Err(refusal(error)),
        })
    }
}

fn question(request: wit::Request, nonce: String) -> ModelQuestion {
    let part = |part| match part {
        wit::Part::Text(text) => PromptPart::Text(text),
        wit::Part::Untrusted(wit::Untrusted { label, content }) => PromptPart::Untrusted { label, content },
    };
    ModelQuestion {
        system: request.system,
        prompt: request.prompt.into_iter().map(part).collect(),
        answer_schema: request.answer_schema,
        max_tokens: request.max_tokens,
        nonce,
    }
}

fn refusal(error: NoAnswer) -> wit::Error {
    let clean = |text: String| text::clean_line(&text, 500);
    match error {
        NoAnswer::NotDistinct => wit::Error::NotDistinct,
        NoAnswer::Budget(name) => wit::Error::Budget(clean(name)),
        NoAnswer::Timeout(_) => wit::Error::Timeout,
        NoAnswer::Unreachable(why) => wit::Error::Unreachable(clean(why)),
        NoAnswer::Malformed(why) => wit::Error::Malformed(clean(why)),
    }
}
