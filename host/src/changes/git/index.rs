//! Reads the paths and ids of the index. Its stat data and most flags are ignored.
//!
//! The index belongs to the author of the change. What counts are the entries that `git commit` would store. A cached tree
//! id, which `git commit` trusts, must match the entries of its folder.

use super::id::{Id, ObjectFormat};
use super::listing;
use super::program::Git;
use super::tree::{EntryMode, Folder, IndexFolder, TreeEntry};
use crate::changes::{ChangesError, shown_text};
use crate::regular_file::{self, Symlinks};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

/// More than the index of ten million files needs.
const MAX_BYTES: u64 = 1 << 30;
/// Deeper folders are refused.
const MAX_DEPTH: usize = 500;

/// The state of a path in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexState {
    /// The staged entry. `None` for a merge conflict, and for an intent to add.
    pub(super) entry: Option<TreeEntry>,
    pub(super) is_unmerged: bool,
    /// Whether a sparse checkout excludes the path from the working tree.
    pub(super) is_skipped: bool,
}

impl IndexState {
    pub(super) fn is_repository(&self) -> bool {
        self.entry.is_some_and(|entry| entry.mode == EntryMode::Repository)
    }
}

/// The index as a whole.
#[derive(Debug)]
pub(super) struct Index {
    /// The bytes that contain all paths.
    names: Vec<u8>,
    /// The place of each path in the names, and its state. Ordered by path.
    paths: Vec<(Range<usize>, IndexState)>,
    /// The folders that a sparse index does not expand.
    pub(super) sparse: Vec<(Vec<u8>, Id)>,
    /// Those of them that are not in the working tree.
    pub(super) left_out: Vec<Vec<u8>>,
    /// The tree of its entries.
    top: Folder,
    /// The cached tree ids, which `git commit` uses without looking at the entries.
    cached: Vec<Cached>,
}

#[derive(Debug, PartialEq, Eq)]
struct Cached {
    folder: Vec<u8>,
    count: usize,
    id: Id,
}

/// An entry as it is stored.
pub(super) struct IndexEntry {
    /// The place of the path in the bytes that contain all paths.
    pub(super) path: Range<usize>,
    /// 0, or the side of a merge conflict.
    pub(super) stage: u8,
    pub(super) entry: TreeEntry,
    pub(super) is_skipped: bool,
    /// Whether only the intent to add is staged.
    pub(super) is_intent: bool,
}

impl Index {
    /// Reads the index file at `path`. Git is asked only if the index is split into two files.
    pub(super) fn read(git: &Git, path: &Path) -> Result<Self, ChangesError> {
        let mut bytes = Vec::new();
        match regular_file::open(path, Symlinks::Follow) {
            Ok(file) => {
                let size = file.metadata().map_or(0, |about| about.len().min(MAX_BYTES));
                bytes.reserve_exact(usize::try_from(size).unwrap_or(0) + 1);
                let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
                read.map_err(|error| broken(&error.to_string()))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Self::of(git.format, Vec::new(), Vec::new(), Vec::new());
            }
            Err(error) => return Err(broken(&error.to_string())),
        }
        if bytes.len() as u64 > MAX_BYTES {
            return Err(broken("it is too large"));
        }
        let file = IndexFile::parse(git.format, &bytes)?;
        let (names, items) = match (file.is_split, file.expanded) {
            (true, _) => listing::items(git)?,
            (false, Some(names)) => (names, file.items),
            (false, None) => (bytes, file.items),
        };
        Self::of(git.format, names, items, file.cached)
    }

