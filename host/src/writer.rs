//! The only place that writes files of people: each as a whole, or not at all.
//!
//! The new content is written beside the file and synced, and then takes its place. Owner, mode and extended attributes stay.
//! Whoever is interrupted, killed, or without space leaves the old file or the new one, never a part of one. A file that was
//! changed since the caller read it is not replaced.
//!
//! Where the path comes from decides about symlinks. What a person names is written behind their symlinks, which stay:
//! settings are often links into a folder of dotfiles. What a verifier, a model or a document asks for is written through
//! `Beneath`, which follows no symlink.
//!
//! A file with several hard links is replaced under one name only: another name may be outside the workspace.

mod beneath;
mod staged;
mod taken;

pub(crate) use beneath::{Beneath, plain_name};
pub(crate) use staged::{Staged, commit, remove_all};

use crate::workspace::WorkspaceError;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most symlinks in a row, as in the kernel.
const MAX_LINKS: usize = 40;
/// The mode of a new file, before the umask of the process.
pub const PLAIN: u32 = 0o666;
/// The mode of a new program, before the umask of the process.
pub const PROGRAM: u32 = 0o777;

/// What must be at a path when it is replaced.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'b> {
    /// A file with this content.
    Content(&'b [u8]),
    /// Nothing.
    Absent,
    /// Any regular file, or nothing.
    Any,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The path leads elsewhere, or to something else than a file.
    #[error(transparent)]
    Path(WorkspaceError),
    /// The path is in the data of a git repository.
    #[error("it belongs to the data of a git repository")]
    RepositoryData,
    /// There is a file where a new one should be.
    #[error("it already exists")]
    Exists,
    /// The file is no longer what the caller read.
    #[error("it changed meanwhile")]
    Changed,
    /// A file could neither be replaced nor be put back.
    #[error("it could not be put back; it is in `{}`", .0.display())]
    NotRestored(PathBuf),
    /// The operating system returned an error.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for WriteError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<WorkspaceError> for WriteError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Io(error) => Self::Io(error),
            other => Self::Path(other),
        }
    }
}

/// Writes a file that a person named, behind symlinks, which stay. `mode` is the mode of a new file before the umask.
pub fn replace(path: &Path, expected: Expected<'_>, bytes: &[u8], mode: u32) -> Result<(), WriteError> {
    let (folder, name) = behind_links(path)?;
    commit(vec![Staged::new(Arc::new(folder), name, expected, bytes, mode)?]).map_err(|(_, error)| error)
}

/// Puts a new program in the place of an entry, which gets the name `kept` and may be a symlink. At any moment, there is one of
/// both programs in that place. The entry may have that name already.
pub fn displace(path: &Path, kept: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut new = path.to_owned();
    new.set_extension("gate-new");
    let _ = fs::remove_file(&new);
    let done = replace(&new, Expected::Absent, bytes, PROGRAM).and_then(|()| {
        match fs::hard_link(path, kept) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        fs::rename(&new, path).inspect_err(|_| drop(fs::remove_file(kept)))?;
        Ok(())
    });
    done.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Writes a report that a person wants at a path. A device or a pipe, such as `/dev/stdout`, is written to.
pub fn output(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => Ok(File::options().write(true).open(path)?.write_all(bytes)?),
        _ => replace(path, Expected::Any, bytes, PLAIN),
    }
}

/// Returns text with the line endings of `before`: if all lines of that end in CR LF, so do those of the text.
pub fn with_line_endings_of(before: &str, text: &str) -> String {
    if !ends_in_crlf(before) {
        return text.to_owned();
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns whether a text has lines, and all end in CR LF.
pub(crate) fn ends_in_crlf(text: &str) -> bool {
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).peekable();
    lines.peek().is_some() && lines.all(|line| line.ends_with("\r\n"))
}

/// Opens the folder that a path leads into after all symlinks, and returns the name in it.
fn behind_links(path: &Path) -> Result<(rustix::fd::OwnedFd, OsString), WriteError> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let name = path.file_name().ok_or(WriteError::Path(WorkspaceError::BadPath))?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match fs::read_link(&path) {
            Ok(target) => path = above.join(target),
            // Not a symlink, or nothing is there.
            Err(_) => return Ok((open_folder(above)?, name)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn open_folder(path: &Path) -> rustix::io::Result<rustix::fd::OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Creates the folders above a path that a person named.
pub fn create_folders_above(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(path).to_owned();
    fs::create_dir_all(&folder).map(|()| folder)
}

#[cfg(test)]
mod tests;
