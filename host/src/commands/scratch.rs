//! The home folder and the temporary folder of a command: private, and deleted afterwards.

use super::mounts::{MountAccess, MountedPath, Mounts};
use super::namespaces;
use crate::config::SandboxLevel;
use crate::temporary::{Purpose, Temporary};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The scratch folder of a command.
#[derive(Debug)]
pub(super) struct Scratch {
    /// With namespaces, only the mount point of the root; otherwise, the files themselves.
    folder: Temporary,
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
}

impl Scratch {
    /// Creates a scratch folder, with the files that the mounts put into the home folder.
    pub(super) fn new(level: SandboxLevel, mounts: &Mounts) -> io::Result<Self> {
        let folder = Temporary::new(Purpose::Command)?;
        let (home, temporary) = match level {
            SandboxLevel::Namespaces => (namespaces::HOME.into(), namespaces::TEMPORARY.into()),
            SandboxLevel::Landlock | SandboxLevel::None => furnish(folder.path(), mounts)?,
        };
        Ok(Self { folder, home, temporary })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the paths that a command sees in addition to its mounts if it has no file system of its own.
    pub(super) fn places(&self) -> Vec<MountedPath> {
        let own = [&self.home, &self.temporary];
        let own = own.map(|path| MountedPath { path: path.clone(), access: MountAccess::Write, folder: true });
        let devices = namespaces::DEVICES.iter().map(|name| Path::new("/dev").join(name));
        let devices = devices.map(|path| MountedPath { path, access: MountAccess::Device, folder: false });
        // Devices of the machine, which belong to no process.
        let facts = ["cpuinfo", "meminfo", "stat", "version", "filesystems", "loadavg", "uptime", "sys"];
        let facts = facts.map(|name| Path::new("/proc").join(name));
        let facts = facts.map(|path| MountedPath { folder: path.is_dir(), path, access: MountAccess::Read });
        own.into_iter().chain(devices).chain(facts).collect()
    }
}

fn furnish(folder: &Path, mounts: &Mounts) -> io::Result<(PathBuf, PathBuf)> {
    let (home, temporary) = (folder.join("home"), folder.join("tmp"));
    fs::create_dir(&home)?;
    fs::create_dir(&temporary)?;
    let place = |inside: &Path| {
        let path = home.join(inside);
        fs::create_dir_all(path.parent().unwrap_or(&home)).map(|()| path)
    };
    for (inside, target) in &mounts.home {
        symlink(target, place(inside)?)?;
    }
    for (inside, text) in &mounts.files {
        fs::write(place(inside)?, text)?;
    }
    Ok((home, temporary))
}
