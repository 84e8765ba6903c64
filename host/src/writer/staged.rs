//! One file that is about to take the place of another: prepared beside it, exchanged with it, and taken back if another file
//! of the same set cannot be written.

use super::{Expected, WriteError};
use crate::random::random;
use crate::text;
use parking_lot::Mutex;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, XattrFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a file beside the written one begins.
const PREFIX: &str = ".gate-write-";

/// The temporary files that exist; `None` once the program exits and nothing may be written any more. It is locked while files
/// take the places of others, so an interrupted program waits for that.
static LIVE: Mutex<Option<BTreeMap<u64, Beside>>> = Mutex::new(Some(BTreeMap::new()));

/// Deletes the temporary files and writes no others, because the program is about to exit.
pub(crate) fn remove_all() {
    let live = LIVE.lock().take();
    live.into_iter().flatten().for_each(|(_, beside)| beside.remove());
}

/// The name of a temporary file beside the written one.
#[derive(Clone, Debug)]
struct Beside {
    folder: Arc<OwnedFd>,
    name: OsString,
}

impl Beside {
    fn remove(&self) {
        let _ = rustix::fs::unlinkat(&*self.folder, &*self.name, AtFlags::empty());
    }
}

/// What the temporary file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The new content: nothing has happened yet.
    New,
    /// The old content: the new one has its place.
    Old,
    /// Nothing: there was no file before.
    Empty,
    /// The only copy of the old content, because it could not be put back.
    Lost,
}

/// A file that was written beside the one that it replaces.
#[derive(Debug)]
pub(crate) struct Staged {
    beside: Beside,
    /// The name of the file that is replaced.
    name: OsString,
    /// What must be there; `None` for anything. `Some(None)`: nothing.
    expected: Option<Option<Vec<u8>>>,
    /// Whether there is a file to replace.
    replaces: bool,
    stage: Stage,
    number: u64,
}

