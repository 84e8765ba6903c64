//! Collects the paths that a command sees, without credentials and without whole home folders.

use super::known_paths::{BESIDE_BIN, BESIDE_SHIMS, CARGO_CONFIG, CREDENTIALS, TOOLCHAINS, is_credential, is_system};
use super::{MountAccess, MountedPath, Mounts, Private};
use crate::commands::{NoResult, cargo};
use crate::environment::Environment;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Collects the visible paths.
#[derive(Default)]
pub(super) struct MountsBuilder<'a> {
    home: Option<&'a Path>,
    pub(super) places: BTreeMap<PathBuf, MountedPath>,
    links: BTreeMap<PathBuf, PathBuf>,
    own: Vec<(PathBuf, PathBuf)>,
    files: Vec<(PathBuf, String)>,
    /// Credentials deep inside folders that are visible.
    credentials: BTreeSet<PathBuf>,
    /// Paths that are kept although a parent has the same access.
    pinned: BTreeSet<PathBuf>,
    hidden: Vec<Private>,
}

impl<'a> MountsBuilder<'a> {
    /// Returns a builder that has collected nothing yet, for a user with this home folder.
    pub(super) fn new(home: Option<&'a Path>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Makes a path readable if it exists, under its name and its real path. Never a whole home folder.
    pub(super) fn read(&mut self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        if self.home.is_some_and(|home| home.starts_with(&real)) {
            return false;
        }
        if real != path {
            self.links.insert(path.to_owned(), real.clone());
        }
        self.show(real);
        true
    }

    /// Makes a real path readable, except for credentials. What is part of the system is for everybody.
    fn show(&mut self, real: PathBuf) {
        if is_system(&real, self.home) {
            return self.place(real, MountAccess::Read);
        }
        let home = self.home;
        if self.credentials.contains(&real) || is_credential(&real, home) {
            return;
        }
        let below = |path: &&str| {
            let path = home.map(|home| home.join(path));
            path.is_some_and(|path| path.starts_with(&real) && path.exists())
        };
        // Paths are sorted by their parts, so the first one from here on is below, if any is.
        let deep = self.credentials.range(real.clone()..).next().is_some_and(|path| path.starts_with(&real));
        let entries = || fs::read_dir(&real).into_iter().flatten().flatten();
        if !deep && !CREDENTIALS.iter().any(below) && !entries().any(|entry| is_credential(&entry.path(), home)) {
            return self.place(real, MountAccess::Read);
        }
        for entry in entries().collect::<Vec<_>>() {
            match entry.file_type() {
                // A symlink may lead to a visible path; it makes nothing else visible.
                Ok(kind) if kind.is_symlink() => {
                    if let Ok(target) = entry.path().canonicalize() {
                        self.links.insert(entry.path(), target);
                    }
                }
                Ok(_) => self.show(entry.path()),
                Err(_) => {}
            }
        }
    }

    /// Remembers the credentials anywhere below a folder, so that it becomes readable without them. Folders that are visible
    /// already, such as those of known toolchains, stay as they are.
    pub(super) fn find_credentials(&mut self, folder: &Path) {
        let Ok(real) = folder.canonicalize() else { return };
        let mut folders = vec![real];
        while let Some(folder) = folders.pop() {
            // Neither a home nor what is above one becomes visible.
            let is_above = folder.parent().is_none() || self.home.is_some_and(|home| home.starts_with(&folder));
            if is_above || is_system(&folder, self.home) || self.access(&folder).is_some() {
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if is_credential(&path, self.home) {
                    self.credentials.insert(path);
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                }
            }
        }
    }

    pub(super) fn place(&mut self, path: PathBuf, access: MountAccess) {
        if let Ok(about) = fs::metadata(&path) {
            self.places.insert(path.clone(), MountedPath { path, access, folder: about.is_dir() });
        }
    }

    /// Returns the access of a path, by its nearest visible parent.
    pub(super) fn access(&self, path: &Path) -> Option<MountAccess> {
        path.ancestors().find_map(|above| self.places.get(above)).map(|place| place.access)
    }

    /// Keeps a path in its place. A mounted path cannot be moved, but its parent could be moved and replaced, unless that is
    /// mounted too.
    pub(super) fn pin(&mut self, path: &Path) {
        let movable = |above: &&Path| self.access(above) == Some(MountAccess::Write);
        for above in path.ancestors().skip(1).filter(movable).collect::<Vec<_>>() {
            self.place(above.to_owned(), MountAccess::Write);
            self.pinned.insert(above.to_owned());
        }
    }

    /// Hides a folder if a part of it would be visible.
    pub(super) fn hide(&mut self, folder: Private, root: &Path) -> Result<(), NoResult> {
        let Private { path, what, variable } = &folder;
        if root.starts_with(path) {
            let shown = path.display();
            return Err(NoResult::not_started(format!(
                "the workspace is inside the {what} of `gate`, `{shown}`, which commands must not see; set `{variable}` to another \
                 folder"
            )));
        }
        if self.access(path).is_some() || self.places.keys().any(|place| place.starts_with(path)) {
            self.pin(path);
            self.hidden.push(folder);
        }
        Ok(())
    }

    pub(super) fn toolchains(&mut self, environment: &Environment) {
        let Some(home) = self.home else { return };
        let cargo = environment.path("CARGO_HOME").filter(|path| path.is_absolute());
        for toolchain in TOOLCHAINS {
            let path = match (toolchain.strip_prefix(".cargo/"), &cargo) {
                (Some(part), Some(cargo)) => cargo.join(part),
                _ => home.join(toolchain),
            };
            if self.read(&path) {
                self.own.push((PathBuf::from(toolchain), path));
            }
        }
        let config = cargo.map_or_else(|| home.join(CARGO_CONFIG), |cargo| cargo.join("config.toml"));
        if let Some(text) = fs::read_to_string(config).ok().and_then(|text| cargo::without_secrets(&text)) {
            self.files.push((CARGO_CONFIG.into(), text));
        }
    }

    /// Makes a folder of programs readable, and the folders next to it that they need.
    pub(super) fn programs(&mut self, folder: &Path) {
        self.find_credentials(folder);
        self.read(folder);
        let Some(above) = folder.parent().filter(|above| *above != Path::new("/")) else { return };
        // A folder above a home, or one that many programs share, does not belong to one installation.
        let shared = |home: &Path| ["", ".cargo", ".local"].iter().any(|name| home.join(name) == above);
        let is_shared = self.home.is_some_and(|home| home.starts_with(above) || shared(home));
        let beside = match folder.file_name().and_then(OsStr::to_str) {
            Some("bin" | "sbin") => BESIDE_BIN,
            Some("shims") => BESIDE_SHIMS,
            _ => return,
        };
        if is_shared {
            return;
        }
        for name in beside {
            self.find_credentials(&above.join(name));
            self.read(&above.join(name));
        }
        // The sources of Go's own packages are part of the toolchain; sources in other folders are somebody's work.
        if above.join("pkg/tool").is_dir() || above.join("src/runtime").is_dir() {
            self.find_credentials(&above.join("src"));
            self.read(&above.join("src"));
        }
    }

    pub(super) fn into_view(self) -> Mounts {
        let mut places: Vec<MountedPath> = Vec::new();
        for place in self.places.into_values() {
            // Sorted by path, so parents come first; the nearest is the last.
            let above = places.iter().rev().find(|above| place.path.starts_with(&above.path));
            if above.is_none_or(|above| above.access != place.access) || self.pinned.contains(&place.path) {
                places.push(place);
            }
        }
        let hidden = |path: &Path| !places.iter().any(|place| path.starts_with(&place.path));
        let links = self.links.into_iter().filter(|(from, _)| hidden(from)).collect();
        let sources = BTreeMap::new();
        Mounts { places, sources, links, home: self.own, files: self.files, hidden: self.hidden }
    }
}