    fn of(
        format: ObjectFormat,
        names: Vec<u8>,
        items: Vec<IndexEntry>,
        cached: Vec<Cached>,
    ) -> Result<Self, ChangesError> {
        let key = |item: &IndexEntry| (&names[item.path.clone()], item.stage);
        if let Some(pair) = items.windows(2).find(|pair| key(&pair[0]) >= key(&pair[1])) {
            return Err(broken(&format!("`{}` is out of order", shown_bytes(key(&pair[1]).0))));
        }
        let staged: Vec<(Range<usize>, TreeEntry)> = items
            .iter()
            .filter(|item| item.stage == 0 && !item.is_intent)
            .map(|item| (item.path.clone(), item.entry))
            .collect();
        if let Some((path, _)) = staged.iter().find(|(path, _)| !is_plausible(&names[path.clone()])) {
            return Err(ChangesError::BadPath(shown_bytes(&names[path.clone()])));
        }
        refuse_clashes(&names, &staged)?;
        let top = Folder::of(format, &names, &staged, 0);
        let mut paths: Vec<(Range<usize>, IndexState)> = Vec::with_capacity(items.len());
        let mut sparse = Vec::new();
        for IndexEntry { path, stage, entry, is_skipped, is_intent } in items {
            if entry.mode == EntryMode::Folder {
                let folder = &names[path];
                sparse.push((folder.strip_suffix(b"/").unwrap_or(folder).to_vec(), entry.id));
                continue;
            }
            // Only a path with a conflict occurs more than once.
            if paths.last().is_none_or(|(last, _)| names[last.clone()] != names[path.clone()]) {
                paths.push((path, IndexState::default()));
            }
            let Some((_, known)) = paths.last_mut() else { continue };
            known.is_unmerged |= stage != 0;
            known.is_skipped |= is_skipped;
            if stage == 0 && !is_intent {
                known.entry = Some(entry);
            }
        }
        Ok(Self { names, paths, sparse, left_out: Vec::new(), top, cached })
    }

    /// Returns the tree of the entries.
    pub(super) fn top(&self) -> IndexFolder<'_> {
        IndexFolder { folder: &self.top, names: &self.names }
    }

    /// Returns every path with its state, ordered by path.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&[u8], &IndexState)> {
        self.paths.iter().map(|(path, state)| (&self.names[path.clone()], state))
    }

    /// Returns the state of a path.
    pub(super) fn get(&self, path: &[u8]) -> Option<&IndexState> {
        let found = self.paths.binary_search_by(|(other, _)| self.names[other.clone()].cmp(path));
        found.ok().map(|place| &self.paths[place].1)
    }

    /// Adds the files of a folder that the index does not expand.
    pub(super) fn expand(&mut self, folder: &[u8], files: BTreeMap<Vec<u8>, TreeEntry>) {
        let before = std::mem::take(&mut self.paths);
        for (name, entry) in files {
            let start = self.names.len();
            self.names.extend([folder, b"/", &name].concat());
            let state = IndexState { entry: Some(entry), is_unmerged: false, is_skipped: true };
            self.paths.push((start..self.names.len(), state));
        }
        self.paths.extend(before);
        let names = &self.names;
        self.paths.sort_by(|(a, _), (b, _)| names[a.clone()].cmp(&names[b.clone()]));
        self.paths.dedup_by(|(b, _), (a, _)| names[a.clone()] == names[b.clone()]);
    }

    /// Returns whether a path is in a folder that a sparse checkout excludes.
    pub(super) fn leaves_out(&self, path: &[u8]) -> bool {
        self.left_out
            .iter()
            .any(|folder| path.strip_prefix(folder.as_slice()).is_some_and(|rest| rest.starts_with(b"/")))
    }

    /// Refuses an index from which `git commit` would write another tree than its entries.
    pub(super) fn refuse_forged_folders(&self) -> Result<(), ChangesError> {
        for Cached { folder, count, id } in &self.cached {
            if self.top().below(folder) != Some((*id, *count)) {
                return Err(ChangesError::ForgedIndex(shown_bytes(folder)));
            }
        }
        Ok(())
    }
}

/// Refuses a path that is both a file and a folder. The entries are sorted, each path once.
fn refuse_clashes(names: &[u8], staged: &[(Range<usize>, TreeEntry)]) -> Result<(), ChangesError> {
    let mut last: &[u8] = b"";
    for (path, _) in staged {
        let path = &names[path.clone()];
        let common = path.iter().zip(last).take_while(|(a, b)| a == b).count();
        // The folders that the previous path shares were checked already.
        for (end, _) in path.iter().enumerate().skip(common).filter(|&(_, &byte)| byte == b'/') {
            let folder = &path[..end];
            if staged.binary_search_by(|(other, _)| names[other.clone()].cmp(folder)).is_ok() {
                return Err(ChangesError::Clash(shown_bytes(folder)));
            }
        }
        last = path;
    }
    Ok(())
}

