//! What git knows: asked as a program, read in its machine formats.

use super::{Error, diff, whole_file};
use crate::submission::{Change, ChangeKind, ChangeState};
use crate::workspace::{self, Workspace};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io, thread};

/// Where git would find the attributes of the files: nowhere, so that no filter of the repository's is run.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// As many bytes of untracked files are handed over line by line; a forgotten folder of dependencies has far more.
const MAX_UNTRACKED: u64 = 4 << 20;

/// A repository with a working tree.
pub(super) struct Repository {
    pub(super) root: PathBuf,
}

/// Changes, and the commit that they are relative to.
#[derive(Default)]
pub(super) struct Found {
    pub(super) changes: Vec<Change>,
    pub(super) base: Option<String>,
}

impl From<Vec<Change>> for Found {
    fn from(changes: Vec<Change>) -> Self {
        Self { changes, base: None }
    }
}

impl Repository {
    /// The repository that `folder` is in, if there is one.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, Error> {
        // Told by the environment, as git does for its hooks: then only git knows.
        if std::env::var_os("GIT_DIR").is_some() {
            let found = Self { root: folder.to_owned() }.run(&["rev-parse", "--show-toplevel"])?;
            let path = found.strip_suffix(b"\n").unwrap_or(&found);
            return Ok(Some(Self { root: PathBuf::from(OsStr::from_bytes(path)) }));
        }
        let root = folder.ancestors().find(|folder| folder.join(".git").exists());
        Ok(root.map(|root| Self { root: root.to_owned() }))
    }

    /// The last commit; `None` before the first.
    fn head(&self) -> Result<Option<String>, Error> {
        let (succeeded, output, _) = self.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        Ok(succeeded.then(|| text(&output)))
    }

    /// Where two commits parted.
    fn merge_base(&self, from: &str, to: &str) -> Result<String, Error> {
        let commit = |name: &str| -> Result<String, Error> {
            let spelled = format!("{name}^{{commit}}");
            let (succeeded, output, _) =
                self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &spelled])?;
            let message = format!("`{name}` is not a commit of this repository");
            succeeded.then(|| text(&output)).ok_or(Error::Git { command: "rev-parse".to_owned(), message })
        };
        self.run(&["merge-base", &commit(from)?, &commit(to)?]).map(|output| text(&output))
    }

    /// What differs from the last commit, untracked files included.
    pub(super) fn changed(&self, hunks: bool) -> Result<Found, Error> {
        let mut arguments = vec!["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"];
        arguments.extend(["--no-renames", "--ignore-submodules=all"]);
        let output = self.run(&arguments)?;
        let mut changes = Vec::new();
        let mut base = None;
        for entry in output.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            if let Some(oid) = entry.strip_prefix(b"# branch.oid ") {
                base = Some(text(oid)).filter(|oid| oid != "(initial)");
            }
            // `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`
            let fields = match entry[0] {
                b'1' => 9,
                b'u' => 11,
                b'?' => 2,
                _ => continue,
            };
            let parts: Vec<&[u8]> = entry.splitn(fields, |&byte| byte == b' ').collect();
            let path = path(parts.last().copied().unwrap_or_default())?;
            if entry[0] == b'?' {
                changes.push(whole_file(path, ChangeState::Untracked));
                continue;
            }
            let (index, tree) = (parts[1][0], parts[1][1]);
            let kind = match (index, tree) {
                (_, b'D') | (b'D', b'.') => ChangeKind::Deleted,
                (b'A', _) => ChangeKind::Added,
                _ => ChangeKind::Modified,
            };
            let state = if tree == b'.' { ChangeState::Staged } else { ChangeState::Unstaged };
            changes.push(Change { kind, state, ..whole_file(path, state) });
        }
        if hunks {
            changes = self.with_hunks(changes, &[base.as_deref().unwrap_or(EMPTY_TREE)])?;
        }
        Ok(Found { changes, base })
    }

    /// What is in the index and differs from the last commit.
    pub(super) fn staged(&self, hunks: bool) -> Result<Found, Error> {
        let base = self.head()?;
        let revisions = ["--cached", base.as_deref().unwrap_or(EMPTY_TREE)];
        let changes = self.compared(&revisions, ChangeState::Staged, hunks)?;
        Ok(Found { changes, base })
    }

    /// What differs between two commits, from where they parted.
    pub(super) fn between(&self, from: &str, to: &str, hunks: bool) -> Result<Found, Error> {
        let base = self.merge_base(from, to)?;
        let changes = self.compared(&[&base, to], ChangeState::Committed, hunks)?;
        Ok(Found { changes, base: Some(base) })
    }

    /// Every file that is tracked, or that is neither tracked nor ignored.
    pub(super) fn all(&self) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        for (arguments, state) in [
            (&["ls-files", "-z", "--cached"][..], ChangeState::Committed),
            (&["ls-files", "-z", "--others", "--exclude-standard"], ChangeState::Untracked),
        ] {
            for entry in self.run(arguments)?.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
                let path = path(entry)?;
                // Tracked, and deleted in the working tree: not there to be judged.
                if state == ChangeState::Untracked || self.root.join(&path).symlink_metadata().is_ok() {
                    changes.push(whole_file(path, state));
                }
            }
        }
        Ok(changes)
    }

    fn compared(&self, revisions: &[&str], state: ChangeState, hunks: bool) -> Result<Vec<Change>, Error> {
        let mut arguments = vec!["diff", "--name-status", "-z", "-M", "--no-ext-diff", "--ignore-submodules=all"];
        arguments.extend(revisions);
        let output = self.run(&arguments)?;
        let mut fields = output.split(|&byte| byte == 0);
        let mut changes = Vec::new();
        while let Some(&[letter, ..]) = fields.next() {
            let kind = match letter {
                b'A' | b'C' => ChangeKind::Added,
                b'D' => ChangeKind::Deleted,
                b'R' => ChangeKind::Renamed,
                _ => ChangeKind::Modified,
            };
            let old = if matches!(letter, b'R' | b'C') { Some(path(fields.next().unwrap_or_default())?) } else { None };
            let path = path(fields.next().unwrap_or_default())?;
            changes.push(Change { kind, old_path: old, ..whole_file(path, state) });
        }
        if hunks { self.with_hunks(changes, revisions) } else { Ok(changes) }
    }

    fn with_hunks(&self, mut changes: Vec<Change>, revisions: &[&str]) -> Result<Vec<Change>, Error> {
        self.add_untracked(&mut changes)?;
        if changes.iter().all(|change| change.state == ChangeState::Untracked) {
            return Ok(changes);
        }
        let mut arguments = vec!["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/"];
        arguments.extend(["--dst-prefix=b/", "-M", "-U3", "--ignore-submodules=all"]);
        arguments.extend(revisions);
        let hunks: BTreeMap<String, Vec<_>> = diff::parse(&self.run(&arguments)?);
        for change in changes.iter_mut().filter(|change| change.state != ChangeState::Untracked) {
            change.hunks = hunks.get(&change.path).cloned();
        }
        Ok(changes)
    }

    /// Every line of a file that git does not know is an added one.
    fn add_untracked(&self, changes: &mut [Change]) -> Result<(), Error> {
        let unreadable =
            |error: io::Error| Error::Unreadable { path: self.root.display().to_string(), why: error.to_string() };
        let work = Workspace::open(&self.root).map_err(unreadable)?;
        let mut left = MAX_UNTRACKED;
        for change in changes.iter_mut().filter(|change| change.state == ChangeState::Untracked) {
            // What cannot be read, or is too much, has no hunks: they are not known.
            let Ok(bytes) = work.read(&change.path, left) else { continue };
            change.hunks = diff::all_added(&bytes);
            left -= change.hunks.as_ref().map_or(0, |_| bytes.len() as u64);
        }
        Ok(())
    }

    /// Write the files of a commit, or of the index, into a folder of their own, byte for byte as they are stored.
    pub(super) fn export(&self, commit: Option<&str>) -> Result<tempfile::TempDir, Error> {
        let failed = |error: io::Error| Error::Git { command: "cat-file".to_owned(), message: error.to_string() };
        let listing = match commit {
            None => self.run(&["ls-files", "-z", "--stage"])?,
            Some(commit) => self.run(&["ls-tree", "-r", "-z", "--full-tree", commit])?,
        };
        let mut files = Vec::new();
        for entry in listing.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            // `mode oid stage\tpath` of the index, `mode type oid\tpath` of a commit.
            let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else { continue };
            let words: Vec<&str> = str::from_utf8(&entry[..tab]).unwrap_or_default().split(' ').collect();
            let oid = words.get(if commit.is_some() { 2 } else { 1 }).copied().unwrap_or_default();
            // Submodules have no bytes here.
            if words[0] != "160000" {
                files.push((words[0] == "120000", oid.to_owned(), path(&entry[tab + 1..])?));
            }
        }
        let folder = tempfile::Builder::new().prefix("gate-").tempdir().map_err(failed)?;
        self.write_blobs(folder.path(), &files).map_err(failed)?;
        Ok(folder)
    }

    fn write_blobs(&self, folder: &Path, files: &[(bool, String, String)]) -> io::Result<()> {
        let mut git = self.command(&["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut questions = git.stdin.take().ok_or_else(|| io::Error::other("no standard input"))?;
        let mut answers = BufReader::new(git.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?);
        thread::scope(|scope| {
            // Asked from another thread, or both sides would wait on a full pipe.
            scope.spawn(move || files.iter().try_for_each(|(_, oid, _)| writeln!(questions, "{oid}")));
            for (is_link, oid, path) in files {
                let mut header = String::new();
                answers.read_line(&mut header)?;
                // `oid type size`
                let size: u64 = header
                    .trim_end()
                    .rsplit(' ')
                    .next()
                    .and_then(|size| size.parse().ok())
                    .ok_or_else(|| io::Error::other(format!("no object {oid}")))?;
                let target = folder.join(path);
                fs::create_dir_all(target.parent().unwrap_or(folder))?;
                let mut blob = Read::by_ref(&mut answers).take(size);
                if *is_link {
                    let mut to = Vec::new();
                    blob.read_to_end(&mut to)?;
                    symlink(OsStr::from_bytes(&to), target)?;
                } else {
                    io::copy(&mut blob, &mut fs::File::create_new(target)?)?;
                }
                answers.read_exact(&mut [0])?;
            }
            Ok::<(), io::Error>(())
        })?;
        git.wait()?;
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        let (succeeded, output, message) = self.ask(arguments)?;
        if succeeded { Ok(output) } else { Err(Error::Git { command: arguments[0].to_owned(), message }) }
    }

    fn ask(&self, arguments: &[&str]) -> Result<(bool, Vec<u8>, String), Error> {
        let failed = |error: io::Error| Error::Git { command: arguments[0].to_owned(), message: error.to_string() };
        let output = self.command(arguments).stdin(Stdio::null()).output().map_err(failed)?;
        Ok((output.status.success(), output.stdout, text(&output.stderr)))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.root);
        for setting in [
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "core.quotePath=false",
            "diff.external=",
            "core.pager=cat",
        ] {
            git.args(["-c", setting]);
        }
        git.args(arguments);
        git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        git.env("GIT_ATTR_SOURCE", EMPTY_TREE);
        git
    }
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

fn path(bytes: &[u8]) -> Result<String, Error> {
    match str::from_utf8(bytes) {
        Ok(path) if workspace::is_inside(path) => Ok(path.to_owned()),
        _ => Err(Error::BadPath(String::from_utf8_lossy(bytes).into_owned())),
    }
}
