//! `phpunit`: `OK (3 tests, 5 assertions)`, or `FAILURES!` above `Tests: 3, Assertions: 3, Failures: 1.`

use crate::printed::Printed;
use crate::report::{FailedTest, Report, count, labelled};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let mut report: Option<Report> = None;
    for line in text.lines().map(str::trim) {
        let one = if line.starts_with("OK (") && line.contains(" assertion") {
            Report { passed: count(line, "tests") + count(line, "test"), ..Report::default() }
        } else if line.starts_with("Tests: ") && line.contains("Assertions: ") {
            let failures = labelled(line, "failures") + labelled(line, "errors");
            let skipped = labelled(line, "skipped") + labelled(line, "incomplete");
            let passed = labelled(line, "tests").saturating_sub(failures + skipped);
            let mut one = Report { passed, skipped, ..Report::default() };
            one.expect_failures(failures);
            one
        } else if line == "No tests executed!" {
            Report::default()
        } else {
            continue;
        };
        report = Some(report.map_or(one.clone(), |before| before.and(one)));
    }
    let mut report = report?;
    let said = text.lines().any(|line| matches!(line.trim(), "FAILURES!" | "ERRORS!"));
    report.expect_failures(usize::from(said));
    for (unnamed, name) in report.failed.iter_mut().zip(names(text)) {
        *unnamed = name;
    }
    Some(report)
}

/// `1) FooTest::testBar`, and below it what it says.
fn names(text: &Printed<'_>) -> Vec<FailedTest> {
    let mut names: Vec<FailedTest> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((number, name)) = line.split_once(") ")
            && number.parse::<usize>().is_ok()
            && name.contains("::")
        {
            let said = lines.next().unwrap_or_default();
            names.push(FailedTest::new(name.trim()).saying(said));
        }
    }
    names
}
