//! What is judged: what was said of the work, of what changed in it.

use crate::changes::{self, Changes};
use crate::config::FileSet;
use crate::error::{Error, ErrorCategory};
use crate::outcome::{Node, NodeKind};
use crate::plan::Plan;
use crate::record::Unjudged;
use crate::runner::Subject;
use crate::submission::{ChangeKind, Submission};
use crate::text::hex;
use crate::verdict::Status;
use crate::workspace::Workspace;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

/// The most bytes that are hashed of a file which no check judged.
const MAX_HASHED: u64 = 256 << 20;

/// The subject of a run.
///
/// A document is mostly written by the author of the change, who must not choose which files are judged: in a repository,
/// git alone says what changed, and the files that a document names are judged besides. Elsewhere nobody knows what changed,
/// and a document that says so is believed.
pub(super) fn of(found: &Changes, mut said: Submission) -> Subject {
    let besides = if found.from_git { mem::take(&mut said.changes) } else { Vec::new() };
    if said.changes.is_empty() {
        said.changes = found.changes.clone();
    }
    said.base = found.base.clone().or(said.base);
    let gone = said.changes.iter().filter(|change| change.kind == ChangeKind::Deleted);
    let gone: BTreeSet<&str> = gone.map(|change| change.path.as_str()).collect();
    let besides = changes::present(&besides).filter(|path| !gone.contains(path));
    let paths: BTreeSet<&str> = changes::present(&said.changes).chain(besides).collect();
    let paths = paths.into_iter().map(str::to_owned).collect();
    let (looks, is_copy) = (found.looks.clone(), found.is_copy());
    let workspace = Arc::clone(&found.workspace);
    Subject { paths, submission: said, workspace, uncommitted: None, looks, is_copy }
}

/// The paths that changed, if that is known: git knows it even where nothing changed.
pub(super) fn changed(found: &Changes, submission: &Submission) -> Option<Vec<String>> {
    let paths = submission.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
    let paths: Vec<String> = paths.flatten().cloned().collect();
    (found.from_git || !paths.is_empty()).then_some(paths)
}

/// The digest of what was judged: over the path, mode and SHA-256 of every file that changed, ordered by path. What was
/// deleted counts as such. `None` where a file cannot be read.
pub(super) fn tree_digest(gate: &Node, submission: &Submission, workspace: &Workspace) -> Option<String> {
    let judged = gate.walk().flat_map(|node| node.files.iter().flatten());
    let judged: BTreeMap<&str, &str> =
        judged.filter(|file| !file.digest.is_empty()).map(|file| (file.path.as_str(), file.digest.as_str())).collect();
    let mut tree = Sha256::new();
    for change in &submission.changes {
        let (mode, digest) = match change.kind {
            ChangeKind::Deleted => ("deleted", String::new()),
            _ => match workspace.link_target(&change.path) {
                Ok(target) => ("120000", format!("sha256:{}", hex(&Sha256::digest(target)))),
                Err(_) => match judged.get(change.path.as_str()) {
                    Some(digest) => (mode_of(workspace, &change.path), (*digest).to_owned()),
                    None => match workspace.read_with_mode(&change.path, MAX_HASHED) {
                        Ok((bytes, executable)) => {
                            (mode(executable), format!("sha256:{}", hex(&Sha256::digest(bytes))))
                        }
                        // A submodule is a commit, and not a file.
                        Err(crate::workspace::WorkspaceError::WrongKind(crate::workspace::FileKind::Directory)) => {
                            ("160000", String::new())
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
    Some(format!("sha256:{}", hex(&tree.finalize())))
}

fn mode(executable: bool) -> &'static str {
    if executable { "100755" } else { "100644" }
}

fn mode_of(workspace: &Workspace, path: &str) -> &'static str {
    mode(workspace.is_executable(path).unwrap_or(false))
}

/// The files that no check judged, and those that a check had and did not judge, each with the reason.
pub(super) fn unjudged(gate: &Node, paths: &[String], left_out: &[String]) -> Vec<Unjudged> {
    let mut seen: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for check in gate.walk().filter(|node| node.kind == NodeKind::Check) {
        for file in check.files.iter().flatten() {
            let reasons = seen.entry(&file.path).or_default();
            if !matches!(file.status, Status::Pass | Status::Fail) {
                let why = if file.reason.is_empty() { file.status.as_str() } else { &file.reason };
                reasons.push(format!("{}: {why}", check.name));
            }
        }
    }
    let unmatched = || vec!["no check matches it".to_owned()];
    let of = |path: &String| {
        let reasons = seen.get(path.as_str()).cloned().unwrap_or_else(unmatched);
        reasons.into_iter().map(|reason| Unjudged { path: path.clone(), reason }).collect::<Vec<_>>()
    };
    let by_configuration = |path: &String| Unjudged {
        path: path.clone(),
        reason: "left out by `files` or `exclude` of the file".to_owned(),
    };
    let mut all: Vec<Unjudged> = paths.iter().flat_map(of).chain(left_out.iter().map(by_configuration)).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Take out of a subject the files that the configuration leaves out as a whole, and return them.
pub(super) fn leave_out(subject: &mut Subject, plan: &Plan) -> Result<Vec<String>, Error> {
    if plan.files.is_empty() && plan.exclude.is_empty() {
        return Ok(Vec::new());
    }
    let kept = looked_at(plan)?;
    let (paths, left_out) = mem::take(&mut subject.paths).into_iter().partition(|path| kept.contains(path));
    subject.paths = paths;
    Ok(left_out)
}

/// The files that checks of files look at, whatever they are for.
pub(super) fn looked_at(plan: &Plan) -> Result<FileSet, Error> {
    FileSet::new(&plan.files, &plan.exclude).map_err(|error| Error::new(ErrorCategory::Configuration, &error))
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
                "b/vendored (left out by `files` or `exclude` of the file)",
                "c (all: fs: gone)",
                "d (no check matches it)",
                "t.yaml (yaml: a template)",
            ]
        );
    }
}
