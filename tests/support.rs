//! Shared by all test targets: the list of cases, an isolated environment, and one cache of compiled components.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

/// A verifier whose settings say what it answers. Gates are tested with it.
pub(crate) const SCRIPTED: &str = include_str!("../fixtures/scripted.wat");

/// A port at which nothing listens. It is below the ports that the system hands out, so no other test gets it meanwhile.
pub(crate) const CLOSED_PORT: u16 = 1;

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
}

/// A folder of `fixtures/cases`: `GROUP/NAME`.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// Returns all cases, sorted by name.
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

/// The room that all tests need in memory at the same time, several times over.
const ROOM_BYTES: u64 = 2 << 30;

/// Returns a file system in memory, if there is one with enough room.
pub(crate) fn memory() -> Option<&'static Path> {
    let memory = Path::new("/dev/shm");
    let about = rustix::fs::statvfs(memory).ok()?;
    let has_room = about.f_bavail.saturating_mul(about.f_frsize) >= ROOM_BYTES;
    (has_room && !about.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)).then_some(memory)
}

/// Creates a temporary folder, in memory if possible: tests create, sync and delete so many files that they would wait for the
/// disk. `TMPDIR` chooses another place. Tests of the sandbox use `tempfile::tempdir`, because the sandbox replaces `/dev`.
pub(crate) fn tempdir() -> io::Result<tempfile::TempDir> {
    static PARENT: OnceLock<PathBuf> = OnceLock::new();
    let choose = || match memory() {
        Some(memory) if std::env::var_os("TMPDIR").is_none() => memory.to_owned(),
        _ => std::env::temp_dir(),
    };
    tempfile::tempdir_in(PARENT.get_or_init(choose))
}

/// Programs that the tests start by their names.
const PROGRAMS: [&str; 3] = ["bash", "git", "python3"];

/// Returns the search path without folders of the developer's home. Version managers keep whole installations there, and `gate`
/// would look for credentials in all their files before each command, because it gets another home. If a program is nowhere
/// else, it returns the whole search path.
pub(crate) fn search_path() -> &'static OsStr {
    static SEARCH: OnceLock<OsString> = OnceLock::new();
    SEARCH.get_or_init(|| {
        let whole = std::env::var_os("PATH").unwrap_or_default();
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let is_kept = |folder: &PathBuf| {
            !home.as_ref().is_some_and(|home| folder.starts_with(home)) || folder.join("cargo").is_file()
        };
        let folders: Vec<PathBuf> = std::env::split_paths(&whole).filter(is_kept).collect();
        let is_there = |program: &&str| folders.iter().any(|folder| folder.join(program).is_file());
        match std::env::join_paths(&folders) {
            Ok(short) if PROGRAMS.iter().all(is_there) => short,
            _ => whole,
        }
    })
}

/// Gives a command an environment without anything of the developer's. The cache and the ledger are below `home`.
pub(crate) fn isolate<'a>(command: &'a mut Command, folder: &Path, home: &Path) -> &'a mut Command {
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", search_path())
        .env("HOME", home)
        .env("GATE_CACHE_DIR", home.join("cache"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
}

/// Compiled code that all tests of this build of `gate` share, so that each component is compiled once. Only compiled code
/// and descriptions are shared: a cached pass would make one test depend on another.
pub(crate) struct Compiled(PathBuf);

impl Compiled {
    /// Returns the code of these components, in a folder that is named after them.
    pub(crate) fn of(components: &[String]) -> Self {
        Self(builds().join(components.join("+").replace('/', "-")))
    }

    /// Copies shared code into a cache.
    pub(crate) fn lend(&self, cache: &Path) -> io::Result<()> {
        private_folder(cache)?;
        // The key that authenticates the entries of all these caches.
        let mut secret = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(cache.join("secret"))?;
        io::Write::write_all(&mut secret, &[7; 32])?;
        link_entries(&self.0, cache);
        Ok(())
    }

    /// Shares the code that was compiled into this cache.
    pub(crate) fn take_back(&self, cache: &Path) -> io::Result<()> {
        private_folder(&self.0)?;
        link_entries(cache, &self.0);
        Ok(())
    }
}

/// Returns the folder for this build of `gate`. Those of other builds are deleted.
fn builds() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
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
        parent.join(name)
    })
}

/// Creates a folder that only its owner can access, as a cache requires.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn link_entries(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if [".compiled", ".description"].iter().any(|ending| name.to_string_lossy().ends_with(ending)) {
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

/// Copies a folder with everything in it.
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
