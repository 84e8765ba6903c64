//! Confirms before a pass that checked files are unchanged.
//!
//! A command or another process may change a file after it was checked. So the digest of each file is stored when it is
//! checked, and compared at the end. The file is read again only if its stamp proves nothing.

use crate::cached_passes::CachedPasses;
use crate::deadline::Deadline;
use crate::runtime::FileInput;
use crate::text::{self, clean_line};
use crate::verdict::{ErrorKind, Failure};
use crate::workspace::{BadLink, FileKind, FileStamp, StatWalker, Workspace, WorkspaceError};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The most files that are named in a message.
const MAX_NAMED: usize = 10;

/// Larger files are not stored, because no verifier gets their lines.
const MAX_SHOWN: u64 = 64 << 20;

/// The digest of a path and its bytes.
type FileDigest = [u8; blake3::OUT_LEN];

/// The digests of the checked files.
#[derive(Debug, Default)]
pub(super) struct Unchanged {
    seen: Mutex<BTreeMap<String, SeenFile>>,
}

#[derive(Debug)]
struct SeenFile {
    /// The stamp from before the file was read; `None` if it would prove nothing.
    mark: Option<FileStamp>,
    digest: FileDigest,
    /// SHA-256 of the bytes.
    sha256: [u8; 32],
    size: u64,
    /// Whether the file was checked twice with different bytes.
    torn: bool,
}

impl Unchanged {
    /// Stores a file that is checked.
    fn store_file(&self, path: &str, file: SeenFile) {
        let mut seen = self.seen.lock();
        match seen.get_mut(path) {
            Some(before) => before.torn |= before.digest != file.digest,
            None => {
                seen.insert(path.to_owned(), file);
            }
        }
    }

    /// Returns the digest of a stored file, as records have it.
    pub(super) fn sha256(&self, path: &str) -> Option<String> {
        self.seen.lock().get(path).map(|seen| text::sha256(seen.sha256))
    }

    /// Stores a file in its current state. A file that cannot be read has no content to store.
    pub(super) fn store(&self, work: &Workspace, path: &str) {
        if let Ok(Some((file, mark))) = input(work, path, MAX_SHOWN) {
            let sha256 = Sha256::digest(&file.content);
            let (digest, size) = (CachedPasses::input(&file, &sha256), file.content.len() as u64);
            self.store_file(path, SeenFile { mark, digest, sha256: sha256.into(), size, torn: false });
        }
    }

    /// Returns `Err` if a file has changed since it was stored.
    pub(super) fn confirm(&self, work: &Workspace, deadline: &Deadline) -> Result<(), Failure> {
        let seen = self.seen.lock();
        let mut looker = StatWalker::new(work);
        let mut same = |path: &str, seen: &SeenFile| {
            let unmoved = seen.mark.is_some_and(|mark| looker.mark(path) == Some(mark));
            let equal = |file: &FileInput| CachedPasses::input(file, &Sha256::digest(&file.content)) == seen.digest;
            unmoved || matches!(input(work, path, seen.size), Ok(Some((file, _))) if equal(&file))
        };
        let in_time = seen.iter().take_while(|_| !deadline.is_over());
        let changed: Vec<&str> =
            in_time.filter(|(path, seen)| seen.torn || !same(path, seen)).map(|(path, _)| path.as_str()).collect();
        deadline.check()?;
        if changed.is_empty() { Ok(()) } else { Err(failure("changed after it was checked", &changed)) }
    }
}

pub(super) fn failure(what: &str, changed: &[&str]) -> Failure {
    let named = changed.iter().take(MAX_NAMED).map(|path| format!("`{}`", clean_line(path, 200)));
    let mut files = named.collect::<Vec<_>>().join(", ");
    if changed.len() > MAX_NAMED {
        files += &format!(" and {} more", changed.len() - MAX_NAMED);
    }
    Failure::new(ErrorKind::SubjectChanged, format!("{what}: {files}"))
        .hint("run again; put a command that changes files in a tier before the checks of these files")
}

