//! `patterns`: regular expressions that must or must not match in the claim, the added lines, or tool output.
//!
//! The engine is linear in the text, and patterns are bounded in length and compiled size. An invalid pattern makes the verifier
//! abstain before it checks anything. It also abstains if a text is unknown: a changed file without its lines, or a tool call
//! without its output. `file-patterns` checks whole files.

mod text;

use gatehost_sdk::{About, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = rules::settings_schema! {
    each: "",
    one: "",
    files: "For `added-lines`: patterns of the files to search. Empty: all.",
    required: r#", "in""#,
    own: r#",
          "in": {
            "description": "The text to search.",
            "enum": ["claim", "added-lines", "tool-output"]
          },
          "tools": {
            "description": "For `tool-output`: names of the tools to search. Empty: all.",
            "type": "array",
            "items": { "type": "string", "minLength": 1 },
            "default": []
          }"#,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    r#in: Subject,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(flatten)]
    rule: rules::Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Subject {
    Claim,
    AddedLines,
    ToolOutput,
}

struct Patterns;

impl SubmissionVerifier for Patterns {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "patterns",
        env!("CARGO_PKG_VERSION"),
        "The claim, the added lines and the tool output match every required pattern and no forbidden one.",
    )
    .settings_schema(SETTINGS_SCHEMA)
    .rules(
        const {
            &[
                gatehost_sdk::Rule::error(
                    "*",
                    "A rule in the settings is violated. The code of the finding is the rule's `id`.",
                ),
                gatehost_sdk::Rule::error("no-claim", "A rule searches the claim, but the submission has none.")
                    .help("Pass the executor's final message as the claim."),
            ]
        },
    );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission, &settings.rules)
    }
}

gatehost_sdk::export_submission_verifier!(Patterns);