/// Returns whether a path can be split into folder names and a file name.
fn is_plausible(path: &[u8]) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let mut names = 0;
    path.split(|&byte| byte == b'/').all(|name| {
        names += 1;
        !name.is_empty() && names <= MAX_DEPTH
    })
}

fn shown_bytes(path: &[u8]) -> String {
    shown_text(&String::from_utf8_lossy(path))
}

fn broken(why: &str) -> ChangesError {
    ChangesError::BadIndex(why.to_owned())
}

/// The content of an index file.
struct IndexFile {
    items: Vec<IndexEntry>,
    /// The bytes that contain all paths, if the file has them shortened.
    expanded: Option<Vec<u8>>,
    cached: Vec<Cached>,
    /// Whether most entries are in another file.
    is_split: bool,
}

/// Reads from the front of the remaining bytes.
struct IndexReader<'a>(&'a [u8]);

impl<'a> IndexReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ChangesError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| broken("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, ChangesError> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn until(&mut self, end: u8) -> Result<&'a [u8], ChangesError> {
        let at = self.0.iter().position(|&byte| byte == end).ok_or_else(|| broken("it ends too early"))?;
        let taken = self.take(at)?;
        self.take(1)?;
        Ok(taken)
    }

    fn decimal(&mut self, end: u8) -> Result<i64, ChangesError> {
        let digits = str::from_utf8(self.until(end)?).ok().and_then(|digits| digits.parse().ok());
        digits.ok_or_else(|| broken("a number is not one"))
    }

    /// Reads a number of variable length, as in pack offsets.
    fn variable(&mut self) -> Result<usize, ChangesError> {
        let mut byte = self.take(1)?[0];
        let mut number = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            let more = number.checked_add(1).and_then(|number| number.checked_mul(128));
            number = more.ok_or_else(|| broken("a number is too large"))? | usize::from(byte & 0x7f);
        }
        Ok(number)
    }
}

impl IndexFile {
    fn parse(format: ObjectFormat, bytes: &[u8]) -> Result<Self, ChangesError> {
        let body = bytes.len().checked_sub(format.length()).ok_or_else(|| broken("it ends too early"))?;
        let mut reader = IndexReader(&bytes[..body]);
        if reader.take(4)? != b"DIRC" {
            return Err(broken("it does not start with the signature of an index"));
        }
        let version = reader.number()?;
        if !(2..=4).contains(&version) {
            return Err(broken(&format!("its version is {version}; expected 2, 3 or 4")));
        }
        let count = reader.number()?;
        // An entry has at least 62 bytes.
        let likely = usize::try_from(count).unwrap_or(0).min(body / 62);
        let mut items: Vec<IndexEntry> = Vec::with_capacity(likely);
        let mut places = EntryOffsets { starts: Vec::with_capacity(likely), end: 0 };
        let mut expanded = (version == 4).then(Vec::new);
        for _ in 0..count {
            let previous = items.last().map_or(0..0, |item| item.path.clone());
            let start = body - reader.0.len();
            let (item, is_whole) = item(&mut reader, body, format, version, previous, expanded.as_mut())?;
            places.starts.push((start, is_whole));
            items.push(item);
        }
        places.end = body - reader.0.len();
        let mut file = Self { items, expanded, cached: Vec::new(), is_split: false };
        places.refuse_hidden_end(&bytes[..body], format)?;
        while !reader.0.is_empty() {
            let name = reader.take(4)?;
            let size = reader.number()?;
            let content = reader.take(usize::try_from(size).unwrap_or(usize::MAX))?;
            match name {
                b"EOIE" => places.refuse_other_end(content, reader.0.is_empty())?,
                b"IEOT" => places.refuse_other_blocks(content)?,
                b"TREE" => {
                    let mut content = IndexReader(content);
                    cached(&mut content, format, &[], 0, &mut file.cached)?;
                }
                b"link" => file.is_split = true,
                // Extensions with a lower-case first letter are mandatory. `sdir`: some entries are folders.
                [b'A'..=b'Z', ..] | b"sdir" => {}
                other => return Err(broken(&format!("it has an unknown part `{}`", shown_bytes(other)))),
            }
        }
        Ok(file)
    }
}

