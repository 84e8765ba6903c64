//! `case-conflicts`: no changed path differs from another path only in case. Takes no settings.
//!
//! On the file systems of macOS and Windows such paths are the same file, and a checkout would lose one of them. Every part
//! of a path counts: `Src/a` and `src/b` are a conflict of two folders. Needs the grant `workspace`.

use gatehost_sdk::submission::ChangeKind;
use gatehost_sdk::workspace::{self, Error};
use gatehost_sdk::{Finding, Place, Rule, Submission, Verdict};
use std::collections::{BTreeMap, BTreeSet};

gatehost_sdk::submission_verifier!(
    check,
    summary: "No changed path differs from another path only in case.",
    rules: [
        Rule::error("case-conflict", "Two paths differ only in case. On macOS and Windows they are the same file.")
            .help("Rename one of them."),
    ],
);

fn check(submission: &Submission, (): ()) -> Verdict {
    let there = submission.changes.iter().filter(|change| change.kind != ChangeKind::Deleted);
    judge(there.map(|change| change.path.as_str()), names)
}

/// How many entries of one folder are looked at.
const MOST_ENTRIES: usize = 100_000;

/// The names in a folder.
fn names(folder: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut next = None;
    loop {
        let page = match workspace::list(folder, next.as_deref()) {
            Ok(page) => page,
            // What was deleted since has no conflict any more.
            Err(Error::NotFound) => return Ok(names),
            Err(_) => return Err(format!("the folder `{folder}` cannot be listed")),
        };
        names.extend(page.entries.into_iter().map(|entry| name(&entry.path).to_owned()));
        if names.len() > MOST_ENTRIES {
            return Err(format!("the folder `{folder}` has more than {MOST_ENTRIES} entries"));
        }
        next = page.next;
        if next.is_none() {
            return Ok(names);
        }
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn judge<'a>(paths: impl Iterator<Item = &'a str>, names: impl Fn(&str) -> Result<Vec<String>, String>) -> Verdict {
    let mut folders: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut found: BTreeSet<(String, String)> = BTreeSet::new();
    for path in paths {
        // Each part of the path, in the folder that it is in.
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for part in ends.map(|end| &path[..end]) {
            let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
            if !folders.contains_key(folder) {
                match names(folder) {
                    Ok(names) => drop(folders.insert(folder, names)),
                    Err(why) => return Verdict::abstain(why),
                }
            }
            let own = name(part);
            let others = folders[folder].iter().filter(|other| *other != own && same_but_for_case(other, own));
            found.extend(others.map(|other| {
                let other = if folder.is_empty() { other.clone() } else { format!("{folder}/{other}") };
                (part.to_owned(), other)
            }));
        }
    }
    // Where both have changed, one finding is enough.
    let findings = found.iter().filter(|(path, other)| path < other || !found.contains(&(other.clone(), path.clone())));
    Verdict::of(findings.map(|(path, other)| {
        let message =
            format!("`{path}` and `{other}` differ only in case; on macOS and Windows they are the same file");
        Finding::error("case-conflict", message).at(Place::file(path)).key(other).hint("rename one of them")
    }))
}

fn same_but_for_case(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.eq_ignore_ascii_case(other)
        || !(one.is_ascii() && other.is_ascii()) && one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::{Status, SubmissionVerifier};

    fn found(paths: &[&str], work: &[&str]) -> Vec<String> {
        let list = |folder: &str| {
            let below = work.iter().filter_map(|path| match folder {
                "" => Some(*path),
                _ => path.strip_prefix(folder)?.strip_prefix('/'),
            });
            let names: BTreeSet<String> = below.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect();
            Ok(names.into_iter().collect())
        };
        let verdict = judge(paths.iter().copied(), list);
        assert_eq!(<TheVerifier as SubmissionVerifier>::ABOUT.undeclared(&verdict), [""; 0]);
        let places = verdict.findings.into_iter().map(|finding| finding.place.expect("a place").path);
        places.collect()
    }

    #[test]
    fn paths_that_differ_only_in_case_are_found_once() {
        let work = ["README.md", "Readme.md", "src/a.rs", "Src/b.rs", "src/ÄB", "src/äb", "src/c"];
        assert_eq!(found(&["README.md"], &work), ["README.md"]);
        assert_eq!(found(&["README.md", "Readme.md"], &work), ["README.md"]);
        assert_eq!(found(&["src/a.rs"], &work), ["src"]);
        assert_eq!(found(&["src/c", "Src/b.rs"], &work), ["Src"]);
        assert_eq!(found(&["src/ÄB"], &work[4..]), ["src/ÄB"]);
        assert!(found(&["src/c"], &["src/c", "src/d", "C"]).is_empty());
        assert!(found(&[], &work).is_empty());
    }

    #[test]
    fn what_cannot_be_listed_is_not_judged() {
        assert_eq!(judge(["a"].into_iter(), |_| Err("no".to_owned())).status, Status::Abstain);
    }
}
