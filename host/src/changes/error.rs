//! Why the changes cannot be found, and what to do about it.

use crate::config::nearest;
use crate::deadline::Late;
use crate::text;
use std::path::{Path, PathBuf};

/// Characters of a path in a message.
const MAX_SHOWN: usize = 1_000;

/// Why the changes cannot be found.
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
    /// The selection needs a repository.
    #[error("`{}` is not in a git repository, and {asked} needs one", shown(.path))]
    NoRepository {
        /// The folder.
        path: PathBuf,
        /// The flag.
        asked: &'static str,
    },
    /// There is a repository, but no `git` program.
    #[error("cannot find changes: no `git` in PATH outside the workspace")]
    NoGit,
    /// Git failed.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// The git command.
        command: String,
        /// The message of git.
        message: String,
    },
    /// Git would use another working tree.
    #[error("git uses `{}` as the working tree of `{}`, so it would not see the checked files", shown(.top), shown(.found))]
    Elsewhere {
        /// Where the repository was found.
        found: PathBuf,
        /// The working tree that git uses.
        top: PathBuf,
    },
    /// A repository was created inside another, around files that belong to the outer one.
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
    /// Two commits have no common ancestor.
    #[error("`{from}` and `{to}` have no common ancestor{}", if *.is_shallow { " in this shallow clone" } else { "" })]
    NoCommonAncestor {
        /// The first.
        from: String,
        /// The second.
        to: String,
        /// Whether a part of the history is missing.
        is_shallow: bool,
    },
    /// The merge base is in a missing part of the history.
    #[error("the merge base of `{from}` and `{to}` is in a part of the history that this clone does not have")]
    Incomplete {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
    /// A file has merge conflicts.
    #[error("`{}` has merge conflicts, so there is no staged content to check", shown_text(.0))]
    Unmerged(String),
    /// A changed file is not in the working tree, because the checkout is sparse.
    #[error("`{}` has changed, but the sparse checkout excludes it from the working tree", shown_text(.0))]
    LeftOut(String),
    /// A commit or an index contains paths that no folder can have.
    #[error("`{}` is stored twice, or both as a file and as a folder", shown_text(.0))]
    Clash(String),
    /// An object is missing.
    #[error("{what} (`{id}`) is missing from this clone")]
    Missing {
        /// What it is needed for.
        what: String,
        /// Its id.
        id: String,
    },
    /// The bytes of an object do not match its id.
    #[error("the content of object `{id}` does not match its id")]
    Forged {
        /// The id.
        id: String,
    },
    /// A tree object is malformed.
    #[error("this repository has a malformed tree object")]
    BadTree,
    /// The index cannot be read.
    #[error("cannot read the index of this repository: {0}")]
    BadIndex(String),
    /// The index has a tree id for a folder that does not match its entries.
    #[error("the cached tree of {} in the index does not match its entries, so `git commit` would store other content", if .0.is_empty() { "the root folder".to_owned() } else { format!("the folder `{}`", .0) })]
    ForgedIndex(String),
    /// Git would block on a file, or read it without end.
    #[error("cannot let git read `{path}`: {why}")]
    Unbounded {
        /// The file.
        path: String,
        /// What it is.
        why: String,
    },
    /// The files cannot be written to a temporary folder.
    #[error("cannot write the files to a temporary folder: {0}")]
    Snapshot(String),
    /// A named file is not inside the root.
    #[error("`{}` is not inside `{}`", shown(.path), shown(.root))]
    Outside {
        /// The file.
        path: PathBuf,
        /// The root.
        root: PathBuf,
    },
    /// A named file cannot be read.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// The deadline of the run has passed.
    #[error(transparent)]
    Late(#[from] Late),
    /// A path cannot be passed to a verifier.
    #[error("the path `{0}` cannot be checked: it is not UTF-8, or contains control characters")]
    BadPath(String),
}

impl ChangesError {
    /// Returns whether the machine is at fault, not the caller: there is no disk space, or time is up.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Snapshot(_) | Self::Git { .. } | Self::Late(_))
    }

    /// Returns what to do about it.
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
            Self::LeftOut(_) => "check the stored content with `--from-ref` or `--staged`, or check the file out",
            Self::Unmerged(_) => "resolve the conflict and `git add` the file",
            Self::Outside { .. } => "choose the root with `-C`",
            Self::Late(_) => "raise `deadline` in gate.toml",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Returns a path for a message, escaped, because the author of the change chose the name.
pub(super) fn shown(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

pub(super) fn shown_text(path: &str) -> String {
    text::clean_line(path, MAX_SHOWN)
}
