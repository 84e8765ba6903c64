//! Changes between two trees, the second of which is checked as it is stored: the index, or a commit.

use super::id::{Id, ObjectKind};
use super::objects::Objects;
use super::renames::{self, LineCounts};
use super::tree::{self, EntryMode, Side, TreeDifference, TreeEntry};
use super::{FoundChanges, Snapshot, path};
use crate::changes::diff::{self, HunkBudget};
use crate::changes::{ChangesError, Needs, whole_file};
use crate::submission::{Change, ChangeKind, ChangeState};
use std::collections::BTreeMap;

/// The most bytes of added and deleted files that are read to find renames.
const MAX_RENAMED: usize = 32 << 20;

/// Compares stored files.
pub(super) struct StoredChanges {
    pub(super) state: ChangeState,
    pub(super) needs: Needs,
}

impl StoredChanges {
    /// Returns the changes from `old` to `new`, and the files of `new` in a temporary folder.
    pub(super) fn compare(
        &self,
        objects: &mut Objects<'_>,
        old: Side<'_>,
        new: Side<'_>,
    ) -> Result<FoundChanges, ChangesError> {
        let differences = tree::compare(objects, old, new)?;
        let mut changes = BTreeMap::new();
        for (name, difference) in &differences {
            changes.insert(path(name)?, *difference);
        }
        let renames = self.renames(objects, &changes)?;
        let (mut found, mut left) = (Vec::new(), HunkBudget::new());
        for (path, TreeDifference { old, new }) in &changes {
            let kind = match (old, new) {
                (None, _) => ChangeKind::Added,
                (_, None) if renames.values().any(|old| old == path) => continue,
                (_, None) => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            };
            let mut change = Change { kind, ..whole_file(path.clone(), self.state) };
            let mut before = *old;
            if let Some(old) = renames.get(path) {
                (change.kind, change.old_path) = (ChangeKind::Renamed, Some(old.clone()));
                before = changes.get(old).and_then(|difference| difference.old);
            }
            if self.needs.hunks {
                change.hunks = left.take(hunks(objects, path, before, *new)?);
            }
            found.push(change);
        }
        let snapshot = self.snapshot(objects, new, &differences)?;
        Ok(FoundChanges { snapshot: Some(snapshot), ..found.into() })
    }

    /// Returns the old path of each rename.
    fn renames(
        &self,
        objects: &mut Objects<'_>,
        changes: &BTreeMap<String, TreeDifference>,
    ) -> Result<BTreeMap<String, String>, ChangesError> {
        let is_file = |entry: &Option<TreeEntry>| entry.filter(|entry| entry.mode.is_file()).map(|entry| entry.id);
        let mut deleted: BTreeMap<&str, Id> = BTreeMap::new();
        let mut added: BTreeMap<&str, Id> = BTreeMap::new();
        for (path, TreeDifference { old, new }) in changes {
            match (is_file(old), is_file(new)) {
                (Some(id), None) if new.is_none() => drop(deleted.insert(path, id)),
                (None, Some(id)) if old.is_none() => drop(added.insert(path, id)),
                _ => {}
            }
        }
        let mut renames = BTreeMap::new();
        // Equal files first, and of several the one with the same name.
        added.retain(|new, id| {
            let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
            let equal = deleted.iter().filter(|(_, other)| *other == id);
            let Some(old) = equal.max_by_key(|(old, _)| name(old) == name(new)).map(|(old, _)| *old) else {
                return true;
            };
            deleted.remove(old);
            renames.insert((*new).to_owned(), old.to_owned());
            false
        });
        if deleted.is_empty() || added.is_empty() {
            return Ok(renames);
        }
        let mut left = MAX_RENAMED;
        let mut lines = |paths: &BTreeMap<&'_ str, Id>| -> Result<Vec<LineCounts>, ChangesError> {
            let wanted: Vec<(Id, &str)> = paths.iter().map(|(path, id)| (*id, *path)).collect();
            let mut found = Vec::new();
            objects.read_all(&wanted, ObjectKind::Blob, &mut |_, bytes| {
                left = left.saturating_sub(bytes.len());
                found.push(if left > 0 { LineCounts::of(&bytes) } else { LineCounts::of(b"") });
                Ok(())
            })?;
            Ok(found)
        };
        let (from, to) = (lines(&deleted)?, lines(&added)?);
        let from: BTreeMap<&str, LineCounts> = deleted.keys().copied().zip(from).collect();
        let to: BTreeMap<&str, LineCounts> = added.keys().copied().zip(to).collect();
        let similar = renames::similar(&from, &to, objects.deadline())?;
        renames.extend(similar.into_iter().map(|(new, old)| (new.to_owned(), old.to_owned())));
        Ok(renames)
    }

    /// Returns the changed files, or all files if a check needs others or a symlink could lead there.
    fn snapshot(
        &self,
        objects: &mut Objects<'_>,
        new: Side<'_>,
        differences: &BTreeMap<Vec<u8>, TreeDifference>,
    ) -> Result<Snapshot, ChangesError> {
        let entries = differences.iter().filter_map(|(path, difference)| Some((path.clone(), difference.new?)));
        let changed: BTreeMap<Vec<u8>, TreeEntry> = entries.collect();
        let files = match self.needs.unchanged || changed.values().any(|entry| entry.mode == EntryMode::Link) {
            true => {
                let all = tree::compare(objects, Side::Nothing, new)?;
                all.into_iter().filter_map(|(path, difference)| Some((path, difference.new?))).collect()
            }
            false => changed,
        };
        Snapshot::of(objects, &files)
    }
}

/// Returns the hunks between two stored files. Symlinks and submodules have none.
fn hunks(
    objects: &mut Objects<'_>,
    path: &str,
    old: Option<TreeEntry>,
    new: Option<TreeEntry>,
) -> Result<Option<Vec<crate::submission::Hunk>>, ChangesError> {
    if [old, new].into_iter().flatten().any(|entry| !entry.mode.is_file()) {
        return Ok(None);
    }
    let mut read = |entry: Option<TreeEntry>, what: &str| match entry {
        None => Ok(Some(Vec::new())),
        Some(entry) => objects.read_at_most(&entry.id, diff::MAX_BYTES, &format!("{what} `{path}`")),
    };
    let (Some(old), Some(new)) = (read(old, "the base of")?, read(new, "the content of")?) else { return Ok(None) };
    Ok(diff::hunks(&old, &new, objects.deadline())?)
}
