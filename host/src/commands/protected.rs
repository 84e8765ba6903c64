//! What decides about the work, and so must not be changed by testing it: the configuration and the repository.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// In the root of the work.
const FILES: [&str; 3] = ["gate.toml", "gate.lock", ".git"];
/// What is looked at in a repository: what is checked out, what is staged, and what git would run.
const OF_GIT: [&str; 4] = ["HEAD", "index", "config", "hooks"];

/// What is never writable, of what is there.
pub(super) fn paths(root: &Path) -> Vec<PathBuf> {
    FILES
        .iter()
        .map(|name| root.join(name))
        .filter(|path| path.symlink_metadata().is_ok_and(|it| !it.is_symlink()))
        .collect()
}

/// Where the repository of a linked working tree is: its own folder, and the common one. Empty for any other.
pub(super) fn repository(root: &Path) -> Vec<PathBuf> {
    let Ok(link) = fs::read_to_string(root.join(".git")) else { return Vec::new() };
    let Some(own) = link.strip_prefix("gitdir:").map(str::trim) else { return Vec::new() };
    let own = root.join(own);
    let common = fs::read_to_string(own.join("commondir")).map(|common| own.join(common.trim()));
    [Some(own), common.ok()].into_iter().flatten().filter_map(|path| path.canonicalize().ok()).collect()
}

/// A digest of all that, to see afterwards whether it changed.
pub(super) fn digest(root: &Path) -> [u8; 32] {
    let git = repository(root).into_iter().next().unwrap_or_else(|| root.join(".git"));
    let mut all = Sha256::new();
    for path in FILES.iter().map(|name| root.join(name)).chain(OF_GIT.iter().map(|name| git.join(name))) {
        add(&mut all, &path);
    }
    all.finalize().into()
}

fn add(all: &mut Sha256, path: &Path) {
    all.update(path.as_os_str().as_encoded_bytes());
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => {
            let mut inside: Vec<PathBuf> =
                fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            inside.sort();
            // Of the folder `.git` only its own entries by name: its content changes while one only looks.
            let deeper = path.file_name().is_some_and(|name| name == "hooks");
            inside.iter().filter(|_| deeper).for_each(|path| add(all, path));
        }
        Ok(about) if about.is_symlink() => {
            all.update(fs::read_link(path).unwrap_or_default().as_os_str().as_encoded_bytes());
        }
        Ok(_) => all.update(fs::read(path).unwrap_or_default()),
        Err(_) => all.update([0]),
    }
}
