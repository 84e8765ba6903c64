//! What decides about the work, and so must not be changed by testing it: the configuration and the repository.

use super::file_digest::FileDigests;
use super::repository;
use std::path::{Path, PathBuf};

/// In the root of the workspace.
const FILES: [&str; 3] = ["gate.toml", "gate.lock", ".git"];
/// In a repository: what is checked out, staged and referred to; and what git would do, or run.
const OF_GIT: [&str; 8] = ["HEAD", "index", "config", "config.worktree", "hooks", "info", "packed-refs", "refs"];

/// All of that for one work.
#[derive(Debug)]
pub(super) struct Protected {
    root: PathBuf,
    /// Each may be missing. The configuration, which may be anywhere, is named by where it really is.
    files: Vec<PathBuf>,
    repository: Vec<PathBuf>,
}

impl Protected {
    /// For the work in `root`, which has no link in it, judged by the file `configuration`.
    pub(super) fn new(root: &Path, configuration: Option<&Path>) -> Self {
        let mut files = FILES.map(|name| root.join(name)).to_vec();
        let configuration = configuration.and_then(|path| path.canonicalize().ok());
        files.extend(configuration.filter(|path| !FILES.iter().any(|name| root.join(name) == *path)));
        Self { root: root.to_owned(), files, repository: repository::folders(root) }
    }

    /// Returns the folders of the repository, wherever they are: a working tree is of no use without.
    pub(super) fn repository(&self) -> &[PathBuf] {
        &self.repository
    }

    /// What is never writable, of what is there. A link is none of it: what it leads to is.
    pub(super) fn places(&self) -> impl Iterator<Item = &Path> {
        let there = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|about| !about.is_symlink());
        self.files.iter().chain(&self.repository).filter(there).map(PathBuf::as_path)
    }

    /// Returns whether a path, which has no link in it, is or would be a part of it.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.files.iter().chain(&self.repository).any(|protected| path.starts_with(protected))
    }

    /// Returns how it all is now.
    pub(super) fn digests(&self) -> [FileDigests; 2] {
        let git = self.root.join(".git");
        let folders = if self.repository.is_empty() { std::slice::from_ref(&git) } else { &self.repository };
        let inside = folders.iter().flat_map(|folder| OF_GIT.map(|name| folder.join(name)));
        [FileDigests::of(self.files.iter().cloned(), false), FileDigests::of(inside, true)]
    }

    /// What is not as it was, as a text. What is `mounted` read-only was not changed by whom it was mounted for, and
    /// others may well work in the repository.
    pub(super) fn changed(&self, before: &[FileDigests; 2], mounted: bool) -> Option<String> {
        let [files, repository] = self.digests();
        let in_repository = || before[1].first_difference(&repository);
        let is_mounted = mounted && !self.repository.is_empty();
        let changed = before[0].first_difference(&files).or_else(|| if is_mounted { None } else { in_repository() });
        changed.map(|path| path.strip_prefix(&self.root).unwrap_or(path).display().to_string())
    }
}