fn judge(submission: &Submission, rules: &[Rule]) -> Verdict {
    let mut judged = Vec::new();
    for Rule { r#in, tools, rule } in rules {
        match rule.compile().and_then(|compiled| text::fits(*r#in, tools, rule).map(|()| compiled)) {
            Ok(compiled) => judged.push((*r#in, tools, rule, compiled)),
            Err(why) => return Verdict::abstain(format!("rule `{}`: {why}", rule.id)),
        }
    }
    rules::verdict(judged.iter().map(|(r#in, tools, rule, compiled)| {
        let texts = match r#in {
            Subject::Claim => text::claim(submission),
            Subject::AddedLines => text::added_lines(&submission.changes, compiled),
            Subject::ToolOutput => text::tool_output(submission, tools),
        };
        (rule.id.as_str(), compiled.broken_by(&texts))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;
    use gatehost_sdk::submission::{Change, ChangeKind, ChangeState, Claim, DiffLine, Hunk, LineKind, ToolCall};

    fn submission(claim: Option<&str>) -> Submission {
        let line = |kind, text: &str| DiffLine { kind, text: text.to_owned() };
        let lines = vec![
            line(LineKind::Context, "context TODO"),
            line(LineKind::Removed, "removed TODO"),
            line(LineKind::Added, "let x = 1; // TODO"),
            line(LineKind::Added, "let y = 2;"),
        ];
        let change = |path: &str, hunks| Change {
            path: path.to_owned(),
            kind: ChangeKind::Modified,
            state: ChangeState::Unstaged,
            size: Some(1),
            hunks,
            ..Change::default()
        };
        let call = |tool: &str, output: Option<&str>| ToolCall {
            tool: tool.to_owned(),
            success: true,
            error: None,
            input: None,
            output: output.map(str::to_owned),
            files_changed: Vec::new(),
        };
        Submission {
            claim: claim.map(|text| Claim { text: text.to_owned(), report: None }),
            tool_calls: vec![call("bash", Some("5 passed\n0 failed")), call("edit", None)],
            changes: vec![
                change("a.rs", Some(vec![Hunk { old_start: 10, new_start: 10, lines }])),
                change("logo.png", None),
            ],
            ..Submission::default()
        }
    }

    fn outcome(submission: &Submission, rule: &str) -> (Status, Vec<String>) {
        let settings = format!(r#"{{"rules": [{{"id": "r", {rule}}}]}}"#);
        let settings: Settings = serde_json::from_str(&settings).expect(rule);
        let verdict = judge(submission, &settings.rules);
        assert_eq!(Patterns::ABOUT.undeclared(&verdict), [""; 0]);
        let shown = verdict.findings.into_iter().map(|finding| {
            let place = finding.place.map(|place| format!(" {}:{:?}", place.path, place.line.unwrap_or_default()));
            finding.code + &place.unwrap_or_default()
        });
        (verdict.status, shown.collect())
    }

    #[test]
    fn rules_are_judged_by_what_they_find() {
        use Status::{Abstain, Fail, Pass};
        let all = submission(Some("Ran the tests.\nAll pass, all green.\n"));
        for (rule, status, found) in [
            (r#""pattern": "^all pass", "in": "claim", "kind": "require", "ignore_case": true"#, Pass, &[][..]),
            (r#""pattern": "^all pass", "in": "claim", "kind": "require""#, Fail, &["r"]),
            (r#""pattern": "(?i)all", "in": "claim", "kind": "require", "min": 2"#, Pass, &[]),
            (r#""pattern": "(?i)all", "in": "claim", "kind": "require", "min": 3"#, Fail, &["r"]),
            (r#""pattern": "(?i)all", "in": "claim", "kind": "require", "max": 1"#, Fail, &["r"]),
            (r#""pattern": "(?i)all", "in": "claim", "kind": "forbid", "max": 2"#, Pass, &[]),
            (r#""pattern": "green", "in": "claim", "kind": "forbid""#, Fail, &["r"]),
            (r#""pattern": "green", "in": "claim", "kind": "forbid", "level": "warning""#, Pass, &["r"]),
            (r#""pattern": "TODO", "in": "added-lines", "kind": "forbid""#, Fail, &["r a.rs:11"]),
            (r#""pattern": "FIXME", "in": "added-lines", "kind": "forbid""#, Abstain, &[]),
            (r#""pattern": "FIXME", "in": "added-lines", "kind": "forbid", "files": ["**/*.rs"]"#, Pass, &[]),
            (r#""pattern": "TODO", "in": "added-lines", "kind": "forbid", "files": ["*.md"]"#, Pass, &[]),
            (r#""pattern": "let", "in": "added-lines", "kind": "require", "min": 2"#, Pass, &[]),
            (r#""pattern": "let", "in": "added-lines", "kind": "require", "min": 3"#, Abstain, &[]),
            (r#""pattern": "let", "in": "added-lines", "kind": "require", "min": 3, "files": ["*.rs"]"#, Fail, &["r"]),
            (r#""pattern": "\\b0 failed", "in": "tool-output", "kind": "require""#, Pass, &[]),
            (r#""pattern": "panicked", "in": "tool-output", "kind": "forbid""#, Abstain, &[]),
            (r#""pattern": "panicked", "in": "tool-output", "kind": "forbid", "tools": ["bash"]"#, Pass, &[]),
            (r#""pattern": "passed", "in": "tool-output", "kind": "forbid""#, Fail, &["r"]),
            (r#""pattern": "x", "in": "tool-output", "kind": "require", "tools": ["none"]"#, Fail, &["r"]),
            (r#""pattern": "x", "in": "tool-output", "kind": "forbid", "tools": ["none"]"#, Pass, &[]),
        ] {
            let found: Vec<String> = found.iter().map(|&found| found.to_owned()).collect();
            assert_eq!(outcome(&all, rule), (status, found), "{rule}");
        }
    }

    #[test]
    fn what_is_not_there_never_passes() {
        let mut nothing = submission(None);
        nothing.changes.clear();
        nothing.tool_calls.clear();
        for kind in ["require", "forbid"] {
            let rule = |place: &str| format!(r#""pattern": "x", "in": "{place}", "kind": "{kind}""#);
            for claimed in [&nothing, &submission(Some("")), &submission(Some(" \n\t"))] {
                assert_eq!(outcome(claimed, &rule("claim")), (Status::Fail, vec!["no-claim".to_owned()]));
            }
            assert_eq!(outcome(&nothing, &rule("added-lines")).0, Status::Abstain);
            assert_eq!(outcome(&nothing, &rule("tool-output")).0, Status::Abstain);
        }
    }

    #[test]
    fn a_rule_that_cannot_be_used_never_passes() {
        let long = "a".repeat(1_001);
        for pattern in ["(", "a(?=b)", "(a{1000}){1000}", "\\\\p{Nope}", &long] {
            let rule = format!(r#""pattern": "{pattern}", "in": "claim", "kind": "forbid""#);
            assert_eq!(outcome(&submission(Some("b")), &rule).0, Status::Abstain, "{pattern}");
        }
        for rest in [
            r#""pattern": "x", "in": "claim", "kind": "forbid", "min": 1"#,
            r#""pattern": "x", "in": "claim", "kind": "require", "min": 3, "max": 2"#,
            r#""pattern": "x", "in": "added-lines", "kind": "forbid", "files": ["["]"#,
            r#""pattern": "x", "in": "claim", "kind": "forbid", "files": ["a"]"#,
            r#""pattern": "x", "in": "claim", "kind": "forbid", "tools": ["a"]"#,
        ] {
            assert_eq!(outcome(&submission(Some("b")), rest).0, Status::Abstain, "{rest}");
        }
    }

    #[test]
    fn a_line_ends_whichever_way_it_ends() {
        for text in ["a\nDONE\nb", "a\r\nDONE\r\nb", "DONE\r", "a\rDONE"] {
            let rule = |kind: &str| format!(r#""pattern": "^DONE$", "in": "claim", "kind": "{kind}""#);
            assert_eq!(outcome(&submission(Some(text)), &rule("require")).0, Status::Pass, "{text:?}");
            assert_eq!(outcome(&submission(Some(text)), &rule("forbid")).0, Status::Fail, "{text:?}");
        }
    }

    #[test]
    fn backtracking_is_not_needed() {
        let claim = "a".repeat(100_000) + "!";
        let rule = r#""pattern": "(a+)+$", "in": "claim", "kind": "forbid""#;
        assert_eq!(outcome(&submission(Some(&claim)), rule).0, Status::Pass);
    }
}
