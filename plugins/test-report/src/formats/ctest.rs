//! `ctest`: `67% tests passed, 1 tests failed out of 3`, and a list below `The following tests FAILED:`.

use crate::report::{FailedTest, Report};

pub(super) fn read(text: &str) -> Option<Report> {
    let mut report: Option<Report> = None;
    for (failures, all) in text.lines().filter_map(sum) {
        let mut one = Report { passed: all.saturating_sub(failures), ..Report::default() };
        one.expect_failures(failures);
        report = Some(report.map_or(one.clone(), |before| before.and(one)));
    }
    if text.lines().any(|line| line.trim() == "No tests were found!!!") {
        report = Some(report.unwrap_or_default());
    }
    let mut report = report?;
    let names = text
        .lines()
        .skip_while(|line| !line.starts_with("The following tests FAILED:"))
        .skip(1)
        .map_while(|line| line.trim().split_once(" - ").map(|(_, name)| name));
    for (unnamed, name) in report.failed.iter_mut().zip(names) {
        *unnamed = FailedTest::new(name.rsplit_once(" (").map_or(name, |(name, _)| name));
    }
    // What did not run is among those that passed in no sense.
    let skipped =
        text.lines().filter(|line| line.contains("***Skipped") || line.contains("***Not Run (Disabled)")).count();
    report.skipped = skipped;
    report.passed = report.passed.saturating_sub(skipped);
    Some(report)
}

/// How many failed, out of how many.
fn sum(line: &str) -> Option<(usize, usize)> {
    let (_, rest) = line.trim().split_once("% tests passed, ")?;
    let (failed, rest) = rest.split_once(' ')?;
    let all = rest.rsplit_once("failed out of ")?.1.split_whitespace().next()?;
    Some((failed.parse().ok()?, all.parse().ok()?))
}
