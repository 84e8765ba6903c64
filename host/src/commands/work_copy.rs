//! A copy of the workspace: for a command that fixes files (`fixes = true`), or for one that sees the base's version of some
//! files. The workspace itself stays unchanged.
//!
//! Copied are the files that git tracks or would track; without git, all files. Of the [`BaseFiles`], the copy has the base's
//! version. Without a sandbox, nothing in a copy for fixes leads out of it. The differences between the copy of a command that fixes and the workspace become edits.

use super::mounts::{MountAccess, MountedPath, Private};
use super::{BaseFiles, NoResult, Rewrite};
use crate::changes::{self, ChangesError, Needs, Selection, WorkFolder};
use crate::deadline::{Deadline, Late};
use crate::environment::Environment;
use crate::regular_file::{self, Symlinks};
use crate::temporary::{Purpose, Temporary};
use crate::verdict::{Edit, Fix};
use crate::workspace::{FileKind, Workspace, WorkspaceError};
use rustix::fs::{Timespec, Timestamps, futimens};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::Bound;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

/// The most bytes and files that are copied.
const MOST_BYTES: u64 = 4 << 30;
/// The most bytes of a file that a command wrote.
const MAX_READ: u64 = 256 << 20;
/// The bytes of the edits of all files.
const MAX_EDITS: usize = 16 << 20;
const MOST_FILES: usize = 200_000;
/// The bytes that are copied at once.
const PIECE: u64 = 64 << 20;
/// The least that a file counts.
const BLOCK: u64 = 4 << 10;
/// New folders with these names are caches, and so are new files and folders whose names start with a dot.
const CACHES: &[&str] = &["__pycache__", "node_modules", "target"];

/// What the copy has of files that git ignores: installed packages, build output.
#[derive(Clone, Copy, Debug)]
pub(super) enum IgnoredFiles<'a> {
    /// Symlinks to the originals, which the command can read and not change; nothing without a sandbox.
    Linked,
    /// Empty folders, where the originals are to be mounted. Those that a command with these mounts may write are copied
    /// instead: what it builds from files of the base must not be taken for what the work builds.
    Mounted(&'a [MountedPath]),
}

/// The copy of the workspace.
#[derive(Debug)]
pub(super) struct WorkCopy {
    folder: Temporary,
    root: PathBuf,
    base: Option<Arc<BaseFiles>>,
    /// The ignored folders to be mounted.
    ignored: Vec<PathBuf>,
    /// The folders that no command may read.
    private: Vec<PathBuf>,
    /// The copied files, with the state of each right after copying.
    copied: BTreeMap<String, FileState>,
    /// The symlinks that are missing, because they lead out of the copy.
    left_out: Vec<String>,
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
    /// Copies the workspace `root`, which has no symlink in it. Of `private` folders, the copy has empty ones.
    pub(super) fn of(
        root: &Path,
        environment: &Environment,
        base: Option<Arc<BaseFiles>>,
        ignored: IgnoredFiles<'_>,
        private: &[Private],
        deadline: &Deadline,
    ) -> Result<Self, NoResult> {
        let failed = |why: String| NoResult::not_started(format!("the workspace cannot be copied for it: {why}"));
        let all = collect(root, environment, deadline).map_err(|error| failed(error.to_string()))?;
        let kept: BTreeSet<&str> = all.paths().into_iter().collect();
        if kept.len() > MOST_FILES {
            return Err(failed(format!("it has {} files; at most {MOST_FILES} are copied", kept.len())));
        }
        let folder = Temporary::new(Purpose::Copy).map_err(|error| failed(error.to_string()))?;
        let (root, copied) = (root.to_owned(), BTreeMap::new());
        let private = private.iter().map(|folder| folder.path.clone()).collect();
        let mut copy =
            Self { folder, root, base, ignored: Vec::new(), private, copied, left_out: Vec::new(), settled: i64::MIN };
        let mut left = CopyBudget { bytes: MOST_BYTES, deadline };
        copy.folder("", &kept, ignored, &mut left).map_err(|error| failed(error.to_string()))?;
        copy.restore(&mut left).map_err(|error| failed(error.to_string()))?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        copy.settled = i64::try_from(now.as_secs()).unwrap_or(i64::MAX).saturating_sub(2);
        Ok(copy)
    }

