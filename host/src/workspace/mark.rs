//! Telling whether a file is still the same, without reading it again.

use super::{FileKind, Workspace, WorkspaceError, kind, parts};
use rustix::fs::{AtFlags, Stat, statat};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks of file systems are coarse, some to two seconds: what changed so recently can change again and not show it.
const COARSE: Duration = Duration::from_secs(2);

/// A state of a file. Nobody but root can change a file and keep its mark, since the time of its last change cannot be
/// set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file that changed more recently is read again by a later run. A page that is mapped and was written to can be written
/// to again without a new time until the system has stored it, which it does after half a minute.
const SETTLED: Duration = Duration::from_secs(60);

/// What a look at a regular file tells.
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

/// The bytes of a mark that is written down.
pub(crate) const MARK_BYTES: usize = 7 * 8;

impl FileStamp {
    /// Returns the mark that a look at a file gives, whether it proves something or not.
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

    /// Returns the mark, where it proves something: the file did not change just now.
    pub(crate) fn proof(self) -> Option<Self> {
        self.is_older_than(COARSE).then_some(self)
    }

    /// Returns whether a later run may take the same mark for the same bytes.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_older_than(SETTLED)
    }

    /// Returns the size of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the file has not changed for so long.
    fn is_older_than(&self, age: Duration) -> bool {
        let since = |(seconds, nanoseconds): (i64, i64)| {
            Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?))
        };
        let changed = since(self.changed).and_then(|changed| UNIX_EPOCH.checked_add(changed)?.checked_add(age));
        changed.is_some_and(|settled| settled < SystemTime::now())
    }

    /// To be written down.
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
    /// Returns the mark of a file. None where it would prove nothing: there is no file, or it changed just now.
    ///
    /// A file whose mark is the same before it is read and at a later time had the same bytes all along.
    pub fn mark(&self, path: &str) -> Option<FileStamp> {
        FileStamp::of(&self.stat_file(path).ok()?).proof()
    }

    /// What a look at a regular file tells. None where there is none.
    pub(crate) fn sight(&self, path: &str) -> Option<FileStat> {
        FileStat::of(&self.stat_raw(path).ok()?)
    }
}

/// Returns whether the file system gives a file a new time whenever its bytes change, even through mapped memory.
#[cfg(target_os = "linux")]
pub(crate) fn keeps_time(root: &Path) -> bool {
    // ext2 to ext4, XFS, Btrfs, F2FS, overlayfs, bcachefs, ZFS. Not those in memory, of a network or of a program.
    const KNOWN: [i64; 7] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x794c_7630, 0xca45_1a4e, 0x2fc1_2fc1];
    #[allow(clippy::unnecessary_cast, reason = "the type differs from system to system")]
    rustix::fs::statfs(root).is_ok_and(|about| KNOWN.contains(&(about.f_type as i64)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn keeps_time(_: &Path) -> bool {
    false
}

/// Looks at many files one after the other, in the order of their paths: a folder is opened once for all its files.
///
/// It is for one pass only. What somebody moves away meanwhile is still seen where it was.
pub(crate) struct Looker<'w> {
    work: &'w Workspace,
    last: Option<(String, Option<OwnedFd>)>,
}

impl<'w> Looker<'w> {
    pub(crate) fn new(work: &'w Workspace) -> Self {
        Self { work, last: None }
    }

    /// As [`Workspace::mark`].
    pub(crate) fn mark(&mut self, path: &str) -> Option<FileStamp> {
        FileStamp::of(&self.stat(path).ok()?).proof()
    }

    fn stat(&mut self, path: &str) -> Result<Stat, WorkspaceError> {
        let parts = parts(path)?;
        let (name, folders) = parts.split_last().ok_or(WorkspaceError::WrongKind(FileKind::Directory))?;
        let folder = path.strip_suffix(name).unwrap_or_default();
        if self.last.as_ref().is_none_or(|(last, _)| last != folder) {
            self.last = Some((folder.to_owned(), self.work.open_folder(folders)?));
        }
        let handle = self.last.as_ref().and_then(|(_, handle)| handle.as_ref());
        let stat = statat(handle.map_or(self.work.root.as_fd(), AsFd::as_fd), *name, AtFlags::SYMLINK_NOFOLLOW)?;
        if kind(&stat) == FileKind::File { Ok(stat) } else { Err(WorkspaceError::WrongKind(kind(&stat))) }
    }
}
