//! What the test targets share: the list of cases, an environment without anything of the developer's own, and one cache
//! of compiled components for all of them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

/// A verifier that answers with what its settings say. Gates are tested with it.
pub(crate) const SCRIPTED: &str = include_str!("../fixtures/scripted.wat");

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

/// A folder of `fixtures/cases`: `GROUP/NAME`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// All cases, sorted by name.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for group in folders(&repository().join("fixtures/cases")) {
        assert!(!group.join("args").exists(), "{}: move this case into a group", group.display());
        for folder in folders(&group) {
            let name = [&group, &folder].map(|path| path.file_name().expect("a name").to_string_lossy()).join("/");
            assert!(folder.join("args").exists(), "{name}: a case needs a file `args`");
            cases.push(Case { name, folder });
        }
    }
    assert!(cases.len() > 400, "most of the cases are gone");
    cases
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Give a command an environment in which nothing of the developer's own can be seen. The cache and the ledger are below
/// `home`.
pub(crate) fn isolate<'a>(command: &'a mut Command, folder: &Path, home: &Path) -> &'a mut Command {
    let cache = home.join("cache");
    if !cache.exists() {
        lend_compiled(&cache);
    }
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GATE_CACHE_DIR", cache)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
}

/// The components that any test compiled with this build of `gate`, with the key that authenticates them. Only compiled
/// code and descriptions are here: a cached pass would make one test depend on another. A test that runs as another user
/// does without.
fn compiled() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let built = fs::metadata(env!("CARGO_BIN_EXE_gate")).and_then(|gate| gate.modified()).expect("gate is built");
        let name = format!("compiled-{}", built.duration_since(UNIX_EPOCH).expect("a date").as_nanos());
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for old in folders(parent) {
            let folder = old.file_name().unwrap_or_default().to_string_lossy();
            if folder.starts_with("compiled-") && folder != name {
                // Another test process may be deleting it as well.
                let _ = fs::remove_dir_all(&old);
            }
        }
        let folder = parent.join(name);
        let secret = || fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join("secret"));
        let made = try_private_folder(&folder).and_then(|()| secret());
        match made.and_then(|mut file| io::Write::write_all(&mut file, &[7; 32])) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => panic!("{}: {error}", folder.display()),
            _ => Some(folder),
        }
    });
    folder.as_deref()
}

/// Start a cache with what other tests compiled.
pub(crate) fn lend_compiled(cache: &Path) {
    private_folder(cache);
    if let Some(compiled) = compiled() {
        link_entries(compiled, cache, &["secret", ".compiled", ".description"]);
    }
}

/// Let other tests use what was compiled into this cache.
pub(crate) fn return_compiled(cache: &Path) {
    if let Some(compiled) = compiled() {
        link_entries(cache, compiled, &[".compiled", ".description"]);
    }
}

pub(crate) fn private_folder(folder: &Path) {
    try_private_folder(folder).expect("a folder");
}

fn try_private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn link_entries(from: &Path, to: &Path, endings: &[&str]) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if endings.iter().any(|ending| name.to_string_lossy().ends_with(ending)) {
            let target = to.join(&name);
            // A hard link appears whole or not at all; between file systems a copy is made and renamed.
            match fs::hard_link(entry.path(), &target) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy_whole(&entry.path(), &target),
                _ => {}
            }
        }
    }
}

fn copy_whole(from: &Path, to: &Path) {
    let copied = tempfile::NamedTempFile::new_in(to.parent().expect("a folder")).expect("a file");
    fs::copy(from, copied.path()).expect("copied");
    copied.persist(to).expect("renamed");
}

/// Copy a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&target).expect("a folder");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}
