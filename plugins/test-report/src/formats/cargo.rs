//! `cargo test`, with and without `--quiet`: lines `test NAME ... FAILED`, lists below `failures:`, and a sum for each
//! binary.

use crate::printed::{Printed, bare};
use crate::report::{FailedTest, Report, count};
use gatehost_sdk::{Place, command};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let sums: Vec<&str> = text
        .lines()
        .filter_map(|line| bare(line).strip_prefix("test result: "))
        .map(str::trim_end)
        .filter(|sum| !sum.is_empty())
        .collect();
    if sums.is_empty() {
        return None;
    }
    let total = |word: &str| sums.iter().map(|sum| count(sum, word)).sum::<usize>();
    let said = parts(text);
    let failed = names(text).into_iter().map(|name| {
        let (place, message) = said.get(name).cloned().unwrap_or_default();
        FailedTest::new(name).saying(&message).at(place)
    });
    let mut report =
        Report { passed: total("passed"), skipped: total("ignored"), failed: failed.collect(), problem: None };
    report.expect_failures(total("failed"));
    if report.failed.is_empty() && sums.iter().any(|sum| !sum.starts_with("ok.")) {
        report.problem = Some("a test binary reports `FAILED` but counts no failed test".to_owned());
    }
    // A binary that announces its tests and never sums up has crashed.
    let announced = text.lines().filter(|line| is_announcement(line)).count();
    if announced > sums.len() {
        report.problem = Some(format!("{announced} test binaries started, but {} finished", sums.len()));
    }
    Some(report)
}

fn is_announcement(line: &str) -> bool {
    let number =
        line.strip_prefix("running ").and_then(|rest| rest.strip_suffix(" tests").or(rest.strip_suffix(" test")));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

fn names<'t>(text: &Printed<'t>) -> Vec<&'t str> {
    let mut names = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            names.push(name.strip_suffix(" - should panic").unwrap_or(name));
        }
        // The list comes at once; what follows after an empty line is what the tests printed.
        if line == "failures:" {
            while let Some(name) = lines.next_if(|line| line.starts_with("    ")) {
                names.push(name.trim());
            }
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// What each test said and where it panicked: the part below `---- NAME stdout ----`.
fn parts<'t>(text: &Printed<'t>) -> BTreeMap<&'t str, (Option<Place>, String)> {
    let mut parts: BTreeMap<&str, (Option<Place>, String)> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        let title = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if title.is_some() {
            current = title;
        } else if line == "failures:" || line == "stack backtrace:" || line.starts_with("note: run with") {
            current = None;
        } else if let Some(name) = current {
            let (place, said) = parts.entry(name).or_default();
            match line.strip_prefix("thread '").and_then(|rest| rest.split_once(" panicked at ")) {
                Some((_, at)) => *place = place.take().or_else(|| position(at)),
                None => said.extend([line, "\n"]),
            }
        }
    }
    parts
}

/// `src/lib.rs:5:9:`
fn position(text: &str) -> Option<Place> {
    let mut parts = text.trim_end_matches(':').rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    command::place(parts.next()?, line, Some(column))
}
