//! The files of a commit, or of the index, in a folder of their own, byte for byte as they are stored.

use super::{Git, path};
use crate::changes::{Error, shown_text};
use crate::temporary::{Purpose, Temporary};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

/// For all files together.
const PATIENCE: Duration = Duration::from_secs(600);
/// A folder that is deleted with this value.
#[derive(Debug)]
pub(in crate::changes) struct Snapshot {
    folder: Temporary,
}

/// What a snapshot could hold: all files of a commit, or of the index.
pub(super) struct Contents {
    files: Vec<Stored>,
}

impl Contents {
    /// Of a commit, or else of the index.
    pub(super) fn of(git: &Git, commit: Option<&str>) -> Result<Self, Error> {
        let listing = match commit {
            None => git.run(&["ls-files", "-z", "--stage"])?,
            Some(commit) => git.run(&["ls-tree", "-r", "-z", "--full-tree", commit])?,
        };
        let mut files = Vec::new();
        for entry in listing.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            files.push(Stored::read(entry, commit.is_none())?);
        }
        refuse_clashes(&files)?;
        // Links last: nothing is written when one could lead elsewhere.
        files.sort_by_key(|file| file.kind == StoredKind::Link);
        Ok(Self { files })
    }

    /// Only these files, where nobody looks at others: most of what is stored need not be written then. A link may lead
    /// to any.
    pub(super) fn only(self, paths: &BTreeSet<&str>) -> Self {
        let wanted = |file: &&Stored| paths.contains(file.path.as_str());
        match self.files.iter().filter(wanted).any(|file| file.kind == StoredKind::Link) {
            true => self,
            false => Self { files: self.files.into_iter().filter(|file| wanted(&file)).collect() },
        }
    }
}

impl Snapshot {
    /// Write them to a folder of their own.
    pub(super) fn of(git: &Git, contents: &Contents) -> Result<Self, Error> {
        let folder = Temporary::new(Purpose::Snapshot).map_err(|error| Error::Snapshot(error.to_string()))?;
        write(git, folder.path(), &contents.files)?;
        Ok(Self { folder })
    }

    pub(in crate::changes) fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StoredKind {
    File,
    Program,
    Link,
    /// A commit of another repository, which has no bytes here.
    Repository,
}

/// One entry of a listing.
struct Stored {
    kind: StoredKind,
    oid: String,
    path: String,
}

impl Stored {
    /// From `mode oid stage\tpath` of the index, or `mode type oid\tpath` of a commit.
    fn read(entry: &[u8], of_index: bool) -> Result<Self, Error> {
        let unknown = || Error::BadPath(shown_text(&super::text(entry)));
        let tab = entry.iter().position(|&byte| byte == b'\t').ok_or_else(unknown)?;
        let head = str::from_utf8(&entry[..tab]).map_err(|_| unknown())?;
        let path = path(&entry[tab + 1..])?;
        let [mode, second, third] = head.split(' ').collect::<Vec<_>>()[..] else { return Err(unknown()) };
        if of_index && third != "0" {
            return Err(Error::Unmerged(path));
        }
        let kind = match mode {
            "120000" => StoredKind::Link,
            "160000" => StoredKind::Repository,
            "100755" => StoredKind::Program,
            _ => StoredKind::File,
        };
        Ok(Self { kind, oid: if of_index { second } else { third }.to_owned(), path })
    }
}

/// A tree that was made by hand can hold what no folder can.
fn refuse_clashes(files: &[Stored]) -> Result<(), Error> {
    let mut paths = BTreeSet::new();
    for file in files {
        if !paths.insert(file.path.as_str()) {
            return Err(Error::Clash(file.path.clone()));
        }
    }
    for file in files {
        let mut folders = file.path.match_indices('/').map(|(end, _)| &file.path[..end]);
        if let Some(clash) = folders.find(|folder| paths.contains(folder)) {
            return Err(Error::Clash(clash.to_owned()));
        }
    }
    Ok(())
}

fn write(git: &Git, folder: &Path, files: &[Stored]) -> Result<(), Error> {
    let (commits, blobs): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.kind == StoredKind::Repository);
    for file in commits {
        fs::create_dir_all(folder.join(&file.path)).map_err(|error| Error::Snapshot(error.to_string()))?;
    }
    let speak = |pipe: ChildStdin| {
        let mut questions = BufWriter::new(pipe);
        blobs.iter().try_for_each(|file| writeln!(questions, "{}", file.oid))?;
        questions.flush()
    };
    let listen = |pipe: ChildStdout| {
        let mut answers = BufReader::new(pipe);
        blobs.iter().try_for_each(|file| write_one(&mut answers, folder, file))
    };
    let question = ["cat-file", "--batch"];
    git.converse(&question, PATIENCE, speak, listen)?.succeeded(&question)
}

