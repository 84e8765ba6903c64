//! Changes of the working tree, compared with a commit.

use super::attributes::Attributes;
use super::content::{self, ContentComparison};
use super::exists::is_there;
use super::id::Id;
use super::index::IndexState;
use super::look::{Bases, Differences};
use super::objects::Objects;
use super::program::Git;
use super::stats::{self, ContentIds, StatCache};
use super::tree::{EntryMode, TreeEntry};
use super::walk::{self, TrackedFile, WorkingTree};
use super::{FoundChanges, path};
use crate::cache_store::CacheStore;
use crate::changes::diff::{self, HunkBudget};
use crate::changes::{ChangesError, Needs, whole_file};
use crate::submission::{Change, ChangeKind, ChangeState};
use crate::workspace::{FileKind, Workspace};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// The most bytes of untracked files whose lines are included. A forgotten folder of dependencies has far more.
const MAX_UNTRACKED: u64 = 4 << 20;

/// The working tree and its repository.
#[derive(Clone, Copy)]
pub(super) struct Live<'a> {
    pub(super) git: &'a Git,
    pub(super) root: &'a Path,
    pub(super) work: &'a Workspace,
    /// The store of file ids.
    pub(super) store: Option<&'a Arc<CacheStore>>,
}

/// The commit that the working tree is compared with.
#[derive(Clone, Copy)]
pub(super) struct BaseCommit<'a> {
    pub(super) name: &'a str,
    /// Whether exactly that commit is used, not the merge base with the last commit.
    pub(super) exactly: bool,
}

/// The states of a path in the commit, the index and the working tree.
struct PathStates {
    base: Option<TreeEntry>,
    head: Option<TreeEntry>,
    index: Option<IndexState>,
    /// Whether it is staged in a folder that a sparse checkout excludes.
    is_left_out: bool,
}

/// A path of the working tree.
struct WorktreePath<'a> {
    present: Option<&'a TrackedFile>,
    digests: Option<&'a ContentIds>,
    /// For a repository, the commit that it has checked out.
    inner: Option<Option<Id>>,
}

/// The repositories inside this one.
#[derive(Default)]
struct InnerRepositories {
    /// The checked-out commit of each, by the number of its path.
    heads: BTreeMap<usize, Option<Id>>,
    /// The changes since that commit.
    changes: Vec<Change>,
}

