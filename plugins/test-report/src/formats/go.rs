//! `go test -json`: one event on each line.

use crate::printed::Printed;
use crate::report::{FailedTest, Report};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

/// What is known of a test, or of a package where the test has no name.
#[derive(Default)]
struct TestEvents {
    end: Option<String>,
    output: String,
}

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let mut all: BTreeMap<(String, String), TestEvents> = BTreeMap::new();
    // An event that other output stands before or after cannot be read, and may not be missed.
    let mut glued = false;
    for line in text.lines() {
        let Some(event) = event(line) else {
            glued |= line.contains("\"Action\":\"fail\"");
            continue;
        };
        let known = all.entry((event.package, event.test)).or_default();
        match &*event.action {
            "output" => known.output.push_str(&event.output),
            // A test that ran twice and failed once has failed.
            "pass" | "fail" | "skip" if known.end.as_deref() != Some("fail") => known.end = Some(event.action),
            _ => {}
        }
    }
    // Something else may be printed in lines of JSON; a package finishes only here.
    let ended = |((package, test), known): (&(String, String), &TestEvents)| {
        !package.is_empty() && test.is_empty() && known.end.is_some()
    };
    if !glued && !all.iter().any(ended) {
        return None;
    }
    let problem = "a `go test -json` event says `fail`, but other output is on the same line";
    let mut report = Report { problem: glued.then(|| problem.to_owned()), ..Report::default() };
    let failed = |known: &TestEvents| !matches!(known.end.as_deref(), Some("pass" | "skip"));
    for ((package, test), known) in &all {
        let below = |other: &(String, String)| {
            other.0 == *package
                && other != &(package.clone(), test.clone())
                && (test.is_empty() || other.1.starts_with(&format!("{test}/")))
        };
        match known.end.as_deref() {
            Some("pass") if !test.is_empty() => report.passed += 1,
            Some("skip") if !test.is_empty() => report.skipped += 1,
            Some("pass" | "skip") => {}
            // What failed because of its parts is told by them.
            _ if all.iter().any(|(other, known)| below(other) && failed(known)) => {}
            _ if package.is_empty() => {}
            _ => {
                report.failed.push(FailedTest::new(format!("{package} {test}").trim()).saying(&message(&known.output)))
            }
        }
    }
    Some(report)
}

fn event(line: &str) -> Option<Event> {
    if line.starts_with('{') { serde_json::from_str(line).ok() } else { None }
}

/// What a test said, without the frame around it.
fn message(output: &str) -> String {
    let frame =
        |line: &&str| !["=== ", "--- ", "FAIL", "PASS", "ok "].iter().any(|start| line.trim_start().starts_with(start));
    output.lines().filter(frame).map(str::trim).collect::<Vec<_>>().join("\n")
}
