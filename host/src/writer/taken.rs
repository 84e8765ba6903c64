//! Takes files and symlinks of another folder over: all of them, or none.
//!
//! A file may take the place of a folder and the other way round, so nothing can be exchanged in one step. The new entries are
//! prepared in a folder beside the old ones; then all old entries are moved into that folder, and all new ones out of it. Whatever
//! fails, only moves have to be undone, which needs no space.

use super::staged::{fault, name_beside, uninterrupted};
use super::{Beneath, WriteError};
use crate::workspace::{FileKind, Workspace, WorkspaceError, kind};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::{fs, io};

impl Beneath {
    /// Makes what is at these paths the same as in another folder. On an error, which names the path, all of them are what they
    /// were before.
    pub(crate) fn take_over(&self, from: &Workspace, paths: &BTreeSet<String>) -> Result<(), (String, WriteError)> {
        let at = |path: &str| {
            let path = path.to_owned();
            move |error: WriteError| (path, error)
        };
        let _live = uninterrupted().map_err(|error| at(".")(error.into()))?;
        let beside = BesideFolder::create(self).map_err(|error| at(".")(error.into()))?;
        for path in paths {
            beside.prepare(from, path).map_err(at(path))?;
        }
        let mut moves = Vec::new();
        let mut move_all = || {
            // First all that goes, so that a file may take the place of a folder and the other way round.
            for (from, to) in [(self, &beside.old), (&beside.new, self)] {
                for path in paths {
                    if from.move_to(to, path).map_err(at(path))? {
                        moves.push((from, to, path));
                    }
                }
            }
            paths.iter().try_for_each(|path| self.sync_folder_of(path).map_err(at(path)))
        };
        let Err(error) = move_all() else { return Ok(()) };
        for (from, to, path) in moves.into_iter().rev() {
            if to.move_to(from, path).is_err() {
                return Err(at(path)(WriteError::NotRestored(beside.keep())));
            }
        }
        Err(error)
    }

    /// Moves a file or a symlink to the same path of another folder on this file system, where nothing is except perhaps an empty
    /// folder. Returns whether there was one.
    fn move_to(&self, other: &Self, path: &str) -> Result<bool, WriteError> {
        let (from, name) = match self.folder_of(path, false) {
            Err(WriteError::Path(WorkspaceError::NotFound)) => return Ok(false),
            found => found?,
        };
        match rustix::fs::statat(&from, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) if kind(&about) == FileKind::Directory => return Ok(false),
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let (to, _) = other.folder_of(path, true)?;
        // Fails unless it is an empty folder.
        let _ = rustix::fs::unlinkat(&to, &name, AtFlags::REMOVEDIR);
        fault()?;
        rename_new(&from, &to, &name)?;
        Ok(true)
    }

    /// Waits until the names in the folder of a path are on the disk.
    fn sync_folder_of(&self, path: &str) -> Result<(), WriteError> {
        let (folder, _) = match self.folder_of(path, false) {
            Err(WriteError::Path(WorkspaceError::NotFound)) => return Ok(()),
            found => found?,
        };
        fault()?;
        match rustix::fs::fsync(folder) {
            // Some file systems cannot sync a folder.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Moves an entry to the same name of another folder, where nothing has that name.
fn rename_new(from: impl AsFd, to: impl AsFd, name: &OsStr) -> Result<(), WriteError> {
    match rustix::fs::renameat_with(&from, name, &to, name, RenameFlags::NOREPLACE) {
        // Some file systems cannot refuse to replace.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(&to, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Ok(rustix::fs::renameat(from, name, to, name)?),
                Ok(_) => Err(WriteError::Exists),
                Err(errno) => Err(errno.into()),
            }
        }
        Err(Errno::EXIST) => Err(WriteError::Exists),
        done => Ok(done?),
    }
}

/// A folder beside the written files, which is deleted with this value.
struct BesideFolder {
    path: PathBuf,
    new: Beneath,
    old: Beneath,
    keeps: std::cell::Cell<bool>,
}

impl BesideFolder {
    fn create(work: &Beneath) -> io::Result<Self> {
        let path = work.work.root().join(name_beside()?);
        let inside = |name: &str| {
            let folder = path.join(name);
            fs::create_dir(&folder).and_then(|()| Beneath::open(&folder))
        };
        fault()?;
        fs::create_dir(&path)?;
        let found = inside("new").and_then(|new| Ok((new, inside("old")?)));
        let (new, old) = found.inspect_err(|_| drop(fs::remove_dir_all(&path)))?;
        Ok(Self { path, new, old, keeps: false.into() })
    }

    /// Copies what is at a path, if anything is.
    fn prepare(&self, from: &Workspace, path: &str) -> Result<(), WriteError> {
        fault()?;
        match self.new.copy(from, path)? {
            Some(target) => self.new.link(path, &target),
            None => match self.new.work.open_listed_file(path.as_bytes()) {
                Ok((file, _)) => Ok(file.sync_all()?),
                Err(WorkspaceError::NotFound) => Ok(()),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Does not delete the folder, because it has the only copy of a file.
    fn keep(&self) -> PathBuf {
        self.keeps.set(true);
        self.path.clone()
    }
}

impl Drop for BesideFolder {
    fn drop(&mut self) {
        if !self.keeps.get() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
