//! Takes files and symlinks of another folder over: all of them, or none.
//!
//! The new entries are prepared in a folder beside the old ones. First, each is exchanged with the old file or symlink of the same
//! path. Then what has to go is moved into the folder, and what is new out of it. Whatever fails, only moves have to be undone, which
//! needs no space.
//!
//! A kill leaves each path as it was before or as it is after, with one exception: where a file takes the place of a folder, or the
//! other way round, both may be missing, and are in the folder `.gate-write-…`. So may be every file on a file system that can
//! neither exchange nor link.

use super::attributes::keep_attributes;
use super::entries::{Identity, exchange, fault, is_unsupported, link, name_beside, rename_new, sync};
use super::staged::uninterrupted;
use super::{Beneath, WriteError};
use crate::workspace::{FileKind, Workspace, WorkspaceError, kind};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::OsString;
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
            beside.prepare(self, from, path).map_err(at(path))?;
        }
        let mut takeover = Takeover { work: self, beside: &beside, steps: Vec::new(), done: BTreeSet::new() };
        let passes = [Takeover::exchange, Takeover::take_away, Takeover::add];
        let done = passes
            .iter()
            .try_for_each(|pass| paths.iter().try_for_each(|path| pass(&mut takeover, path).map_err(at(path))))
            .and_then(|()| paths.iter().try_for_each(|path| self.sync_folder_of(path).map_err(at(path))));
        let Err(error) = done else { return Ok(()) };
        // All of them, whatever becomes of one.
        let undo = |worst, step: &Step<'_>| match step.undo() {
            Ok(()) => worst,
            Err(_) => at(step.path)(WriteError::NotRestored(beside.keep())),
        };
        Err(takeover.steps.iter().rev().fold(error, undo))
    }

    /// Returns the folder and the name of a file or a symlink, if there is one.
    fn entry(&self, path: &str) -> Result<Option<(OwnedFd, OsString, Stat)>, WriteError> {
        let (folder, name) = match self.folder_of(path, false) {
            Err(WriteError::Path(WorkspaceError::NotFound)) => return Ok(None),
            found => found?,
        };
        match rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) if kind(&about) == FileKind::Directory => Ok(None),
            Ok(about) => Ok(Some((folder, name, about))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Moves a file or a symlink to the same path of another folder on this file system, where nothing is except perhaps an empty
    /// folder. Returns what was moved.
    fn move_to(&self, other: &Self, path: &str) -> Result<Option<Identity>, WriteError> {
        let Some((from, name, about)) = self.entry(path)? else { return Ok(None) };
        let (to, _) = other.folder_of(path, true)?;
        // Fails unless it is an empty folder.
        let _ = rustix::fs::unlinkat(&to, &name, AtFlags::REMOVEDIR);
        fault()?;
        rename_new(&from, &name, &to, &name)?;
        Ok(Some(Identity::of(&about)))
    }

    /// Exchanges an entry with that of the same path in another folder.
    fn exchange_with(&self, other: &Self, path: &str) -> Result<(), WriteError> {
        let ((from, name), (to, _)) = (self.folder_of(path, false)?, other.folder_of(path, false)?);
        fault()?;
        Ok(exchange(&from, &name, &to, &name)?)
    }

    fn identity(&self, path: &str) -> Option<Identity> {
        let (folder, name) = self.folder_of(path, false).ok()?;
        Identity::at(&folder, &name)
    }

    /// Waits until the names in the folder of a path are on the disk.
    fn sync_folder_of(&self, path: &str) -> Result<(), WriteError> {
        match self.folder_of(path, false) {
            Err(WriteError::Path(WorkspaceError::NotFound)) => Ok(()),
            found => sync(found?.0),
        }
    }
}

/// What was done so far.
struct Takeover<'a> {
    work: &'a Beneath,
    beside: &'a BesideFolder,
    steps: Vec<Step<'a>>,
    /// The paths that are as they are to be.
    done: BTreeSet<&'a str>,
}

