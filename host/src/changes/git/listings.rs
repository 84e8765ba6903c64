//! Stores the entries of folders between runs, outside the workspace, so that an unchanged folder is not read again.
//!
//! A folder gets a new change time whenever an entry is added, removed or renamed, and nobody but root can set that time. So a
//! folder with the same stamp as before has the same entries. Its files may have changed: each of them still gets a stat.

use crate::cache_store::{CacheKind, CacheStore};
use crate::workspace::{FileStamp, MARK_BYTES, timed_device};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// With fewer folders, reading them is faster.
const MANY: usize = 32;

/// The entries of the folders of one working tree.
#[derive(Default)]
pub(super) struct Listings {
    /// The store, the key of the working tree, and its device.
    store: Option<(Arc<CacheStore>, blake3::Hash, u64)>,
    kept: Vec<u8>,
    /// The places of the records, in the order of their paths.
    records: Vec<Record>,
}

/// The place of a stored folder.
struct Record {
    path: Range<usize>,
    stamp: usize,
    entries: Range<usize>,
}

impl Listings {
    /// Loads the entries of the working tree `root`, which has so many known folders; empty without a store.
    pub(super) fn open(store: Option<&Arc<CacheStore>>, root: &Path, folders: usize) -> Self {
        let store = store.filter(|_| folders >= MANY);
        store.and_then(|store| Some(Self::load(store, root, timed_device(root)?))).unwrap_or_default()
    }

    fn load(store: &Arc<CacheStore>, root: &Path, device: u64) -> Self {
        let key = blake3::Hasher::new().update(b"listings").update(root.as_os_str().as_encoded_bytes()).finalize();
        let kept = store.get(CacheKind::Stats, &key).unwrap_or_default();
        let records = records(&kept).unwrap_or_default();
        Self { store: Some((Arc::clone(store), key, device)), kept, records }
    }

    /// Loads the entries, whatever the file system.
    #[cfg(test)]
    pub(super) fn timed(store: &Arc<CacheStore>, root: &Path) -> Self {
        Self::load(store, root, 0)
    }

    /// Returns whether there is a store.
    pub(super) fn is_kept(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the stored stamp and the entries of a folder.
    fn stored(&self, path: &[u8]) -> Option<(&[u8], &[u8])> {
        let found = self.records.binary_search_by(|record| self.kept[record.path.clone()].cmp(path)).ok()?;
        let Record { stamp, entries, .. } = &self.records[found];
        Some((&self.kept[*stamp..stamp + MARK_BYTES], &self.kept[entries.clone()]))
    }

    /// Returns the entries of a folder that still has this stamp.
    pub(super) fn get(&self, path: &[u8], stamp: &FileStamp) -> Option<impl Iterator<Item = (&[u8], FileType)>> {
        let (before, entries) = self.stored(path)?;
        (before == stamp.to_bytes()).then_some(Entries(entries))
    }

    /// Returns whether a folder with this stamp is worth storing: a later run can rely on the stamp.
    pub(super) fn may_learn(&self, stamp: &FileStamp) -> bool {
        self.store.as_ref().is_some_and(|(.., device)| stamp.is_settled(*device))
    }

    /// Stores the learned folders, and those of before that are still known. A failure only costs time, so it is not reported.
    pub(super) fn keep<'p>(&self, learned: &[LearnedFolder], known: impl Iterator<Item = &'p [u8]>) {
        let Some((store, key, _)) = self.store.as_ref().filter(|_| !learned.is_empty()) else { return };
        let learned: BTreeMap<&[u8], &LearnedFolder> =
            learned.iter().map(|folder| (folder.path.as_slice(), folder)).collect();
        let mut folders: Vec<&[u8]> = known.collect();
        folders.sort_unstable();
        let mut bytes = Vec::with_capacity(self.kept.len());
        for path in folders {
            let Ok(length) = u16::try_from(path.len()) else { continue };
            let stamp;
            let (stamp, entries) = match learned.get(path) {
                Some(folder) => {
                    stamp = folder.stamp.to_bytes();
                    (&stamp[..], folder.entries.0.as_slice())
                }
                None => match self.stored(path) {
                    Some(before) => before,
                    None => continue,
                },
            };
            let Ok(size) = u32::try_from(entries.len()) else { continue };
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.extend_from_slice(stamp);
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(entries);
        }
        let _ = store.put(CacheKind::Stats, key, &bytes);
    }
}

/// A folder that was read.
pub(super) struct LearnedFolder {
    pub(super) path: Vec<u8>,
    /// Its stamp from before it was read.
    pub(super) stamp: FileStamp,
    pub(super) entries: LearnedEntries,
}

/// The names in a folder, each with its length before it and its kind behind it.
#[derive(Default)]
pub(super) struct LearnedEntries(Vec<u8>);

