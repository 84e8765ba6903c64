//! The files of a repository, and a check that git can read those that it reads as a whole.

use crate::changes::{ChangesError, shown};
use crate::environment::Environment;
use crate::regular_file::{self, Symlinks};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most bytes of a pattern or configuration file. Git reads it as a whole, and some for every folder.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// Files that git always reads as a whole.
const READ_WHOLE: &[&str] = &[
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "shallow",
];
/// All refs in one file. Git reads it as a whole too, and a large repository has many.
const REFS: &str = "packed-refs";
const MAX_REFS_BYTES: u64 = 256 << 20;

/// The folders of a repository.
#[derive(Debug)]
pub(super) struct Layout {
    /// The folder of this working tree.
    folder: PathBuf,
    /// The common folder of all working trees.
    common: PathBuf,
    /// The index.
    pub(super) index: PathBuf,
}

impl Layout {
    /// Returns the layout that git finds for the working tree `root`.
    pub(super) fn of(root: &Path, environment: &Environment) -> Self {
        let told = |name: &str| environment.get(name).map(|folder| root.join(folder));
        let folder = told("GIT_DIR").unwrap_or_else(|| {
            let entry = root.join(".git");
            // In a submodule or a linked working tree, `.git` is a file with the path of the folder.
            match pointer(&entry, b"gitdir: ") {
                Some(folder) => root.join(folder),
                None => entry,
            }
        });
        let common = told("GIT_COMMON_DIR");
        let common = common.or_else(|| Some(folder.join(pointer(&folder.join("commondir"), b"")?)));
        let index = told("GIT_INDEX_FILE").unwrap_or_else(|| folder.join("index"));
        Self { common: common.unwrap_or_else(|| folder.clone()), folder, index }
    }

    /// Refuses a repository in which git would block on a pipe, or read an endless file.
    pub(super) fn refuse_unbounded(&self) -> Result<(), ChangesError> {
        let folders = if self.common == self.folder { vec![&self.folder] } else { vec![&self.folder, &self.common] };
        for folder in folders {
            READ_WHOLE.iter().try_for_each(|name| refuse_unbounded(&folder.join(name)))?;
        }
        refuse_longer(&self.common.join(REFS), MAX_REFS_BYTES)
    }

    /// Returns the folder of this working tree.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the common folder of all working trees.
    pub(super) fn common(&self) -> &Path {
        &self.common
    }

    /// Returns whether a part of the history is missing.
    pub(super) fn is_shallow(&self) -> bool {
        self.common.join("shallow").symlink_metadata().is_ok()
    }

    /// Returns whether the repository belongs to the caller.
    pub(super) fn is_ours(&self) -> bool {
        let user = rustix::process::geteuid().as_raw();
        [&self.folder, &self.common].iter().all(|folder| folder.metadata().is_ok_and(|about| about.uid() == user))
    }

    /// Returns whether there is a repository, as far as that is visible without git.
    pub(super) fn is_plausible(&self) -> bool {
        self.folder.join("HEAD").symlink_metadata().is_ok()
    }
}

/// Refuses what is neither a regular file of at most [`MAX_BYTES`] nor a folder, symlinks resolved.
pub(super) fn refuse_unbounded(path: &Path) -> Result<(), ChangesError> {
    refuse_longer(path, MAX_BYTES)
}

fn refuse_longer(path: &Path, most: u64) -> Result<(), ChangesError> {
    let Ok(about) = path.metadata() else { return Ok(()) };
    let why = if !about.is_file() && !about.is_dir() {
        "it is not a regular file".to_owned()
    } else if about.is_file() && about.len() > most {
        format!("it has {} bytes, and at most {most} are read", about.len())
    } else {
        return Ok(());
    };
    Err(ChangesError::Unbounded { path: shown(path), why })
}

/// Returns the rest of a small file after `start`.
fn pointer(path: &Path, start: &[u8]) -> Option<PathBuf> {
    let mut text = Vec::new();
    regular_file::open(path, Symlinks::Follow).ok()?.take(16 << 10).read_to_end(&mut text).ok()?;
    let target = text.strip_prefix(start)?.trim_ascii_end();
    Some(PathBuf::from(OsStr::from_bytes(target)))
}
