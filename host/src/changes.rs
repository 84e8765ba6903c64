//! What is judged: which files changed, and where their bytes are.
//!
//! In a repository, the changes are the differences between a commit and the working tree, the index or another commit;
//! elsewhere, all files of the folder. The repository belongs to the author of the change, so nothing in it is believed
//! but objects that were hashed here: `git.rs` says how.

mod diff;
mod folder;
mod git;

#[cfg(all(feature = "commands", target_os = "linux"))]
pub(crate) use diff::edits;

use crate::cache_store::CacheStore;
use crate::config::nearest;
use crate::environment::Environment;
use crate::submission::{Change, ChangeKind, ChangeState};
use crate::text;
use crate::workspace::{self, FileKind, FileStat, Workspace};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Characters of a path in a message.
const MAX_SHOWN: usize = 1_000;

/// Which files are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// What differs between a commit and the working tree: later commits, the index, unstaged and untracked files in
    /// one subject. If the commit is not an ancestor of `HEAD`, their merge base takes its place.
    Since(String),
    /// What differs between exactly this commit and the working tree, wherever `HEAD` has gone since: for whoever noted the
    /// commit before the work began.
    Base(String),
    /// What differs between two commits, from where they parted. Judged are the bytes of the second.
    Between {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
    /// What a commit changes: it differs from its first parent, and the first commit from nothing. Judged are the bytes of the
    /// commit.
    Commit(String),
}

impl Selection {
    /// Whether the files are judged where they are, and not as a copy that nobody else knows.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Changed | Self::All | Self::Files(_) | Self::Since(_) | Self::Base(_))
    }

    /// Whether everything that is not committed in the working tree is part of it.
    pub(crate) fn shows_working_tree(&self) -> bool {
        matches!(self, Self::Changed | Self::Since(_) | Self::Base(_))
    }
}

/// Why the changes cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangesError {
    /// The folder cannot be used.
    #[error("cannot open the folder `{}`: {source}", shown(.path))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Only git can answer that.
    #[error("`{}` is not in a git repository, and {asked} needs one", shown(.path))]
    NoRepository {
        /// The folder.
        path: PathBuf,
        /// The flag.
        asked: &'static str,
    },
    /// There is a repository, and nobody to ask about it.
    #[error("cannot find changes: no `git` in PATH outside the workspace")]
    NoGit,
    /// Git could not answer.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// What it was asked.
        command: String,
        /// What it said.
        message: String,
    },
    /// Git would look at other files than those that are read.
    #[error("git uses `{}` as the working tree of `{}`, so it would not see the checked files", shown(.top), shown(.found))]
    Elsewhere {
        /// Where the repository was found.
        found: PathBuf,
        /// Where git looks.
        top: PathBuf,
    },
    /// A repository was made inside another, around files that belong to the outer one.
    #[error("`{}` has a `.git` of its own, and its files belong to the repository `{}`", shown(.inner), shown(.outer))]
    Planted {
        /// The root of the inner one.
        inner: PathBuf,
        /// The root of the outer one.
        outer: PathBuf,
    },
    /// No commit has that name.
    #[error("`{name}` is not a commit of this repository")]
    UnknownCommit {
        /// The name.
        name: String,
        /// Whether a part of the history is missing.
        is_shallow: bool,
        /// The names of branches and tags.
        known: Vec<String>,
    },
    /// Several commits have that name.
    #[error("`{0}` is ambiguous: more than one ref has this name")]
    Ambiguous(String),
    /// Two commits never parted.
    #[error("`{from}` and `{to}` have no common ancestor{}", if *.is_shallow { " in this shallow clone" } else { "" })]
    NoCommonAncestor {
        /// The first.
        from: String,
        /// The second.
        to: String,
        /// Whether a part of the history is missing.
        is_shallow: bool,
    },
    /// Some commits between two are missing, so that nobody can tell where they parted.
    #[error("`{from}` and `{to}` parted in a part of the history that is not here")]
    Incomplete {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
    /// The index has several contents for one file.
    #[error("`{}` has merge conflicts, so there is no staged content to check", shown_text(.0))]
    Unmerged(String),
    /// A file changed that is not in the working tree.
    #[error("`{}` has changed, but the sparse checkout excludes it from the working tree", shown_text(.0))]
    LeftOut(String),
    /// A commit or an index holds what no folder can.
    #[error("`{}` is stored twice, or both as a file and as a folder", shown_text(.0))]
    Clash(String),
    /// An object that is needed is not there.
    #[error("{what} (`{id}`) is missing from this clone")]
    Missing {
        /// What it is needed for.
        what: String,
        /// Its id.
        id: String,
    },
    /// An object has other bytes than its id stands for.
    #[error("the content of object `{id}` does not match its id")]
    Forged {
        /// The id.
        id: String,
    },
    /// A tree is not one.
    #[error("this repository has a malformed tree object")]
    BadTree,
    /// The index cannot be read.
    #[error("cannot read the index of this repository: {0}")]
    BadIndex(String),
    /// The index has an id for a folder that is not that of the folder's entries.
    #[error("the cached tree of {} in the index does not match its entries, so `git commit` would store other content", if .0.is_empty() { "the root folder".to_owned() } else { format!("the folder `{}`", .0) })]
    ForgedIndex(String),
    /// Git would wait for a file, or read it without an end.
    #[error("cannot let git read `{path}`: {why}")]
    Unbounded {
        /// The file.
        path: String,
        /// What it is.
        why: String,
    },
    /// What is stored cannot be written down to be judged.
    #[error("cannot write the files to a temporary folder: {0}")]
    Snapshot(String),
    /// A file that was named is not inside the root.
    #[error("`{}` is not inside `{}`", shown(.path), shown(.root))]
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
    #[error("the path `{0}` cannot be checked: it is not UTF-8, or contains control characters")]
    BadPath(String),
}

