//! The files of a folder that is in no repository.

use super::{ChangesError, shown, shown_text, whole_file};
use crate::deadline::Deadline;
use crate::submission::{Change, ChangeState};
use std::path::Path;

/// Returns every file below `folder`. Ignore files do not count, because one could be planted unseen. Paths are relative to
/// `root`.
pub(super) fn files(root: &Path, folder: &str, deadline: &Deadline) -> Result<Vec<Change>, ChangesError> {
    let mut changes = Vec::new();
    let start = if folder.is_empty() { root.to_owned() } else { root.join(folder) };
    let walk = ignore::WalkBuilder::new(&start)
        .standard_filters(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walk {
        deadline.check()?;
        let unreadable = |why: String| ChangesError::Unreadable { path: shown(&start), why: shown_text(&why) };
        let entry = entry.map_err(|error| unreadable(error.to_string()))?;
        if entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink()) {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let path = path.to_str().ok_or_else(|| ChangesError::BadPath(shown(path)))?;
            changes.push(whole_file(path.to_owned(), ChangeState::Untracked));
        }
    }
    Ok(changes)
}