impl Live<'_> {
    /// Returns the differences from the last commit, or from another one.
    pub(super) fn changes(
        &self,
        since: Option<BaseCommit<'_>>,
        needs: &dyn Fn() -> Needs,
    ) -> Result<FoundChanges, ChangesError> {
        let mut objects = Objects::new(self.git);
        let index = self.index(&mut objects)?;
        let (bases, listed) = self.compare_and_list(&mut objects, &index, since, "")?;
        let Bases { base, since_head, since_base } = &bases;
        let (known, look) = self.look(&index, [since_head, since_base], listed, "")?;
        let inner = self.inner(&known, &look, needs)?;
        let mut cache = StatCache::open(self.store, self.root, self.git.format);
        let digests = content::digests(self, &mut cache, &known.paths, &look.present)?;
        let base_of = |path: &[u8]| match since_base.get(path) {
            Some(difference) => difference.old,
            None => index.get(path).and_then(|known| known.entry),
        };
        let mut comparison = ContentComparison {
            git: self.git,
            work: self.work,
            stats: &mut cache,
            attributes: Attributes::new(&base_of),
            has_modes: has_modes(self.root, &known, &look, &base_of),
            converts: None,
        };
        let mut changes = Vec::new();
        let mut stats = HashMap::new();
        let mut bases = BTreeMap::new();
        for (number, name) in known.paths.iter().enumerate() {
            self.git.deadline.check()?;
            let known = known.states[number].copied();
            let stored = |differences: &Differences| match differences.get(*name) {
                Some(difference) => difference.old,
                None => known.and_then(|known| known.entry),
            };
            let is_staged = |differences: &Differences| differences.get(*name).is_some_and(|found| found.new.is_some());
            let is_left_out =
                known.is_none() && (is_staged(since_base) || is_staged(since_head)) && index.leaves_out(name);
            let (base, head) = (stored(since_base), stored(since_head));
            let places = PathStates { base, head, index: known, is_left_out };
            let there = WorktreePath {
                present: look.present[number].as_ref(),
                digests: digests[number].as_ref(),
                inner: inner.heads.get(&number).copied(),
            };
            if let Some(change) = self.compare(&mut objects, &mut comparison, name, &places, &there)? {
                bases.insert(change.path.clone(), places.base);
                stats.extend(there.present.and_then(TrackedFile::file_stat).map(|stat| (change.path.clone(), stat)));
                changes.push(change);
            }
        }
        for name in &look.untracked {
            changes.push(whole_file(path(name)?, ChangeState::Untracked));
        }
        changes.extend(look.loose);
        if needs().hunks {
            self.add_hunks(&mut objects, &mut comparison.attributes, &mut changes, &bases)?;
        }
        changes.extend(inner.changes);
        drop(comparison);
        cache.keep();
        Ok(FoundChanges { base: base.map(|id| id.to_string()), stats, ..changes.into() })
    }

    /// Returns every file below `folder` that is tracked, or that is neither tracked nor ignored.
    pub(super) fn files(&self, folder: &str) -> Result<FoundChanges, ChangesError> {
        let mut objects = Objects::new(self.git);
        let index = self.index(&mut objects)?;
        // A file that was removed from the index and still exists is checked, although no commit would contain it.
        let (bases, listed) = self.compare_and_list(&mut objects, &index, None, folder)?;
        let (known, look) = self.look(&index, [&bases.since_head, &bases.since_base], listed, folder)?;
        let mut changes = self.inner(&known, &look, &Needs::default)?.changes;
        changes.retain(|change| change.kind != ChangeKind::Deleted);
        changes.extend(look.loose);
        for name in &look.untracked {
            changes.push(whole_file(path(name)?, ChangeState::Untracked));
        }
        let mut stats = HashMap::new();
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        for (number, name) in known.paths.iter().enumerate() {
            self.git.deadline.check()?;
            let present = look.present[number].as_ref();
            let is_below = name.starts_with(start.as_bytes()) || *name == folder.as_bytes();
            let is_behind_link = |name| self.is_behind_link(name, known.is_repository[number]);
            if present.is_some() || is_below && str::from_utf8(name).is_ok_and(is_behind_link) {
                if let Some(stat) = present.and_then(TrackedFile::file_stat) {
                    stats.insert(path(name)?, stat);
                }
                changes.push(Change { size: size_of(present), ..whole_file(path(name)?, ChangeState::Committed) });
            }
        }
        Ok(FoundChanges { stats, ..changes.into() })
    }

    /// Returns the changes in nested repositories since the commits that they have checked out.
    fn inner(
        &self,
        known: &walk::KnownPaths<'_>,
        look: &WorkingTree,
        needs: &dyn Fn() -> Needs,
    ) -> Result<InnerRepositories, ChangesError> {
        let mut inner = InnerRepositories::default();
        for (number, git) in &look.inner {
            let name = path(known.paths[*number])?;
            let failed = |source| ChangesError::Folder { path: git.root.clone(), source };
            let work = Workspace::open(&git.root).map_err(failed)?;
            let found = Live { git, root: &git.root, work: &work, store: self.store }.changes(None, needs)?;
            inner.heads.insert(*number, found.base.as_ref().and_then(|id| Id::from_hex(id.as_bytes())));
            inner.changes.extend(found.changes.into_iter().map(|change| Change {
                path: format!("{name}/{}", change.path),
                old_path: change.old_path.map(|old| format!("{name}/{old}")),
                ..change
            }));
        }
        Ok(inner)
    }

    /// Returns whether one of the folders of a path is a symlink.
    fn is_behind_link(&self, name: &str, is_repository: bool) -> bool {
        self.work.stat(name).is_err() && is_there(self.work, name, is_repository)
    }

    /// Returns the change of a tracked path; `None` if it is the same everywhere.
    fn compare<'p>(
        &self,
        objects: &mut Objects<'_>,
        comparison: &mut ContentComparison<'_, 'p>,
        name: &'p [u8],
        places: &PathStates,
        there: &WorktreePath<'_>,
    ) -> Result<Option<Change>, ChangesError> {
        let PathStates { base, head, index, is_left_out } = *places;
        let WorktreePath { present, digests, inner } = *there;
        let staged = index.and_then(|known| known.entry);
        let is_settled = staged == base && head == base && !index.is_some_and(|known| known.is_unmerged);
        let mut is = |stored: Option<TreeEntry>| match (stored, present) {
            (Some(stored), Some(present)) if stored.mode == EntryMode::Repository => {
                // Without a repository, nothing is reported here: its files are checked one by one.
                Ok(present.kind == FileKind::Directory && inner.is_none_or(|head| head == Some(stored.id)))
            }
            (Some(stored), Some(present)) => comparison.is_stored(objects, name, present, digests, &stored),
            (None, None) => Ok(true),
            _ => Ok(false),
        };
        let is_base = is(base)?;
        if is_settled && is_base {
            return Ok(None);
        }
        let is_staged = if staged == base { is_base } else { is(staged)? };
        let is_repository = [base, head, staged].into_iter().flatten().any(|entry| entry.mode == EntryMode::Repository);
        let is_skipped = is_left_out || index.is_some_and(|known| known.is_skipped && known.entry.is_some());
        let is_there = match (present, str::from_utf8(name)) {
            (Some(_), _) => true,
            // For example, one of its folders is a symlink.
            (None, Ok(name)) => is_there(self.work, name, is_repository),
            (None, Err(_)) => false,
        };
        if !is_there && is_skipped {
            // It is not deleted, and its new content is not in the working tree.
            return if is_settled { Ok(None) } else { Err(ChangesError::LeftOut(path(name)?)) };
        }
        let kind = match base {
            _ if !is_there => ChangeKind::Deleted,
            None => ChangeKind::Added,
            Some(_) => ChangeKind::Modified,
        };
        let state = match index {
            None if is_there => ChangeState::Untracked,
            None if head.is_some() => ChangeState::Staged,
            None => ChangeState::Committed,
            Some(known) if known.is_unmerged || !is_staged || staged.is_none() => ChangeState::Unstaged,
            Some(_) if staged != head => ChangeState::Staged,
            Some(_) => ChangeState::Committed,
        };
        Ok(Some(Change { kind, size: size_of(present), ..whole_file(path(name)?, state) }))
    }

    /// Adds the hunks of each file, from the stored bytes and the bytes of the working tree.
    fn add_hunks(
        &self,
        objects: &mut Objects<'_>,
        attributes: &mut Attributes<'_>,
        changes: &mut [Change],
        bases: &BTreeMap<String, Option<TreeEntry>>,
    ) -> Result<(), ChangesError> {
        let (mut left, mut hunks) = (MAX_UNTRACKED, HunkBudget::new());
        for change in changes {
            self.git.deadline.check()?;
            let base = bases.get(&change.path).copied().flatten();
            if base.is_some_and(|base| !base.mode.is_file()) {
                continue;
            }
            let most = if base.is_none() && change.state == ChangeState::Untracked { left } else { diff::MAX_BYTES };
            let new = match change.kind {
                ChangeKind::Deleted => Vec::new(),
                // A file that cannot be read or is too large has no hunks.
                _ => match self.work.read(&change.path, most) {
                    Ok(bytes) => bytes,
                    Err(_) => continue,
                },
            };
            let old = match base {
                None => Vec::new(),
                Some(base) => {
                    let what = format!("the base of `{}`", change.path);
                    let Some(stored) = objects.read_at_most(&base.id, diff::MAX_BYTES, &what)? else { continue };
                    match attributes.of(objects, change.path.as_bytes())?.has_carriage_returns {
                        true => with_carriage_returns(&stored),
                        false => stored,
                    }
                }
            };
            change.hunks = hunks.take(diff::hunks(&old, &new, &self.git.deadline)?);
            if base.is_none() && change.state == ChangeState::Untracked && change.hunks.is_some() {
                left -= new.len() as u64;
            }
        }
        Ok(())
    }
}

