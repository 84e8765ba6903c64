//! What a command sees: the work, the system, the toolchains of whoever runs it, and nothing else of theirs.

use super::NotStarted;
use super::named::Ground;
use super::protected::Protected;
use crate::config::{self, Command};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What may be done with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Read and execute.
    Read,
    /// Read, execute and change.
    Write,
    /// A device that is read and written and holds nothing.
    Device,
}

/// A file or a folder, and what may be done with it and with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Without a link in it.
    pub(super) path: PathBuf,
    pub(super) access: Access,
    pub(super) folder: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct View {
    /// In an order in which what is above comes first; what is below has the last word.
    pub(super) places: Vec<Place>,
    /// Links from what things are called to where they are.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Links in the command's own home, relative to it, to where things are.
    pub(super) home: Vec<(PathBuf, PathBuf)>,
    /// A folder that is not to be seen, although it is in one of the places, or above one.
    pub(super) hidden: Option<PathBuf>,
}

/// Folders of the system: programs, libraries, their settings.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/sys",
    "/run/current-system",
    "/run/systemd/resolve",
];

/// Toolchains and their packages, in a home. None holds a secret: `~/.cargo` as a whole would.
const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/git",
    ".cargo/registry",
    ".deno",
    ".dotnet",
    ".elan",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".swiftly",
    ".volta",
    "go",
];

/// Variables that say where a toolchain is. They are passed on, and the place can be seen.
const POINTERS: &[&str] =
    &["RUSTUP_HOME", "GOROOT", "GOPATH", "GOMODCACHE", "JAVA_HOME", "PYENV_ROOT", "NVM_DIR", "VIRTUAL_ENV"];

/// What is passed on besides, since nothing works without.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "TZ"];

/// The environment of a command, except where its home is.
pub(super) fn environment(command: &Command) -> BTreeMap<OsString, OsString> {
    let named = command.env.iter().map(String::as_str);
    let names = PASSED.iter().chain(POINTERS).copied().chain(named);
    let mut all: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), env::var_os(name)?))).collect();
    all.entry("PATH".into()).or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
    all.entry("TERM".into()).or_insert_with(|| "dumb".into());
    all
}

impl View {
    /// What this command sees, when it works in `root`, which has no link in it. Nobody sees into `cache`: there is
    /// written what passed, and the key that proves it.
    pub(super) fn new(
        command: &Command,
        root: &Path,
        search: &OsStr,
        protected: &Protected,
        cache: Option<&Path>,
    ) -> Result<Self, NotStarted> {
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.and_then(|home| home.canonicalize().ok());
        let mut seen = Seen { home: home.as_deref(), ..Seen::default() };
        for system in SYSTEM {
            seen.read(Path::new(system));
        }
        seen.toolchains();
        for folder in env::split_paths(search).filter(|folder| folder.is_absolute()) {
            seen.programs(&folder);
        }
        for pointer in POINTERS.iter().filter_map(env::var_os) {
            seen.read(Path::new(&pointer));
        }
        let work = match command.workspace {
            config::Access::ReadOnly => Access::Read,
            config::Access::ReadWrite => Access::Write,
        };
        seen.place(root.to_owned(), work);
        for folder in protected.repository() {
            seen.place(folder.clone(), Access::Read);
        }
        let ground = Ground { root, home: home.as_deref(), protected };
        for (paths, access) in [(&command.read, Access::Read), (&command.write, Access::Write)] {
            for path in paths {
                seen.place(ground.find(path, access)?, access);
            }
        }
        // Whatever else was said, nobody changes what decides about the work.
        for path in protected.places().filter(|path| seen.access(path).is_some()).collect::<Vec<_>>() {
            seen.place(path.to_owned(), Access::Read);
            seen.pin(path);
        }
        if let Some(cache) = cache.and_then(|cache| cache.canonicalize().ok()) {
            seen.hide(cache, root)?;
        }
        Ok(seen.into_view())
    }
}

/// A view as it is put together.
#[derive(Default)]
struct Seen<'a> {
    home: Option<&'a Path>,
    places: BTreeMap<PathBuf, Place>,
    links: BTreeMap<PathBuf, PathBuf>,
    own: Vec<(PathBuf, PathBuf)>,
    /// Places that are kept although those above them say the same.
    pinned: BTreeSet<PathBuf>,
    hidden: Option<PathBuf>,
}