impl<'a> Takeover<'a> {
    /// Exchanges a prepared entry with that of the work, if there are both.
    fn exchange(&mut self, path: &'a str) -> Result<(), WriteError> {
        let (prepared, existing) = (self.beside.new.entry(path)?, self.work.entry(path)?);
        let (Some((new, name, about)), Some((work, _, before))) = (prepared, existing) else { return Ok(()) };
        let (old, of_new, of_old) = (&self.beside.old, Identity::of(&about), Identity::of(&before));
        fault()?;
        match exchange(&new, &name, &work, &name) {
            Ok(()) => self.steps.push(Step::new(path, &self.beside.new, self.work, of_new).exchanged()),
            Err(errno) if is_unsupported(errno) => {
                let (kept, _) = old.folder_of(path, true)?;
                if link(&work, &name, &kept, &name).is_err() {
                    // The old one is taken away before the new one is added.
                    return Ok(());
                }
                rustix::fs::renameat(&new, &name, &work, &name).inspect_err(|_| {
                    let _ = rustix::fs::unlinkat(&kept, &name, AtFlags::empty());
                })?;
                self.steps.push(Step::new(path, self.work, old, of_old));
                self.steps.push(Step::new(path, &self.beside.new, self.work, of_new));
            }
            Err(errno) => return Err(errno.into()),
        }
        self.done.insert(path);
        Ok(())
    }

    fn take_away(&mut self, path: &'a str) -> Result<(), WriteError> {
        self.move_entry(self.work, &self.beside.old, path)
    }

    fn add(&mut self, path: &'a str) -> Result<(), WriteError> {
        self.move_entry(&self.beside.new, self.work, path)
    }

    fn move_entry(&mut self, from: &'a Beneath, to: &'a Beneath, path: &'a str) -> Result<(), WriteError> {
        if !self.done.contains(path)
            && let Some(moved) = from.move_to(to, path)?
        {
            self.steps.push(Step::new(path, from, to, moved));
        }
        Ok(())
    }
}

/// A step that can be undone.
struct Step<'a> {
    path: &'a str,
    from: &'a Beneath,
    to: &'a Beneath,
    /// What was moved.
    moved: Identity,
    /// Whether what was at the path of `to` is now in `from`.
    exchanged: bool,
}

impl<'a> Step<'a> {
    fn new(path: &'a str, from: &'a Beneath, to: &'a Beneath, moved: Identity) -> Self {
        Self { path, from, to, moved, exchanged: false }
    }

    fn exchanged(self) -> Self {
        Self { exchanged: true, ..self }
    }

    /// Undoes the step. What somebody else wrote there meanwhile stays, which is an error.
    fn undo(&self) -> Result<(), WriteError> {
        self.move_back(self.to, self.from)?;
        if self.from.identity(self.path) == Some(self.moved) {
            return Ok(());
        }
        self.move_back(self.from, self.to)?;
        Err(WriteError::Changed)
    }

    fn move_back(&self, from: &Beneath, to: &Beneath) -> Result<(), WriteError> {
        match self.exchanged {
            true => from.exchange_with(to, self.path),
            false => from.move_to(to, self.path).map(|_| ()),
        }
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

    /// Copies what is at a path, if anything is, with the owner and the extended attributes of what it replaces.
    fn prepare(&self, work: &Beneath, from: &Workspace, path: &str) -> Result<(), WriteError> {
        fault()?;
        if let Some(target) = self.new.copy(from, path)? {
            return self.new.link(path, &target);
        }
        let (file, about) = match self.new.work.open_listed_file(path.as_bytes()) {
            Err(WorkspaceError::NotFound) => return Ok(()),
            opened => opened?,
        };
        if let Some((folder, name, mut before)) = work.entry(path)?
            && kind(&before) == FileKind::File
        {
            before.st_mode = about.st_mode;
            keep_attributes(&file, &folder, &name, &before)?;
        }
        Ok(file.sync_all()?)
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
