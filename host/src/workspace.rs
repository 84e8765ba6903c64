//! Reads the files of the workspace without following symlinks and without leaving the root.
//!
//! Every checked file is read through this module, whether the host passes it to a verifier or a verifier reads it. A path
//! is opened part by part from a handle on the root, and symlinks are refused, so it cannot lead outside even while another
//! process changes the tree. Only regular files are opened, because a pipe would block and a device could do anything.

mod links;
mod mark;

pub use links::BadLink;
pub(crate) use links::real_inside;
pub use mark::FileStamp;
pub(crate) use mark::{FileStat, MARK_BYTES, StatWalker, timed_device};

use crate::regular_file;
use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MAX_PATH_BYTES: usize = 4 << 10;
/// Entries of one page of a listing.
const PAGE: usize = 1_000;
/// The most entries of one directory. More are an error, because a listing must be sorted as a whole.
const MAX_ENTRIES: usize = 200_000;

/// The flags for opening a directory.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open root.
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    path: PathBuf,
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// Nothing is there.
    #[error("not found")]
    NotFound,
    /// The path is not one that can be inside the workspace.
    #[error("not a path inside the workspace: expected parts joined by `/`, without `.`, `..`, `\\`, NUL or `.git`")]
    BadPath,
    /// The path has another kind.
    #[error("{}", match .0 { FileKind::Directory => "a directory, not a file", FileKind::Link => "a symlink, which is not followed", _ => "not a regular file" })]
    WrongKind(FileKind),
    /// A symlink does not lead to anything in the workspace.
    #[error("a symlink to `{target}`, which {how}")]
    BadLink {
        /// The target of the symlink, escaped.
        target: String,
        /// Why it cannot be followed.
        how: BadLink,
    },
    /// The file is larger than the limit.
    #[error("it has {0} bytes, which is too large")]
    TooLarge(u64),
    /// The file changed while it was read.
    #[error("it changed while `gate` read it")]
    Changed,
    /// The directory has too many entries.
    #[error("a directory of more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// The operating system returned an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for WorkspaceError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::NotFound,
            // A symlink instead of a file or a directory.
            Errno::LOOP => Self::WrongKind(FileKind::Link),
            Errno::NXIO => Self::WrongKind(FileKind::Other),
            other => Self::Io(other.into()),
        }
    }
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink.
    Link,
    /// Anything else.
    Other,
}

/// One file or directory of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceEntry {
    /// Its path relative to the root.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size, for a file.
    pub size: u64,
}

/// A part of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingPage {
    /// The entries, in the order of their paths' bytes.
    pub entries: Vec<WorkspaceEntry>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// How many names are not UTF-8.
    pub unnamable: u32,
}

impl Workspace {
    /// Opens a workspace.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Returns the path of the root.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Reads a whole file of at most `max` bytes.
    pub fn read(&self, path: &str, max: u64) -> Result<Vec<u8>, WorkspaceError> {
        self.read_with_mode(path, max).map(|(bytes, _)| bytes)
    }

    /// Reads a whole file of at most `max` bytes, and returns whether its owner may execute it.
    pub fn read_with_mode(&self, path: &str, max: u64) -> Result<(Vec<u8>, bool), WorkspaceError> {
        self.read_with_stat(path, max).map(|(bytes, stat)| (bytes, stat.executable))
    }

    /// Reads a whole file of at most `max` bytes, and returns its stat from before.
    pub(crate) fn read_with_stat(&self, path: &str, max: u64) -> Result<(Vec<u8>, FileStat), WorkspaceError> {
        let (file, stat) = self.open_regular_parts(path, &parts(path)?)?;
        let stat = FileStat::of(&stat).ok_or(WorkspaceError::WrongKind(FileKind::Other))?;
        let size = stat.mark.size();
        if size > max {
            return Err(WorkspaceError::TooLarge(size));
        }
        // One byte more than expected, to notice a growing file.
        let expected = usize::try_from(size).map_err(|_| WorkspaceError::TooLarge(size))?;
        let mut bytes = Vec::with_capacity(expected.checked_add(1).ok_or(WorkspaceError::TooLarge(size))?);
        while bytes.len() < expected {
            match rustix::io::read(&file, spare_capacity(&mut bytes)) {
                Ok(0) => return Err(WorkspaceError::Changed),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(WorkspaceError::Io(errno.into())),
            }
        }
        if bytes.len() > expected {
            return Err(WorkspaceError::Changed);
        }
        Ok((bytes, stat))
    }

