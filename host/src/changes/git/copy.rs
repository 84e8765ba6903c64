//! A copy of the working tree, as a linked worktree of the same repository: with its own index and `HEAD`, at the same base.
//!
//! It contains the files that git tracks or would track, as they are in the working tree. Ignored files, such as installed
//! dependencies, are missing, and so are symlinks that lead out of the working tree or into its repository.

use super::program::Git;
use super::{Repository, path};
use crate::changes::{ChangesError, shown};
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::temporary::{Purpose, Temporary};
use crate::workspace::Workspace;
use crate::writer::{Beneath, WriteError};
use std::path::{Path, PathBuf};

/// The name of a copy in its temporary folder.
const NAME: &str = "work";

/// The copy, which is deleted with this value.
#[derive(Debug)]
pub(crate) struct Copy {
    root: PathBuf,
    original: PathBuf,
    environment: Environment,
    left_out: Vec<String>,
    _folder: Temporary,
}

impl Copy {
    /// Returns the root of the copy.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the symlinks that are missing, because they lead out of the working tree or into its repository.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // If a part of it cannot be deleted, the next copy deletes it.
        if let (Ok(git), Some(root)) =
            (Git::open(&self.original, &self.environment, &Deadline::default()), self.root.to_str())
        {
            let _ = git.run(&["worktree", "remove", "--force", "--force", "--", root]);
        }
    }
}

impl Repository {
    /// Copies the working tree, at this commit.
    pub(in crate::changes) fn copy(&self, base: &str, work: &Workspace) -> Result<Copy, ChangesError> {
        let failed = |error: std::io::Error| ChangesError::Snapshot(error.to_string());
        let unusable =
            |path: &str, error: &WriteError| ChangesError::Snapshot(format!("`{}`: {error}", shown(Path::new(path))));
        let git = self.git()?;
        let folder = Temporary::new(Purpose::Copy).map_err(failed)?;
        let root = folder.path().join(NAME);
        let name = root.to_str().ok_or_else(|| ChangesError::BadPath(root.display().to_string()))?;
        remove_stale(git)?;
        git.run(&["worktree", "add", "--quiet", "--detach", "--no-checkout", "--", name, base])?;
        let (original, environment) = (self.root.clone(), self.environment.clone());
        let mut copy = Copy { root, original, environment, left_out: Vec::new(), _folder: folder };
        // The environment may refer to the original.
        let missing = || ChangesError::Snapshot("git does not see the linked worktree".to_owned());
        Git::open_other(&copy.root, &self.environment, &self.deadline)?
            .ok_or_else(missing)?
            .run(&["read-tree", base])?;
        let into = Beneath::open(&copy.root).map_err(failed)?;
        let mut links = Vec::new();
        for file in self.files("", work, None)?.changes {
            self.deadline.check()?;
            let file = path(file.path.as_bytes())?;
            let target = into.copy(work, &file).map_err(|error| unusable(&file, &error))?;
            links.extend(target.map(|target| (file, target)));
        }
        // Symlinks last, so that nothing is written through one, and those that lead out of the copy not at all.
        for (link, target) in &links {
            into.link(link, target).map_err(|error| unusable(link, &error))?;
        }
        let inside = Workspace::open(&copy.root).map_err(failed)?;
        for (link, _) in links.iter().filter(|(link, _)| !inside.stays_inside(link)) {
            into.remove(link).map_err(|error| unusable(link, &error))?;
            copy.left_out.push(link.clone());
        }
        Ok(copy)
    }
}

/// Removes what the repository still knows about copies of killed runs. Other linked worktrees stay, even if they are missing: they
/// may be on a disk that is not mounted.
fn remove_stale(git: &Git) -> Result<(), ChangesError> {
    let listed = String::from_utf8_lossy(&git.run(&["worktree", "list", "--porcelain"])?).into_owned();
    for root in listed.lines().filter_map(|line| line.strip_prefix("worktree ")) {
        let Some(folder) = Path::new(root).parent().filter(|_| Path::new(root).ends_with(NAME)) else { continue };
        let name = folder.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(Purpose::Copy.prefix().as_bytes()) && folder.symlink_metadata().is_err() {
            // Another run may have removed it.
            let _ = git.run(&["worktree", "remove", "--force", "--force", "--", root]);
        }
    }
    Ok(())
}
