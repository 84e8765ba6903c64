//! `executor-report`: the executor's structured report says success, and carries what proves it.
//!
//! The report is the one handed over beside the claim; without one, the only fenced `yaml` or `json` block of the
//! claim that looks like a report (a mapping with `status`, `verification` or `done_criteria_met`); without one, the
//! whole text of the claim. Two reports in a claim are none: nobody could say which of them counts.
//!
//! ```yaml
//! status: success            # success | failure | blocked
//! task_name: "Task 3: …"
//! files_modified: [src/a.rs]
//! verification:
//!   command: "cargo test"    # what was run, and what the task names, where it names one
//!   exit_code: 0
//!   output_summary: "5 tests passed"
//! done_criteria_met: true
//! evidence: "…"
//! error: null
//! ```
//!
//! `files_modified`, where the report has it, is held against what changed (`files.rs`). All the rest is the executor's word:
//! that its command ended with 0 is for a check that runs the command to establish.

mod files;
mod find;
mod report;

use gatehost_sdk::text::one_line;
use gatehost_sdk::vacuous::is_vacuous_script;
use gatehost_sdk::{About, Class, Finding, Level, Rule, Submission, SubmissionVerifier, Verdict};
use report::{Report, Reported, is_nothing};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "require": {
      "description": "Fields that a report of success must have beside `status`, `verification` and `done_criteria_met`.",
      "type": "array",
      "items": { "enum": ["task_name", "files_modified", "output_summary", "evidence"] },
      "uniqueItems": true,
      "default": []
    },
    "same_command": {
      "description": "Whether the reported command must be the one that the task names, where it names one.",
      "type": "boolean",
      "default": true
    },
    "unreported_files": {
      "description": "What a changed file weighs that `files_modified` leaves out. Compared only where there is a commit to compare with.",
      "enum": ["error", "warning", "note", "ignore"],
      "default": "error"
    }
  },
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    require: Vec<Field>,
    same_command: bool,
    unreported_files: Weight,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Error,
    Warning,
    Note,
    Ignore,
}

impl Default for Settings {
    fn default() -> Self {
        Self { require: Vec::new(), same_command: true, unreported_files: Weight::Error }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Field {
    TaskName,
    FilesModified,
    OutputSummary,
    Evidence,
}

struct ExecutorReport;

impl SubmissionVerifier for ExecutorReport {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "executor-report",
        env!("CARGO_PKG_VERSION"),
        "The executor's structured report says success, with its verify command run and passed.",
    )
    .settings_schema(SETTINGS_SCHEMA)
    .rules(RULES);

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission, &settings)
    }
}

gatehost_sdk::export_submission_verifier!(ExecutorReport);

const RULES: &[Rule] = &[
    Rule::error("no-claim", "There is no claim, and so no report."),
    Rule::error("no-report", "The claim has no structured report.").help(
        "Report `status`, `verification` and `done_criteria_met` in one fenced `yaml` block, or beside the claim.",
    ),
    Rule::error("two-reports", "The claim has several reports.").help("Hand over exactly one."),
    Rule::error("malformed-report", "The report cannot be read.").help("Write it as a mapping, in YAML or JSON."),
    Rule::error("unknown-status", "The status is not `success`, `failure` or `blocked`."),
    Rule::error("missing-field", "The report leaves out a field that it must have."),
    Rule::error("error-beside-success", "The report says `success` and carries an error."),
    Rule::error("no-verify-command", "The report says `success` and names no verify command.")
        .help("Run the task's verify command, and report how it ended."),
    Rule::error("no-exit-code", "The report does not say how the verify command ended."),
    Rule::error("verify-failed", "The report says `success`, and the verify command did not end with 0.")
        .help("Repair what the command finds, then run it again."),
    Rule::error("other-verify-command", "The report verifies with another command than the task names."),
    Rule::error("vacuous-verify-command", "The reported command succeeds whatever the work is, and so proves nothing.")
        .help("Verify with a command that fails when the work is wrong."),
    Rule::error("done-criteria-not-met", "The report says that the done criteria are not met."),
    Rule::error("reported-failure", "The executor reports that it failed."),
    Rule::error("reported-blocked", "The executor reports that it is blocked.")
        .help("Resolve what blocks the task; trying again changes nothing."),
    Rule::error("file-not-changed", "The report names a file that did not change.")
        .help("Name the files that changed, and no others."),
    Rule::error("file-not-reported", "A file changed that the report does not name.")
        .help("Name it in `files_modified`, or take the change back."),
];

