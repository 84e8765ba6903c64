//! `cargo nextest`: a line for each test, and a summary.

use crate::printed::{Marks, Printed, bare};
use crate::report::{FailedTest, Report, count};
use std::collections::BTreeSet;

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
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
    let mut report =
        Report { passed: total("passed"), skipped: total("skipped"), failed: failed.collect(), problem: None };
    report.expect_failures(failures);
    if sums.len() < started {
        report.problem = Some(format!("{started} nextest runs started, but {} finished", sums.len()));
    }
    // `1/3 tests run`: the run was cancelled.
    if let Some(sum) = sums.iter().find(|sum| sum.split(" test").next().is_some_and(|count| count.contains('/'))) {
        report.problem = Some(format!("nextest did not run all tests: {sum}"));
    }
    Some(report)
}

/// The text without what tests printed in tries that nextest repeated, if there are some: the indented lines below `TRY 1 FAIL [`.
pub(crate) fn without_earlier_tries(text: &Printed<'_>) -> Option<String> {
    let is_try = |line: &str| {
        let rest = bare(line).strip_prefix("TRY ").and_then(|rest| rest.split_once(" ["));
        rest.is_some_and(|(rest, _)| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    if !text.marks().has(Marks::TRY) || !text.lines().any(is_try) {
        return None;
    }
    let mut inside = false;
    let kept = text.lines().filter(|line| {
        let printed = line.is_empty() || line.starts_with("    ") || line.contains(" ───");
        inside = is_try(line) || (inside && printed && status(line).is_none());
        !inside
    });
    Some(kept.collect::<Vec<_>>().join("\n"))
}

/// The word before a time, as in `PASS [   0.003s] crate tests::good`.
fn status(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.trim_start().split_once(" [")?;
    let (time, name) = rest.split_once("] ")?;
    (time.ends_with('s') && word.chars().all(|c| c.is_ascii_uppercase() || "-/ 0123456789".contains(c)))
        .then_some((word, name))
}

/// `FAIL [   0.003s] (2/2) crate tests::bad`: the name of the test.
fn failed(line: &str) -> Option<&str> {
    let (word, name) = status(line)?;
    let bad = ["FAIL", "TIMEOUT", "ABORT", "LEAK-FAIL", "EXECFAIL"].contains(&word) || word.starts_with("SIG");
    let name = name.trim();
    let name = name.split_once(") ").filter(|_| name.starts_with('(')).map_or(name, |(_, name)| name.trim());
    bad.then_some(name)
}
