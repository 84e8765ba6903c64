//! Calls guests as a gate does, and fails if there is no answer at all.

use gatehost::limits::Limits;
use gatehost::plan::Shape;
use gatehost::runtime::{
    BUNDLED, Bundled, CallContext, CallResult, Capabilities, ComponentSource, Description, FileInput, Grants,
    ReadFiles, Runtime,
};
use gatehost::submission::Submission;
use gatehost::verdict::{Failure, Status};
use gatehost::workspace::Workspace;
use std::sync::Arc;
use std::time::Duration;

/// Far more than any call takes: a guest that is not stopped fails the test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(60);

/// One call of a guest.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) settings: &'static str,
    pub(crate) path: &'static str,
    pub(crate) content: Vec<u8>,
    pub(crate) submission: Submission,
    pub(crate) workspace: Option<Arc<Workspace>>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            grants: Grants::default(),
            limits: Limits::default(),
            settings: "{}",
            path: "src/main.rs",
            content: b"fn main() {}".to_vec(),
            submission: Submission::default(),
            workspace: None,
        }
    }
}

/// A runtime, and threads to use it from.
pub(crate) struct TestHost {
    runtime: Arc<Runtime>,
    threads: tokio::runtime::Runtime,
}

impl TestHost {
    pub(crate) fn new() -> Self {
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
        Self { runtime: Arc::new(Runtime::new(None)), threads: threads.expect("threads") }
    }

    /// Loads a component and calls it.
    pub(crate) fn ask(&self, component: &[u8], question: Question) -> Result<CallResult, Failure> {
        self.ask_all(vec![(component.to_vec(), question)]).remove(0)
    }

    /// Loads components and calls them, all at once.
    pub(crate) fn ask_all(&self, questions: Vec<(Vec<u8>, Question)>) -> Vec<Result<CallResult, Failure>> {
        let asked = questions.into_iter().map(|(component, question)| {
            let runtime = Arc::clone(&self.runtime);
            self.threads.spawn(async move { ask(&runtime, &ComponentSource::from_bytes(component), question).await })
        });
        let asked: Vec<_> = asked.collect();
        self.threads.block_on(async {
            let mut answers = Vec::new();
            for asked in asked {
                let answer = tokio::time::timeout(PATIENCE, asked).await.expect("an answer in time");
                answers.push(answer.expect("no panic"));
            }
            answers
        })
    }

    /// Returns the description of a component.
    pub(crate) fn describe(&self, source: &ComponentSource) -> Result<Description, Failure> {
        self.threads.block_on(self.runtime.describe(source))
    }

    /// Returns whether an ordinary verifier still answers.
    pub(crate) fn is_well(&self) -> bool {
        let question = Question { content: b"{}".to_vec(), ..Question::default() };
        let answer = self.threads.block_on(ask(&self.runtime, &ComponentSource::bundled(json_syntax()), question));
        answer.is_ok_and(|answer| answer.verdict.status == Status::Pass)
    }
}

async fn ask(runtime: &Runtime, source: &ComponentSource, question: Question) -> Result<CallResult, Failure> {
    let verifier = runtime.load(source, &question.grants)?;
    let Question { limits, settings, path, content, submission, workspace, .. } = question;
    let capabilities =
        Capabilities { workspace: workspace.map(|it| it as Arc<dyn ReadFiles>), ..Capabilities::default() };
    let terms = CallContext { capabilities: Some(&capabilities), ..CallContext::new(settings, &limits) };
    Ok(match verifier.shape().unwrap_or(Shape::File) {
        Shape::File => runtime.check_file(&verifier, &terms, FileInput::new(path, content)).await,
        Shape::Submission => runtime.check_submission(&verifier, &terms, submission).await,
    })
}

pub(crate) fn json_syntax() -> &'static Bundled {
    BUNDLED.iter().find(|bundled| bundled.name == "json-syntax").expect("bundled")
}
