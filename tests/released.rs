//! Components that were made for a released version of the contract still load and answer.
//!
//! `fixtures/components/released` keeps one of each shape for every version, frozen: whoever releases a version adds its
//! two, and nobody changes those that are there.

use crate::asking::{Host, Question};
use crate::guests;
use gatehost::config::Grant;
use gatehost::runtime::{CONTRACT, Severity};
use gatehost::submission::{Claim, Submission};
use gatehost::verdict::{Finding, Level, Place, Status};
use gatehost::workspace::Workspace;
use std::fs;
use std::sync::Arc;

const RELEASED: &[&str] = &["0.1.0"];

#[test]
fn file_verifiers_of_every_released_contract_answer() {
    for version in RELEASED {
        let component = guests::component(&format!("released/{version}-file"));
        let question = Question { settings: "{\"a\":1}", content: b"content".to_vec(), ..Question::default() };
        let answer = Host::new().ask(&component, question).expect(version);
        let place = Place {
            path: "src/main.rs".into(),
            line: Some(1),
            column: Some(2),
            end_line: Some(3),
            end_column: Some(4),
        };
        let finding = Finding {
            place: Some(place),
            hint: Some("mend that".into()),
            ..Finding::new("the-code", Level::Warning, "found a thing")
        };
        assert_eq!(answer.verdict.findings, [finding], "{version}");
        assert_eq!((answer.verdict.status, answer.verdict.confidence), (Status::Abstain, Some(0.5)), "{version}");
        assert_eq!(
            (&*answer.verdict.summary, answer.verdict.class.as_ref().map(|class| class.as_str())),
            ("{\"a\":1}", Some("blocked")),
            "{version}"
        );
        let log: Vec<_> = answer.log.iter().map(|line| (line.severity, &*line.message)).collect();
        assert_eq!(log, [(Severity::Warn, "content")], "{version}");
    }
}

#[test]
fn submission_verifiers_of_every_released_contract_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("notes.txt"), "abcdef").expect("written");
    let workspace = Arc::new(Workspace::open(folder.path()).expect("a workspace"));
    for version in RELEASED {
        let component = guests::component(&format!("released/{version}-submission"));
        let claim = Claim { text: "all done".into(), report: None };
        let question = Question {
            grants: [Grant::Workspace].into_iter().collect(),
            workspace: Some(Arc::clone(&workspace)),
            submission: Submission { claim: Some(claim), ..Submission::default() },
            ..Question::default()
        };
        let answer = Host::new().ask(&component, question).expect(version);
        assert_eq!((answer.verdict.status, &*answer.verdict.summary), (Status::Pass, "all done"), "{version}");
        let log: Vec<_> = answer.log.iter().map(|line| (line.severity, &*line.message)).collect();
        let expected = [(Severity::Error, "abcdef"), (Severity::Debug, "cde"), (Severity::Info, "notes.txt")];
        assert_eq!(log, expected, "{version}");
    }
}

#[test]
fn the_contract_of_today_is_among_the_released() {
    assert!(RELEASED.contains(&CONTRACT));
}
