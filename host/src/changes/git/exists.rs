//! Whether something is at a path of the working tree.

use crate::workspace::{self, Astray, FileKind, Workspace};

/// Returns whether a file, or where `or_folder` a folder, is at the path. Only "not found" says that it is not: what cannot
/// be looked at is there, and reading it says why it cannot be judged.
pub(super) fn is_there(work: &Workspace, path: &str, or_folder: bool) -> bool {
    match work.stat(path) {
        Ok(entry) => or_folder || entry.kind != FileKind::Directory,
        Err(workspace::WorkspaceError::NotFound) => false,
        // A link is in the place of one of its folders: whoever opens the path gets what is behind it.
        Err(workspace::WorkspaceError::WrongKind(FileKind::Link)) => match work.follow(path) {
            Ok(target) => is_there(work, &target, or_folder),
            Err(
                workspace::WorkspaceError::NotFound | workspace::WorkspaceError::Astray { how: Astray::Nowhere, .. },
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
