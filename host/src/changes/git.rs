//! Reads a repository and its working tree.
//!
//! The repository belongs to the author of the change. Only object ids whose bytes were hashed here are trusted: trees,
//! commits and files are read by `objects.rs`; only paths and ids of the index are used (`index.rs`); the working tree is
//! walked (`walk.rs`), and its bytes are hashed here too (`content.rs`).
//!
//! The crate gix (0.90, only with what reads objects, the index and ignore rules) was measured as a replacement: 63 more crates,
//! half a minute of processor time in the first build, 1.4 MB in the program. What it would save is small, because objects
//! must be hashed here and the index must be distrusted here in any case.

mod child_io;
mod attributes;
mod commits;
mod configured;
mod content;
mod copy;
mod id;
mod ignored;
mod index;
mod index_file;
mod index_tree;
mod layout;
mod listing;
mod listings;
mod look;
mod worktree_changes;
mod walk;
mod object_files;
mod objects;
mod program;
mod renames;
mod snapshot;
mod stats;
mod stored_changes;
mod exists;
mod tree;

use super::{ChangesError, Needs, SameFiles, Selection, shown_text};
use crate::cache_store::CacheStore;
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::regular_file::{self, Symlinks};
use crate::submission::{Change, ChangeState};
use crate::workspace::{self, FileStat, Workspace};
pub(crate) use configured::{NamedByGit, is_hook_name};
pub(crate) use copy::Copy;
use objects::Objects;
use program::Git;
pub(super) use snapshot::Snapshot;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longer files of a configuration count as changed.
const MAX_COMPARED: u64 = 256 << 20;

/// A repository with a working tree.
pub(super) struct Repository {
    pub(super) root: PathBuf,
    /// Opened on first use: named files need no git.
    git: OnceCell<Git>,
    pub(super) environment: Environment,
    /// When reading it must end.
    pub(super) deadline: Deadline,
}

/// Changes, and their base commit.
#[derive(Default)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<Change>,
    pub(super) base: Option<String>,
    pub(super) snapshot: Option<Snapshot>,
    /// The stat results of some files of the working tree.
    pub(super) stats: HashMap<String, FileStat>,
}

impl From<Vec<Change>> for FoundChanges {
    fn from(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }
}

impl Repository {
    /// Returns the repository with this root.
    pub(super) fn at(root: &Path, environment: &Environment) -> Self {
        let deadline = Deadline::default();
        Self { root: root.to_owned(), git: OnceCell::new(), environment: environment.clone(), deadline }
    }

    /// Returns the repository with this deadline for reading it.
    pub(super) fn until(self, deadline: &Deadline) -> Self {
        Self { deadline: deadline.clone(), ..self }
    }

    /// Returns the repository that `folder` is in, if there is one.
    pub(super) fn find(folder: &Path, environment: &Environment) -> Result<Option<Self>, ChangesError> {
        let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        if let Some(root) = root {
            return Ok(Some(Self::at(root, environment)));
        }
        // `GIT_DIR` is set, as in git hooks: then only git knows the working tree.
        if environment.get("GIT_DIR").is_none() {
            return Ok(None);
        }
        let top = Git::top(folder, environment)?;
        match top.canonicalize() {
            Ok(root) if folder.starts_with(&root) => Ok(Some(Self::at(&root, environment))),
            _ => Err(ChangesError::Elsewhere { found: folder.to_owned(), top }),
        }
    }

    fn git(&self) -> Result<&Git, ChangesError> {
        if let Some(git) = self.git.get() {
            return Ok(git);
        }
        let git = Git::open(&self.root, &self.environment, &self.deadline)?;
        Ok(self.git.get_or_init(|| git))
    }

    /// Returns whether the last commit has a folder of files at this path, not another repository.
    pub(super) fn has_folder(&self, place: &Path) -> Result<bool, ChangesError> {
        let Some(git) = Git::open_other(&self.root, &self.environment, &self.deadline)? else { return Ok(false) };
        let mut objects = Objects::new(&git);
        let Some((_, commit)) = commits::head(&mut objects)? else { return Ok(false) };
        let inside = place.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let names = inside.iter().map(|name| name.as_encoded_bytes());
        tree::has_folder(&mut objects, commit.tree, names)
    }

    /// Returns the differences from the last commit, untracked files included.
    pub(super) fn changed(
        &self,
        work: &Workspace,
        needs: &dyn Fn() -> Needs,
        store: Option<&Arc<CacheStore>>,
    ) -> Result<FoundChanges, ChangesError> {
        let git = self.git()?;
        worktree_changes::Live { git, root: &self.root, work, store }.changes(None, needs)
    }

