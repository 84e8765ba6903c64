//! Files that runs leave for later runs of the same user: compiled code, descriptions or why there is none, cached passes.
//!
//! The cache decides what runs and what passes, so every entry is authenticated: it ends with a keyed BLAKE3 code over its
//! place and its bytes, with a secret that only the owner can read. A file that was planted, altered or truncated is
//! deleted. Entries are keyed by build, so another build never reads them.
//!
//! Entries are written to a temporary file and renamed, so any number of processes can share the folder. When the cache is
//! too large, the least recently used entries are deleted.

use crate::own_folder;
use crate::random::random;
use crate::regular_file::{self, Symlinks};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The default size of all entries together. One entry may take half of it.
const MOST_BYTES: u64 = 1 << 30;
const MAC_BYTES: usize = blake3::OUT_LEN;
/// The prefix of files that are being written.
const WRITING: &str = ".writing-";
/// Older temporary files belong to processes that were killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// The sources that this program was built from: `build.rs` digests them.
const BUILD: &str = env!("GATEHOST_BUILD");

/// The kind of an entry, which is its suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// A compiled component.
    Compiled,
    /// The description of a component.
    Description,
    /// The passes of a verifier.
    Passes,
    /// The ids of files that were hashed.
    Stats,
    /// Why a component could not be described.
    Failure,
}

impl CacheKind {
    const ALL: [Self; 5] = [Self::Compiled, Self::Description, Self::Passes, Self::Stats, Self::Failure];

    fn suffix(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Description => "description",
            Self::Passes => "passes",
            Self::Stats => "stats",
            Self::Failure => "failure",
        }
    }
}

/// The cache folder.
#[derive(Debug)]
pub struct CacheStore {
    folder: PathBuf,
    secret: [u8; 32],
    most_bytes: u64,
    build: &'static str,
}

impl CacheStore {
    /// Opens the cache in `folder`, and creates it if necessary. A folder that others can write to or replace is refused.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_bounded(folder, MOST_BYTES)
    }

    /// Opens the cache with another size limit.
    pub fn open_bounded(folder: &Path, most_bytes: u64) -> io::Result<Self> {
        let folder = own_folder::open(folder).map_err(io::Error::other)?.path;
        let secret = secret(&folder.join("secret"))?;
        Ok(Self { folder, secret, most_bytes, build: BUILD })
    }

    /// Returns an entry, if it exists and is authentic.
    pub fn get(&self, kind: CacheKind, key: &blake3::Hash) -> Option<Vec<u8>> {
        let place = self.place(kind, key);
        let (file, mut entry) = match read_regular(&self.path(kind, &place), self.most_bytes / 2) {
            Ok(found) => found,
            Err(error) => {
                if error.kind() == io::ErrorKind::InvalidData {
                    self.remove(kind, key);
                }
                return None;
            }
        };
        let authentic = |(bytes, mac): &(&[u8], &[u8; MAC_BYTES])| {
            // `blake3::Hash` compares in constant time.
            self.mac(&place, bytes) == blake3::Hash::from_bytes(**mac)
        };
        let Some(length) = entry.split_last_chunk().filter(authentic).map(|(bytes, _)| bytes.len()) else {
            self.remove(kind, key);
            return None;
        };
        // Marks it as used now.
        let _ = file.set_modified(SystemTime::now());
        entry.truncate(length);
        Some(entry)
    }

    /// Stores an entry. A failure only costs time, so callers need not report it.
    pub fn put(&self, kind: CacheKind, key: &blake3::Hash, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 + MAC_BYTES as u64 > self.most_bytes / 2 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let place = self.place(kind, key);
        let mut file = tempfile::Builder::new().prefix(WRITING).tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.write_all(self.mac(&place, bytes).as_bytes())?;
        file.persist(self.path(kind, &place))?;
        self.prune()
    }

    /// Deletes an entry that cannot be used.
    pub fn remove(&self, kind: CacheKind, key: &blake3::Hash) {
        let _ = fs::remove_file(self.path(kind, &self.place(kind, key)));
    }

    /// Returns the path of an entry: no two kinds, keys or builds share one.
    fn place(&self, kind: CacheKind, key: &blake3::Hash) -> blake3::Hash {
        let mut place = blake3::Hasher::new();
        // The key has a fixed length, and the suffixes differ in their first letter.
        place.update(key.as_bytes()).update(kind.suffix().as_bytes()).update(self.build.as_bytes()).finalize()
    }

    fn mac(&self, place: &blake3::Hash, bytes: &[u8]) -> blake3::Hash {
        blake3::Hasher::new_keyed(&self.secret).update(place.as_bytes()).update(bytes).finalize()
    }

    fn path(&self, kind: CacheKind, place: &blake3::Hash) -> PathBuf {
        self.folder.join(format!("{}.{}", place.to_hex(), kind.suffix()))
    }

    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            let kept = path.extension().is_some_and(|suffix| CacheKind::ALL.iter().any(|kind| suffix == kind.suffix()));
            let writing = entry.file_name().as_encoded_bytes().starts_with(WRITING.as_bytes());
            if !kept && !writing {
                continue;
            }
            // Another process may have deleted it meanwhile.
            let Ok(metadata) = entry.metadata() else { continue };
            let modified = metadata.modified()?;
            if kept {
                entries.push((modified, metadata.len(), path));
            } else if modified.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(path);
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in entries {
            if total <= self.most_bytes {
                break;
            }
            let _ = fs::remove_file(path);
            total -= size;
        }
        Ok(())
    }
}