/// The offsets of the entries.
///
/// With several threads, git does not read the entries in sequence: one extension says where blocks of entries start, and
/// another where the last one ends. Both must lead git to the same entries that are read here.
struct EntryOffsets {
    /// The offset of each entry, and whether its path is stored in full.
    starts: Vec<(usize, bool)>,
    /// The end of the last entry.
    end: usize,
}

impl EntryOffsets {
    /// Refuses an end marker that git would find in the last bytes, outside the sequence of extensions.
    fn refuse_hidden_end(&self, body: &[u8], format: ObjectFormat) -> Result<(), ChangesError> {
        let start = body.len().checked_sub(8 + 4 + format.length()).filter(|start| *start >= self.end);
        let Some(mut reader) = start.map(|start| IndexReader(&body[start..])) else { return Ok(()) };
        if reader.take(4)? != b"EOIE" {
            return Ok(());
        }
        reader.number()?;
        let end = reader.number()?;
        if usize::try_from(end) == Ok(self.end) {
            Ok(())
        } else {
            Err(broken("the recorded end of its entries is wrong"))
        }
    }

    fn refuse_other_end(&self, content: &[u8], is_last: bool) -> Result<(), ChangesError> {
        let end = IndexReader(content).number()?;
        match usize::try_from(end) == Ok(self.end) && is_last {
            true => Ok(()),
            false => Err(broken("the recorded end of its entries is wrong")),
        }
    }

    fn refuse_other_blocks(&self, content: &[u8]) -> Result<(), ChangesError> {
        let elsewhere = || broken("the recorded positions of its entries are wrong");
        let mut reader = IndexReader(content);
        if reader.number()? != 1 {
            return Err(elsewhere());
        }
        let mut next = 0_usize;
        while !reader.0.is_empty() {
            let (start, count) = (reader.number()?, reader.number()?);
            let is_there = self
                .starts
                .get(next)
                .is_some_and(|(place, is_whole)| usize::try_from(start) == Ok(*place) && *is_whole);
            if !is_there {
                return Err(elsewhere());
            }
            next = next.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        }
        if next == self.starts.len() { Ok(()) } else { Err(elsewhere()) }
    }
}

/// Reads an entry, and returns whether its path is stored in full. A shortened path is appended to `expanded`.
fn item(
    reader: &mut IndexReader<'_>,
    body: usize,
    format: ObjectFormat,
    version: u32,
    previous: Range<usize>,
    expanded: Option<&mut Vec<u8>>,
) -> Result<(IndexEntry, bool), ChangesError> {
    let start = reader.0.len();
    // Times, device and inode; then the mode; then owner, group and size.
    reader.take(24)?;
    let mode = EntryMode::from_bits(reader.number()?);
    reader.take(12)?;
    let id = Id::from_bytes(reader.take(format.length())?).ok_or_else(|| broken("an id is not one"))?;
    let flags = reader.take(2)?;
    let flags = u16::from_be_bytes([flags[0], flags[1]]);
    let more = match flags & 0x4000 != 0 {
        true if version == 2 => return Err(broken("an entry has flags that its version does not have")),
        true => reader.take(2).map(|more| u16::from_be_bytes([more[0], more[1]]))?,
        false => 0,
    };
    let mut is_whole = true;
    let path = if let Some(expanded) = expanded {
        let kept = previous.len().checked_sub(reader.variable()?).ok_or_else(|| broken("a path is not one"))?;
        is_whole = kept == 0;
        let place = expanded.len();
        expanded.extend_from_within(previous.start..previous.start + kept);
        expanded.extend_from_slice(reader.until(0)?);
        if expanded.len() as u64 > MAX_BYTES {
            return Err(broken("its paths are too long"));
        }
        place..expanded.len()
    } else {
        let place = body - reader.0.len();
        let path = place..place + reader.until(0)?.len();
        // Padded to eight bytes; one NUL is consumed already.
        let length = start - reader.0.len();
        reader.take(length.next_multiple_of(8) - length)?;
        path
    };
    // All bits of the field are set for longer paths.
    if usize::from(flags & 0xfff) != path.len().min(0xfff) {
        return Err(broken("the recorded length of a path is wrong"));
    }
    let item = IndexEntry {
        path,
        stage: (flags >> 12 & 3) as u8,
        entry: TreeEntry { mode, id },
        is_skipped: more & 0x4000 != 0,
        is_intent: more & 0x2000 != 0,
    };
    Ok((item, is_whole))
}

