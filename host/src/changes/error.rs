//! Why the changes cannot be found, and what to do about it.

use crate::config::nearest;
use crate::text;
use std::path::{Path, PathBuf};

/// Characters of a path in a message.
const MAX_SHOWN: usize = 1_000;

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
    /// Returns whether the machine is at fault, and not the caller: there is no space, or git did not answer in time.
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

/// Returns a path as a message may show it: whoever made the file chose its name.
pub(super) fn shown(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

pub(super) fn shown_text(path: &str) -> String {
    text::clean_line(path, MAX_SHOWN)
}
