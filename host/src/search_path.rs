//! Finds a program by name, but never one that the author of a change put into the search path.
//!
//! Package managers and virtual environments put folders of the workspace first in `PATH` (`node_modules/.bin`,
//! `.venv/bin`). A program that `gate` itself depends on must not come from there.

use crate::regular_file::{self, Symlinks};
use rustix::process::geteuid;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the absolute path of the first program `name` in the search path `path` that is outside the workspace of the
/// folder `work`.
///
/// An entry of the search path is skipped if it is relative, if it or the program (symlinks resolved) is inside the
/// workspace, or if a user other than root and the caller owns or may replace the program.
pub fn find_program(name: &str, path: &OsStr, work: &Path) -> Option<PathBuf> {
    let theirs = folders_of_author(work);
    folders(path, &theirs).find_map(|folder| {
        let program = folder.join(name);
        let real = program.canonicalize().ok()?;
        let about = real.metadata().ok()?;
        let is_program = about.is_file() && about.mode() & 0o111 != 0;
        let home = real.parent()?.metadata().ok()?;
        let is_safe = is_outside(&real, &theirs) && is_ours(&about) && is_ours(&home);
        // Under the name that it was found by, because some programs depend on it.
        (is_program && is_safe).then_some(program)
    })
}

/// Returns the search path without entries that are relative or inside the workspace.
pub fn outside(path: &OsStr, work: &Path) -> OsString {
    env::join_paths(folders(path, &folders_of_author(work))).unwrap_or_default()
}

fn folders(path: &OsStr, theirs: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let is_safe = |folder: &PathBuf| {
        let real = folder.canonicalize();
        folder.is_absolute() && real.is_ok_and(|real| is_outside(&real, theirs))
    };
    env::split_paths(path).filter(is_safe)
}

fn is_outside(path: &Path, theirs: &[PathBuf]) -> bool {
    !theirs.iter().any(|folder| path.starts_with(folder))
}

/// Returns the folders that the author of a change can write: the workspace, every repository around it, since a nested
/// repository is easily created, and the main working tree of a linked one.
fn folders_of_author(work: &Path) -> Vec<PathBuf> {
    let work = work.canonicalize().unwrap_or_else(|_| work.to_owned());
    let roots = |folder: &Path| -> Vec<PathBuf> {
        let around = folder.ancestors().filter(|folder| folder.parent().is_some());
        around.filter(|folder| folder.join(".git").symlink_metadata().is_ok()).map(Path::to_owned).collect()
    };
    let mut theirs = roots(&work);
    for root in theirs.clone() {
        // A file if the repository is elsewhere: `gitdir: ../main/.git/worktrees/this`.
        let Some(text) = text(&root.join(".git")) else { continue };
        let Some(folder) = text.strip_prefix("gitdir:").map(|folder| root.join(folder.trim())) else { continue };
        theirs.extend(folder.canonicalize().iter().flat_map(|folder| roots(folder)));
    }
    theirs.push(work);
    theirs
}

/// Returns the content of a small file.
fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    regular_file::open(path, Symlinks::Refuse).ok()?.take(16 << 10).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns whether only root and the caller may write it. In a user namespace, files of root belong to the owner of `/`.
fn is_ours(about: &Metadata) -> bool {
    let owner = about.uid();
    let root = || Path::new("/").metadata().is_ok_and(|top| top.uid() == owner);
    about.mode() & 0o002 == 0 && (owner == 0 || owner == geteuid().as_raw() || root())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn program(folder: &Path, mode: u32) {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("tool"), "#!/bin/sh\n").expect("a file");
        fs::set_permissions(folder.join("tool"), Permissions::from_mode(mode)).expect("permissions");
    }

    #[test]
    fn a_program_of_the_work_is_not_found() {
        let top = tempfile::tempdir().expect("a folder");
        let top = top.path().canonicalize().expect("a folder");
        let (work, good) = (top.join("work"), top.join("good"));
        for (folder, mode) in
            [(work.join("bin"), 0o755), (good.clone(), 0o755), (top.join("data"), 0o644), (top.join("open"), 0o757)]
        {
            program(&folder, mode);
        }
        symlink(work.join("bin"), top.join("linked")).expect("a link");
        fs::create_dir(top.join("links")).expect("a folder");
        symlink(work.join("bin/tool"), top.join("links/tool")).expect("a link");
        fs::create_dir(top.join("writable")).expect("a folder");
        program(&top.join("writable"), 0o755);
        fs::set_permissions(top.join("writable"), Permissions::from_mode(0o777)).expect("permissions");
        let find = |folders: &[PathBuf]| find_program("tool", &env::join_paths(folders).expect("a search path"), &work);
        let bad = ["work/bin", "linked", "links", "data", "open", "writable", "none"].map(|name| top.join(name));
        for folder in &bad {
            assert_eq!(find(std::slice::from_ref(folder)), None, "{}", folder.display());
        }
        assert_eq!(find(&[PathBuf::from("bin"), PathBuf::new()]), None, "relative");
        let all: Vec<PathBuf> = bad.into_iter().chain([good.clone()]).collect();
        assert_eq!(find(&all), Some(good.join("tool")));
        let kept = outside(&env::join_paths([work.join("bin"), good.clone()]).expect("a search path"), &work);
        assert_eq!(kept, good.as_os_str());
    }

    #[test]
    fn the_work_is_all_that_its_author_writes() {
        let top = tempfile::tempdir().expect("a folder");
        let top = top.path().canonicalize().expect("a folder");
        for folder in ["main/.git/worktrees/linked", "main/packages/api/.git", "linked", "plain"] {
            fs::create_dir_all(top.join(folder)).expect("a folder");
        }
        fs::write(top.join("linked/.git"), "gitdir: ../main/.git/worktrees/linked\n").expect("a file");
        program(&top.join("main/bin"), 0o755);
        let path = top.join("main/bin");
        for (work, is_found) in [("main", false), ("main/packages/api", false), ("linked", false), ("plain", true)] {
            assert_eq!(find_program("tool", path.as_os_str(), &top.join(work)).is_some(), is_found, "{work}");
        }
    }
}
