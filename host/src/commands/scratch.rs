//! The command's own home and temporary files, nobody else's to read, and gone when it is.

use super::enclosure;
use super::view::{Access, Place};
use crate::config::Sandbox;
use std::fs::{self, DirEntry, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};
use std::{env, io};

const PREFIX: &str = "gate-command-";
/// No command runs that long: what is older was left by a run that was killed.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of its own.
#[derive(Debug)]
pub(super) struct Scratch {
    /// In namespaces, only where its root is mounted; elsewhere, where the files are.
    folder: PathBuf,
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
}

impl Scratch {
    /// A new one, with these links in its home.
    pub(super) fn new(level: Sandbox, links: &[(PathBuf, PathBuf)]) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&env::temp_dir(), SystemTime::now() - STALE));
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir()?;
        // Without a link in it. From here on, it is this that removes it.
        let mut scratch = Self { folder: folder.keep(), home: PathBuf::new(), temporary: PathBuf::new() };
        scratch.folder = scratch.folder.canonicalize()?;
        (scratch.home, scratch.temporary) = match level {
            Sandbox::Namespaces => (enclosure::HOME.into(), enclosure::TEMPORARY.into()),
            Sandbox::Landlock | Sandbox::None => scratch.furnish(links)?,
        };
        Ok(scratch)
    }

    fn furnish(&self, links: &[(PathBuf, PathBuf)]) -> io::Result<(PathBuf, PathBuf)> {
        let (home, temporary) = (self.folder.join("home"), self.folder.join("tmp"));
        fs::create_dir(&home)?;
        fs::create_dir(&temporary)?;
        for (inside, target) in links {
            let link = home.join(inside);
            fs::create_dir_all(link.parent().unwrap_or(&home))?;
            symlink(target, link)?;
        }
        Ok((home, temporary))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is seen beside the view where there is no file system of its own.
    pub(super) fn places(&self) -> Vec<Place> {
        let own = [&self.home, &self.temporary];
        let own = own.map(|path| Place { path: path.clone(), access: Access::Write, folder: true });
        let devices = enclosure::DEVICES.iter().map(|name| Path::new("/dev").join(name));
        let devices = devices.map(|path| Place { path, access: Access::Device, folder: false });
        // Of the machine, and of no process.
        let facts = ["cpuinfo", "meminfo", "stat", "version", "filesystems", "loadavg", "uptime", "sys"];
        let facts = facts.map(|name| Path::new("/proc").join(name));
        let facts = facts.map(|path| Place { folder: path.is_dir(), path, access: Access::Read });
        own.into_iter().chain(devices).chain(facts).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Remove a folder and all that is in it, also what was closed to its owner.
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

/// Remove what killed runs of this user left here before that time.
fn sweep(folder: &Path, before: SystemTime) {
    let own = rustix::process::geteuid().as_raw();
    let is_stale = |entry: &DirEntry| {
        let about = entry.metadata();
        entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && about.is_ok_and(|it| it.is_dir() && it.uid() == own && it.modified().is_ok_and(|time| time < before))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_stale).for_each(|entry| remove(&entry.path()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_whatever_was_done_to_it() {
        for level in [Sandbox::Namespaces, Sandbox::None] {
            let scratch = Scratch::new(level, &[]).expect("made");
            let folder = scratch.folder().to_owned();
            assert_eq!(folder.metadata().expect("there").mode() & 0o777, 0o700);
            let closed = folder.join("a/b");
            fs::create_dir_all(closed.join("c")).expect("made");
            for path in [closed.join("c"), closed.clone(), folder.join("a")] {
                fs::set_permissions(path, Permissions::from_mode(0o000)).expect("closed");
            }
            drop(scratch);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn what_killed_runs_left_is_removed_when_it_is_old() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, days) in [("gate-command-old", 2), ("gate-command-new", 0), ("other", 2)] {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("made");
            fs::write(path.join("file"), "").expect("written");
            let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            fs::File::open(&path).and_then(|file| file.set_modified(time)).expect("a time");
        }
        sweep(folder.path(), SystemTime::now() - STALE);
        let names = fs::read_dir(folder.path()).expect("there").flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["gate-command-new", "other"]);
    }
}
