//! Which files are selected, and how each selection is resolved to changes.

use super::error::{shown, shown_text};
use super::{Changes, ChangesError, Needs, folder, git, open, refuse_planted};
use crate::cache_store::CacheStore;
use crate::deadline::Deadline;
use crate::submission::{Change, ChangeKind, ChangeState};
use crate::workspace::{FileKind, FileStat, Workspace, WorkspaceError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which files are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// The differences from the last commit, untracked files included; outside a repository, every file.
    #[default]
    Changed,
    /// The staged differences from the last commit. The bytes in the index are checked.
    Staged,
    /// Every file that git tracks or would track; outside a repository, every file.
    All,
    /// These files and folders, relative to the folder of the caller.
    Files(Vec<PathBuf>),
    /// The differences between a commit and the working tree: later commits, staged, unstaged and untracked files together.
    /// If the commit is not an ancestor of `HEAD`, the merge base is used.
    Since(String),
    /// The differences between exactly this commit and the working tree, wherever `HEAD` is: for a caller who noted the
    /// commit before the work began.
    Base(String),
    /// The differences between two commits, since their merge base. The bytes of the second commit are checked.
    Between {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
    /// The changes of one commit: its difference from its first parent, or from nothing for the first commit. The bytes of the
    /// commit are checked.
    Commit(String),
}

impl Selection {
    /// Returns whether the files are checked in place, not in a private copy.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Changed | Self::All | Self::Files(_) | Self::Since(_) | Self::Base(_))
    }

    /// Returns whether all uncommitted changes of the working tree are selected.
    pub(crate) fn shows_working_tree(&self) -> bool {
        matches!(self, Self::Changed | Self::Since(_) | Self::Base(_))
    }
}

/// Selects files of a folder that is in no repository.
pub(super) fn in_folder(folder: &Path, selection: &Selection, deadline: &Deadline) -> Result<Changes, ChangesError> {
    let workspace = open(folder)?;
    let changes = match selection {
        Selection::Changed | Selection::All => folder::files(folder, "", deadline)?,
        Selection::Files(paths) => {
            named(folder, folder, &workspace, paths, &|inside: &str| folder::files(folder, inside, deadline))?
        }
        Selection::Staged => return Err(ChangesError::NoRepository { path: folder.to_owned(), asked: "`--staged`" }),
        Selection::Since(_) | Selection::Base(_) => {
            return Err(ChangesError::NoRepository { path: folder.to_owned(), asked: "`--since`" });
        }
        Selection::Between { .. } => {
            return Err(ChangesError::NoRepository { path: folder.to_owned(), asked: "`--from-ref`" });
        }
        Selection::Commit(_) => return Err(ChangesError::NoRepository { path: folder.to_owned(), asked: "a commit" }),
    };
    let mut stats = HashMap::new();
    let changes = sized(changes, &workspace, &mut stats, deadline)?;
    Ok(Changes {
        changes,
        workspace,
        base: None,
        from_git: false,
        stats: Arc::new(stats),
        repository: None,
        snapshot: None,
    })
}

/// Selects files of a repository.
pub(super) fn in_repository(
    folder: &Path,
    repository: &git::Repository,
    selection: &Selection,
    needs: &dyn Fn() -> Needs,
    store: Option<&Arc<CacheStore>>,
) -> Result<Changes, ChangesError> {
    let root = &repository.root;
    refuse_planted(root, &repository.environment)?;
    let mut workspace = open(root)?;
    let found = match selection {
        Selection::Changed => repository.changed(&workspace, needs, store)?,
        Selection::All => repository.files("", &workspace, store)?,
        Selection::Files(paths) => {
            let below = |inside: &str| match is_of_another(root, inside) {
                true => folder::files(root, inside, &repository.deadline),
                false => repository.files(inside, &workspace, store).map(|found| found.changes),
            };
            named(folder, root, &workspace, paths, &below)?.into()
        }
        Selection::Staged => repository.staged(needs)?,
        Selection::Since(name) => repository.since(name, false, &workspace, needs, store)?,
        Selection::Base(name) => repository.since(name, true, &workspace, needs, store)?,
        Selection::Between { from, to } => repository.between(from, to, needs)?,
        Selection::Commit(name) => repository.commit(name, needs)?,
    };
    if let Some(snapshot) = &found.snapshot {
        workspace = open(snapshot.path())?;
    }
    let mut stats = found.stats;
    let changes = sized(found.changes, &workspace, &mut stats, &repository.deadline)?;
    let (repository, stats) = (Some(root.clone()), Arc::new(stats));
    Ok(Changes { changes, workspace, base: found.base, from_git: true, stats, repository, snapshot: found.snapshot })
}

/// Returns whether a folder belongs to a nested repository.
fn is_of_another(root: &Path, inside: &str) -> bool {
    let folders = Path::new(inside).ancestors().filter(|folder| !folder.as_os_str().is_empty());
    folders.map(|folder| root.join(folder).join(".git")).any(|git| git.symlink_metadata().is_ok())
}

/// Returns the files that the caller named. A folder stands for the files below it.
fn named(
    folder: &Path,
    root: &Path,
    workspace: &Workspace,
    paths: &[PathBuf],
    below: &dyn Fn(&str) -> Result<Vec<Change>, ChangesError>,
) -> Result<Vec<Change>, ChangesError> {
    let mut changes = Vec::new();
    for path in paths {
        let outside = || ChangesError::Outside { path: path.clone(), root: root.to_owned() };
        let not_found = |error: std::io::Error| ChangesError::Unreadable { path: shown(path), why: error.to_string() };
        let joined = folder.join(path);
        // Only the folder is resolved: the last part may be a symlink, which is checked as such.
        let absolute = match (joined.parent(), joined.file_name()) {
            (Some(parent), Some(name)) => parent.canonicalize().map_err(not_found)?.join(name),
            _ => joined.canonicalize().map_err(not_found)?,
        };
        let inside = absolute.strip_prefix(root).map_err(|_| outside())?;
        let inside = inside.to_str().ok_or_else(|| ChangesError::BadPath(shown(inside)))?;
        let unreadable =
            |why: WorkspaceError| ChangesError::Unreadable { path: shown_text(inside), why: why.to_string() };
        match workspace.stat(inside).map_err(unreadable)?.kind {
            FileKind::Directory => changes.extend(below(inside)?),
            FileKind::File | FileKind::Link | FileKind::Other => {
                changes.push(whole_file(inside.to_owned(), ChangeState::Unstaged))
            }
        }
    }
    Ok(changes)
}

/// Returns a change for a file that is checked as a whole, because there is nothing to compare it with.
pub(super) fn whole_file(path: String, state: ChangeState) -> Change {
    Change {
        path,
        kind: ChangeKind::Added,
        state,
        old_path: None,
        size: None,
        hunks: None,
        old_mode: None,
        new_mode: None,
    }
}

/// Sorts and deduplicates changes, and adds their sizes and stat results.
fn sized(
    mut changes: Vec<Change>,
    workspace: &Workspace,
    stats: &mut HashMap<String, FileStat>,
    deadline: &Deadline,
) -> Result<Vec<Change>, ChangesError> {
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes.dedup_by(|a, b| a.path == b.path);
    for change in changes.iter_mut().filter(|change| change.size.is_none() && change.kind != ChangeKind::Deleted) {
        deadline.check()?;
        if let Some(stat) = workspace.file_stat(&change.path) {
            change.size = Some(stat.mark.size());
            stats.insert(change.path.clone(), stat);
        }
    }
    Ok(changes)
}
