//! Uses the configuration of the base commit instead of that of the working tree, so that the author of a change cannot
//! weaken it.
//!
//! In a repository, gate.toml, the files that it names and the components that it names by path are read from the base
//! commit of the change. A change that touches one of them, or a protected path, is checked by the old configuration and
//! never passes by itself: it needs human review (`policy.touched`). Commands see protected files as they are in the base.
//!
//! If the base commit has no gate.toml for the folder, or if there is no base commit or no repository, the configuration of
//! the working tree is used. For the first commit of a repository, that is the configuration in the commit.

use super::Request;
use super::policy::{FoundPolicy, Policy, PolicyOrigin, written};
use crate::changes::{self, SameFiles, Selection, StoredFiles, WorkFolder};
use crate::config::{self, Config};
use crate::environment::Environment;
use crate::error::{Error, ErrorCategory};
use crate::regular_file::{self, Symlinks};
use crate::text::clean_line;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

const FILE: &str = "gate.toml";
/// A configuration that was read from a commit.
#[derive(Debug)]
pub(super) struct Trusted {
    /// The commit, in full.
    pub(super) commit: String,
    /// The folder that holds the files while they are read. `None` if the working tree has the same files.
    pub(super) stored: Option<StoredFiles>,
    /// The files of the configuration, and every path where a nearer gate.toml could be, relative to the root of the
    /// repository.
    pub(super) paths: BTreeSet<String>,
    /// The folder that its patterns are relative to, relative to the root of the repository.
    pub(super) folder: String,
}

/// The place of a folder in its repository, and the places where its configuration may be.
struct PolicyPlaces {
    root: PathBuf,
    /// The folder and those above it, nearest first, relative to the root.
    folders: Vec<String>,
}

impl PolicyPlaces {
    /// Returns `None` if the folder is in no repository.
    fn of(work: WorkFolder) -> Option<Self> {
        let WorkFolder { folder: real, root, .. } = work;
        let root = root?;
        let inside = |folder: &Path| folder.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned);
        let folders = real.ancestors().take_while(|folder| folder.starts_with(&root)).filter_map(inside).collect();
        Some(Self { root, folders })
    }

    fn candidates(&self) -> BTreeSet<String> {
        self.folders.iter().map(|folder| join(folder, FILE)).collect()
    }
}

/// How the configuration of the working tree compares with that of the base commit.
#[derive(Debug)]
pub(super) enum PolicyStatus {
    /// They are the same, byte for byte.
    Same(Trusted),
    /// This commit has another configuration.
    Other(String),
    /// The base commit has no configuration.
    New,
}

/// The inputs for comparing a configuration with that of the base commit.
#[derive(Debug)]
pub(super) struct PolicyComparison {
    work: WorkFolder,
    selection: Selection,
    /// The gate.toml of the working tree.
    file: Option<PathBuf>,
    /// The paths that the configuration of the working tree names.
    names: Vec<String>,
    environment: Environment,
}

impl PolicyComparison {
    /// Returns `None` for a configuration that the caller chose.
    pub(super) fn new(request: &Request, found: &FoundPolicy) -> Result<Option<Self>, Error> {
        if request.policy != Policy::Nearest {
            return Ok(None);
        }
        Ok(Some(Self {
            work: request.work_folder()?,
            selection: request.selection.clone(),
            file: found.path.clone(),
            names: names(&found.config),
            environment: request.environment.clone(),
        }))
    }

    /// Compares the configuration with that of the base commit. This blocks.
    pub(super) fn standing(&self) -> Result<PolicyStatus, Error> {
        let Some(places) = PolicyPlaces::of(self.work.clone()) else { return Ok(PolicyStatus::New) };
        let file = self.file.as_ref().and_then(|file| file.canonicalize().ok());
        let nearest = places.folders.iter().find(|folder| Some(places.root.join(join(folder, FILE))) == file);
        let mut paths = places.candidates();
        paths.extend(self.names.iter().filter_map(|name| normal(nearest?, name)));
        let folders = folders_of(&paths);
        let wanted = paths.union(&folders).cloned().collect();
        let known = match changes::same_files(&places.root, &self.selection, &wanted, &self.environment) {
            // Files that the caller names need no git, and so no base commit.
            Err(changes::ChangesError::NoGit) if matches!(self.selection, Selection::Files(_)) => None,
            known => known?,
        };
        let Some(SameFiles { commit, same: known }) = known else { return Ok(PolicyStatus::New) };
        let old = places.folders.iter().find(|folder| known.contains_key(&join(folder, FILE)));
        // A folder that the commit has as an entry is a symlink, so other files than the named ones decide.
        let is_linked = folders.iter().any(|folder| known.contains_key(folder));
        Ok(match (old, nearest) {
            (None, _) => PolicyStatus::New,
            (Some(old), Some(folder)) if old == folder && !is_linked && known.values().all(|same| *same) => {
                PolicyStatus::Same(Trusted { commit, stored: None, paths, folder: folder.clone() })
            }
            _ => PolicyStatus::Other(commit),
        })
    }
}

/// Returns the configuration that applies after the comparison with the base commit.
pub(super) fn settle(
    mut found: FoundPolicy,
    standing: PolicyStatus,
    work: WorkFolder,
    environment: &Environment,
) -> Result<FoundPolicy, Error> {
    match standing {
        PolicyStatus::New => Ok(found),
        PolicyStatus::Same(trusted) => {
            found.trusted = Some(trusted);
            Ok(found)
        }
        PolicyStatus::Other(commit) => find(work, &commit, environment),
    }
}

