//! Walks the working tree on all cores: every folder is listed once, unless it is unchanged since an earlier run, and every
//! tracked file gets one stat.
//!
//! The contents of folders come from the file system, never from the index. Git is asked only which untracked files are
//! ignored, and only about files and folders without tracked files.

use super::ignored::Ignored;
use super::index::IndexState;
use super::layout::MAX_BYTES;
use super::listings::{LearnedEntries, LearnedFolder, Listings};
use super::program::Git;
use super::worktree_changes::Live;
use crate::changes::{ChangesError, folder, shown_text};
use crate::cores;
use crate::deadline::Deadline;
use crate::submission::Change;
use crate::workspace::{self, FileKind, FileStamp, FileStat, Workspace};
use crate::writer;
use rustix::fs::{AtFlags, Dir, FileType, fstat, statat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The folders that a thread lists before it takes more.
const PORTION: usize = 16;

/// A tracked path that exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackedFile {
    pub(super) kind: FileKind,
    /// Whether its owner may execute it.
    pub(super) is_program: bool,
    pub(super) size: u64,
    pub(super) mark: FileStamp,
}

impl TrackedFile {
    /// Returns the stat of a regular file.
    pub(super) fn file_stat(&self) -> Option<FileStat> {
        (self.kind == FileKind::File).then_some(FileStat { mark: self.mark, executable: self.is_program })
    }
}

/// The content of the working tree.
#[derive(Default)]
pub(super) struct WorkingTree {
    /// The existing tracked paths, by number. A folder is included only where git expects a submodule.
    pub(super) present: Vec<Option<TrackedFile>>,
    /// Untracked files that are not ignored. An unknown repository counts as one.
    pub(super) untracked: Vec<Vec<u8>>,
    /// Files where git expects a submodule and there is none.
    pub(super) loose: Vec<Change>,
    /// The repositories at tracked paths, by the number of the path.
    pub(super) inner: BTreeMap<usize, Git>,
}

/// The tracked paths.
pub(super) struct KnownPaths<'a> {
    /// The paths, sorted. The number of a path is its position.
    pub(super) paths: Vec<&'a [u8]>,
    /// The state of each path in the index.
    pub(super) states: Vec<Option<&'a IndexState>>,
    /// Whether it is a submodule.
    pub(super) is_repository: Vec<bool>,
}

impl<'a> KnownPaths<'a> {
    /// Returns the known paths, which are sorted, each with its state and whether it is a submodule.
    pub(super) fn new(known: impl Iterator<Item = (&'a [u8], Option<&'a IndexState>, bool)>) -> Self {
        let size = known.size_hint().0;
        let mut all = Self {
            paths: Vec::with_capacity(size),
            states: Vec::with_capacity(size),
            is_repository: Vec::with_capacity(size),
        };
        for (path, state, is_repository) in known {
            all.paths.push(path);
            all.states.push(state);
            all.is_repository.push(is_repository);
        }
        all
    }

    /// Returns the folders with tracked files, the root first.
    fn folders(&self) -> Vec<KnownFolder<'a>> {
        let mut folders = vec![KnownFolder { path: b"", files: Vec::new() }];
        // The folders around the current path, outermost first.
        let mut around = vec![0];
        for (number, path) in self.paths.iter().enumerate() {
            while around.len() > 1 && !is_below(path, folders[around[around.len() - 1]].path) {
                around.pop();
            }
            let innermost = folders[around[around.len() - 1]].path;
            let slashes = path.iter().enumerate().skip(innermost.len() + 1).filter(|&(_, &byte)| byte == b'/');
            for (end, _) in slashes {
                around.push(folders.len());
                folders.push(KnownFolder { path: &path[..end], files: Vec::new() });
            }
            folders[around[around.len() - 1]].files.push(number);
        }
        folders
    }

    /// Returns whether there are tracked files below a folder, whose path ends with a slash.
    fn has_files_below(&self, folder: &[u8]) -> bool {
        let first = self.paths.partition_point(|path| *path < folder);
        self.paths.get(first).is_some_and(|path| path.starts_with(folder))
    }
}

/// Returns whether a path is in a folder, or in one below it.
fn is_below(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// A folder, and the tracked files directly in it.
struct KnownFolder<'a> {
    path: &'a [u8],
    /// The numbers of the files, ordered by name.
    files: Vec<usize>,
}

/// Lists everything below the folder `start`, as far as folders with tracked files go.
pub(super) fn list(live: &Live<'_>, known: &KnownPaths<'_>, start: &str) -> Result<Listing, ChangesError> {
    let Live { git, root, work, store } = *live;
    // Folders above count too, because git reads their patterns.
    for (end, _) in start.match_indices('/').chain([(0, "")]) {
        refuse_unbounded_above(work, &start[..end])?;
    }
    let start = start.as_bytes();
    let mut folders = known.folders();
    folders.retain(|folder| folder.path == start || is_below(folder.path, start));
    if folders.first().is_none_or(|first| first.path != start) {
        folders.insert(0, KnownFolder { path: start, files: Vec::new() });
    }
    // A walk of a part would drop what is stored about the rest.
    let store = store.filter(|_| start.is_empty());
    let walk = TreeWalk { work, known, listings: Listings::open(store, root, folders.len()), deadline: &git.deadline };
    let mut listing = walk.list_all(&folders)?;
    let learned = std::mem::take(&mut listing.learned);
    walk.listings.keep(&learned, folders.iter().map(|folder| folder.path));
    Ok(listing)
}

