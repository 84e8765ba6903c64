//! The state folder: it belongs to one user, and has a small file next to the database that records the last entry.

use crate::ledger::{Head, LedgerError};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
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

/// Returns the last entry at the time when the file was last written, if that is known.
pub(super) fn anchor(folder: &Path) -> Option<Head> {
    fs::read_to_string(folder.join(ANCHOR)).ok()?.parse().ok()
}

/// Stores the last entry. A failure is not reported, because the ledger itself is complete.
pub(super) fn set_anchor(folder: &Path, head: Head) {
    let beside = folder.join(format!(".{ANCHOR}.{}", std::process::id()));
    let options = || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside);
    let written = options().and_then(|mut file| file.write_all(format!("{head}\n").as_bytes()));
    if written.and_then(|()| fs::rename(&beside, folder.join(ANCHOR))).is_err() {
        let _ = fs::remove_file(&beside);
    }
}
