//! Access to models and files, behind a trait, so that reviewers can be tested without a host.

use gatehost_sdk::models::{self, Answer, Request};
use gatehost_sdk::workspace;

/// Models and files.
pub trait World {
    /// Returns the names of the granted models.
    fn granted(&self) -> Vec<String>;
    /// Returns the nonce of this call.
    fn nonce(&self) -> String;
    /// Asks a model. The error is the reason why there is no answer.
    fn ask(&self, model: &str, request: &Request) -> Result<Answer, String>;
    /// Reads a file. The error is the reason why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// The host.
#[derive(Clone, Copy, Debug)]
pub struct Host;

impl World for Host {
    fn granted(&self) -> Vec<String> {
        models::granted()
    }

    fn nonce(&self) -> String {
        models::nonce()
    }

    fn ask(&self, model: &str, request: &Request) -> Result<Answer, String> {
        models::ask(model, request).map_err(|error| match error {
            models::Error::NotGranted => format!("the model `{model}` is not granted"),
            models::Error::NotDistinct => {
                "the model is the one that did the work; a reviewer must be another model".to_owned()
            }
            models::Error::Budget(what) => format!("the budget of {what} is exhausted"),
            models::Error::Timeout => "the model did not answer in time".to_owned(),
            models::Error::Unreachable(why) => format!("the model cannot be reached: {why}"),
            models::Error::Malformed(why) => format!("the model's answer cannot be read: {why}"),
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        workspace::read(path).map_err(|error| match error {
            workspace::Error::NotFound => "the path does not exist".to_owned(),
            workspace::Error::BadPath => "the path is outside the workspace".to_owned(),
            workspace::Error::WrongKind(_) => "the path is not a regular file".to_owned(),
            workspace::Error::TooLarge(size) => format!("the file has {size} bytes, which is too large"),
            workspace::Error::Changed => "the file changed while it was read".to_owned(),
            workspace::Error::Unreadable(why) => why,
        })
    }
}
