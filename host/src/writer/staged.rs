//! One file that is about to take the place of another: prepared beside it, exchanged with it, and taken back if another file
//! of the same set cannot be written.

use super::attributes::keep_attributes;
use super::entries::{BEFORE, Identity, READ, exchange, fault, is_unsupported, name_beside, rename_new, sync};
use super::{Expected, WriteError};
use parking_lot::Mutex;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a file beside another is created.
const CREATE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

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
    /// What nobody else has: it stays.
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
    /// The new file, which somebody may change or replace as soon as it has its place.
    new: Option<Identity>,
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
        let (mut staged, mut file) = Self::create(folder, name, expected, before.is_some(), mode)?;
        fault()?;
        file.write_all(bytes)?;
        if let Some(before) = before {
            keep_attributes(&file, staged.folder(), &staged.name, &before)?;
        }
        fault()?;
        file.sync_all()?;
        staged.new = Some(Identity::of(&rustix::fs::fstat(&file)?));
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
        let mut live = LIVE.lock();
        let live = live.as_mut().ok_or_else(interrupted)?;
        fault()?;
        let file = rustix::fs::openat(&*beside.folder, &*beside.name, CREATE, Mode::from_raw_mode(mode))?;
        live.insert(number, beside.clone());
        let expected = match expected {
            Expected::Any => None,
            Expected::Absent => Some(None),
            Expected::Content(bytes) => Some(Some(bytes.to_vec())),
        };
        Ok((Self { beside, name, expected, replaces, new: None, stage: Stage::New, number }, File::from(file)))
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
        match exchange(folder, beside, folder, &self.name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(WriteError::Changed),
            Err(errno) if is_unsupported(errno) => return self.exchange_by_copy(),
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
        rename_new(self.folder(), &self.beside.name, self.folder(), &self.name)?;
        self.stage = Stage::Empty;
        Ok(())
    }

    /// Exchanges both files on a file system that cannot do it in one step: the old file is copied first.
    fn exchange_by_copy(&mut self) -> Result<(), WriteError> {
        let mut copy = self.beside.clone();
        copy.name.push(BEFORE);
        let replace = || Ok(rustix::fs::renameat(self.folder(), &*self.beside.name, self.folder(), &*self.name)?);
        if let Err(error) = self.copy_old(&copy).and_then(|()| replace()) {
            copy.remove();
            return Err(error);
        }
        (self.beside, self.stage) = (copy, Stage::Old);
        Ok(())
    }

    fn copy_old(&self, to: &Beside) -> Result<(), WriteError> {
        let mut old = match rustix::fs::openat(self.folder(), &*self.name, READ, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP) => return Err(WriteError::Changed),
            opened => File::from(opened?),
        };
        let before = regular(rustix::fs::fstat(&old)?).map_err(|_| WriteError::Changed)?;
        let mut copy = File::from(rustix::fs::openat(self.folder(), &*to.name, CREATE, Mode::from_raw_mode(0o600))?);
        io::copy(&mut old, &mut copy)?;
        keep_attributes(&copy, self.folder(), &self.name, &before)?;
        copy.sync_all()?;
        if self.is_expected(&to.name)? { Ok(()) } else { Err(WriteError::Changed) }
    }

    /// Returns whether a file is what the caller expects to replace.
    fn is_expected(&self, name: &OsStr) -> Result<bool, WriteError> {
        let Some(expected) = &self.expected else {
            let found = rustix::fs::statat(self.folder(), name, AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(regular(found).is_ok());
        };
        let Some(expected) = expected else { return Ok(false) };
        let Ok(found) = rustix::fs::openat(self.folder(), name, READ, Mode::empty()) else { return Ok(false) };
        if regular(rustix::fs::fstat(&found)?).is_err() {
            return Ok(false);
        }
        let mut bytes = Vec::with_capacity(expected.len() + 1);
        File::from(found).take(expected.len() as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes == *expected)
    }

    /// Returns whether an entry is the new file, unchanged since.
    fn is_new(&self, name: &OsStr) -> bool {
        self.new.is_some() && Identity::at(self.folder(), name) == self.new
    }

    /// Puts the old file back. What somebody else wrote in its place meanwhile stays there.
    fn undo(&mut self) -> Result<(), WriteError> {
        match self.stage {
            Stage::New | Stage::Lost => return Ok(()),
            Stage::Old => self.put_back()?,
            Stage::Empty => self.disappear()?,
        }
        self.stage = Stage::New;
        Ok(())
    }

    fn put_back(&mut self) -> Result<(), WriteError> {
        let folder = self.beside.folder.clone();
        let (beside, name) = (self.beside.name.clone(), self.name.clone());
        // Until it is put back.
        self.stage = Stage::Lost;
        let lost = || WriteError::NotRestored((&beside).into());
        fault().map_err(|_| lost())?;
        let again = || exchange(&*folder, &beside, &*folder, &name);
        match again() {
            Ok(()) if self.is_new(&beside) => Ok(()),
            Ok(()) => again().map_err(|_| lost()).and_then(|()| self.give_up()),
            // This file system cannot exchange, or somebody deleted the new file.
            Err(_) if self.is_new(&name) => {
                rustix::fs::renameat(&*folder, &*beside, &*folder, &*name).map_err(|_| lost())
            }
            Err(_) => match rename_new(&*folder, &beside, &*folder, &name) {
                Err(WriteError::Exists) => self.give_up(),
                done => done.map_err(|_| lost()),
            },
        }
    }

    /// Leaves in place what somebody wrote over the new file. The file beside it is deleted only if it is what the caller read.
    fn give_up(&mut self) -> Result<(), WriteError> {
        if !self.is_expected(&self.beside.name)? {
            return Err(WriteError::NotRestored((&self.beside.name).into()));
        }
        self.stage = Stage::New;
        Err(WriteError::Changed)
    }

    /// Takes a new file away again.
    fn disappear(&mut self) -> Result<(), WriteError> {
        fault()?;
        let (folder, beside) = (self.beside.folder.clone(), &self.beside.name);
        match rename_new(&*folder, &self.name, &*folder, beside) {
            Ok(()) if self.is_new(beside) => return Ok(()),
            Ok(()) => {}
            Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        self.stage = Stage::Lost;
        rename_new(&*folder, beside, &*folder, &self.name).map_err(|_| WriteError::NotRestored(beside.into()))?;
        Err(WriteError::Changed)
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

/// Lets all files take their places. If one cannot, all others are put back, and the error says which one failed.
pub(crate) fn commit(mut staged: Vec<Staged>) -> Result<(), (usize, WriteError)> {
    let live = uninterrupted().map_err(|error| (0, error.into()))?;
    let mut failed = None;
    for step in [Staged::exchange, |file: &mut Staged| sync(file.folder())] {
        let done = staged.iter_mut().enumerate().try_for_each(|(at, file)| step(file).map_err(|error| (at, error)));
        failed = failed.or(done.err());
        if failed.is_some() {
            break;
        }
    }
    if failed.is_some() {
        // All of them, whatever becomes of one. A file that is not in its place is worse than the cause.
        for (at, file) in staged.iter_mut().enumerate().rev() {
            match file.undo() {
                Ok(()) | Err(WriteError::Changed) => {}
                Err(error) => failed = Some((at, error)),
            }
        }
    }
    // Before the files are dropped, which needs it.
    drop(live);
    failed.map_or(Ok(()), Err)
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
