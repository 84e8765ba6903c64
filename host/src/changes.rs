//! What is judged: which files changed, and where their bytes are.
//!
//! With git, the changes are git's; without, they are all files of the folder. Git is asked as a program, so that it
//! sees the repository as its user does, with everything switched off that would let the repository's own
//! configuration run something.

mod diff;
mod folder;
mod git;

use crate::submission::{Change, ChangeKind, ChangeState};
use crate::workspace::{self, Kind, Workspace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which files are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// What differs from the last commit, untracked files included; without git, every file.
    #[default]
    Changed,
    /// What is in the index and differs from the last commit. Judged are the bytes in the index.
    Staged,
    /// Every file that git tracks or would track; without git, every file.
    All,
    /// These, relative to the folder that the caller is in.
    Files(Vec<PathBuf>),
    /// What differs between two commits, from where they parted. Judged are the bytes of the second.
    Between {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
}

/// Why the changes cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder cannot be used.
    #[error("cannot open the folder `{}`: {source}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Only git can answer that.
    #[error("`{}` is not in a git repository, and {asked} needs one", .path.display())]
    NoRepository {
        /// The folder.
        path: PathBuf,
        /// The flag.
        asked: &'static str,
    },
    /// Git could not answer.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// What it was asked.
        command: String,
        /// What it said.
        message: String,
    },
    /// A file that was named is not inside the root.
    #[error("`{}` is not inside `{}`", .path.display(), .root.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// The root.
        root: PathBuf,
    },
    /// A file that was named is not there.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// A path cannot be told to a verifier.
    #[error("the path `{0}` is not UTF-8, or not one that can be judged")]
    BadPath(String),
}

/// The changes, and where to read the files.
#[derive(Debug)]
pub struct Changes {
    /// The files, ordered by path.
    pub changes: Vec<Change>,
    /// Where their bytes are.
    pub workspace: Arc<Workspace>,
    /// The commit that they are relative to.
    pub base: Option<String>,
    /// Whether they are those of a repository, and not merely what is in a folder.
    pub from_git: bool,
    /// Holds the bytes that are not in the working tree, for as long as they are read.
    _snapshot: Option<tempfile::TempDir>,
}

impl Changes {
    /// The paths of the files that are there to be judged.
    pub fn paths(&self) -> Vec<&str> {
        present(&self.changes).collect()
    }
}

/// The paths of those changes that left a file behind.
pub fn present(changes: &[Change]) -> impl Iterator<Item = &str> {
    changes.iter().filter(|change| change.kind != ChangeKind::Deleted).map(|change| change.path.as_str())
}

/// Find the changes in the repository, or else in the folder, that `folder` is in; with their hunks if `hunks`.
pub fn collect(folder: &Path, selection: &Selection, hunks: bool) -> Result<Changes, Error> {
    let folder = folder.canonicalize().map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
    match git::Repository::find(&folder)? {
        Some(repository) => in_repository(&folder, &repository, selection, hunks),
        None => in_folder(&folder, selection),
    }
}

/// The root of the repository that `folder`, a real path, is in.
pub fn repository(folder: &Path) -> Result<Option<PathBuf>, Error> {
    Ok(git::Repository::find(folder)?.map(|repository| repository.root))
}

fn open(root: &Path) -> Result<Arc<Workspace>, Error> {
    Workspace::open(root).map(Arc::new).map_err(|source| Error::Folder { path: root.to_owned(), source })
}

fn in_folder(folder: &Path, selection: &Selection) -> Result<Changes, Error> {
    let workspace = open(folder)?;
    let changes = match selection {
        Selection::Changed | Selection::All => folder::files(folder)?,
        Selection::Files(paths) => named(folder, folder, &workspace, paths)?,
        Selection::Staged => return Err(Error::NoRepository { path: folder.to_owned(), asked: "`--staged`" }),
        Selection::Between { .. } => {
            return Err(Error::NoRepository { path: folder.to_owned(), asked: "`--from-ref`" });
        }
    };
    Ok(Changes { changes: sized(changes, &workspace), workspace, base: None, from_git: false, _snapshot: None })
}

fn in_repository(
    folder: &Path,
    repository: &git::Repository,
    selection: &Selection,
    hunks: bool,
) -> Result<Changes, Error> {
    let mut workspace = open(&repository.root)?;
    let (found, snapshot) = match selection {
        Selection::Changed => (repository.changed(hunks)?, None),
        Selection::All => (repository.all()?.into(), None),
        Selection::Files(paths) => (named(folder, &repository.root, &workspace, paths)?.into(), None),
        Selection::Staged => (repository.staged(hunks)?, Some(repository.export(None)?)),
        Selection::Between { from, to } => (repository.between(from, to, hunks)?, Some(repository.export(Some(to))?)),
    };
    if let Some(snapshot) = &snapshot {
        workspace = open(snapshot.path())?;
    }
    let changes = sized(found.changes, &workspace);
    Ok(Changes { changes, workspace, base: found.base, from_git: true, _snapshot: snapshot })
}

/// The files that the caller named. A folder stands for the files in it.
fn named(folder: &Path, root: &Path, workspace: &Workspace, paths: &[PathBuf]) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for path in paths {
        let outside = || Error::Outside { path: path.clone(), root: root.to_owned() };
        let not_found =
            |error: std::io::Error| Error::Unreadable { path: path.display().to_string(), why: error.to_string() };
        let joined = folder.join(path);
        // Only the folder is made real: the last part may be a link, which is refused when it is read, and not followed.
        let absolute = match (joined.parent(), joined.file_name()) {
            (Some(parent), Some(name)) => parent.canonicalize().map_err(not_found)?.join(name),
            _ => joined.canonicalize().map_err(not_found)?,
        };
        let inside = absolute.strip_prefix(root).map_err(|_| outside())?;
        let inside = inside.to_str().ok_or_else(|| Error::BadPath(inside.display().to_string()))?;
        let unreadable = |why: workspace::Error| Error::Unreadable { path: inside.to_owned(), why: why.to_string() };
        match workspace.stat(inside).map_err(unreadable)?.kind {
            Kind::Directory => {
                let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
                let below = folder::files(&root.join(inside))?;
                changes
                    .extend(below.into_iter().map(|change| Change { path: prefix.clone() + &change.path, ..change }));
            }
            Kind::File | Kind::Link | Kind::Other => changes.push(whole_file(inside.to_owned(), ChangeState::Unstaged)),
        }
    }
    Ok(changes)
}

/// A file that is judged whole, because there is nothing to compare it with.
fn whole_file(path: String, state: ChangeState) -> Change {
    Change { path, kind: ChangeKind::Added, state, old_path: None, size: None, hunks: None }
}

/// In order, each once, with their sizes.
fn sized(mut changes: Vec<Change>, workspace: &Workspace) -> Vec<Change> {
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes.dedup_by(|a, b| a.path == b.path);
    for change in &mut changes {
        change.size =
            workspace.stat(&change.path).ok().filter(|entry| entry.kind == Kind::File).map(|entry| entry.size);
    }
    changes
}
