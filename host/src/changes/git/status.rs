//! What differs between the last commit, the index and the working tree: as git says, where the tree does not say
//! otherwise.

use super::listing::{Listed, REPOSITORY};
use super::{path, text};
use crate::changes::{Error, shown_text, whole_file};
use crate::submission::{Change, ChangeKind, ChangeState};
use crate::workspace::{self, Astray, Kind, Workspace};
use std::collections::BTreeMap;

/// What git says of the working tree.
#[derive(Default)]
pub(super) struct Status {
    /// The last commit; `None` before the first.
    pub(super) base: Option<String>,
    paths: BTreeMap<String, Seen>,
}

/// What is known of one path. Git says two things of one that left the index and is still in the tree.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// How it differs in the index and in the tree, by git's letters; `None` where only the tree has it.
    letters: Option<(u8, u8)>,
    is_untracked: bool,
    /// Whether it is, or was, another repository, which is a folder here.
    is_repository: bool,
}

impl Status {
    /// From `git status --porcelain=v2 -z --branch`.
    pub(super) fn read(output: &[u8]) -> Result<Self, Error> {
        let mut status = Self::default();
        for entry in output.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            if let Some(oid) = entry.strip_prefix(b"# branch.oid ") {
                status.base = Some(text(oid)).filter(|oid| oid != "(initial)");
            }
            let unknown = || Error::BadPath(shown_text(&text(entry)));
            // `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`
            let (fields, modes) = match entry[0] {
                b'1' => (9, 3..6),
                b'u' => (11, 3..7),
                b'?' => (2, 0..0),
                b'#' => continue,
                _ => return Err(unknown()),
            };
            let parts: Vec<&[u8]> = entry.splitn(fields, |&byte| byte == b' ').collect();
            let name = parts[parts.len() - 1];
            // Another repository that git does not know is a folder, and the only one that is listed as such.
            let (name, is_folder) = name.strip_suffix(b"/").map_or((name, false), |name| (name, true));
            let seen = status.paths.entry(path(name)?).or_default();
            seen.is_repository |= is_folder || parts.get(modes).is_some_and(|modes| modes.contains(&REPOSITORY));
            match parts.get(1) {
                Some(_) if entry[0] == b'?' => seen.is_untracked = true,
                Some(&&[index, tree]) => seen.letters = Some((index, tree)),
                _ => return Err(unknown()),
            }
        }
        Ok(status)
    }

    /// Add what git was told not to look at. Whether it changed is not known.
    pub(super) fn reveal(&mut self, listing: &[Listed<'_>], work: &Workspace) -> Result<(), Error> {
        // Lower case: assumed to be unchanged. `S`: not to be in the working tree, as in a sparse checkout.
        for listed in listing.iter().filter(|listed| listed.tag.is_ascii_lowercase() || listed.tag == b'S') {
            let path = listed.path()?;
            let may_be_absent = listed.tag.eq_ignore_ascii_case(&b's');
            if !may_be_absent || is_there(work, &path, listed.is_repository) {
                let seen = self.paths.entry(path).or_default();
                seen.letters.get_or_insert((b'.', b'M'));
                seen.is_repository |= listed.is_repository;
            }
        }
        Ok(())
    }

    /// The changes. What is deleted, the tree decides.
    pub(super) fn changes(self, work: &Workspace) -> Vec<Change> {
        self.paths.into_iter().map(|(path, seen)| seen.change(path, work)).collect()
    }
}

impl Seen {
    fn change(self, path: String, work: &Workspace) -> Change {
        let Some((index, tree)) = self.letters else { return whole_file(path, ChangeState::Untracked) };
        let kind = match (index, tree) {
            _ if !is_there(work, &path, self.is_repository) => ChangeKind::Deleted,
            (b'A', _) | (_, b'A') => ChangeKind::Added,
            _ => ChangeKind::Modified,
        };
        let left_the_index = kind != ChangeKind::Deleted && (index, tree) == (b'D', b'.');
        let state = match tree {
            _ if self.is_untracked || left_the_index => ChangeState::Untracked,
            b'.' => ChangeState::Staged,
            _ => ChangeState::Unstaged,
        };
        Change { kind, ..whole_file(path, state) }
    }
}

