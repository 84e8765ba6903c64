//! The tree that `git commit` would store for the entries of the index.

use super::id::{Id, ObjectFormat, ObjectKind, hash};
use super::tree::{EntryMode, TreeEntry, TreeItem};
use std::ops::Range;
use std::thread;

/// A folder of the index, and the id of its tree.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) id: Id,
    /// How many index entries are in it.
    pub(super) count: usize,
    /// In the order of the tree.
    children: Vec<(Range<usize>, Child)>,
}

#[derive(Debug)]
enum Child {
    Entry(TreeEntry),
    Folder(Folder),
}

impl Child {
    fn entry(&self) -> TreeEntry {
        match self {
            Self::Entry(entry) => *entry,
            Self::Folder(folder) => TreeEntry { mode: EntryMode::Folder, id: folder.id },
        }
    }
}

/// The number of entries from which a folder is hashed on two threads.
const MANY_ENTRIES: usize = 2_000;

/// The staged entries of a folder: sorted by path, all with the same first `skip` bytes.
#[derive(Clone, Copy)]
struct StagedEntries<'a> {
    format: ObjectFormat,
    /// The bytes that contain all paths.
    names: &'a [u8],
    entries: &'a [(Range<usize>, TreeEntry)],
    skip: usize,
}

impl Folder {
    /// Returns the folder of all staged entries, which are sorted by path. `names` has all their paths.
    pub(super) fn of(format: ObjectFormat, names: &[u8], entries: &[(Range<usize>, TreeEntry)]) -> Self {
        StagedEntries { format, names, entries, skip: 0 }.folder()
    }
}

impl<'a> StagedEntries<'a> {
    fn folder(self) -> Folder {
        let children = match self.halves() {
            None => self.children(),
            Some([first, second]) => thread::scope(|scope| {
                let second = scope.spawn(move || second.children());
                let mut children = first.children();
                children.extend(second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                children
            }),
        };
        // An entry has about 40 bytes.
        let mut stored = Vec::with_capacity(children.len() * 40);
        for (place, child) in &children {
            let TreeEntry { mode, id } = child.entry();
            stored.extend_from_slice(mode.digits().as_bytes());
            stored.push(b' ');
            stored.extend_from_slice(&self.names[place.clone()]);
            stored.push(0);
            stored.extend_from_slice(id.as_bytes());
        }
        Folder { id: hash(self.format, ObjectKind::Tree, &stored), count: self.entries.len(), children }
    }

    /// Returns the files and folders directly in this one.
    fn children(self) -> Vec<(Range<usize>, Child)> {
        let mut children = Vec::with_capacity(self.entries.len().min(64));
        let mut rest = self.entries;
        while let Some((path, entry)) = rest.first() {
            let start = path.start + self.skip;
            let (length, child, taken) = match self.inner_folder(path) {
                Some(prefix) => {
                    let inner = Self { entries: rest, skip: prefix.len(), ..self }.starting_with(prefix);
                    (prefix.len() - self.skip - 1, Child::Folder(inner.folder()), inner.entries.len())
                }
                // The path of a folder that a sparse index does not expand ends with a slash.
                None => {
                    let tail = &self.names[start..path.end];
                    (tail.strip_suffix(b"/").unwrap_or(tail).len(), Child::Entry(*entry), 1)
                }
            };
            children.push((start..start + length, child));
            rest = &rest[taken..];
        }
        children
    }

    /// Returns the path of the inner folder that contains a path, with a slash at the end.
    fn inner_folder(&self, path: &Range<usize>) -> Option<&'a [u8]> {
        let tail = &self.names[path.start + self.skip..path.end];
        let length = tail.iter().position(|&byte| byte == b'/').filter(|length| length + 1 < tail.len())?;
        Some(&self.names[path.start..=path.start + self.skip + length])
    }

    /// Returns the first entries, as far as their paths start with `prefix`.
    fn starting_with(self, prefix: &[u8]) -> Self {
        let end = self.entries.partition_point(|(path, _)| self.names[path.clone()].starts_with(prefix));
        Self { entries: &self.entries[..end], ..self }
    }

    /// Splits many entries near the middle, between two children.
    fn halves(self) -> Option<[Self; 2]> {
        let middle = self.entries.len() / 2;
        let (path, _) = self.entries.get(middle).filter(|_| self.entries.len() >= MANY_ENTRIES)?;
        let middle = match self.inner_folder(path) {
            None => middle,
            Some(prefix) => self.entries.partition_point(|(path, _)| self.names[path.clone()] < *prefix),
        };
        let (first, second) = self.entries.split_at(middle);
        (!first.is_empty()).then_some([first, second].map(|entries| Self { entries, ..self }))
    }
}

/// A folder of the index, with the bytes that contain its names.
#[derive(Clone, Copy)]
pub(super) struct IndexFolder<'a> {
    pub(super) folder: &'a Folder,
    pub(super) names: &'a [u8],
}

