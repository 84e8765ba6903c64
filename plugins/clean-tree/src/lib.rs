//! `clean-tree`: the files of the task are committed.
//!
//! The verifier fails for every staged, unstaged or untracked change that matches `files`. A submission without such changes
//! passes only if it has a base commit. Without one, no repository was inspected, and the verifier abstains.

use gatehost_sdk::glob::Glob;
use gatehost_sdk::submission::{Change, ChangeKind, ChangeState};
use gatehost_sdk::{About, Finding, Place, Rule, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "files": {
      "description": "Patterns of the files that must be committed.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "minItems": 1,
      "default": ["**"]
    },
    "ignore": {
      "description": "Patterns of files that need not be committed.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "default": []
    },
    "untracked": {
      "description": "Whether untracked files count.",
      "type": "boolean",
      "default": true
    }
  },
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    files: Vec<String>,
    ignore: Vec<String>,
    untracked: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { files: vec!["**".to_owned()], ignore: Vec::new(), untracked: true }
    }
}

struct CleanTree;

impl SubmissionVerifier for CleanTree {
    type Settings = Settings;
    const ABOUT: About = About::new("clean-tree", env!("CARGO_PKG_VERSION"), "The files of the task are committed.")
        .settings_schema(SETTINGS_SCHEMA)
        .rules(
            const {
                &[
                    Rule::error("staged", "A change is staged but not committed.").help("Commit it."),
                    Rule::error("unstaged", "A change is neither staged nor committed.")
                        .help("Stage and commit it, or revert it."),
                    Rule::error("untracked", "A file is untracked.")
                        .help("Add and commit it, or ignore it in `.gitignore`."),
                ]
            },
        );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        judge(&submission.changes, submission.base.as_deref(), &settings)
    }
}

gatehost_sdk::export_submission_verifier!(CleanTree);

fn judge(changes: &[Change], base: Option<&str>, settings: &Settings) -> Verdict {
    let compiled = |patterns: &[String]| {
        let globs = patterns.iter().map(|pattern| Glob::new(pattern).map_err(|why| format!("`{pattern}`: {why}")));
        globs.collect::<Result<Vec<_>, _>>()
    };
    let (files, ignore) = match (compiled(&settings.files), compiled(&settings.ignore)) {
        (Ok(files), Ok(ignore)) => (files, ignore),
        (Err(why), _) | (_, Err(why)) => {
            return Verdict::abstain(format!("the settings contain the invalid pattern {why}"));
        }
    };
    let any = |globs: &[Glob], path: &str| globs.iter().any(|glob| glob.matches(path));
    let concerned = |path: &str| any(&files, path) && !any(&ignore, path);
    let findings: Vec<Finding> = changes
        .iter()
        .filter(|change| concerned(&change.path) || change.old_path.as_deref().is_some_and(concerned))
        .filter_map(|change| uncommitted(change, settings.untracked))
        .collect();
    match (findings.is_empty(), base) {
        (false, _) => Verdict::fail("not everything is committed", findings),
        (true, Some(_)) => Verdict::pass(),
        (true, None) => Verdict::abstain("the submission has no base commit"),
    }
}

fn uncommitted(change: &Change, untracked: bool) -> Option<Finding> {
    let path = &change.path;
    let what = if change.kind == ChangeKind::Deleted { "the deletion of " } else { "" };
    let (code, message, hint) = match change.state {
        ChangeState::Committed => return None,
        ChangeState::Untracked if !untracked => return None,
        ChangeState::Staged => ("staged", format!("{what}`{path}` is staged but not committed"), "commit it"),
        ChangeState::Unstaged => {
            ("unstaged", format!("{what}`{path}` is neither staged nor committed"), "stage and commit it, or revert it")
        }
        ChangeState::Untracked => {
            ("untracked", format!("`{path}` is untracked"), "add and commit it, or ignore it in `.gitignore`")
        }
    };
    Some(Finding::error(code, message).at(Place::file(path)).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::Status;

    /// `path:s`, with the first letter of the state: `c`, `s`, `u`, or `?` for untracked.
    fn changes(shown: &str) -> Vec<Change> {
        let changes = shown.split_whitespace().map(|shown| {
            let (path, state) = shown.split_once(':').expect("path:s");
            let state = match state {
                "c" => ChangeState::Committed,
                "s" => ChangeState::Staged,
                "u" => ChangeState::Unstaged,
                _ => ChangeState::Untracked,
            };
            let kind = ChangeKind::Modified;
            Change { path: path.to_owned(), kind, state, size: Some(1), ..Change::default() }
        });
        changes.collect()
    }

    #[test]
    fn only_what_is_committed_passes() {
        use Status::{Abstain, Fail, Pass};
        for (shown, base, settings, status, codes) in [
            ("", Some("1"), "{}", Pass, &[][..]),
            ("", None, "{}", Abstain, &[]),
            ("a:c b:c", Some("1"), "{}", Pass, &[]),
            ("a:c", None, "{}", Abstain, &[]),
            ("a:s", Some("1"), "{}", Fail, &["staged"]),
            ("a:u b:c c:?", Some("1"), "{}", Fail, &["unstaged", "untracked"]),
            ("a:u", None, "{}", Fail, &["unstaged"]),
            ("a:?", Some("1"), r#"{"untracked": false}"#, Pass, &[]),
            ("src/a:u", Some("1"), r#"{"files": ["specs/**"]}"#, Pass, &[]),
            ("specs/a/tasks.md:u", Some("1"), r#"{"files": ["specs/**"]}"#, Fail, &["unstaged"]),
            ("specs/.progress.md:u", Some("1"), r#"{"ignore": ["**/.progress.md"]}"#, Pass, &[]),
            ("a:c", Some("1"), r#"{"files": ["["]}"#, Abstain, &[]),
        ] {
            let settings: Settings = serde_json::from_str(settings).expect("settings");
            let verdict = judge(&changes(shown), base, &settings);
            assert_eq!(CleanTree::ABOUT.undeclared(&verdict), [""; 0]);
            let found: Vec<&str> = verdict.findings.iter().map(|finding| finding.code.as_str()).collect();
            assert_eq!((verdict.status, &*found), (status, codes), "{shown}");
        }
    }

    #[test]
    fn a_file_that_was_renamed_away_counts() {
        let mut changes = changes("other/a:s");
        changes[0].old_path = Some("specs/a".to_owned());
        let settings: Settings = serde_json::from_str(r#"{"files": ["specs/**"]}"#).expect("settings");
        assert_eq!(judge(&changes, Some("1"), &settings).status, Status::Fail);
    }
}
