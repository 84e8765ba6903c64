//! The subject of a run: the submission and the files that are checked.

use crate::changes::{self, Changes, Needs, Selection, WorkFolder};
use crate::config::FileSet;
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::outcome::{Node, NodeKind, Outcome};
use crate::plan::Plan;
use crate::record::Unjudged;
use crate::runner::Subject;
use crate::submission::{ChangeKind, Submission};
use crate::text;
use crate::verdict::Status;
use crate::workspace::{FileStat, Workspace};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a file without a check that are hashed.
const MAX_HASHED: u64 = 256 << 20;

/// Makes the subject of a run from the changes and the submission.
///
/// The author of a change cannot choose which files are checked: in a repository, git alone says what changed, and files
/// that a submission names are checked in addition. Outside a repository, the changes of the submission are used.
pub(super) fn of(found: &Changes, mut submission: Submission, deadline: &Deadline) -> Subject {
    let besides = if found.from_git { mem::take(&mut submission.changes) } else { Vec::new() };
    if submission.changes.is_empty() {
        submission.changes = found.changes.clone();
    }
    submission.base = found.base.clone().or(submission.base);
    let gone = submission.changes.iter().filter(|change| change.kind == ChangeKind::Deleted);
    let gone: BTreeSet<&str> = gone.map(|change| change.path.as_str()).collect();
    let besides = changes::present(&besides).filter(|path| !gone.contains(path));
    let paths: BTreeSet<&str> = changes::present(&submission.changes).chain(besides).collect();
    let paths = paths.into_iter().map(str::to_owned).collect();
    let (stats, is_copy) = (Arc::clone(&found.stats), found.is_copy());
    let workspace = Arc::clone(&found.workspace);
    Subject { paths, submission, workspace, uncommitted: None, stats, is_copy, deadline: deadline.clone() }
}

/// Returns the changed paths, if they are known. Git knows them even if nothing changed.
pub(super) fn changed(found: &Changes, submission: &Submission) -> Option<Vec<String>> {
    let paths = submission.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
    let paths: Vec<String> = paths.flatten().cloned().collect();
    (found.from_git || !paths.is_empty()).then_some(paths)
}

/// Returns the digest of the checked files: over the path, mode and SHA-256 of every changed file, ordered by path. Deleted
/// files are marked as deleted. `None` if a file cannot be read, or if the time is over.
///
/// `looks` are the regular files that were seen when the changes were collected. Such a file is not opened again if a check
/// judged it: the run has confirmed that it did not change.
pub(super) fn tree_digest(
    gate: &Node,
    submission: &Submission,
    workspace: &Workspace,
    stats: &HashMap<String, FileStat>,
    deadline: &Deadline,
) -> Option<String> {
    let judged = gate.walk().flat_map(|node| node.files.iter().flatten());
    let judged: HashMap<&str, &str> =
        judged.filter(|file| !file.digest.is_empty()).map(|file| (file.path.as_str(), file.digest.as_str())).collect();
    let mut tree = Sha256::new();
    for change in &submission.changes {
        deadline.check().ok()?;
        let known = stats.get(&change.path).zip(judged.get(change.path.as_str()));
        let (mode, digest) = match (change.kind, known) {
            (ChangeKind::Deleted, _) => ("deleted", Cow::default()),
            (_, Some((look, digest))) => (mode(look.executable), Cow::Borrowed(*digest)),
            _ => match workspace.link_target(&change.path) {
                Ok(target) => ("120000", text::sha256(Sha256::digest(target)).into()),
                Err(_) => match judged.get(change.path.as_str()) {
                    Some(digest) => (mode_of(workspace, &change.path), Cow::Borrowed(*digest)),
                    None => match workspace.read_with_mode(&change.path, MAX_HASHED) {
                        Ok((bytes, executable)) => (mode(executable), text::sha256(Sha256::digest(bytes)).into()),
                        // A submodule is a commit, not a file.
                        Err(crate::workspace::WorkspaceError::WrongKind(crate::workspace::FileKind::Directory)) => {
                            ("160000", Cow::default())
                        }
                        Err(_) => return None,
                    },
                },
            },
        };
        for part in [change.path.as_str(), mode, &digest] {
            tree.update((part.len() as u64).to_le_bytes());
            tree.update(part);
        }
    }
    Some(text::sha256(tree.finalize()))
}

fn mode(executable: bool) -> &'static str {
    if executable { "100755" } else { "100644" }
}

fn mode_of(workspace: &Workspace, path: &str) -> &'static str {
    mode(workspace.is_executable(path).unwrap_or(false))
}

