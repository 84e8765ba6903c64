//! Compares the files that the report lists with those that changed.
//!
//! This needs a base commit: without one, every file of a folder counts as changed, or the author of the report says which did.

use gatehost_sdk::{Finding, Place, Severity, Submission};

/// The limit of differences.
const MOST: usize = 20;

/// How the report and the changes differ.
pub(crate) fn differences(reported: &[String], submission: &Submission, unreported: Severity) -> Vec<Finding> {
    let changed: Vec<&str> = submission
        .changes
        .iter()
        .flat_map(|change| [Some(change.path.as_str()), change.old_path.as_deref()])
        .flatten()
        .collect();
    if submission.base.is_none() {
        return Vec::new();
    }
    let named: Vec<&str> = reported.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()).collect();
    let not_changed = named.iter().filter(|entry| !changed.iter().any(|path| names(entry, path))).map(|entry| {
        let message = format!("the report says that `{entry}` was modified, but it has not changed");
        Finding::error("file-not-changed", message).key(*entry).hint("list exactly the files that changed")
    });
    let mut findings: Vec<Finding> = not_changed.take(MOST).collect();
    let Some(level) = unreported.level() else { return findings };
    let not_reported = submission.changes.iter().filter(|change| {
        let paths = [Some(change.path.as_str()), change.old_path.as_deref()];
        !paths.into_iter().flatten().any(|path| named.iter().any(|entry| names(entry, path)))
    });
    findings.extend(not_reported.take(MOST).map(|change| {
        let path = change.path.as_str();
        let finding =
            Finding::error("file-not-reported", format!("`{path}` has changed, but the report does not list it"))
                .key(path)
                .hint("list it in `files_modified`, or revert the change");
        Finding { level, place: Place::inside(path), ..finding }
    }));
    findings
}

/// Whether an entry names a path: as it is, below a folder of its own (`/home/me/work/src/a.rs`), as a folder (`src/`), or
/// with a remark after it (`src/a.rs (new)`).
fn names(entry: &str, path: &str) -> bool {
    let is = |entry: &str| {
        let entry = entry.trim_matches(['`', '"', '\'']).trim_start_matches("./");
        let absolute = entry.starts_with('/') && entry.strip_suffix(path).is_some_and(|folder| folder.ends_with('/'));
        let folder = entry.ends_with('/') && path.starts_with(entry);
        entry == path || absolute || folder
    };
    is(entry) || entry.split_once([' ', ':', ',']).is_some_and(|(first, _)| is(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::submission::Change;

    fn found(reported: &[&str], changed: &[&str], base: Option<&str>, weight: Severity) -> Vec<String> {
        let changes = changed.iter().map(|&path| Change { path: path.to_owned(), ..Change::default() }).collect();
        let submission = Submission { changes, base: base.map(str::to_owned), ..Submission::default() };
        let reported: Vec<String> = reported.iter().map(|&entry| entry.to_owned()).collect();
        let findings = differences(&reported, &submission, weight);
        findings.into_iter().map(|finding| format!("{} {}", finding.code, finding.key.unwrap_or_default())).collect()
    }

    #[test]
    fn both_must_name_the_same_files() {
        let base = Some("1");
        for (reported, changed, base, expected) in [
            (&["a.rs"][..], &["a.rs"][..], base, &[][..]),
            (&["./src/a.rs", "`b.rs`"], &["src/a.rs", "b.rs"], base, &[]),
            (&["/home/me/work/src/a.rs"], &["src/a.rs"], base, &[]),
            (&["src/a.rs (new)", "b.rs: repaired"], &["src/a.rs", "b.rs"], base, &[]),
            (&["src/"], &["src/a.rs"], base, &[]),
            (&["a.rs"], &[], base, &["file-not-changed a.rs"]),
            (&["a.rs"], &["b.rs"], base, &["file-not-changed a.rs", "file-not-reported b.rs"]),
            (&["s.rs"], &["src/s.rs"], base, &["file-not-changed s.rs", "file-not-reported src/s.rs"]),
            (&[], &["a.rs"], base, &["file-not-reported a.rs"]),
            (&["a.rs"], &["a.rs", "gate.toml"], None, &[]),
            (&["a.rs"], &["gate.toml"], None, &[]),
            (&["a.rs"], &[], None, &[]),
        ] {
            assert_eq!(found(reported, changed, base, Severity::Error), expected, "{reported:?} {changed:?}");
        }
        assert!(found(&[], &["Cargo.lock"], base, Severity::Ignore).is_empty());
    }

    #[test]
    fn a_rename_is_reported_by_either_name() {
        let change = Change { path: "b".to_owned(), old_path: Some("a".to_owned()), ..Change::default() };
        let submission = Submission { changes: vec![change], base: Some("1".to_owned()), ..Submission::default() };
        for entry in ["a", "b"] {
            assert!(differences(&[entry.to_owned()], &submission, Severity::Error).is_empty(), "{entry}");
        }
    }
}
