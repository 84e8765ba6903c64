//! Writes on behalf of verifiers, models and documents: below one folder, through no symlink, and never into the data of a git
//! repository, where a file can make git run programs.

use super::{Expected, Staged, WriteError, commit, with_line_endings_of};
use crate::workspace::{FileKind, Workspace, WorkspaceError};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most bytes of a file that is appended to.
const MAX_APPENDED: u64 = 64 << 20;

/// How long a program that appends waits for others.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The folder that nothing is written outside of.
#[derive(Debug)]
pub(crate) struct Beneath {
    pub(super) work: Workspace,
}

impl Beneath {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { work: Workspace::open(folder)? })
    }

    /// Returns why a file cannot be replaced, without writing anything.
    pub(crate) fn check(&self, path: &str) -> Result<(), WriteError> {
        self.folder_of(path, false)?;
        self.refuse_repositories(path)?;
        match self.work.stat(path)?.kind {
            FileKind::File => Ok(()),
            other => Err(WriteError::Path(WorkspaceError::WrongKind(other))),
        }
    }

    /// Reads a file of at most `max` bytes.
    pub(crate) fn read(&self, path: &str, max: u64) -> Result<Vec<u8>, WorkspaceError> {
        self.work.read(path, max)
    }

    /// Writes the new content of a file beside it.
    pub(crate) fn stage(
        &self,
        path: &str,
        expected: Expected<'_>,
        bytes: &[u8],
        mode: u32,
    ) -> Result<Staged, WriteError> {
        let (folder, name) = self.folder_of(path, false)?;
        self.refuse_repositories(path)?;
        Staged::new(Arc::new(folder), name, expected, bytes, mode)
    }

    /// Replaces a file, or creates it.
    pub(crate) fn replace(
        &self,
        path: &str,
        expected: Expected<'_>,
        bytes: &[u8],
        mode: u32,
    ) -> Result<(), WriteError> {
        commit(vec![self.stage(path, expected, bytes, mode)?]).map_err(|(_, error)| error)
    }

    /// Appends to a file, which is created if it does not exist, with its line endings. Programs that append at the same time wait
    /// for each other.
    pub(crate) fn append(&self, path: &str, text: &str) -> Result<(), WriteError> {
        const ATTEMPTS: usize = 100;
        let (folder, _) = self.folder_of(path, false)?;
        lock(&folder);
        for _ in 0..ATTEMPTS {
            let before = match self.work.read(path, MAX_APPENDED) {
                Ok(before) => Some(before),
                Err(WorkspaceError::NotFound) => None,
                Err(error) => return Err(error.into()),
            };
            let expected = before.as_deref().map_or(Expected::Absent, Expected::Content);
            let mut after = before.clone().unwrap_or_default();
            let text = with_line_endings_of(&String::from_utf8_lossy(&after), text);
            after.extend_from_slice(text.as_bytes());
            match self.replace(path, expected, &after, super::PLAIN) {
                // Something that does not wait wrote first.
                Err(WriteError::Changed | WriteError::Exists | WriteError::Path(WorkspaceError::Changed)) => {}
                done => return done,
            }
        }
        Err(WriteError::Changed)
    }

    /// Copies a file to a place where nothing is, and creates the folders above it. Returns the target of a symlink instead, and
    /// leaves out what is not there and what is neither.
    pub(crate) fn copy(&self, from: &Workspace, path: &str) -> Result<Option<OsString>, WriteError> {
        match from.open_listed_file(path.as_bytes()) {
            Ok((mut file, about)) => {
                let mode = about.st_mode & 0o777;
                let mut copy = self.create(path, mode)?;
                io::copy(&mut file, &mut copy)?;
                copy.set_permissions(Permissions::from_mode(mode))?;
                Ok(None)
            }
            // If a folder above it is the symlink, the path does not exist.
            Err(WorkspaceError::WrongKind(FileKind::Link)) => {
                Ok(from.read_listed_link(path.as_bytes()).ok().map(OsString::from_vec))
            }
            Err(WorkspaceError::NotFound | WorkspaceError::WrongKind(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a new file, and the folders above it, and opens it for writing.
    fn create(&self, path: &str, mode: u32) -> Result<File, WriteError> {
        let (folder, name) = self.folder_of(path, true)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(mode & 0o777)) {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::EXIST) => Err(WriteError::Exists),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Creates a new file with this content, and the folders above it.
    pub(crate) fn put(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), WriteError> {
        Ok(self.create(path, mode)?.write_all(bytes)?)
    }

    /// Creates a symlink, and the folders above it. It may lead anywhere: nothing here follows it.
    pub(crate) fn link(&self, path: &str, target: &OsStr) -> Result<(), WriteError> {
        let (folder, name) = self.folder_of(path, true)?;
        match rustix::fs::symlinkat(target, folder, name) {
            Err(Errno::EXIST) => Err(WriteError::Exists),
            done => Ok(done?),
        }
    }

    /// Removes a file or a symlink, if there is one. A folder stays.
    pub(crate) fn remove(&self, path: &str) -> Result<(), WriteError> {
        let (folder, name) = match self.folder_of(path, false) {
            Err(WriteError::Path(WorkspaceError::NotFound)) => return Ok(()),
            found => found?,
        };
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Err(Errno::NOENT | Errno::ISDIR) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Opens the folder above a path, and returns the name in it. With `create`, missing folders are created.
    pub(super) fn folder_of(&self, path: &str, create: bool) -> Result<(OwnedFd, OsString), WriteError> {
        if path.split('/').any(is_repository_name) {
            return Err(WriteError::RepositoryData);
        }
        let Some(name) = path.rsplit('/').next().filter(|_| crate::workspace::is_inside(path)) else {
            return Err(WriteError::Path(WorkspaceError::BadPath));
        };
        let mut folder = self.work.open_listed_folder(b"")?;
        for (end, _) in path.match_indices('/') {
            let inner = &path[..end];
            folder = match self.work.open_listed_folder(inner.as_bytes()) {
                Err(WorkspaceError::NotFound) if create => {
                    let inner_name = inner.rsplit('/').next().unwrap_or(inner);
                    match rustix::fs::mkdirat(&folder, inner_name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                    self.work.open_listed_folder(inner.as_bytes())?
                }
                opened => opened?,
            };
        }
        Ok((folder, name.into()))
    }

    /// Refuses a path in a folder in which git keeps a repository, whatever its name is: bare ones, those of submodules and of
    /// linked worktrees, and those that a file `.git` names.
    fn refuse_repositories(&self, path: &str) -> Result<(), WriteError> {
        let folders = std::iter::once("").chain(path.match_indices('/').map(|(end, _)| &path[..end]));
        for folder in folders {
            if is_repository(&self.work.open_listed_folder(folder.as_bytes())?)? {
                return Err(WriteError::RepositoryData);
            }
        }
        Ok(())
    }
}

/// Locks a folder until it is closed, so that other programs wait. Where it cannot be locked, as in some network file systems, or
/// something else holds the lock for long, nobody waits: then a write that meets another is repeated.
fn lock(folder: &OwnedFd) {
    let started = Instant::now();
    while let Err(Errno::WOULDBLOCK) = rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive)
        && started.elapsed() < LOCK_TIMEOUT
    {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether some system takes this name for `.git`: file systems ignore case, invisible characters, and dots and blanks
/// at the end, and know `.git` by a short name. Names that only look like it are refused, too.
pub(crate) fn is_repository_name(name: &str) -> bool {
    let plain = plain_name(name);
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = || plain.strip_prefix("git~").is_some_and(is_number);
    plain == ".git" || is_short()
}

/// Returns the name that some system may take a name for: in lower case, without invisible characters, streams, and dots and blanks
/// at the end.
pub(crate) fn plain_name(name: &str) -> String {
    let plain: String = name.chars().filter(char::is_ascii_graphic).collect();
    // What follows a colon names a stream of the file.
    plain.split(':').next().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
}

/// Returns whether git takes a folder for the data of a repository.
fn is_repository(folder: &OwnedFd) -> Result<bool, Errno> {
    let has = |name: &str| match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    };
    Ok(has("HEAD")? && (has("commondir")? || (has("objects")? && has("refs")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_names_are_known_in_every_form() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git. .",
            ".g\u{200c}it",
            ".git\u{feff}",
            "git~1",
            "GIT~12",
            ".git:x",
        ] {
            assert!(is_repository_name(name), "{name:?}");
        }
        for name in ["git", ".gitignore", ".github", "a.git", "git~", ".gi", "git~1x", ".gitt", ".g it?"] {
            assert!(!is_repository_name(name), "{name:?}");
        }
    }
}
