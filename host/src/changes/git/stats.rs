//! Stores the ids of hashed files that have not changed since, outside the workspace.
//!
//! Git stores the same in its index, which belongs to the author of the change. These are in the user's own cache, each with
//! the stamp that the file had before it was hashed.

use super::id::{Id, ObjectFormat};
use crate::cache_store::{CacheKind, CacheStore};
use crate::workspace::{FileStamp, MARK_BYTES, timed_device};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The ids of the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentIds {
    /// The id of the bytes as they are.
    pub(super) id: Id,
    /// The id of the bytes that git may have stored for them.
    pub(super) other: Option<(Conversion, Id)>,
}

/// How a checkout converts stored bytes to the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// With CRLF for LF.
    LineEnds,
    /// Git LFS writes the file that a pointer names.
    Pointer,
}

/// The ids of one working tree.
pub(super) struct StatCache<'p> {
    /// The store, the key of the working tree, and its device.
    store: Option<(Arc<CacheStore>, blake3::Hash, u64)>,
    /// The stored entries, in the order of the paths.
    kept: Vec<u8>,
    /// The offset of the next entry.
    at: usize,
    /// The places of the entries that still hold.
    used: Vec<Range<usize>>,
    learned: Vec<(&'p [u8], FileStamp, ContentIds)>,
}

impl<'p> StatCache<'p> {
    /// Loads the ids for the working tree `root`; empty without a store.
    pub(super) fn open(store: Option<&Arc<CacheStore>>, root: &Path, format: ObjectFormat) -> Self {
        let store = store.and_then(|store| {
            let device = timed_device(root)?;
            let mut key = blake3::Hasher::new();
            key.update(&[format.length() as u8]).update(root.as_os_str().as_encoded_bytes());
            Some((Arc::clone(store), key.finalize(), device))
        });
        let kept = store.as_ref().and_then(|(store, key, _)| store.get(CacheKind::Stats, key)).unwrap_or_default();
        Self { store, kept, at: 0, used: Vec::new(), learned: Vec::new() }
    }

    /// Returns the ids of a file with this stamp. Paths are looked up in order.
    pub(super) fn get(&mut self, path: &'p [u8], mark: &FileStamp) -> Option<ContentIds> {
        loop {
            let mut rest = &self.kept[self.at..];
            let (before, known, digests) = read(&mut rest)?;
            let order = before.cmp(path);
            if order == Ordering::Greater {
                return None;
            }
            let start = std::mem::replace(&mut self.at, self.kept.len() - rest.len());
            if order == Ordering::Equal {
                let digests = (*known == mark.to_bytes()).then_some(digests)?;
                self.used.push(start..self.at);
                return Some(digests);
            }
        }
    }

    /// Stores the ids of a file that had this stamp before and after it was read.
    pub(super) fn learn(&mut self, path: &'p [u8], mark: &FileStamp, digests: ContentIds) {
        if self.store.as_ref().is_some_and(|(.., device)| mark.is_settled(*device)) {
            self.learned.push((path, *mark, digests));
        }
    }

    /// Writes the ids to the store. A failure only costs time, so it is not reported.
    pub(super) fn keep(self) {
        let Some((store, key, _)) = self.store.filter(|_| !self.learned.is_empty()) else { return };
        // Of several entries for one path, the last counts.
        let learned: BTreeMap<&[u8], _> = self.learned.iter().map(|(path, mark, ids)| (*path, (mark, ids))).collect();
        let mut bytes = Vec::with_capacity(self.kept.len());
        let mut used = self.used.into_iter().map(|place| &self.kept[place]).peekable();
        for (path, (mark, digests)) in &learned {
            while let Some((before, entry)) = used.peek().and_then(|entry| Some((read(&mut &**entry)?.0, *entry)))
                && before <= *path
            {
                if before < *path {
                    bytes.extend_from_slice(entry);
                }
                used.next();
            }
            write(&mut bytes, path, mark, digests);
        }
        used.for_each(|entry| bytes.extend_from_slice(entry));
        let _ = store.put(CacheKind::Stats, &key, &bytes);
    }
}

