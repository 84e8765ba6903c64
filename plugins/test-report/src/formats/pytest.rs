//! `pytest`, with and without `-q`: the last line sums up, and a short summary above it names what failed.

use crate::printed::{Marks, Printed};
use crate::report::{FailedTest, Report, count, counts_any};
use gatehost_sdk::{Place, command};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let sums: Vec<&str> =
        text.marked_lines().filter(|(_, marks)| marks.has(Marks::IN)).filter_map(|(line, _)| sum(line)).collect();
    if sums.is_empty() {
        return None;
    }
    // Of several runs, any may have failed.
    let total = |word: &str| sums.iter().map(|sum| count(sum, word)).sum::<usize>();
    let has_summary = text.contains("short test summary info");
    let failed = summaries(text).take_while(|_| has_summary).filter_map(|line| {
        let rest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
        let (name, message) = rest.split_once(" - ").unwrap_or((rest, ""));
        Some(FailedTest::new(name.trim()).saying(message).at(place(text, name.trim())))
    });
    let mut report = Report {
        passed: total("passed") + total("xpassed"),
        skipped: total("skipped") + total("xfailed"),
        failed: failed.collect(),
        problem: None,
    };
    report.expect_failures(total("failed") + total("error") + total("errors"));
    Some(report)
}

/// The lines of short summaries. Elsewhere a line that starts with `ERROR` is what a test logged.
fn summaries<'t>(text: &Printed<'t>) -> impl Iterator<Item = &'t str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        let title = line.trim_matches(|c| c == '=' || c == ' ') == "short test summary info";
        inside = title || (inside && sum(line).is_none());
        inside
    })
}

/// `===== 1 failed, 2 passed in 0.12s =====`, or without the ornament.
pub(super) fn sum(line: &str) -> Option<&str> {
    let line = line.trim_matches(|c| c == '=' || c == ' ');
    let (counts, time) = line.rsplit_once(" in ")?;
    // Older versions write `0.12 seconds`.
    let time = time.strip_suffix(" seconds").or_else(|| time.split(' ').next()?.strip_suffix('s'))?;
    let is_time = time.parse::<f64>().is_ok();
    let known = || {
        counts == "no tests ran"
            || counts_any(counts, &["passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed"])
    };
    (is_time && known()).then_some(counts)
}

/// The last line that a failed test's part names in its own file; else the file.
fn place(text: &Printed<'_>, name: &str) -> Option<Place> {
    let (path, test) = name.split_once("::")?;
    let title = format!(" {} ", test.replace("::", "."));
    let part = text.lines().skip_while(|line| !(line.starts_with("__") && line.contains(&title))).skip(1);
    let part = part.take_while(|line| !line.starts_with("__") && !line.starts_with("=="));
    let at = part.filter_map(|line| line.strip_prefix(path)?.strip_prefix(':')?.split(':').next()?.parse().ok()).last();
    command::place(path, at.unwrap_or(0), None)
}
