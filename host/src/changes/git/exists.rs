//! Checks whether a path of the working tree exists.

use crate::workspace::{self, BadLink, FileKind, Workspace};

/// Returns whether a file exists at the path, or, with `or_folder`, a folder. Only "not found" means that it does not: a
/// file that cannot be read exists, and the check reports why.
pub(super) fn is_there(work: &Workspace, path: &str, or_folder: bool) -> bool {
    match work.stat(path) {
        Ok(entry) => or_folder || entry.kind != FileKind::Directory,
        Err(workspace::WorkspaceError::NotFound) => false,
        // One of its folders is a symlink: opening the path would follow it.
        Err(workspace::WorkspaceError::WrongKind(FileKind::Link)) => match work.follow(path) {
            Ok(target) => is_there(work, &target, or_folder),
            Err(
                workspace::WorkspaceError::NotFound | workspace::WorkspaceError::BadLink { how: BadLink::Nowhere, .. },
            ) => false,
            Err(_) => true,
        },
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

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
        // A name that no file system takes, for want of a folder that root may not open.
        assert!(is_there(&work, &"x".repeat(300), false));
    }
}