impl ChangesError {
    /// Whether the machine is at fault, and not the caller: there is no space, or git did not answer in time.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Snapshot(_) | Self::Git { .. })
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        if let Self::UnknownCommit { name, is_shallow: false, known } = self {
            let near = nearest(name, known.iter().map(String::as_str));
            return near.or(Some("`git branch --all` lists the branches".to_owned()));
        }
        let hint = match self {
            Self::NoRepository { .. } => "use `--files` or `--all-files`, or run in a git repository",
            Self::Missing { .. } => "in a partial clone, fetch it first: `git fetch --refetch --no-filter`",
            Self::Forged { .. } => "`git fsck` lists damaged objects; clone the repository again",
            Self::ForgedIndex(_) => "run `git read-tree HEAD`, then `git add` the files to commit",
            Self::Unbounded { .. } => "replace it by a regular file, or remove it",
            Self::NoGit => "install git, or name the files with `--files`",
            Self::Elsewhere { .. } => {
                "check `core.worktree`, `GIT_DIR` and `GIT_WORK_TREE`, and that `.git` is a repository"
            }
            Self::UnknownCommit { is_shallow: true, .. }
            | Self::NoCommonAncestor { is_shallow: true, .. }
            | Self::Incomplete { .. } => "fetch the whole history with `git fetch --unshallow`",
            Self::Planted { .. } => "remove that `.git`, or choose the outer repository with `-C`",
            Self::Ambiguous(_) => "use the full name: `refs/heads/…`, `refs/remotes/…` or `refs/tags/…`",
            Self::LeftOut(_) => "judge what is stored with `--from-ref` or `--staged`, or check it out",
            Self::Unmerged(_) => "resolve the conflict and `git add` the file",
            Self::Outside { .. } => "choose the root with `-C`",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// A path as a message may show it: whoever made the file chose its name.
fn shown(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

fn shown_text(path: &str) -> String {
    text::clean_line(path, MAX_SHOWN)
}

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
    /// Whether the files are a copy that nobody else knows.
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

    /// The paths of the files that are there to be judged.
    pub fn paths(&self) -> Vec<&str> {
        present(&self.changes).collect()
    }
}

/// The paths of those changes that left a file behind.
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

/// The root of the repository that `folder`, a real path, is in.
pub fn repository(folder: &Path, environment: &Environment) -> Result<Option<PathBuf>, ChangesError> {
    Ok(git::Repository::find(folder, environment)?.map(|repository| repository.root))
}

/// The paths of all files below a folder.
pub fn below(folder: &Path) -> Result<Vec<String>, ChangesError> {
    Ok(folder::files(folder, "")?.into_iter().map(|change| change.path).collect())
}

/// The root of the repository that `folder` is in.
pub fn root(folder: &Path, environment: &Environment) -> Result<Option<PathBuf>, ChangesError> {
    let real = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    repository(&real, environment)
}

/// Files of a commit, in a folder of their own that is deleted with this value.
#[derive(Debug)]
pub struct StoredFiles {
    snapshot: git::Snapshot,
    commit: String,
}

impl StoredFiles {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.snapshot.path()
    }

    /// The commit, in full.
    pub fn commit(&self) -> &str {
        &self.commit
    }
}

/// These files as a commit has them; those that it does not have are left out. Paths are relative to the root of the
/// repository.
pub fn stored(
    root: &Path,
    commit: &str,
    paths: &BTreeSet<&str>,
    environment: &Environment,
) -> Result<StoredFiles, ChangesError> {
    let missing = || ChangesError::NoRepository { path: root.to_owned(), asked: "`--policy-from`" };
    let repository = git::Repository::find(root, environment)?.ok_or_else(missing)?;
    let (commit, snapshot) = repository.stored(commit, paths)?;
    Ok(StoredFiles { snapshot, commit })
}

/// All files of a commit.
pub fn checkout(root: &Path, commit: &str, environment: &Environment) -> Result<StoredFiles, ChangesError> {
    let missing = || ChangesError::NoRepository { path: root.to_owned(), asked: "`red_green`" };
    let repository = git::Repository::find(root, environment)?.ok_or_else(missing)?;
    let (commit, snapshot) = repository.checkout(commit)?;
    Ok(StoredFiles { snapshot, commit })
}

/// The commit that a selection is relative to, where `folder` is in a repository that has one; the last one where the selection
/// compares nothing.
pub fn base(folder: &Path, selection: &Selection, environment: &Environment) -> Result<Option<String>, ChangesError> {
    let folder = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    match git::Repository::find(&folder, environment)? {
        Some(repository) => repository.base(selection),
        None => Ok(None),
    }
}

/// Files of a commit, compared with the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameFiles {
    /// The commit, in full.
    pub commit: String,
    /// The files that it has; and whether the working tree has the same bytes there.
    pub same: BTreeMap<String, bool>,
}