const HINT: &str = "report `status`, `verification` with `command` and `exit_code`, and `done_criteria_met`, in one fenced \
                    `yaml` block or beside the claim";

fn judge(submission: &Submission, settings: &Settings) -> Verdict {
    match find::report(submission.claim.as_ref()) {
        Err(why) => {
            let finding = Finding::error(why.code, why.message).hint(HINT);
            classed(Class::Malformed, "no report that can be read", vec![finding])
        }
        Ok(report) => match report.status {
            Reported::Success => success(&report, submission, settings),
            Reported::Failure => {
                let finding = Finding::error("reported-failure", told("the executor reports `failure`", &report));
                classed(Class::ExecutionFailure, "the executor reports failure", vec![finding])
            }
            Reported::Blocked => {
                let finding = Finding::error("reported-blocked", told("the executor reports `blocked`", &report))
                    .hint("resolve what blocks the task; trying again changes nothing");
                classed(Class::Blocked, "the executor reports that it is blocked", vec![finding])
            }
        },
    }
}

/// A claim of success, held against what it carries. The class is that of the first thing that is wrong, a report
/// that cannot be judged before one that was judged.
fn success(report: &Report, submission: &Submission, settings: &Settings) -> Verdict {
    let mut found: Vec<(Class, Finding)> = Vec::new();
    if report.done_criteria_met.is_none() {
        let message = "the report has no `done_criteria_met`; expected `true` or `false`";
        found.push((Class::Malformed, Finding::error("missing-field", message)));
    }
    for &field in &settings.require {
        let (name, present) = report.has(field);
        if !present {
            let message = format!("the report has no `{name}`; this gate asks for it");
            found.push((Class::Malformed, Finding::error("missing-field", message)));
        }
    }
    if let Some(error) = report.error.as_deref().filter(|error| !is_nothing(error)) {
        let message = format!("the report says `success` and carries an error: {}", one_line(error));
        found.push((Class::Malformed, Finding::error("error-beside-success", message)));
    }
    found.extend(verification(report, submission, settings).map(|finding| (Class::VerifyFailure, finding)));
    if report.done_criteria_met == Some(false) {
        let message = "the report says `success` and that the done criteria are not met";
        found.push((Class::ExecutionFailure, Finding::error("done-criteria-not-met", message)));
    }
    if let Some(reported) = &report.files_modified {
        let differences = files::differences(reported, submission, settings.unreported_files);
        found.extend(differences.into_iter().map(|finding| (Class::VerifyFailure, finding)));
    }
    let wrong = found.iter().find(|(_, finding)| finding.level == Level::Error);
    match wrong.map(|(class, _)| class.clone()) {
        None => Verdict { findings: found.into_iter().map(|(_, finding)| finding).collect(), ..Verdict::pass() },
        Some(class) => {
            let findings = found.into_iter().map(|(_, finding)| finding).collect();
            classed(class, "the report says success and does not bear it out", findings)
        }
    }
}

