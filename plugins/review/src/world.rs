//! What a reviewer reaches: models and files, behind a trait, so that reviewing can be tested without a host.

use gatehost_sdk::models::{self, Answer, Request};
use gatehost_sdk::workspace;

/// Models and files.
pub trait World {
    /// The models that may be asked.
    fn granted(&self) -> Vec<String>;
    /// The nonce of this call.
    fn nonce(&self) -> String;
    /// Ask a model.
    fn ask(&self, model: &str, request: &Request) -> Result<Answer, String>;
    /// Read a file, or say why not.
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
            models::Error::NotDistinct => "the model is the one that did the work".to_owned(),
            models::Error::Budget(what) => format!("the budget of {what} is used up"),
            models::Error::Timeout => "the model did not answer in time".to_owned(),
            models::Error::Unreachable(why) => format!("the model could not be asked: {why}"),
            models::Error::Malformed(why) => format!("the model's answer cannot be read: {why}"),
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        workspace::read(path).map_err(|error| match error {
            workspace::Error::NotFound => "there is nothing at that path".to_owned(),
            workspace::Error::BadPath => "it is not a path inside the work".to_owned(),
            workspace::Error::WrongKind(_) => "it is not a regular file".to_owned(),
            workspace::Error::TooLarge(size) => format!("it has {size} bytes"),
            workspace::Error::Changed => "it changed while it was read".to_owned(),
            workspace::Error::Unreadable(why) => why,
        })
    }
}
