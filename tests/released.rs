//! Components for a released version of the contract still load and answer.
//!
//! `fixtures/components/released` has one component of each shape for every version, frozen. A release adds its two, and the
//! others never change.

use crate::asking::{Question, TestHost};
use crate::guests;
use gatehost::config::Grant;
use gatehost::runtime::{CONTRACT, ComponentSource, LogLevel, Rule};
use gatehost::submission::{Claim, Submission};
use gatehost::verdict::{Category, Class, Edit, Finding, Fix, Level, Metric, Place, Status};
use gatehost::workspace::Workspace;
use std::fs;
use std::sync::Arc;

const RELEASED: &[&str] = &["0.1.0"];

#[test]
fn file_verifiers_of_every_released_contract_answer() {
    for version in RELEASED {
        let component = guests::component(&format!("released/{version}-file"));
        let question = Question { settings: "{\"a\":1}", content: b"content".to_vec(), ..Question::default() };
        let answer = TestHost::new().ask(&component, question).expect(version);
        let place = Place {
            path: "src/main.rs".into(),
            line: Some(1),
            column: Some(2),
            end_line: Some(3),
            end_column: Some(4),
        };
        let edit = Edit { start_line: 1, start_column: 2, end_line: 3, end_column: 4, replacement: "other".into() };
        let finding = Finding {
            place: Some(place),
            hint: Some("mend that".into()),
            category: Category::Specification,
            key: Some("the key".into()),
            url: Some("https://a.example/the-code".into()),
            fix: Some(Fix { description: "mend it".into(), edits: vec![edit] }),
            ..Finding::new("the-code", Level::Warning, "found a thing")
        };
        assert_eq!(answer.verdict.findings, [finding], "{version}");
        assert_eq!((answer.verdict.status, answer.verdict.confidence), (Status::Abstain, Some(0.5)), "{version}");
        assert_eq!(
            (&*answer.verdict.summary, answer.verdict.class),
            ("{\"a\":1}", Some(Class::Other("waiting".into()))),
            "{version}"
        );
        let metric = Metric { name: "tests-run".into(), value: 3.0 };
        assert_eq!((answer.verdict.needs_person, answer.verdict.metrics), (true, vec![metric]), "{version}");
        let log: Vec<_> = answer.log.iter().map(|line| (line.severity, &*line.message)).collect();
        assert_eq!(log, [(LogLevel::Warn, "content")], "{version}");
    }
}

#[test]
fn verifiers_of_every_released_contract_describe_themselves() {
    for version in RELEASED {
        let source = ComponentSource::from_bytes(guests::component(&format!("released/{version}-file")));
        let about = TestHost::new().describe(&source).expect(version);
        assert_eq!((&*about.name, &*about.version, &*about.summary), ("released", "1.0.0", "Stays as it was."));
        assert_eq!((&*about.files, &*about.settings_schema), (&["**/*.txt".to_owned()][..], "{\"type\":\"object\"}"));
        let rule = Rule {
            code: "the-code".into(),
            level: Level::Warning,
            summary: "Finds one.".into(),
            help: "Mend it all.".into(),
            url: Some("https://a.example/the-code".into()),
        };
        assert_eq!((about.rules, about.url.as_deref()), (vec![rule], Some("https://a.example")), "{version}");
    }
}

#[test]
fn submission_verifiers_of_every_released_contract_answer() {
    let folder = crate::support::tempdir().expect("a folder");
    fs::write(folder.path().join("notes.txt"), "abcdef").expect("written");
    let workspace = Arc::new(Workspace::open(folder.path()).expect("a workspace"));
    for version in RELEASED {
        let component = guests::component(&format!("released/{version}-submission"));
        let claim = Claim { text: "all done".into(), report: None };
        let question = Question {
            grants: [Grant::Workspace].into_iter().collect(),
            workspace: Some(Arc::clone(&workspace)),
            submission: Submission {
                claim: Some(claim),
                tree_digest: Some("sha256:0123".into()),
                ..Submission::default()
            },
            ..Question::default()
        };
        let answer = TestHost::new().ask(&component, question).expect(version);
        assert_eq!((answer.verdict.status, &*answer.verdict.summary), (Status::Pass, "all done"), "{version}");
        let log: Vec<_> = answer.log.iter().map(|line| (line.severity, &*line.message)).collect();
        let expected = [
            (LogLevel::Error, "abcdef"),
            (LogLevel::Debug, "cde"),
            (LogLevel::Info, "notes.txt"),
            (LogLevel::Warn, "sha256:0123"),
        ];
        assert_eq!(log, expected, "{version}");
    }
}

#[test]
fn the_contract_of_today_is_among_the_released() {
    assert!(RELEASED.contains(&CONTRACT));
}