fn is_mine(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Reads a whole regular file. Anything else, and a file that is too large, is an error of kind `InvalidData`.
fn read_regular(path: &Path, most: u64) -> io::Result<(File, Vec<u8>)> {
    let mut file = regular_file::open(path, Symlinks::Refuse)?;
    let size = file.metadata()?.len();
    let size = usize::try_from(size).ok().filter(|_| size <= most).ok_or(io::ErrorKind::InvalidData)?;
    let mut bytes = vec![0; size];
    file.read_exact(&mut bytes)?;
    Ok((file, bytes))
}

/// Reads the secret, or creates one. If several processes create one at the same time, all use that of the first.
fn secret(path: &Path) -> io::Result<[u8; 32]> {
    for _ in 0..2 {
        match private(path) {
            Ok(secret) => return Ok(secret),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Entries under the old secret cannot be trusted.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => fs::remove_file(path)?,
            Err(error) => return Err(error),
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        // A temporary file is made with mode 0600.
        let mut fresh = tempfile::Builder::new().prefix(WRITING).tempfile_in(folder)?;
        let secret: [u8; 32] = random().ok_or_else(|| io::Error::other("the system provides no random numbers"))?;
        fresh.write_all(&secret)?;
        match fresh.persist_noclobber(path) {
            Ok(_) => return Ok(secret),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::other("the secret of the cache keeps changing"))
}

/// Reads a secret that is complete, owned by this user and unreadable for others; `InvalidData` if it is not.
fn private(path: &Path) -> io::Result<[u8; 32]> {
    let (file, bytes) = read_regular(path, 32)?;
    let found = file.metadata()?;
    let secret = bytes.try_into().ok().filter(|_| is_mine(&found) && found.mode() & 0o077 == 0);
    secret.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    fn path(store: &CacheStore, kind: CacheKind, key: &blake3::Hash) -> PathBuf {
        store.path(kind, &store.place(kind, key))
    }

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    }

    #[test]
    fn what_is_no_file_is_neither_read_nor_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = CacheStore::open_bounded(folder.path(), 2_000).expect("a cache store");
        let key = blake3::hash(b"key");
        let entry = path(&store, CacheKind::Compiled, &key);
        let plants: [&dyn Fn(&Path); 3] = [&pipe, &|path| symlink("/dev/zero", path).expect("a link"), &|path| {
            File::create(path).expect("a file").set_len(1 << 33).expect("a sparse file");
        }];
        for plant in plants {
            plant(&entry);
            assert_eq!(store.get(CacheKind::Compiled, &key), None);
            assert!(fs::symlink_metadata(&entry).is_err(), "it is gone");
            let secret = folder.path().join("secret");
            fs::remove_file(&secret).expect("removed");
            plant(&secret);
            CacheStore::open(folder.path()).expect("a cache store with another secret");
        }
        assert!(store.put(CacheKind::Compiled, &key, &[7; 1_000]).is_err(), "more than half of it all");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        for mode in [0o777, 0o770, 0o702] {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).expect("allowed");
            assert!(CacheStore::open(folder.path()).is_err(), "{mode:o}");
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("allowed");
        assert!(CacheStore::open(folder.path()).is_ok());
    }

    #[test]
    fn what_was_abandoned_while_it_was_written_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = CacheStore::open(folder.path()).expect("a cache store");
        let (old, new) = (folder.path().join(".writing-old"), folder.path().join(".writing-new"));
        File::create(&new).expect("a file");
        File::create(&old).expect("a file").set_modified(SystemTime::now() - 2 * ABANDONED).expect("a time");
        store.put(CacheKind::Passes, &blake3::hash(b"key"), b"bytes").expect("kept");
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn an_entry_of_another_build_is_not_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = CacheStore::open(folder.path()).expect("a cache store");
        let other = CacheStore { build: "another", ..CacheStore::open(folder.path()).expect("a cache store") };
        let key = blake3::hash(b"key");
        other.put(CacheKind::Passes, &key, b"bytes").expect("kept");
        assert_eq!(store.get(CacheKind::Passes, &key), None);
        fs::copy(path(&other, CacheKind::Passes, &key), path(&store, CacheKind::Passes, &key)).expect("copied");
        assert_eq!(store.get(CacheKind::Passes, &key), None);
        assert_eq!(other.get(CacheKind::Passes, &key).as_deref(), Some(&b"bytes"[..]));
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = CacheStore::open_bounded(folder.path(), 3 * (1_000 + MAC_BYTES as u64)).expect("a cache store");
        let keys: Vec<blake3::Hash> = (0..5u8).map(|n| blake3::hash(&[n])).collect();
        let age = |key: &blake3::Hash, seconds| {
            let file = File::options().write(true).open(path(&store, CacheKind::Compiled, key)).expect("an entry");
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
        };
        for (key, seconds) in keys[..3].iter().zip([30, 20, 10]) {
            store.put(CacheKind::Compiled, key, &[7; 1_000]).expect("kept");
            age(key, seconds);
        }
        // The oldest is used again, so the second has to go, and then the third.
        assert!(store.get(CacheKind::Compiled, &keys[0]).is_some());
        store.put(CacheKind::Passes, &keys[3], &[7; 1_000]).expect("kept");
        store.put(CacheKind::Passes, &keys[4], &[7; 1_000]).expect("kept");
        assert_eq!(store.get(CacheKind::Compiled, &keys[0]), Some(vec![7; 1_000]));
        assert_eq!(store.get(CacheKind::Compiled, &keys[1]), None);
        assert_eq!(store.get(CacheKind::Compiled, &keys[2]), None);
        assert!(store.get(CacheKind::Passes, &keys[3]).is_some() && store.get(CacheKind::Passes, &keys[4]).is_some());
    }

    #[test]
    fn an_entry_is_of_one_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = CacheStore::open(folder.path()).expect("a cache store");
        let key = blake3::hash(b"key");
        store.put(CacheKind::Compiled, &key, b"bytes").expect("kept");
        fs::copy(path(&store, CacheKind::Compiled, &key), path(&store, CacheKind::Passes, &key)).expect("copied");
        assert_eq!(store.get(CacheKind::Passes, &key), None);
        assert_eq!(store.get(CacheKind::Compiled, &key).as_deref(), Some(&b"bytes"[..]));
    }
}
