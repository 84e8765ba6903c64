//! What git knows: asked as a program, read in its machine formats.

mod attend;
mod listing;
mod program;
mod snapshot;
mod status;

use super::{Error, Needs, diff, folder, shown_text, whole_file};
use crate::submission::{Change, ChangeKind, ChangeState};
use crate::workspace::{self, Workspace};
use listing::{LISTING, Listed};
use program::{Git, both};
use snapshot::Contents;
pub(super) use snapshot::Snapshot;
use status::Status;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

/// As many bytes of untracked files are handed over line by line; a forgotten folder of dependencies has far more.
const MAX_UNTRACKED: u64 = 4 << 20;

/// How the working tree is asked for. Renames are two changes here, and must be in its hunks.
const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--no-ahead-behind",
    "--untracked-files=all",
    "--no-renames",
    "--ignore-submodules=dirty",
];

/// How every difference is asked for. Submodules are commits, whatever is in them.
const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "-O/dev/null",
];

/// A repository with a working tree.
pub(super) struct Repository {
    pub(super) root: PathBuf,
    /// Asked only when there is a question: files that are named need no git.
    git: OnceCell<Git>,
}

/// Changes, and the commit that they are relative to.
#[derive(Default)]
pub(super) struct Found {
    pub(super) changes: Vec<Change>,
    pub(super) base: Option<String>,
    pub(super) snapshot: Option<Snapshot>,
}

impl From<Vec<Change>> for Found {
    fn from(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }
}

impl Repository {
    /// The repository that `folder` is in, if there is one.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, Error> {
        let at = |root: PathBuf| Self { root, git: OnceCell::new() };
        let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        if let Some(root) = root {
            return Ok(Some(at(root.to_owned())));
        }
        // Told by the environment, as git does for its hooks: then only git knows.
        if env::var_os("GIT_DIR").is_none() {
            return Ok(None);
        }
        let top = Git::top(folder)?;
        match top.canonicalize() {
            Ok(root) if folder.starts_with(&root) => Ok(Some(at(root))),
            _ => Err(Error::Elsewhere { found: folder.to_owned(), top }),
        }
    }

    fn git(&self) -> Result<&Git, Error> {
        if let Some(git) = self.git.get() {
            return Ok(git);
        }
        let git = Git::open(&self.root)?;
        Ok(self.git.get_or_init(|| git))
    }

    /// What differs from the last commit, untracked files included.
    pub(super) fn changed(&self, work: &Workspace, hunks: bool) -> Result<Found, Error> {
        let git = self.git()?;
        let (status, listing) = both(|| git.look(STATUS), || git.look(LISTING));
        let (mut status, listing) = (Status::read(&status?)?, listing?);
        let listing = listing::read(&listing)?;
        status.reveal(&listing, work)?;
        let base = status.base.take();
        let mut changes = status.changes(work);
        changes.extend(self.in_no_repository(&listing, "")?);
        if hunks {
            add_untracked(&mut changes, work);
            add_hunks(git, &mut changes, &["--no-renames", base.as_deref().unwrap_or(git.empty_tree)])?;
        }
        Ok(Found { base, ..changes.into() })
    }

    /// What is in the index and differs from the last commit.
    pub(super) fn staged(&self, needs: Needs) -> Result<Found, Error> {
        let git = self.git()?;
        let contents = Contents::of(git, None)?;
        let head = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let base = head.status.success().then(|| text(&head.stdout));
        let revisions = ["-M", "--cached", base.as_deref().unwrap_or(git.empty_tree)];
        let changes = compared(git, &revisions, ChangeState::Staged, needs.hunks)?;
        let snapshot = Some(snapshot(git, contents, &changes, needs)?);
        Ok(Found { changes, base, snapshot })
    }

    /// What differs between a commit and the working tree, untracked files included.
    pub(super) fn since(&self, name: &str, work: &Workspace, hunks: bool) -> Result<Found, Error> {
        let git = self.git()?;
        let first = commit(git, name)?;
        let now = self.changed(work, false)?;
        let base = match now.base {
            Some(head) => parted(git, (name, &first), ("HEAD", &head))?,
            None => first,
        };
        let mut found: BTreeMap<String, Change> =
            now.changes.into_iter().map(|change| (change.path.clone(), change)).collect();
        let revisions = ["--no-renames", &base];
        for change in compared(git, &revisions, ChangeState::Committed, false)? {
            let kind = match status::is_there(work, &change.path, true) {
                true if change.kind == ChangeKind::Deleted => ChangeKind::Modified,
                true => change.kind,
                false => ChangeKind::Deleted,
            };
            let path = change.path.clone();
            found.entry(path).or_insert(change).kind = kind;
        }
        let mut changes: Vec<Change> = found.into_values().collect();
        if hunks {
            add_untracked(&mut changes, work);
            add_hunks(git, &mut changes, &revisions)?;
        }
        Ok(Found { base: Some(base), ..changes.into() })
    }

    /// What differs between two commits, from where they parted.
    pub(super) fn between(&self, from: &str, to: &str, needs: Needs) -> Result<Found, Error> {
        let git = self.git()?;
        let (first, second) = (commit(git, from)?, commit(git, to)?);
        let base = parted(git, (from, &first), (to, &second))?;
        let contents = Contents::of(git, Some(&second))?;
        let changes = compared(git, &["-M", &base, &second], ChangeState::Committed, needs.hunks)?;
        let snapshot = Some(snapshot(git, contents, &changes, needs)?);
        Ok(Found { changes, base: Some(base), snapshot })
    }

    /// Every file below `folder` that is tracked, or that is neither tracked nor ignored.
    pub(super) fn files(&self, folder: &str, work: &Workspace) -> Result<Vec<Change>, Error> {
        let git = self.git()?;
        let mut arguments = [LISTING, &["--cached", "--others", "--exclude-standard"]].concat();
        if !folder.is_empty() {
            arguments.extend(["--", folder]);
        }
        let listing = git.look(&arguments)?;
        let listing = listing::read(&listing)?;
        let mut changes = match folder {
            "" => self.in_no_repository(&listing, "")?,
            // The folder may be inside one, of which git says nothing then.
            _ => self.in_no_repository(&listing::read(&git.look(LISTING)?)?, folder)?,
        };
        for listed in listing {
            let path = listed.path()?;
            if listed.tag == b'?' {
                changes.push(whole_file(path, ChangeState::Untracked));
            } else if status::is_there(work, &path, true) {
                changes.push(whole_file(path, ChangeState::Committed));
            }
        }
        Ok(changes)
    }

    /// The files below `folder` that lie where the index has another repository and the tree has none. Git does not
    /// look there, and neither would anybody else.
    fn in_no_repository(&self, listing: &[Listed<'_>], folder: &str) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        for listed in listing.iter().filter(|listed| listed.is_repository) {
            let place = listed.path()?;
            let start = match (Path::new(&place).starts_with(folder), Path::new(folder).starts_with(&place)) {
                (true, _) => &place,
                (_, true) => folder,
                _ => continue,
            };
            let full = self.root.join(&place);
            let is_folder = full.symlink_metadata().is_ok_and(|found| found.is_dir());
            if is_folder && full.join(".git").symlink_metadata().is_err() {
                changes.extend(folder::files(&self.root, start)?);
            }
        }
        Ok(changes)
    }
}

