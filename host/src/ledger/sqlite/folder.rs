//! The state folder: it belongs to one user, and has a small file next to the database that records the last entry.

use super::files::Changed;
use crate::ledger::chain::{Damage, DamageKind};
use crate::ledger::{Head, LedgerError};
use crate::own_folder::{self, OwnFolder};
use crate::regular_file::{self, Symlinks};
use rustix::fs::{Access, Mode, OFlags};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The longest path below which SQLite opens a database.
const MAX_PATH: usize = 480;
/// Where earlier versions stored the inputs of runs.
const RUNS: &str = "runs";
/// Written after each durable append, without an fsync: it may be behind the ledger, but never ahead.
const ANCHOR: &str = "ledger.head";

/// Creates the folder and the database if they are missing, readable for the owner only. Returns the path of the folder without
/// symlinks.
pub(super) fn prepare(folder: &Path) -> Result<PathBuf, LedgerError> {
    let refused = |why: String| LedgerError::Folder { folder: folder.to_owned(), why };
    if folder.is_relative() {
        return Err(refused("its path is relative, and each folder would get a ledger of its own".to_owned()));
    }
    let OwnFolder { path, grown } = own_folder::open(folder).map_err(refused)?;
    if path.as_os_str().len() > MAX_PATH {
        return Err(refused(format!("its path has more than {MAX_PATH} bytes")));
    }
    // Without this fsync, a power loss could remove the whole folder.
    grown.iter().try_for_each(|folder| sync(folder)).map_err(|error| refused(error.to_string()))?;
    earlier_runs(&path.join(RUNS)).map_err(|why| refused(format!("`{RUNS}` in it: {why}")))?;
    if path.join(ANCHOR).symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(refused(format!("`{ANCHOR}` in it is not a regular file")));
    }
    // Only if it is new: closing a file that SQLite has open would end the locks of this process.
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(path.join(super::FILE), flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => sync(&path).map(|()| path).map_err(|error| refused(error.to_string())),
        Err(rustix::io::Errno::EXIST) => Ok(path),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Returns the path of the folder without symlinks, as the next process will find it. Refuses it for the same reasons.
pub(super) fn find(folder: &Path) -> Result<PathBuf, LedgerError> {
    let refused = |why: String| LedgerError::Folder { folder: folder.to_owned(), why };
    let path = own_folder::find(folder).map_err(refused)?;
    earlier_runs(&path.join(RUNS)).map_err(|why| refused(format!("`{RUNS}` in it: {why}")))?;
    Ok(path)
}

/// Refuses a folder of earlier runs that another user can write to, or whose files cannot be dropped with their runs.
fn earlier_runs(folder: &Path) -> Result<(), String> {
    match folder.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        // What it leads to is not ours to delete.
        Ok(found) if found.is_symlink() => return Err("it is a symlink".to_owned()),
        found => found.map_err(|error| error.to_string())?,
    };
    own_folder::own(folder)?;
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| error.to_string())
}

/// Waits until the names in a folder are on the disk.
fn sync(folder: &Path) -> std::io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// How often the file is read while somebody writes it.
const TRIES: usize = 100;

/// Returns when the database was changed last before the file was last written, if that is known.
pub(super) fn changed(folder: &Path) -> Option<Changed> {
    let text = text(folder)?;
    let (seconds, rest) = text.lines().nth(2)?.split_once('.')?;
    Some((seconds.parse().ok()?, rest.parse().ok()?))
}

fn text(folder: &Path) -> Option<String> {
    let mut text = String::new();
    regular_file::open(&folder.join(ANCHOR), Symlinks::Refuse).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the last entry at the time when the file was last written, if that is known.
pub(super) fn anchor(folder: &Path) -> Option<Head> {
    for _ in 0..TRIES {
        let text = text(folder)?;
        let mut lines = text.lines();
        let head = lines.next().and_then(|line| line.parse().ok());
        // While another process writes it, its lines differ.
        if lines.next().is_none_or(|line| line.parse().ok() == head) {
            return head;
        }
    }
    None
}

/// Refuses a ledger whose last entry has this number, if a later one was written.
pub(super) fn reaches(anchor: Head, last: u64) -> Result<(), LedgerError> {
    if anchor.seq <= last {
        return Ok(());
    }
    let message = match last {
        0 => format!("entry {} was written earlier, but there is no entry any more", anchor.seq),
        _ => format!("entry {} was written earlier, but entry {last} is the last one", anchor.seq),
    };
    Err(LedgerError::Damaged(Damage::new(None, DamageKind::Truncated, message)))
}

/// Stores the last entry, and when the database was changed last. Without this, nobody would notice that later entries were removed.
pub(super) fn set_anchor(folder: &Path, head: Head, changed: Option<Changed>) -> Result<(), LedgerError> {
    // In place, because creating and renaming a file takes longer. Written twice, so that a reader can tell whether it has read
    // half of it. Only the first three lines count, so what is left of a longer text does not matter.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder.join(ANCHOR), flags, Mode::RUSR | Mode::WUSR).map_err(std::io::Error::from);
    let (seconds, nanoseconds) = changed.unwrap_or_default();
    let text = format!("{head}\n{head}\n{seconds}.{nanoseconds}\n");
    let written = file.and_then(|file| fs::File::from(file).write_all(text.as_bytes()));
    written.map_err(|error| LedgerError::Unwritable(format!("cannot write `{ANCHOR}`: {error}")))
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
            set_anchor(folder.path(), head, Some((7, seq as i64))).expect("written");
            assert_eq!((anchor(folder.path()), changed(folder.path())), (Some(head), Some((7, seq as i64))));
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
