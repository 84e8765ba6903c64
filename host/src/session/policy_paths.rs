//! Which paths of the work belong to the policy: nothing that a verifier says may change them.

use super::policy::{FILE, FoundPolicy};
use super::{Pinned, trusted};
use crate::config::FileSet;
use crate::error::{Error, ErrorCategory};
use crate::workspace::real_inside;
use std::collections::BTreeSet;
use std::path::Path;

/// The lock of verifiers, which is policy too.
const LOCK: &str = "gate.lock";

/// The files of a policy, with its list of tasks and its log of reviews, and the patterns of its protected files.
pub(crate) struct PolicyPaths {
    files: BTreeSet<String>,
    /// `None` if nothing is protected: an empty set of patterns matches all files.
    protected: Option<FileSet>,
    /// The folder of the patterns, relative to the root of the work.
    folder: String,
}

impl Pinned {
    /// Returns the paths of the policy in the work with this root.
    pub(crate) fn policy_paths(&self, root: &Path) -> Result<PolicyPaths, Error> {
        PolicyPaths::of(&self.0.found, root)
    }
}

impl PolicyPaths {
    fn of(found: &FoundPolicy, root: &Path) -> Result<Self, Error> {
        let protected = &found.config.protected;
        let protected = (!protected.is_empty()).then(|| FileSet::new(protected, &[])).transpose();
        let protected = protected.map_err(|error| Error::new(ErrorCategory::Configuration, &error))?;
        // A configuration outside the work has patterns relative to the root of the work.
        let near = found.path.as_deref().and_then(Path::parent).and_then(|folder| real_inside(root, folder));
        let (folder, mut files) = match &found.trusted {
            Some(trusted) => (trusted.folder.clone(), trusted.paths.clone()),
            None => (near.unwrap_or_default(), BTreeSet::new()),
        };
        let FoundPolicy { config, path, .. } = found;
        let names = trusted::names(config).into_iter().chain(config.plan_file.clone()).chain(config.progress.clone());
        files.extend(names.filter_map(|name| trusted::normal(&folder, &name)));
        // What is behind a symlink decides as well.
        let behind = files.iter().filter_map(|file| real_inside(root, &root.join(file)));
        let behind: Vec<String> = behind.chain(path.as_deref().and_then(|path| real_inside(root, path))).collect();
        files.extend(behind);
        Ok(Self { files, protected, folder })
    }

    /// Returns whether a path, relative to the root of the work, belongs to the policy.
    pub(crate) fn contain(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let below = match self.folder.as_str() {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        // A nested gate.toml is the policy of its folder. Some file systems ignore case.
        [FILE, LOCK].iter().any(|own| name.eq_ignore_ascii_case(own))
            || self.files.iter().any(|file| file.eq_ignore_ascii_case(path))
            || self.protected.as_ref().zip(below).is_some_and(|(protected, path)| protected.contains(path))
    }
}
