//! Files that this user's runs leave for later ones: compiled code, remembered verdicts.
//!
//! What is kept here decides what runs and what passes, so nothing is believed by its name: each entry carries a keyed
//! BLAKE3 code over its kind, its key and its bytes, made with a secret that only the owner can read. A file that was
//! planted, altered or cut fails that test and is deleted. Entries are written beside their place and renamed, so that
//! any number of processes may share the folder; when all together are too large, those that were not used for the
//! longest time go.

use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What all entries together may take, unless told otherwise.
const MOST_BYTES: u64 = 1 << 30;
const MAC_BYTES: usize = blake3::OUT_LEN;

/// What an entry is: its suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A compiled component.
    Compiled,
    /// What a verifier passed.
    Passes,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Compiled, Self::Passes];

    fn suffix(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Passes => "passes",
        }
    }
}

/// The folder.
#[derive(Debug)]
pub struct Vault {
    folder: PathBuf,
    secret: [u8; 32],
    most_bytes: u64,
}

impl Vault {
    /// Open the vault in `folder`, and make it if it is not there.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_bounded(folder, MOST_BYTES)
    }

    /// The same, with another bound on the size of all entries together.
    pub fn open_bounded(folder: &Path, most_bytes: u64) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned(), secret: secret(&folder.join("secret"))?, most_bytes })
    }

    /// The vault of this user: `$GATE_CACHE_DIR`, else `gatehost` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub fn default_folder() -> Option<PathBuf> {
        let from = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        from("GATE_CACHE_DIR")
            .or_else(|| Some(from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")))?.join("gatehost")))
    }

    /// The entry, if it is here and authentic.
    pub fn get(&self, kind: Kind, key: &blake3::Hash) -> Option<Vec<u8>> {
        let path = self.path(kind, key);
        let mut file = File::open(&path).ok()?;
        let mut entry = Vec::new();
        file.read_to_end(&mut entry).ok()?;
        let authentic = entry
            .split_first_chunk::<MAC_BYTES>()
            // `blake3::Hash` compares in constant time.
            .is_some_and(|(mac, bytes)| self.mac(kind, key, bytes) == blake3::Hash::from_bytes(*mac));
        if !authentic {
            let _ = fs::remove_file(&path);
            return None;
        }
        // Used now: keep it longest.
        let _ = file.set_modified(SystemTime::now());
        entry.drain(..MAC_BYTES);
        Some(entry)
    }

    /// Keep an entry. A failure costs time and nothing else, so callers need not report it.
    pub fn put(&self, kind: Kind, key: &blake3::Hash, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(&self.folder)?;
        file.write_all(self.mac(kind, key, bytes).as_bytes())?;
        file.write_all(bytes)?;
        file.persist(self.path(kind, key))?;
        self.prune()
    }

    /// Delete an entry that is of no use.
    pub fn remove(&self, kind: Kind, key: &blake3::Hash) {
        let _ = fs::remove_file(self.path(kind, key));
    }

    fn mac(&self, kind: Kind, key: &blake3::Hash, bytes: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        // The key has a fixed length and the suffixes differ in their first letter: no two entries share a text.
        hasher.update(key.as_bytes()).update(kind.suffix().as_bytes()).update(bytes).finalize()
    }

    fn path(&self, kind: Kind, key: &blake3::Hash) -> PathBuf {
        self.folder.join(format!("{}.{}", key.to_hex(), kind.suffix()))
    }

    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.extension().is_some_and(|suffix| Kind::ALL.iter().any(|kind| suffix == kind.suffix())) {
                // Another process may have pruned it in the meantime.
                let Ok(metadata) = entry.metadata() else { continue };
                entries.push((metadata.modified()?, metadata.len(), path));
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

/// Read the secret, or make one. Of several processes that make one at the same time, one wins and all use its.
fn secret(path: &Path) -> io::Result<[u8; 32]> {
    for _ in 0..2 {
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => {
                let mut file = File::from(file);
                let mut secret = [0; 32];
                if file.read_exact(&mut secret).is_ok() && file.metadata()?.permissions().mode() & 0o077 == 0 {
                    return Ok(secret);
                }
                // Cut, or readable by others: no entry that it vouches for can be believed.
                fs::remove_file(path)?;
            }
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        // A temporary file is made with mode 0600.
        let mut fresh = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
        let mut secret = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut secret)?;
        fresh.write_all(&secret)?;
        match fresh.persist_noclobber(path) {
            Ok(_) => return Ok(secret),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::other("the vault's secret keeps changing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Vault::open_bounded(folder.path(), 3 * (1_000 + MAC_BYTES as u64)).expect("a vault");
        let keys: Vec<blake3::Hash> = (0..5u8).map(|n| blake3::hash(&[n])).collect();
        let age = |key: &blake3::Hash, seconds| {
            let file = File::options().write(true).open(vault.path(Kind::Compiled, key)).expect("an entry");
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
        };
        for (key, seconds) in keys[..3].iter().zip([30, 20, 10]) {
            vault.put(Kind::Compiled, key, &[7; 1_000]).expect("kept");
            age(key, seconds);
        }
        // The oldest is used again, so the second has to go, and then the third.
        assert!(vault.get(Kind::Compiled, &keys[0]).is_some());
        vault.put(Kind::Passes, &keys[3], &[7; 1_000]).expect("kept");
        vault.put(Kind::Passes, &keys[4], &[7; 1_000]).expect("kept");
        assert_eq!(vault.get(Kind::Compiled, &keys[0]), Some(vec![7; 1_000]));
        assert_eq!(vault.get(Kind::Compiled, &keys[1]), None);
        assert_eq!(vault.get(Kind::Compiled, &keys[2]), None);
        assert!(vault.get(Kind::Passes, &keys[3]).is_some() && vault.get(Kind::Passes, &keys[4]).is_some());
    }

    #[test]
    fn an_entry_is_of_one_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Vault::open(folder.path()).expect("a vault");
        let key = blake3::hash(b"key");
        vault.put(Kind::Compiled, &key, b"bytes").expect("kept");
        fs::copy(vault.path(Kind::Compiled, &key), vault.path(Kind::Passes, &key)).expect("copied");
        assert_eq!(vault.get(Kind::Passes, &key), None);
        assert_eq!(vault.get(Kind::Compiled, &key).as_deref(), Some(&b"bytes"[..]));
    }
}