    /// Returns the path of the copy, without symlinks.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the ignored folders of the workspace that are missing in the copy, and are to be mounted.
    pub(super) fn ignored(&self) -> &[PathBuf] {
        &self.ignored
    }

    /// Removes every symlink that leads out of the copy, because nothing keeps the command from writing through it.
    pub(super) fn confine(&mut self) -> io::Result<()> {
        let copy = Workspace::open(self.path())?;
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
                let inside = path.strip_prefix(self.path()).ok().and_then(Path::to_str);
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_symlink() && !inside.is_some_and(|inside| copy.stays_inside(inside)) {
                    fs::remove_file(&path)?;
                    // An ignored file is not named.
                    if let Some((link, _)) = inside.and_then(|inside| self.copied.remove_entry(inside)) {
                        self.left_out.push(link);
                    }
                }
            }
        }
        self.left_out.sort();
        Ok(())
    }

    /// Returns the symlinks that are missing, because they lead out of the copy.
    pub(super) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    fn folder(
        &mut self,
        inside: &str,
        kept: &BTreeSet<&str>,
        ignored: IgnoredFiles<'_>,
        left: &mut CopyBudget<'_>,
    ) -> io::Result<()> {
        let (from, to) = (self.root.join(inside), self.path().join(inside));
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let name = entry.file_name();
            let path =
                name.to_str().map(|name| if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") });
            let kind = entry.file_type()?;
            let base = self.base.as_deref().map(|base| &base.paths);
            match path {
                _ if self.private.contains(&source) => fs::create_dir(&target)?,
                // The base's version takes this place, or needs a folder here.
                Some(path) if base.is_some_and(|base| base.contains(&path)) => {}
                Some(path) if !kind.is_dir() && base.is_some_and(|base| has_below(base, &path)) => {}
                Some(path) if kept.contains(path.as_str()) && (kind.is_file() || kind.is_symlink()) => {
                    copy_file(&source, &target, left)?;
                    self.copied.insert(path, FileState::of(&target)?);
                }
                Some(path)
                    if kind.is_dir() && (has_below(kept, &path) || base.is_some_and(|base| has_below(base, &path))) =>
                {
                    fs::create_dir(&target)?;
                    self.folder(&path, kept, ignored, left)?;
                }
                _ => match ignored {
                    IgnoredFiles::Linked => symlink(&source, &target)?,
                    IgnoredFiles::Mounted(_) if !kind.is_dir() => copy_file(&source, &target, left)?,
                    IgnoredFiles::Mounted(places) if is_writable(&source, places) => {
                        copy_folder(&source, &target, left)?
                    }
                    IgnoredFiles::Mounted(_) => {
                        fs::create_dir(&target)?;
                        self.ignored.push(source);
                    }
                },
            }
        }
        Ok(())
    }

    /// Writes the base's version of files, where the copy has nothing and only folders above.
    fn restore(&self, left: &mut CopyBudget<'_>) -> io::Result<()> {
        let Some(base) = &self.base else { return Ok(()) };
        for path in &base.paths {
            let (source, target) = (base.stored.path().join(path), self.path().join(path));
            let Ok(about) = source.symlink_metadata() else { continue };
            fs::create_dir_all(target.parent().unwrap_or(self.path()))?;
            match about.is_dir() {
                // A submodule.
                true => fs::create_dir(&target)?,
                false => copy_file(&source, &target, left)?,
            }
        }
        Ok(())
    }

    /// Returns the changes of the command, as edits of the files of the workspace.
    pub(super) fn rewrites(&self, deadline: &Deadline) -> Result<Vec<Rewrite>, NoResult> {
        let late = |late: Late| NoResult::not_started(late.to_string());
        let unreadable = |path: &str, error: &dyn std::fmt::Display| {
            NoResult::not_started(format!("cannot read its version of `{path}`: {error}"))
        };
        let open = |folder: &Path| Workspace::open(folder).map_err(|error| unreadable(".", &error));
        let (copy, work) = (open(self.path())?, open(&self.root)?);
        let mut paths = Vec::new();
        self.added("", &mut paths).map_err(|error| unreadable(".", &error))?;
        let added: BTreeSet<String> = paths.iter().cloned().collect();
        paths.extend(
            self.copied.iter().filter(|(path, before)| !self.is_as_copied(path, before)).map(|(path, _)| path.clone()),
        );
        paths.sort();
        let (mut rewrites, mut left) = (Vec::new(), MAX_EDITS);
        for path in paths {
            deadline.check().map_err(late)?;
            let is_new = added.contains(&path);
            let read = |work| content(work, &path).map_err(|error| unreadable(&path, &error));
            let was = if is_new { Content::File(Vec::new()) } else { read(&work)? };
            let now = read(&copy)?;
            if is_new || now != was {
                rewrites.push(Rewrite { edits: within(edits(was, now, deadline).map_err(late)?, &mut left), path });
            }
        }
        Ok(rewrites)
    }

    fn is_as_copied(&self, path: &str, before: &FileState) -> bool {
        before.changed.0 < self.settled && FileState::of(&self.path().join(path)).is_ok_and(|now| now == *before)
    }

    /// Collects the new files, except caches.
    fn added(&self, inside: &str, found: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(self.path().join(inside))? {
            let entry = entry?;
            let name = entry.file_name();
            // A finding cannot name a path that is not UTF-8, and tools do not create such names by themselves.
            let Some(name) = name.to_str() else { continue };
            let path = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
            if self.base.as_ref().is_some_and(|base| base.paths.contains(&path)) {
                continue;
            }
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

/// Finds every file of the workspace.
fn collect(root: &Path, environment: &Environment, deadline: &Deadline) -> Result<changes::Changes, ChangesError> {
    let work = WorkFolder::of(root, environment)?.until(deadline);
    changes::collect_at(&work, &Selection::All, &Needs::default, environment, None)
}

/// What may still be copied, and until when.
struct CopyBudget<'d> {
    bytes: u64,
    deadline: &'d Deadline,
}

impl CopyBudget<'_> {
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        self.deadline.check().map_err(io::Error::other)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| io::Error::other("it has more than 4 GiB"))?;
        Ok(())
    }
}