fn verification(report: &Report, submission: &Submission, settings: &Settings) -> Option<Finding> {
    let task = submission.task.as_ref();
    let expected = task.and_then(|task| task.verify.as_deref()).filter(|command| !command.trim().is_empty());
    let run_it = match expected {
        Some(command) => format!("run `{command}` and report how it ended"),
        None => "run the task's verify command and report how it ended".to_owned(),
    };
    let verification = report.verification.as_ref();
    let command = verification.and_then(|run| run.command.as_deref()).filter(|command| !is_nothing(command));
    let Some(command) = command else {
        let message = "the report says `success` and names no verify command that was run";
        return Some(Finding::error("no-verify-command", message).hint(run_it));
    };
    match verification.and_then(|run| run.exit_code) {
        None => {
            let message = format!("the report does not say how `{}` ended; expected `exit_code: 0`", one_line(command));
            return Some(Finding::error("no-exit-code", message).hint(run_it));
        }
        Some(0) => {}
        Some(code) => {
            let summary = verification.and_then(|run| run.output_summary.as_deref()).map(one_line).unwrap_or_default();
            let separator = if summary.is_empty() { "" } else { ": " };
            let message =
                format!("the report says `success`, and `{}` ended with {code}{separator}{summary}", one_line(command));
            return Some(
                Finding::error("verify-failed", message).hint("repair what the command finds, then run it again"),
            );
        }
    }
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match expected {
        Some(expected) if settings.same_command && words(expected) != words(command) => {
            let message =
                format!("the report verifies with `{}`; the task asks for `{}`", one_line(command), one_line(expected));
            Some(Finding::error("other-verify-command", message).hint(run_it))
        }
        _ if is_vacuous_script(command) => {
            let message = format!("`{}` succeeds whatever the work is, and so proves nothing", one_line(command));
            let hint = "verify with a command that fails when the work is wrong";
            // Whoever wrote the task chose it; the executor only did as it was told.
            let asked = expected.is_some_and(|expected| words(expected) == words(command));
            let finding: fn(&str, String) -> Finding = if asked { Finding::warning } else { Finding::error };
            Some(finding("vacuous-verify-command", message).hint(hint))
        }
        _ => None,
    }
}

fn told(what: &str, report: &Report) -> String {
    match report.error.as_deref().filter(|error| !is_nothing(error)) {
        Some(error) => format!("{what}: {}", one_line(error)),
        None => format!("{what} and no reason"),
    }
}

