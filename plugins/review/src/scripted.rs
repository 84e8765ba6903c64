//! For tests of reviewers: files in memory, and a model with scripted answers.

use crate::World;
use gatehost_sdk::Submission;
use gatehost_sdk::models::{Answer, Part, Request, Stop};
use gatehost_sdk::submission::{Change, ChangeKind, ChangeState, Task};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The nonce of every test.
pub const NONCE: &str = "k7x2m9p4k7x2m9p4k7x2m9p4k7x2m9p4";

/// Scripted models and files.
#[derive(Debug)]
pub struct Scripted {
    /// The answer of the model, with `NONCE` for the nonce.
    pub says: String,
    /// The second answer, if it differs from the first.
    pub then: Option<String>,
    /// Why the answer ends.
    pub stop: Stop,
    /// The files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The models that are granted.
    pub granted: Vec<String>,
    /// The question: all parts, as text.
    pub asked: RefCell<Vec<String>>,
}

impl Scripted {
    /// Returns a model with this answer.
    pub fn saying(text: &str) -> Self {
        Self {
            says: text.to_owned(),
            then: None,
            stop: Stop::End,
            files: BTreeMap::from([("src/a.rs".to_owned(), b"fn a() {}\n".to_vec())]),
            granted: vec!["reviewer".to_owned()],
            asked: RefCell::default(),
        }
    }
}

impl World for Scripted {
    fn granted(&self) -> Vec<String> {
        self.granted.clone()
    }

    fn nonce(&self) -> String {
        NONCE.to_owned()
    }

    fn ask(&self, _: &str, request: &Request) -> Result<Answer, String> {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Untrusted(part) => format!("<{}>{}</>", part.label, part.content),
        };
        let says = if self.asked.borrow().is_empty() { &self.says } else { self.then.as_ref().unwrap_or(&self.says) };
        self.asked.borrow_mut().push(request.prompt.iter().map(part).collect());
        let text = says.replace("NONCE", NONCE);
        Ok(Answer { text, stop: self.stop, model: "scripted".to_owned() })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).cloned().ok_or_else(|| "the path does not exist".to_owned())
    }
}

/// A submission with a task and one new file, `src/a.rs`.
pub fn submission() -> Submission {
    let text = |text: &str| text.to_owned();
    Submission {
        task: Some(Task {
            id: text("2.3"),
            title: text("Add a"),
            description: text("Add the function a."),
            acceptance_criteria: vec![text("a exists")],
            ..Task::default()
        }),
        changes: vec![added("src/a.rs")],
        ..Submission::default()
    }
}

/// A new file.
pub fn added(path: &str) -> Change {
    let (kind, state) = (ChangeKind::Added, ChangeState::Untracked);
    Change { path: path.to_owned(), kind, state, size: Some(10), ..Change::default() }
}
