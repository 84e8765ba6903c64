//! `test-report`: the tests that a command runs have passed, by its exit code and by its own report.
//!
//! Both must say so: an exit code of 0 beside a failed test, and a failure beside nothing but passes, are failures. The
//! report is what the command prints, so that it is of this very run. Where it prints several, a failure in any counts.

mod formats;
mod report;

use formats::Format;
use gatehost_sdk::commands::{Captured, Output};
use gatehost_sdk::{About, Finding, Submission, SubmissionVerifier, Verdict, command};
use report::{Failed, Report};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "command": {
      "description": "The command, where several are granted.",
      "type": "string",
      "minLength": 1
    },
    "format": {
      "description": "What the command prints.",
      "enum": ["auto", "junit", "tap", "cargo", "pytest", "jest", "go"],
      "default": "auto"
    },
    "min_tests": {
      "description": "How many tests must have run at least; those that were skipped do not count.",
      "type": "integer",
      "minimum": 1,
      "maximum": 1000000,
      "default": 1
    }
  },
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    command: Option<String>,
    format: Format,
    min_tests: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { command: None, format: Format::Auto, min_tests: 1 }
    }
}

struct TestReport;

impl SubmissionVerifier for TestReport {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "test-report",
        env!("CARGO_PKG_VERSION"),
        "The tests that a command runs have passed, by its exit code and by its report.",
    )
    .settings_schema(SETTINGS_SCHEMA);

    fn check(_: &Submission, settings: Settings) -> Verdict {
        command::judge(settings.command.as_deref(), |output| judge(output, &settings))
    }
}

gatehost_sdk::export_submission_verifier!(TestReport);

fn judge(output: &Output, settings: &Settings) -> Verdict {
    let ending = command::failure(output);
    let mut reports: Vec<(Report, &Captured)> = Vec::new();
    for stream in [&output.stdout, &output.stderr] {
        reports.extend(formats::read(settings.format, &command::text(stream)).map(|report| (report, stream)));
    }
    // One report with a failure is enough; and the same failure may stand in two.
    let worst = reports.iter().find(|(report, _)| !report.failed.is_empty());
    let Some((report, stream)) = worst.or(reports.first()) else {
        return match ending {
            Some(ending) => without_report(output, ending),
            None => Verdict::abstain(format!("`{}` printed no report of a known format", command::line(output))),
        };
    };
    let mut findings: Vec<Finding> = report.failed.iter().map(failed).collect();
    findings.extend(report.problem.as_ref().map(|problem| Finding::error("broken-report", problem.clone())));
    if !command::is_whole(stream) {
        let message =
            format!("the report has {} bytes, more than is kept; a failure may be among the rest", stream.length);
        findings.push(Finding::error("report-cut", message).hint("have the command print less"));
    }
    let ran = report.passed + report.failed.len();
    if ran < settings.min_tests {
        let message = format!("{ran} tests ran; expected at least {}", settings.min_tests);
        findings.push(Finding::error("too-few-tests", message));
    }
    match ending {
        None if !report.failed.is_empty() => {
            let message = format!("`{}` ended with exit code 0 although tests failed", command::line(output));
            findings.push(Finding::error("contradiction", message).hint("have it end with another code then"));
        }
        None => {}
        Some(ending) => findings.push(ending),
    }
    if findings.is_empty() {
        return Verdict { summary: counted(report), ..Verdict::pass() };
    }
    Verdict { class: Some(command::class(output)), ..Verdict::fail(counted(report), findings) }
}

fn without_report(output: &Output, ending: Finding) -> Verdict {
    let summary = format!("{}, without a report of a known format", ending.message);
    Verdict { class: Some(command::class(output)), ..Verdict::fail(summary, vec![ending]) }
}

fn counted(report: &Report) -> String {
    let mut parts = Vec::new();
    for (count, word) in [(report.failed.len(), "failed"), (report.passed, "passed"), (report.skipped, "skipped")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    if parts.is_empty() { "no tests".to_owned() } else { parts.join(", ") }
}

fn failed(test: &Failed) -> Finding {
    let message = match &test.message {
        Some(why) => format!("{}: {why}", test.name),
        None => test.name.clone(),
    };
    Finding { place: test.place.clone(), ..Finding::error("test-failed", message) }
}

#[cfg(test)]
mod tests;
