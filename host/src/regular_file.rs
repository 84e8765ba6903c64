//! Opens regular files only. A pipe, a device or a socket could block the reader.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// What to do if the path is a symlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symlinks {
    /// Open its target.
    Follow,
    /// Refuse it.
    Refuse,
}

/// The flags for reading. Non-blocking, because the path may be a pipe without a writer until it is checked.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a regular file for reading. Anything else is an error of the kind `InvalidData`.
pub(crate) fn open(path: &Path, symlinks: Symlinks) -> io::Result<File> {
    let other = || io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file");
    let mut flags = READ;
    if symlinks == Symlinks::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        // A symlink, or a socket.
        Err(Errno::LOOP) if symlinks == Symlinks::Refuse => return Err(other()),
        Err(Errno::NXIO) => return Err(other()),
        Err(errno) => return Err(errno.into()),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(other()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").expect("written");
        symlink("file", at("link")).expect("a link");
        symlink("nowhere", at("dangling")).expect("a link");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).expect("a pipe");
        let kind = |path: &Path, symlinks| open(path, symlinks).expect_err("refused").kind();
        assert!(open(&at("file"), Symlinks::Follow).is_ok() && open(&at("link"), Symlinks::Follow).is_ok());
        assert!(open(&at("file"), Symlinks::Refuse).is_ok());
        assert_eq!(kind(&at("link"), Symlinks::Refuse), io::ErrorKind::InvalidData);
        assert_eq!(kind(&at("dangling"), Symlinks::Follow), io::ErrorKind::NotFound);
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        for other in [at("pipe"), at("socket"), folder.path().to_owned(), "/dev/null".into()] {
            for symlinks in [Symlinks::Follow, Symlinks::Refuse] {
                assert_eq!(kind(&other, symlinks), io::ErrorKind::InvalidData, "{}", other.display());
            }
        }
    }
}