fn classed(class: Class, summary: &str, findings: Vec<Finding>) -> Verdict {
    Verdict::fail(summary, findings).class(class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;
    use gatehost_sdk::submission::{Claim, Task};

    const GOOD: &str = "status: success\nverification:\n  command: npm test\n  exit_code: 0\ndone_criteria_met: true\n";

    fn claim(text: &str, report: Option<&str>) -> Claim {
        Claim { text: text.to_owned(), report: report.map(str::to_owned) }
    }

    fn task(verify: Option<&str>) -> Task {
        Task { verify: verify.map(str::to_owned), ..Task::default() }
    }

    fn outcome(claim: Option<&Claim>, verify: Option<&str>, settings: &str) -> (Status, String, Vec<String>) {
        let settings: Settings = serde_json::from_str(settings).expect("settings");
        let submission = Submission { claim: claim.cloned(), task: Some(task(verify)), ..Submission::default() };
        let verdict = judge(&submission, &settings);
        assert_eq!(ExecutorReport::ABOUT.undeclared(&verdict), [""; 0]);
        let codes = verdict.findings.into_iter().map(|finding| finding.code).collect();
        (verdict.status, verdict.class.as_ref().map(Class::as_str).unwrap_or_default().to_owned(), codes)
    }

    #[test]
    fn a_report_of_success_passes_wherever_it_stands() {
        let json =
            r#"{"status":"success","verification":{"command":"npm test","exit_code":0},"done_criteria_met":true}"#;
        for claim in [
            claim("", Some(json)),
            claim("I did it.\nTASK_COMPLETE", Some(json)),
            claim(GOOD, None),
            claim(json, None),
            claim(&format!("---\n{GOOD}"), None),
            claim(&format!("Done.\n\n```yaml\n{GOOD}```\n\nTASK_COMPLETE"), None),
            claim(&format!("Done.\n```json\n{json}\n```"), None),
            claim(&format!("```\n{GOOD}error: null\nnote: extra\n```"), None),
            claim(&format!("```yaml\nname: ci\n```\n```yml\n{GOOD}error: none\n```"), None),
        ] {
            assert_eq!(outcome(Some(&claim), None, "{}"), (Status::Pass, String::new(), vec![]), "{claim:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_malformed() {
        for (text, code) in [
            ("", "no-report"),
            ("I did it. All tests pass.", "no-report"),
            ("status", "no-report"),
            ("```yaml\nname: ci\n```", "no-report"),
            ("status: done\n", "unknown-status"),
            ("status: SUCCESS\n", "unknown-status"),
            ("verification:\n  command: x\n  exit_code: 0\ndone_criteria_met: true\n", "missing-field"),
            ("status: success\nverification:\n  command: x\n  exit_code: zero\n", "malformed-report"),
            ("status: success\nstatus: failure\n", "malformed-report"),
            ("{\"status\": \"success\", \"status\": \"failure\"}", "malformed-report"),
            ("```yaml\nstatus: success\n  bad: [\n```", "malformed-report"),
            ("```yaml\nstatus: success\n```\n```yaml\nstatus: failure\n```", "two-reports"),
            ("```yaml\nstatus: success\n```\n```YAML\nstatus: failure\n```", "two-reports"),
            ("status: success\nverification: true\n", "malformed-report"),
        ] {
            let expected = (Status::Fail, "malformed".to_owned(), vec![code.to_owned()]);
            assert_eq!(outcome(Some(&claim(text, None)), None, "{}"), expected, "{text:?}");
        }
        let malformed = |code: &str| (Status::Fail, "malformed".to_owned(), vec![code.to_owned()]);
        assert_eq!(outcome(None, None, "{}"), malformed("no-claim"));
        assert_eq!(outcome(Some(&claim(GOOD, Some("[]"))), None, "{}"), malformed("malformed-report"));
        assert_eq!(outcome(Some(&claim(GOOD, Some("{"))), None, "{}"), malformed("malformed-report"));
    }

    #[test]
    fn a_success_that_is_not_borne_out_fails_with_its_class() {
        for (from, to, class, code) in [
            ("exit_code: 0", "exit_code: 1", "verify-failure", "verify-failed"),
            ("exit_code: 0", "exit_code: -1", "verify-failure", "verify-failed"),
            ("exit_code: 0", "exit_code: null", "verify-failure", "no-exit-code"),
            ("  exit_code: 0\n", "", "verify-failure", "no-exit-code"),
            ("npm test", "\"\"", "verify-failure", "no-verify-command"),
            ("npm test", "null", "verify-failure", "no-verify-command"),
            ("npm test", "none", "verify-failure", "no-verify-command"),
            ("verification:\n  command: npm test\n  exit_code: 0\n", "", "verify-failure", "no-verify-command"),
            ("met: true", "met: false", "execution-failure", "done-criteria-not-met"),
            ("done_criteria_met: true\n", "", "malformed", "missing-field"),
            ("status: success", "status: success\nerror: it broke", "malformed", "error-beside-success"),
            ("status: success", "status: failure\nerror: it broke", "execution-failure", "reported-failure"),
            ("status: success", "status: blocked\nerror: no uuid", "blocked", "reported-blocked"),
        ] {
            let text = GOOD.replace(from, to);
            let expected = (Status::Fail, class.to_owned(), vec![code.to_owned()]);
            assert_eq!(outcome(Some(&claim(&text, None)), None, "{}"), expected, "{text}");
        }
    }

    #[test]
    fn the_command_must_be_the_tasks() {
        let good = claim(GOOD, None);
        assert_eq!(outcome(Some(&good), Some("npm  test"), "{}").0, Status::Pass);
        let (status, class, codes) = outcome(Some(&good), Some("npm test -- PlannerId"), "{}");
        assert_eq!((status, &*class, &*codes[0]), (Status::Fail, "verify-failure", "other-verify-command"));
        assert_eq!(outcome(Some(&good), Some("npm run x"), r#"{"same_command": false}"#).0, Status::Pass);
    }

    #[test]
    fn a_gate_can_ask_for_more_fields() {
        let settings = r#"{"require": ["evidence", "files_modified"]}"#;
        assert_eq!(outcome(Some(&claim(GOOD, None)), None, settings).2, ["missing-field", "missing-field"]);
        let more = format!("{GOOD}evidence: |\n  5 tests passed\nfiles_modified: [a.rs]\n");
        assert_eq!(outcome(Some(&claim(&more, None)), None, settings).0, Status::Pass);
    }

    #[test]
    fn an_alias_bomb_is_malformed() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(10);
            text += &format!("a{level}: &a{level} [{before}]\n");
        }
        assert_eq!(outcome(Some(&claim(&format!("{text}{GOOD}"), None)), None, "{}").1, "malformed");
    }
}
