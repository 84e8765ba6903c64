//! Which paths of the work belong to the policy: nothing that a verifier says may change them.

use super::policy::{FILE, FoundPolicy};
use super::{Pinned, Request, trusted};
use crate::config::FileSet;
use crate::error::{Error, ErrorCategory};
use crate::workspace::real_inside;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
    /// Returns the paths of the policy in the work of a request with this root.
    pub(crate) fn policy_paths(&self, request: &Request, root: &Path) -> Result<PolicyPaths, Error> {
        PolicyPaths::of(&self.0.found, request, root)
    }
}

impl PolicyPaths {
    fn of(found: &FoundPolicy, request: &Request, root: &Path) -> Result<Self, Error> {
        let protected = &found.config.protected;
        let protected = (!protected.is_empty()).then(|| FileSet::new(protected, &[])).transpose();
        let protected = protected.map_err(|error| Error::new(ErrorCategory::Configuration, &error))?;
        let FoundPolicy { config, path, trusted, .. } = found;
        let near = path.as_deref().and_then(Path::parent);
        // A configuration outside the work has patterns relative to the root of the work.
        let inside = || near.and_then(|folder| real_inside(root, folder)).unwrap_or_default();
        let (folder, mut files) = match trusted {
            Some(trusted) => (trusted.folder.clone(), trusted.paths.clone()),
            None => (inside(), BTreeSet::new()),
        };
        let mut names = trusted::names(config);
        names.extend(config.plan_file.iter().chain(&config.progress).cloned());
        files.extend(names.iter().filter_map(|name| trusted::normal(&folder, name)));
        // What is behind a symlink decides as well.
        let mut real: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
        real.extend(path.iter().cloned());
        real.extend(request.tasks.iter().map(|plan| request.folder.join(plan)));
        real.extend(near.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))));
        files.extend(real.iter().filter_map(|path| real_inside(root, path)));
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
