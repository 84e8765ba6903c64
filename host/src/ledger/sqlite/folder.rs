//! The state folder: it belongs to one user, and has a small file next to the database that records the last entry.

use crate::ledger::{Head, LedgerError};
use crate::regular_file::{self, Symlinks};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Written after each durable append, without an fsync: it may be behind the ledger, but never ahead.
const ANCHOR: &str = "ledger.head";

/// Creates the folder and the database if they are missing, readable for the owner only.
pub(super) fn prepare(folder: &Path) -> Result<&Path, LedgerError> {
    let refused = |why: &str| LedgerError::Folder { folder: folder.to_owned(), why: why.to_owned() };
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    // Without this fsync, a power loss could remove the whole folder.
    let made = made.and_then(|()| missing.iter().filter_map(|folder| folder.parent()).try_for_each(sync));
    made.and_then(|()| fs::metadata(folder)).map_err(|error| refused(&error.to_string())).and_then(|found| {
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused("it belongs to another user"));
        }
        if found.mode() & 0o022 != 0 {
            return Err(refused("it is writable by other users"));
        }
        Ok(())
    })?;
    // Only if it is new: closing a file that SQLite has open would end the locks of this process.
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder.join(super::FILE), flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => sync(folder).map(|()| folder).map_err(|error| refused(&error.to_string())),
        Err(rustix::io::Errno::EXIST) => Ok(folder),
        Err(error) => Err(refused(&error.to_string())),
    }
}

/// Waits until the names in a folder are on the disk.
fn sync(folder: &Path) -> std::io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::File::open(folder)?.sync_all()
}

/// How often the file is read while somebody writes it.
const TRIES: usize = 100;

/// Returns the last entry at the time when the file was last written, if that is known.
pub(super) fn anchor(folder: &Path) -> Option<Head> {
    for _ in 0..TRIES {
        let mut text = String::new();
        regular_file::open(&folder.join(ANCHOR), Symlinks::Refuse).ok()?.read_to_string(&mut text).ok()?;
        let mut lines = text.lines();
        let head = lines.next().and_then(|line| line.parse().ok());
        // While another process writes it, its lines differ.
        if lines.next().is_none_or(|line| line.parse().ok() == head) {
            return head;
        }
    }
    None
}

/// Stores the last entry. A failure is not reported, because the ledger itself is complete.
pub(super) fn set_anchor(folder: &Path, head: Head) {
    // In place, because creating and renaming a file takes longer. Written twice, so that a reader can tell whether it has read
    // half of it. Only the first two lines count, so what is left of a longer text does not matter.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder.join(ANCHOR), flags, Mode::RUSR | Mode::WUSR) {
        let _ = fs::File::from(file).write_all(format!("{head}\n{head}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::chain::Hash;

    #[test]
    fn the_last_entry_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(anchor(folder.path()), None);
        for seq in [9, 10, 3] {
            let head = Head { seq, hash: Hash([seq as u8; 32]) };
            set_anchor(folder.path(), head);
            assert_eq!(anchor(folder.path()), Some(head));
        }
        // As an earlier version wrote it, and as nobody leaves it for long.
        let head = Head { seq: 7, hash: Hash([7; 32]) };
        let other = Head { seq: 8, ..head };
        for (text, expected) in [(format!("{head}\n"), Some(head)), (format!("{head}\n{other}\n"), None)] {
            fs::write(folder.path().join(ANCHOR), text).expect("written");
            assert_eq!(anchor(folder.path()), expected);
        }
    }
}
