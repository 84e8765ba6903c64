//! Trees: stored ones, the tree of the index, and their differences.

use super::id::{Id, ObjectFormat, ObjectKind};
use super::index_tree::IndexFolder;
use super::objects::Objects;
use crate::changes::{ChangesError, shown_text};
use std::collections::BTreeMap;

/// The most differences that are followed. A tree that contains itself many times over has more.
const MAX_ENTRIES: usize = 4_000_000;
const MAX_PATH: usize = 4 << 10;

/// The kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryMode {
    File,
    Program,
    Link,
    /// A submodule: a commit of another repository.
    Repository,
    Folder,
}

impl EntryMode {
    /// Returns the mode that git reads: the file type, and whether the owner may execute it.
    pub(super) fn from_bits(bits: u32) -> Self {
        match bits & 0o170_000 {
            0o100_000 if bits & 0o100 != 0 => Self::Program,
            0o100_000 => Self::File,
            0o120_000 => Self::Link,
            0o040_000 => Self::Folder,
            _ => Self::Repository,
        }
    }

    pub(super) fn digits(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
            Self::Repository => "160000",
            Self::Folder => "40000",
        }
    }

    pub(super) fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Program)
    }
}

/// An entry of a tree or of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: EntryMode,
    pub(super) id: Id,
}

/// One side of a comparison.
#[derive(Clone, Copy)]
pub(super) enum Side<'a> {
    Nothing,
    Stored(Id),
    Index(IndexFolder<'a>),
}

impl Side<'_> {
    fn id(&self) -> Option<Id> {
        match self {
            Self::Nothing => None,
            Self::Stored(id) => Some(*id),
            Self::Index(index) => Some(index.folder.id),
        }
    }
}

/// A path on both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeDifference {
    pub(super) old: Option<TreeEntry>,
    pub(super) new: Option<TreeEntry>,
}

/// Returns the entry of a stored tree at a path, if there is one. Only the folders on the way are read.
pub(super) fn at(objects: &mut Objects<'_>, tree: Id, path: &str) -> Result<Option<TreeEntry>, ChangesError> {
    let format = objects.git_format();
    let mut here = TreeEntry { mode: EntryMode::Folder, id: tree };
    for name in path.split('/') {
        if here.mode != EntryMode::Folder {
            return Ok(None);
        }
        let bytes = objects.read(&here.id, ObjectKind::Tree, "a folder that is looked into")?;
        match parse(format, &bytes)?.get(name.as_bytes()) {
            Some(entry) => here = *entry,
            None => return Ok(None),
        }
    }
    Ok(Some(here))
}

