//! Resolves symlinks in the workspace by reading them, so that the kernel never follows one.

use super::{FileKind, Workspace, WorkspaceError, parts};
use crate::text::clean_line;
use rustix::fs::readlinkat;
use std::fmt;
use std::os::fd::AsFd;

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
        let mut ahead: Vec<String> = parts(path)?.into_iter().rev().map(str::to_owned).collect();
        let mut reached: Vec<String> = Vec::new();
        let mut links = Vec::new();
        while let Some(part) = ahead.pop() {
            match self.step(&mut reached, part, &ahead) {
                Ok(None) => {}
                Ok(Some(_)) if links.len() == MAX_LINKS => return Err(bad_link(BadLink::Circle, &links)),
                Ok(Some(target)) => {
                    // Added before it is checked, so that the message can name it.
                    links.push(target);
                    let target = links.last().map(String::as_str).unwrap_or_default();
                    if target.starts_with('/') {
                        return Err(bad_link(BadLink::Outside, &links));
                    }
                    ahead.extend(target.split('/').rev().map(str::to_owned));
                }
                Err(WorkspaceError::BadPath) => return Err(bad_link(BadLink::Outside, &links)),
                Err(WorkspaceError::NotFound) => return Err(bad_link(BadLink::Nowhere, &links)),
                Err(other) => return Err(other),
            }
        }
        Ok(reached.join("/"))
    }

    /// Goes one part further. At a symlink, stays and returns its target.
    fn step(
        &self,
        reached: &mut Vec<String>,
        part: String,
        ahead: &[String],
    ) -> Result<Option<String>, WorkspaceError> {
        match part.as_str() {
            "" | "." => return Ok(None),
            // The parts so far are not symlinks, so `..` is the parent folder.
            ".." => return reached.pop().map(|_| None).ok_or(WorkspaceError::BadPath),
            _ => reached.push(part),
        }
        match self.stat(&reached.join("/"))?.kind {
            FileKind::Directory => Ok(None),
            FileKind::Link => {
                let target = self.link_target(&reached.join("/"));
                reached.pop();
                target.map(Some)
            }
            FileKind::File | FileKind::Other if ahead.is_empty() => Ok(None),
            FileKind::File | FileKind::Other => Err(WorkspaceError::NotFound),
        }
    }
}

/// Returns an error with the target of the first symlink, which the caller named. Without a symlink, the path itself is
/// wrong.
fn bad_link(how: BadLink, links: &[String]) -> WorkspaceError {
    match links.first() {
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
        }
    }
}
