//! Detects changes of the policy of a pinned gate. A change that touches the policy needs human review.
//!
//! The pinned gate is not read again, so such a change does not affect the running loop. But whoever accepts the work also
//! accepts the new policy.

use super::policy::FoundPolicy;
use crate::changes::{self, Changes, Needs, Selection, WorkFolder};
use crate::config::FileSet;
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::regular_file::{self, Symlinks};
use crate::submission::ChangeKind;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes of a file that are hashed.
const MAX_READ: u64 = 256 << 20;

/// The digest of a file; `None` if it cannot be read as a file.
type Content = Option<blake3::Hash>;

/// Digests of the policy and of the protected files that differ from the base.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    policy: BTreeMap<PathBuf, Content>,
    protected: BTreeMap<String, Content>,
}

impl Sealed {
    /// Records the files of this configuration. A configuration that was read from a commit is compared with that commit
    /// instead.
    pub(super) fn of(
        found: &FoundPolicy,
        work: &WorkFolder,
        selection: &Selection,
        environment: &Environment,
    ) -> Result<Self, Error> {
        if found.trusted.is_some() {
            return Ok(Self::default());
        }
        let texts = found.config.checks.values().flat_map(|check| check.settings_files.values());
        let verifiers = found.config.checks.values().map(|check| &check.verifier);
        let verifiers = verifiers.filter(|name| name.contains(['/', '.']));
        let verifiers = verifiers.map(|name| name.split("@sha256:").next().unwrap_or(name));
        let named = texts.map(String::as_str).chain(verifiers).map(|path| found.folder.join(path));
        // Also if there is no gate.toml: the next loop would use a new one.
        let nearest = work.root.iter().chain([&work.folder]).map(|folder| folder.join("gate.toml"));
        let policy =
            found.path.iter().cloned().chain(named).chain(nearest).map(|path| (path.clone(), content(&path))).collect();
        Ok(Self { policy, protected: protected(found, work, selection, environment)? })
    }

    /// Returns the paths that have changed since.
    pub(super) fn touched(
        &self,
        found: &FoundPolicy,
        work: &WorkFolder,
        selection: &Selection,
        environment: &Environment,
    ) -> Result<Vec<String>, Error> {
        let changed = self.policy.iter().filter(|(path, before)| content(path) != **before);
        let shown = |path: &Path| path.strip_prefix(&found.folder).unwrap_or(path).to_string_lossy().into_owned();
        let mut touched: Vec<String> = changed.map(|(path, _)| shown(path)).collect();
        if found.trusted.is_none() && !found.config.protected.is_empty() {
            let now = protected(found, work, selection, environment)?;
            let gone = self.protected.keys().filter(|path| !now.contains_key(*path));
            let other = now.iter().filter(|(path, content)| self.protected.get(*path) != Some(*content));
            touched.extend(gone.cloned().chain(other.map(|(path, _)| path.clone())));
        }
        touched.sort();
        touched.dedup();
        Ok(touched)
    }
}

/// Returns the protected files that differ from the base, with their digests.
fn protected(
    found: &FoundPolicy,
    work: &WorkFolder,
    selection: &Selection,
    environment: &Environment,
) -> Result<BTreeMap<String, Content>, Error> {
    if found.config.protected.is_empty() {
        return Ok(BTreeMap::new());
    }
    let patterns = FileSet::new(&found.config.protected, &[]);
    let patterns = patterns.map_err(|error| Error::new(ErrorCategory::Configuration, &error))?;
    let Changes { changes, workspace, .. } = changes::collect_at(work, selection, &Needs::default, environment, None)?;
    let root = workspace.root().to_owned();
    let within = found.folder.canonicalize().ok();
    let within = within.as_deref().and_then(|folder| folder.strip_prefix(&root).ok()).unwrap_or(Path::new(""));
    let is_protected = |path: &str| {
        Path::new(path).strip_prefix(within).ok().and_then(Path::to_str).is_some_and(|path| patterns.contains(path))
    };
    let mut found = BTreeMap::new();
    for change in &changes {
        work.deadline.check().map_err(changes::ChangesError::from)?;
        for path in std::iter::once(&change.path).chain(&change.old_path).filter(|path| is_protected(path)) {
            let there = change.kind != ChangeKind::Deleted;
            found.insert(path.clone(), content(&root.join(path)).filter(|_| there));
        }
    }
    Ok(found)
}

fn content(path: &Path) -> Content {
    // Symlinks are not followed, and endless files are not read.
    let about = path.symlink_metadata().ok()?;
    if about.is_symlink() {
        return Some(blake3::hash(std::fs::read_link(path).ok()?.as_os_str().as_encoded_bytes()));
    }
    if about.len() > MAX_READ {
        return None;
    }
    let mut bytes = Vec::new();
    regular_file::open(path, Symlinks::Refuse).ok()?.take(MAX_READ).read_to_end(&mut bytes).ok()?;
    Some(blake3::hash(&bytes))
}
