//! The files of a folder that is not a repository, or of a folder that the caller named.

use super::{Error, whole_file};
use crate::submission::{Change, ChangeState};
use std::path::Path;

/// Every regular file below `root`, except those that a `.gitignore` or `.ignore` names.
pub(super) fn files(root: &Path) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walk {
        let entry =
            entry.map_err(|error| Error::Unreadable { path: root.display().to_string(), why: error.to_string() })?;
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let path = path.to_str().ok_or_else(|| Error::BadPath(path.display().to_string()))?;
            changes.push(whole_file(path.to_owned(), ChangeState::Untracked));
        }
    }
    Ok(changes)
}
