//! `tool-calls`: every tool that the executor called succeeded.
//!
//! If no call is known, the verifier abstains, because it cannot tell whether the executor called no tool or nobody recorded the
//! calls.

use gatehost_sdk::submission::ToolCall;
use gatehost_sdk::text::one_line;
use gatehost_sdk::{About, Class, Finding, Rule, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "tools": {
      "description": "The names of the tools whose calls must succeed. Empty: all tools.",
      "type": "array",
      "items": { "type": "string", "minLength": 1 },
      "default": []
    },
    "ignore": {
      "description": "The names of tools whose calls may fail.",
      "type": "array",
      "items": { "type": "string", "minLength": 1 },
      "default": []
    },
    "required": {
      "description": "The names of tools that must each have at least one successful call.",
      "type": "array",
      "items": { "type": "string", "minLength": 1 },
      "default": []
    },
    "repaired": {
      "description": "The level of a failed call if a later call of the same tool with the same input succeeded.",
      "enum": ["error", "warning", "note"],
      "default": "error"
    }
  },
  "additionalProperties": false
}"#;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    tools: Vec<String>,
    ignore: Vec<String>,
    required: Vec<String>,
    repaired: Repaired,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Repaired {
    #[default]
    Error,
    Warning,
    Note,
}

struct ToolCalls;

impl SubmissionVerifier for ToolCalls {
    type Settings = Settings;
    const ABOUT: About =
        About::new("tool-calls", env!("CARGO_PKG_VERSION"), "Every tool that the executor called succeeded.")
            .settings_schema(SETTINGS_SCHEMA)
            .rules(
                const {
                    &[
                        Rule::error("failed-call", "A tool call failed.")
                            .help("Fix what the tool reports, and call it again."),
                        Rule::warning("repaired-call", "A tool call failed, and the same call succeeded later."),
                        Rule::error("missing-call", "No call of a required tool succeeded."),
                    ]
                },
            );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(&submission.tool_calls, &settings)
    }
}

gatehost_sdk::export_submission_verifier!(ToolCalls);

fn judge(calls: &[ToolCall], settings: &Settings) -> Verdict {
    if calls.is_empty() {
        return Verdict::abstain("the submission has no tool calls");
    }
    let named = |names: &[String], call: &ToolCall| names.contains(&call.tool);
    let judged: Vec<(usize, &ToolCall)> = (1..)
        .zip(calls)
        .filter(|(_, call)| {
            (settings.tools.is_empty() || named(&settings.tools, call)) && !named(&settings.ignore, call)
        })
        .collect();
    if judged.is_empty() && settings.required.is_empty() {
        return Verdict::abstain("the submission has no call of a tool that this check covers");
    }
    let mut failed = 0;
    let mut findings = Vec::new();
    for &(number, call) in judged.iter().filter(|(_, call)| !call.success) {
        let why = match call.error.as_deref().map(str::trim) {
            Some(error) if !error.is_empty() => format!(": {}", one_line(error)),
            _ => " without a reason".to_owned(),
        };
        let message = format!("call {number} of {}, `{}`, failed{why}", calls.len(), call.tool);
        let later = calls
            .iter()
            .skip(number)
            .any(|later| later.success && later.tool == call.tool && call.input.is_some() && later.input == call.input);
        findings.push(match settings.repaired {
            Repaired::Warning if later => Finding::warning("repaired-call", message),
            Repaired::Note if later => Finding::note("repaired-call", message),
            _ => {
                failed += 1;
                Finding::error("failed-call", message).hint("fix what the tool reports, and call it again")
            }
        });
    }
    for name in &settings.required {
        if !calls.iter().any(|call| call.success && call.tool == *name) {
            failed += 1;
            findings
                .push(Finding::error("missing-call", format!("no call of `{name}` succeeded; expected at least one")));
        }
    }
    if failed == 0 {
        return Verdict { findings, ..Verdict::pass() };
    }
    Verdict::fail("not every tool call succeeded", findings).class(Class::ExecutionFailure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    /// `tool:input` for a success, `tool:input!` for a failure.
    fn calls(shown: &str) -> Vec<ToolCall> {
        let calls = shown.split_whitespace().map(|shown| {
            let success = !shown.ends_with('!');
            let (tool, input) = shown.trim_end_matches('!').split_once(':').expect("tool:input");
            ToolCall {
                tool: tool.to_owned(),
                success,
                error: (!success).then(|| "exit code 1".to_owned()),
                input: Some(input.to_owned()),
                output: None,
                files_changed: Vec::new(),
            }
        });
        calls.collect()
    }

    #[test]
    fn calls_are_judged_by_their_success() {
        use Status::{Abstain, Fail, Pass};
        for (shown, settings, status, codes) in [
            ("", "{}", Abstain, &[][..]),
            ("edit:1 bash:2", "{}", Pass, &[]),
            ("edit:1 bash:2!", "{}", Fail, &["failed-call"]),
            ("bash:1! bash:1", "{}", Fail, &["failed-call"]),
            ("bash:1! bash:1", r#"{"repaired": "warning"}"#, Pass, &["repaired-call"]),
            ("bash:1 bash:1!", r#"{"repaired": "note"}"#, Fail, &["failed-call"]),
            ("bash:1! bash:2", r#"{"repaired": "note"}"#, Fail, &["failed-call"]),
            ("grep:1! bash:2", r#"{"ignore": ["grep"]}"#, Pass, &[]),
            ("grep:1! bash:2", r#"{"tools": ["bash"]}"#, Pass, &[]),
            ("grep:1!", r#"{"tools": ["bash"]}"#, Abstain, &[]),
            ("grep:1!", r#"{"ignore": ["grep"]}"#, Abstain, &[]),
            ("edit:1", r#"{"required": ["bash"]}"#, Fail, &["missing-call"]),
            ("edit:1 bash:1!", r#"{"required": ["bash"], "ignore": ["bash"]}"#, Fail, &["missing-call"]),
            ("edit:1 bash:1", r#"{"required": ["bash"]}"#, Pass, &[]),
        ] {
            let settings: Settings = serde_json::from_str(settings).expect("settings");
            let verdict = judge(&calls(shown), &settings);
            assert_eq!(ToolCalls::ABOUT.undeclared(&verdict), [""; 0]);
            let found: Vec<&str> = verdict.findings.iter().map(|finding| finding.code.as_str()).collect();
            assert_eq!((verdict.status, &*found), (status, codes), "{shown}");
            assert_eq!(verdict.class.is_some(), status == Fail, "{shown}");
        }
    }

    #[test]
    fn a_failure_says_which_call_and_why() {
        let verdict = judge(&calls("edit:1 bash:2!"), &Settings::default());
        assert_eq!(verdict.findings[0].message, "call 2 of 2, `bash`, failed: exit code 1");
    }
}
