//! The contents of the checked files: each file is read once for all checks, and verified again before a pass.
//!
//! A file whose digest is known from an earlier run, and that has not changed since, is opened only if a verifier must be
//! called. A command or another process may change a file after it was checked. So before a pass, every file must have the
//! same stamp, or else the same bytes.

use super::digests::Digests;
use super::unchanged::{self, input};
use crate::cached_passes::CachedPasses;
use crate::cores;
use crate::deadline::Deadline;
use crate::runtime::FileInput;
use crate::verdict::Failure;
use crate::workspace::{FileStamp, StatWalker, Workspace, WorkspaceError};
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest as _, Sha256};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The most bytes that are kept in memory for later checks. Other files are read again.
const MOST_KEPT: u64 = 32 << 20;

/// With fewer files, a thread costs more than it saves.
const MANY: usize = 256;

/// The digests of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentDigests {
    /// The stamp from before the file was read; `None` if it would prove nothing.
    mark: Option<FileStamp>,
    /// SHA-256 of the bytes.
    pub(super) digest: [u8; 32],
    /// The digest of path, bytes and mode.
    pub(super) input: [u8; blake3::OUT_LEN],
    size: u64,
}

/// The digests of a file, and its bytes if they are in memory.
type FileContent = (ContentDigests, Option<Arc<FileInput>>);

#[derive(Debug, Default)]
struct Slot {
    /// How many checks still need the file.
    wanted: u32,
    seen: Option<ContentDigests>,
    content: Option<Arc<FileInput>>,
    /// Whether a check asked for the file.
    is_judged: bool,
    /// The file was read twice with different bytes, so at least one check judged something else than what is there now.
    is_torn: bool,
}

/// The files of a subject, by position.
#[derive(Debug)]
pub(super) struct Contents {
    work: Arc<Workspace>,
    slots: Vec<Mutex<Slot>>,
    kept: AtomicU64,
}

impl Contents {
    /// Returns the contents before anything is read. `wanted` says how many checks need each file; `known` has the digests
    /// of some.
    pub(super) fn new(work: &Arc<Workspace>, paths: &[String], wanted: &[u32], known: Option<&Digests>) -> Self {
        let slot = |(place, path): (usize, &String)| {
            let known = known.and_then(|known| known.of(place));
            let seen = known.map(|(mark, digest, executable)| {
                let file = FileInput { executable, ..FileInput::new(path, Vec::new()) };
                ContentDigests {
                    mark: Some(mark),
                    digest,
                    input: CachedPasses::input(&file, &digest),
                    size: mark.size(),
                }
            });
            Mutex::new(Slot { wanted: wanted.get(place).copied().unwrap_or(0), seen, ..Slot::default() })
        };
        let slots = paths.iter().enumerate().map(slot).collect();
        Self { work: Arc::clone(work), slots, kept: AtomicU64::new(0) }
    }