impl Seen<'_> {
    /// It can be read if it is there, under its name and where it really is. Never a whole home.
    fn read(&mut self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        if self.home.is_some_and(|home| home.starts_with(&real)) {
            return false;
        }
        if real != path {
            self.links.insert(path.to_owned(), real.clone());
        }
        self.place(real, Access::Read);
        true
    }

    fn place(&mut self, path: PathBuf, access: Access) {
        if let Ok(about) = fs::metadata(&path) {
            self.places.insert(path.clone(), Place { path, access, folder: about.is_dir() });
        }
    }

    /// What may be done with a path, by the nearest place above it or there.
    fn access(&self, path: &Path) -> Option<Access> {
        path.ancestors().find_map(|above| self.places.get(above)).map(|place| place.access)
    }

    /// See to it that a path stays where it is. It cannot be moved, being a place itself; but a folder above it could, and
    /// another be put there, unless that is a place too.
    fn pin(&mut self, path: &Path) {
        let movable = |above: &&Path| self.access(above) == Some(Access::Write);
        for above in path.ancestors().skip(1).filter(movable).collect::<Vec<_>>() {
            self.place(above.to_owned(), Access::Write);
            self.pinned.insert(above.to_owned());
        }
    }

    /// Hide a folder, if anything of it would be seen.
    fn hide(&mut self, folder: PathBuf, root: &Path) -> Result<(), NotStarted> {
        if root.starts_with(&folder) {
            let shown = folder.display();
            return Err(NotStarted(format!(
                "the work is inside gate's cache `{shown}`, which commands may not see; set `GATE_CACHE_DIR` to \
                 another folder"
            )));
        }
        if self.access(&folder).is_some() || self.places.keys().any(|place| place.starts_with(&folder)) {
            self.pin(&folder);
            self.hidden = Some(folder);
        }
        Ok(())
    }

    fn toolchains(&mut self) {
        let Some(home) = self.home else { return };
        let cargo = env::var_os("CARGO_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        for toolchain in TOOLCHAINS {
            let path = match (toolchain.strip_prefix(".cargo/"), &cargo) {
                (Some(part), Some(cargo)) => cargo.join(part),
                _ => home.join(toolchain),
            };
            if self.read(&path) {
                self.own.push((PathBuf::from(toolchain), path));
            }
        }
    }

    /// A folder of programs; and what stands beside it, where that is a toolchain of its own.
    fn programs(&mut self, folder: &Path) {
        self.read(folder);
        let Some(home) = self.home else { return };
        let named_so = folder.file_name().is_some_and(|name| name == "bin" || name == "shims");
        if let (true, Some(above)) = (named_so, folder.parent())
            && above.starts_with(home)
            && ![home.join(".cargo"), home.join(".local")].iter().any(|shared| shared == above)
        {
            self.read(above);
        }
    }

    fn into_view(self) -> View {
        let mut places: Vec<Place> = Vec::new();
        for place in self.places.into_values() {
            // Ordered by path, so what is above is there already; the nearest is the last of them.
            let above = places.iter().rev().find(|above| place.path.starts_with(&above.path));
            if above.is_none_or(|above| above.access != place.access) || self.pinned.contains(&place.path) {
                places.push(place);
            }
        }
        let hidden = |path: &Path| !places.iter().any(|place| path.starts_with(&place.path));
        let links = self.links.into_iter().filter(|(from, _)| hidden(from)).collect();
        View { places, links, home: self.own, hidden: self.hidden }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(places: &[(&str, Access)]) -> Vec<(String, Access)> {
        let mut seen = Seen::default();
        for &(path, access) in places {
            let path = PathBuf::from(path);
            seen.places.insert(path.clone(), Place { path, access, folder: true });
        }
        let view = seen.into_view();
        view.places.into_iter().map(|place| (place.path.display().to_string(), place.access)).collect()
    }

    #[test]
    fn what_is_below_is_named_only_where_it_differs() {
        use Access::{Read, Write};
        let places = [("/w/.git", Read), ("/usr/local", Read), ("/w", Write), ("/usr", Read), ("/w/a", Write)];
        let expected = [("/usr", Read), ("/w", Write), ("/w/.git", Read)];
        assert_eq!(seen(&places), expected.map(|(path, access)| (path.to_owned(), access)));
        assert_eq!(seen(&[("/w", Read), ("/w/t", Write), ("/w/t/x", Read)]).len(), 3);
    }

    #[test]
    fn what_is_protected_or_hidden_cannot_be_moved_with_a_folder_above_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        fs::create_dir_all(root.join("a/b/cache")).expect("a folder");
        fs::create_dir_all(root.join("a/x")).expect("a folder");
        let hidden = |places: &[(&str, Access)]| {
            let mut seen = Seen::default();
            places.iter().for_each(|(path, access)| seen.place(root.join(path), *access));
            seen.hide(root.join("a/b/cache"), &root.join("a/x")).expect("hidden");
            let view = seen.into_view();
            let shown = |place: Place| place.path.strip_prefix(&root).expect("inside").display().to_string();
            (view.hidden.is_some(), view.places.into_iter().map(shown).collect::<Vec<_>>())
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(hidden(&[("", Access::Write)]), (true, texts(&["", "a", "a/b"])));
        assert_eq!(hidden(&[("", Access::Read), ("a/b", Access::Write)]), (true, texts(&["", "a/b"])));
        assert_eq!(hidden(&[("", Access::Read)]), (true, texts(&[""])));
        assert_eq!(hidden(&[("a/x", Access::Write)]), (false, texts(&["a/x"])));
        let error = Seen::default().hide(root.join("a"), &root.join("a/x")).expect_err("refused").to_string();
        assert!(error.contains("`GATE_CACHE_DIR`"), "{error}");
    }

    #[test]
    fn a_whole_home_is_never_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a folder");
        fs::create_dir_all(home.join("bin")).expect("a folder");
        fs::create_dir_all(home.join("venv/bin")).expect("a folder");
        let mut seen = Seen { home: Some(&home), ..Seen::default() };
        assert!(!seen.read(&home));
        assert!(!seen.read(Path::new("/")));
        seen.programs(&home.join("bin"));
        seen.programs(&home.join("venv/bin"));
        let shown: Vec<_> = seen.into_view().places.into_iter().map(|place| place.path).collect();
        assert_eq!(shown, [home.join("bin"), home.join("venv")]);
    }
}
