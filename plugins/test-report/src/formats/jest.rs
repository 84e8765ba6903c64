//! `jest`: what it prints for people, and what it prints with `--json`.

use crate::printed::{Printed, bare};
use crate::report::{FailedTest, Report, count};
use gatehost_sdk::{Place, command};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    num_passed_tests: usize,
    num_failed_tests: usize,
    num_pending_tests: usize,
    #[serde(default)]
    num_runtime_error_test_suites: usize,
    success: bool,
    test_results: Vec<Suite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite {
    name: String,
    status: String,
    #[serde(default)]
    message: String,
    assertion_results: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    full_name: String,
    status: String,
    #[serde(default)]
    failure_messages: Vec<String>,
}

/// The documents of `--json`, which vitest writes as well.
pub(super) fn json(text: &Printed<'_>) -> Option<Report> {
    let starts = text.match_indices("{\"num").map(|(at, _)| &text[at..]);
    let documents = starts.map(|text| {
        let document = serde_json::Deserializer::from_str(text).into_iter::<Document>().next();
        let broken = || Report { problem: Some("the report is not complete JSON".to_owned()), ..Report::default() };
        document.and_then(Result::ok).map_or_else(broken, |document| of(&document))
    });
    documents.reduce(Report::and)
}

fn of(document: &Document) -> Report {
    let mut failed = Vec::new();
    for suite in &document.test_results {
        let tests = suite.assertion_results.iter().filter(|test| test.status == "failed");
        let before = failed.len();
        failed.extend(tests.map(|test| FailedTest::new(&*test.full_name).saying(&test.failure_messages.join("\n"))));
        if suite.status == "failed" && failed.len() == before {
            failed.push(FailedTest::new(&*suite.name).saying(&suite.message));
        }
    }
    let mut report = Report {
        passed: document.num_passed_tests,
        skipped: document.num_pending_tests,
        failed,
        problem: (!document.success).then(|| "the report says that the run was not successful".to_owned()),
    };
    report.expect_failures(document.num_failed_tests + document.num_runtime_error_test_suites);
    if !report.failed.is_empty() {
        report.problem = None;
    }
    report
}

/// What is printed for people.
pub(super) fn printed(text: &Printed<'_>) -> Option<Report> {
    let sums = |title: &str| {
        text.lines().filter_map(|line| bare(line).strip_prefix(title)).map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let (suites, tests) = (sums("Test Suites:"), sums("Tests:"));
    if suites.is_empty() || tests.is_empty() {
        return None;
    }
    let total = |sums: &str, word: &str| sums.lines().map(|sum| count(sum, word)).sum::<usize>();
    let mut failed: Vec<FailedTest> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("  ● ").filter(|name| !name.starts_with("Console")) else { continue };
        let mut said = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("  ● ")) {
            said.push(line.trim());
        }
        if failed.iter().all(|known| known.name != name) {
            // Down to the lines of the source and of the stack.
            let message = said.iter().take_while(|line| !line.contains(" | ") && !line.starts_with("at "));
            let message: Vec<&str> = message.filter(|line| !line.is_empty()).copied().collect();
            failed.push(FailedTest::new(name).saying(&message.join("\n")).at(said.iter().find_map(|line| place(line))));
        }
    }
    let mut report =
        Report { passed: total(&tests, "passed"), skipped: total(&tests, "skipped"), failed, problem: None };
    let counted = [&tests, &suites, &sums("Snapshots:")].map(|sums| total(sums, "failed"));
    report.expect_failures(counted.into_iter().max().unwrap_or(0));
    Some(report)
}

/// `at Object.<anonymous> (src/a.test.js:5:13)`
fn place(line: &str) -> Option<Place> {
    let inside = line.strip_prefix("at ")?.rsplit_once('(')?.1.strip_suffix(')')?;
    let mut parts = inside.rsplitn(3, ':');
    let (column, row) = (parts.next()?.parse().ok(), parts.next()?.parse().ok()?);
    let path = parts.next()?;
    if path.starts_with("node_modules/") { None } else { command::place(path, row, column) }
}
