//! Private temporary folders, which are deleted with their value. Folders of killed runs are deleted by a later run.

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, renameat_with, statat, unlinkat};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs::{self, DirEntry, Permissions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;
use std::{env, io};

/// A younger folder may not be locked by its owner yet.
const STALE: Duration = Duration::from_secs(60 * 60);

/// The purpose of a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The home and the temporary files of a command.
    Command,
    /// The files of a commit, or of the index.
    Snapshot,
    /// Files for an executor.
    Feedback,
    /// A copy of the workspace.
    Copy,
}

impl Purpose {
    const ALL: [Self; 4] = [Self::Command, Self::Snapshot, Self::Feedback, Self::Copy];

    /// Returns how the names of these folders begin.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Command => "gate-command-",
            Self::Snapshot => "gate-snapshot-",
            Self::Feedback => "gate-feedback-",
            Self::Copy => "gate-copy-",
        }
    }
}

/// The existing folders; `None` once the program exits and no more may be created.
static LIVE: Mutex<Option<BTreeSet<PathBuf>>> = Mutex::new(Some(BTreeSet::new()));

/// Deletes all folders and creates no others, because the program is about to exit.
pub(crate) fn remove_all() {
    let live = LIVE.lock().take();
    live.into_iter().flatten().for_each(|folder| remove(&folder));
}

/// A folder that is locked while it is in use.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Temporary {
    /// Creates an empty folder.
    pub(crate) fn new(purpose: Purpose) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&env::temp_dir()));
        Self::new_in(&env::temp_dir(), purpose)
    }

    fn new_in(parent: &Path, purpose: Purpose) -> io::Result<Self> {
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(purpose.prefix()).permissions(private).tempdir_in(parent)?;
        let lock = lock(folder.path())?;
        let path = folder.path().canonicalize()?;
        match &mut *LIVE.lock() {
            Some(live) => live.insert(path.clone()),
            None => return Err(io::Error::other("`gate` was interrupted")),
        };
        // From here on, this value deletes the folder.
        let _ = folder.keep();
        Ok(Self { path, _lock: lock })
    }

    /// Returns the path, without symlinks.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.path);
        if let Some(live) = &mut *LIVE.lock() {
            live.remove(&self.path);
        }
    }
}

/// Locks a folder until the handle is closed, however the process ends.
fn lock(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::open(folder, flags, Mode::empty())?;
    rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
    Ok(handle)
}

/// Deletes the folders of killed runs. A later run retries what cannot be deleted.
fn sweep(temporary: &Path) {
    let own = rustix::process::geteuid().as_raw();
    let is_stale = |entry: &DirEntry| {
        let is_ours = Purpose::ALL
            .iter()
            .any(|purpose| entry.file_name().as_encoded_bytes().starts_with(purpose.prefix().as_bytes()));
        let is_old =
            |found: &fs::Metadata| found.modified().is_ok_and(|moment| moment.elapsed().is_ok_and(|age| age > STALE));
        is_ours && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own && is_old(&found))
    };
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    for entry in entries.filter(is_stale) {
        // A folder that a command made unreadable cannot be locked before its mode is changed, and nobody uses it any more.
        let _ = fs::set_permissions(entry.path(), Permissions::from_mode(0o700));
        if lock(&entry.path()).is_ok() {
            remove(&entry.path());
        }
    }
}

/// Deletes a folder and everything in it, also what is unreadable. A later run retries what cannot be deleted.
fn remove(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    if let Ok(root) = open_folder(rustix::fs::CWD, folder) {
        let _ = empty(&root);
    }
    let _ = fs::remove_dir(folder);
}

