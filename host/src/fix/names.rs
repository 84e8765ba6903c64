//! The names of a file: its path, and every path that leads to it through symlinks.
//!
//! Programs find their settings by name, so a file is what any of its names says that it is.

use crate::workspace::real_inside;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most names of a file that are looked at.
const MAX_NAMES: usize = 10_000;
/// Folders of installed packages. Their symlinks lead back to the packages of a workspace.
const INSTALLED: &[&str] = &["node_modules", "site-packages"];

/// The symlinks that lead to files and folders of the workspace.
#[derive(Debug)]
pub(super) struct SymlinkNames {
    /// The paths of the symlinks, by their real target in lower case, because some file systems ignore case.
    links: BTreeMap<String, Vec<String>>,
}

impl SymlinkNames {
    /// Finds the symlinks of a workspace with this root, a real path, and those of its repository, whose folders may be elsewhere.
    pub(super) fn find(root: &Path, repository: &[PathBuf]) -> Self {
        let mut links = BTreeMap::<String, Vec<String>>::new();
        let elsewhere = repository.iter().filter(|folder| !folder.starts_with(root));
        let folders = elsewhere.map(|folder| (folder.as_path(), Path::new(".git"))).chain([(root, Path::new(""))]);
        for (folder, name) in folders {
            // Hooks may be in a folder above the workspace, which is not searched as a whole.
            let depth = (folder != root && root.starts_with(folder)).then_some(1);
            for link in symlinks(folder, depth) {
                let Some(target) = real_inside(root, &link) else { continue };
                let name = name.join(link.strip_prefix(folder).unwrap_or(&link));
                links.entry(target.to_ascii_lowercase()).or_default().push(name.to_string_lossy().into_owned());
            }
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
fn symlinks(folder: &Path, depth: Option<usize>) -> impl Iterator<Item = PathBuf> + use<> {
    let is_installed = |name: &std::ffi::OsStr| INSTALLED.iter().any(|installed| name == *installed);
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .max_depth(depth)
        .filter_entry(move |entry| !is_installed(entry.file_name()))
        .build();
    walk.flatten().filter(ignore::DirEntry::path_is_symlink).map(ignore::DirEntry::into_path)
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
