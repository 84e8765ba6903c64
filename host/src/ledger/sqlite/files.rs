//! The files of the database that this process has open. A file that was removed, replaced or moved takes with it what is written
//! to it, because the next process opens the one at the path.

use super::FILE;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the names of the files end with: the database, its write-ahead log, and the index of the log.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// The size of the first page of a database.
const LEAST: u64 = 512;

/// When the database was changed last: seconds and nanoseconds, by the clock of the system. Nobody can choose it.
pub(super) type Changed = (i64, i64);

/// Returns when the database in a folder was changed last. Commits are in the log, so only writing the log back changes it.
pub(super) fn changed(folder: &Path) -> Option<Changed> {
    let found = folder.join(FILE).symlink_metadata().ok()?;
    Some((found.ctime(), found.ctime_nsec()))
}

/// A file that is open.
#[derive(Debug, Default)]
struct OpenFile {
    /// Its device and its inode.
    id: (u64, u64),
    /// The size that it has at least while it is open.
    least: u64,
}

/// The files of the database.
#[derive(Debug)]
pub(super) struct OpenFiles {
    files: [OpenFile; SUFFIXES.len()],
    log_is_empty: bool,
}

impl OpenFiles {
    /// Returns the files in a folder, which SQLite has just opened.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut open = Self { files: Default::default(), log_is_empty: true };
        for (file, suffix) in open.files.iter_mut().zip(SUFFIXES) {
            let found = folder.join(format!("{FILE}{suffix}")).symlink_metadata()?;
            let least = match suffix {
                "" => LEAST,
                // Other programs may shorten the log. Whether it contains a commit is looked at after it.
                "-wal" => 0,
                // It is mapped into memory: what is cut off would end the process with a signal.
                _ => found.len(),
            };
            *file = OpenFile { id: (found.dev(), found.ino()), least };
            open.log_is_empty &= suffix != "-wal" || found.len() == 0;
        }
        Ok(open)
    }

    /// Returns whether nothing was in the write-ahead log yet.
    pub(super) fn log_is_empty(&self) -> bool {
        self.log_is_empty
    }

    /// Refuses other files in the folder. Its path may have symlinks, which could lead elsewhere by now.
    pub(super) fn are_at(&self, folder: &Path) -> Result<(), String> {
        for (file, suffix) in self.files.iter().zip(SUFFIXES) {
            let name = format!("{FILE}{suffix}");
            let found = folder.join(&name).symlink_metadata();
            let Some(found) = found.ok().filter(|found| (found.dev(), found.ino()) == file.id) else {
                return Err(format!("`{name}` was removed or replaced during the run"));
            };
            if found.len() < file.least {
                return Err(format!("`{name}` was emptied during the run"));
            }
        }
        Ok(())
    }
}
