//! `expected-files`: the files that the task expects exist, are not empty, and match their extension.
//!
//! Expected are the task's `expected_outputs` and the `files` of the settings: a path, a pattern such as `dist/**/*.js` (at
//! least one file must match, and every match is inspected), or a folder with a slash at its end. A symlink is not a file. A
//! file with a known extension (`.png`, `.pdf`, `.zip` …) must start with the bytes of that format. Needs the grant
//! `workspace`. If nothing is expected, the verifier abstains.

mod files;

use files::{Files, Problem, Workspace};
use gatehost_sdk::glob::Glob;
use gatehost_sdk::{About, Finding, Level, Place, Rule, Submission, SubmissionVerifier, Verdict};
use serde::Deserialize;

const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "files": {
      "description": "Paths, patterns or folders (`docs/`) to expect besides those that the task names.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "default": []
    },
    "may_be_empty": {
      "description": "Patterns of files that may be empty.",
      "type": "array",
      "items": { "type": "string", "minLength": 1, "maxLength": 1000 },
      "default": ["**/__init__.py", "**/py.typed", "**/.gitkeep", "**/.keep", "**/.nojekyll"]
    },
    "tool_files": {
      "description": "Whether files that tool calls changed must not be empty, if they exist.",
      "type": "boolean",
      "default": false
    }
  },
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    files: Vec<String>,
    may_be_empty: Vec<String>,
    tool_files: bool,
}

const MAY_BE_EMPTY: [&str; 5] = ["**/__init__.py", "**/py.typed", "**/.gitkeep", "**/.keep", "**/.nojekyll"];

impl Default for Settings {
    fn default() -> Self {
        Self { files: Vec::new(), may_be_empty: MAY_BE_EMPTY.map(str::to_owned).to_vec(), tool_files: false }
    }
}

struct ExpectedFiles;

impl SubmissionVerifier for ExpectedFiles {
    type Settings = Settings;
    const ABOUT: About = About::new(
        "expected-files",
        env!("CARGO_PKG_VERSION"),
        "The files that the task expects exist, are not empty, and match their extension.",
    )
    .settings_schema(SETTINGS_SCHEMA)
    .rules(
        const {
            &[
                Rule::error("missing", "An expected file does not exist.").help("Create the file."),
                Rule::error("empty", "An expected file or folder is empty.")
                    .help("Write it, or name it in `may_be_empty`."),
                Rule::error("wrong-kind", "There is a folder or a symlink instead of an expected file, or something else instead of a folder."),
                Rule::error("wrong-type", "The first bytes of a file do not match its extension."),
                Rule::error("bad-path", "An expected path is outside the workspace.")
                    .help("Write paths relative to the root of the workspace."),
                Rule::error("bad-pattern", "An expected pattern is not a valid glob."),
            ]
        },
    );

    fn check(submission: &Submission, settings: Settings) -> Verdict {
        let expected = submission.task.as_ref().map_or(&[][..], |task| task.expected_outputs.as_slice());
        let changed: Vec<&str> =
            submission.tool_calls.iter().flat_map(|call| &call.files_changed).map(String::as_str).collect();
        judge(expected, &changed, &settings, &Workspace)
    }
}

gatehost_sdk::export_submission_verifier!(ExpectedFiles);

fn judge(task: &[String], changed: &[&str], settings: &Settings, files: &dyn Files) -> Verdict {
    let expected: Vec<&str> = task.iter().chain(&settings.files).map(String::as_str).collect();
    let changed = if settings.tool_files { changed } else { &[] };
    if expected.is_empty() && changed.is_empty() {
        return Verdict::abstain("neither the task nor the setting `files` names an expected file");
    }
    let mut may_be_empty = Vec::new();
    for pattern in &settings.may_be_empty {
        match Glob::new(pattern) {
            Ok(glob) => may_be_empty.push(glob),
            Err(why) => {
                return Verdict::abstain(format!(
                    "the setting `may_be_empty` has the invalid pattern `{pattern}`: {why}"
                ));
            }
        }
    }
    let look = Inspector { files, may_be_empty };
    let mut found = Findings::default();
    for text in expected {
        look.expected(text, &mut found);
    }
    for path in changed {
        look.changed(path.trim_start_matches("./"), &mut found);
    }
    let Findings { mut findings, unreadable } = found;
    findings.dedup_by(|a, b| a.message == b.message);
    if findings.iter().any(|finding| finding.level == Level::Error) {
        Verdict::fail("expected files are missing or invalid", findings)
    } else if let Some(why) = unreadable.into_iter().next() {
        Verdict { findings, ..Verdict::abstain(why) }
    } else {
        Verdict::pass()
    }
}

#[derive(Default)]
struct Findings {
    findings: Vec<Finding>,
    /// Why something could not be looked at.
    unreadable: Vec<String>,
}

struct Inspector<'a> {
    files: &'a dyn Files,
    may_be_empty: Vec<Glob>,
}

