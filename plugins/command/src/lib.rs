//! `command`: a configured command exits with code 0.
//!
//! Only the exit code counts, not the output. The host shows what a failed command printed; this verifier adds the places in
//! the workspace that the output mentions.

use gatehost_sdk::commands::Output;
use gatehost_sdk::text::one_line;
use gatehost_sdk::vacuous::{is_vacuous, runs};
use gatehost_sdk::{About, Finding, Rule, Submission, SubmissionVerifier, Verdict, command};
use serde::Deserialize;

mod places;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "command": {
      "description": "The command to run. Required if several are granted.",
      "type": "string",
      "minLength": 1
    }
  },
  "additionalProperties": false
}"#;

/// How many places are told.
const MOST_PLACES: usize = 20;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    command: Option<String>,
}

struct Command;

impl SubmissionVerifier for Command {
    type Settings = Settings;
    const ABOUT: About = About::new("command", env!("CARGO_PKG_VERSION"), "A configured command exits with code 0.")
        .settings_schema(SETTINGS_SCHEMA)
        .rules(
            const {
                &[
                    Rule::error("exit-nonzero", "The command exited with a code other than 0.")
                        .help("Fix what the command reports, then run it again."),
                    Rule::error("signalled", "The command was killed by a signal."),
                    Rule::error("timed-out", "The command timed out.")
                        .help("Make the command faster, or raise its `timeout`."),
                    Rule::warning(
                        "vacuous-command",
                        "The command succeeds whatever the work is, so it proves nothing.",
                    )
                    .help("Run a command that fails when the work is wrong."),
                    Rule::note("other-than-verify", "The task names a different verify command."),
                    Rule::error("would-change", "The command is a fixer and would change this file.")
                        .help("Run `gate fix`, or the command itself."),
                    Rule::note("named", "A place that the failed command printed."),
                ]
            },
        );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        let verify = submission.task.as_ref().and_then(|task| task.verify.as_deref());
        command::judge(settings.command.as_deref(), |output| judge(output, verify))
    }
}

gatehost_sdk::export_submission_verifier!(Command);
gatehost_sdk::use_arena!();

/// `verify` is the command that the task names.
fn judge(output: &Output, verify: Option<&str>) -> Verdict {
    let Some(ending) = command::failure(output) else {
        return Verdict { findings: doubts(output, verify).collect(), ..Verdict::pass() };
    };
    let summary = ending.message.clone();
    let mut named = places::named(&command::text(&output.stderr), MOST_PLACES);
    named.extend(places::named(&command::text(&output.stdout), MOST_PLACES - named.len()));
    let mut findings = vec![ending];
    findings.extend(named.into_iter().map(|(place, said)| Finding::note("named", said).at(place)));
    Verdict { class: Some(command::class(output)), ..Verdict::fail(summary, findings) }
}

/// Why a success may prove less than it seems to.
fn doubts(output: &Output, verify: Option<&str>) -> impl Iterator<Item = Finding> {
    let vacuous = is_vacuous(&output.argv).then(|| {
        let line = command::line(output);
        Finding::warning("vacuous-command", format!("`{line}` succeeds whatever the work is, so it proves nothing"))
            .hint("run a command that fails when the work is wrong")
    });
    let verify = verify.filter(|verify| !verify.trim().is_empty() && !runs(&output.argv, verify));
    let other = verify.map(|verify| {
        let (verify, line) = (one_line(verify), command::line(output));
        Finding::note(
            "other-than-verify",
            format!("the task's verify command is `{verify}`, but this check runs `{line}`"),
        )
    });
    vacuous.into_iter().chain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::commands::{Captured, Ending};
    use gatehost_sdk::{Class, Status};

    fn ended(ending: Ending, stdout: &str, stderr: &str) -> Output {
        let captured = |text: &str| Captured {
            head: text.into(),
            tail: Vec::new(),
            length: text.len() as u64,
            sha256: String::new(),
        };
        Output {
            argv: vec!["npm".to_owned(), "test".to_owned()],
            ending,
            stdout: captured(stdout),
            stderr: captured(stderr),
            rewrites: Vec::new(),
            replayed: false,
        }
    }

    #[test]
    fn only_the_end_counts() {
        for (ending, printed, status, class) in [
            (Ending::Exited(0), "1 failed", Status::Pass, None),
            (Ending::Exited(1), "100 passed", Status::Fail, Some("verify-failure")),
            (Ending::Signalled(9), "", Status::Fail, Some("verify-failure")),
            (Ending::TimedOut, "100 passed", Status::Fail, Some("timeout")),
        ] {
            let verdict = judge(&ended(ending, printed, ""), None);
            assert_eq!(Command::ABOUT.undeclared(&verdict), [""; 0]);
            assert_eq!((verdict.status, verdict.class.as_ref().map(Class::as_str)), (status, class), "{ending:?}");
        }
    }

    #[test]
    fn a_failure_says_where() {
        let verdict = judge(&ended(Ending::Exited(2), "src/a.ts:3:7: error: no such name\n", "broken\n"), None);
        assert_eq!(Command::ABOUT.undeclared(&verdict), [""; 0]);
        let messages: Vec<&str> = verdict.findings.iter().map(|finding| &*finding.message).collect();
        assert_eq!(messages, ["`npm test` exited with code 2", "error: no such name"]);
        assert_eq!(verdict.findings[1].place.as_ref().and_then(|place| place.line), Some(3));
    }

    #[test]
    fn a_success_that_proves_nothing_says_so() {
        for (argv, verify, codes) in [
            (&["npm", "test"][..], None, &[][..]),
            (&["npm", "test"], Some("npm test"), &[]),
            (&["npm", "test"], Some("  "), &[]),
            (&["npm", "test"], Some("npm run lint"), &["other-than-verify"]),
            (&["true"], None, &["vacuous-command"]),
            (&["sh", "-c", "npm test || true"], None, &["vacuous-command"]),
            (&["echo", "done"], Some("npm test"), &["vacuous-command", "other-than-verify"]),
        ] {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            let verdict = judge(&Output { argv, ..ended(Ending::Exited(0), "", "") }, verify);
            assert_eq!(Command::ABOUT.undeclared(&verdict), [""; 0]);
            let found: Vec<&str> = verdict.findings.iter().map(|finding| &*finding.code).collect();
            assert_eq!((verdict.status, found.as_slice()), (Status::Pass, codes));
        }
    }
}