fn write_one(answers: &mut BufReader<ChildStdout>, folder: &Path, file: &Stored) -> io::Result<()> {
    let mut header = String::new();
    answers.read_line(&mut header)?;
    // `oid type size`
    let size = header.trim_end().rsplit_once(" blob ").and_then(|(_, size)| size.parse().ok()).ok_or_else(|| {
        let missing = format!("the content of `{}` ({}) is missing here", file.path, file.oid);
        io::Error::other(format!("{missing}; in a partial clone, fetch it first (`git fetch --refetch --no-filter`)"))
    })?;
    let target = folder.join(&file.path);
    fs::create_dir_all(target.parent().unwrap_or(folder))?;
    let mut blob = Read::by_ref(answers).take(size);
    if file.kind == StoredKind::Link {
        let mut to = Vec::new();
        blob.read_to_end(&mut to)?;
        symlink(OsStr::from_bytes(&to), target)?;
    } else {
        let mode = if file.kind == StoredKind::Program { 0o755 } else { 0o644 };
        let mut to = OpenOptions::new().write(true).create_new(true).mode(mode).open(target)?;
        if io::copy(&mut blob, &mut to)? != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    answers.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::process::Command;

    fn stored(paths: &[&str]) -> Vec<Stored> {
        let stored = |path: &&str| Stored { kind: StoredKind::File, oid: String::new(), path: (*path).to_owned() };
        paths.iter().map(stored).collect()
    }

    #[test]
    fn one_path_is_one_thing() {
        assert!(refuse_clashes(&stored(&["a", "a.b", "b/a", "b/c", "a0/b"])).is_ok());
        for (paths, clash) in [(&["a", "a"][..], "a"), (&["a/b", "a"], "a"), (&["a/b", "a/b/c/d"], "a/b")] {
            let refused = refuse_clashes(&stored(paths));
            assert!(matches!(refused, Err(Error::Clash(path)) if path == clash), "{paths:?}");
        }
    }

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
        let git = Git::open(&root).expect("a repository");
        let contents = || Contents::of(&git, None).expect("what is in the index");
        let some = |paths: &[&str]| Snapshot::of(&git, &contents().only(&paths.iter().copied().collect()));
        let snapshot = some(&["run"]).expect("a snapshot");
        assert!(snapshot.path().join("run").exists() && !snapshot.path().join("d").exists());
        assert!(some(&["link"]).expect("a snapshot").path().join("d/data").exists(), "a link may lead to any file");
        let snapshot = Snapshot::of(&git, &contents()).expect("a snapshot");
        let mode = |path: &str| fs::symlink_metadata(snapshot.path().join(path)).expect("there").mode();
        assert_eq!(mode("") & 0o777, 0o700);
        assert_eq!((mode("run") & 0o100, mode("d/data") & 0o100), (0o100, 0));
        assert_eq!(fs::read_link(snapshot.path().join("link")).expect("a link"), Path::new("d/data"));
        assert!(snapshot.path().join("sub").is_dir());
    }
}
