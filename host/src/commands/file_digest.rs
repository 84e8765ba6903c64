//! Digests of files, taken before and after a command, to detect changes.
//!
//! Everything is bounded: only regular files are read, because a pipe would block, and only up to a limit.

use crate::regular_file::{self, Symlinks};
use sha2::{Digest, Sha256};
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most files and folders.
const MOST_ENTRIES: usize = 100_000;
/// The most bytes of one file. A longer file is identified by its timestamps, which only the kernel can set.
const MOST_BYTES: u64 = 64 << 20;

/// The digests of some files at one time.
#[derive(Debug)]
pub(super) struct FileDigests(Vec<(PathBuf, [u8; 32])>);

impl FileDigests {
    /// Computes the digests of these paths. For folders, either of everything in them, or only that they exist.
    pub(super) fn of(paths: impl Iterator<Item = PathBuf>, deep: bool) -> Self {
        let mut left = MOST_ENTRIES;
        let digest = |path: PathBuf| {
            let mut all = Sha256::new();
            add(&mut all, &path, deep, &mut left);
            (path, all.finalize().into())
        };
        Self(paths.map(digest).collect())
    }

    /// Returns the first path that differs.
    pub(super) fn first_difference(&self, now: &Self) -> Option<&Path> {
        self.0.iter().zip(&now.0).find(|(before, now)| before != now).map(|((path, _), _)| path.as_path())
    }
}

fn add(all: &mut Sha256, path: &Path, deep: bool, left: &mut usize) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let Ok(about) = path.symlink_metadata() else { return all.update(b"nothing") };
    all.update(about.mode().to_le_bytes());
    if about.is_dir() && deep {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        all.update(names.len().to_le_bytes());
        for name in names {
            all.update(Sha256::digest(name.as_encoded_bytes()));
            add(all, &path.join(name), deep, left);
        }
    } else if about.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        all.update(Sha256::digest(target.as_os_str().as_encoded_bytes()));
    } else if about.is_file() {
        all.update(content(path, &about).unwrap_or_default());
    }
}

/// Returns the digest of a regular file.
fn content(path: &Path, about: &Metadata) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    if about.len() > MOST_BYTES {
        for number in [about.size() as i64, about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()] {
            digest.update(number.to_le_bytes());
        }
    }
    let mut file = regular_file::open(path, Symlinks::Refuse)?.take(MOST_BYTES);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digest.finalize().into()),
            read => digest.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn every_change_is_seen_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let digests = || FileDigests::of([path("a"), path("refs")].into_iter(), true);
        fs::create_dir_all(path("refs/heads")).expect("made");
        rustix::fs::mknodat(rustix::fs::CWD, path("refs/pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        let changes: [&dyn Fn(); 7] = [
            &|| fs::write(path("a"), "1").expect("written"),
            &|| fs::write(path("a"), "2").expect("written"),
            &|| fs::set_permissions(path("a"), fs::Permissions::from_mode(0o755)).expect("set"),
            &|| fs::write(path("refs/heads/main"), "1").expect("written"),
            &|| fs::rename(path("refs/heads/main"), path("refs/heads/other")).expect("moved"),
            &|| symlink("x", path("refs/link")).expect("linked"),
            &|| fs::remove_file(path("a")).expect("removed"),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let before = digests();
            assert_eq!(before.first_difference(&digests()), None);
            change();
            assert!(before.first_difference(&digests()).is_some(), "change {number}");
        }
    }
}
