//! Walks the working tree: every folder is listed once, and every tracked file gets one stat.
//!
//! The contents of folders come from the file system, never from the index. Git is asked only which untracked files are
//! ignored, and only about files and folders without tracked files.

use super::ignored::Ignored;
use super::layout::MAX_BYTES;
use super::program::Git;
use crate::changes::{ChangesError, folder, shown_text};
use crate::submission::Change;
use crate::workspace::{self, FileKind, FileStamp, FileStat, Workspace};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

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
    pub(super) fn sight(&self) -> Option<FileStat> {
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
    /// Whether it is a submodule.
    pub(super) is_repository: Vec<bool>,
    numbers: HashMap<&'a [u8], usize>,
}

impl<'a> KnownPaths<'a> {
    pub(super) fn new(paths: BTreeMap<&'a [u8], bool>) -> Self {
        let (paths, is_repository): (Vec<&[u8]>, Vec<bool>) = paths.into_iter().unzip();
        let numbers = paths.iter().enumerate().map(|(number, path)| (*path, number)).collect();
        Self { paths, is_repository, numbers }
    }
}

/// Walks everything below the folder `start`.
pub(super) fn walk(
    git: &Git,
    root: &Path,
    work: &Workspace,
    known: &KnownPaths<'_>,
    start: &str,
) -> Result<WorkingTree, ChangesError> {
    let mut folders = HashSet::new();
    for path in &known.paths {
        for (end, _) in path.iter().enumerate().rev().filter(|&(_, &byte)| byte == b'/') {
            // The folders above it exist already.
            if !folders.insert(&path[..end]) {
                break;
            }
        }
    }
    let found = WorkingTree { present: vec![None; known.paths.len()], ..WorkingTree::default() };
    let mut walk = TreeWalk { git, work, root, known, folders, found, ahead: Vec::new(), doubtful: Vec::new() };
    // Folders above count too, because git reads their patterns.
    for (end, _) in start.match_indices('/').chain([(0, "")]) {
        walk.refuse_unbounded_above(&start[..end])?;
    }
    walk.ahead.push(start.as_bytes().to_vec());
    let mut ignored = Ignored::new(git);
    loop {
        while let Some(folder) = walk.ahead.pop() {
            walk.list(folder)?;
        }
        if walk.doubtful.is_empty() {
            return Ok(walk.found);
        }
        let (paths, kinds): (Vec<Vec<u8>>, Vec<bool>) = std::mem::take(&mut walk.doubtful).into_iter().unzip();
        let answers = ignored.ask(&paths)?;
        for ((path, is_folder), is_ignored) in paths.into_iter().zip(kinds).zip(answers) {
            if is_ignored {
                continue;
            }
            if is_folder && another(git, root, &path)?.is_none() {
                walk.ahead.push(path);
            } else {
                walk.found.untracked.push(path);
            }
        }
    }
}

/// Returns the nested repository in a folder, whose files git ignores. A `.git` alone does not make one.
fn another(git: &Git, root: &Path, path: &[u8]) -> Result<Option<Git>, ChangesError> {
    use std::os::unix::ffi::OsStrExt;
    let folder = root.join(Path::new(std::ffi::OsStr::from_bytes(path)));
    if folder.join(".git").symlink_metadata().is_err() {
        return Ok(None);
    }
    match Git::open_other(&folder, git.environment()) {
        // Git does not accept it as a repository.
        Err(ChangesError::Git { .. } | ChangesError::BadPath(_)) => Ok(None),
        opened => opened,
    }
}

struct TreeWalk<'a> {
    git: &'a Git,
    work: &'a Workspace,
    root: &'a Path,
    known: &'a KnownPaths<'a>,
    /// The folders with tracked files.
    folders: HashSet<&'a [u8]>,
    found: WorkingTree,
    /// The folders still to list.
    ahead: Vec<Vec<u8>>,
    /// Paths that may be ignored, and whether each is a folder.
    doubtful: Vec<(Vec<u8>, bool)>,
}

impl TreeWalk<'_> {
    fn list(&mut self, folder: Vec<u8>) -> Result<(), ChangesError> {
        let unreadable = |why: String| ChangesError::Unreadable { path: shown(&folder), why };
        let opened = match self.work.open_listed_folder(&folder) {
            Ok(opened) => opened,
            // Deleted since it was listed.
            Err(workspace::WorkspaceError::NotFound) => return Ok(()),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let mut listing = Dir::new(opened).map_err(|error| unreadable(error.to_string()))?;
        let mut path = folder.clone();
        if !folder.is_empty() {
            path.push(b'/');
        }
        let start = path.len();
        while let Some(item) = listing.read() {
            let item = item.map_err(|error| unreadable(error.to_string()))?;
            let name = item.file_name();
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            path.truncate(start);
            path.extend_from_slice(name.to_bytes());
            let number = self.known.numbers.get(path.as_slice()).copied();
            let mut kind = item.file_type();
            let is_patterns = name.to_bytes() == b".gitignore";
            if number.is_some() || is_patterns || kind == FileType::Unknown {
                let directory = listing.fd().map_err(|error| unreadable(error.to_string()))?;
                let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => stat,
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(ChangesError::Unreadable { path: shown(&path), why: error.to_string() }),
                };
                kind = FileType::from_raw_mode(stat.st_mode);
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                if is_patterns {
                    refuse_unbounded(&path, kind, size)?;
                }
                if let Some(number) = number
                    && (kind != FileType::Directory || self.known.is_repository[number])
                {
                    if kind == FileType::Directory {
                        self.repository(&path, number)?;
                    }
                    let is_program = stat.st_mode & 0o100 != 0;
                    let present =
                        TrackedFile { kind: workspace::kind(&stat), is_program, size, mark: FileStamp::of(&stat) };
                    self.found.present[number] = Some(present);
                    continue;
                }
            }
            match kind {
                FileType::Directory if self.folders.contains(path.as_slice()) => self.ahead.push(path.clone()),
                FileType::Directory => self.doubtful.push((path.clone(), true)),
                FileType::RegularFile | FileType::Symlink => self.doubtful.push((path.clone(), false)),
                // A pipe, a socket or a device, which cannot be committed.
                _ => {}
            }
        }
        Ok(())
    }

    /// Visits a folder where git expects a submodule. Without one, its files are checked as untracked.
    fn repository(&mut self, path: &[u8], number: usize) -> Result<(), ChangesError> {
        let name = str::from_utf8(path).map_err(|_| ChangesError::BadPath(shown(path)))?;
        match another(self.git, self.root, path)? {
            Some(git) => drop(self.found.inner.insert(number, git)),
            None => self.found.loose.extend(folder::files(self.root, name)?),
        }
        Ok(())
    }

    fn refuse_unbounded_above(&self, folder: &str) -> Result<(), ChangesError> {
        let path = if folder.is_empty() { ".gitignore".to_owned() } else { format!("{folder}/.gitignore") };
        match self.work.stat_raw(&path) {
            Ok(stat) => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                refuse_unbounded(path.as_bytes(), FileType::from_raw_mode(stat.st_mode), size)
            }
            Err(_) => Ok(()),
        }
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
