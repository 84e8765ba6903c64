//! Compares the index with commits, and looks at the working tree meanwhile.

use super::commits;
use super::exists::is_there;
use super::id::Id;
use super::index::{Index, IndexState};
use super::objects::Objects;
use super::tree::{self, EntryMode, Side, TreeDifference};
use super::walk::{self, WorkingTree};
use super::worktree_changes::{BaseCommit, Live};
use crate::changes::ChangesError;
use std::collections::BTreeMap;
use std::thread;

/// With fewer files, a thread costs more than it saves.
const MANY: usize = 256;

/// The differences between the index and a commit.
pub(super) type Differences = BTreeMap<Vec<u8>, TreeDifference>;

/// The commit that the working tree is compared with.
pub(super) struct Bases {
    pub(super) base: Option<Id>,
    /// The differences between the index and the last commit.
    pub(super) since_head: Differences,
    /// The differences between the index and the base.
    pub(super) since_base: Differences,
}

/// What is in the working tree, as far as these paths are known.
pub(super) struct Listed<'p> {
    known: walk::KnownPaths<'p>,
    listing: walk::Listing,
}

impl Live<'_> {
    /// Reads the index. Folders that a sparse index does not expand are expanded if they exist.
    pub(super) fn index(&self, objects: &mut Objects<'_>) -> Result<Index, ChangesError> {
        let mut index = Index::read(self.git, &self.git.layout.index)?;
        for (folder, id) in std::mem::take(&mut index.sparse) {
            let is_absent = str::from_utf8(&folder).is_ok_and(|folder| !is_there(self.work, folder, true));
            if is_absent {
                index.left_out.push(folder);
                continue;
            }
            index.expand(&folder, tree::files(objects, id)?);
        }
        Ok(index)
    }

    /// Compares the index with the last commit and with the base. If there are many files, the working tree below the folder
    /// `start` is listed meanwhile, as far as the index knows it.
    pub(super) fn compare_and_list<'i>(
        &self,
        objects: &mut Objects<'_>,
        index: &'i Index,
        since: Option<BaseCommit<'_>>,
        start: &str,
    ) -> Result<(Bases, Option<Listed<'i>>), ChangesError> {
        if index.paths().len() < MANY {
            return Ok((self.bases(objects, index, since)?, None));
        }
        let known = walk::KnownPaths::new(indexed_paths(index));
        thread::scope(|scope| {
            let (live, known) = (*self, &known);
            let listing = scope.spawn(move || walk::list(&live, known, start));
            let bases = self.bases(objects, index, since);
            let listing = listing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((bases?, listing?))
        })
        .map(|(bases, listing)| (bases, Some(Listed { known, listing })))
    }

    /// Returns all known paths, and what is in the working tree.
    pub(super) fn look<'p>(
        &self,
        index: &'p Index,
        differences: [&'p Differences; 2],
        listed: Option<Listed<'p>>,
        start: &str,
    ) -> Result<(walk::KnownPaths<'p>, WorkingTree), ChangesError> {
        // A path that the index does not have, or has as another kind.
        let is_other = |(path, difference): (&Vec<u8>, &TreeDifference)| {
            difference.old.is_some_and(|old| old.mode == EntryMode::Repository || index.get(path).is_none())
        };
        let Listed { known, listing } = match listed.filter(|_| !differences.into_iter().flatten().any(is_other)) {
            Some(listed) => listed,
            None => {
                let known = known_paths(index, differences);
                let listing = walk::list(self, &known, start)?;
                Listed { known, listing }
            }
        };
        let look = walk::finish(self.git, self.root, self.work, &known, listing)?;
        Ok((known, look))
    }

    /// Finds the commit that the working tree is compared with, and its differences from the index.
    fn bases(
        &self,
        objects: &mut Objects<'_>,
        index: &Index,
        since: Option<BaseCommit<'_>>,
    ) -> Result<Bases, ChangesError> {
        let head = commits::head(objects)?;
        let head_tree = head.as_ref().map(|(_, commit)| commit.tree);
        let (base, base_tree) = match (since, &head) {
            (None, None) => (None, None),
            (None, Some((id, commit))) => (Some(*id), Some(commit.tree)),
            (Some(BaseCommit { name, exactly }), head) => {
                let first = commits::named(self.git, objects, name)?;
                let base = match head {
                    Some((head, _)) if !exactly => {
                        commits::merge_base(self.git, objects, (name, &first), ("HEAD", head))?
                    }
                    _ => first,
                };
                (Some(base), Some(commits::read(objects, &base)?.tree))
            }
        };
        let mut against_index = |tree: Option<Id>| {
            let old = tree.map_or(Side::Nothing, Side::Stored);
            tree::compare(objects, old, Side::Index(index.top()))
        };
        let since_head = against_index(head_tree)?;
        let since_base = if base_tree == head_tree { since_head.clone() } else { against_index(base_tree)? };
        Ok(Bases { base, since_head, since_base })
    }
}

/// Returns every path of the index, and whether it has a submodule there.
fn indexed_paths(index: &Index) -> impl ExactSizeIterator<Item = (&[u8], Option<&IndexState>, bool)> {
    index.paths().map(|(path, state)| (path, Some(state), state.is_repository()))
}

/// Returns every path of the index or a commit, and whether one of them has a submodule there.
fn known_paths<'a>(index: &'a Index, differences: [&'a Differences; 2]) -> walk::KnownPaths<'a> {
    let mut known: Vec<_> = indexed_paths(index).collect();
    let mut gone = BTreeMap::new();
    for (path, difference) in differences.into_iter().flatten() {
        if let Some(old) = difference.old {
            let is_repository = old.mode == EntryMode::Repository;
            match known.binary_search_by(|(other, ..)| (*other).cmp(path)) {
                Ok(place) => known[place].2 |= is_repository,
                Err(_) => *gone.entry(path.as_slice()).or_insert(false) |= is_repository,
            }
        }
    }
    known.extend(gone.into_iter().map(|(path, is_repository)| (path, None, is_repository)));
    known.sort_unstable_by_key(|(path, ..)| *path);
    walk::KnownPaths::new(known.into_iter())
}
