//! The only place that writes files of people: each as a whole, or not at all.
//!
//! The new content is written beside the file and synced, and then takes its place. Owner, mode and extended attributes stay.
//! Whoever is interrupted, killed, or without space leaves the old file or the new one, never a part of one. A file that was
//! changed since the caller read it is not replaced, and what somebody writes in its place while a write is undone stays.
//!
//! Where the path comes from decides about symlinks. What a person names is written behind their symlinks, which stay:
//! settings are often links into a folder of dotfiles. What a verifier, a model or a document asks for is written through
//! `Beneath`, which follows no symlink.
//!
//! A file with several hard links is replaced under one name only: another name may be outside the workspace.

mod attributes;
mod beneath;
mod entries;
mod staged;
mod taken;

pub(crate) use beneath::{Beneath, plain_name};
pub(crate) use entries::is_beside;
pub(crate) use staged::{Staged, commit, remove_all};

use crate::workspace::WorkspaceError;
use rustix::fs::{AtFlags, Mode, OFlags};
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
    /// The path leads to an open file of a program, such as stdout, which cannot be replaced.
    #[error("it is an open file of a program; expected a file of its own")]
    OpenFile,
    /// The file is no longer what the caller read.
    #[error("it changed meanwhile")]
    Changed,
    /// What was there before could not be put back, or should not, because something newer has its place.
    #[error("what was there before could not be put back; it is in `{}`", .0.display())]
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

/// Writes a file that a document names: below a folder, through no symlink. Missing folders are created.
pub fn replace_beneath(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), WriteError> {
    let beneath = Beneath::open(folder)?;
    beneath.folder_of(path, true)?;
    beneath.replace(path, Expected::Any, bytes, PLAIN)
}

/// Removes a file that a person named, behind symlinks, which stay.
pub fn remove(path: &Path) -> Result<(), WriteError> {
    let (folder, name) = behind_links(path)?;
    Ok(rustix::fs::unlinkat(&folder, &*name, AtFlags::empty())?)
}

/// Puts a new program in the place of an entry, which gets the name `kept` and may be a symlink, even a dangling one. At any moment,
/// there is one of both programs in that place, if the file system has hard links. The entry may have that name already.
pub fn displace(path: &Path, kept: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let new = path.with_file_name(entries::name_beside()?);
    replace(&new, Expected::Absent, bytes, PROGRAM)?;
    let keep = match fs::hard_link(path, kept) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported) => {
            fs::rename(path, kept)
        }
        done => done,
    };
    let take_place = || {
        fs::rename(&new, path)?;
        entries::sync(open_folder(folder_above(path))?)
    };
    // The second removes what the first leaves: both names may be those of one entry.
    let undo = |_: &WriteError| drop(fs::rename(kept, path).and_then(|()| fs::remove_file(kept)));
    let done = keep.map_err(WriteError::from).and_then(|()| take_place().inspect_err(undo));
    done.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Writes a report that a person wants at a path. What a program has open already, such as `/dev/stdout`, and a device or a pipe are
/// written to. So is a file that cannot be replaced, because it is mounted or nothing may be created beside it.
pub fn output(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    if let Some(mut open) = open_file(path)? {
        open.write_all(bytes)?;
        return Ok(open.flush()?);
    }
    let in_place = |options: &mut fs::OpenOptions| Ok(options.write(true).open(path)?.write_all(bytes)?);
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => in_place(&mut File::options()),
        about => match replace(path, Expected::Any, bytes, PLAIN) {
            Err(WriteError::Io(error)) if about.is_ok() && keeps_its_place(&error) => {
                in_place(File::options().truncate(true))
            }
            done => done,
        },
    }
}

/// Returns whether a file cannot be replaced by another, but perhaps written.
fn keeps_its_place(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), CrossesDevices | PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Opens a path that leads to an open file of a process, such as `/dev/stdout`, for appending. The file has a name of its own, and
/// others write to it as well, so it is never replaced.
pub fn open_file(path: &Path) -> io::Result<Option<Box<dyn Write + Send>>> {
    let Some(path) = path_of_open_file(path) else { return Ok(None) };
    let number = path.strip_prefix(format!("/proc/{}/fd", std::process::id())).ok().and_then(Path::to_str);
    Ok(Some(match number {
        // Opened again, a file that is not appended to would be written from its start.
        Some("1") => Box::new(io::stdout()),
        Some("2") => Box::new(io::stderr()),
        _ => Box::new(File::options().append(true).open(path)?),
    }))
}

/// Returns the path below `/proc` that a path leads to.
fn path_of_open_file(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let above = folder_above(&path).canonicalize().ok()?;
        if above.starts_with("/proc") {
            return Some(above.join(path.file_name()?));
        }
        path = above.join(fs::read_link(&path).ok()?);
    }
    None
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
    if path_of_open_file(path).is_some() {
        return Err(WriteError::OpenFile);
    }
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let name = path.file_name().ok_or(WriteError::Path(WorkspaceError::BadPath))?.to_owned();
        let above = folder_above(&path);
        match fs::read_link(&path) {
            Ok(target) => path = above.join(target),
            // Not a symlink, or nothing is there.
            Err(_) => return Ok((open_folder(above)?, name)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn folder_above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
