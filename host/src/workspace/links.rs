//! Resolves symlinks in the workspace by reading them, so that the kernel never follows one.

use super::{FileKind, Workspace, WorkspaceError, parts};
use crate::text::clean_line;
use rustix::fs::readlinkat;
use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::AsFd;
use std::path::Path;

/// The most symlinks in a row, as in the kernel.
const MAX_LINKS: usize = 40;

/// Why a symlink leads to nothing that can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLink {
    /// It leads out of the workspace, or into `.git`.
    Outside,
    /// Its target does not exist.
    Nowhere,
    /// It leads to itself, perhaps through others.
    Circle,
}

impl fmt::Display for BadLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Outside => "leads out of the workspace",
            Self::Nowhere => "does not exist",
            Self::Circle => "leads in a circle",
        })
    }
}

/// Returns where a path leads once every symlink is followed, relative to `root`, a real path. `None` if nothing is there or it is
/// outside.
pub(crate) fn real_inside(root: &Path, path: &Path) -> Option<String> {
    path.canonicalize().ok()?.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

impl Workspace {
    /// Returns the target of the symlink at a path, as it is stored. A target that is not UTF-8 cannot be checked.
    pub fn link_target(&self, path: &str) -> Result<String, WorkspaceError> {
        let parts = parts(path)?;
        let (name, folders) = parts.split_last().ok_or(WorkspaceError::WrongKind(FileKind::Directory))?;
        let folder = self.open_folder(folders)?;
        let folder = folder.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
        let target = readlinkat(folder, *name, Vec::new())?;
        target.into_string().map_err(|_| WorkspaceError::BadPath)
    }

    /// Returns the real path of a symlink's target: inside the workspace and without symlinks. Other paths are returned
    /// unchanged.
    ///
    /// An absolute symlink leads out of the workspace, wherever the workspace is today.
    pub fn follow(&self, path: &str) -> Result<String, WorkspaceError> {
        let mut walk = LinkWalk::new(path)?;
        self.walk(&mut walk).map_err(|error| match error {
            WorkspaceError::BadPath => bad_link(BadLink::Outside, &walk.links),
            WorkspaceError::NotFound => bad_link(BadLink::Nowhere, &walk.links),
            other => other,
        })?;
        Ok(walk.reached.join("/"))
    }

    /// Returns every symlink that a path leads through, and the path that it leads to, which need not exist. A path that leads
    /// out of the workspace or in a circle leads to nothing.
    pub(crate) fn trail(&self, path: &str) -> BTreeSet<String> {
        let Ok(mut walk) = LinkWalk::new(path) else { return BTreeSet::new() };
        let end = match self.walk(&mut walk) {
            Ok(()) => Some(walk.reached.join("/")),
            Err(WorkspaceError::NotFound) => walk.end(),
            Err(_) => None,
        };
        walk.links.into_iter().map(|link| link.path).chain(end).collect()
    }

    /// Returns whether a path stays inside the workspace whatever is created at it later: what does not exist yet counts as a
    /// folder without symlinks.
    pub(crate) fn stays_inside(&self, path: &str) -> bool {
        let Ok(mut walk) = LinkWalk::new(path) else { return false };
        match self.walk(&mut walk) {
            Ok(()) => true,
            Err(WorkspaceError::NotFound) => walk.end().is_some(),
            Err(_) => false,
        }
    }

    /// Walks a path part by part, and continues at the target of every symlink.
    fn walk(&self, walk: &mut LinkWalk) -> Result<(), WorkspaceError> {
        while let Some(part) = walk.ahead.pop() {
            if !walk.step(part)? {
                continue;
            }
            let here = walk.reached.join("/");
            match self.stat(&here)?.kind {
                FileKind::Link if walk.links.len() == MAX_LINKS => return Err(bad_link(BadLink::Circle, &walk.links)),
                FileKind::Link => {
                    // Added before its target is checked, so that the caller knows it in any case.
                    walk.links.push(Symlink { path: here.clone(), target: None });
                    let target = self.link_target(&here)?;
                    walk.reached.pop();
                    walk.ahead.extend(target.split('/').rev().map(str::to_owned));
                    let is_absolute = target.starts_with('/');
                    if let Some(link) = walk.links.last_mut() {
                        link.target = Some(target);
                    }
                    if is_absolute {
                        return Err(WorkspaceError::BadPath);
                    }
                }
                FileKind::Directory => {}
                FileKind::File | FileKind::Other if walk.ahead.is_empty() => {}
                FileKind::File | FileKind::Other => return Err(WorkspaceError::NotFound),
            }
        }
        Ok(())
    }
}

/// A symlink on the way.
struct Symlink {
    /// Its path, without symlinks above it.
    path: String,
    /// Its target, once it was read.
    target: Option<String>,
}

/// How far a path was walked.
struct LinkWalk {
    /// The parts that are left, the next one last.
    ahead: Vec<String>,
    /// The parts so far, none of which is a symlink.
    reached: Vec<String>,
    links: Vec<Symlink>,
}

impl LinkWalk {
    fn new(path: &str) -> Result<Self, WorkspaceError> {
        let ahead = parts(path)?.into_iter().rev().map(str::to_owned).collect();
        Ok(Self { ahead, reached: Vec::new(), links: Vec::new() })
    }

    /// Goes one part further, and returns whether that is a new name.
    fn step(&mut self, part: String) -> Result<bool, WorkspaceError> {
        match part.as_str() {
            "" | "." => Ok(false),
            // The parts so far are not symlinks, so `..` is the parent folder.
            ".." => self.reached.pop().map(|_| false).ok_or(WorkspaceError::BadPath),
            _ => {
                self.reached.push(part);
                Ok(true)
            }
        }
    }

    /// Returns where the rest of the path leads if nothing of it exists.
    fn end(&mut self) -> Option<String> {
        while let Some(part) = self.ahead.pop() {
            self.step(part).ok()?;
        }
        Some(self.reached.join("/"))
    }
}

/// Returns an error with the target of the first symlink, which the caller named. Without a symlink, the path itself is
/// wrong.
fn bad_link(how: BadLink, links: &[Symlink]) -> WorkspaceError {
    match links.first().and_then(|link| link.target.as_deref()) {
        Some(target) => WorkspaceError::BadLink { target: clean_line(target, 200), how },
        None if how == BadLink::Outside => WorkspaceError::BadPath,
        None => WorkspaceError::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_leads_to_a_place_in_the_work_or_astray() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("work");
        fs::create_dir_all(root.join("src/deep")).expect("folders");
        fs::create_dir(root.join(".git")).expect("a folder");
        fs::write(root.join("src/a"), "").expect("a file");
        fs::write(root.join(".git/config"), "").expect("a file");
        fs::write(folder.path().join("outside"), "").expect("a file");
        for (name, target) in [
            ("plain", "src/a"),
            ("twice", "plain"),
            ("src/deep/up", "../../src/./a"),
            ("through", "folder/deep/up"),
            ("folder", "src"),
            ("root", "."),
            ("out", "../outside"),
            ("back", "../work/src/a"),
            ("absolute", "/etc/passwd"),
            ("later", "out"),
            ("git", ".git/config"),
            ("dangling", "src/b"),
            ("file-as-folder", "src/a/b"),
            ("loop", "pool"),
            ("pool", "loop"),
        ] {
            symlink(target, root.join(name)).expect("a link");
        }
        let work = Workspace::open(&root).expect("a workspace");
        for (path, expected) in [
            ("src/a", Ok("src/a")),
            ("plain", Ok("src/a")),
            ("twice", Ok("src/a")),
            ("src/deep/up", Ok("src/a")),
            ("through", Ok("src/a")),
            ("folder", Ok("src")),
            ("root", Ok("")),
            ("out", Err("a symlink to `../outside`, which leads out of the workspace")),
            ("back", Err("a symlink to `../work/src/a`, which leads out of the workspace")),
            ("absolute", Err("a symlink to `/etc/passwd`, which leads out of the workspace")),
            ("later", Err("a symlink to `out`, which leads out of the workspace")),
            ("git", Err("a symlink to `.git/config`, which leads out of the workspace")),
            ("dangling", Err("a symlink to `src/b`, which does not exist")),
            ("file-as-folder", Err("a symlink to `src/a/b`, which does not exist")),
            ("loop", Err("a symlink to `pool`, which leads in a circle")),
            ("missing", Err("not found")),
        ] {
            let found = work.follow(path).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{path}");
            let dangles = matches!(path, "dangling" | "file-as-folder" | "missing");
            assert_eq!(work.stays_inside(path), expected.is_ok() || dangles, "{path}");
        }
    }

    #[test]
    fn every_symlink_on_the_way_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("real/deep")).expect("made");
        fs::write(root.join("real/deep/p.md"), "").expect("written");
        for (target, link) in
            [("real", "docs"), ("../real/deep", "real/again"), ("b", "a"), ("a", "b"), ("/etc", "out"), ("../..", "up")]
        {
            symlink(target, root.join(link)).expect("linked");
        }
        let work = Workspace::open(root).expect("a workspace");
        for (path, expected) in [
            ("real/deep/p.md", &["real/deep/p.md"][..]),
            ("none.md", &["none.md"]),
            ("docs/none/p.md", &["docs", "real/none/p.md"]),
            ("docs/deep/p.md", &["docs", "real/deep/p.md"]),
            ("docs/again/p.md", &["docs", "real/again", "real/deep/p.md"]),
            ("a/p.md", &["a", "b"]),
            ("out/passwd", &["out"]),
            ("up/x", &["up"]),
        ] {
            assert!(work.trail(path).iter().eq(expected.iter()), "{path}: {:?}", work.trail(path));
        }
    }
}