    /// Returns the differences between a commit and the working tree, untracked files included. Unless `exactly` is set, the
    /// merge base with the last commit is used.
    pub(super) fn since(
        &self,
        name: &str,
        exactly: bool,
        work: &Workspace,
        needs: &dyn Fn() -> Needs,
        store: Option<&Arc<CacheStore>>,
    ) -> Result<FoundChanges, ChangesError> {
        let git = self.git()?;
        worktree_changes::Live { git, root: &self.root, work, store }
            .changes(Some(worktree_changes::BaseCommit { name, exactly }), needs)
    }

    /// Returns every file below `folder` that is tracked, or that is neither tracked nor ignored.
    pub(super) fn files(
        &self,
        folder: &str,
        work: &Workspace,
        store: Option<&Arc<CacheStore>>,
    ) -> Result<FoundChanges, ChangesError> {
        let git = self.git()?;
        worktree_changes::Live { git, root: &self.root, work, store }.files(folder)
    }

    /// Returns the staged differences from the last commit.
    pub(super) fn staged(&self, needs: &dyn Fn() -> Needs) -> Result<FoundChanges, ChangesError> {
        let git = self.git()?;
        let index = index::Index::read(git, &git.layout.index)?;
        let unmerged = index.paths().find(|(_, known)| known.is_unmerged);
        if let Some((name, _)) = unmerged {
            return Err(ChangesError::Unmerged(path(name)?));
        }
        index.refuse_forged_folders()?;
        let mut objects = Objects::new(git);
        let head = commits::head(&mut objects)?;
        let old = head.as_ref().map_or(tree::Side::Nothing, |(_, commit)| tree::Side::Stored(commit.tree));
        let new = tree::Side::Index(index.top());
        let stored = stored_changes::StoredChanges { state: ChangeState::Staged, needs: needs() };
        let found = stored.compare(&mut objects, old, new)?;
        Ok(FoundChanges { base: head.map(|(id, _)| id.to_string()), ..found })
    }

    /// Returns these files of a commit, and its full id. If one is a symlink, all files are included, because it may lead to
    /// any.
    pub(super) fn stored(&self, name: &str, paths: &BTreeSet<&str>) -> Result<(String, Snapshot), ChangesError> {
        let git = self.git()?;
        let mut objects = Objects::new(git);
        let commit = commits::named(git, &mut objects, name)?;
        let tree = commits::read(&mut objects, &commit)?.tree;
        let mut files = tree::files(&mut objects, tree)?;
        let wanted = |name: &[u8]| str::from_utf8(name).is_ok_and(|name| paths.contains(name));
        if !files.iter().any(|(name, entry)| wanted(name) && entry.mode == tree::EntryMode::Link) {
            files.retain(|name, _| wanted(name));
        }
        Ok((commit.to_string(), Snapshot::of(&mut objects, &files)?))
    }

    /// Returns all files of a commit, and its full name.
    pub(super) fn checkout(&self, name: &str) -> Result<(String, Snapshot), ChangesError> {
        let git = self.git()?;
        let mut objects = Objects::new(git);
        let commit = commits::named(git, &mut objects, name)?;
        let tree = commits::read(&mut objects, &commit)?.tree;
        let files = tree::files(&mut objects, tree)?;
        Ok((commit.to_string(), Snapshot::of(&mut objects, &files)?))
    }

    /// Returns the base commit of a selection. If it compares nothing, the last commit; `None` before the first.
    pub(super) fn base(&self, selection: &Selection) -> Result<Option<String>, ChangesError> {
        let git = self.git()?;
        Ok(Self::base_of(git, &mut Objects::new(git), selection)?.map(|id| id.to_string()))
    }

    fn base_of(git: &Git, objects: &mut Objects<'_>, selection: &Selection) -> Result<Option<id::Id>, ChangesError> {
        Ok(match selection {
            Selection::Base(name) => Some(commits::named(git, objects, name)?),
            Selection::Since(name) => {
                let first = commits::named(git, objects, name)?;
                match commits::head(objects)? {
                    Some((second, _)) => Some(commits::merge_base(git, objects, (name, &first), ("HEAD", &second))?),
                    None => Some(first),
                }
            }
            Selection::Between { from, to } => {
                let first = commits::named(git, objects, from)?;
                let second = commits::named(git, objects, to)?;
                Some(commits::merge_base(git, objects, (from, &first), (to, &second))?)
            }
            Selection::Commit(name) => Self::parent(git, objects, name)?,
            Selection::Changed | Selection::Staged | Selection::All | Selection::Files(_) => {
                commits::head(objects)?.map(|(id, _)| id)
            }
        })
    }

