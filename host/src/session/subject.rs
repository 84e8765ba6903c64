//! What is judged: what was said of the work, of what changed in it.

use crate::changes::{self, Changes};
use crate::outcome::{Node, NodeKind};
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
    Subject { paths, submission: said, workspace: Arc::clone(&found.workspace), looks, is_copy }
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
                        Err(crate::workspace::Error::WrongKind(crate::workspace::Kind::Directory)) => {
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

/// The files that no check judged, each with the reason.
pub(super) fn unjudged(gate: &Node, paths: &[String]) -> Vec<Unjudged> {
    let mut reasons: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for check in gate.walk().filter(|node| node.kind == NodeKind::Check) {
        for file in check.files.iter().flatten() {
            let judged = matches!(file.status, Status::Pass | Status::Fail);
            let entry = reasons.entry(&file.path).or_insert_with(|| Some(String::new()));
            match entry {
                Some(_) if judged => *entry = None,
                Some(reason) if reason.is_empty() => {
                    let why = if file.reason.is_empty() { file.status.as_str() } else { &file.reason };
                    *reason = format!("{}: {why}", check.name);
                }
                _ => {}
            }
        }
    }
    let unmatched = || Some("no check selects it".to_owned());
    let of = |path: &String| {
        let reason = reasons.get(path.as_str()).cloned().unwrap_or_else(unmatched)?;
        Some(Unjudged { path: path.clone(), reason })
    };
    paths.iter().filter_map(of).collect()
}