/// Returns a file as verifiers get it: for a symlink, with the bytes of its target in the workspace. `None` for a folder,
/// and for a symlink to one. Also returns the stamp of a regular file from before it was read: if a later stat finds the
/// same stamp, the bytes are the same.
pub(super) fn input(
    work: &Workspace,
    path: &str,
    max: u64,
) -> Result<Option<(FileInput, Option<FileStamp>)>, WorkspaceError> {
    let mut file = FileInput::new(path, Vec::new());
    let mut is_direct = true;
    let read = match work.read_with_stat(path, max) {
        Err(WorkspaceError::WrongKind(FileKind::Link)) => match work.follow(path) {
            // If one of the folders of the path is a symlink, the path has no target of its own.
            Ok(target) => {
                file.link_target = work.link_target(path).ok();
                is_direct = false;
                work.read_with_stat(&target, max)
            }
            Err(WorkspaceError::BadLink { how: BadLink::Nowhere, .. }) if work.link_target(path).is_ok() => {
                file.link_target = work.link_target(path).ok();
                file.missing = true;
                return Ok(Some((file, None)));
            }
            Err(error) => Err(error),
        },
        other => other,
    };
    match read {
        Ok((content, stat)) => {
            let mark = stat.mark.proof().filter(|_| is_direct);
            Ok(Some((FileInput { content, executable: stat.executable, ..file }, mark)))
        }
        // For example a submodule, whose files have their own paths.
        Err(WorkspaceError::WrongKind(FileKind::Directory)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    /// Has the files `a`, `b` and the link `link` (to `a`) judged, do something, and sees what is told of them.
    fn told(change: impl FnOnce(&std::path::Path, &Unchanged)) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::write(root.join("a"), "1").expect("a file");
        fs::write(root.join("b"), "2").expect("a file");
        symlink("a", root.join("link")).expect("a link");
        let work = Workspace::open(root).expect("a workspace");
        let unchanged = Unchanged::default();
        for path in ["a", "b", "link"] {
            unchanged.store(&work, path);
        }
        change(root, &unchanged);
        let confirmed = unchanged.confirm(&work, &Deadline::default());
        confirmed.map_or_else(|failure| failure.message, |()| "the same".to_owned())
    }

    #[test]
    fn what_is_other_than_it_was_is_named() {
        let write = |name: &'static str, text: &'static str| {
            move |root: &std::path::Path, _: &Unchanged| fs::write(root.join(name), text).expect("written")
        };
        assert_eq!(told(|_, _| {}), "the same");
        assert_eq!(told(write("b", "2")), "the same", "written anew, and equal");
        assert_eq!(told(write("b", "3")), "changed after it was checked: `b`");
        assert_eq!(told(write("b", "22")), "changed after it was checked: `b`");
        assert_eq!(told(write("a", "3")), "changed after it was checked: `a`, `link`");
        assert_eq!(
            told(|root, _| fs::remove_file(root.join("b")).expect("removed")),
            "changed after it was checked: `b`"
        );
        let elsewhere = |root: &std::path::Path, _: &Unchanged| {
            fs::remove_file(root.join("link")).expect("removed");
            symlink("b", root.join("link")).expect("a link");
        };
        assert_eq!(told(elsewhere), "changed after it was checked: `link`");
        let twice = |_: &std::path::Path, unchanged: &Unchanged| {
            unchanged.store_file("a", SeenFile { mark: None, digest: [0; 32], sha256: [0; 32], size: 1, torn: false });
        };
        assert_eq!(told(twice), "changed after it was checked: `a`", "judged again with other bytes");
    }

    #[test]
    fn a_mark_is_not_given_for_what_changed_just_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "1").expect("a file");
        let long_ago = SystemTime::now() - Duration::from_secs(3_600);
        File::options().write(true).open(&path).expect("a file").set_modified(long_ago).expect("another time");
        let work = Workspace::open(folder.path()).expect("a workspace");
        // The time of the last change is that of the setting, and that was just now.
        assert_eq!(work.mark("a"), None);
        assert_eq!(work.mark("missing"), None);
    }
}
