//! Finds the repository of a working tree.
//!
//! The repository may be outside the workspace; then `.git` is a file with its path. The author of the change may have
//! written that file. So the folder counts as the repository only if it refers back to the working tree.

use crate::regular_file::{self, Symlinks};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longer files of git are not read.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the folders of the repository of the working tree `root`: `.git`; for a linked working tree, its own folder and
/// the common one; for a submodule, its folder in the outer repository.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(about) if about.is_dir() => vec![git],
        Ok(about) if about.is_file() => elsewhere(root, &git).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn elsewhere(root: &Path, git: &Path) -> Option<Vec<PathBuf>> {
    let own = root.join(text(git)?.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    match common(&own, git) {
        Some(common) => Some(vec![own, common]),
        None => is_submodule(&own, root).then(|| vec![own]),
    }
}

/// Returns the repository of a linked working tree, if the folder `own` and the file `git` refer to each other.
fn common(own: &Path, git: &Path) -> Option<PathBuf> {
    let names = |file: &str| own.join(text(&own.join(file))?.trim()).canonicalize().ok();
    // Its place is fixed, because the file could be part of the work too.
    let common = own.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
    (names("gitdir")? == git && names("commondir")? == common).then(|| common.to_owned())
}

fn is_submodule(own: &Path, root: &Path) -> bool {
    let names_root = |file: &str| {
        let worktree = worktree(&text(&own.join(file))?)?;
        own.join(worktree).canonicalize().ok().filter(|there| there == root)
    };
    own.components().any(|part| part.as_os_str() == "modules")
        && ["config", "config.worktree"].into_iter().any(|file| names_root(file).is_some())
}

/// Returns `core.worktree` of a git configuration.
fn worktree(config: &str) -> Option<String> {
    let mut section = "";
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((key, value)) = line.split_once('=')
            && section.eq_ignore_ascii_case("[core]")
            && key.trim().eq_ignore_ascii_case("worktree")
        {
            let value = value.trim();
            let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
            found = Some(value.replace("\\\"", "\"").replace("\\\\", "\\"));
        }
    }
    found
}

fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    regular_file::open(path, Symlinks::Refuse).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]);
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.current_dir(folder).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn a_repository_elsewhere_is_found_if_it_knows_the_work() {
        let folder = tempfile::tempdir().expect("a folder");
        let above = folder.path().canonicalize().expect("a folder");
        let made = |name: &str| {
            fs::create_dir(above.join(name)).expect("made");
            git(&above.join(name), &["init", "-q"]);
            git(&above.join(name), &["commit", "-q", "--allow-empty", "-m", "first"]);
            above.join(name)
        };
        let (main, part) = (made("main"), made("part"));
        git(&main, &["worktree", "add", "-q", "../linked"]);
        git(&main, &["submodule", "--quiet", "add", &part.display().to_string(), "sub"]);
        let own = main.join(".git");
        assert_eq!(folders(&main), vec![own.clone()]);
        assert_eq!(folders(&above.join("linked")), [own.join("worktrees/linked"), own.clone()]);
        assert_eq!(folders(&main.join("sub")), [own.join("modules/sub")]);
        assert_eq!(folders(&above), [] as [PathBuf; 0]);
        // The same words in another work do not count.
        let thief = above.join("thief");
        fs::create_dir(&thief).expect("made");
        for words in [above.join("linked"), main.join("sub")].map(|work| fs::read(work.join(".git")).expect("there")) {
            fs::write(thief.join(".git"), words).expect("written");
            assert_eq!(folders(&thief), [] as [PathBuf; 0]);
        }
    }

    #[test]
    fn a_folder_that_was_only_named_is_not_believed() {
        let folder = tempfile::tempdir().expect("a folder");
        let above = folder.path().canonicalize().expect("a folder");
        let (root, secret) = (above.join("work"), above.join("secret"));
        fs::create_dir_all(root.join("fake/worktrees/x")).expect("made");
        fs::create_dir(&secret).expect("made");
        let write = |path: &str, text: &str| fs::write(root.join(path), text).expect("written");
        write(".git", "gitdir: ../secret\n");
        assert_eq!(folders(&root), [] as [PathBuf; 0]);
        // Inside the work, anything can be written, and leads nowhere else.
        write(".git", "gitdir: fake/worktrees/x\n");
        write("fake/worktrees/x/gitdir", "../../../.git\n");
        write("fake/worktrees/x/commondir", &secret.display().to_string());
        assert_eq!(folders(&root), [] as [PathBuf; 0]);
        std::os::unix::fs::symlink(&secret, root.join("link")).expect("linked");
        write(".git", "gitdir: link\n");
        assert_eq!(folders(&root), [] as [PathBuf; 0]);
        fs::remove_file(root.join(".git")).expect("removed");
        std::os::unix::fs::symlink(&secret, root.join(".git")).expect("linked");
        assert_eq!(folders(&root), [] as [PathBuf; 0]);
    }
}