/// Returns the files that no check judged, and those that a check matched but did not judge, each with the reason.
pub(super) fn unjudged(gate: &Node, paths: &[String], left_out: &[String]) -> Vec<Unjudged> {
    let mut seen: HashMap<&str, Vec<String>> = HashMap::new();
    for check in gate.walk().filter(|node| node.kind == NodeKind::Check) {
        for file in check.files.iter().flatten() {
            let reasons = seen.entry(&file.path).or_default();
            if !matches!(file.status, Status::Pass | Status::Fail) {
                let why = if file.reason.is_empty() { file.status.as_str() } else { &file.reason };
                reasons.push(format!("{}: {why}", check.name));
            }
        }
    }
    let unmatched = ["no check matches it".to_owned()];
    let of = |path| {
        let reasons = seen.get(String::as_str(path)).map_or(&unmatched[..], Vec::as_slice);
        reasons.iter().map(move |reason| Unjudged { path: String::clone(path), reason: reason.clone() })
    };
    let by_configuration = |path: &String| Unjudged {
        path: path.clone(),
        reason: "excluded by the top-level `files` or `exclude`".to_owned(),
    };
    let mut all: Vec<Unjudged> = paths.iter().flat_map(of).chain(left_out.iter().map(by_configuration)).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Removes the files that the configuration excludes as a whole from a subject, and returns them.
pub(super) fn leave_out(subject: &mut Subject, plan: &Plan) -> Result<Vec<String>, Error> {
    if plan.files.is_empty() && plan.exclude.is_empty() {
        return Ok(Vec::new());
    }
    let kept = matched_files(plan)?;
    // After the deadline no check runs.
    let stays = |path: &String| subject.deadline.is_over() || kept.contains(path);
    let (paths, left_out) = mem::take(&mut subject.paths).into_iter().partition(stays);
    subject.paths = paths;
    Ok(left_out)
}

/// Returns the set of files that the checks of a plan match.
pub(super) fn matched_files(plan: &Plan) -> Result<FileSet, Error> {
    FileSet::new(&plan.files, &plan.exclude).map_err(|error| Error::new(ErrorCategory::Configuration, &error))
}

/// Returns the digest of a selection and its base commit, as the record of a run has them.
pub fn digest_of(
    folder: &Path,
    selection: &Selection,
    environment: &Environment,
) -> Result<(Option<String>, Option<String>), Error> {
    digest_in(&WorkFolder::of(folder, environment)?, selection, environment)
}

/// Returns the same, and no digest after the deadline of the folder.
pub(super) fn digest_in(
    work: &WorkFolder,
    selection: &Selection,
    environment: &Environment,
) -> Result<(Option<String>, Option<String>), Error> {
    let changes = changes::collect_at(work, selection, &Needs::default, environment, None)?;
    let subject = of(&changes, Submission::default(), &work.deadline);
    let digest = submission_digest(&subject.submission, &subject.workspace, &work.deadline);
    Ok((digest, changes.base.clone()))
}

/// Returns the digest of the files of a submission, in a folder that contains them.
pub(crate) fn submission_digest(submission: &Submission, workspace: &Workspace, deadline: &Deadline) -> Option<String> {
    let gate = Node::new("", NodeKind::All, Outcome::NotReached);
    tree_digest(&gate, submission, workspace, &HashMap::new(), deadline)
}

/// Returns whether a folder is in a repository and does not differ from the last commit.
pub fn is_unchanged(folder: &Path, environment: &Environment) -> Result<bool, Error> {
    let changes = changes::collect(folder, &Selection::Changed, Needs::default(), environment)?;
    Ok(changes.from_git && changes.base.is_some() && changes.changes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{JudgedFile, Outcome};

    fn check(name: &str, files: &[(&str, Status, &str)]) -> Node {
        let file = |(path, status, reason): &(&str, Status, &str)| JudgedFile {
            path: (*path).to_owned(),
            digest: String::new(),
            status: *status,
            cached: false,
            established: None,
            reason: (*reason).to_owned(),
        };
        let mut node = Node::new(name, NodeKind::Check, Outcome::Pass);
        node.files = Some(files.iter().map(file).collect());
        node
    }

    #[test]
    fn every_file_that_somebody_did_not_judge_is_listed() {
        let mut gate = Node::new("g", NodeKind::All, Outcome::Pass);
        gate.children = vec![
            check("sql", &[("a.sql", Status::Abstain, "unknown dialect"), ("b.sql", Status::Pass, "")]),
            check("all", &[("a.sql", Status::Pass, ""), ("b.sql", Status::Fail, ""), ("c", Status::Error, "fs: gone")]),
            check("yaml", &[("t.yaml", Status::NotApplicable, "a template")]),
        ];
        let paths: Vec<String> = ["a.sql", "b.sql", "c", "d", "t.yaml"].map(str::to_owned).into();
        let left_out = ["b/vendored".to_owned()];
        let listed = unjudged(&gate, &paths, &left_out);
        let listed: Vec<String> = listed.iter().map(|file| format!("{} ({})", file.path, file.reason)).collect();
        assert_eq!(
            listed,
            [
                "a.sql (sql: unknown dialect)",
                "b/vendored (excluded by the top-level `files` or `exclude`)",
                "c (all: fs: gone)",
                "d (no check matches it)",
                "t.yaml (yaml: a template)",
            ]
        );
    }
}
