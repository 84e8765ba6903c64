//! `go test` without `-json`: a line for each package, and lines `--- FAIL:` for tests.

use crate::printed::{Printed, bare};
use crate::report::{FailedTest, Report};

pub(super) fn read(text: &Printed<'_>) -> Option<Report> {
    let package = |line: &str, word: &str| -> Option<String> {
        let rest = line.strip_prefix(word).filter(|rest| rest.starts_with(['\t', ' ']))?.trim_start();
        rest.contains(['\t', '[', '.']).then(|| rest.split_whitespace().next().unwrap_or_default().to_owned())
    };
    let test = |line: &str, word: &str| -> Option<String> {
        let rest = bare(line).strip_prefix("--- ")?.strip_prefix(word)?;
        Some(rest.rsplit_once(" (").map_or(rest, |(name, _)| name).trim().to_owned())
    };
    let is_ok = |line: &str| line.starts_with("ok  \t") || line.starts_with("ok \t");
    if !text.lines().any(|line| is_ok(line) || line.starts_with("FAIL\t") || test(line, "FAIL:").is_some()) {
        return None;
    }
    let mut report = Report::default();
    let mut packages = 0;
    let mut failed_packages = Vec::new();
    for line in text.lines() {
        if let Some(name) = test(line, "FAIL:") {
            report.failed.push(FailedTest::new(name));
        } else if test(line, "PASS:").is_some() {
            report.passed += 1;
        } else if test(line, "SKIP:").is_some() {
            report.skipped += 1;
        } else if is_ok(line) {
            packages += usize::from(!line.contains("[no tests to run]"));
        } else if line.starts_with("FAIL\t") {
            failed_packages.extend(package(line, "FAIL"));
        } else if let (Some(said), Some(last)) = (line.strip_prefix("    "), report.failed.last_mut())
            && last.message.is_none()
            && !said.trim().is_empty()
        {
            *last = last.clone().saying(said);
        }
    }
    // What failed because of its parts is told by them.
    let names: Vec<String> = report.failed.iter().map(|failed| failed.name.clone()).collect();
    report.failed.retain(|failed| !names.iter().any(|name| name.starts_with(&format!("{}/", failed.name))));
    // Without `-v`, a package says that its tests passed and not how many they are.
    report.passed = report.passed.max(packages);
    if report.failed.is_empty() {
        report.failed.extend(failed_packages.into_iter().map(FailedTest::new));
    }
    Some(report)
}
