//! Namespaces: a command gets its own processes, network and users, and a file system with only what it may see.

use super::landlock::{path, text};
use super::mounts::{MountAccess, MountedPath, Mounts};
use super::sys;
use libc::c_int;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};

/// The home folder inside the namespace.
pub(super) const HOME: &str = "/home/gate";
/// The temporary folder inside the namespace.
pub(super) const TEMPORARY: &str = "/tmp";
/// The size of the private files of a command, which are in memory.
const SPACE: &CStr = c"size=1073741824,nr_inodes=1000000,mode=0755";
/// The most processes and threads. The kernel limits their number in the namespace since 6.14.
const MOST_PROCESSES: &[u8] = b"4096";
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// One step of setting up the new root.
#[derive(Debug)]
enum MountStep {
    Folder(CString, libc::mode_t),
    File(CString),
    /// A private file with this content.
    Text(CString, Vec<u8>),
    Link {
        path: CString,
        target: CString,
    },
    Bind {
        source: CString,
        target: CString,
        attributes: u64,
    },
    /// An empty, read-only folder instead of the original.
    Hide(CString),
}

/// Everything that is needed to enter the namespaces, prepared by the parent.
#[derive(Debug)]
pub(super) struct Namespaces {
    root: CString,
    proc: CString,
    steps: Vec<MountStep>,
    uid_map: CString,
    gid_map: CString,
    network: bool,
    cwd: CString,
}

impl Namespaces {
    /// Returns a root at `root`, an empty folder of the machine, with these mounts.
    pub(super) fn new(root: &Path, mounts: &Mounts, cwd: &Path, network: bool) -> io::Result<Self> {
        let mut plan = MountSteps { root, steps: Vec::new(), made: BTreeSet::new() };
        for (folder, mode) in
            [("/proc", 0o755), ("/dev", 0o755), ("/dev/shm", 0o777), (TEMPORARY, 0o777), (HOME, 0o700)]
        {
            plan.folder(Path::new(folder), mode)?;
        }
        for device in DEVICES {
            let device = Path::new("/dev").join(device);
            plan.bind(&MountedPath { path: device, access: MountAccess::Device, folder: false }, None)?;
        }
        for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
            plan.link(&Path::new("/dev").join(name), Path::new(&format!("/proc/self/fd{target}")))?;
        }
        for (from, to) in &mounts.links {
            plan.link(from, to)?;
        }
        for place in &mounts.places {
            plan.bind(place, mounts.sources.get(&place.path))?;
        }
        for hidden in &mounts.hidden {
            plan.folder(&hidden.path, 0o755)?;
            plan.steps.push(MountStep::Hide(plan.inside(&hidden.path)?));
        }
        for (inside, target) in &mounts.home {
            plan.link(&Path::new(HOME).join(inside), target)?;
        }
        for (inside, text) in &mounts.files {
            let path = Path::new(HOME).join(inside);
            plan.above(&path)?;
            plan.steps.push(MountStep::Text(plan.inside(&path)?, text.clone().into_bytes()));
        }
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Self {
            root: path(root)?,
            proc: path(&root.join("proc"))?,
            steps: plan.steps,
            uid_map: text(format!("{uid} {uid} 1").as_ref())?,
            gid_map: text(format!("{gid} {gid} 1").as_ref())?,
            network,
            cwd: path(cwd)?,
        })
    }

    /// Returns the flags of the new namespaces.
    pub(super) fn flags(&self) -> c_int {
        let network = if self.network { 0 } else { libc::CLONE_NEWNET };
        libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | network
    }

    /// Sets up the namespaces. The first process in them calls this.
    pub(super) fn enter(&self) -> io::Result<()> {
        sys::write_file(c"/proc/self/setgroups", b"deny")?;
        sys::write_file(c"/proc/self/uid_map", self.uid_map.as_bytes())?;
        sys::write_file(c"/proc/self/gid_map", self.gid_map.as_bytes())?;
        if !self.network {
            sys::loopback_up()?;
        }
        // Mounts must not propagate to the outside.
        sys::mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        sys::mount(c"gate", &self.root, c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV, SPACE)?;
        for step in &self.steps {
            step.take()?;
        }
        self.mount_proc()?;
        sys::chdir(&self.root)?;
        sys::leave_old_root()?;
        sys::chdir(&self.cwd)
    }

    /// Mounts `/proc`. If the machine hides parts of it, as containers do, the kernel refuses, and there is none.
    fn mount_proc(&self) -> io::Result<()> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        match sys::mount(c"proc", &self.proc, c"proc", flags, c"") {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(()),
            other => other?,
        }
        sys::chdir(&self.proc)?;
        // Older kernels have one limit for the whole machine, which must not change.
        let _ = sys::write_file(c"sys/kernel/pid_max", MOST_PROCESSES);
        sys::restrict_mount(&self.proc, libc::MOUNT_ATTR_RDONLY)
    }
}

