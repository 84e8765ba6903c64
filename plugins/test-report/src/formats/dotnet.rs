//! `dotnet test`: `Failed!  - Failed: 1, Passed: 2, Skipped: 0, Total: 3, …` for each assembly, or a `Test summary:`.

use crate::printed::Printed;
use crate::report::{FailedTest, Report, labelled};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let mut report: Option<Report> = None;
    for line in text.lines().map(str::trim) {
        let is_sum = (line.starts_with("Passed!") || line.starts_with("Failed!") || line.starts_with("Skipped!"))
            && line.contains("Total:");
        if !is_sum && !line.starts_with("Test summary: total:") {
            continue;
        }
        let mut one = Report {
            passed: labelled(line, "passed") + labelled(line, "succeeded"),
            skipped: labelled(line, "skipped"),
            ..Report::default()
        };
        one.expect_failures(labelled(line, "failed").max(usize::from(line.starts_with("Failed!"))));
        report = Some(report.map_or(one.clone(), |before| before.and(one)));
    }
    // What another verbosity prints: `Total tests: 3`, and below it `Passed: 2` and `Failed: 1`.
    let mut report =
        report.or_else(|| text.lines().any(|line| line.starts_with("Total tests: ")).then(|| totals(text)))?;
    let says = |line: &str| matches!(line.trim(), "Test Run Failed." | "Test Run Aborted.");
    report.expect_failures(usize::from(text.lines().any(says)));
    // `  Failed Sums.Tests.Adds [12 ms]`
    let named = text.lines().filter_map(|line| {
        let (name, time) = line.strip_prefix("  Failed ")?.rsplit_once(" [")?;
        time.ends_with(']').then(|| FailedTest::new(name))
    });
    let named: Vec<FailedTest> = named.collect();
    report.expect_failures(named.len());
    for (unnamed, named) in report.failed.iter_mut().zip(named) {
        *unnamed = named;
    }
    Some(report)
}

fn totals(text: &Printed<'_>) -> Report {
    let total = |word: &str| {
        text.lines().filter(|line| line.trim_start().starts_with(word)).map(|line| labelled(line, word)).sum()
    };
    let mut report = Report { passed: total("Passed"), skipped: total("Skipped"), ..Report::default() };
    report.expect_failures(total("Failed"));
    report
}