/// Returns the size of a regular file.
fn size_of(present: Option<&TrackedFile>) -> Option<u64> {
    present.filter(|present| present.kind == FileKind::File).map(|present| present.size)
}

/// Returns the bytes as a checkout with CRLF writes them. Text that has CRLF already stays as it is.
fn with_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    if bytes.contains(&b'\r') {
        return bytes.to_vec();
    }
    let ends = bytes.iter().filter(|&&byte| byte == b'\n').count();
    let mut found = Vec::with_capacity(bytes.len() + ends);
    for &byte in bytes {
        if byte == b'\n' {
            found.push(b'\r');
        }
        found.push(byte);
    }
    found
}

/// Returns whether the file system has executable bits. Some report every file as executable; one that can tell is trusted
/// even if all are.
fn has_modes(
    root: &Path,
    known: &walk::KnownPaths<'_>,
    look: &WorkingTree,
    base: &dyn Fn(&[u8]) -> Option<TreeEntry>,
) -> bool {
    const MANY: usize = 8;
    if !stats::may_lack_modes(root) {
        return true;
    }
    let plain = |(path, present): (&&[u8], &Option<TrackedFile>)| {
        let present = present.filter(|present| present.kind == FileKind::File)?;
        base(path).filter(|entry| entry.mode == EntryMode::File).map(|_| present)
    };
    let mut count = 0;
    known.paths.iter().zip(&look.present).filter_map(plain).any(|present| {
        count += 1;
        !present.is_program
    }) || count < MANY
}