    fn slot(&self, place: usize) -> MutexGuard<'_, Slot> {
        self.slots[place].lock()
    }

    /// Returns the digests of a file, and its bytes if they are in memory. Reads the file if its digests are unknown. `None`
    /// for a folder.
    pub(super) fn digests(&self, place: usize, path: &str, max: u64) -> Result<Option<FileContent>, WorkspaceError> {
        let mut slot = self.slot(place);
        slot.is_judged = true;
        match slot.seen {
            Some(seen) if seen.size > max => Err(WorkspaceError::TooLarge(seen.size)),
            Some(seen) => Ok(Some((seen, slot.content.clone()))),
            None => Ok(self.read(&mut slot, path, max)?.map(|(seen, content)| (seen, Some(content)))),
        }
    }

    /// Returns the bytes of a file. `None` for a folder.
    pub(super) fn content(&self, place: usize, path: &str, max: u64) -> Result<Option<Arc<FileInput>>, WorkspaceError> {
        let mut slot = self.slot(place);
        slot.is_judged = true;
        match &slot.content {
            Some(content) => Ok(Some(Arc::clone(content))),
            None => Ok(self.read(&mut slot, path, max)?.map(|(_, content)| content)),
        }
    }

    /// Notes that a check is done with a file.
    pub(super) fn release(&self, place: usize) {
        let mut slot = self.slot(place);
        slot.wanted = slot.wanted.saturating_sub(1);
        if slot.wanted == 0
            && let Some(content) = slot.content.take()
        {
            self.kept.fetch_sub(content.content.len() as u64, Ordering::Relaxed);
        }
    }

    fn read(
        &self,
        slot: &mut Slot,
        path: &str,
        max: u64,
    ) -> Result<Option<(ContentDigests, Arc<FileInput>)>, WorkspaceError> {
        let Some((file, mark)) = input(&self.work, path, max)? else { return Ok(None) };
        let digest = Sha256::digest(&file.content).into();
        let size = file.content.len() as u64;
        let seen = ContentDigests { mark, digest, input: CachedPasses::input(&file, &digest), size };
        match slot.seen {
            Some(before) => slot.is_torn |= before.input != seen.input,
            None => slot.seen = Some(seen),
        }
        let content = Arc::new(file);
        if slot.wanted > 1 && self.kept.fetch_add(size, Ordering::Relaxed) + size <= MOST_KEPT {
            slot.content = Some(Arc::clone(&content));
        } else if slot.wanted > 1 {
            self.kept.fetch_sub(size, Ordering::Relaxed);
        }
        Ok(Some((seen, content)))
    }

    /// Returns `Err` if a file has changed since it was checked.
    pub(super) fn confirm(&self, paths: &[String], deadline: &Deadline) -> Result<(), Failure> {
        // Many files on all cores, each core with files that are next to each other.
        let size = paths.len().div_ceil(cores::count()).max(MANY);
        let changed: Vec<&str> = thread::scope(|scope| {
            let mut parts = paths.chunks(size).zip((0..).step_by(size));
            let first = parts.next();
            let others: Vec<_> =
                parts.map(|(part, start)| scope.spawn(move || self.changed(part, start, deadline))).collect();
            let first = first.map_or_else(Vec::new, |(part, start)| self.changed(part, start, deadline));
            let others = others.into_iter().map(|part| part.join().unwrap_or_else(|panic| panic::resume_unwind(panic)));
            first.into_iter().chain(others.flatten()).collect()
        });
        deadline.check()?;
        if changed.is_empty() { Ok(()) } else { Err(unchanged::failure("changed after it was checked", &changed)) }
    }

    /// Returns those of these files, the first of which is at the position `start`, that have changed since they were checked. After
    /// the deadline it ends early.
    fn changed<'p>(&self, paths: &'p [String], start: usize, deadline: &Deadline) -> Vec<&'p str> {
        let mut looker = StatWalker::new(&self.work);
        let mut changed = Vec::new();
        for (place, path) in (start..).zip(paths).take_while(|_| !deadline.is_over()) {
            let slot = self.slot(place);
            let Some(seen) = slot.seen.filter(|_| slot.is_judged) else { continue };
            let mut unmoved = || seen.mark.is_some_and(|mark| looker.mark(path) == Some(mark));
            let equal = |file: &FileInput| CachedPasses::input(file, &Sha256::digest(&file.content)) == seen.input;
            let again = || matches!(input(&self.work, path, seen.size), Ok(Some((file, _))) if equal(&file));
            if slot.is_torn || !(unmoved() || again()) {
                changed.push(path.as_str());
            }
        }
        changed
    }

    /// Returns the stamps and digests of the files, for later runs.
    pub(super) fn marks(&self) -> Vec<Option<(FileStamp, [u8; 32])>> {
        (0..self.slots.len())
            .map(|place| {
                let slot = self.slot(place);
                slot.seen.filter(|_| !slot.is_torn).and_then(|seen| Some((seen.mark?, seen.digest)))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn three() -> (tempfile::TempDir, Vec<String>, Arc<Workspace>) {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["a", "b", "c"].map(str::to_owned).to_vec();
        paths.iter().for_each(|path| fs::write(folder.path().join(path), path).expect("a file"));
        let work = Arc::new(Workspace::open(folder.path()).expect("a workspace"));
        (folder, paths, work)
    }

    #[test]
    fn a_file_is_kept_while_somebody_wants_it() {
        let (folder, paths, work) = three();
        let contents = Contents::new(&work, &paths, &[2, 1, 0], None);
        let bytes = |place: usize| contents.content(place, &paths[place], 9).expect("readable").expect("a file");
        assert_eq!(bytes(0).content, b"a");
        fs::write(folder.path().join("a"), "x").expect("written");
        assert_eq!(bytes(0).content, b"a", "read once");
        contents.release(0);
        assert_eq!(bytes(0).content, b"a");
        contents.release(0);
        assert_eq!(contents.kept.load(Ordering::Relaxed), 0);
        assert!(
            contents.confirm(&paths, &Deadline::default()).is_err_and(|failure| failure.message.ends_with(": `a`"))
        );
    }

    #[test]
    fn what_is_read_again_must_be_the_same() {
        let (folder, paths, work) = three();
        let contents = Contents::new(&work, &paths, &[1, 1, 1], None);
        for text in ["1", "2", "1"] {
            fs::write(folder.path().join("b"), text).expect("written");
            contents.content(1, "b", 9).expect("readable");
        }
        assert!(contents.confirm(&paths, &Deadline::default()).is_err());
        assert!(matches!(contents.digests(1, "b", 0), Err(WorkspaceError::TooLarge(1))));
        assert_eq!(contents.marks(), [None; 3], "torn, or too new to prove anything");
    }
}
