//! Tells whether a file is unchanged without reading it again.

use super::{FileKind, Workspace, WorkspaceError, is_name, kind, parts};
use rustix::fs::{AtFlags, Stat, statat};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// File system clocks are coarse, some to two seconds: a file that changed so recently can change again without a new time.
const COARSE: Duration = Duration::from_secs(2);

/// The stamp of a file. Only root can change a file and keep its stamp, because the change time cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file that changed more recently is read again by a later run. A mapped page can be written again without a new time
/// until the kernel has stored it, which takes half a minute.
const SETTLED: Duration = Duration::from_secs(60);

/// The stat of a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStat {
    pub(crate) mark: FileStamp,
    /// Whether its owner may execute it.
    pub(crate) executable: bool,
}

impl FileStat {
    pub(crate) fn of(stat: &Stat) -> Option<Self> {
        let executable = stat.st_mode & 0o100 != 0;
        (kind(stat) == FileKind::File).then(|| Self { mark: FileStamp::of(stat), executable })
    }
}

/// The bytes of a stored stamp.
pub(crate) const MARK_BYTES: usize = 7 * 8;

impl FileStamp {
    /// Returns the stamp of a stat, whether it proves anything or not.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the types differ from system to system")]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    /// Returns the stamp if it proves something: the file did not change just now.
    pub(crate) fn proof(self) -> Option<Self> {
        self.is_older_than(COARSE).then_some(self)
    }

    /// Returns whether a later run may rely on the same stamp of this device.
    pub(crate) fn is_settled(&self, device: u64) -> bool {
        self.device == device && self.is_older_than(SETTLED)
    }

    /// Returns the size of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the file has not changed for this long.
    fn is_older_than(&self, age: Duration) -> bool {
        let since = |(seconds, nanoseconds): (i64, i64)| {
            Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?))
        };
        let changed = since(self.changed).and_then(|changed| UNIX_EPOCH.checked_add(changed)?.checked_add(age));
        changed.is_some_and(|settled| settled < SystemTime::now())
    }

    /// Returns the bytes of the stamp.
    pub(crate) fn to_bytes(self) -> [u8; MARK_BYTES] {
        let numbers = [self.device, self.inode, self.size];
        let times = [self.modified.0, self.modified.1, self.changed.0, self.changed.1].map(i64::cast_unsigned);
        let mut bytes = [0; MARK_BYTES];
        for (to, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers.into_iter().chain(times)) {
            *to = number.to_le_bytes();
        }
        bytes
    }
}

impl Workspace {
    /// Returns the stamp of a file. `None` if it would prove nothing: there is no file, or it changed just now.
    ///
    /// A file with the same stamp before it is read and later had the same bytes all along.
    pub fn mark(&self, path: &str) -> Option<FileStamp> {
        FileStamp::of(&self.stat_file(path).ok()?).proof()
    }

    /// Returns the stat of a regular file; `None` if there is none.
    pub(crate) fn file_stat(&self, path: &str) -> Option<FileStat> {
        FileStat::of(&self.stat_raw(path).ok()?)
    }
}

/// Returns the device of a folder, if its file system updates the time of a file whenever its bytes change, even through mapped
/// memory, and the time of a folder whenever its entries change. Stamps of other devices, such as one that a user mounted below
/// the folder, prove nothing to a later run.
#[cfg(target_os = "linux")]
pub(crate) fn timed_device(root: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    // ext2 to ext4, XFS, Btrfs, F2FS, overlayfs, bcachefs, ZFS. Not file systems in memory, on a network or in user space.
    const KNOWN: [i64; 7] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x794c_7630, 0xca45_1a4e, 0x2fc1_2fc1];
    #[allow(clippy::unnecessary_cast, reason = "the type differs from system to system")]
    let is_known = rustix::fs::statfs(root).is_ok_and(|about| KNOWN.contains(&(about.f_type as i64)));
    root.metadata().ok().filter(|_| is_known).map(|about| about.dev())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn timed_device(_: &Path) -> Option<u64> {
    None
}

/// Stats many files in the order of their paths, and opens each folder once.
///
/// For one pass only. Files that are moved meanwhile are still found in their old place.
pub(crate) struct StatWalker<'w> {
    work: &'w Workspace,
    last: Option<(String, Option<OwnedFd>)>,
}

impl<'w> StatWalker<'w> {
    pub(crate) fn new(work: &'w Workspace) -> Self {
        Self { work, last: None }
    }

    /// Returns the stamp of a file, as [`Workspace::mark`] does.
    pub(crate) fn mark(&mut self, path: &str) -> Option<FileStamp> {
        FileStamp::of(&self.stat(path).ok()?).proof()
    }

    fn stat(&mut self, path: &str) -> Result<Stat, WorkspaceError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if self.last.as_ref().is_none_or(|(last, _)| last != folder) {
            let parts = parts(path)?;
            let (_, folders) = parts.split_last().ok_or(WorkspaceError::WrongKind(FileKind::Directory))?;
            self.last = Some((folder.to_owned(), self.work.open_folder(folders)?));
        } else if !is_name(name) {
            return Err(WorkspaceError::BadPath);
        }
        let handle = self.last.as_ref().and_then(|(_, handle)| handle.as_ref());
        let stat = statat(handle.map_or(self.work.root.as_fd(), AsFd::as_fd), name, AtFlags::SYMLINK_NOFOLLOW)?;
        if kind(&stat) == FileKind::File { Ok(stat) } else { Err(WorkspaceError::WrongKind(kind(&stat))) }
    }
}
