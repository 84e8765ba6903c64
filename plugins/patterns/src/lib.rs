//! `patterns`: regular expressions that must, or must not, be found in the claim, the added lines, or tool output.
//!
//! The engine is linear in the text, and a pattern is bounded in length and in compiled size. A pattern that cannot be
//! used makes the verifier abstain before it judges anything. So does a text that is not known: a changed file whose
//! lines were not handed over, a tool call without its output. Whole files are not searched, because that would make
//! everybody who uses this verifier grant it the workspace.

mod text;

use gatehost_sdk::{About, Finding, Level, Submission, SubmissionVerifier, Verdict};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use text::{Subject, Texts};

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "rules": {
      "description": "The rules, each judged by itself.",
      "type": "array",
      "minItems": 1,
      "maxItems": 200,
      "items": {
        "type": "object",
        "properties": {
          "id": {
            "description": "The rule's name, which is the code of its findings: lower-case words joined by `-`.",
            "type": "string",
            "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
            "maxLength": 100
          },
          "pattern": {
            "description": "A regular expression (Rust's `regex`, without look-around). `^` and `$` are those of a line.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "in": {
            "description": "Where to look.",
            "enum": ["claim", "added-lines", "tool-output"]
          },
          "kind": {
            "description": "Whether the pattern must be found or must not.",
            "enum": ["require", "forbid"]
          },
          "message": {
            "description": "What to say when the rule is broken. Default: a sentence with the pattern.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "hint": {
            "description": "What to do about it.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1000
          },
          "level": {
            "description": "How much a broken rule weighs.",
            "enum": ["error", "warning", "note"],
            "default": "error"
          },
          "min": {
            "description": "For `require`: how often it must be found.",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000000,
            "default": 1
          },
          "max": {
            "description": "How often it may be found. For `forbid` 0, for `require` without bound, unless said.",
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000
          },
          "ignore_case": {
            "description": "Whether upper and lower case are the same.",
            "type": "boolean",
            "default": false
          },
          "files": {
            "description": "For `added-lines`: patterns of the files to look at. Empty: all.",
            "type": "array",
            "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
            "default": []
          },
          "tools": {
            "description": "For `tool-output`: names of the tools to look at. Empty: all.",
            "type": "array",
            "items": { "type": "string", "minLength": 1 },
            "default": []
          }
        },
        "required": ["id", "pattern", "in", "kind"],
        "additionalProperties": false
      }
    }
  },
  "required": ["rules"],
  "additionalProperties": false
}"#;

const PATTERN_LENGTH: usize = 1_000;
/// What a compiled pattern may take, so that none exhausts the sandbox.
const PATTERN_SIZE: usize = 1 << 20;
/// How many places of one rule are reported.
const MOST_PLACES: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    pattern: String,
    r#in: Where,
    kind: Kind,
    message: Option<String>,
    hint: Option<String>,
    #[serde(default)]
    level: Weight,
    min: Option<usize>,
    max: Option<usize>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Where {
    Claim,
    AddedLines,
    ToolOutput,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Require,
    Forbid,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    #[default]
    Error,
    Warning,
    Note,
}

struct Patterns;

impl SubmissionVerifier for Patterns {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "patterns",
        env!("CARGO_PKG_VERSION"),
        "The claim, the added lines or the tool output match what they must, and nothing that they must not.",
    )
    .settings_schema(SETTINGS_SCHEMA);

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(submission, &settings.rules)
    }
}

gatehost_sdk::export_submission_verifier!(Patterns);

fn judge(submission: &Submission, rules: &[Rule]) -> Verdict {
    let mut judged = Vec::new();
    for rule in rules {
        match compile(rule).and_then(|pattern| Ok((pattern, Subject::of(rule)?))) {
            Ok((pattern, subject)) => judged.push((rule, pattern, subject)),
            Err(why) => return Verdict::abstain(format!("rule `{}`: {why}", rule.id)),
        }
    }
    let mut findings = Vec::new();
    let mut unknown = None;
    for (rule, pattern, subject) in &judged {
        let texts = subject.texts(submission);
        match broken(rule, pattern, &texts) {
            Some(Broken::Found(found)) => findings.extend(found),
            Some(Broken::Unknown(why)) => {
                unknown = unknown.or_else(|| Some(format!("rule `{}`: {why}", rule.id)));
            }
            None => {}
        }
    }
    if findings.iter().any(|finding: &Finding| finding.level == Level::Error) {
        Verdict::fail("a pattern rule is broken", findings)
    } else if let Some(why) = unknown {
        Verdict { findings, ..Verdict::abstain(why) }
    } else {
        Verdict { findings, ..Verdict::pass() }
    }
}

