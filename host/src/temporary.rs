//! Folders of this user alone, deleted with their value; what a run that was killed leaves, a later one deletes.

use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{self, DirEntry, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;
use std::{env, io};

/// A younger folder may be one that its owner has not locked yet.
const STALE: Duration = Duration::from_secs(60 * 60);

/// What a folder is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The home and the temporary files of a command.
    Command,
    /// The files of a commit, or of the index.
    Snapshot,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Command, Self::Snapshot];

    fn prefix(self) -> &'static str {
        match self {
            Self::Command => "gate-command-",
            Self::Snapshot => "gate-snapshot-",
        }
    }
}

/// A folder, locked for as long as it is in use.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Temporary {
    /// A new one, empty.
    pub(crate) fn new(purpose: Purpose) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&env::temp_dir()));
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(purpose.prefix()).permissions(private).tempdir()?;
        let lock = lock(folder.path())?;
        let path = folder.path().canonicalize()?;
        // From here on, it is this value that deletes it.
        let _ = folder.keep();
        Ok(Self { path, _lock: lock })
    }

    /// Where it is, without a link on the way.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Locked as long as the handle lives, however its owner ends.
fn lock(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::open(folder, flags, Mode::empty())?;
    rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
    Ok(handle)
}

/// Delete the folders of runs that were killed. What cannot be deleted is left to the next run.
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
        // What a command closed to its owner cannot be locked before it is opened up, and nobody uses it any more.
        let _ = fs::set_permissions(entry.path(), Permissions::from_mode(0o700));
        if lock(&entry.path()).is_ok() {
            remove(&entry.path());
        }
    }
}

/// Delete a folder and all that is in it, also what was closed to its owner.
fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        open_up(folder);
        let _ = fs::remove_dir_all(folder);
    }
}

fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // A link to a folder is not one.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
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
