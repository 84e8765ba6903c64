//! Reads the paths and ids of the index. Its stat data and most flags are ignored.
//!
//! The index belongs to the author of the change. What counts are the entries that `git commit` would store. A cached tree
//! id, which `git commit` trusts, must match the entries of its folder.

use super::id::{Id, ObjectFormat};
use super::index_file::{Cached, IndexEntry, IndexFile, MAX_BYTES, MAX_DEPTH, broken, shown_bytes};
use super::index_tree::{Folder, IndexFolder};
use super::listing;
use super::program::Git;
use super::tree::{EntryMode, TreeEntry};
use crate::changes::ChangesError;
use crate::regular_file::{self, Symlinks};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

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
    format: ObjectFormat,
    /// The entries as they are stored, ordered by path.
    entries: Vec<IndexEntry>,
    /// The tree of the staged entries, made on first use.
    top: OnceLock<Folder>,
    /// The cached tree ids, which `git commit` uses without looking at the entries.
    cached: Vec<Cached>,
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
        entries: Vec<IndexEntry>,
        cached: Vec<Cached>,
    ) -> Result<Self, ChangesError> {
        let key = |item: &IndexEntry| (&names[item.path.clone()], item.stage);
        if let Some(pair) = entries.windows(2).find(|pair| key(&pair[0]) >= key(&pair[1])) {
            return Err(broken(&format!("`{}` is out of order", shown_bytes(key(&pair[1]).0))));
        }
        refuse_bad_paths(&names, &entries)?;
        let mut paths: Vec<(Range<usize>, IndexState)> = Vec::with_capacity(entries.len());
        let mut sparse = Vec::new();
        for item in &entries {
            let IndexEntry { path, stage, entry, is_skipped, .. } = item;
            if entry.mode == EntryMode::Folder {
                let folder = &names[path.clone()];
                sparse.push((folder.strip_suffix(b"/").unwrap_or(folder).to_vec(), entry.id));
                continue;
            }
            // Only a path with a conflict occurs more than once.
            if paths.last().is_none_or(|(last, _)| names[last.clone()] != names[path.clone()]) {
                paths.push((path.clone(), IndexState::default()));
            }
            let Some((_, known)) = paths.last_mut() else { continue };
            known.is_unmerged |= *stage != 0;
            known.is_skipped |= is_skipped;
            if item.is_staged() {
                known.entry = Some(*entry);
            }
        }
        Ok(Self { names, paths, sparse, left_out: Vec::new(), format, entries, top: OnceLock::new(), cached })
    }

    /// Returns the tree of the entries.
    pub(super) fn top(&self) -> IndexFolder<'_> {
        let folder = self.top.get_or_init(|| {
            let staged = self.entries.iter().filter(|item| item.is_staged());
            let staged: Vec<_> = staged.map(|item| (item.path.clone(), item.entry)).collect();
            Folder::of(self.format, &self.names, &staged)
        });
        IndexFolder { folder, names: &self.names }
    }

    /// Returns every path with its state, ordered by path.
    pub(super) fn paths(&self) -> impl ExactSizeIterator<Item = (&[u8], &IndexState)> {
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

/// Refuses staged paths that are not plausible, or both a file and a folder. The entries are sorted.
fn refuse_bad_paths(names: &[u8], entries: &[IndexEntry]) -> Result<(), ChangesError> {
    let mut last: &[u8] = b"";
    for item in entries.iter().filter(|item| item.is_staged()) {
        let path = &names[item.path.clone()];
        let (folder, name) = path.split_at(path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1));
        if folder == last && !name.is_empty() {
            // The folders were checked with the previous path.
            continue;
        }
        if !is_plausible(path) {
            return Err(ChangesError::BadPath(shown_bytes(path)));
        }
        let common = folder.iter().zip(last).take_while(|(a, b)| a == b).count();
        for (end, _) in folder.iter().enumerate().skip(common).filter(|&(_, &byte)| byte == b'/') {
            let folder = &path[..end];
            let first = entries.partition_point(|other| names[other.path.clone()] < *folder);
            let mut same = entries[first..].iter().take_while(|other| names[other.path.clone()] == *folder);
            if same.any(IndexEntry::is_staged) {
                return Err(ChangesError::Clash(shown_bytes(folder)));
            }
        }
        last = folder;
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

#[cfg(test)]
mod tests;
