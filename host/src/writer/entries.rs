//! Entries of folders: names beside files, what an entry is, and the ways to move one, of which some file systems lack a few.

use super::WriteError;
use crate::random::random;
use crate::text;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;

/// How a file beside the written one begins.
const PREFIX: &str = ".gate-write-";
/// How the name of a copy of the old file ends.
pub(super) const BEFORE: &str = "-before";

/// How a file of others is opened.
pub(super) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// What distinguishes a file from every other, and from itself after a later write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    size: i64,
    written: (i64, u64),
}

impl Identity {
    pub(super) fn of(stat: &Stat) -> Self {
        let written = (stat.st_mtime, stat.st_mtime_nsec);
        Self { device: stat.st_dev, inode: stat.st_ino, size: stat.st_size, written }
    }

    /// Returns that of an entry of a folder, if there is one.
    pub(super) fn at(folder: impl AsFd, name: &OsStr) -> Option<Self> {
        rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Self::of(&stat))
    }
}

/// Returns a new name for a file or a folder beside the written one.
pub(super) fn name_beside() -> io::Result<String> {
    let random = random::<8>().ok_or_else(|| io::Error::other("the system has no random bytes"))?;
    Ok(format!("{PREFIX}{}", text::hex(&random)))
}

/// Returns whether a name is one of [`name_beside`], or one with our suffix.
pub(crate) fn is_beside(name: &[u8]) -> bool {
    let random = name.strip_prefix(PREFIX.as_bytes()).map(|rest| rest.strip_suffix(BEFORE.as_bytes()).unwrap_or(rest));
    random
        .is_some_and(|random| random.len() == 16 && random.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// Waits until the names in a folder are on the disk.
pub(super) fn sync(folder: impl AsFd) -> Result<(), WriteError> {
    fault()?;
    match rustix::fs::fsync(folder) {
        // Some file systems cannot sync a folder.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns whether a file system, or an old kernel, cannot rename with flags, or cannot link.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Exchanges two entries.
pub(super) fn exchange(from: impl AsFd, name: &OsStr, to: impl AsFd, other: &OsStr) -> Result<(), Errno> {
    missing(Errno::INVAL)?;
    rustix::fs::renameat_with(from, name, to, other, RenameFlags::EXCHANGE)
}

/// Gives a file a second name that nothing has.
pub(super) fn link(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr) -> Result<(), Errno> {
    missing(Errno::PERM)?;
    rustix::fs::linkat(from, name, to, new, AtFlags::empty())
}

/// Gives an entry a name that nothing has.
pub(super) fn rename_new(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr) -> Result<(), WriteError> {
    let rename = || rustix::fs::renameat_with(&from, name, &to, new, RenameFlags::NOREPLACE);
    let renamed = match missing(Errno::INVAL).and_then(|()| rename()) {
        Err(errno) if is_unsupported(errno) => {
            link(&from, name, &to, new).and_then(|()| rustix::fs::unlinkat(&from, name, AtFlags::empty()))
        }
        renamed => renamed,
    };
    match renamed {
        Err(Errno::EXIST) => Err(WriteError::Exists),
        // Without links, nobody can refuse to replace what appears between these two calls.
        Err(errno) if is_unsupported(errno) || errno == Errno::PERM => match Identity::at(&to, new) {
            Some(_) => Err(WriteError::Exists),
            None => Ok(rustix::fs::renameat(from, name, to, new)?),
        },
        renamed => Ok(renamed?),
    }
}

/// Fails at the step that a test chose.
#[cfg(test)]
pub(super) fn fault() -> io::Result<()> {
    super::tests::fault()
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests, it fails")]
pub(super) fn fault() -> io::Result<()> {
    Ok(())
}

/// Fails with this error if a test says that its file system lacks the operation.
#[cfg(test)]
fn missing(errno: Errno) -> Result<(), Errno> {
    super::tests::missing(errno)
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests, it fails")]
fn missing(_errno: Errno) -> Result<(), Errno> {
    Ok(())
}