impl Inspector<'_> {
    fn expected(&self, text: &str, found: &mut Findings) {
        let path = text.trim().trim_start_matches("./");
        let folder = path.ends_with('/');
        let path = path.trim_end_matches('/');
        match self.files.stat(path) {
            Ok(entry) if folder => self.folder(&entry.path, entry.kind, found),
            Ok(entry) => self.file(&entry, found),
            Err(Problem::NotFound | Problem::BadPath) if !folder && path.contains(['*', '?', '[', '{']) => {
                self.pattern(path, found);
            }
            Err(Problem::NotFound) => {
                let message = format!("the expected file `{text}` does not exist");
                found.findings.push(Finding::error("missing", message).hint(format!("create `{path}`")));
            }
            Err(Problem::BadPath) => {
                let message = format!("the expected path `{text}` is outside the workspace");
                found.findings.push(Finding::error("bad-path", message));
            }
            Err(Problem::Unreadable(why)) => found.unreadable.push(format!("`{text}` cannot be inspected: {why}")),
        }
    }

    fn pattern(&self, pattern: &str, found: &mut Findings) {
        let glob = match Glob::new(pattern) {
            Ok(glob) => glob,
            Err(why) => {
                let message = format!("the expected pattern `{pattern}` is not a valid glob: {why}");
                found.findings.push(Finding::error("bad-pattern", message));
                return;
            }
        };
        match files::matching(self.files, pattern, &glob) {
            Err(why) => found.unreadable.push(format!("the pattern `{pattern}` cannot be evaluated: {why}")),
            Ok(entries) if entries.is_empty() => {
                let message = format!("no file matches the expected pattern `{pattern}`");
                found.findings.push(Finding::error("missing", message));
            }
            Ok(entries) => entries.iter().for_each(|entry| self.file(entry, found)),
        }
    }

    fn folder(&self, path: &str, kind: files::EntryType, found: &mut Findings) {
        if kind != files::EntryType::Folder {
            let message = format!("expected a folder at `{path}`, found {}", kind.name());
            found.findings.push(Finding::error("wrong-kind", message).at(Place::file(path)));
            return;
        }
        match self.files.list(path, None) {
            Ok(page) if page.entries.is_empty() && page.next.is_none() => {
                found
                    .findings
                    .push(Finding::error("empty", format!("the folder `{path}` is empty")).at(Place::file(path)));
            }
            Ok(_) => {}
            Err(problem) => found.unreadable.push(format!("`{path}` cannot be listed: {problem}")),
        }
    }

    fn file(&self, entry: &files::Entry, found: &mut Findings) {
        let path = entry.path.as_str();
        if entry.kind != files::EntryType::File {
            let message = format!("expected a file at `{path}`, found {}", entry.kind.name());
            found.findings.push(Finding::error("wrong-kind", message).at(Place::file(path)));
            return;
        }
        if entry.size == 0 {
            if !self.may_be_empty.iter().any(|glob| glob.matches(path)) {
                found.findings.push(Finding::error("empty", format!("`{path}` is empty")).at(Place::file(path)));
            }
            return;
        }
        let Some((suffix, starts)) = files::signature(path) else { return };
        match self.files.start(path) {
            Ok(bytes)
                if starts
                    .iter()
                    .any(|(offset, magic)| bytes.get(*offset..).is_some_and(|from| from.starts_with(magic))) => {}
            Ok(_) => {
                let message = format!("the first bytes of `{path}` are not those of a `{suffix}` file");
                found.findings.push(Finding::error("wrong-type", message).at(Place::file(path)));
            }
            Err(problem) => found.unreadable.push(format!("`{path}` cannot be read: {problem}")),
        }
    }

    fn changed(&self, path: &str, found: &mut Findings) {
        match self.files.stat(path) {
            // Gone again, or outside the work: not something that was to be left after.
            Err(Problem::NotFound | Problem::BadPath) => {}
            Err(Problem::Unreadable(why)) => found.unreadable.push(format!("`{path}` cannot be inspected: {why}")),
            Ok(entry) if entry.kind == files::EntryType::File => self.file(&entry, found),
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::{Entry, EntryType, Page};
    use gatehost_sdk::Status;
    use std::collections::BTreeMap;

    /// Files by path; a folder is what has something below it, `@` is a link, `!` cannot be read.
    struct Fake(BTreeMap<&'static str, &'static [u8]>);

    fn work() -> Fake {
        Fake(BTreeMap::from([
            ("README.md", &b"text"[..]),
            ("empty.txt", b""),
            ("pkg/__init__.py", b""),
            ("dist/a.js", b"x"),
            ("dist/deep/b.js", b""),
            ("dist/deep/b.css", b"x"),
            ("logo.png", b"\x89PNG\r\n\x1a\n...."),
            ("photo.png", b"<html>"),
            ("app/[id]/page.tsx", b"x"),
            ("link", b"@"),
            ("secret/key.txt", b"!"),
        ]))
    }

    impl Files for Fake {
        fn stat(&self, path: &str) -> Result<Entry, Problem> {
            if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(Problem::BadPath);
            }
            let entry = |kind, size| Entry { path: path.to_owned(), kind, size };
            match self.0.get(path).copied() {
                Some(b"!") => Err(Problem::Unreadable("permission denied".to_owned())),
                Some(b"@") => Ok(entry(EntryType::Link, 0)),
                Some(bytes) => Ok(entry(EntryType::File, bytes.len() as u64)),
                None if self.0.keys().any(|key| key.starts_with(&format!("{path}/"))) => {
                    Ok(entry(EntryType::Folder, 0))
                }
                None => Err(Problem::NotFound),
            }
        }

        fn list(&self, path: &str, after: Option<&str>) -> Result<Page, Problem> {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            let mut names: Vec<String> = self
                .0
                .keys()
                .filter_map(|key| key.strip_prefix(&prefix))
                .map(|rest| prefix.clone() + rest.split('/').next().expect("a name"))
                .filter(|path| after.is_none_or(|after| path.as_str() > after))
                .collect();
            names.dedup();
            // Two on a page, so that turning pages is tested.
            let next = (names.len() > 2).then(|| names[1].clone());
            names.truncate(2);
            let entries = names
                .iter()
                .map(|path| self.stat(path).unwrap_or(Entry { path: path.clone(), kind: EntryType::File, size: 1 }))
                .collect();
            Ok(Page { entries, next })
        }

        fn start(&self, path: &str) -> Result<Vec<u8>, Problem> {
            self.0.get(path).map(|bytes| bytes.to_vec()).ok_or(Problem::NotFound)
        }
    }

    fn codes(expected: &str, changed: &[&str], settings: &str) -> (Status, Vec<String>) {
        let expected: Vec<String> = expected.split_whitespace().map(str::to_owned).collect();
        let settings: Settings = serde_json::from_str(settings).expect("settings");
        let verdict = judge(&expected, changed, &settings, &work());
        assert_eq!(ExpectedFiles::ABOUT.undeclared(&verdict), [""; 0]);
        (verdict.status, verdict.findings.into_iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn what_is_expected_is_looked_at() {
        for (expected, status, found) in [
            ("README.md", Status::Pass, &[][..]),
            ("./README.md", Status::Pass, &[]),
            ("README.md dist/a.js", Status::Pass, &[]),
            ("*.md", Status::Pass, &[]),
            ("dist/**/*.css", Status::Pass, &[]),
            ("**/*.css", Status::Pass, &[]),
            ("{dist,src}/*.js", Status::Pass, &[]),
            ("app/[id]/page.tsx", Status::Pass, &[]),
            ("dist/", Status::Pass, &[]),
            ("pkg/__init__.py", Status::Pass, &[]),
            ("logo.png", Status::Pass, &[]),
            ("none.md", Status::Fail, &["missing"]),
            ("README.md a b", Status::Fail, &["missing", "missing"]),
            ("src/**/*.rs", Status::Fail, &["missing"]),
            ("nothing/", Status::Fail, &["missing"]),
            ("README.md/", Status::Fail, &["wrong-kind"]),
            ("dist", Status::Fail, &["wrong-kind"]),
            ("link", Status::Fail, &["wrong-kind"]),
            ("empty.txt", Status::Fail, &["empty"]),
            ("dist/**/*.js", Status::Fail, &["empty"]),
            ("photo.png", Status::Fail, &["wrong-type"]),
            ("../x", Status::Fail, &["bad-path"]),
            ("/etc/passwd", Status::Fail, &["bad-path"]),
            ("a[", Status::Fail, &["bad-pattern"]),
            ("secret/key.txt", Status::Abstain, &[]),
            ("", Status::Abstain, &[]),
        ] {
            let (found_status, found_codes) = codes(expected, &[], "{}");
            assert_eq!(
                (found_status, &*found_codes),
                (status, &*found.iter().map(|&c| c.to_owned()).collect::<Vec<_>>()),
                "{expected}"
            );
        }
    }

    #[test]
    fn files_of_tool_calls_count_when_asked_for() {
        assert_eq!(codes("", &["empty.txt"], "{}").0, Status::Abstain);
        assert_eq!(codes("", &["empty.txt"], r#"{"tool_files": true}"#).1, ["empty"]);
        assert_eq!(codes("", &["gone.txt", "README.md"], r#"{"tool_files": true}"#).0, Status::Pass);
    }

    #[test]
    fn settings_name_files_and_what_may_be_empty() {
        assert_eq!(codes("", &[], r#"{"files": ["README.md"]}"#).0, Status::Pass);
        assert_eq!(codes("empty.txt", &[], r#"{"may_be_empty": ["*.txt"]}"#).0, Status::Pass);
        assert_eq!(codes("README.md", &[], r#"{"may_be_empty": ["["]}"#).0, Status::Abstain);
    }

    #[test]
    fn the_schema_gives_the_same_defaults() {
        let schema: serde_json::Value = serde_json::from_str(SETTINGS_SCHEMA).expect("JSON");
        assert_eq!(schema["properties"]["may_be_empty"]["default"], serde_json::json!(MAY_BE_EMPTY));
    }
}
