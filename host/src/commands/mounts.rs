//! The paths that a command sees: the workspace, the system, the toolchains of the user, and nothing else.

use super::granted_paths::GrantedPaths;
use super::protected::Protected;
use super::{NoResult, cargo};
use crate::config::{self, CommandConfig};
use crate::environment::Environment;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs};

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

/// Toolchains and their packages in a home folder: the folders that tools need, not their parents, where credentials often
/// are.
const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".deno/bin",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/sdk-manifests",
    ".dotnet/shared",
    ".dotnet/templates",
    ".dotnet/tools",
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
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".m2/repository",
    ".nix-profile",
    ".nodenv",
    ".npm-global/bin",
    ".npm-global/lib",
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
    "go/bin",
    "go/pkg",
];

/// The cargo configuration in a home folder: shown without tokens.
const CARGO_CONFIG: &str = ".cargo/config.toml";

/// Folders next to `bin` that programs need: installations of Python, Java and Go, for example.
const BESIDE_BIN: &[&str] = &[
    "VERSION",
    "conda-meta",
    "conf",
    "go.env",
    "include",
    "jmods",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "packages",
    "pkg",
    "platform",
    "pyvenv.cfg",
    "release",
    "share",
    "version",
];

/// Folders next to `shims` with the programs that shims start.
const BESIDE_SHIMS: &[&str] = &["bin", "installs", "lib", "libexec", "plugins", "versions"];

/// Credentials in a home folder that may be inside a visible folder, such as one in `PATH`.
const CREDENTIALS: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".config/gh",
    ".deno/credentials.json",
    ".docker/config.json",
    ".dotnet/corefx",
    ".fly/config.yml",
    ".kube/config",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".npm-global/etc",
    ".pulumi/credentials.json",
];

/// File names of credentials, in any folder that is not part of the system.
const CREDENTIAL_NAMES: &[&str] = &[
    ".credentials",
    ".credentials.json",
    ".env",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    "access_token",
    "access_tokens.db",
    "application_default_credentials.json",
    "auth.json",
    "auth.toml",
    "credentials",
    "credentials.db",
    "credentials.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "token",
    "token.json",
];

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
        let home = environment.path("HOME").filter(|home| home.is_absolute());
        let home = home.and_then(|home| home.canonicalize().ok());
        let mut seen = MountsBuilder { home: home.as_deref(), ..MountsBuilder::default() };
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

/// Collects the visible paths.
#[derive(Default)]
struct MountsBuilder<'a> {
    home: Option<&'a Path>,
    places: BTreeMap<PathBuf, MountedPath>,
    links: BTreeMap<PathBuf, PathBuf>,
    own: Vec<(PathBuf, PathBuf)>,
    files: Vec<(PathBuf, String)>,
    /// Credentials deep inside folders that are visible.
    credentials: BTreeSet<PathBuf>,
    /// Paths that are kept although a parent has the same access.
    pinned: BTreeSet<PathBuf>,
    hidden: Vec<Private>,
}

