//! Telling whether a file is still the same, without reading it again.

use super::Workspace;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks of file systems are coarse, some to two seconds: what changed so recently can change again and not show it.
const COARSE: Duration = Duration::from_secs(2);

/// A state of a file. Nobody but root can change a file and keep its mark, since the time of its last change cannot be
/// set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Workspace {
    /// The mark of a file. None where it would prove nothing: there is no file, or it changed just now.
    ///
    /// A file whose mark is the same before it is read and at a later time had the same bytes all along.
    pub fn mark(&self, path: &str) -> Option<Mark> {
        let about = self.open_file(path).ok()?.0.metadata().ok()?;
        let changed = Duration::new(u64::try_from(about.ctime()).ok()?, u32::try_from(about.ctime_nsec()).ok()?);
        let settled = UNIX_EPOCH.checked_add(changed)?.checked_add(COARSE)? < SystemTime::now();
        settled.then(|| Mark {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }
}
