//! What is judged: which files changed, and where their bytes are.
//!
//! In a repository, the changes are the differences between a commit and the working tree, the index or another commit;
//! elsewhere, all files of the folder. The repository belongs to the author of the change, so nothing in it is believed
//! but objects that were hashed here: `git.rs` says how.

mod diff;
mod error;
mod folder;
mod git;
mod selection;
mod stored;

#[cfg(all(feature = "commands", target_os = "linux"))]
pub(crate) use diff::edits;

pub use error::ChangesError;
pub use selection::Selection;
pub(crate) use stored::copy;
pub use stored::{SameFiles, StoredFiles, checkout, same_files, stored};

use crate::cache_store::CacheStore;
use crate::environment::Environment;
use crate::submission::{Change, ChangeKind};
use crate::workspace::{FileStat, Workspace};
use error::{shown, shown_text};
use selection::{in_folder, in_repository, whole_file};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The changes, and where to read the files.
#[derive(Debug)]
#[non_exhaustive]
pub struct Changes {
    /// The files, ordered by path.
    pub changes: Vec<Change>,
    /// Where their bytes are.
    pub workspace: Arc<Workspace>,
    /// The commit that they are relative to.
    pub base: Option<String>,
    /// Whether they are those of a repository, and not merely what is in a folder.
    pub from_git: bool,
    /// What those that are regular files looked like.
    pub(crate) looks: HashMap<String, FileStat>,
    /// Holds the bytes that are not in the working tree, for as long as they are read.
    snapshot: Option<git::Snapshot>,
}

impl Changes {
    /// Returns whether the files are a copy that nobody else knows.
    pub(crate) fn is_copy(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Changes that were found before, in a folder that holds the files.
    pub(crate) fn again(
        folder: &Path,
        changes: Vec<Change>,
        base: Option<String>,
        from_git: bool,
    ) -> Result<Self, ChangesError> {
        let folder =
            folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
        Ok(Self { changes, workspace: open(&folder)?, base, from_git, looks: HashMap::new(), snapshot: None })
    }

    /// Returns the paths of the files that are there to be judged.
    pub fn paths(&self) -> Vec<&str> {
        present(&self.changes).collect()
    }
}

/// Returns the paths of those changes that left a file behind.
pub fn present(changes: &[Change]) -> impl Iterator<Item = &str> {
    changes.iter().filter(|change| change.kind != ChangeKind::Deleted).map(|change| change.path.as_str())
}

/// What will be looked at, besides the files that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Which of their lines changed.
    pub hunks: bool,
    /// The files that did not change. Where a copy is judged, they are copied too.
    pub unchanged: bool,
}

/// Finds the changes in the repository, or else in the folder, that `folder` is in. Git sees this environment.
pub fn collect(
    folder: &Path,
    selection: &Selection,
    needs: Needs,
    environment: &Environment,
) -> Result<Changes, ChangesError> {
    collect_with(folder, selection, needs, environment, None)
}

/// The same. The ids of files that did not change are kept in the store, so that not every file is read every time.
pub fn collect_with(
    folder: &Path,
    selection: &Selection,
    needs: Needs,
    environment: &Environment,
    store: Option<&Arc<CacheStore>>,
) -> Result<Changes, ChangesError> {
    let folder = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    match git::Repository::find(&folder, environment)? {
        Some(repository) => in_repository(&folder, &repository, selection, needs, store),
        None => in_folder(&folder, selection),
    }
}

/// Returns the root of the repository that `folder`, a real path, is in.
pub fn repository(folder: &Path, environment: &Environment) -> Result<Option<PathBuf>, ChangesError> {
    Ok(git::Repository::find(folder, environment)?.map(|repository| repository.root))
}

/// Returns the paths of all files below a folder.
pub fn below(folder: &Path) -> Result<Vec<String>, ChangesError> {
    Ok(folder::files(folder, "")?.into_iter().map(|change| change.path).collect())
}

/// Returns the root of the repository that `folder` is in.
pub fn root(folder: &Path, environment: &Environment) -> Result<Option<PathBuf>, ChangesError> {
    let real = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    repository(&real, environment)
}

/// Returns the commit that a selection is relative to, where `folder` is in a repository that has one; the last one where
/// the selection compares nothing.
pub fn base(folder: &Path, selection: &Selection, environment: &Environment) -> Result<Option<String>, ChangesError> {
    let folder = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    match git::Repository::find(&folder, environment)? {
        Some(repository) => repository.base(selection),
        None => Ok(None),
    }
}

/// Returns the root of the outermost repository around the repository with the root `inner`, a real path. Those between may
/// have been made by the author of the change.
pub fn enclosing(inner: &Path) -> Option<PathBuf> {
    around(inner).last()
}

/// Returns the roots of the repositories around the one with the root `inner`, the nearest first.
fn around(inner: &Path) -> impl Iterator<Item = PathBuf> {
    let above = inner.parent().into_iter().flat_map(Path::ancestors);
    above.filter(|folder| folder.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

/// Refuses a repository around files that another one has in its last commit. Git never makes one: whoever did chose what
/// they are compared with.
fn refuse_planted(inner: &Path, environment: &Environment) -> Result<(), ChangesError> {
    for outer in around(inner) {
        if git::Repository::at(&outer, environment).has_folder(inner)? {
            return Err(ChangesError::Planted { inner: inner.to_owned(), outer });
        }
    }
    Ok(())
}

fn open(root: &Path) -> Result<Arc<Workspace>, ChangesError> {
    Workspace::open(root).map(Arc::new).map_err(|source| ChangesError::Folder { path: root.to_owned(), source })
}
