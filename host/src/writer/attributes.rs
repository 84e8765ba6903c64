//! Owner, mode and extended attributes of a file that takes the place of another.

use super::WriteError;
use super::entries::READ;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, Stat, XattrFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Gives a new file the owner and the extended attributes of the entry that it replaces, and the mode of `before`.
pub(super) fn keep_attributes(file: &File, folder: &OwnedFd, name: &OsStr, before: &Stat) -> Result<(), WriteError> {
    let own = rustix::fs::fstat(file)?;
    if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid) {
        let owner = Some(rustix::fs::Uid::from_raw(before.st_uid));
        let group = Some(rustix::fs::Gid::from_raw(before.st_gid));
        rustix::fs::fchown(file, owner, group)
            .map_err(|errno| io::Error::new(io::Error::from(errno).kind(), "its owner and group could not be kept"))?;
    }
    // A folder gives its new files an access control list, which the old file may not have.
    match rustix::fs::fremovexattr(file, "system.posix_acl_access") {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => {}
        Err(errno) => return Err(errno.into()),
    }
    if let Ok(old) = rustix::fs::openat(folder, name, READ, Mode::empty()) {
        copy_attributes(&old, file)?;
    }
    // After the owner, whose change removes some bits.
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(before.st_mode & 0o7777))?)
}

/// Copies extended attributes, such as access control lists. What only the system may set is left out.
fn copy_attributes(from: impl AsFd, to: impl AsFd) -> Result<(), WriteError> {
    let mut names = vec![0; 64 << 10];
    let Ok(length) = rustix::fs::flistxattr(&from, &mut names) else { return Ok(()) };
    let mut value = vec![0; 64 << 10];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = OsStr::from_bytes(name);
        let Ok(length) = rustix::fs::fgetxattr(&from, name, &mut value) else { continue };
        match rustix::fs::fsetxattr(&to, name, &value[..length], XattrFlags::empty()) {
            Ok(()) => {}
            Err(_) if !name.as_bytes().starts_with(b"system.posix_acl") => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
