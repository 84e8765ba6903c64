//! `cargo nextest`: a line for each test, and a summary.

use crate::report::{FailedTest, Report, count};
use std::collections::BTreeSet;

pub(super) fn read(text: &str) -> Option<Report> {
    let is_summary = |line: &&str| line.starts_with("Summary [") && line.contains(" run: ");
    let sums: Vec<&str> = text.lines().map(str::trim).filter(is_summary).collect();
    let started = text.lines().filter(|line| line.trim_start().starts_with("Nextest run")).count();
    if sums.is_empty() && started == 0 {
        return None;
    }
    let total = |word: &str| sums.iter().map(|sum| count(sum, word)).sum::<usize>();
    // `1 timed out`, `1 exec failed`
    let timed_out = |sum: &&str| sum.split(" timed out").next()?.rsplit(' ').next()?.parse::<usize>().ok();
    let late = sums.iter().filter(|sum| sum.contains(" timed out")).filter_map(timed_out).sum::<usize>();
    let not_run = |sum: &&str| sum.split(" exec failed").next()?.rsplit(' ').next()?.parse::<usize>().ok();
    let not_run = sums.iter().filter(|sum| sum.contains(" exec failed")).filter_map(not_run).sum::<usize>();
    let failures = total("failed") + late + not_run;
    let mut seen = BTreeSet::new();
    let failed = text.lines().filter_map(failed).filter(|name| seen.insert(name.to_string())).map(FailedTest::new);
    // A test that passed in a later try has failed lines as well.
    let failed = if failures == 0 { Vec::new() } else { failed.collect() };
    let mut report = Report { passed: total("passed"), skipped: total("skipped"), failed, problem: None };
    report.expect_failures(failures);
    if sums.len() < started {
        report.problem = Some(format!("{started} nextest runs started, but {} finished", sums.len()));
    }
    Some(report)
}

/// `FAIL [   0.003s] (2/2) crate tests::bad`: the name of the test.
fn failed(line: &str) -> Option<&str> {
    let (word, rest) = line.trim_start().split_once(" [")?;
    let bad = ["FAIL", "TIMEOUT", "ABORT", "LEAK-FAIL", "EXECFAIL"].contains(&word) || word.starts_with("SIG");
    let name = rest.split_once("] ")?.1.trim();
    let name = name.split_once(") ").filter(|_| name.starts_with('(')).map_or(name, |(_, name)| name.trim());
    bad.then_some(name)
}
