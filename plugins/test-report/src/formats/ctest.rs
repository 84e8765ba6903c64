//! `ctest`: `67% tests passed, 1 tests failed out of 3`, and a list below `The following tests FAILED:`.

use crate::printed::Printed;
use crate::report::{FailedTest, Report};
use std::collections::BTreeMap;

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
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
    // A test whose last line says that it failed, whatever the sum says. `--repeat` runs a test again.
    let mut last: BTreeMap<&str, bool> = BTreeMap::new();
    last.extend(text.lines().filter_map(result));
    report.expect_failures(last.values().filter(|failed| **failed).count());
    // What did not run is among those that passed in no sense.
    let skipped =
        text.lines().filter(|line| line.contains("***Skipped") || line.contains("***Not Run (Disabled)")).count();
    report.skipped = skipped;
    report.passed = report.passed.saturating_sub(skipped);
    Some(report)
}

/// `2/2 Test #2: sums ....***Failed    0.01 sec`: the number of the test, and whether it failed.
fn result(line: &str) -> Option<(&str, bool)> {
    let (number, rest) = line.split_once("Test #")?.1.split_once(": ")?;
    let said = rest.split_once("***").map(|(_, said)| said);
    let excused = |said: &str| said.starts_with("Skipped") || said.starts_with("Not Run (Disabled)");
    let ended = said.is_some() || rest.contains("   Passed ");
    (ended && number.trim().parse::<u64>().is_ok()).then_some((number.trim(), said.is_some_and(|said| !excused(said))))
}

/// How many failed, out of how many.
fn sum(line: &str) -> Option<(usize, usize)> {
    let (_, rest) = line.trim().split_once("% tests passed, ")?;
    let (failed, rest) = rest.split_once(' ')?;
    let all = rest.rsplit_once("failed out of ")?.1.split_whitespace().next()?;
    Some((failed.parse().ok()?, all.parse().ok()?))
}