fn snapshot(git: &Git, contents: Contents, changes: &[Change], needs: Needs) -> Result<Snapshot, Error> {
    let contents = if needs.unchanged { contents } else { contents.only(&super::present(changes).collect()) };
    Snapshot::of(git, &contents)
}

/// The merge base of two commits, each told as its name and its id.
fn parted(git: &Git, (from, first): (&str, &str), (to, second): (&str, &str)) -> Result<String, Error> {
    let question = ["merge-base", first, second];
    let parted = git.ask(&question)?;
    if parted.status.code() == Some(1) {
        let (from, to) = (shown_text(from), shown_text(to));
        return Err(Error::NoCommonAncestor { from, to, is_shallow: git.is_shallow });
    }
    Ok(text(&parted.succeeded(&question)?))
}

/// The commit that a name stands for. From then on it is called by its id, which cannot be taken for a file.
///
/// A name that fits several is refused: git takes a tag before a branch, and whoever may push a tag would choose.
fn commit(git: &Git, name: &str) -> Result<String, Error> {
    let unknown = || Error::UnknownCommit { name: shown_text(name), is_shallow: git.is_shallow };
    // Without what leads on from it, as in `main~2` or `main@{1}`.
    let stem = name.split(['^', '~', ':']).next().unwrap_or_default();
    let stem = stem.split("@{").next().unwrap_or_default();
    let is_full = stem.starts_with("refs/");
    // A tag may be called `refs/heads/main` too, and git takes it where there is no such branch.
    if is_full && !git.ask(&["show-ref", "--verify", "--quiet", "--", stem])?.status.success() {
        return Err(unknown());
    }
    let is_id = stem.len() == git.empty_tree.len() && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    let spelled = format!("{name}^{{commit}}");
    let answer =
        git.ask(&["-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", "--end-of-options", &spelled])?;
    if !answer.status.success() {
        return Err(unknown());
    }
    // These win over every other name.
    let is_exact = is_full || is_id || stem == "HEAD";
    if !is_exact && answer.stderr.lines().any(|line| line.ends_with(" is ambiguous.")) {
        return Err(Error::Ambiguous(shown_text(name)));
    }
    Ok(text(&answer.stdout))
}

fn compared(git: &Git, revisions: &[&str], state: ChangeState, hunks: bool) -> Result<Vec<Change>, Error> {
    let output = git.run(&[DIFF, &["--name-status", "-z"], revisions, &["--"]].concat())?;
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
    if hunks {
        add_hunks(git, &mut changes, revisions)?;
    }
    Ok(changes)
}

fn add_hunks(git: &Git, changes: &mut [Change], revisions: &[&str]) -> Result<(), Error> {
    let mut known = changes.iter_mut().filter(|change| change.state != ChangeState::Untracked).peekable();
    if known.peek().is_none() {
        return Ok(());
    }
    let output = git.run(&[DIFF, &["--src-prefix=a/", "--dst-prefix=b/", "-U3"], revisions, &["--"]].concat())?;
    let mut hunks = diff::parse(&output);
    known.for_each(|change| change.hunks = hunks.remove(&change.path));
    Ok(())
}

/// Every line of a file that git does not know is an added one.
fn add_untracked(changes: &mut [Change], work: &Workspace) {
    let mut left = MAX_UNTRACKED;
    for change in changes.iter_mut().filter(|change| change.state == ChangeState::Untracked) {
        // What cannot be read, or is too much, has no hunks: they are not known.
        let Ok(bytes) = work.read(&change.path, left) else { continue };
        change.hunks = diff::all_added(&bytes);
        left -= change.hunks.as_ref().map_or(0, |_| bytes.len() as u64);
    }
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

fn path(bytes: &[u8]) -> Result<String, Error> {
    match str::from_utf8(bytes) {
        Ok(path) if workspace::is_inside(path) => Ok(path.to_owned()),
        _ => Err(Error::BadPath(shown_text(&String::from_utf8_lossy(bytes)))),
    }
}
