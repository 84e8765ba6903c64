//! `test-report`: the tests that a command runs pass, according to its exit code and its report.
//!
//! Both must agree: exit code 0 with a failed test is a failure, and so is another exit code with a report of passes. The report
//! is the command's output, so it is always of this run. If the output contains several reports, a failure in any of them
//! counts, and so do a broken report, a truncated output, and a line about a failure that is in no report (`unaccounted.rs`).

mod formats;
mod printed;
mod report;
mod unaccounted;

use formats::Format;
use gatehost_sdk::commands::Output;
use gatehost_sdk::{About, Finding, Rule, Submission, SubmissionVerifier, Verdict, command};
use printed::{Marks, Printed};
use report::{FailedTest, Report};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "command": {
      "description": "The command to run. Required if several are granted.",
      "type": "string",
      "minLength": 1
    },
    "format": {
      "description": "The format of the command's output.",
      "enum": ["auto", "junit", "tap", "cargo", "nextest", "pytest", "unittest", "jest", "mocha", "vitest", "go", "ctest", "phpunit", "rspec", "dotnet"],
      "default": "auto"
    },
    "min_tests": {
      "description": "The minimum number of tests that must run. Skipped tests do not count.",
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
        "The tests that a command runs pass, according to its exit code and its report.",
    )
    .settings_schema(SETTINGS_SCHEMA)
    .rules(RULES);

    fn check(_: &Submission, settings: Settings) -> Verdict {
        command::judge(settings.command.as_deref(), |output| judge(output, &settings))
    }
}

gatehost_sdk::export_submission_verifier!(TestReport);
gatehost_sdk::use_arena!();

const RULES: &[Rule] = &[
    Rule::error("test-failed", "A test failed.").help("Fix what the test reports."),
    Rule::error("exit-nonzero", "The command exited with a code other than 0."),
    Rule::error("signalled", "The command was killed by a signal."),
    Rule::error("timed-out", "The command timed out.").help("Make the command faster, or raise its `timeout`."),
    Rule::error("would-change", "The command is a fixer and would change this file."),
    Rule::error("contradiction", "The command exited with code 0 although tests failed.")
        .help("Make the command exit with a nonzero code when a test fails."),
    Rule::error("too-few-tests", "Fewer tests ran than `min_tests`."),
    Rule::error("broken-report", "The report is unreliable: tests are missing, or it contradicts itself."),
    Rule::error("report-cut", "The command printed more than `gate` keeps. The rest may contain a failure.")
        .help("Make the command print less."),
];

fn judge(output: &Output, settings: &Settings) -> Verdict {
    let ending = command::failure(output);
    // Some sum up on one of them and name what failed on the other.
    let text = [&output.stdout, &output.stderr].map(command::text).join("\n");
    // What a progress bar overwrites was printed all the same.
    let (overwritten, retried);
    let mut printed = Printed::of(&text);
    if printed.marks().has(Marks::CONTROL) {
        overwritten = text.replace("\r\n", "\n").replace(['\r', '\u{b}', '\u{c}'], "\n");
        printed = Printed::of(&overwritten);
    }
    if let Some(text) = formats::without_earlier_tries(&printed) {
        retried = text;
        printed = Printed::of(&retried);
    }
    let Some(report) = Report::together(formats::read(settings.format, &printed)) else {
        return match ending {
            Some(ending) => without_report(output, ending),
            None => Verdict::abstain(format!("`{}` printed no report in a known format", command::line(output))),
        };
    };
    let mut findings: Vec<Finding> = report.failed.iter().map(failed).collect();
    findings.extend(report.problem.as_ref().map(|problem| Finding::error("broken-report", problem.clone())));
    for stream in [&output.stdout, &output.stderr].into_iter().filter(|stream| !command::is_whole(stream)) {
        let message =
            format!("the output has {} bytes, more than `gate` keeps; the rest may contain a failure", stream.length);
        findings.push(Finding::error("report-cut", message).hint("make the command print less"));
    }
    if findings.is_empty() && ending.is_none() {
        findings.extend(match formats::without_output(&printed) {
            Some(kept) => unaccounted(&Printed::of(&kept)),
            None => unaccounted(&printed),
        });
    }
    let ran = report.passed + report.failed.len();
    if ran < settings.min_tests {
        let message = format!("{ran} tests ran; expected at least {}", settings.min_tests);
        findings.push(Finding::error("too-few-tests", message));
    }
    match ending {
        None if !report.failed.is_empty() => {
            let message = format!("`{}` exited with code 0 although tests failed", command::line(output));
            findings.push(
                Finding::error("contradiction", message)
                    .hint("make the command exit with a nonzero code when a test fails"),
            );
        }
        None => {}
        Some(ending) => findings.push(ending),
    }
    let verdict = if findings.is_empty() {
        Verdict { summary: counted(&report), ..Verdict::pass() }
    } else {
        Verdict::fail(counted(&report), findings).class(command::class(output))
    };
    let count = |number: usize| number as f64;
    verdict
        .metric("tests-run", count(ran))
        .metric("tests-failed", count(report.failed.len()))
        .metric("tests-skipped", count(report.skipped))
}

/// A line that says that something failed, in an output whose reports say that nothing did.
fn unaccounted(text: &Printed<'_>) -> Option<Finding> {
    let shown: String = unaccounted::line(text)?.trim().chars().take(80).collect();
    let message = format!("the output contains `{shown}`, but no report contains this failure");
    Some(
        Finding::error("broken-report", message)
            .hint("make the command exit with a nonzero code when something fails, or print less"),
    )
}

fn without_report(output: &Output, ending: Finding) -> Verdict {
    let summary = format!("{}, without a report in a known format", ending.message);
    Verdict::fail(summary, vec![ending]).class(command::class(output))
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

fn failed(test: &FailedTest) -> Finding {
    let message = match &test.message {
        Some(why) => format!("{}: {why}", test.name),
        None => test.name.clone(),
    };
    Finding { place: test.place.clone(), ..Finding::error("test-failed", message).key(&test.name) }
}

#[cfg(test)]
mod tests;
