//! Files that commands see as they are in the base commit, whatever the work made of them.

use crate::changes::StoredFiles;
use std::collections::BTreeSet;

/// The protected files that a change touches, as they are in the base commit.
#[derive(Debug)]
pub struct BaseFiles {
    /// The paths, relative to the root of the repository.
    pub(super) paths: BTreeSet<String>,
    /// Those files that the base commit has.
    pub(super) stored: StoredFiles,
}

impl BaseFiles {
    /// Returns these paths of a commit. Commands do not see the paths that `stored` does not have.
    pub fn new(paths: BTreeSet<String>, stored: StoredFiles) -> Self {
        Self { paths, stored }
    }

    /// Returns the paths.
    pub fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }
}