/// The commit that a selection is relative to, if there is one, and those of these paths that it has: whether the working tree
/// has the same file there, byte for byte. Paths are relative to `root`, the root of a repository.
pub fn same_files(
    root: &Path,
    selection: &Selection,
    paths: &BTreeSet<String>,
    environment: &Environment,
) -> Result<Option<SameFiles>, ChangesError> {
    let missing = || ChangesError::NoRepository { path: root.to_owned(), asked: "a trusted configuration" };
    git::Repository::find(root, environment)?.ok_or_else(missing)?.same_files(selection, paths)
}

/// A copy of the work that `folder` is in, at this commit, to be changed without changing the work.
pub(crate) fn copy(folder: &Path, base: &str, environment: &Environment) -> Result<git::Copy, ChangesError> {
    let folder = folder.canonicalize().map_err(|source| ChangesError::Folder { path: folder.to_owned(), source })?;
    let missing = || ChangesError::NoRepository { path: folder.clone(), asked: "a copy of the work" };
    let repository = git::Repository::find(&folder, environment)?.ok_or_else(missing)?;
    let work = open(&repository.root)?;
    repository.copy(base, &work)
}

/// The root of the outermost repository around the repository with the root `inner`, a real path. Those between may have
/// been made by the author of the change.
pub fn enclosing(inner: &Path) -> Option<PathBuf> {
    around(inner).last()
}

/// The roots of the repositories around the one with the root `inner`, the nearest first.
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

