//! The files of the database that this process has open. A file that was removed, replaced or moved takes with it what is written
//! to it, because the next process opens the one at the path.

use super::FILE;
use crate::ledger::LedgerError;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the names of the files end with: the database, its write-ahead log, and the index of the log.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// The size of the first page of a database.
const LEAST: u64 = 512;

/// The device and the inode of each file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenFiles {
    ids: [(u64, u64); SUFFIXES.len()],
    log_is_empty: bool,
}

impl OpenFiles {
    /// Returns the files in a folder, which SQLite has just opened.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut files = Self { ids: Default::default(), log_is_empty: true };
        for (id, suffix) in files.ids.iter_mut().zip(SUFFIXES) {
            let found = folder.join(format!("{FILE}{suffix}")).symlink_metadata()?;
            *id = (found.dev(), found.ino());
            files.log_is_empty &= suffix != "-wal" || found.len() == 0;
        }
        Ok(files)
    }

    /// Returns whether nothing was in the write-ahead log yet.
    pub(super) fn log_is_empty(&self) -> bool {
        self.log_is_empty
    }

    /// Refuses other files in the folder. Its path may have symlinks, which could lead elsewhere by now.
    pub(super) fn are_at(&self, folder: &Path) -> Result<(), LedgerError> {
        for (id, suffix) in self.ids.iter().zip(SUFFIXES) {
            let name = format!("{FILE}{suffix}");
            let found = folder.join(&name).symlink_metadata();
            if !found.as_ref().is_ok_and(|found| (found.dev(), found.ino()) == *id) {
                return Err(LedgerError::Unwritable(format!("`{name}` was removed or replaced during the run")));
            }
            if suffix.is_empty() && found.is_ok_and(|found| found.len() < LEAST) {
                return Err(LedgerError::Unwritable(format!("`{name}` was emptied during the run")));
            }
        }
        Ok(())
    }
}