/// Reads one folder of the cached tree ids, and those inside it.
fn cached(
    reader: &mut IndexReader<'_>,
    format: ObjectFormat,
    above: &[u8],
    depth: usize,
    found: &mut Vec<Cached>,
) -> Result<(), ChangesError> {
    if depth > MAX_DEPTH {
        return Err(broken("its folders are too deep"));
    }
    let name = reader.until(0)?;
    let folder = if above.is_empty() { name.to_vec() } else { [above, b"/", name].concat() };
    let count = reader.decimal(b' ')?;
    let inner = reader.decimal(b'\n')?;
    if let Ok(count) = usize::try_from(count) {
        let id = Id::from_bytes(reader.take(format.length())?).ok_or_else(|| broken("an id is not one"))?;
        found.push(Cached { folder: folder.clone(), count, id });
    }
    for _ in 0..inner {
        cached(reader, format, &folder, depth + 1, found)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::git::id::{ObjectKind, hash};
    use proptest::prelude::*;

    /// Returns an entry of version 2 as git writes it.
    fn written(path: &str, mode: u32, flags: u16) -> Vec<u8> {
        let id = hash(ObjectFormat::Sha1, ObjectKind::Blob, path.as_bytes());
        let length = u16::try_from(path.len()).expect("a short path");
        let mut bytes = [&[0; 24][..], &mode.to_be_bytes(), &[0; 12], id.as_bytes()].concat();
        bytes.extend((length | flags).to_be_bytes());
        bytes.extend(path.as_bytes());
        bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
        bytes
    }

    fn file(version: u32, entries: &[Vec<u8>], parts: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
        let count = u32::try_from(entries.len()).expect("few entries");
        let mut bytes = [&b"DIRC"[..], &version.to_be_bytes(), &count.to_be_bytes(), &entries.concat()].concat();
        for (name, content) in parts {
            let size = u32::try_from(content.len()).expect("a short part");
            bytes.extend([&name[..], &size.to_be_bytes(), content].concat());
        }
        bytes.extend([0; 20]);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Index, ChangesError> {
        let file = IndexFile::parse(ObjectFormat::Sha1, bytes)?;
        Index::of(ObjectFormat::Sha1, file.expanded.unwrap_or_else(|| bytes.to_vec()), file.items, file.cached)
    }

    fn two() -> Vec<Vec<u8>> {
        vec![written("a", 0o100_644, 0), written("dir/b", 0o100_755, 0)]
    }

    #[test]
    fn entries_have_their_path_and_their_id() {
        let index = read(&file(2, &two(), &[(b"FSMN", vec![1, 2, 3])])).expect("an index");
        let found: Vec<_> = index.paths().map(|(path, known)| (path, known.entry)).collect();
        let entry = |path: &str, mode| {
            Some(TreeEntry { mode, id: hash(ObjectFormat::Sha1, ObjectKind::Blob, path.as_bytes()) })
        };
        assert_eq!(found, [(&b"a"[..], entry("a", EntryMode::File)), (b"dir/b", entry("dir/b", EntryMode::Program))]);
        let conflict = read(&file(2, &[written("a", 0o100_644, 1 << 12), written("a", 0o100_644, 2 << 12)], &[]));
        let conflict = conflict.expect("an index");
        let known = conflict.get(b"a").expect("there");
        assert!(known.is_unmerged && known.entry.is_none());
    }

    #[test]
    fn what_git_would_not_read_is_refused() {
        let mut long = written("a", 0o100_644, 0);
        long[61] = 2;
        for (bytes, why) in [
            (b"".to_vec(), "ends too early"),
            (file(2, &two(), &[])[..70].to_vec(), "ends too early"),
            (file(5, &two(), &[]), "its version is 5"),
            (file(2, &[two(), two()].concat(), &[]), "out of order"),
            (file(2, &[long], &[]), "length of a path is wrong"),
            (file(2, &[written("a", 0o100_644, 0x4000)], &[]), "flags"),
            (file(2, &two(), &[(b"evil", Vec::new())]), "unknown part `evil`"),
            (file(2, &two(), &[(b"TREE", b"\0x 0\n".to_vec())]), "a number is not one"),
        ] {
            let refused = read(&bytes).expect_err(why).to_string();
            assert!(refused.contains(why), "{refused}");
        }
        let clash = read(&file(2, &[written("a", 0o100_644, 0), written("a/b", 0o100_644, 0)], &[]));
        assert!(matches!(clash, Err(ChangesError::Clash(path)) if path == "a"));
        assert!(matches!(read(&file(2, &[written("a//b", 0o100_644, 0)], &[])), Err(ChangesError::BadPath(_))));
    }

    #[test]
    fn cached_folders_must_be_those_of_the_entries() {
        let index = read(&file(2, &two(), &[])).expect("an index");
        let (dir, count) = index.top().below(b"dir").expect("a folder");
        let top = &index.top;
        let cached = |top: &Id, dir: &Id, count: usize| {
            let folder = format!("dir\0{count} 0\n");
            let content = [b"\x002 1\n", top.as_bytes(), folder.as_bytes(), dir.as_bytes()];
            read(&file(2, &two(), &[(b"TREE", content.concat())])).expect("an index").refuse_forged_folders()
        };
        assert!(cached(&top.id, &dir, count).is_ok());
        for (top, dir, count, place) in
            [(&top.id, &top.id, count, "dir"), (&dir, &dir, count, ""), (&top.id, &dir, 2, "dir")]
        {
            assert!(matches!(cached(top, dir, count), Err(ChangesError::ForgedIndex(folder)) if folder == place));
        }
        // What is marked as not valid says nothing.
        let invalid = read(&file(2, &two(), &[(b"TREE", b"\0-1 0\n".to_vec())])).expect("an index");
        assert!(invalid.refuse_forged_folders().is_ok() && invalid.cached.is_empty());
    }

    #[test]
    fn threads_of_git_must_find_the_same_entries() {
        let plain = file(2, &two(), &[]);
        let end = u32::try_from(plain.len() - 20).expect("short");
        let starts = [12, 12 + u32::try_from(two()[0].len()).expect("short")];
        let eoie = |end: u32| [&end.to_be_bytes()[..], &[7; 20]].concat();
        let ieot = |version: u32, blocks: &[(u32, u32)]| {
            let blocks = blocks.iter().flat_map(|(start, count)| [start.to_be_bytes(), count.to_be_bytes()].concat());
            version.to_be_bytes().into_iter().chain(blocks).collect::<Vec<u8>>()
        };
        let good = ieot(1, &[(starts[0], 1), (starts[1], 1)]);
        let ok = |parts: &[(&[u8; 4], Vec<u8>)]| read(&file(2, &two(), parts)).is_ok();
        assert!(ok(&[(b"IEOT", good.clone()), (b"EOIE", eoie(end))]) && ok(&[(b"IEOT", ieot(1, &[(starts[0], 2)]))]));
        for blocks in [
            ieot(1, &[(starts[1], 1), (starts[0], 1)]),
            ieot(1, &[(starts[0], 1)]),
            ieot(1, &[(starts[0], 3)]),
            ieot(1, &[(end + 8, 2)]),
            ieot(1, &[]),
            ieot(2, &[(starts[0], 2)]),
            good[..10].to_vec(),
        ] {
            assert!(!ok(&[(b"IEOT", blocks)]));
        }
        assert!(!ok(&[(b"EOIE", eoie(end + 8))]) && !ok(&[(b"EOIE", eoie(end)), (b"IEOT", good)]), "not at the end");
        // In the last bytes of another part, where git finds it all the same.
        let hidden = [b"EOIE\0\0\0\x18".to_vec(), eoie(end + 8)].concat();
        assert!(!ok(&[(b"XXXX", hidden)]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(at in 0_usize..400, byte: u8, version in 2_u32..5, cut in 0_usize..400) {
            let tree = [b"\x002 1\n", &[7; 20][..], b"dir\x001 0\n", &[7; 20]].concat();
            let mut bytes = file(version, &two(), &[(b"TREE", tree), (b"sdir", Vec::new())]);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = read(&bytes);
        }
    }
}