fn in_folder(folder: &Path, selection: &Selection) -> Result<Changes, ChangesError> {
    let workspace = open(folder)?;
    let changes = match selection {
        Selection::Changed | Selection::All => folder::files(folder, "")?,
        Selection::Files(paths) => {
            named(folder, folder, &workspace, paths, &|inside: &str| folder::files(folder, inside))?
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
    let mut looks = HashMap::new();
    let changes = sized(changes, &workspace, &mut looks);
    Ok(Changes { changes, workspace, base: None, from_git: false, looks, snapshot: None })
}

fn in_repository(
    folder: &Path,
    repository: &git::Repository,
    selection: &Selection,
    needs: Needs,
    store: Option<&Arc<CacheStore>>,
) -> Result<Changes, ChangesError> {
    let root = &repository.root;
    refuse_planted(root, &repository.environment)?;
    let mut workspace = open(root)?;
    let found = match selection {
        Selection::Changed => repository.changed(&workspace, needs.hunks, store)?,
        Selection::All => repository.files("", &workspace)?,
        Selection::Files(paths) => {
            let below = |inside: &str| match is_of_another(root, inside) {
                true => folder::files(root, inside),
                false => repository.files(inside, &workspace).map(|found| found.changes),
            };
            named(folder, root, &workspace, paths, &below)?.into()
        }
        Selection::Staged => repository.staged(needs)?,
        Selection::Since(name) => repository.since(name, false, &workspace, needs.hunks, store)?,
        Selection::Base(name) => repository.since(name, true, &workspace, needs.hunks, store)?,
        Selection::Between { from, to } => repository.between(from, to, needs)?,
        Selection::Commit(name) => repository.commit(name, needs)?,
    };
    if let Some(snapshot) = &found.snapshot {
        workspace = open(snapshot.path())?;
    }
    let mut looks = found.looks;
    let changes = sized(found.changes, &workspace, &mut looks);
    Ok(Changes { changes, workspace, base: found.base, from_git: true, looks, snapshot: found.snapshot })
}

/// Whether a folder belongs to a repository inside this one, of whose files this one knows nothing.
fn is_of_another(root: &Path, inside: &str) -> bool {
    let folders = Path::new(inside).ancestors().filter(|folder| !folder.as_os_str().is_empty());
    folders.map(|folder| root.join(folder).join(".git")).any(|git| git.symlink_metadata().is_ok())
}

/// The files that the caller named. A folder stands for the files `below` it.
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
        // Only the folder is made real: the last part may be a link, and who judges it says what becomes of one.
        let absolute = match (joined.parent(), joined.file_name()) {
            (Some(parent), Some(name)) => parent.canonicalize().map_err(not_found)?.join(name),
            _ => joined.canonicalize().map_err(not_found)?,
        };
        let inside = absolute.strip_prefix(root).map_err(|_| outside())?;
        let inside = inside.to_str().ok_or_else(|| ChangesError::BadPath(shown(inside)))?;
        let unreadable = |why: workspace::WorkspaceError| ChangesError::Unreadable {
            path: shown_text(inside),
            why: why.to_string(),
        };
        match workspace.stat(inside).map_err(unreadable)?.kind {
            FileKind::Directory => changes.extend(below(inside)?),
            FileKind::File | FileKind::Link | FileKind::Other => {
                changes.push(whole_file(inside.to_owned(), ChangeState::Unstaged))
            }
        }
    }
    Ok(changes)
}

/// A file that is judged whole, because there is nothing to compare it with.
fn whole_file(path: String, state: ChangeState) -> Change {
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

/// In order, each once, with their sizes. What is looked at for that is noted.
fn sized(mut changes: Vec<Change>, workspace: &Workspace, looks: &mut HashMap<String, FileStat>) -> Vec<Change> {
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes.dedup_by(|a, b| a.path == b.path);
    for change in changes.iter_mut().filter(|change| change.size.is_none() && change.kind != ChangeKind::Deleted) {
        if let Some(sight) = workspace.sight(&change.path) {
            change.size = Some(sight.mark.size());
            looks.insert(change.path.clone(), sight);
        }
    }
    changes
}