/// Whether a file, or where `or_folder` a folder, is at the path. Only "not found" says that it is not: what cannot be
/// looked at is there, and reading it says why it cannot be judged.
pub(super) fn is_there(work: &Workspace, path: &str, or_folder: bool) -> bool {
    match work.stat(path) {
        Ok(entry) => or_folder || entry.kind != Kind::Directory,
        Err(workspace::Error::NotFound) => false,
        // A link is in the place of one of its folders: whoever opens the path gets what is behind it.
        Err(workspace::Error::WrongKind(Kind::Link)) => match work.follow(path) {
            Ok(target) => is_there(work, &target, or_folder),
            Err(workspace::Error::NotFound | workspace::Error::Astray { how: Astray::Nowhere, .. }) => false,
            Err(_) => true,
        },
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing;
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn kinds(status: &[u8], flags: &[u8], files: &[&str]) -> Vec<(String, ChangeKind, ChangeState)> {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            match file.strip_suffix('/') {
                Some(folder_name) => fs::create_dir(folder.path().join(folder_name)).expect("a folder"),
                None => fs::write(folder.path().join(file), "").expect("a file"),
            }
        }
        let work = Workspace::open(folder.path()).expect("a workspace");
        let mut status = Status::read(status).expect("a status");
        status.reveal(&listing::read(flags).expect("a listing"), &work).expect("paths");
        status.changes(&work).into_iter().map(|change| (change.path, change.kind, change.state)).collect()
    }

    fn ordinary(letters: &str, mode: &str, path: &str) -> Vec<u8> {
        format!("1 {letters} N... {mode} {mode} {mode} 1 2 {path}\0").into_bytes()
    }

    #[test]
    fn the_tree_decides_what_is_deleted() {
        use {ChangeKind::*, ChangeState::*};
        let conflict = b"u UD N... 100644 100644 000000 100644 1 2 3 a\0".to_vec();
        let both = [ordinary("D.", "100644", "a"), b"? a\0".to_vec()].concat();
        for (status, files, kind, state) in [
            (both.clone(), &["a"][..], Modified, Untracked),
            (both, &[], Deleted, Untracked),
            (ordinary("D.", "100644", "a"), &["a"], Modified, Untracked),
            (ordinary("D.", "100644", "a"), &[], Deleted, Staged),
            (ordinary(".D", "100644", "a"), &[], Deleted, Unstaged),
            (ordinary(".D", "100644", "a"), &["a/"], Deleted, Unstaged),
            (ordinary(".M", "160000", "a"), &["a/"], Modified, Unstaged),
            (ordinary(".A", "100644", "a"), &["a"], Added, Unstaged),
            (conflict.clone(), &["a"], Modified, Unstaged),
            (conflict, &[], Deleted, Unstaged),
            (b"? a/\0".to_vec(), &["a/"], Added, Untracked),
        ] {
            let said = String::from_utf8_lossy(&status).into_owned();
            assert_eq!(kinds(&status, b"", files), [("a".to_owned(), kind, state)], "{said:?} {files:?}");
        }
    }

    #[test]
    fn what_git_does_not_look_at_counts_as_changed() {
        use ChangeKind::{Deleted, Modified};
        let files = ["H a", "h b", "S c", "S d", "s e", "h gone"].map(|file| file.replace(' ', " 100644 1 0\t"));
        let repositories = ["H f", "h g", "S i", "S j", "h lost"].map(|file| file.replace(' ', " 160000 1 0\t"));
        let flags = [files.join("\0"), repositories.join("\0")].join("\0");
        let found = kinds(b"", flags.as_bytes(), &["a", "b", "c", "f/", "g/", "i/"]);
        let found: Vec<_> = found.iter().map(|(path, kind, _)| (path.as_str(), *kind)).collect();
        let modified = ["b", "c", "g", "gone", "i", "lost"];
        assert_eq!(found, modified.map(|path| (path, if path.len() > 1 { Deleted } else { Modified })));
    }

    #[test]
    fn a_file_behind_a_link_is_there_unless_it_leads_nowhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("other/folder")).expect("a folder");
        fs::write(root.join("other/file"), "").expect("a file");
        for (link, target) in [("inside", "other"), ("outside", "/etc"), ("circle", "circle"), ("nowhere", "none")] {
            symlink(target, root.join(link)).expect("a link");
        }
        let work = Workspace::open(root).expect("a workspace");
        for path in ["inside/file", "outside/passwd", "circle/file", "nowhere"] {
            assert!(is_there(&work, path, false), "{path}");
        }
        for path in ["inside/none", "inside/folder", "inside/file/deeper", "nowhere/file"] {
            assert!(!is_there(&work, path, false), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_deleted() {
        // A name that no file system takes, for want of a folder that root may not open.
        let name = "x".repeat(300);
        let found = kinds(&ordinary(".D", "100644", &name), b"", &[]);
        assert_eq!(found[0].1, ChangeKind::Modified);
    }
}
