//! The bundled reviewers, as the gate runs them, against a server that answers well or badly.

use super::server::{Act, Asked, Server};
use super::*;
use gatehost::config::Grant;
use gatehost::limits::Limits;
use gatehost::runtime::{
    AskModels, BUNDLED, CallContext, Capabilities, ComponentSource, Granted, Grants, ReadFiles, Runtime, Verifier,
};
use gatehost::submission::{Change, ChangeKind, ChangeState, DiffLine, Hunk, LineKind, Submission, Task};
use gatehost::verdict::{ErrorKind, Status, Verdict};
use gatehost::workspace::Workspace;

pub(super) const REVIEWERS: [&str; 3] = ["review-criteria", "review-signal", "review-verdict"];

/// A runtime with the three reviewers, and a folder for them to look at.
pub(super) struct Bench {
    runtime: Runtime,
    verifiers: Vec<Arc<Verifier>>,
    pub(super) folder: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new() -> Self {
        let runtime = Runtime::new(None);
        let grants = Grants::from_iter([Grant::Workspace, Grant::Model("m".into())]);
        let load = |name: &&str| {
            let bundled = BUNDLED.iter().find(|bundled| bundled.name == *name).expect("bundled");
            runtime.load(&ComponentSource::bundled(bundled), &grants).expect("loaded")
        };
        let verifiers = REVIEWERS.iter().map(load).collect();
        Self { runtime, verifiers, folder: crate::support::tempdir().expect("a folder") }
    }

    /// Have one reviewer judge.
    pub(super) async fn judge(&self, reviewer: usize, api: &str, url: &str, submission: &Submission) -> Verdict {
        let more = if api == "anthropic" { "timeout = \"5s\"" } else { "timeout = \"5s\"\nmax_requests = 1000" };
        let by = Arc::new(models(model(api, url, more), Executor::default(), None));
        let granted = Granted { names: vec!["m".to_owned()], by: by as Arc<dyn AskModels> };
        let workspace = Arc::new(Workspace::open(self.folder.path()).expect("a workspace"));
        let settings = match REVIEWERS[reviewer] {
            "review-verdict" => r#"{"show_claim": true, "documents": ["design.md"], "verify_evidence": false}"#,
            _ => r#"{"show_claim": true, "documents": ["design.md"]}"#,
        };
        let limits = Limits::default();
        let workspace = Some(workspace as Arc<dyn ReadFiles>);
        let capabilities = Capabilities { workspace, commands: None, models: Some(granted) };
        let terms = CallContext { capabilities: Some(&capabilities), ..CallContext::new(settings, &limits) };
        self.runtime.check_submission(&self.verifiers[reviewer], &terms, submission.clone()).await.verdict
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.folder.path().join(path), text).expect("written");
    }
}

pub(super) fn submission() -> Submission {
    let line = |text: &str| DiffLine { kind: LineKind::Added, text: text.to_owned() };
    let change = |path: &str, hunks| Change {
        path: path.to_owned(),
        kind: ChangeKind::Added,
        state: ChangeState::Untracked,
        old_path: None,
        size: Some(1),
        hunks,
        old_mode: None,
        new_mode: None,
    };
    let hunks = vec![Hunk { old_start: 0, new_start: 1, lines: vec![line("fn a() {}")] }];
    Submission {
        task: Some(Task { description: "Add the function a.".into(), ..Task::default() }),
        changes: vec![change("a.rs", Some(hunks)), change("notes.txt", None)],
        ..Submission::default()
    }
}

/// The nonce of the marks.
pub(super) fn nonce(asked: &Asked) -> &str {
    let after = asked.system().split("`[[material ").nth(1).expect("marks");
    after.split('`').next().expect("a nonce")
}

/// An answer in the form that the reviewer asks for.
pub(super) fn verdict(asked: &Asked, good: bool) -> String {
    let nonce = nonce(asked);
    let schema = asked.body.to_string();
    if schema.contains("recommendation") && schema.contains("\"verdict\"") {
        let (verdict, recommendation) = if good { ("APPROVED", "commit") } else { ("REJECTED", "retry") };
        format!(
            r#"{{"nonce":"{nonce}","verdict":"{verdict}","confidence":"HIGH","findings":[],"concerns":[],"recommendation":"{recommendation}","feedback":""}}"#
        )
    } else if schema.contains("\"passed\"") {
        format!(r#"{{"nonce":"{nonce}","passed":{good},"issues":[],"confidence":1.0,"suggestion":""}}"#)
    } else {
        format!("I looked.\n\n{} {nonce}", if good { "REVIEW_PASS" } else { "REVIEW_FAIL" })
    }
}

#[test]
fn a_good_answer_passes_and_a_bad_one_fails() {
    let bench = Bench::new();
    bench.write("design.md", "a does nothing\n");
    bench.write("notes.txt", "nothing\n");
    for (good, expected) in [(true, Status::Pass), (false, Status::Fail)] {
        let server = Server::start(move |_, asked| Act::Say(verdict(asked, good)));
        for api in APIS {
            for (reviewer, name) in REVIEWERS.iter().enumerate() {
                let found = tokio().block_on(bench.judge(reviewer, api, &server.url, &submission()));
                assert_eq!(found.status, expected, "{name}, {api}: {found:?}");
            }
        }
        for asked in server.asked() {
            let prompt = asked.prompt();
            for shown in ["Add the function a.", "+fn a() {}", "nothing\n", "a does nothing"] {
                assert!(prompt.contains(shown), "{shown}: {prompt}");
            }
        }
    }
}

#[test]
fn what_is_no_verdict_is_an_abstention_or_an_error() {
    let bench = Bench::new();
    bench.write("design.md", "");
    bench.write("notes.txt", "");
    let unreachable = Some(ErrorKind::LlmUnreachable);
    for (number, expected) in [
        (0, None),
        (1, None),
        (2, None),
        (3, None),
        (4, Some(ErrorKind::LlmMalformed)),
        (5, unreachable),
        (6, Some(ErrorKind::LlmMalformed)),
    ] {
        let server = Server::start(move |_, asked| {
            let good = verdict(asked, true);
            match number {
                // Two verdicts, another nonce, a refusal, a cut-off, an HTML page, an error, nothing.
                0 => Act::Say(format!("{good}\n{good}")),
                1 => Act::Say(good.replace(nonce(asked), "abcdefghijkmnpqrstuvwxyz23456789")),
                2 => Act::Stop(good, if asked.is_anthropic() { "refusal" } else { "content_filter" }),
                3 => Act::Stop(good, if asked.is_anthropic() { "max_tokens" } else { "length" }),
                4 => Act::Body(format!("<html>{good}</html>").into_bytes()),
                5 => Act::Status(400, "", good),
                _ => Act::Say(String::new()),
            }
        });
        for api in APIS {
            for (reviewer, name) in REVIEWERS.iter().enumerate() {
                let found = tokio().block_on(bench.judge(reviewer, api, &server.url, &submission()));
                let status = if expected.is_some() { Status::Error } else { Status::Abstain };
                assert_eq!(found.status, status, "{number}, {name}, {api}: {found:?}");
                assert_eq!(found.error.map(|failure| failure.kind), expected, "{number}, {name}, {api}");
            }
        }
    }
}