fn has_below<T: Borrow<str> + Ord>(paths: &BTreeSet<T>, folder: &str) -> bool {
    let start = format!("{folder}/");
    let from = (Bound::Included(start.as_str()), Bound::Unbounded);
    paths.range::<str, _>(from).next().is_some_and(|path| path.borrow().starts_with(&start))
}

/// Returns whether a command with these mounts, parents first, may write to a folder or below it.
fn is_writable(folder: &Path, places: &[MountedPath]) -> bool {
    let nearest = places.iter().rev().find(|place| folder.starts_with(&place.path));
    let below = places.iter().filter(|place| place.path.starts_with(folder));
    nearest.into_iter().chain(below).any(|place| place.access == MountAccess::Write)
}

/// Copies a file with its times, which builds compare, or a symlink. Pipes, sockets and devices are left out.
fn copy_file(source: &Path, target: &Path, left: &mut CopyBudget<'_>) -> io::Result<()> {
    let about = source.symlink_metadata()?;
    if about.is_symlink() {
        return symlink(fs::read_link(source)?, target);
    }
    if !about.is_file() {
        return Ok(());
    }
    let mut from = regular_file::open(source, Symlinks::Refuse)?;
    let about = from.metadata()?;
    let size = about.len().max(BLOCK);
    left.take(size)?;
    let mut to = fs::File::create_new(target)?;
    while io::copy(&mut from.by_ref().take(PIECE), &mut to)? > 0 {
        left.take(0)?;
    }
    to.set_permissions(about.permissions())?;
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(about.atime(), about.atime_nsec()),
        last_modification: time(about.mtime(), about.mtime_nsec()),
    };
    Ok(futimens(&to, &times)?)
}

fn copy_folder(source: &Path, target: &Path, left: &mut CopyBudget<'_>) -> io::Result<()> {
    fs::create_dir(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (source, target) = (entry.path(), target.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => copy_folder(&source, &target, left)?,
            false => copy_file(&source, &target, left)?,
        }
    }
    Ok(())
}

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Nothing,
    File(Vec<u8>),
    /// A symlink, with its target.
    Link(Vec<u8>),
}

/// Returns what is at a path. A command may have put a symlink, a pipe or a device anywhere, so no symlink is followed, and only
/// regular files are read.
fn content(work: &Workspace, path: &str) -> Result<Content, WorkspaceError> {
    match work.open_listed_file(path.as_bytes()) {
        Ok((file, about)) => {
            let size = u64::try_from(about.st_size).unwrap_or(u64::MAX);
            if size > MAX_READ {
                return Err(WorkspaceError::TooLarge(size));
            }
            let mut bytes = Vec::new();
            file.take(size).read_to_end(&mut bytes)?;
            Ok(Content::File(bytes))
        }
        Err(WorkspaceError::WrongKind(FileKind::Link)) => {
            Ok(work.read_listed_link(path.as_bytes()).map_or(Content::Nothing, Content::Link))
        }
        Err(WorkspaceError::NotFound | WorkspaceError::WrongKind(_)) => Ok(Content::Nothing),
        Err(error) => Err(error),
    }
}