/// Finds the untracked files and the nested repositories of what was listed.
pub(super) fn finish(
    git: &Git,
    root: &Path,
    work: &Workspace,
    known: &KnownPaths<'_>,
    listing: Listing,
) -> Result<WorkingTree, ChangesError> {
    let walk = TreeWalk { work, known, listings: Listings::default(), deadline: &git.deadline };
    let mut found = WorkingTree { present: vec![None; known.paths.len()], ..WorkingTree::default() };
    for (number, file) in listing.present {
        found.present[number] = Some(file);
    }
    for number in listing.repositories {
        let path = known.paths[number];
        let name = str::from_utf8(path).map_err(|_| ChangesError::BadPath(shown(path)))?;
        match another(git, root, path)? {
            Some(git) => drop(found.inner.insert(number, git)),
            // Without a repository, its files are checked as untracked.
            None => found.loose.extend(folder::files(root, name, &git.deadline)?),
        }
    }
    let mut ignored = Ignored::new(git);
    let mut untracked = Listing { doubtful: listing.doubtful, ..Listing::default() };
    while !untracked.doubtful.is_empty() {
        let (paths, kinds): (Vec<Vec<u8>>, Vec<bool>) = untracked.doubtful.drain(..).unzip();
        let answers = ignored.ask(&paths)?;
        for ((path, is_folder), is_ignored) in paths.into_iter().zip(kinds).zip(answers) {
            // What a killed `gate` left is no work of anybody.
            if is_ignored || writer::is_beside(path.rsplit(|byte| *byte == b'/').next().unwrap_or(&path)) {
                continue;
            }
            if is_folder && another(git, root, &path)?.is_none() {
                walk.list_into(&KnownFolder { path: &path, files: Vec::new() }, &mut untracked)?;
            } else {
                found.untracked.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns the nested repository in a folder, whose files git ignores. A `.git` alone does not make one.
fn another(git: &Git, root: &Path, path: &[u8]) -> Result<Option<Git>, ChangesError> {
    use std::os::unix::ffi::OsStrExt;
    let folder = root.join(Path::new(std::ffi::OsStr::from_bytes(path)));
    if folder.join(".git").symlink_metadata().is_err() {
        return Ok(None);
    }
    match Git::open_other(&folder, git.environment(), &git.deadline) {
        // Git does not accept it as a repository.
        Err(ChangesError::Git { .. } | ChangesError::BadPath(_)) => Ok(None),
        opened => opened,
    }
}

/// The content of some folders.
#[derive(Default)]
pub(super) struct Listing {
    /// The tracked files, by number.
    present: Vec<(usize, TrackedFile)>,
    /// The numbers of folders where git expects a submodule.
    repositories: Vec<usize>,
    /// Paths that may be ignored, and whether each is a folder.
    doubtful: Vec<(Vec<u8>, bool)>,
    /// The folders that were read, for later runs.
    learned: Vec<LearnedFolder>,
}

struct TreeWalk<'a> {
    work: &'a Workspace,
    known: &'a KnownPaths<'a>,
    /// The entries of folders from earlier runs.
    listings: Listings,
    deadline: &'a Deadline,
}

impl TreeWalk<'_> {
    /// Lists folders on all cores.
    fn list_all(&self, folders: &[KnownFolder<'_>]) -> Result<Listing, ChangesError> {
        let workers = cores::count().min(folders.len().div_ceil(2 * PORTION));
        let share = self.known.paths.len().div_ceil(workers.max(1));
        let next = AtomicUsize::new(0);
        let work_on = || {
            let mut listing = Listing { present: Vec::with_capacity(share), ..Listing::default() };
            loop {
                let first = next.fetch_add(PORTION, Ordering::Relaxed);
                let Some(portion) = folders.get(first..).filter(|rest| !rest.is_empty()) else { return Ok(listing) };
                for folder in portion.iter().take(PORTION) {
                    self.list_into(folder, &mut listing)?;
                }
            }
        };
        let listings: Result<Vec<Listing>, ChangesError> = thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work_on)).collect();
            let mine = work_on();
            let ended_early =
                || ChangesError::Unreadable { path: ".".to_owned(), why: "a thread ended early".to_owned() };
            let others = others.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(ended_early())));
            [mine].into_iter().chain(others.collect::<Vec<_>>()).collect()
        });
        let mut all = Listing::default();
        for listing in listings? {
            all.present.extend(listing.present);
            all.repositories.extend(listing.repositories);
            all.doubtful.extend(listing.doubtful);
            all.learned.extend(listing.learned);
        }
        // Independent of which thread listed a folder.
        all.repositories.sort_unstable();
        all.doubtful.sort_unstable();
        Ok(all)
    }

    fn list_into(&self, folder: &KnownFolder<'_>, listing: &mut Listing) -> Result<(), ChangesError> {
        self.deadline.check()?;
        let unreadable = |why: String| ChangesError::Unreadable { path: shown(folder.path), why };
        let mut path = folder.path.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        let start = path.len();
        let opened = match self.work.open_listed_folder(folder.path) {
            Ok(opened) => opened,
            // Deleted since it was listed, or since the commit.
            Err(workspace::WorkspaceError::NotFound) => return Ok(()),
            // Replaced by a symlink: its tracked files are looked up one by one.
            Err(workspace::WorkspaceError::WrongKind(_)) if self.known.has_files_below(&path) => return Ok(()),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let mut learned = None;
        if self.listings.is_kept() {
            let stamp = FileStamp::of(&fstat(&opened).map_err(|error| unreadable(error.to_string()))?);
            if let Some(entries) = self.listings.get(folder.path, &stamp) {
                for (name, kind) in entries {
                    path.truncate(start);
                    path.extend_from_slice(name);
                    self.see(folder, opened.as_fd(), &mut path, name, kind, listing)?;
                }
                return Ok(());
            }
            learned = self.listings.may_learn(&stamp).then(|| (stamp, LearnedEntries::default()));
        }
        let mut entries = Dir::new(opened).map_err(|error| unreadable(error.to_string()))?;
        while let Some(item) = entries.read() {
            self.deadline.check()?;
            let item = item.map_err(|error| unreadable(error.to_string()))?;
            let (name, kind) = (item.file_name(), item.file_type());
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            if let Some((_, entries)) = &mut learned {
                entries.add(name.to_bytes(), kind);
            }
            path.truncate(start);
            path.extend_from_slice(name.to_bytes());
            let directory = entries.fd().map_err(|error| unreadable(error.to_string()))?;
            self.see(folder, directory, &mut path, name, kind, listing)?;
        }
        let learned = learned.map(|(stamp, entries)| LearnedFolder { path: folder.path.to_vec(), stamp, entries });
        listing.learned.extend(learned);
        Ok(())
    }

    /// Adds an entry of a folder, which is open. `path` is the whole path of the entry.
    fn see(
        &self,
        folder: &KnownFolder<'_>,
        directory: BorrowedFd<'_>,
        path: &mut Vec<u8>,
        name: impl Arg,
        mut kind: FileType,
        listing: &mut Listing,
    ) -> Result<(), ChangesError> {
        let start = if folder.path.is_empty() { 0 } else { folder.path.len() + 1 };
        let by_name = |number: &usize| self.known.paths[*number][start..].cmp(&path[start..]);
        let number = folder.files.binary_search_by(by_name).ok().map(|place| folder.files[place]);
        let is_patterns = path[start..] == *b".gitignore";
        if number.is_some() || is_patterns || kind == FileType::Unknown {
            let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(ChangesError::Unreadable { path: shown(path), why: error.to_string() }),
            };
            kind = FileType::from_raw_mode(stat.st_mode);
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            if is_patterns {
                refuse_unbounded(path, kind, size)?;
            }
            if let Some(number) = number
                && (kind != FileType::Directory || self.known.is_repository[number])
            {
                if kind == FileType::Directory {
                    listing.repositories.push(number);
                }
                let is_program = stat.st_mode & 0o100 != 0;
                let present =
                    TrackedFile { kind: workspace::kind(&stat), is_program, size, mark: FileStamp::of(&stat) };
                listing.present.push((number, present));
                return Ok(());
            }
        }
        match kind {
            FileType::Directory => {
                path.push(b'/');
                // A folder with tracked files is listed anyway.
                if !self.known.has_files_below(path) {
                    path.pop();
                    listing.doubtful.push((path.clone(), true));
                }
            }
            FileType::RegularFile | FileType::Symlink => listing.doubtful.push((path.clone(), false)),
            // A pipe, a socket or a device, which cannot be committed.
            _ => {}
        }
        Ok(())
    }
}

fn refuse_unbounded_above(work: &Workspace, folder: &str) -> Result<(), ChangesError> {
    let path = if folder.is_empty() { ".gitignore".to_owned() } else { format!("{folder}/.gitignore") };
    match work.stat_raw(&path) {
        Ok(stat) => {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            refuse_unbounded(path.as_bytes(), FileType::from_raw_mode(stat.st_mode), size)
        }
        Err(_) => Ok(()),
    }
}

/// Refuses pattern files that git would block on, or read without end. Git does not follow a symlink there.
fn refuse_unbounded(path: &[u8], kind: FileType, size: u64) -> Result<(), ChangesError> {
    let why = match kind {
        FileType::RegularFile if size > MAX_BYTES => format!("it has {size} bytes, and at most {MAX_BYTES} are read"),
        FileType::RegularFile | FileType::Directory | FileType::Symlink => return Ok(()),
        _ => "it is not a regular file".to_owned(),
    };
    Err(ChangesError::Unbounded { path: shown(path), why })
}

fn shown(path: &[u8]) -> String {
    shown_text(&String::from_utf8_lossy(path))
}

#[cfg(test)]
mod tests;
