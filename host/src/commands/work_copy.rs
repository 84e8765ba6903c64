//! A copy of the workspace for a command that fixes files (`fixes = true`). The workspace itself stays unchanged.
//!
//! Copied are the files that git tracks or would track; without git, all files. Ignored files (installed packages, build
//! output) are symlinks to the originals, which the command can read and not change. The differences between the copy and
//! the workspace become edits.

use super::{NoResult, Rewrite};
use crate::changes::{self, Needs, Selection};
use crate::environment::Environment;
use crate::temporary::{Purpose, Temporary};
use crate::verdict::Edit;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

/// The most bytes and files that are copied.
const MOST_BYTES: u64 = 4 << 30;
const MOST_FILES: usize = 200_000;
/// New folders with these names are caches, and so are new files and folders whose names start with a dot.
const CACHES: &[&str] = &["__pycache__", "node_modules", "target"];

/// The copy of the workspace.
#[derive(Debug)]
pub(super) struct WorkCopy {
    folder: Temporary,
    root: PathBuf,
    /// The copied files, with the state of each right after copying.
    copied: BTreeMap<String, FileState>,
    /// A file with a later state may have been written within the same clock tick.
    settled: i64,
}

/// The part of the metadata that changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    changed: (i64, i64),
    inode: u64,
    size: u64,
}

impl FileState {
    fn of(path: &Path) -> io::Result<Self> {
        let about = path.symlink_metadata()?;
        Ok(Self { changed: (about.ctime(), about.ctime_nsec()), inode: about.ino(), size: about.size() })
    }
}

impl WorkCopy {
    /// Copies the workspace `root`, which has no symlink in it.
    pub(super) fn of(root: &Path, environment: &Environment) -> Result<Self, NoResult> {
        let failed = |why: String| NoResult::not_started(format!("the workspace cannot be copied for it: {why}"));
        let all = changes::collect(root, &Selection::All, Needs::default(), environment)
            .map_err(|error| failed(error.to_string()))?;
        let kept: BTreeSet<&str> = all.paths().into_iter().collect();
        if kept.len() > MOST_FILES {
            return Err(failed(format!("it has {} files; at most {MOST_FILES} are copied", kept.len())));
        }
        let folder = Temporary::new(Purpose::Copy).map_err(|error| failed(error.to_string()))?;
        let mut copy = Self { folder, root: root.to_owned(), copied: BTreeMap::new(), settled: i64::MIN };
        let mut left = MOST_BYTES;
        copy.folder("", &kept, &mut left).map_err(|error| failed(error.to_string()))?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        copy.settled = i64::try_from(now.as_secs()).unwrap_or(i64::MAX).saturating_sub(2);
        Ok(copy)
    }

    /// Returns the path of the copy, without symlinks.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn folder(&mut self, inside: &str, kept: &BTreeSet<&str>, left: &mut u64) -> io::Result<()> {
        let (from, to) = (self.root.join(inside), self.path().join(inside));
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let name = entry.file_name();
            let path =
                name.to_str().map(|name| if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") });
            let kind = entry.file_type()?;
            match path {
                Some(path) if kept.contains(path.as_str()) && kind.is_symlink() => {
                    symlink(fs::read_link(&source)?, &target)?;
                    self.copied.insert(path, FileState::of(&target)?);
                }
                Some(path) if kept.contains(path.as_str()) && kind.is_file() => {
                    let size = entry.metadata()?.len();
                    *left = left.checked_sub(size).ok_or_else(|| io::Error::other("it has more than 4 GiB"))?;
                    fs::copy(&source, &target)?;
                    self.copied.insert(path, FileState::of(&target)?);
                }
                Some(path) if kind.is_dir() && has_below(kept, &path) => {
                    fs::create_dir(&target)?;
                    self.folder(&path, kept, left)?;
                }
                _ => symlink(&source, &target)?,
            }
        }
        Ok(())
    }

    /// Returns the changes of the command, as edits of the files of the workspace.
    pub(super) fn rewrites(&self) -> Result<Vec<Rewrite>, NoResult> {
        let unreadable = |path: &str, error: &io::Error| {
            NoResult::not_started(format!("cannot read its version of `{path}`: {error}"))
        };
        let mut rewrites = Vec::new();
        for (path, before) in &self.copied {
            let (here, there) = (self.path().join(path), self.root.join(path));
            if before.changed.0 < self.settled && FileState::of(&here).is_ok_and(|now| now == *before) {
                continue;
            }
            let now = content(&here).map_err(|error| unreadable(path, &error))?;
            let was = content(&there).map_err(|error| unreadable(path, &error))?;
            if now != was {
                rewrites.push(Rewrite { path: path.clone(), edits: edits(was.as_deref(), now.as_deref()) });
            }
        }
        let mut added = Vec::new();
        self.added("", &mut added).map_err(|error| unreadable(".", &error))?;
        for path in added {
            let now = content(&self.path().join(&path)).map_err(|error| unreadable(&path, &error))?;
            rewrites.push(Rewrite { edits: edits(Some(&[]), now.as_deref()), path });
        }
        rewrites.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(rewrites)
    }

    /// Collects the new files, except caches.
    fn added(&self, inside: &str, found: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(self.path().join(inside))? {
            let entry = entry?;
            let name = entry.file_name();
            // A finding cannot name a path that is not UTF-8, and tools do not create such names by themselves.
            let Some(name) = name.to_str() else { continue };
            let path = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
            let is_new = self.root.join(&path).symlink_metadata().is_err();
            let is_cache = is_new && (name.starts_with('.') || CACHES.contains(&name));
            match entry.file_type()? {
                _ if is_cache => {}
                kind if kind.is_dir() => self.added(&path, found)?,
                _ if is_new => found.push(path),
                _ => {}
            }
        }
        Ok(())
    }
}

fn has_below(kept: &BTreeSet<&str>, folder: &str) -> bool {
    let start = format!("{folder}/");
    kept.range(start.as_str()..).next().is_some_and(|path| path.starts_with(&start))
}

/// Returns the bytes of a file, or the target of a symlink; `None` if nothing is there.
fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let read = match path.symlink_metadata() {
        Ok(about) if about.is_symlink() => {
            fs::read_link(path).map(|target| std::os::unix::ffi::OsStringExt::into_vec(target.into_os_string()))
        }
        Ok(_) => fs::read(path),
        Err(error) => Err(error),
    };
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the edits from one content to another; none if one of them is not text or the file was deleted.
fn edits(was: Option<&[u8]>, now: Option<&[u8]>) -> Vec<Edit> {
    let text = |bytes: Option<&[u8]>| bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    match (text(was), text(now)) {
        (Some(was), Some(now)) => changes::edits(&was, &now),
        _ => Vec::new(),
    }
}
