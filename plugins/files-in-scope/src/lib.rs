//! `files-in-scope`: only files that the task may change have changed.
//!
//! The scope is the task's `files` and those of the settings: paths, folders, or patterns such as `src/**/*.rs`. A path matches
//! itself and, as a folder, everything below it; so a path with brackets in its name works too. The verifier checks the
//! changes, both paths of a rename, and the paths that tool calls report as changed. A path outside the workspace, or one that
//! is not written plainly, is a finding of its own. Without a scope, without a change, and with an invalid pattern in the
//! settings, the verifier abstains.

use gatehost_sdk::glob::Glob;
use gatehost_sdk::{About, Finding, Place, Rule, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;
use std::collections::BTreeSet;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "files": {
      "description": "Paths, folders or patterns that may change besides those that the task names.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "default": []
    },
    "forbid": {
      "description": "Paths, folders or patterns that must not change, whatever the task says.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "default": []
    },
    "every": {
      "description": "Whether every file that the task names must have changed.",
      "type": "boolean",
      "default": false
    }
  },
  "additionalProperties": false
}"#;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    files: Vec<String>,
    forbid: Vec<String>,
    every: bool,
}

struct FilesInScope;

impl SubmissionVerifier for FilesInScope {
    type Settings = Settings;
    const ABOUT: About =
        About::new("files-in-scope", env!("CARGO_PKG_VERSION"), "Only files that the task names have changed.")
            .settings_schema(SETTINGS_SCHEMA)
            .rules(
                const {
                    &[
                        Rule::error("out-of-scope", "A file changed that the task does not name.")
                            .help("Revert the change, or add the file to the task."),
                        Rule::error("forbidden", "A forbidden file changed.").help("Revert the change."),
                        Rule::error("not-changed", "The task names a file that did not change."),
                        Rule::error("bad-path", "A changed path is not a plain path inside the workspace.")
                            .help("Write paths relative to the root of the workspace, without `.` and `..`."),
                    ]
                },
            );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        let task = submission.task.as_ref().map_or(&[][..], |task| task.files.as_slice());
        let changes = submission.changes.iter();
        let paths = changes.flat_map(|change| [Some(&change.path), change.old_path.as_ref()]).flatten();
        let by_tools = submission.tool_calls.iter().flat_map(|call| &call.files_changed);
        judge(task, &paths.chain(by_tools).map(|path| relative(path)).collect(), &settings)
    }
}

gatehost_sdk::export_submission_verifier!(FilesInScope);

fn judge(task: &[String], changed: &BTreeSet<&str>, settings: &Settings) -> Verdict {
    if task.is_empty() && settings.files.is_empty() && settings.forbid.is_empty() {
        return Verdict::abstain("neither the task nor the settings name files that may change");
    }
    if changed.is_empty() {
        return Verdict::abstain("the submission has no changed files");
    }
    for text in settings.files.iter().chain(&settings.forbid) {
        // Of the task's words each is literal at least; a pattern of the policy that matches nothing is a hole.
        if let Err(why) = Glob::new(trimmed(text)) {
            return Verdict::abstain(format!("the settings contain the invalid pattern `{text}`: {why}"));
        }
    }
    let restricted = !task.is_empty() || !settings.files.is_empty();
    let allowed: Vec<Scope> = task.iter().chain(&settings.files).map(|text| Scope::new(text)).collect();
    let forbidden: Vec<Scope> = settings.forbid.iter().map(|text| Scope::new(text)).collect();
    let mut findings = Vec::new();
    for &path in changed {
        let Some(place) = Place::inside(path) else {
            let message = format!("`{path}` has changed, but is not a plain path inside the workspace");
            let hint = "write paths relative to the root of the workspace, without `.` and `..`";
            findings.push(Finding::error("bad-path", message).hint(hint));
            continue;
        };
        if let Some(scope) = forbidden.iter().find(|scope| scope.contains(path)) {
            let message = format!("`{path}` has changed, but the setting `forbid` lists `{}`", scope.text);
            findings.push(Finding::error("forbidden", message).at(place).hint("revert the change"));
        } else if restricted && !allowed.iter().any(|scope| scope.contains(path)) {
            let message = format!("`{path}` has changed, but the task does not name it");
            let hint = "revert the change, or add the file to the task";
            findings.push(Finding::error("out-of-scope", message).at(place).hint(hint));
        }
    }
    if settings.every {
        for text in task {
            let scope = Scope::new(text);
            if !changed.iter().any(|path| scope.contains(path)) {
                findings
                    .push(Finding::error("not-changed", format!("the task names `{text}`, but it has not changed")));
            }
        }
    }
    if findings.is_empty() {
        Verdict::pass()
    } else {
        Verdict::fail("the changed files do not match the task", findings)
    }
}

