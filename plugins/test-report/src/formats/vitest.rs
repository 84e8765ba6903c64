//! `vitest` with its usual reporter: ` Test Files  1 failed (1)`, `      Tests  1 failed | 2 passed (3)`.

use crate::printed::{Printed, bare};
use crate::report::{FailedTest, Report, count};
use gatehost_sdk::{Place, command};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let sums = |title: &str| -> Vec<&str> {
        text.lines().filter_map(|line| bare(line).strip_prefix(title)).filter(|rest| rest.starts_with("  ")).collect()
    };
    let (files, tests) = (sums("Test Files"), sums("Tests"));
    if files.is_empty() {
        return None;
    }
    let total = |sums: &[&str], word: &str| sums.iter().map(|sum| count(sum, word)).sum::<usize>();
    let errors = sums("Errors");
    let mut report = Report {
        passed: total(&tests, "passed"),
        skipped: total(&tests, "skipped") + total(&tests, "todo"),
        failed: failed(text),
        problem: None,
    };
    let failures =
        total(&tests, "failed").max(total(&files, "failed")) + total(&errors, "errors") + total(&errors, "error");
    report.expect_failures(failures);
    Some(report)
}

/// ` FAIL  src/a.test.ts > suite > test`, below it what it says, and ` ❯ src/a.test.ts:2:75`.
fn failed(text: &Printed<'_>) -> Vec<FailedTest> {
    let mut failed: Vec<FailedTest> = Vec::new();
    for line in text.lines() {
        let said = line.trim();
        if let Some(name) = said.strip_prefix("FAIL  ") {
            failed.push(FailedTest::new(name.split(" [").next().unwrap_or(name).trim()));
        } else if let Some(last) = failed.last_mut().filter(|_| !said.is_empty()) {
            match said.strip_prefix("❯ ").and_then(place) {
                Some(place) if last.place.is_none() => last.place = Some(place),
                _ if last.message.is_none() => *last = last.clone().saying(said),
                _ => {}
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    failed.retain(|failed| seen.insert(failed.name.clone()));
    failed
}

fn place(said: &str) -> Option<Place> {
    let mut parts = said.split_whitespace().last()?.rsplitn(3, ':');
    let (column, row) = (parts.next()?.parse().ok(), parts.next()?.parse().ok()?);
    command::place(parts.next()?, row, column)
}