/// Appends one entry.
fn write(bytes: &mut Vec<u8>, path: &[u8], mark: &FileStamp, digests: &ContentIds) {
    let Ok(length) = u16::try_from(path.len()) else { return };
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(path);
    bytes.extend_from_slice(&mark.to_bytes());
    for id in [Some(digests.id), digests.other.map(|(_, id)| id)] {
        let id = id.as_ref().map_or(&[][..], Id::as_bytes);
        bytes.push(id.len() as u8);
        bytes.extend_from_slice(id);
    }
    bytes.push(u8::from(matches!(digests.other, Some((Conversion::Pointer, _)))));
}

/// Reads one entry from the front: the path, its stamp and its ids.
fn read<'k>(kept: &mut &'k [u8]) -> Option<(&'k [u8], &'k [u8; MARK_BYTES], ContentIds)> {
    let mut take = |count: usize| {
        let (taken, rest) = kept.split_at_checked(count)?;
        *kept = rest;
        Some(taken)
    };
    let length = u16::from_le_bytes(take(2)?.try_into().ok()?);
    let path = take(usize::from(length))?;
    let mark = take(MARK_BYTES)?.first_chunk()?;
    let mut ids = [None; 2];
    for id in &mut ids {
        let length = usize::from(*take(1)?.first()?);
        *id = Id::from_bytes(take(length)?);
    }
    let conversion = if take(1)? == [1] { Conversion::Pointer } else { Conversion::LineEnds };
    Some((path, mark, ContentIds { id: ids[0]?, other: ids[1].map(|id| (conversion, id)) }))
}

/// Returns whether the file system may report every file as executable: one of Windows, of a network, or in user space.
#[cfg(target_os = "linux")]
pub(super) fn may_lack_modes(root: &Path) -> bool {
    // FAT, exFAT, NTFS (two), FUSE, 9P, SMB (two), CIFS, the shared folders of VirtualBox and VMware.
    const FOREIGN: [u32; 11] = [
        0x4d44,
        0x2011_bab0,
        0x5346_544e,
        0x7366_746e,
        0x6573_5546,
        0x0102_1997,
        0x517b,
        0xfe53_4d42,
        0xff53_4d42,
        0x786f_4256,
        0xbacb_acbc,
    ];
    #[allow(clippy::unnecessary_cast, reason = "the type differs from system to system")]
    rustix::fs::statfs(root).is_ok_and(|about| FOREIGN.contains(&(about.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn may_lack_modes(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::git::id::{ObjectKind, hash};
    use crate::workspace::Workspace;
    use std::fs;

    #[test]
    fn what_is_kept_is_found_again_under_its_mark_only() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "1").expect("a file");
        let work = Workspace::open(folder.path()).expect("a workspace");
        let mark = |path: &str| FileStamp::of(&work.stat_raw(path).expect("there"));
        let first = mark("a");
        let id = hash(ObjectFormat::Sha1, ObjectKind::Blob, b"1");
        let digests = ContentIds { id, other: Some((Conversion::Pointer, id)) };
        let store = Arc::new(CacheStore::open(&folder.path().join("store")).expect("a store"));
        let open = || StatCache::open(Some(&store), folder.path(), ObjectFormat::Sha1);
        let mut stats = open();
        if stats.store.is_none() {
            return;
        }
        // Too new to be believed later.
        stats.learn(b"a", &first, digests);
        assert!(stats.learned.is_empty());
        let other = ContentIds { other: None, ..digests };
        for (path, digests) in [(&b"c"[..], other), (b"a", other), (b"a", digests)] {
            stats.learned.push((path, first, digests));
        }
        stats.keep();
        let mut stats = open();
        let found = [&b"0"[..], b"a", b"b", b"c", b"d"].map(|path| stats.get(path, &first));
        assert_eq!(found, [None, Some(digests), None, Some(other), None]);
        // What still holds stays, in order with what was learned.
        for path in [&b"b"[..], b"c", b"d"] {
            stats.learned.push((path, first, digests));
        }
        stats.keep();
        let mut stats = open();
        assert_eq!([&b"a"[..], b"b", b"c", b"d"].map(|path| stats.get(path, &first)), [Some(digests); 4]);
        fs::write(folder.path().join("a"), "22").expect("a file");
        assert_eq!(open().get(b"a", &mark("a")), None);
    }
}