struct Scope<'a> {
    text: &'a str,
    glob: Option<Glob>,
}

impl<'a> Scope<'a> {
    /// What is no pattern is literal alone, which allows nothing more than it says.
    fn new(text: &'a str) -> Self {
        let text = trimmed(text);
        Self { text, glob: Glob::new(text).ok() }
    }

    fn contains(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        !self.text.is_empty() && (below || self.glob.as_ref().is_some_and(|glob| glob.matches(path)))
    }
}

fn trimmed(text: &str) -> &str {
    relative(text.trim()).trim_end_matches('/')
}

fn relative(path: &str) -> &str {
    path.trim_start_matches("./")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    fn codes(task: &str, changed: &str, settings: &str) -> (Status, Vec<String>) {
        let task: Vec<String> = task.split_whitespace().map(str::to_owned).collect();
        let settings: Settings = serde_json::from_str(settings).expect("settings");
        let verdict = judge(&task, &changed.split_whitespace().collect(), &settings);
        assert_eq!(FilesInScope::ABOUT.undeclared(&verdict), [""; 0]);
        (verdict.status, verdict.findings.into_iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn a_change_is_in_scope_when_something_names_it() {
        for (task, path, expected) in [
            ("src/a.rs", "src/a.rs", Status::Pass),
            ("./src/a.rs", "src/a.rs", Status::Pass),
            ("src", "src/deep/a.rs", Status::Pass),
            ("src/", "src/a.rs", Status::Pass),
            ("src/*.rs", "src/a.rs", Status::Pass),
            ("src/**", "src/deep/a.rs", Status::Pass),
            ("app/[id]/page.tsx", "app/[id]/page.tsx", Status::Pass),
            ("src/a.rs tests/**", "tests/b.rs", Status::Pass),
            ("src/*.rs", "src/deep/a.rs", Status::Fail),
            ("src/a.rs", "src/b.rs", Status::Fail),
            ("src/a", "src/a.rs", Status::Fail),
            ("src", "src2/a.rs", Status::Fail),
            ("src", "src/../gate.toml", Status::Fail),
            ("[", "a", Status::Fail),
            ("/", "a", Status::Fail),
        ] {
            assert_eq!(codes(task, path, "{}").0, expected, "{task} and {path}");
        }
    }

    #[test]
    fn a_pattern_of_the_settings_that_cannot_be_used_forbids_nothing_silently() {
        for pattern in ["{gate.toml,.github/**", "/gate.toml", "**/[gate.toml", "./*/../gate.toml", "/", "./", " "] {
            for name in ["files", "forbid"] {
                let settings = format!(r#"{{"{name}": ["{pattern}"]}}"#);
                assert_eq!(codes("**", "gate.toml", &settings), (Status::Abstain, vec![]), "{settings}");
            }
        }
        assert_eq!(codes("**", "gate.toml", r#"{"forbid": ["./gate.toml"]}"#).1, ["forbidden"]);
    }

    #[test]
    fn a_path_that_is_not_plain_fails_without_a_place() {
        for path in ["/home/me/gate.toml", "src/../gate.toml", "src/./a", "src//a", "..", ".git/config", "a\\b", ""] {
            for settings in ["{}", r#"{"forbid": ["gate.toml"]}"#] {
                let settings: Settings = serde_json::from_str(settings).expect("settings");
                let verdict = judge(&["**".to_owned()], &BTreeSet::from(["ok", path]), &settings);
                let found: Vec<_> =
                    verdict.findings.iter().map(|finding| (&*finding.code, finding.place.is_some())).collect();
                assert_eq!(found, [("bad-path", false)], "{path}");
            }
        }
    }

    #[test]
    fn without_a_scope_or_a_change_there_is_nothing_to_judge() {
        assert_eq!(codes("", "a", "{}"), (Status::Abstain, vec![]));
        assert_eq!(codes("a", "", "{}"), (Status::Abstain, vec![]));
    }

    #[test]
    fn settings_widen_and_narrow_the_scope() {
        assert_eq!(codes("a", "a Cargo.lock", r#"{"files": ["Cargo.lock"]}"#).0, Status::Pass);
        assert_eq!(codes("", "a", r#"{"files": ["a"]}"#).0, Status::Pass);
        assert_eq!(codes("**", "a gate.toml", r#"{"forbid": ["gate.toml"]}"#).1, ["forbidden"]);
        assert_eq!(codes("", "a", r#"{"forbid": ["gate.toml"]}"#).0, Status::Pass);
        assert_eq!(codes("a b", "a", r#"{"every": true}"#).1, ["not-changed"]);
        assert_eq!(codes("a b", "a b", r#"{"every": true}"#).0, Status::Pass);
    }
}