impl MountStep {
    fn take(&self) -> io::Result<()> {
        match self {
            Self::Folder(path, mode) => sys::make_folder(path, *mode),
            Self::File(path) => sys::make_file(path),
            Self::Text(path, bytes) => sys::make_file_with(path, bytes)?,
            Self::Link { path, target } => sys::make_link(path, target),
            Self::Hide(path) => {
                let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_RDONLY;
                sys::mount(c"none", path, c"tmpfs", flags, c"size=4096,mode=0555")?;
            }
            Self::Bind { source, target, attributes } => {
                sys::bind(source, target)?;
                if *attributes != 0 {
                    sys::restrict_mount(target, *attributes)?;
                }
            }
        }
        Ok(())
    }
}

/// Collects the steps: every parent folder is created first, and once.
struct MountSteps<'a> {
    root: &'a Path,
    steps: Vec<MountStep>,
    made: BTreeSet<PathBuf>,
}

impl MountSteps<'_> {
    fn inside(&self, place: &Path) -> io::Result<CString> {
        path(&self.root.join(place.strip_prefix("/").map_err(io::Error::other)?))
    }

    fn folder(&mut self, folder: &Path, mode: libc::mode_t) -> io::Result<()> {
        if folder != Path::new("/") && self.made.insert(folder.to_owned()) {
            self.above(folder)?;
            self.steps.push(MountStep::Folder(self.inside(folder)?, mode));
        }
        Ok(())
    }

    fn above(&mut self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), |above| self.folder(above, 0o755))
    }

    fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.above(from)?;
        let step = MountStep::Link { path: self.inside(from)?, target: path(to)? };
        self.steps.push(step);
        Ok(())
    }

    /// Mounts `source`, or what is at this place itself.
    fn bind(&mut self, place: &MountedPath, source: Option<&PathBuf>) -> io::Result<()> {
        let target = self.inside(&place.path)?;
        if place.folder {
            self.folder(&place.path, 0o755)?;
        } else {
            self.above(&place.path)?;
            self.steps.push(MountStep::File(target.clone()));
        }
        let attributes = match place.access {
            MountAccess::Read => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            MountAccess::Write => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            MountAccess::Device => 0,
        };
        self.steps.push(MountStep::Bind { source: path(source.unwrap_or(&place.path))?, target, attributes });
        Ok(())
    }
}

/// Returns the paths that exist besides the mounts, for Landlock.
pub(super) fn own_places() -> Vec<MountedPath> {
    let own = |path: &str, access| MountedPath { path: path.into(), access, folder: true };
    let devices = DEVICES.map(|name| MountedPath {
        path: Path::new("/dev").join(name),
        access: MountAccess::Device,
        folder: false,
    });
    let own = [
        own(HOME, MountAccess::Write),
        own(TEMPORARY, MountAccess::Write),
        own("/dev/shm", MountAccess::Write),
        own("/proc", MountAccess::Read),
    ];
    own.into_iter().chain(devices).collect()
}