/// Returns the edits from one file to another; none if one of them is not text, is a symlink, or was deleted.
fn edits(was: Content, now: Content, deadline: &Deadline) -> Result<Vec<Edit>, Late> {
    Ok(match (was, now) {
        // What was added does not fit into a fix.
        (Content::File(was), Content::File(now)) if now.len() > was.len() + Fix::MAX_BYTES => Vec::new(),
        (Content::File(was), Content::File(now)) => match (String::from_utf8(was), String::from_utf8(now)) {
            (Ok(was), Ok(now)) => changes::edits(&was, &now, deadline)?,
            _ => Vec::new(),
        },
        (Content::Nothing | Content::Link(_), _) | (_, Content::Nothing | Content::Link(_)) => Vec::new(),
    })
}

/// Returns the edits of a file, or none if they are more than a fix can have or than all files may have together: then the change is
/// reported without a fix.
fn within(edits: Vec<Edit>, left: &mut usize) -> Vec<Edit> {
    let bytes = edits.iter().map(|edit| edit.replacement.len()).sum::<usize>();
    let size = bytes + edits.len() * size_of::<Edit>();
    if bytes > Fix::MAX_BYTES || edits.len() > Fix::MAX_EDITS || size > *left {
        return Vec::new();
    }
    *left -= size;
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_that_no_fix_can_have_are_left_out() {
        let of = |bytes: usize, count: usize| {
            let edit =
                Edit { start_line: 1, start_column: 1, end_line: 1, end_column: 1, replacement: "a".repeat(bytes) };
            vec![edit; count]
        };
        let mut left = 200_000;
        for (bytes, count, kept) in [
            (Fix::MAX_BYTES, 1, 1),
            (Fix::MAX_BYTES + 1, 1, 0),
            (0, Fix::MAX_EDITS + 1, 0),
            (Fix::MAX_BYTES, 1, 1),
            (Fix::MAX_BYTES, 1, 1),
            (Fix::MAX_BYTES, 1, 0),
            (10, 2, 2),
        ] {
            assert_eq!(within(of(bytes, count), &mut left).len(), kept, "{bytes} {count}");
        }
    }

    #[test]
    fn only_files_are_edited() {
        let file = |text: &str| Content::File(text.as_bytes().to_vec());
        let link = || Content::Link(b"/etc/passwd".to_vec());
        let edits = |was, now| edits(was, now, &Deadline::default()).expect("no deadline");
        assert_eq!(edits(file("a\n"), file("b\n")).len(), 1);
        for (was, now) in [
            (file("a\n"), link()),
            (link(), file("a\n")),
            (link(), Content::Link(b"other".to_vec())),
            (file("a\n"), Content::Nothing),
            (Content::Nothing, file("a\n")),
            (file("a\n"), Content::File(vec![0xff])),
        ] {
            assert_eq!(edits(was, now), Vec::new());
        }
    }

    #[test]
    fn copying_and_comparing_end_when_nobody_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, target) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&source, "1").expect("a file");
        let deadline = Deadline::default();
        let mut left = CopyBudget { bytes: MOST_BYTES, deadline: &deadline };
        copy_file(&source, &target, &mut left).expect("copied");
        assert_eq!(left.bytes, MOST_BYTES - BLOCK);
        let environment = Environment::of_process();
        let copy =
            WorkCopy::of(folder.path(), &environment, None, IgnoredFiles::Linked, &[], &deadline).expect("copied");
        fs::write(copy.path().join("a"), "2").expect("a change");
        assert_eq!(copy.rewrites(&deadline).expect("a change").len(), 1);
        deadline.end();
        assert!(copy.rewrites(&deadline).is_err());
        assert!(copy_file(&source, &folder.path().join("c"), &mut left).is_err());
        let all = WorkCopy::of(folder.path(), &Environment::of_process(), None, IgnoredFiles::Linked, &[], &deadline);
        assert!(all.is_err());
    }
}
