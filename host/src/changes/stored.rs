//! Files of a commit.

use super::{ChangesError, Selection, git, open};
use crate::deadline::Deadline;
use crate::environment::Environment;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files of a commit in a temporary folder, which is deleted with this value.
#[derive(Debug)]
pub struct StoredFiles {
    snapshot: git::Snapshot,
    commit: String,
}

impl StoredFiles {
    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.snapshot.path()
    }

    /// Returns the commit, in full.
    pub fn commit(&self) -> &str {
        &self.commit
    }
}

/// Returns these files of a commit. Files that it does not have are left out. Paths are relative to the root of the
/// repository.
pub fn stored(
    root: &Path,
    commit: &str,
    paths: &BTreeSet<&str>,
    environment: &Environment,
) -> Result<StoredFiles, ChangesError> {
    stored_until(root, commit, paths, environment, &Deadline::default())
}

/// Returns these files of a commit, if that is done in time.
pub(crate) fn stored_until(
    root: &Path,
    commit: &str,
    paths: &BTreeSet<&str>,
    environment: &Environment,
    deadline: &Deadline,
) -> Result<StoredFiles, ChangesError> {
    let missing = || ChangesError::NoRepository { path: root.to_owned(), asked: "`--policy-from`" };
    let repository = git::Repository::find(root, environment)?.ok_or_else(missing)?.until(deadline);
    let (commit, snapshot) = repository.stored(commit, paths)?;
    Ok(StoredFiles { snapshot, commit })
}

/// Returns all files of a commit.
pub(crate) fn checkout(
    root: &Path,
    commit: &str,
    environment: &Environment,
    deadline: &Deadline,
) -> Result<StoredFiles, ChangesError> {
    let missing = || ChangesError::NoRepository { path: root.to_owned(), asked: "`red_green`" };
    let repository = git::Repository::find(root, environment)?.ok_or_else(missing)?.until(deadline);
    let (commit, snapshot) = repository.checkout(commit)?;
    Ok(StoredFiles { snapshot, commit })
}

/// Files of a commit, compared with the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameFiles {
    /// The commit, in full.
    pub commit: String,
    /// The files that the commit has, and whether the working tree has the same bytes.
    pub same: BTreeMap<String, bool>,
}

/// Returns the base commit of a selection, if there is one, and for those of these paths that it has whether the working
/// tree has the same bytes. Paths are relative to `root`, the root of a repository.
pub fn same_files(
    root: &Path,
    selection: &Selection,
    paths: &BTreeSet<String>,
    environment: &Environment,
) -> Result<Option<SameFiles>, ChangesError> {
    git::Repository::at(root, environment).same_files(selection, paths)
}

/// Returns a copy of the working tree of `folder` at this commit, which can be changed without changing the original.
pub(crate) fn copy(
    folder: &Path,
    base: &str,
    environment: &Environment,
    deadline: &Deadline,
) -> Result<git::Copy, ChangesError> {
    let folder = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    let missing = || ChangesError::NoRepository { path: folder.clone(), asked: "a copy of the work" };
    let repository = git::Repository::find(&folder, environment)?.ok_or_else(missing)?.until(deadline);
    let work = open(&repository.root)?;
    repository.copy(base, &work)
}
