//! Where the files of a repository are, and that those which git reads whole are ones that can be read.

use crate::changes::{Error, shown};
use crate::regular_file::{self, Symlinks};
use std::env;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most bytes of a file of patterns or settings. Git reads it whole, and some of them for every folder.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// Files that git reads whole, whatever it is asked.
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
];

/// The folders of a repository.
#[derive(Debug)]
pub(super) struct Layout {
    /// Of this working tree.
    folder: PathBuf,
    /// Of all working trees of the repository.
    common: PathBuf,
    /// The index.
    pub(super) index: PathBuf,
}

impl Layout {
    /// As git finds them for the working tree `root`.
    pub(super) fn of(root: &Path) -> Self {
        let told = |name: &str| env::var_os(name).map(|folder| root.join(folder));
        let folder = told("GIT_DIR").unwrap_or_else(|| {
            let entry = root.join(".git");
            // In a submodule and in a linked working tree, it is a file that says where the folder is.
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

    /// Refuses a repository in which git would wait for a pipe, or reads a file that has no end.
    pub(super) fn refuse_unbounded(&self) -> Result<(), Error> {
        let folders = if self.common == self.folder { vec![&self.folder] } else { vec![&self.folder, &self.common] };
        for folder in folders {
            READ_WHOLE.iter().try_for_each(|name| refuse_unbounded(&folder.join(name)))?;
        }
        Ok(())
    }
}

/// Refuses what is neither a regular file of at most [`MAX_BYTES`] nor a folder, symlinks resolved.
pub(super) fn refuse_unbounded(path: &Path) -> Result<(), Error> {
    let Ok(about) = path.metadata() else { return Ok(()) };
    let why = if !about.is_file() && !about.is_dir() {
        "it is not a regular file".to_owned()
    } else if about.is_file() && about.len() > MAX_BYTES {
        format!("it has {} bytes, and at most {MAX_BYTES} are read", about.len())
    } else {
        return Ok(());
    };
    Err(Error::Unbounded { path: shown(path), why })
}

/// What a little file says, behind `start`.
fn pointer(path: &Path, start: &[u8]) -> Option<PathBuf> {
    let mut text = Vec::new();
    regular_file::open(path, Symlinks::Follow).ok()?.take(16 << 10).read_to_end(&mut text).ok()?;
    let target = text.strip_prefix(start)?.trim_ascii_end();
    Some(PathBuf::from(OsStr::from_bytes(target)))
}
