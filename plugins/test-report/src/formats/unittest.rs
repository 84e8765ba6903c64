//! Python's `unittest`: `Ran 3 tests in 0.001s`, and below it `OK` or `FAILED (failures=1)`.

use crate::printed::Printed;
use crate::report::{FailedTest, Report, labelled};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let mut report: Option<Report> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(ran) = ran(line) else { continue };
        let end = lines.by_ref().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let skipped = labelled(end, "skipped") + expected(end, "expected failures");
        let failures = labelled(end, "failures") + labelled(end, "errors") + expected(end, "unexpected successes");
        // `expected failures=1` has the word, too.
        let failures = failures.saturating_sub(expected(end, "expected failures"));
        let known = is_word(end, "OK") || is_word(end, "FAILED") || is_word(end, "NO TESTS RAN");
        let mut one = Report { passed: ran.saturating_sub(skipped + failures), skipped, ..Report::default() };
        one.problem = (!known).then(|| "unittest ran tests, but the output contains no result".to_owned());
        one.expect_failures(failures.max(usize::from(is_word(end, "FAILED"))));
        report = Some(report.map_or(one.clone(), |before| before.and(one)));
    }
    let mut report = report?;
    for (unnamed, named) in report.failed.iter_mut().zip(named(text)) {
        *unnamed = named;
    }
    Some(report)
}

fn ran(line: &str) -> Option<usize> {
    let (count, rest) = line.strip_prefix("Ran ")?.split_once(" test")?;
    rest.contains(" in ").then(|| count.parse().ok()).flatten()
}

fn is_word(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
}

/// The number of `expected failures=1`.
fn expected(line: &str, words: &str) -> usize {
    let exact = |(at, _): &(usize, &str)| !line[..*at].ends_with(|before: char| before.is_alphanumeric());
    let found = line.match_indices(words).find(exact);
    found.map_or(0, |(at, _)| labelled(&line[at..], words.rsplit(' ').next().unwrap_or(words)))
}

/// The titles `FAIL: test_x (mod.T.test_x)`, each with the last line of its part.
fn named(text: &Printed<'_>) -> Vec<FailedTest> {
    let mut named: Vec<FailedTest> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            named.push(FailedTest::new(title));
            inside = true;
        } else if line.starts_with("=====") || ran(line).is_some() {
            inside = false;
        } else if let (true, false, Some(last)) =
            (inside, line.trim().is_empty() || line.starts_with("---"), named.last_mut())
        {
            *last = last.clone().saying(line);
        }
    }
    named
}