/// The kinds of entries, each stored as its position.
const KINDS: [FileType; 7] = [
    FileType::RegularFile,
    FileType::Directory,
    FileType::Symlink,
    FileType::Fifo,
    FileType::Socket,
    FileType::CharacterDevice,
    FileType::BlockDevice,
];

impl LearnedEntries {
    /// Adds an entry. Its kind may be unknown.
    pub(super) fn add(&mut self, name: &[u8], kind: FileType) {
        // No file system has longer names.
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        let kind = KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len());
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(&name[..usize::from(length)]);
        self.0.push(kind as u8);
    }
}

/// The stored entries of a folder.
struct Entries<'k>(&'k [u8]);

impl<'k> Iterator for Entries<'k> {
    type Item = (&'k [u8], FileType);

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let (&kind, rest) = rest.split_first()?;
        self.0 = rest;
        Some((name, KINDS.get(usize::from(kind)).copied().unwrap_or(FileType::Unknown)))
    }
}

/// Returns the places of the stored folders; `None` if the bytes are not such a list.
fn records(kept: &[u8]) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    let mut at = 0;
    let mut take = |count: usize| {
        let place = at..at + count;
        kept.get(place.clone())?;
        at = place.end;
        Some(place)
    };
    while let Some(length) = take(2) {
        let path = take(usize::from(u16::from_le_bytes(kept[length].try_into().ok()?)))?;
        let stamp = take(MARK_BYTES)?.start;
        let size = u32::from_le_bytes(kept[take(4)?].try_into().ok()?);
        records.push(Record { path, stamp, entries: take(usize::try_from(size).ok()?)? });
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use std::fs;

    fn found(listings: &Listings, path: &[u8], stamp: &FileStamp) -> Option<Vec<(Vec<u8>, FileType)>> {
        listings.get(path, stamp).map(|entries| entries.map(|(name, kind)| (name.to_vec(), kind)).collect())
    }

    #[test]
    fn a_folder_is_found_again_under_its_stamp_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["work", "work/a", "work/b"] {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        let store = Arc::new(CacheStore::open(&root.join("store")).expect("a store"));
        let root = root.join("work");
        let work = Workspace::open(&root).expect("a workspace");
        let stamp = |path: &str| FileStamp::of(&work.stat_raw(path).expect("there"));
        let open = || Listings::timed(&store, &root);
        assert!(!Listings::open(Some(&store), &root, MANY - 1).is_kept(), "few");
        let (first, second) = (stamp("a"), stamp("b"));
        assert!(!open().may_learn(&first), "too new to be believed later");
        let learned = |path: &str, stamp, names: &[(&str, FileType)]| {
            let mut entries = LearnedEntries::default();
            names.iter().for_each(|(name, kind)| entries.add(name.as_bytes(), *kind));
            LearnedFolder { path: path.into(), stamp, entries }
        };
        let of_b = [("y", FileType::RegularFile), ("x", FileType::Directory), ("z", FileType::Unknown)];
        let both = [learned("b", second, &of_b), learned("a", first, &[]), learned("gone", first, &[])];
        open().keep(&both, [&b"b"[..], b"a", b"c"].into_iter());
        let of_b: Vec<_> = of_b.iter().map(|(name, kind)| (name.as_bytes().to_vec(), *kind)).collect();
        let listings = open();
        assert_eq!(found(&listings, b"a", &first), Some(Vec::new()));
        assert_eq!(found(&listings, b"b", &second), Some(of_b.clone()));
        assert_eq!(found(&listings, b"b", &first), None, "another stamp");
        assert_eq!([&b"c"[..], b"gone"].map(|path| found(&listings, path, &first)), [None, None]);
        // What is not learned again stays, as long as it is known.
        listings.keep(&[learned("a", second, &[("n", FileType::Symlink)])], [&b"a"[..], b"b"].into_iter());
        let listings = open();
        assert_eq!(found(&listings, b"a", &first), None);
        assert_eq!(found(&listings, b"a", &second), Some(vec![(b"n".to_vec(), FileType::Symlink)]));
        assert_eq!(found(&listings, b"b", &second), Some(of_b));
        fs::write(root.join("b/new"), "").expect("a file");
        assert_eq!(found(&listings, b"b", &stamp("b")), None, "an entry was added");
    }

    #[test]
    fn damaged_bytes_are_no_records() {
        let record = [&[1, 0][..], b"a", &[0; MARK_BYTES], &4_u32.to_le_bytes(), &[1, 0, b'x', 0]].concat();
        assert_eq!(records(&[record.clone(), record.clone()].concat()).map(|records| records.len()), Some(2));
        for cut in [1, 3, 20, record.len() - 1] {
            assert_eq!(records(&record[..cut]).map(|records| records.len()).filter(|_| cut > 1), None, "{cut}");
        }
    }
}