    /// Returns whether the owner of a file may execute it.
    pub fn is_executable(&self, path: &str) -> Result<bool, WorkspaceError> {
        Ok(self.open_file(path)?.0.metadata()?.mode() & 0o100 != 0)
    }

    /// Reads at most `length` bytes from `offset`.
    pub fn read_range(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, WorkspaceError> {
        let (mut file, size) = self.open_file(path)?;
        let length = u64::from(length).min(size.saturating_sub(offset));
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.seek(SeekFrom::Start(offset))?;
        file.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(WorkspaceError::Changed) }
    }

    /// Returns the kind and size of what is at a path.
    pub fn stat(&self, path: &str) -> Result<WorkspaceEntry, WorkspaceError> {
        let parts = parts(path)?;
        let Some((name, folders)) = parts.split_last() else {
            return Ok(WorkspaceEntry { path: String::new(), kind: FileKind::Directory, size: 0 });
        };
        let stat = match self.open_folder(folders)? {
            None => rustix::fs::statat(&self.root, *name, AtFlags::SYMLINK_NOFOLLOW),
            Some(folder) => rustix::fs::statat(folder, *name, AtFlags::SYMLINK_NOFOLLOW),
        }?;
        Ok(entry(path.to_owned(), &stat))
    }

    /// Lists a directory, from the entry after `after`.
    pub fn list(&self, path: &str, after: Option<&str>) -> Result<ListingPage, WorkspaceError> {
        let parts = parts(path)?;
        let folder = self.open_folder(&parts)?;
        let folder = folder.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
        let mut names = Vec::new();
        let mut unnamable = 0;
        for item in Dir::read_from(folder)? {
            match item?.file_name().to_str() {
                Ok("." | ".." | ".git") => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => unnamable += 1,
            }
            if names.len() > MAX_ENTRIES {
                return Err(WorkspaceError::TooManyEntries);
            }
        }
        names.sort_unstable();
        let start = after.map_or(0, |after| names.partition_point(|name| name.as_str() <= after));
        let mut entries = Vec::new();
        for name in names[start..].iter().take(PAGE) {
            let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            // Deleted since it was listed.
            match rustix::fs::statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => entries.push(entry(path, &stat)),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let next = names.get(start + PAGE).map(|_| names[start + PAGE - 1].clone());
        Ok(ListingPage { entries, next, unnamable })
    }

    fn open_regular_parts<P: Arg + Copy>(&self, path: P, parts: &[P]) -> Result<(File, Stat), WorkspaceError> {
        let (name, folders) = parts.split_last().ok_or(WorkspaceError::WrongKind(FileKind::Directory))?;
        let flags = regular_file::READ | OFlags::NOFOLLOW;
        let file = match self.open_below(path, flags) {
            Some(opened) => opened?,
            None => match self.open_parts(folders)? {
                None => rustix::fs::openat(&self.root, *name, flags, Mode::empty()),
                Some(folder) => rustix::fs::openat(folder, *name, flags, Mode::empty()),
            }?,
        };
        let stat = rustix::fs::fstat(&file)?;
        match kind(&stat) {
            FileKind::File => Ok((File::from(file), stat)),
            other => Err(WorkspaceError::WrongKind(other)),
        }
    }

    fn open_file(&self, path: &str) -> Result<(File, u64), WorkspaceError> {
        let (file, stat) = self.open_regular_parts(path, &parts(path)?)?;
        Ok((file, entry(String::new(), &stat).size))
    }

    /// Opens a directory by a path of listed names; the root for an empty path. The name need not be a valid path of the
    /// workspace.
    pub(crate) fn open_listed_folder(&self, path: &[u8]) -> Result<OwnedFd, WorkspaceError> {
        if path.is_empty() {
            return Ok(rustix::fs::openat(&self.root, ".", FOLDER, Mode::empty())?);
        }
        if let Some(opened) = self.open_below(path, FOLDER) {
            return opened;
        }
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        self.open_parts(&parts)?.ok_or(WorkspaceError::NotFound)
    }

    /// Opens a regular file by a path of listed names, and returns its stat.
    pub(crate) fn open_listed_file(&self, path: &[u8]) -> Result<(File, Stat), WorkspaceError> {
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        self.open_regular_parts(path, &parts)
    }

    /// Returns the target of a symlink by a path of listed names.
    pub(crate) fn read_listed_link(&self, path: &[u8]) -> Result<Vec<u8>, WorkspaceError> {
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        let (name, folders) = parts.split_last().ok_or(WorkspaceError::NotFound)?;
        let folder = self.open_parts(folders)?;
        let folder = folder.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
        Ok(rustix::fs::readlinkat(folder, *name, Vec::new())?.into_bytes())
    }

    /// Returns the stat of a regular file.
    fn stat_file(&self, path: &str) -> Result<Stat, WorkspaceError> {
        let stat = self.stat_raw(path)?;
        match kind(&stat) {
            FileKind::File => Ok(stat),
            other => Err(WorkspaceError::WrongKind(other)),
        }
    }

    /// Returns the stat of a path, whose last part may be a symlink.
    pub(crate) fn stat_raw(&self, path: &str) -> Result<Stat, WorkspaceError> {
        let parts = parts(path)?;
        let (name, folders) = parts.split_last().ok_or(WorkspaceError::WrongKind(FileKind::Directory))?;
        let stat = match self.open_folder(folders)? {
            None => rustix::fs::statat(&self.root, *name, AtFlags::SYMLINK_NOFOLLOW),
            Some(folder) => rustix::fs::statat(folder, *name, AtFlags::SYMLINK_NOFOLLOW),
        }?;
        Ok(stat)
    }

    /// Opens a path in one step if the kernel can refuse symlinks; `None` if it cannot.
    #[cfg(target_os = "linux")]
    fn open_below<P: Arg>(&self, path: P, flags: OFlags) -> Option<Result<OwnedFd, WorkspaceError>> {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
            Ok(opened) => Some(Ok(opened)),
            // Older than Linux 5.6, or denied by a sandbox; or another process moves folders meanwhile.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => None,
            // The kernel reports a symlink as not a directory. Opening part by part shows which part it is.
            Err(Errno::NOTDIR) if flags.contains(OFlags::DIRECTORY) => None,
            Err(errno) => Some(Err(errno.into())),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_below<P: Arg>(&self, _: P, _: OFlags) -> Option<Result<OwnedFd, WorkspaceError>> {
        None
    }

    /// Opens a folder; `None` for the root itself, which is open already.
    fn open_folder(&self, parts: &[&str]) -> Result<Option<OwnedFd>, WorkspaceError> {
        if !parts.is_empty()
            && let Some(opened) = self.open_below(parts.join("/"), FOLDER)
        {
            return opened.map(Some);
        }
        self.open_parts(parts)
    }

    /// Opens a folder part by part.
    fn open_parts<P: Arg + Copy>(&self, parts: &[P]) -> Result<Option<OwnedFd>, WorkspaceError> {
        let mut folder: Option<OwnedFd> = None;
        for part in parts {
            let from = folder.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            let opened = rustix::fs::openat(from, *part, FOLDER, Mode::empty());
            // The kernel reports a symlink as not a directory, but its target may exist.
            let is_link = || {
                rustix::fs::statat(from, *part, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
            };
            folder = match opened {
                Err(Errno::NOTDIR) if is_link() => return Err(WorkspaceError::WrongKind(FileKind::Link)),
                opened => Some(opened?),
            };
        }
        Ok(folder)
    }
}

/// Returns the kind of a stat.
pub(crate) fn kind(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Other,
    }
}

fn entry(path: String, stat: &Stat) -> WorkspaceEntry {
    let kind = kind(stat);
    let size = if kind == FileKind::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
    WorkspaceEntry { path, kind, size }
}

/// Returns whether this is a valid path inside the workspace.
pub fn is_inside(path: &str) -> bool {
    parts(path).is_ok_and(|parts| !parts.is_empty())
}

fn parts(path: &str) -> Result<Vec<&str>, WorkspaceError> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    // Before splitting, because a guest may pass a long path, and a list of parts takes more memory.
    if path.len() > MAX_PATH_BYTES {
        return Err(WorkspaceError::BadPath);
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.iter().all(|part| is_name(part)) { Ok(parts) } else { Err(WorkspaceError::BadPath) }
}

/// Returns whether a part of a path can be the name of a file or a folder.
fn is_name(part: &str) -> bool {
    // Some file systems ignore case.
    !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git") && !part.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn work() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("src/deep")).expect("folders");
        fs::write(folder.path().join("src/a.txt"), "hello").expect("a file");
        fs::write(folder.path().join("secret"), "outside").expect("a file");
        symlink("/etc", folder.path().join("etc")).expect("a link");
        symlink("src", folder.path().join("again")).expect("a link");
        symlink("loop", folder.path().join("loop")).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().expect("mkfifo");
        assert!(made.success());
        let workspace = Workspace::open(folder.path()).expect("a workspace");
        (folder, workspace)
    }

    #[test]
    fn reads_what_is_inside() {
        let (_folder, workspace) = work();
        assert_eq!(workspace.read("src/a.txt", 5).expect("readable"), b"hello");
        assert_eq!(workspace.read_range("src/a.txt", 1, 3).expect("readable"), b"ell");
        assert_eq!(workspace.read_range("src/a.txt", 3, 99).expect("readable"), b"lo");
        assert_eq!(workspace.read_range("src/a.txt", 99, 1).expect("readable"), b"");
        assert!(matches!(workspace.read("src/a.txt", 4), Err(WorkspaceError::TooLarge(5))));
        assert!(matches!(workspace.read("src/b.txt", 4), Err(WorkspaceError::NotFound)));
    }

    #[test]
    fn no_path_leads_outside() {
        let (_folder, workspace) = work();
        for path in [
            "..",
            "../x",
            "/etc/passwd",
            "src/../secret",
            "src//a.txt",
            "src/",
            ".",
            "./src",
            "a\\b",
            "a\0b",
            ".git/config",
            "sub/.GIT/config",
        ] {
            assert!(matches!(workspace.read(path, 99), Err(WorkspaceError::BadPath)), "{path:?}");
            assert!(matches!(workspace.list(path, None), Err(WorkspaceError::BadPath)), "{path:?}");
        }
        let long = "a/".repeat(3_000) + "a";
        assert!(matches!(workspace.read(&long, 99), Err(WorkspaceError::BadPath)));
    }

    #[test]
    fn links_and_special_files_are_not_opened() {
        let (_folder, workspace) = work();
        for path in ["etc", "loop", "again"] {
            assert!(matches!(workspace.read(path, 99), Err(WorkspaceError::WrongKind(FileKind::Link))), "{path}");
            assert_eq!(workspace.stat(path).expect("there").kind, FileKind::Link, "{path}");
        }
        for path in ["etc/passwd", "again/a.txt", "loop/x"] {
            assert!(matches!(workspace.read(path, 1 << 20), Err(WorkspaceError::WrongKind(FileKind::Link))), "{path}");
            assert!(matches!(workspace.stat(path), Err(WorkspaceError::WrongKind(FileKind::Link))), "{path}");
        }
        assert!(matches!(workspace.read("pipe", 99), Err(WorkspaceError::WrongKind(FileKind::Other))));
        assert!(matches!(workspace.read("src", 99), Err(WorkspaceError::WrongKind(FileKind::Directory))));
        assert!(matches!(workspace.read("", 99), Err(WorkspaceError::WrongKind(FileKind::Directory))));
    }

    #[test]
    fn a_listing_is_sorted_and_paged() {
        let (folder, workspace) = work();
        let names = |page: &ListingPage| page.entries.iter().map(|entry| entry.path.clone()).collect::<Vec<_>>();
        let page = workspace.list("", None).expect("listable");
        assert_eq!(names(&page), ["again", "etc", "loop", "pipe", "secret", "src"]);
        for n in 0..PAGE + 5 {
            fs::write(folder.path().join(format!("src/deep/{n:05}")), "").expect("a file");
        }
        let first = workspace.list("src/deep", None).expect("listable");
        assert_eq!(first.entries.len(), PAGE);
        let second = workspace.list("src/deep", first.next.as_deref()).expect("listable");
        assert_eq!(names(&second).first().map(String::as_str), Some("src/deep/01000"));
        assert_eq!((second.entries.len(), second.next), (5, None));
    }
}
