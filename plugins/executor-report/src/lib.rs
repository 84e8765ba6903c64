//! `executor-report`: the executor's structured report says success and proves it.
//!
//! The report is `claim.report`; without it, the only fenced `yaml` or `json` block of the claim that looks like a report
//! (a mapping with `status`, `verification` or `done_criteria_met`); without that, the whole text of the claim. Two reports
//! in one claim are an error, because it is unclear which of them counts.
//!
//! ```yaml
//! status: success            # success | failure | blocked
//! task_name: "Task 3: …"
//! files_modified: [src/a.rs]
//! verification:
//!   command: "cargo test"    # the task's verify command, if it has one
//!   exit_code: 0
//!   output_summary: "5 tests passed"
//! done_criteria_met: true
//! evidence: "…"
//! error: null
//! ```
//!
//! `files.rs` compares `files_modified` with the changed files. Everything else is the executor's word; use `command` to run
//! the command for real.

mod files;
mod find;
mod report;

use gatehost_sdk::text::one_line;
use gatehost_sdk::vacuous::is_vacuous_script;
use gatehost_sdk::{About, Class, Finding, Level, Rule, Severity, Submission, SubmissionVerifier, Verdict};
use report::{Report, Reported, is_nothing};

gatehost_sdk::settings! {
    struct Settings {
        /// Fields that a report of success must have besides `status`, `verification` and `done_criteria_met`.
        require: Vec<Field> = Vec::new() => { uniqueItems: true },
        /// Whether the reported command must be the task's verify command, if the task has one.
        same_command: bool = true,
        /// The level of the finding for a changed file that `files_modified` does not list. Files are compared only if there is a base
        /// commit.
        unreported_files: Severity = Severity::Error,
    }
}

gatehost_sdk::settings! {
    enum Field {
        TaskName = "task_name",
        FilesModified = "files_modified",
        OutputSummary = "output_summary",
        Evidence = "evidence",
    }
}

struct ExecutorReport;

impl SubmissionVerifier for ExecutorReport {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "executor-report",
        env!("CARGO_PKG_VERSION"),
        "The executor's structured report says `success`, and its verify command exited with code 0.",
    )
    .settings::<Settings>()
    .rules(RULES);

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission, &settings)
    }
}

gatehost_sdk::export_submission_verifier!(ExecutorReport);

const RULES: &[Rule] = &[
    Rule::error("no-claim", "There is no claim, so there is no report."),
    Rule::error("no-report", "The claim has no structured report.").help(
        "Report `status`, `verification` and `done_criteria_met` in one fenced `yaml` block, or in `claim.report`.",
    ),
    Rule::error("two-reports", "The claim has several reports.").help("Report exactly once."),
    Rule::error("malformed-report", "The report cannot be read.").help("Write it as a mapping, in YAML or JSON."),
    Rule::error("unknown-status", "The status is not `success`, `failure` or `blocked`."),
    Rule::error("missing-field", "The report lacks a required field."),
    Rule::error("error-beside-success", "The report says `success` but contains an error."),
    Rule::error("no-verify-command", "The report says `success` but names no verify command.")
        .help("Run the task's verify command, and report its exit code."),
    Rule::error("no-exit-code", "The report does not give the exit code of the verify command."),
    Rule::error("verify-failed", "The report says `success`, but the verify command exited with a code other than 0.")
        .help("Fix what the command reports, then run it again."),
    Rule::error("other-verify-command", "The report names another verify command than the task."),
    Rule::error("vacuous-verify-command", "The reported command succeeds whatever the work is, so it proves nothing.")
        .help("Verify with a command that fails when the work is wrong."),
    Rule::error("done-criteria-not-met", "The report says that the done criteria are not met."),
    Rule::error("reported-failure", "The executor reports that it failed."),
    Rule::error("reported-blocked", "The executor reports that it is blocked.")
        .help("Resolve what blocks the task. A retry would change nothing."),
    Rule::error("file-not-changed", "The report lists a file that did not change.")
        .help("List exactly the files that changed."),
    Rule::error("file-not-reported", "The report does not list a file that changed.")
        .help("List it in `files_modified`, or revert the change."),
];

const HINT: &str = "report `status`, `verification` with `command` and `exit_code`, and `done_criteria_met`, in one fenced \
                    `yaml` block or in `claim.report`";

fn judge(submission: &Submission, settings: &Settings) -> Verdict {
    match find::report(submission.claim.as_ref()) {
        Err(why) => {
            let finding = Finding::error(why.code, why.message).hint(HINT);
            classed(Class::Malformed, "no readable report", vec![finding])
        }
        Ok(report) => match report.status {
            Reported::Success => success(&report, submission, settings),
            Reported::Failure => {
                let finding = Finding::error("reported-failure", told("the executor reports `failure`", &report));
                classed(Class::ExecutionFailure, "the executor reports failure", vec![finding])
            }
            Reported::Blocked => {
                let finding = Finding::error("reported-blocked", told("the executor reports `blocked`", &report))
                    .hint("resolve what blocks the task; a retry would change nothing");
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
            let message = format!("the report has no `{name}`, which the setting `require` lists");
            found.push((Class::Malformed, Finding::error("missing-field", message)));
        }
    }
    if let Some(error) = report.error.as_deref().filter(|error| !is_nothing(error)) {
        let message = format!("the report says `success` but contains an error: {}", one_line(error));
        found.push((Class::Malformed, Finding::error("error-beside-success", message)));
    }
    found.extend(verification(report, submission, settings).map(|finding| (Class::VerifyFailure, finding)));
    if report.done_criteria_met == Some(false) {
        let message = "the report says `success`, but also that the done criteria are not met";
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
            classed(class, "the report says `success` without proof", findings)
        }
    }
}

fn verification(report: &Report, submission: &Submission, settings: &Settings) -> Option<Finding> {
    let task = submission.task.as_ref();
    let expected = task.and_then(|task| task.verify.as_deref()).filter(|command| !command.trim().is_empty());
    let run_it = match expected {
        Some(command) => format!("run `{command}` and report its exit code"),
        None => "run the task's verify command and report its exit code".to_owned(),
    };
    let verification = report.verification.as_ref();
    let command = verification.and_then(|run| run.command.as_deref()).filter(|command| !is_nothing(command));
    let Some(command) = command else {
        let message = "the report says `success` but names no verify command";
        return Some(Finding::error("no-verify-command", message).hint(run_it));
    };
    match verification.and_then(|run| run.exit_code) {
        None => {
            let message =
                format!("the report does not give the exit code of `{}`; expected `exit_code: 0`", one_line(command));
            return Some(Finding::error("no-exit-code", message).hint(run_it));
        }
        Some(0) => {}
        Some(code) => {
            let summary = verification.and_then(|run| run.output_summary.as_deref()).map(one_line).unwrap_or_default();
            let separator = if summary.is_empty() { "" } else { ": " };
            let message = format!(
                "the report says `success`, but `{}` exited with code {code}{separator}{summary}",
                one_line(command)
            );
            return Some(
                Finding::error("verify-failed", message).hint("fix what the command reports, then run it again"),
            );
        }
    }
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match expected {
        Some(expected) if settings.same_command && words(expected) != words(command) => {
            let message = format!(
                "the report's verify command is `{}`; expected the task's, `{}`",
                one_line(command),
                one_line(expected)
            );
            Some(Finding::error("other-verify-command", message).hint(run_it))
        }
        _ if is_vacuous_script(command) => {
            let message = format!("`{}` succeeds whatever the work is, so it proves nothing", one_line(command));
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
        None => format!("{what} without a reason"),
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
