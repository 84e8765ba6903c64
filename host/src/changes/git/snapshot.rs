//! Writes the files of a commit or of the index to a temporary folder, byte for byte.

use super::id::Id;
use super::objects::Objects;
use super::path;
use super::tree::{EntryMode, TreeEntry};
use crate::changes::ChangesError;
use crate::temporary::{Purpose, Temporary};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

/// A folder that is deleted with this value.
#[derive(Debug)]
pub(in crate::changes) struct Snapshot {
    folder: Temporary,
}

impl Snapshot {
    /// Writes files to a temporary folder, and hashes each on the way.
    pub(super) fn of(objects: &mut Objects<'_>, files: &BTreeMap<Vec<u8>, TreeEntry>) -> Result<Self, ChangesError> {
        let failed = |error: io::Error| ChangesError::Snapshot(error.to_string());
        let folder = Temporary::new(Purpose::Snapshot).map_err(failed)?;
        let mut blobs = Vec::new();
        let mut links = Vec::new();
        for (name, entry) in files {
            objects.deadline().check()?;
            let path = path(name)?;
            let target = folder.path().join(&path);
            fs::create_dir_all(target.parent().unwrap_or(folder.path())).map_err(failed)?;
            match entry.mode {
                EntryMode::File => blobs.push((entry.id, path, 0o644)),
                EntryMode::Program => blobs.push((entry.id, path, 0o755)),
                EntryMode::Link => links.push((entry.id, path)),
                // A submodule has no bytes here.
                EntryMode::Repository | EntryMode::Folder => fs::create_dir_all(target).map_err(failed)?,
            }
        }
        let told = |path: &String| format!("the content of `{path}`");
        let names: Vec<String> = blobs.iter().map(|(_, path, _)| told(path)).collect();
        let wanted: Vec<(Id, &str)> = blobs.iter().zip(&names).map(|((id, ..), name)| (*id, name.as_str())).collect();
        objects.copy_all(&wanted, &mut |number| {
            let (_, path, mode) = &blobs[number];
            OpenOptions::new().write(true).create_new(true).mode(*mode).open(folder.path().join(path))
        })?;
        // Symlinks last, so that nothing is written through one.
        let names: Vec<String> = links.iter().map(|(_, path)| told(path)).collect();
        let wanted: Vec<(Id, &str)> = links.iter().zip(&names).map(|((id, _), name)| (*id, name.as_str())).collect();
        objects.read_all(&wanted, super::id::ObjectKind::Blob, &mut |number, to| {
            symlink(OsStr::from_bytes(&to), folder.path().join(&links[number].1)).map_err(failed)
        })?;
        Ok(Self { folder })
    }

    pub(in crate::changes) fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::git::index::Index;
    use crate::changes::git::program::Git;
    use crate::deadline::Deadline;
    use std::os::unix::fs::MetadataExt;
    use std::process::Command;

    #[test]
    fn files_are_as_they_are_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let script = "git init -q -b main; echo 1 >run; chmod +x run; mkdir d; echo 2 >d/data; ln -s d/data link; \
                      git add .; git update-index --add --cacheinfo 160000,$(echo 1 | git hash-object --stdin),sub";
        let mut shell = Command::new("sh");
        // Where the tests are run by a hook, the repository of the hook is not meant.
        shell.args(["-ec", script]).current_dir(&root).env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE");
        assert!(shell.status().expect("a shell").success());
        let git = Git::open(&root, &crate::environment::Environment::of_process(), &Deadline::default())
            .expect("a repository");
        let index = Index::read(&git, &git.layout.index).expect("the index");
        let files = index.paths().filter_map(|(path, known)| Some((path.to_vec(), known.entry?))).collect();
        let snapshot = Snapshot::of(&mut Objects::new(&git), &files).expect("a snapshot");
        let mode = |path: &str| fs::symlink_metadata(snapshot.path().join(path)).expect("there").mode();
        assert_eq!(mode("") & 0o777, 0o700);
        assert_eq!((mode("run") & 0o100, mode("d/data") & 0o100), (0o100, 0));
        assert_eq!(fs::read_link(snapshot.path().join("link")).expect("a link"), Path::new("d/data"));
        assert!(snapshot.path().join("sub").is_dir());
    }
}