    /// Returns the base commit of a selection, and for those of these paths that it has whether the working tree has the
    /// same bytes.
    pub(super) fn same_files(
        &self,
        selection: &Selection,
        paths: &BTreeSet<String>,
    ) -> Result<Option<SameFiles>, ChangesError> {
        let git = self.git()?;
        let mut objects = Objects::new(git);
        let commit = match (Self::base_of(git, &mut objects, selection)?, selection) {
            (Some(base), _) => base,
            // Nothing comes before the first commit, so the configuration in the commit applies, not that of the working
            // tree.
            (None, Selection::Commit(name)) => commits::named(git, &mut objects, name)?,
            (None, _) => return Ok(None),
        };
        let tree = commits::read(&mut objects, &commit)?.tree;
        let mut found = BTreeMap::new();
        for path in paths {
            let Some(entry) = tree::at(&mut objects, tree, path)? else { continue };
            let file = self.root.join(path);
            let is_link = file.symlink_metadata().is_ok_and(|about| about.is_symlink());
            let read = || {
                let mut bytes = Vec::new();
                regular_file::open(&file, Symlinks::Refuse)?.take(MAX_COMPARED).read_to_end(&mut bytes).map(|_| bytes)
            };
            let same = entry.mode.is_file()
                && !is_link
                && read().is_ok_and(|bytes| id::hash(git.format, id::ObjectKind::Blob, &bytes) == entry.id);
            found.insert(path.clone(), same);
        }
        Ok(Some(SameFiles { commit: commit.to_string(), same: found }))
    }

    /// Returns the first parent of a commit, as the hashed commit names it; `None` for the first commit.
    fn parent(git: &Git, objects: &mut Objects<'_>, name: &str) -> Result<Option<id::Id>, ChangesError> {
        let id = commits::named(git, objects, name)?;
        let is_first = commits::read(objects, &id)?.parents.is_empty();
        if is_first { Ok(None) } else { commits::named(git, objects, &format!("{id}^")).map(Some) }
    }

    /// Returns the differences between a commit and its first parent.
    pub(super) fn commit(&self, name: &str, needs: &dyn Fn() -> Needs) -> Result<FoundChanges, ChangesError> {
        let git = self.git()?;
        let mut objects = Objects::new(git);
        let base = Self::parent(git, &mut objects, name)?;
        let commit = commits::named(git, &mut objects, name)?;
        let old = match &base {
            Some(base) => tree::Side::Stored(commits::read(&mut objects, base)?.tree),
            None => tree::Side::Nothing,
        };
        let new = tree::Side::Stored(commits::read(&mut objects, &commit)?.tree);
        let stored = stored_changes::StoredChanges { state: ChangeState::Committed, needs: needs() };
        let found = stored.compare(&mut objects, old, new)?;
        Ok(FoundChanges { base: base.map(|base| base.to_string()), ..found })
    }

    /// Returns the differences between two commits, since their merge base.
    pub(super) fn between(
        &self,
        from: &str,
        to: &str,
        needs: &dyn Fn() -> Needs,
    ) -> Result<FoundChanges, ChangesError> {
        let git = self.git()?;
        let mut objects = Objects::new(git);
        let first = commits::named(git, &mut objects, from)?;
        let second = commits::named(git, &mut objects, to)?;
        let base = commits::merge_base(git, &mut objects, (from, &first), (to, &second))?;
        let old = tree::Side::Stored(commits::read(&mut objects, &base)?.tree);
        let new = tree::Side::Stored(commits::read(&mut objects, &second)?.tree);
        let stored = stored_changes::StoredChanges { state: ChangeState::Committed, needs: needs() };
        let found = stored.compare(&mut objects, old, new)?;
        Ok(FoundChanges { base: Some(base.to_string()), ..found })
    }
}

fn path(bytes: &[u8]) -> Result<String, ChangesError> {
    match str::from_utf8(bytes) {
        Ok(path) if workspace::is_inside(path) => Ok(path.to_owned()),
        _ => Err(ChangesError::BadPath(shown_text(&String::from_utf8_lossy(bytes)))),
    }
}