impl Staged {
    /// Writes the new content beside the file. `mode` is that of a new file before the umask; an existing one keeps its mode.
    pub(crate) fn new(
        folder: Arc<OwnedFd>,
        name: OsString,
        expected: Expected<'_>,
        bytes: &[u8],
        mode: u32,
    ) -> Result<Self, WriteError> {
        let before = match rustix::fs::statat(&*folder, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(before) => Some(regular(before)?),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno.into()),
        };
        match (expected, &before) {
            (Expected::Absent, Some(_)) => return Err(WriteError::Exists),
            (Expected::Content(_), None) => return Err(WriteError::Changed),
            _ => {}
        }
        let mode = if before.is_some() { 0o600 } else { mode };
        let (staged, mut file) = Self::create(folder, name, expected, before.is_some(), mode)?;
        fault()?;
        file.write_all(bytes)?;
        if let Some(before) = before {
            staged.keep_attributes(&file, &before)?;
        }
        fault()?;
        file.sync_all()?;
        Ok(staged)
    }

    /// Creates an empty file beside the one that it will replace. From here on, the value deletes it.
    fn create(
        folder: Arc<OwnedFd>,
        name: OsString,
        expected: Expected<'_>,
        replaces: bool,
        mode: u32,
    ) -> Result<(Self, File), WriteError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let beside = Beside { folder, name: name_beside()?.into() };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut live = LIVE.lock();
        let live = live.as_mut().ok_or_else(interrupted)?;
        fault()?;
        let file = rustix::fs::openat(&*beside.folder, &*beside.name, flags, Mode::from_raw_mode(mode))?;
        live.insert(number, beside.clone());
        let expected = match expected {
            Expected::Any => None,
            Expected::Absent => Some(None),
            Expected::Content(bytes) => Some(Some(bytes.to_vec())),
        };
        Ok((Self { beside, name, expected, replaces, stage: Stage::New, number }, File::from(file)))
    }

    /// Gives the new file the owner, the extended attributes and the mode of the old one.
    fn keep_attributes(&self, file: &File, before: &Stat) -> Result<(), WriteError> {
        let own = rustix::fs::fstat(file)?;
        if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid) {
            let owner = Some(rustix::fs::Uid::from_raw(before.st_uid));
            let group = Some(rustix::fs::Gid::from_raw(before.st_gid));
            rustix::fs::fchown(file, owner, group).map_err(|errno| {
                io::Error::new(io::Error::from(errno).kind(), "its owner and group could not be kept")
            })?;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(old) = rustix::fs::openat(self.folder(), &*self.name, flags, Mode::empty()) {
            copy_attributes(&old, file)?;
        }
        // After the owner, whose change removes some bits.
        Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(before.st_mode & 0o7777))?)
    }

    fn folder(&self) -> &OwnedFd {
        &self.beside.folder
    }

    /// Puts the new file in its place, and keeps the old one beside it. On an error, the old file is in its place.
    fn exchange(&mut self) -> Result<(), WriteError> {
        fault()?;
        if !self.replaces {
            return self.appear();
        }
        let (folder, beside) = (&*self.beside.folder, &*self.beside.name);
        match rustix::fs::renameat_with(folder, beside, folder, &*self.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(WriteError::Changed),
            // Some file systems cannot exchange.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return self.exchange_by_link(),
            Err(errno) => return Err(errno.into()),
        }
        self.stage = Stage::Old;
        // Looked at where nobody else writes it any more.
        if !self.is_expected(beside)? {
            self.undo()?;
            return Err(WriteError::Changed);
        }
        Ok(())
    }

    /// Gives a new file its name, unless something else got it meanwhile.
    fn appear(&mut self) -> Result<(), WriteError> {
        let (folder, beside) = (&*self.beside.folder, &*self.beside.name);
        let flags = RenameFlags::NOREPLACE;
        let named = match rustix::fs::renameat_with(folder, beside, folder, &*self.name, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(folder, beside, folder, &*self.name, AtFlags::empty())
            }
            named => named,
        };
        match named {
            Ok(()) => self.stage = Stage::Empty,
            Err(Errno::EXIST) => return Err(WriteError::Exists),
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Exchanges both files on a file system that cannot do it in one step: the old file gets a second name first.
    fn exchange_by_link(&mut self) -> Result<(), WriteError> {
        let folder = &*self.beside.folder;
        if !self.is_expected(&self.name)? {
            return Err(WriteError::Changed);
        }
        let mut second = self.beside.clone();
        second.name.push("-before");
        rustix::fs::linkat(folder, &*self.name, folder, &*second.name, AtFlags::empty())?;
        if let Err(errno) = rustix::fs::renameat(folder, &*self.beside.name, folder, &*self.name) {
            second.remove();
            return Err(errno.into());
        }
        (self.beside, self.stage) = (second, Stage::Old);
        Ok(())
    }

    /// Returns whether a file is what the caller expects to replace.
    fn is_expected(&self, name: &OsStr) -> Result<bool, WriteError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let Some(expected) = &self.expected else {
            let found = rustix::fs::statat(self.folder(), name, AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(regular(found).is_ok());
        };
        let Some(expected) = expected else { return Ok(false) };
        let Ok(found) = rustix::fs::openat(self.folder(), name, flags, Mode::empty()) else { return Ok(false) };
        if regular(rustix::fs::fstat(&found)?).is_err() {
            return Ok(false);
        }
        let mut bytes = Vec::with_capacity(expected.len() + 1);
        File::from(found).take(expected.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes == *expected)
    }

    /// Puts the old file back.
    fn undo(&mut self) -> Result<(), WriteError> {
        let (folder, beside) = (&*self.beside.folder, &*self.beside.name);
        let undone = match self.stage {
            Stage::New | Stage::Lost => return Ok(()),
            Stage::Old | Stage::Empty if fault().is_err() => Err(Errno::IO),
            // Exchanged, because a folder that somebody put there cannot replace a file.
            Stage::Old => rustix::fs::renameat_with(folder, beside, folder, &*self.name, RenameFlags::EXCHANGE)
                .or_else(|_| rustix::fs::renameat(folder, beside, folder, &*self.name)),
            Stage::Empty => rustix::fs::unlinkat(folder, &*self.name, AtFlags::empty()),
        };
        match (undone, self.stage) {
            (Err(_), Stage::Old) => {
                self.stage = Stage::Lost;
                Err(WriteError::NotRestored((&self.beside.name).into()))
            }
            (Err(errno), _) => Err(errno.into()),
            (Ok(()), _) => {
                self.stage = Stage::New;
                Ok(())
            }
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(live) = &mut *LIVE.lock() {
            live.remove(&self.number);
        }
        if self.stage != Stage::Lost {
            self.beside.remove();
        }
    }
}

/// Lets all files take their places. If one cannot, all others are put back.
pub(crate) fn commit(mut staged: Vec<Staged>) -> Result<(), WriteError> {
    let live = uninterrupted()?;
    let done = staged.iter_mut().try_for_each(Staged::exchange).and_then(|()| synced(&staged));
    // All of them, whatever becomes of one.
    let mut undo = || staged.iter_mut().rev().map(Staged::undo).fold(Ok(()), Result::and);
    let done = done.map_err(|error| undo().err().unwrap_or(error));
    // Before the files are dropped, which needs it.
    drop(live);
    done
}

/// Waits until the names are on the disk.
fn synced(staged: &[Staged]) -> Result<(), WriteError> {
    for file in staged {
        fault()?;
        match rustix::fs::fsync(file.folder()) {
            // Some file systems cannot sync a folder.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Returns a new name for a file or a folder beside the written one.
pub(super) fn name_beside() -> io::Result<String> {
    let random = random::<8>().ok_or_else(|| io::Error::other("the system has no random bytes"))?;
    Ok(format!("{PREFIX}{}", text::hex(&random)))
}

/// While the value exists, an interrupted program waits before it exits.
pub(super) fn uninterrupted() -> io::Result<impl Drop> {
    let live = LIVE.lock();
    if live.is_some() { Ok(live) } else { Err(interrupted()) }
}

fn interrupted() -> io::Error {
    io::Error::other("`gate` was interrupted")
}

fn regular(stat: Stat) -> Result<Stat, WriteError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        _ => Err(WriteError::Path(crate::workspace::WorkspaceError::WrongKind(crate::workspace::kind(&stat)))),
    }
}

/// Copies extended attributes, such as access control lists. What only the system may set is left out.
fn copy_attributes(from: impl AsFd, to: impl AsFd) -> Result<(), WriteError> {
    let mut names = vec![0; 64 << 10];
    let Ok(length) = rustix::fs::flistxattr(&from, &mut names) else { return Ok(()) };
    let mut value = vec![0; 64 << 10];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = OsStr::from_bytes(name);
        let Ok(length) = rustix::fs::fgetxattr(&from, name, &mut value) else { continue };
        match rustix::fs::fsetxattr(&to, name, &value[..length], XattrFlags::empty()) {
            Ok(()) => {}
            Err(_) if !name.as_bytes().starts_with(b"system.posix_acl") => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
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