fn compile(rule: &Rule) -> Result<Regex, String> {
    if rule.pattern.chars().count() > PATTERN_LENGTH {
        return Err(format!("the pattern is longer than {PATTERN_LENGTH} characters"));
    }
    if rule.min.is_some() && rule.kind == Kind::Forbid {
        return Err("`min` is for rules of the kind `require`".to_owned());
    }
    if rule.max.is_some_and(|max| rule.kind == Kind::Require && max < rule.min.unwrap_or(1)) {
        return Err("`max` is less than `min`".to_owned());
    }
    RegexBuilder::new(&rule.pattern)
        .multi_line(true)
        .case_insensitive(rule.ignore_case)
        .size_limit(PATTERN_SIZE)
        .dfa_size_limit(PATTERN_SIZE)
        .build()
        // regex explains over several lines, and the last says what is wrong.
        .map_err(|why| why.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

enum Broken {
    Found(Vec<Finding>),
    /// Why the rule cannot be judged.
    Unknown(String),
}

fn broken(rule: &Rule, pattern: &Regex, texts: &Texts<'_>) -> Option<Broken> {
    if let Some(finding) = &texts.missing {
        return Some(Broken::Found(vec![finding.clone()]));
    }
    let (min, max) = match rule.kind {
        Kind::Require => (rule.min.unwrap_or(1), rule.max.unwrap_or(usize::MAX)),
        Kind::Forbid => (0, rule.max.unwrap_or(0)),
    };
    let mut count = 0;
    let mut places = Vec::new();
    for text in &texts.known {
        for found in pattern.find_iter(text.text) {
            count += 1;
            if count > max && places.len() < MOST_PLACES {
                places.push((text, found.start()));
            }
        }
    }
    let subject = texts.name;
    let finding = |message: String| {
        let mut finding = Finding::error(&rule.id, rule.message.clone().unwrap_or(message));
        finding.level = match rule.level {
            Weight::Error => Level::Error,
            Weight::Warning => Level::Warning,
            Weight::Note => Level::Note,
        };
        finding.hint.clone_from(&rule.hint);
        finding
    };
    let shown = &rule.pattern;
    if count > max {
        let message = match max {
            0 => format!("`{shown}` is found in {subject}, and must not be"),
            _ => format!("`{shown}` is found {count} times in {subject}, and may be at most {max} times"),
        };
        // More is never fewer: what is not known cannot repair this.
        let found = places.into_iter().map(|(text, at)| text.place(at, finding(message.clone())));
        return Some(Broken::Found(found.collect()));
    }
    if let Some(why) = &texts.unknown
        && (count < min || max < usize::MAX)
    {
        return Some(Broken::Unknown(why.clone()));
    }
    (count < min).then(|| {
        let message = match min {
            1 => format!("`{shown}` is not found in {subject}, and must be"),
            _ => format!("`{shown}` is found {count} times in {subject}, and must be at least {min} times"),
        };
        Broken::Found(vec![finding(message)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;
    use gatehost_sdk::submission::{
        Change, ChangeKind, ChangeState, Claim, DiffLine, Executor, Hunk, LineKind, ToolCall,
    };

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
            old_path: None,
            size: Some(1),
            hunks,
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
            task: None,
            claim: claim.map(|text| Claim { text: text.to_owned(), report: None }),
            tool_calls: vec![call("bash", Some("5 passed\n0 failed")), call("edit", None)],
            changes: vec![
                change("a.rs", Some(vec![Hunk { old_start: 10, new_start: 10, lines }])),
                change("logo.png", None),
            ],
            attempt: 1,
            executor: Executor { name: None, model: None, family: None, session: None },
            prior_findings: Vec::new(),
            evidence: Vec::new(),
            evaluator: None,
            base: None,
        }
    }

    fn outcome(submission: &Submission, rule: &str) -> (Status, Vec<String>) {
        let settings = format!(r#"{{"rules": [{{"id": "r", {rule}}}]}}"#);
        let settings: Settings = serde_json::from_str(&settings).expect(rule);
        let verdict = judge(submission, &settings.rules);
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
            assert_eq!(outcome(&nothing, &rule("claim")), (Status::Fail, vec!["no-claim".to_owned()]));
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
    fn backtracking_is_not_needed() {
        let claim = "a".repeat(100_000) + "!";
        let rule = r#""pattern": "(a+)+$", "in": "claim", "kind": "forbid""#;
        assert_eq!(outcome(&submission(Some(&claim)), rule).0, Status::Pass);
    }
}
