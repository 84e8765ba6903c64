//! Finds the changed files and their contents.
//!
//! In a repository, the changes are the differences between a commit and the working tree, the index or another commit;
//! outside a repository, all files of the folder. The repository belongs to the author of the change, so only objects that
//! were hashed here are trusted: see `git.rs`.

mod diff;
mod error;
mod folder;
mod git;
mod selection;
mod stored;

#[cfg(all(feature = "commands", target_os = "linux"))]
pub(crate) use diff::edits;

pub use error::ChangesError;
pub(crate) use git::{NamedByGit, is_hook_name};
pub use selection::Selection;
pub use stored::{SameFiles, StoredFiles, same_files, stored};
pub(crate) use stored::{checkout, copy, stored_until};

use crate::cache_store::CacheStore;
use crate::deadline::Deadline;
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
    /// The folder with the contents.
    pub workspace: Arc<Workspace>,
    /// The base commit.
    pub base: Option<String>,
    /// Whether git found the changes. Otherwise they are all files of a folder.
    pub from_git: bool,
    /// The stat results of regular files.
    pub(crate) stats: Arc<HashMap<String, FileStat>>,
    /// The root of the repository, if git found the changes.
    pub(crate) repository: Option<PathBuf>,
    /// The folder with contents that are not in the working tree, while they are read.
    snapshot: Option<git::Snapshot>,
}

impl Changes {
    /// Returns whether the files are a private copy.
    pub(crate) fn is_copy(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Returns changes that were found before, in a folder that contains the files.
    pub(crate) fn again(
        folder: &Path,
        changes: Vec<Change>,
        base: Option<String>,
        from_git: bool,
    ) -> Result<Self, ChangesError> {
        let folder =
            folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
        Ok(Self {
            changes,
            workspace: open(&folder)?,
            base,
            from_git,
            stats: Arc::default(),
            repository: None,
            snapshot: None,
        })
    }

    /// Returns the paths of the files that exist.
    pub fn paths(&self) -> Vec<&str> {
        present(&self.changes).collect()
    }
}

/// Returns the paths of all changes except deletions.
pub fn present(changes: &[Change]) -> impl Iterator<Item = &str> {
    changes.iter().filter(|change| change.kind != ChangeKind::Deleted).map(|change| change.path.as_str())
}

/// What is needed besides the list of changed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The changed lines.
    pub hunks: bool,
    /// The unchanged files. If a copy is checked, they are copied too.
    pub unchanged: bool,
}

/// A folder, and the root of the repository that it is in. Found once per run, so that all parts of the run agree.
#[derive(Clone, Debug)]
pub(crate) struct WorkFolder {
    /// The folder, without symlinks.
    pub(crate) folder: PathBuf,
    /// The root of the repository, if there is one.
    pub(crate) root: Option<PathBuf>,
    /// When reading them must end.
    pub(crate) deadline: Deadline,
}

impl WorkFolder {
    pub(crate) fn of(folder: &Path, environment: &Environment) -> Result<Self, ChangesError> {
        let folder =
            folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
        let root = repository(&folder, environment)?;
        Ok(Self { folder, root, deadline: Deadline::default() })
    }

    /// Returns the folder, with a deadline for reading it.
    pub(crate) fn until(self, deadline: &Deadline) -> Self {
        Self { deadline: deadline.clone(), ..self }
    }

    /// Returns the root of the repository, or else the folder.
    pub(crate) fn project(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.folder)
    }
}

/// Finds the changes in the repository of `folder`, or in the folder. Git gets this environment.
pub fn collect(
    folder: &Path,
    selection: &Selection,
    needs: Needs,
    environment: &Environment,
) -> Result<Changes, ChangesError> {
    collect_at(&WorkFolder::of(folder, environment)?, selection, &|| needs, environment, None)
}

/// Finds the changes, with a store for the ids of unchanged files, so that not every file is read every time. `needs` is called
/// as late as possible, so that it may wait for the plan.
pub(crate) fn collect_at(
    work: &WorkFolder,
    selection: &Selection,
    needs: &dyn Fn() -> Needs,
    environment: &Environment,
    store: Option<&Arc<CacheStore>>,
) -> Result<Changes, ChangesError> {
    match &work.root {
        Some(root) => {
            let repository = git::Repository::at(root, environment).until(&work.deadline);
            in_repository(&work.folder, &repository, selection, needs, store)
        }
        None => in_folder(&work.folder, selection, &work.deadline),
    }
}

/// Returns the root of the repository that `folder`, a real path, is in.
pub fn repository(folder: &Path, environment: &Environment) -> Result<Option<PathBuf>, ChangesError> {
    Ok(git::Repository::find(folder, environment)?.map(|repository| repository.root))
}

/// Returns the paths of all files below a folder.
pub fn below(folder: &Path) -> Result<Vec<String>, ChangesError> {
    Ok(folder::files(folder, "", &Deadline::default())?.into_iter().map(|change| change.path).collect())
}

/// Returns the root of the repository that `folder` is in.
pub fn root(folder: &Path, environment: &Environment) -> Result<Option<PathBuf>, ChangesError> {
    let real = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    repository(&real, environment)
}

/// Returns what the configuration of git names in the repository at `root`, such as hooks and filters: its own configuration, and
/// that of the repositories around it.
pub(crate) fn named_by_git(root: &Path, environment: &Environment) -> Result<NamedByGit, ChangesError> {
    let mut named = NamedByGit::default();
    if let Some(repository) = git::Repository::find(root, environment)? {
        repository.add_named(root, &mut named)?;
    }
    for outer in around(root) {
        // Where git refuses to read its configuration, git does not follow it either.
        let _ = git::Repository::at(&outer, environment).add_named(root, &mut named);
    }
    Ok(named)
}

/// Returns the base commit of a selection, if `folder` is in a repository that has one. If the selection compares nothing,
/// the last commit.
pub fn base(folder: &Path, selection: &Selection, environment: &Environment) -> Result<Option<String>, ChangesError> {
    let folder = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    match git::Repository::find(&folder, environment)? {
        Some(repository) => repository.base(selection),
        None => Ok(None),
    }
}

/// Returns the root of the outermost repository around the repository `inner`, a real path. The author of the change may
/// have created those in between.
pub fn enclosing(inner: &Path) -> Option<PathBuf> {
    around(inner).last()
}

/// Returns the roots of the repositories around the one with the root `inner`, the nearest first.
fn around(inner: &Path) -> impl Iterator<Item = PathBuf> {
    let above = inner.parent().into_iter().flat_map(Path::ancestors);
    above.filter(|folder| folder.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

/// Refuses a repository around files that the last commit of an outer repository contains. Git never creates one; whoever
/// did chose what the files are compared with.
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
