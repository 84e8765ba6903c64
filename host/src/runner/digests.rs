//! Stores the digests of files between runs, outside the workspace.
//!
//! Each digest is stored with the stamp that the file had before it was read. If the stamp is the same in a later run, the
//! file need not be opened.

use crate::cache_store::{CacheKind, CacheStore};
use crate::workspace::{FileStamp, FileStat, MARK_BYTES};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// With fewer files, reading them is faster.
const MANY: usize = 64;
/// The most entries that are kept for one folder.
const MOST: usize = 200_000;

type Digest = [u8; 32];

/// The digests of the files of one folder.
#[derive(Debug)]
pub(super) struct Digests {
    store: Arc<CacheStore>,
    key: blake3::Hash,
    /// The device of the folder.
    device: u64,
    kept: Vec<u8>,
    /// The known stamp and digest of each path.
    known: Vec<Option<(FileStamp, Digest, bool)>>,
}

impl Digests {
    /// Loads the digests of those files that have not changed. `None` if there are few files, or if the file system does not
    /// update timestamps reliably.
    pub(super) fn open(
        store: &Arc<CacheStore>,
        root: &Path,
        paths: &[String],
        stats: &HashMap<String, FileStat>,
    ) -> Option<Self> {
        if paths.len() < MANY {
            return None;
        }
        let device = crate::workspace::timed_device(root)?;
        let key = blake3::Hasher::new().update(b"digests").update(root.as_os_str().as_encoded_bytes()).finalize();
        let kept = store.get(CacheKind::Stats, &key).unwrap_or_default();
        let mut known = vec![None; paths.len()];
        each(&kept, paths, |place, _, mark, digest| {
            if let Some(place) = place
                && let Some(stat) = stats.get(&paths[place])
                && stat.mark.to_bytes() == mark
            {
                known[place] = Some((stat.mark, digest, stat.executable));
            }
        });
        Some(Self { store: Arc::clone(store), key, device, kept, known })
    }

    /// Returns the stamp, the digest and the executable bit of the file at a position.
    pub(super) fn of(&self, place: usize) -> Option<(FileStamp, Digest, bool)> {
        self.known[place]
    }

    /// Stores the digests. A failure only costs time, so it is not reported.
    pub(super) fn keep(&self, paths: &[String], seen: &[Option<(FileStamp, Digest)>]) {
        let settled = |seen: &Option<(FileStamp, Digest)>| seen.filter(|(mark, _)| mark.is_settled(self.device));
        let now: Vec<Option<(FileStamp, Digest)>> = seen.iter().map(settled).collect();
        let before = self.known.iter().map(|known| known.map(|(mark, digest, _)| (mark, digest)));
        if now.iter().zip(before).all(|(now, before)| now.is_none() || *now == before) {
            return;
        }
        // Entries of other files stay, in order.
        let mut others = Vec::new();
        each(&self.kept, paths, |place, path, mark, digest| {
            if place.is_none() {
                others.push((path, mark, digest));
            }
        });
        let mine = paths.iter().zip(&now).filter_map(|(path, now)| {
            let (mark, digest) = (*now)?;
            Some((path.as_bytes(), mark.to_bytes(), digest))
        });
        let mut entries: Vec<(&[u8], [u8; MARK_BYTES], Digest)> = mine.collect();
        others.truncate(MOST.saturating_sub(entries.len()));
        entries.extend(others);
        entries.sort_unstable_by_key(|(path, ..)| *path);
        let mut bytes = Vec::new();
        for (path, mark, digest) in entries {
            let Ok(length) = u16::try_from(path.len()) else { continue };
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.extend_from_slice(&mark);
            bytes.extend_from_slice(&digest);
        }
        let _ = self.store.put(CacheKind::Stats, &self.key, &bytes);
    }
}

/// Walks the stored entries and the paths together, both sorted. Yields the position of the path if it is in the list, the
/// path, the stamp and the digest.
fn each<'k>(kept: &'k [u8], paths: &[String], mut tell: impl FnMut(Option<usize>, &'k [u8], [u8; MARK_BYTES], Digest)) {
    let mut rest = kept;
    let mut place = 0;
    while let Some((path, mark, digest)) = entry(&mut rest) {
        while paths.get(place).is_some_and(|next| next.as_bytes().cmp(path) == Ordering::Less) {
            place += 1;
        }
        let found = paths.get(place).filter(|next| next.as_bytes() == path);
        tell(found.map(|_| place), path, mark, digest);
    }
}

fn entry<'k>(rest: &mut &'k [u8]) -> Option<(&'k [u8], [u8; MARK_BYTES], Digest)> {
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at_checked(count)?;
        *rest = after;
        Some(taken)
    };
    let length = u16::from_le_bytes(take(2)?.try_into().ok()?);
    let path = take(usize::from(length))?;
    Some((path, take(MARK_BYTES)?.try_into().ok()?, take(32)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use std::fs;

    #[test]
    fn a_digest_is_known_while_a_file_looks_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let paths: Vec<String> = (0..MANY).map(|number| format!("{number:03}")).collect();
        paths.iter().for_each(|path| fs::write(root.join(path), path).expect("a file"));
        let work = Workspace::open(root).expect("a workspace");
        let stats = || paths.iter().filter_map(|path| Some((path.clone(), work.file_stat(path)?))).collect();
        let store = Arc::new(CacheStore::open(&root.join("store")).expect("a store"));
        assert!(Digests::open(&store, root, &paths[1..], &stats()).is_none(), "few");
        let Some(digests) = Digests::open(&store, root, &paths, &stats()) else { return };
        assert!((0..MANY).all(|place| digests.of(place).is_none()));
        let file_stats: HashMap<String, FileStat> = stats();
        let seen: Vec<_> = paths.iter().map(|path| Some((file_stats[path].mark, [path.len() as u8; 32]))).collect();
        digests.keep(&paths, &seen);
        let again = Digests::open(&store, root, &paths, &stats()).expect("many");
        assert!(again.of(0).is_none(), "too new to be believed later");
        let mut bytes = Vec::new();
        for (path, seen) in paths.iter().zip(&seen).filter(|(path, _)| *path != "005") {
            let (mark, digest) = seen.expect("seen");
            bytes.extend([&[3, 0], path.as_bytes(), &mark.to_bytes(), &digest].concat());
        }
        store.put(CacheKind::Stats, &digests.key, &bytes).expect("stored");
        fs::write(root.join("007"), "another").expect("written");
        let later = Digests::open(&store, root, &paths, &stats()).expect("many");
        let unknown: Vec<usize> = (0..MANY).filter(|place| later.of(*place).is_none()).collect();
        assert_eq!(unknown, [5, 7]);
        assert_eq!(later.of(3).map(|(_, digest, executable)| (digest, executable)), Some(([3; 32], false)));
    }
}