/// Deletes everything in a folder. A command may have nested folders deeper than a path, the open files or the stack allow.
/// So the content of an inner folder is moved up into this one, and never more than one inner folder is open.
fn empty(root: &OwnedFd) -> rustix::io::Result<()> {
    let mut moved = 0u64;
    loop {
        let names = names(root)?;
        if names.is_empty() {
            return Ok(());
        }
        let mut progress = false;
        for name in names {
            if unlinkat(root, &*name, AtFlags::empty()).is_ok() || unlinkat(root, &*name, AtFlags::REMOVEDIR).is_ok() {
                progress = true;
                continue;
            }
            let Ok(inside) = open_up(root, &name) else { continue };
            for inner in self::names(&inside)? {
                if unlinkat(&inside, &*inner, AtFlags::empty()).is_ok()
                    || unlinkat(&inside, &*inner, AtFlags::REMOVEDIR).is_ok()
                {
                    progress = true;
                    continue;
                }
                // Moving needs write permission.
                let _ = open_up(&inside, &inner);
                loop {
                    moved += 1;
                    match renameat_with(&inside, &*inner, root, format!("gate-{moved}"), RenameFlags::NOREPLACE) {
                        Err(rustix::io::Errno::EXIST) => {}
                        Ok(()) => break progress = true,
                        Err(_) => break,
                    }
                }
            }
            progress |= unlinkat(root, &*name, AtFlags::REMOVEDIR).is_ok();
        }
        if !progress {
            return Err(rustix::io::Errno::ACCESS);
        }
    }
}

/// Opens an inner folder, after making it accessible.
fn open_up(above: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    // Symlinks are not affected, and everything here is to be deleted.
    if statat(above, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|about| FileType::from_raw_mode(about.st_mode).is_dir())
    {
        let _ = rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::empty());
    }
    open_folder(above, name)
}

fn open_folder(above: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<CString>> {
    let names = Dir::read_from(folder)?.flatten().map(|entry| entry.file_name().to_owned());
    Ok(names.filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn it_is_private_and_goes_whatever_was_done_to_it() {
        for purpose in Purpose::ALL {
            let temporary = Temporary::new(purpose).expect("made");
            let folder = temporary.path().to_owned();
            assert_eq!(folder.metadata().expect("there").mode() & 0o777, 0o700);
            let closed = folder.join("a/b");
            fs::create_dir_all(closed.join("c")).expect("made");
            for path in [closed.join("c"), closed.clone(), folder.join("a")] {
                fs::set_permissions(path, Permissions::from_mode(0o000)).expect("closed");
            }
            drop(temporary);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn it_goes_however_deep_and_wide_it_is() {
        // In memory if possible: some disks take milliseconds for each folder that is deleted.
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { env::temp_dir() };
        let temporary = Temporary::new_in(&parent, Purpose::Command).expect("made");
        let folder = temporary.path().to_owned();
        // One inside the other, by a handle: no path is long enough.
        let mut at = open_folder(rustix::fs::CWD, &folder).expect("open");
        for level in 0..6_000 {
            rustix::fs::mkdirat(&at, "gate-1", Mode::RWXU).expect("made");
            if level % 100 == 0 {
                rustix::fs::mkdirat(&at, "beside", Mode::empty()).expect("made");
                rustix::fs::symlinkat("/", &at, "link").expect("linked");
                drop(rustix::fs::openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::empty()).expect("made"));
            }
            let inside = open_folder(&at, "gate-1").expect("open");
            rustix::fs::fchmod(&at, if level % 2 == 0 { Mode::empty() } else { Mode::RUSR }).expect("closed");
            at = inside;
        }
        drop((at, temporary));
        assert!(!folder.exists());
    }

    #[test]
    fn what_a_killed_run_left_is_swept() {
        let temporary = tempfile::tempdir().expect("a folder");
        let old = SystemTime::now() - 2 * STALE;
        let make = |name: &str, age: Option<SystemTime>| {
            let path = temporary.path().join(name);
            fs::create_dir(&path).expect("a folder");
            fs::write(path.join("file"), "").expect("a file");
            if let Some(moment) = age {
                fs::File::open(&path).expect("a folder").set_modified(moment).expect("a time");
            }
            path
        };
        let other = make("other", Some(old));
        for purpose in ["command", "snapshot"] {
            let made = |letter: &str, age| make(&format!("gate-{purpose}-{letter}"), age);
            let (stale, used, young) = (made("a", Some(old)), made("b", Some(old)), made("c", None));
            let _lock = lock(&used).expect("a lock");
            sweep(temporary.path());
            assert_eq!([&stale, &used, &young, &other].map(|path| path.exists()), [false, true, true, true]);
        }
    }
}
