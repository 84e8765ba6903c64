//! The files that a command must never change: the configuration and the repository.

use super::file_digest::FileDigests;
use super::repository;
use std::path::{Path, PathBuf};

/// Protected files in the root of the workspace.
const FILES: [&str; 3] = ["gate.toml", "gate.lock", ".git"];
/// Protected files of a repository: the checkout, the index, the refs, and everything that configures git.
const OF_GIT: [&str; 8] = ["HEAD", "index", "config", "config.worktree", "hooks", "info", "packed-refs", "refs"];

/// The protected paths of one workspace.
#[derive(Debug)]
pub(super) struct Protected {
    root: PathBuf,
    /// Files that may be missing. The configuration may be anywhere, so its real path is used.
    files: Vec<PathBuf>,
    repository: Vec<PathBuf>,
}

impl Protected {
    /// Returns the protected paths of the workspace `root`, which has no symlink in it, with this configuration file.
    pub(super) fn new(root: &Path, configuration: Option<&Path>) -> Self {
        let mut files = FILES.map(|name| root.join(name)).to_vec();
        let configuration = configuration.and_then(|path| path.canonicalize().ok());
        files.extend(configuration.filter(|path| !FILES.iter().any(|name| root.join(name) == *path)));
        Self { root: root.to_owned(), files, repository: repository::folders(root) }
    }

    /// Returns the folders of the repository. A command needs to read them.
    pub(super) fn repository(&self) -> &[PathBuf] {
        &self.repository
    }

    /// Returns the protected paths that exist. For a symlink, its target.
    pub(super) fn places(&self) -> impl Iterator<Item = &Path> {
        let there = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|about| !about.is_symlink());
        self.files.iter().chain(&self.repository).filter(there).map(PathBuf::as_path)
    }

    /// Returns whether a path without symlinks is protected.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.files.iter().chain(&self.repository).any(|protected| path.starts_with(protected))
    }

    /// Returns the digests of all protected paths.
    pub(super) fn digests(&self) -> [FileDigests; 2] {
        let git = self.root.join(".git");
        let folders = if self.repository.is_empty() { std::slice::from_ref(&git) } else { &self.repository };
        let inside = folders.iter().flat_map(|folder| OF_GIT.map(|name| folder.join(name)));
        [FileDigests::of(self.files.iter().cloned(), false), FileDigests::of(inside, true)]
    }

    /// Returns a protected path that has changed. Paths that are `mounted` read-only are skipped: the command cannot have
    /// changed them, and another process may work in the repository.
    pub(super) fn changed(&self, before: &[FileDigests; 2], mounted: bool) -> Option<String> {
        let [files, repository] = self.digests();
        let in_repository = || before[1].first_difference(&repository);
        let is_mounted = mounted && !self.repository.is_empty();
        let changed = before[0].first_difference(&files).or_else(|| if is_mounted { None } else { in_repository() });
        changed.map(|path| path.strip_prefix(&self.root).unwrap_or(path).display().to_string())
    }
}