/// Finds and reads the configuration of a commit: that of the folder, or the nearest above it.
pub(super) fn find(work: WorkFolder, name: &str, environment: &Environment) -> Result<FoundPolicy, Error> {
    let no_repository = || Error::usage("`--policy-from` needs a git repository");
    let places = PolicyPlaces::of(work).ok_or_else(no_repository)?;
    let root = &places.root;
    let mut paths = places.candidates();
    // Whichever configuration was read before, its deadline does not limit how long this one is read.
    let stored = changes::stored(root, name, &paths.iter().map(String::as_str).collect(), environment)?;
    let there = |folder: &&String| stored.path().join(join(folder, FILE)).symlink_metadata().is_ok();
    let nearest = places.folders.iter().find(there);
    let shown = clean_line(name, 200);
    let Some(within) = nearest else {
        return Err(Error::new(
            ErrorCategory::Configuration,
            format_args!("the commit `{shown}` has no {FILE} for this folder"),
        )
        .hint("commit a gate.toml first, or run without `--policy-from`".to_owned()));
    };
    let file = join(within, FILE);
    let title = format!("{file} of `{shown}`");
    let bytes = super::policy::read_named(&stored.path().join(&file), &title)?;
    let config = config::parse(&bytes).map_err(|problems| Error::configuration(&title, &problems))?;
    paths.extend(names(&config).iter().filter_map(|name| normal(within, name)));
    let folders = folders_of(&paths);
    let wanted = paths.union(&folders).map(String::as_str).collect();
    let stored = changes::stored(root, stored.commit(), &wanted, environment)?;
    let files = Workspace::open(stored.path())
        .map_err(|error| Error::host("cannot open the files of the configuration").because(error))?;
    for path in std::mem::take(&mut paths) {
        let through = files.trail(&path);
        // What is behind a symlink is written nowhere: the link may lead out of the folder.
        if through.iter().eq([&path]) {
            add_new(&root.join(&path), &stored.path().join(&path)).map_err(|error| {
                Error::host(format_args!("cannot read `{}` as a part of the configuration", clean_line(&path, 200)))
                    .because(error)
            })?;
        }
        paths.insert(path);
        paths.extend(through);
    }
    let from = stored.path().join(within);
    let mut found = written(bytes, title, Some(root.join(&file)), from, PolicyOrigin::Commit)?;
    let commit = stored.commit().to_owned();
    found.trusted = Some(Trusted { commit, stored: Some(stored), paths, folder: within.clone() });
    Ok(found)
}

/// Copies files that the configuration names and the commit does not have from the working tree, such as a component that is
/// built and never committed. A gate.toml is not copied: a new one does not apply.
fn add_new(work: &Path, stored: &Path) -> std::io::Result<()> {
    if stored.symlink_metadata().is_ok() || stored.file_name().is_some_and(|name| name == FILE) {
        return Ok(());
    }
    let Ok(mut file) = regular_file::open(work, Symlinks::Follow) else { return Ok(()) };
    std::fs::create_dir_all(stored.parent().unwrap_or(stored))?;
    std::io::copy(&mut file, &mut std::fs::File::create_new(stored)?)?;
    Ok(())
}

/// Returns the folders above these paths.
fn folders_of(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let above = |path: &String| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
    paths.iter().flat_map(above).collect()
}

/// Returns the files that a configuration names: texts of settings, documents for reviewers, and components.
pub(super) fn names(config: &Config) -> Vec<String> {
    let checks = || config.checks.values();
    let texts = checks().flat_map(|check| check.settings_files.values().cloned());
    let documents = checks().filter_map(|check| check.settings.get("documents")?.as_array());
    let documents = documents.flatten().filter_map(|document| document.as_str().map(str::to_owned));
    let verifiers = checks().map(|check| &check.verifier).filter(|name| name.contains(['/', '.']));
    let verifiers = verifiers.map(|name| name.split("@sha256:").next().unwrap_or(name).to_owned());
    texts.chain(documents).chain(verifiers).collect()
}

/// Returns the bytes of gate.toml and of every file that it names, by their paths relative to it.
pub(super) fn files(found: &FoundPolicy) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let name = found.path.as_ref().and_then(|path| path.file_name()).unwrap_or(FILE.as_ref());
    let mut files =
        BTreeMap::from([(FILE.to_owned(), super::policy::read_named(&found.folder.join(name), &found.name)?)]);
    for name in names(&found.config) {
        let Some(path) = normal("", &name) else {
            let shown = clean_line(&name, 200);
            return Err(Error::input(format_args!("the configuration names `{shown}`, outside its folder")));
        };
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            regular_file::open(path, Symlinks::Follow)?.read_to_end(&mut bytes).map(|_| bytes)
        };
        // If a document is missing, the verifier reports it.
        if let Ok(bytes) = read(&found.folder.join(&name)) {
            files.insert(path, bytes);
        }
    }
    Ok(files)
}

/// Returns a path in a folder without `.` and `..`; `None` if it leaves the repository.
pub(super) fn normal(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_above_the_files() {
        let paths = BTreeSet::from(["gate.toml".to_owned(), "a/b/c.md".to_owned()]);
        assert!(folders_of(&paths).iter().eq(["a", "a/b"].iter()));
    }

    #[test]
    fn paths_are_those_of_the_repository() {
        for (folder, path, expected) in [
            ("", "a.wasm", Some("a.wasm")),
            ("", "./checks/a.wasm", Some("checks/a.wasm")),
            ("sub", "../a.wasm", Some("a.wasm")),
            ("sub/deep", "x/../y", Some("sub/deep/y")),
            ("", "../a.wasm", None),
            ("", "/etc/passwd", None),
        ] {
            assert_eq!(normal(folder, path).as_deref(), expected, "{folder} {path}");
        }
    }
}
