//! `dotnet test`: `Failed!  - Failed: 1, Passed: 2, Skipped: 0, Total: 3, …` for each assembly, or a `Test summary:`.

use crate::report::{FailedTest, Report, labelled};

pub(super) fn read(text: &str) -> Option<Report> {
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
    let mut report = report?;
    let says = |line: &str| matches!(line.trim(), "Test Run Failed." | "Test Run Aborted.");
    report.expect_failures(usize::from(text.lines().any(says)));
    // `  Failed Sums.Tests.Adds [12 ms]`
    let named = text.lines().filter_map(|line| {
        let (name, time) = line.strip_prefix("  Failed ")?.rsplit_once(" [")?;
        time.ends_with(']').then(|| FailedTest::new(name))
    });
    for (unnamed, named) in report.failed.iter_mut().zip(named) {
        *unnamed = named;
    }
    Some(report)
}
