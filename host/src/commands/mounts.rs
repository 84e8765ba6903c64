//! The paths that a command sees: the workspace, the system, the toolchains of the user, and nothing else.

mod builder;
mod known_paths;

use super::NoResult;
use super::granted_paths::GrantedPaths;
use super::protected::Protected;
use crate::config::{self, CommandConfig};
use crate::environment::Environment;
use builder::MountsBuilder;
use known_paths::SYSTEM;
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How a path may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MountAccess {
    /// Read and execute.
    Read,
    /// Read, execute and change.
    Write,
    /// A device that stores nothing.
    Device,
}

/// A file or folder, and how it and everything below it may be accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MountedPath {
    /// The path, without symlinks.
    pub(super) path: PathBuf,
    pub(super) access: MountAccess,
    pub(super) folder: bool,
}

/// All paths that a command sees.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// The paths, parents first. The rule of the deepest path applies.
    pub(super) places: Vec<MountedPath>,
    /// What is mounted at some of these paths, where it is not the path itself.
    pub(super) sources: BTreeMap<PathBuf, PathBuf>,
    /// Symlinks from the usual paths to the real ones.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Symlinks in the home folder of the command, relative to it.
    pub(super) home: Vec<(PathBuf, PathBuf)>,
    /// Files in the home folder of the command, relative to it, with their contents.
    pub(super) files: Vec<(PathBuf, String)>,
    /// Folders that must stay hidden although they are inside or above a visible path.
    pub(super) hidden: Vec<Private>,
}

/// Variables that locate a toolchain. They are passed on, and the path is visible.
const POINTERS: &[&str] =
    &["RUSTUP_HOME", "GOROOT", "GOPATH", "GOMODCACHE", "JAVA_HOME", "PYENV_ROOT", "NVM_DIR", "VIRTUAL_ENV"];

/// Other variables that are passed on, because nothing works without them.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "TZ"];

/// Returns the environment of a command, without its home folder.
pub(super) fn environment(command: &CommandConfig, from: &Environment) -> BTreeMap<OsString, OsString> {
    let named = command.env.iter().map(String::as_str);
    let names = PASSED.iter().chain(POINTERS).copied().chain(named);
    let mut all: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), from.get(name)?.to_owned()))).collect();
    all.entry("PATH".into()).or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
    all.entry("TERM".into()).or_insert_with(|| "dumb".into());
    all
}

/// A folder of `gate` that no command may read: cached passes and the key that authenticates them, or the ledger.
#[derive(Clone, Debug)]
pub(super) struct Private {
    pub(super) path: PathBuf,
    /// Its purpose: `cache` or `state`.
    pub(super) what: &'static str,
    /// The variable that chooses another folder.
    pub(super) variable: &'static str,
}

impl Mounts {
    /// Returns the paths that this command sees in `root`, which has no symlink in it. `private` folders are hidden.
    pub(super) fn new(
        command: &CommandConfig,
        root: &Path,
        search: &OsStr,
        environment: &Environment,
        protected: &Protected,
        private: &[Private],
    ) -> Result<Self, NoResult> {
        let home = environment.home().and_then(|home| home.canonicalize().ok());
        let mut seen = MountsBuilder::new(home.as_deref());
        for system in SYSTEM {
            seen.read(Path::new(system));
        }
        seen.toolchains(environment);
        for folder in env::split_paths(search).filter(|folder| folder.is_absolute()) {
            seen.programs(&folder);
        }
        for (name, pointer) in POINTERS.iter().filter_map(|name| Some((name, environment.path(name)?))) {
            // A virtual environment belongs to a project, and may contain whatever that put there.
            if *name == "VIRTUAL_ENV" {
                seen.find_credentials(&pointer);
            }
            seen.read(&pointer);
        }
        let work = match command.workspace {
            config::Access::ReadOnly => MountAccess::Read,
            config::Access::ReadWrite => MountAccess::Write,
        };
        seen.place(root.to_owned(), work);
        for folder in protected.repository() {
            seen.place(folder.clone(), MountAccess::Read);
        }
        let ground = GrantedPaths { root, home: home.as_deref(), protected };
        for (paths, access) in [(&command.read, MountAccess::Read), (&command.write, MountAccess::Write)] {
            for path in paths {
                seen.place(ground.find(path, access)?, access);
            }
        }
        // Whatever was granted, protected files are never writable.
        for path in protected.places().filter(|path| seen.access(path).is_some()).collect::<Vec<_>>() {
            seen.place(path.to_owned(), MountAccess::Read);
            seen.pin(path);
        }
        for folder in private {
            if let Ok(path) = folder.path.canonicalize() {
                seen.hide(Private { path, ..folder.clone() }, root)?;
            }
        }
        Ok(seen.into_view())
    }

    /// Mounts `copy` in place of the workspace `root`, except for these folders of the workspace.
    pub(super) fn replace(&mut self, root: &Path, copy: &Path, kept: &[PathBuf]) {
        let access = |places: &[MountedPath], path: &Path| {
            let nearest = places.iter().rev().find(|place| path.starts_with(&place.path));
            nearest.map_or(MountAccess::Read, |nearest| nearest.access)
        };
        for path in std::iter::once(root).chain(kept.iter().map(PathBuf::as_path)) {
            if !self.places.iter().any(|place| place.path == path) {
                let access = access(&self.places, path);
                self.places.push(MountedPath { path: path.to_owned(), access, folder: true });
                self.places.sort_by(|a, b| a.path.cmp(&b.path));
            }
        }
        let sources = &mut self.sources;
        self.places.retain_mut(|place| {
            let Ok(inside) = place.path.strip_prefix(root) else { return true };
            if kept.iter().any(|kept| place.path.starts_with(kept)) {
                return true;
            }
            // Without a slash at the end.
            let source: PathBuf = copy.components().chain(inside.components()).collect();
            let Ok(about) = source.symlink_metadata() else { return false };
            place.folder = about.is_dir();
            sources.insert(place.path.clone(), source);
            true
        });
    }
}

#[cfg(test)]
mod tests;