impl MountsBuilder<'_> {
    /// Makes a path readable if it exists, under its name and its real path. Never a whole home folder.
    fn read(&mut self, path: &Path) -> bool {
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
    fn find_credentials(&mut self, folder: &Path) {
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

    fn place(&mut self, path: PathBuf, access: MountAccess) {
        if let Ok(about) = fs::metadata(&path) {
            self.places.insert(path.clone(), MountedPath { path, access, folder: about.is_dir() });
        }
    }

    /// Returns the access of a path, by its nearest visible parent.
    fn access(&self, path: &Path) -> Option<MountAccess> {
        path.ancestors().find_map(|above| self.places.get(above)).map(|place| place.access)
    }

    /// Keeps a path in its place. A mounted path cannot be moved, but its parent could be moved and replaced, unless that is
    /// mounted too.
    fn pin(&mut self, path: &Path) {
        let movable = |above: &&Path| self.access(above) == Some(MountAccess::Write);
        for above in path.ancestors().skip(1).filter(movable).collect::<Vec<_>>() {
            self.place(above.to_owned(), MountAccess::Write);
            self.pinned.insert(above.to_owned());
        }
    }

    /// Hides a folder if a part of it would be visible.
    fn hide(&mut self, folder: Private, root: &Path) -> Result<(), NoResult> {
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

    fn toolchains(&mut self, environment: &Environment) {
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
    fn programs(&mut self, folder: &Path) {
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

    fn into_view(self) -> Mounts {
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

/// Returns whether a path is part of the system, unless it is in a home folder.
fn is_system(path: &Path, home: Option<&Path>) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system)) && !home.is_some_and(|home| path.starts_with(home))
}

/// Returns whether a path is known to contain credentials.
fn is_credential(path: &Path, home: Option<&Path>) -> bool {
    let in_home = home.and_then(|home| path.strip_prefix(home).ok());
    in_home.is_some_and(|path| CREDENTIALS.iter().any(|credential| path == Path::new(credential)))
        || (path.file_name().is_some_and(|name| CREDENTIAL_NAMES.iter().any(|credential| name == *credential))
            && !is_code(path))
}

/// Returns whether a path is a folder of a package: some have folders with such names, and code in them.
fn is_code(path: &Path) -> bool {
    const PACKAGES: [&str; 3] = ["node_modules", "site-packages", "dist-packages"];
    path.iter().any(|part| PACKAGES.iter().any(|packages| part == *packages)) && path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(places: &[(&str, MountAccess)]) -> Vec<(String, MountAccess)> {
        let mut seen = MountsBuilder::default();
        for &(path, access) in places {
            let path = PathBuf::from(path);
            seen.places.insert(path.clone(), MountedPath { path, access, folder: true });
        }
        let mounts = seen.into_view();
        mounts.places.into_iter().map(|place| (place.path.display().to_string(), place.access)).collect()
    }

    #[test]
    fn what_is_below_is_named_only_where_it_differs() {
        use MountAccess::{Read, Write};
        let places = [("/w/.git", Read), ("/usr/local", Read), ("/w", Write), ("/usr", Read), ("/w/a", Write)];
        let expected = [("/usr", Read), ("/w", Write), ("/w/.git", Read)];
        assert_eq!(seen(&places), expected.map(|(path, access)| (path.to_owned(), access)));
        assert_eq!(seen(&[("/w", Read), ("/w/t", Write), ("/w/t/x", Read)]).len(), 3);
    }

    fn cache() -> Private {
        Private { path: PathBuf::new(), what: "cache", variable: "GATE_CACHE_DIR" }
    }

    #[test]
    fn what_is_protected_or_hidden_cannot_be_moved_with_a_folder_above_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        fs::create_dir_all(root.join("a/b/cache")).expect("a folder");
        fs::create_dir_all(root.join("a/x")).expect("a folder");
        let hidden = |places: &[(&str, MountAccess)]| {
            let mut seen = MountsBuilder::default();
            places.iter().for_each(|(path, access)| seen.place(root.join(path), *access));
            let cache = Private { path: root.join("a/b/cache"), ..cache() };
            seen.hide(cache, &root.join("a/x")).expect("hidden");
            let mounts = seen.into_view();
            let shown = |place: MountedPath| place.path.strip_prefix(&root).expect("inside").display().to_string();
            (!mounts.hidden.is_empty(), mounts.places.into_iter().map(shown).collect::<Vec<_>>())
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(hidden(&[("", MountAccess::Write)]), (true, texts(&["", "a", "a/b"])));
        assert_eq!(hidden(&[("", MountAccess::Read), ("a/b", MountAccess::Write)]), (true, texts(&["", "a/b"])));
        assert_eq!(hidden(&[("", MountAccess::Read)]), (true, texts(&[""])));
        assert_eq!(hidden(&[("a/x", MountAccess::Write)]), (false, texts(&["a/x"])));
        let around = Private { path: root.join("a"), ..cache() };
        let error = MountsBuilder::default().hide(around, &root.join("a/x")).expect_err("refused").to_string();
        assert!(error.contains("`GATE_CACHE_DIR`"), "{error}");
    }

    #[test]
    fn a_whole_home_is_never_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a folder");
        fs::create_dir_all(home.join("bin")).expect("a folder");
        for folder in ["venv/bin", "venv/lib", "venv/include", "venv/notes"] {
            fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        let mut seen = MountsBuilder { home: Some(&home), ..MountsBuilder::default() };
        assert!(!seen.read(&home));
        assert!(!seen.read(Path::new("/")));
        seen.programs(&home.join("bin"));
        seen.programs(&home.join("venv/bin"));
        let shown: Vec<_> = seen.into_view().places.into_iter().map(|place| place.path).collect();
        assert_eq!(shown, ["bin", "venv/bin", "venv/include", "venv/lib"].map(|path| home.join(path)));
    }

    #[test]
    fn what_lies_beside_programs_and_in_toolchains_is_shown_without_credentials() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a folder");
        let make = |path: &str| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        };
        let secrets = [
            ".fly/config.yml",
            ".pulumi/credentials.json",
            ".docker/config.json",
            ".deno/credentials.json",
            ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
            ".local/share/uv/credentials/credentials.toml",
            ".npm-global/etc/npmrc",
            ".nvm/.npmrc",
            ".cargo/config.toml",
            "tool/auth.json",
            "tool/lib/node_modules/a/.npmrc",
            "tool/share/app/deep/er/credentials.json",
            "tool/share/keys/id_ed25519",
            "tool/libexec/token",
            "go/src/mine.go",
        ];
        let programs = [".fly/bin/fly", ".pulumi/bin/pulumi", ".docker/bin/docker", ".deno/bin/deno", "tool/bin/tool"];
        let others = [
            ".dotnet/dotnet",
            ".dotnet/sdk/a",
            ".local/share/uv/tools/a",
            ".npm-global/lib/a",
            ".nvm/a",
            "go/pkg/a",
            "tool/lib/node_modules/a/index.js",
            "tool/lib/node_modules/b/credentials/index.js",
            "tool/share/app/deep/er/data",
        ];
        secrets.iter().chain(&programs).chain(&others).for_each(|path| make(path));
        let mut seen = MountsBuilder { home: Some(&home), ..MountsBuilder::default() };
        seen.toolchains(&Environment::default());
        // One that is in `PATH` as a whole, and one that a variable points to.
        for path in [".fly/bin", ".pulumi/bin", ".docker/bin", ".deno/bin", ".dotnet", "tool/bin", "go/bin", ".fly"] {
            seen.programs(&home.join(path));
        }
        seen.read(&home.join("tool"));
        for secret in secrets {
            assert_eq!(seen.access(&home.join(secret)), None, "{secret}");
        }
        for shown in programs.iter().chain(&others) {
            assert_eq!(seen.access(&home.join(shown)), Some(MountAccess::Read), "{shown}");
        }
    }
}