impl<'a> IndexFolder<'a> {
    /// Returns the id of an inner folder, and its number of index entries; its own for an empty path.
    pub(super) fn below(&self, path: &[u8]) -> Option<(Id, usize)> {
        let mut folder = self.folder;
        let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            match self.child(folder, name)? {
                Child::Folder(inner) => folder = inner,
                // A folder that a sparse index does not expand.
                Child::Entry(entry) if names.peek().is_none() => return Some((entry.id, 1)),
                Child::Entry(_) => return None,
            }
        }
        Some((folder.id, folder.count))
    }

    /// Returns the inner folder with this name.
    fn child(&self, folder: &'a Folder, name: &[u8]) -> Option<&'a Child> {
        // In a tree, a folder is sorted as if its name ended with a slash.
        let key = |name: &'a [u8], mode: EntryMode| name.iter().chain((mode == EntryMode::Folder).then_some(&b'/'));
        let wanted = || name.iter().chain(Some(&b'/'));
        let order = |(place, child): &'a (Range<usize>, Child)| {
            key(&self.names[place.clone()], child.entry().mode).cmp(wanted())
        };
        folder.children.binary_search_by(order).ok().map(|place| &folder.children[place].1)
    }

    pub(super) fn items(self) -> impl Iterator<Item = (&'a [u8], TreeItem<'a>)> {
        self.folder.children.iter().map(move |(place, child)| {
            let item = match child {
                &Child::Entry(entry) => TreeItem::Entry(entry),
                Child::Folder(folder) => TreeItem::Folder(IndexFolder { folder, names: self.names }),
            };
            (&self.names[place.clone()], item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mode: EntryMode, text: &str) -> TreeEntry {
        TreeEntry { mode, id: hash(ObjectFormat::Sha1, ObjectKind::Blob, text.as_bytes()) }
    }

    #[test]
    fn a_folder_of_the_index_has_the_id_of_its_tree() {
        let names = b"a.ba/b/ca/da0";
        let entries = vec![
            (0..3, entry(EntryMode::File, "1\n")),
            (3..8, entry(EntryMode::Program, "2\n")),
            (8..11, entry(EntryMode::Link, "a.b")),
            (11..13, entry(EntryMode::File, "3\n")),
        ];
        let folder = Folder::of(ObjectFormat::Sha1, names, &entries);
        // Made by `git write-tree`.
        assert_eq!(folder.id.to_string(), "0420112b8f8ca7ef0485e751e26ef60965018fcf");
        let folder = IndexFolder { folder: &folder, names };
        assert_eq!(
            folder.below(b"a").map(|(id, count)| (id.to_string(), count)),
            Some(("ded4166f25553924c5021197931d3e861609d905".to_owned(), 2))
        );
        assert!(folder.below(b"a/b").is_some() && folder.below(b"a/d").is_none() && folder.below(b"x").is_none());
    }

    /// The id of the tree of these files, one folder after the other.
    fn id_of(files: &[(Vec<&[u8]>, TreeEntry)]) -> Id {
        let mut stored = Vec::new();
        for same in files.chunk_by(|(a, _), (b, _)| a[0] == b[0]) {
            let inner: Vec<_> = same.iter().map(|(path, entry)| (path[1..].to_vec(), *entry)).collect();
            let (mode, id) = match &inner[0] {
                (path, entry) if path.is_empty() => (entry.mode, entry.id),
                _ => (EntryMode::Folder, id_of(&inner)),
            };
            stored.extend([mode.digits().as_bytes(), b" ", same[0].0[0], b"\0", id.as_bytes()].concat());
        }
        hash(ObjectFormat::Sha1, ObjectKind::Tree, &stored)
    }

    #[test]
    fn many_entries_make_the_same_tree() {
        // Many folders, one folder with nearly everything, and no folder.
        let shapes: [fn(usize) -> String; 4] = [
            |number| format!("{}/{}/{number}", number % 97, number % 7),
            |number| if number < 2 { format!("{number}") } else { format!("all/{}/{number}", number % 5) },
            |number| if number < 2 { format!("z{number}") } else { format!("all/{}/{number}", number % 5) },
            |number| format!("{number}"),
        ];
        for (number, shape) in shapes.into_iter().enumerate() {
            let mut paths: Vec<String> = (0..2 * MANY_ENTRIES + 1).map(shape).collect();
            paths.sort();
            let names = paths.concat();
            let mut start = 0;
            let mut entries = Vec::new();
            for path in &paths {
                entries.push((start..start + path.len(), entry(EntryMode::File, path)));
                start += path.len();
            }
            let folder = Folder::of(ObjectFormat::Sha1, names.as_bytes(), &entries);
            let files: Vec<_> = entries
                .iter()
                .map(|(place, entry)| (names.as_bytes()[place.clone()].split(|&byte| byte == b'/').collect(), *entry))
                .collect();
            assert_eq!((folder.id, folder.count), (id_of(&files), paths.len()), "{number}");
        }
    }
}
