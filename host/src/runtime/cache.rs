//! Compiled components on disk, so that a component from outside is compiled once and not in every run.
//!
//! An entry is machine code that will run with the rights of this process, so it is never believed by its name: each
//! carries a keyed BLAKE3 code over its own key and bytes, made with a secret that only the owner of the cache can
//! read. A file that was planted, altered or cut fails that test, is deleted, and its component is compiled anew.
//! Entries are written beside their place and renamed, so that any number of processes may share the folder.

use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// When the entries together are larger, the ones that were not used for the longest time are deleted.
const MAX_TOTAL_BYTES: u64 = 1 << 30;
const MAC_BYTES: usize = blake3::OUT_LEN;
const SUFFIX: &str = "compiled";

/// The folder of compiled components.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    secret: [u8; 32],
}

impl Cache {
    /// Open the cache in `folder`, and make it if it is not there.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned(), secret: secret(&folder.join("secret"))? })
    }

    /// The cache of this user: `$GATE_CACHE_DIR`, else `gatehost` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub fn default_folder() -> Option<PathBuf> {
        let from = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        from("GATE_CACHE_DIR")
            .or_else(|| Some(from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")))?.join("gatehost")))
    }

    /// The component with this digest, if it is here and authentic.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let key = key(engine, digest);
        let path = self.path(&key);
        let mut file = File::open(&path).ok()?;
        let mut entry = Vec::new();
        file.read_to_end(&mut entry).ok()?;
        let code = self.authentic(&key, &entry).and_then(|code| {
            #[expect(
                unsafe_code,
                reason = "the bytes carry our own code: this process, or one of the same user, made them"
            )]
            // SAFETY: `authentic` proved that these very bytes were written by `put` under this key, which binds them
            // to this wasmtime and these settings.
            unsafe { Component::deserialize(engine, code) }.ok()
        });
        match code {
            // Used now: keep it longest.
            Some(component) => {
                let _ = file.set_modified(SystemTime::now());
                Some(component)
            }
            None => {
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Whether the component with this digest is here and authentic.
    pub(super) fn has(&self, engine: &Engine, digest: &str) -> bool {
        let key = key(engine, digest);
        fs::read(self.path(&key)).is_ok_and(|entry| self.authentic(&key, &entry).is_some())
    }

    /// Keep a compiled component. A failure costs time and nothing else, so it is not reported.
    pub(super) fn put(&self, engine: &Engine, digest: &str, component: &Component) {
        if let Ok(code) = component.serialize() {
            let key = key(engine, digest);
            let _ = self.write(&key, &code);
            let _ = self.prune();
        }
    }

    fn authentic<'entry>(&self, key: &str, entry: &'entry [u8]) -> Option<&'entry [u8]> {
        let (mac, code) = entry.split_first_chunk::<MAC_BYTES>()?;
        // `blake3::Hash` compares in constant time.
        (self.mac(key, code) == blake3::Hash::from_bytes(*mac)).then_some(code)
    }

    fn mac(&self, key: &str, code: &[u8]) -> blake3::Hash {
        blake3::Hasher::new_keyed(&self.secret).update(key.as_bytes()).update(code).finalize()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.{SUFFIX}"))
    }

    fn write(&self, key: &str, code: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(&self.folder)?;
        file.write_all(self.mac(key, code).as_bytes())?;
        file.write_all(code)?;
        file.persist(self.path(key))?;
        Ok(())
    }

    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == SUFFIX) {
                let metadata = entry.metadata()?;
                entries.push((metadata.modified()?, metadata.len(), entry.path()));
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in entries {
            if total <= MAX_TOTAL_BYTES {
                break;
            }
            fs::remove_file(path)?;
            total -= size;
        }
        Ok(())
    }
}

/// What an entry is valid for: the component's bytes, and everything that decides what they are compiled to.
fn key(engine: &Engine, digest: &str) -> String {
    struct Into(blake3::Hasher);
    impl Hasher for Into {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut hasher = Into(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.update(digest.as_bytes());
    hasher.0.finalize().to_hex().to_string()
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
    Err(io::Error::other("the cache's secret keeps changing"))
}
