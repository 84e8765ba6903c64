//! `rspec`: `3 examples, 1 failure, 1 pending`, and lines `rspec ./spec/a_spec.rb:5 # says hello`.

use crate::printed::Printed;
use crate::report::{FailedTest, Report, count};
use gatehost_sdk::command;

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let mut report: Option<Report> = None;
    for line in text.lines().filter(|line| is_sum(line)) {
        let all = count(line, "examples") + count(line, "example");
        let failures = count(line, "failures") + count(line, "failure");
        let outside = count(line, "errors") + count(line, "error");
        let skipped = count(line, "pending");
        let mut one = Report { passed: all.saturating_sub(failures + skipped), skipped, ..Report::default() };
        one.expect_failures(failures + outside);
        report = Some(report.map_or(one.clone(), |before| before.and(one)));
    }
    let mut report = report?;
    let named = text.lines().filter_map(|line| {
        let (at, name) = line.strip_prefix("rspec ")?.split_once(" # ")?;
        let (path, number) = at.rsplit_once(':').unwrap_or((at, ""));
        Some(FailedTest::new(name).at(command::place(path, number.parse().unwrap_or(0), None)))
    });
    let named: Vec<FailedTest> = named.collect();
    report.expect_failures(named.len());
    for (unnamed, named) in report.failed.iter_mut().zip(named) {
        *unnamed = named;
    }
    Some(report)
}

pub(super) fn is_sum(line: &str) -> bool {
    let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let number = |word: Option<&str>| word.is_some_and(|word| word.parse::<usize>().is_ok());
    number(words.next())
        && matches!(words.next(), Some("examples" | "example"))
        && number(words.next())
        && matches!(words.next(), Some("failures" | "failure"))
}
