//! Resolves the paths that the configuration grants to a command.
//!
//! The workspace belongs to the author of the change, and so do the symlinks in it: one that leads elsewhere would grant
//! what the configuration does not. So a path is resolved part by part, and symlinks in the workspace are not followed.
//! Other symlinks are the responsibility of the author of the configuration. `Workspace::follow` has the opposite rule, symlinks
//! in the workspace and no others, so the two share no code.

use super::NoResult;
use super::mounts::MountAccess;
use super::protected::Protected;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// The most symlinks that are followed, as in the kernel.
const MOST_LINKS: usize = 40;

/// The folders that paths are relative to, and the protected paths.
#[derive(Debug)]
pub(super) struct GrantedPaths<'a> {
    /// The root of the workspace, without symlinks.
    pub(super) root: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) protected: &'a Protected,
}

impl GrantedPaths<'_> {
    /// Returns the real path of a granted path. It must exist, but a missing folder in the workspace is created for writing.
    pub(super) fn find(&self, named: &str, access: MountAccess) -> Result<PathBuf, NoResult> {
        let verb = if access == MountAccess::Write { "write" } else { "see" };
        let real = self.walk(named, access).and_then(|real| self.permitted(named, access, real));
        real.map_err(|why| NoResult::not_started(format!("it cannot {verb} `{named}`{why}")))
    }

    fn walk(&self, named: &str, access: MountAccess) -> Result<PathBuf, String> {
        let (mut real, path) = match (named.strip_prefix("~/"), self.home) {
            (Some(inside), Some(home)) => (home.to_owned(), inside),
            (Some(_), None) => return Err(": `HOME` is not set".to_owned()),
            (None, _) => (self.root.to_owned(), named),
        };
        let mut ahead = VecDeque::from(parts(Path::new(path)));
        let mut links = 0;
        while let Some(part) = ahead.pop_front() {
            if part == ".." {
                real.pop();
                continue;
            }
            // An absolute path replaces everything before it.
            let next = real.join(&part);
            match next.symlink_metadata() {
                Ok(about) if about.is_symlink() => {
                    links += 1;
                    let target = self.link(&next, links)?;
                    parts(&target).into_iter().rev().for_each(|part| ahead.push_front(part));
                }
                Ok(_) => real = next,
                Err(error) if is_missing(&error) && access == MountAccess::Write && real.starts_with(self.root) => {
                    real = self.permitted(named, access, next)?;
                    // Fails if another process created something there meanwhile, which is then not followed either.
                    fs::create_dir(&real).map_err(|error| format!(": cannot create it: {error}"))?;
                }
                Err(error) => return Err(format!(": {error}")),
            }
        }
        Ok(real)
    }

    /// Returns the target of a symlink that may be followed.
    fn link(&self, link: &Path, count: usize) -> Result<PathBuf, String> {
        let target = fs::read_link(link).map_err(|error| format!(": {error}"))?;
        match link.strip_prefix(self.root) {
            Ok(inside) => Err(format!(
                ": `{}` is a symlink to `{}`, and symlinks in the workspace are not followed; name the target instead",
                inside.display(),
                target.display()
            )),
            Err(_) if count > MOST_LINKS => Err(": too many symlinks".to_owned()),
            Err(_) => Ok(target),
        }
    }

    fn permitted(&self, named: &str, access: MountAccess, real: PathBuf) -> Result<PathBuf, String> {
        let is_relative = !named.starts_with(['/']) && !named.starts_with("~/");
        if real == Path::new("/") {
            Err(": it is the root of the file system; name a folder below it".to_owned())
        } else if is_relative && !real.starts_with(self.root) {
            Err(": it is outside the workspace; use a path inside it, an absolute path, or `~/…`".to_owned())
        } else if access == MountAccess::Write && self.protected.covers(&real) {
            Err(": it belongs to the policy and is never writable; name another folder".to_owned())
        } else {
            Ok(real)
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Returns a workspace in a temporary folder, next to a folder that a command must not see.
    fn test_bed() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder").join("work");
        fs::create_dir_all(root.join(".git/info")).expect("made");
        fs::create_dir_all(root.join("real/inner")).expect("made");
        fs::create_dir_all(root.with_file_name("secret")).expect("made");
        (folder, root)
    }

    fn find(root: &Path, named: &str, access: MountAccess) -> Result<PathBuf, String> {
        let protected = Protected::new(root, None);
        let ground = GrantedPaths { root, home: root.parent(), protected: &protected };
        ground.find(named, access).map_err(|why| why.to_string())
    }

    #[test]
    fn a_link_in_the_work_is_not_followed() {
        let (_folder, root) = test_bed();
        for target in ["../secret", ".git/info", ".", "real", "/", "nowhere", "target"] {
            let _ = fs::remove_file(root.join("target"));
            symlink(target, root.join("target")).expect("linked");
            let absolute = root.join("target").display().to_string();
            for named in ["target", "./target/new", "real/../target", &absolute, "~/work/target"] {
                for access in [MountAccess::Read, MountAccess::Write] {
                    let why = find(&root, named, access).expect_err("refused");
                    assert!(why.contains(&format!("`target` is a symlink to `{target}`")), "{named}: {why}");
                }
            }
        }
        assert_eq!(fs::read_dir(root.with_file_name("secret")).expect("there").count(), 0);
        assert_eq!(fs::read_dir(root.join(".git/info")).expect("there").count(), 0);
    }

    #[test]
    fn a_link_elsewhere_is_its_owners() {
        let (_folder, root) = test_bed();
        let link = root.with_file_name("link");
        symlink("secret", &link).expect("linked");
        assert_eq!(find(&root, "~/link", MountAccess::Write), Ok(root.with_file_name("secret")));
        assert_eq!(find(&root, &link.display().to_string(), MountAccess::Read), Ok(root.with_file_name("secret")));
        symlink("link/..", root.with_file_name("up")).expect("linked");
        assert_eq!(find(&root, "~/up/link", MountAccess::Read), Ok(root.with_file_name("secret")));
        symlink("round", root.with_file_name("round")).expect("linked");
        assert!(find(&root, "~/round", MountAccess::Read).is_err_and(|why| why.contains("too many symlinks")));
    }

    #[test]
    fn what_is_missing_in_the_work_is_made_to_be_written() {
        let (_folder, root) = test_bed();
        assert_eq!(find(&root, "new/folder", MountAccess::Write), Ok(root.join("new/folder")));
        assert!(root.join("new/folder").is_dir());
        assert_eq!(find(&root, "./real//inner/", MountAccess::Read), Ok(root.join("real/inner")));
        for (named, access) in
            [("none", MountAccess::Read), ("~/none", MountAccess::Write), ("/no/such", MountAccess::Write)]
        {
            assert!(find(&root, named, access).is_err_and(|why| why.contains("No such file")), "{named}");
        }
    }

    #[test]
    fn a_path_of_the_work_stays_in_it_and_off_what_decides() {
        let (_folder, root) = test_bed();
        assert!(
            find(&root, "../secret", MountAccess::Read).is_err_and(|why| why.contains("it is outside the workspace"))
        );
        assert!(find(&root, "../other", MountAccess::Write).is_err_and(|why| why.contains("No such file")));
        assert!(find(&root, "/", MountAccess::Read).is_err_and(|why| why.contains("the root of the file system")));
        let absolute = root.join(".git/info").display().to_string();
        for named in [".git", ".git/info", ".git/new", "real/../.git/new", "gate.toml", &absolute] {
            let why = find(&root, named, MountAccess::Write).expect_err("refused");
            assert!(why.contains("belongs to the policy"), "{named}: {why}");
        }
        assert!(!root.join(".git/new").exists() && !root.join("gate.toml").exists());
        assert_eq!(find(&root, ".git/info", MountAccess::Read), Ok(root.join(".git/info")));
    }
}