/// Returns every path that differs. Folders with the same id on both sides are skipped.
pub(super) fn compare(
    objects: &mut Objects<'_>,
    old: Side<'_>,
    new: Side<'_>,
) -> Result<BTreeMap<Vec<u8>, TreeDifference>, ChangesError> {
    let mut found = BTreeMap::new();
    let mut level = vec![(Vec::new(), old, new)];
    while !level.is_empty() {
        objects.deadline().check()?;
        level.retain(|(_, old, new)| old.id() != new.id());
        // All trees of a level are requested at once.
        let mut wanted = Vec::new();
        for (_, old, new) in &level {
            wanted.extend([old, new].into_iter().filter_map(|side| match side {
                Side::Stored(id) => Some((*id, "a folder that is compared")),
                _ => None,
            }));
        }
        let mut trees = Vec::with_capacity(wanted.len());
        let format = objects.git_format();
        objects.read_all(&wanted, ObjectKind::Tree, &mut |_, bytes| {
            trees.push(parse(format, &bytes)?);
            Ok(())
        })?;
        let mut trees = trees.into_iter();
        let mut next = Vec::new();
        for (path, old, new) in &level {
            objects.deadline().check()?;
            let mut names: BTreeMap<Vec<u8>, [Option<TreeItem<'_>>; 2]> = BTreeMap::new();
            for (number, side) in [old, new].into_iter().enumerate() {
                let items: Vec<(Vec<u8>, TreeItem<'_>)> = match side {
                    Side::Nothing => Vec::new(),
                    Side::Stored(_) => {
                        let tree = trees.next().unwrap_or_default();
                        tree.into_iter().map(|(name, entry)| (name, TreeItem::Entry(entry))).collect()
                    }
                    Side::Index(folder) => folder.items().map(|(name, item)| (name.to_vec(), item)).collect(),
                };
                for (name, item) in items {
                    names.entry(name).or_default()[number] = Some(item);
                }
            }
            for (name, [old, new]) in names {
                let full = if path.is_empty() { name } else { [path.as_slice(), b"/", &name].concat() };
                if full.len() > MAX_PATH || found.len() > MAX_ENTRIES {
                    return Err(ChangesError::BadPath(shown_text(&String::from_utf8_lossy(&full))));
                }
                let (old_file, old_folder) = TreeItem::split(old);
                let (new_file, new_folder) = TreeItem::split(new);
                if old_file != new_file {
                    found.insert(full.clone(), TreeDifference { old: old_file, new: new_file });
                }
                next.push((full, old_folder, new_folder));
            }
        }
        level = next;
    }
    Ok(found)
}

#[derive(Clone, Copy)]
pub(super) enum TreeItem<'a> {
    Entry(TreeEntry),
    Folder(IndexFolder<'a>),
}

impl<'a> TreeItem<'a> {
    /// Returns the item as a file and as a folder.
    fn split(item: Option<Self>) -> (Option<TreeEntry>, Side<'a>) {
        match item {
            None => (None, Side::Nothing),
            Some(Self::Folder(folder)) => (None, Side::Index(folder)),
            Some(Self::Entry(TreeEntry { mode: EntryMode::Folder, id })) => (None, Side::Stored(id)),
            Some(Self::Entry(entry)) => (Some(entry), Side::Nothing),
        }
    }
}

/// Parses a stored tree. A tree that no folder can have is refused.
fn parse(format: ObjectFormat, bytes: &[u8]) -> Result<BTreeMap<Vec<u8>, TreeEntry>, ChangesError> {
    let broken = || ChangesError::BadTree;
    let mut entries = BTreeMap::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == 0).ok_or_else(broken)?;
        let (head, tail) = (&rest[..end], &rest[end + 1..]);
        let space = head.iter().position(|&byte| byte == b' ').ok_or_else(broken)?;
        let bits = str::from_utf8(&head[..space]).ok().and_then(|digits| u32::from_str_radix(digits, 8).ok());
        let name = &head[space + 1..];
        let (id, tail) = tail.split_at_checked(format.length()).ok_or_else(broken)?;
        let entry = TreeEntry {
            mode: EntryMode::from_bits(bits.ok_or_else(broken)?),
            id: Id::from_bytes(id).ok_or_else(broken)?,
        };
        if name.is_empty() || name.contains(&b'/') {
            return Err(broken());
        }
        if entries.insert(name.to_vec(), entry).is_some() {
            return Err(ChangesError::Clash(shown_text(&String::from_utf8_lossy(name))));
        }
        rest = tail;
    }
    Ok(entries)
}

/// Returns whether a tree has a folder at a path.
pub(super) fn has_folder<'n>(
    objects: &mut Objects<'_>,
    tree: Id,
    names: impl Iterator<Item = &'n [u8]>,
) -> Result<bool, ChangesError> {
    let mut id = tree;
    for name in names {
        let bytes = objects.read(&id, ObjectKind::Tree, "a folder of the repository around this one")?;
        match parse(ObjectFormat::of(&id), &bytes)?.get(name) {
            Some(TreeEntry { mode: EntryMode::Folder, id: inner }) => id = *inner,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns every file of a tree.
pub(super) fn files(objects: &mut Objects<'_>, tree: Id) -> Result<BTreeMap<Vec<u8>, TreeEntry>, ChangesError> {
    let found = compare(objects, Side::Nothing, Side::Stored(tree))?;
    Ok(found.into_iter().filter_map(|(path, difference)| Some((path, difference.new?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_no_folder_can_be_is_refused() {
        let id = [1; 20];
        let item = |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &id].concat();
        let good = [item("100644", "a"), item("40000", "b")].concat();
        let read = parse(ObjectFormat::Sha1, &good).expect("a tree");
        assert_eq!(read.values().map(|entry| entry.mode).collect::<Vec<_>>(), [EntryMode::File, EntryMode::Folder]);
        for bad in [item("100644", "a/b"), item("100644", ""), item("1x", "a"), good[..30].to_vec(), b"a".to_vec()] {
            assert!(matches!(parse(ObjectFormat::Sha1, &bad), Err(ChangesError::BadTree)));
        }
        let twice = [item("100644", "a"), item("40000", "a")].concat();
        assert!(matches!(parse(ObjectFormat::Sha1, &twice), Err(ChangesError::Clash(_))));
    }
}
