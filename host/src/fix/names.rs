//! The names of a file: its path, and every path that leads to it through symlinks of the workspace, its repository and the home.
//!
//! Programs find their settings by name, so a file is what any of its names says that it is.

use crate::workspace::real_inside;
use ignore::{DirEntry, WalkBuilder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The most names of a file that are looked at.
const MAX_NAMES: usize = 10_000;
/// Folders of installed packages. Their symlinks lead back to the packages of a workspace.
const INSTALLED: &[&str] = &["node_modules", "site-packages"];
/// Folders of settings, below a project or a home. Other folders with a dot may be anything, such as a temporary one.
const SETTINGS_FOLDERS: &[&str] =
    &[".claude", ".codex", ".config", ".cursor", ".gemini", ".github", ".husky", ".qwen", ".vscode"];
/// How deep symlinks are looked for in a home, where programs have their settings in hidden files and folders.
const HOME_DEPTH: usize = 3;

/// The symlinks that lead to files and folders of the workspace.
#[derive(Debug)]
pub(super) struct SymlinkNames {
    /// The paths of the symlinks, by their real target in lower case, because some file systems ignore case.
    links: BTreeMap<String, Vec<String>>,
}

impl SymlinkNames {
    /// Finds the symlinks of a workspace with this root, a real path, those of its repository, whose folders may be elsewhere, and
    /// the hidden ones of a home, as those into a folder of dotfiles.
    pub(super) fn find(root: &Path, repository: &[PathBuf], home: Option<&Path>) -> Self {
        let mut links = BTreeMap::<String, Vec<String>>::new();
        let mut add = |folder: &Path, name: &str, found: &mut dyn Iterator<Item = PathBuf>| {
            for link in found {
                let Some(target) = real_inside(root, &link) else { continue };
                let name = Path::new(name).join(link.strip_prefix(folder).unwrap_or(&link));
                links.entry(target.to_ascii_lowercase()).or_default().push(name.to_string_lossy().into_owned());
            }
        };
        add(root, "", &mut symlinks(root, None, |_| true));
        for folder in repository.iter().filter(|folder| !folder.starts_with(root)) {
            // Hooks may be in a folder above the workspace, which is not searched as a whole.
            let depth = root.starts_with(folder).then_some(1);
            add(folder, ".git", &mut symlinks(folder, depth, |_| true));
        }
        if let Some(home) = home.and_then(|home| home.canonicalize().ok()) {
            let root = root.to_owned();
            let is_searched = move |entry: &DirEntry| match entry.depth() {
                0 => true,
                depth => entry.path() != root && (depth > 1 || is_hidden(entry.file_name())),
            };
            add(&home, "", &mut symlinks(&home, Some(HOME_DEPTH), is_searched));
        }
        // A settings folder may be a repository of its own.
        if let Some(name) = root.file_name().and_then(OsStr::to_str).filter(|name| SETTINGS_FOLDERS.contains(name)) {
            links.entry(String::new()).or_default().push(name.to_owned());
        }
        Self { links }
    }

    /// Returns the names of a file, given its real path; `None` if there are too many. A name that passes the same folder twice
    /// is a circle, and is left out.
    pub(super) fn of(&self, path: &str) -> Option<Vec<String>> {
        let mut names = vec![(path.to_owned(), Vec::new())];
        let mut next = 0;
        while let Some((name, passed)) = names.get(next).cloned() {
            for (target, rest) in places(&name) {
                let Some((target, links)) = self.links.get_key_value(&target.to_ascii_lowercase()) else { continue };
                if passed.contains(&target) {
                    continue;
                }
                let passed = [passed.as_slice(), &[target]].concat();
                names.extend(links.iter().map(|link| (format!("{link}{rest}"), passed.clone())));
            }
            if names.len() > MAX_NAMES {
                return None;
            }
            next += 1;
        }
        Some(names.into_iter().map(|(name, _)| name).collect())
    }
}

/// Returns the folders above a path and the path itself, each with what follows.
fn places(path: &str) -> Vec<(&str, String)> {
    let above = path.match_indices('/').map(|(end, _)| (&path[..end], path[end..].to_owned()));
    [("", format!("/{path}")), (path, String::new())].into_iter().chain(above).collect()
}

/// Returns the symlinks below a folder, at most so deep. What cannot be read is left out.
fn symlinks<F>(folder: &Path, depth: Option<usize>, is_searched: F) -> impl Iterator<Item = PathBuf> + use<F>
where
    F: Fn(&DirEntry) -> bool + Send + Sync + 'static,
{
    let is_installed = |name: &OsStr| INSTALLED.iter().any(|installed| name == *installed);
    let walk = WalkBuilder::new(folder)
        .standard_filters(false)
        .max_depth(depth)
        .filter_entry(move |entry| !is_installed(entry.file_name()) && is_searched(entry))
        .build();
    walk.flatten().filter(DirEntry::path_is_symlink).map(DirEntry::into_path)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(links: &[(&str, &str)], path: &str) -> Vec<String> {
        let mut found = SymlinkNames { links: BTreeMap::new() };
        for (link, target) in links {
            found.links.entry((*target).to_owned()).or_default().push((*link).to_owned());
        }
        found.of(path).expect("few names")
    }

    #[test]
    fn a_file_has_the_names_of_its_symlinks() {
        for (links, path, expected) in [
            (&[][..], "a/b", &["a/b"][..]),
            (&[("x", "a/b")], "a/b", &["a/b", "x"]),
            (&[("x", "a")], "a/b", &["a/b", "x/b"]),
            (&[("x", "a")], "A/b", &["A/b", "x/b"]),
            (&[("x", "a")], "ab/b", &["ab/b"]),
            (&[("x", "a"), ("a/y", "b")], "b/c", &["b/c", "a/y/c", "x/y/c"]),
            (&[("x", "")], "a/b", &["a/b", "x/a/b"]),
            (&[("a/y", "")], "b", &["b", "a/y/b"]),
            (&[("a/y", "b"), ("b/z", "a")], "a/c", &["a/c", "b/z/c", "a/y/z/c"]),
        ] {
            assert_eq!(names(links, path), expected, "{links:?} {path}");
        }
    }

    #[test]
    fn too_many_names_are_none() {
        let links = (0..MAX_NAMES).map(|number| format!("link-{number}"));
        let found = SymlinkNames { links: BTreeMap::from([("a".to_owned(), links.collect())]) };
        assert_eq!(found.of("a/b"), None);
        assert_eq!(found.of("b"), Some(vec!["b".to_owned()]));
    }
}
