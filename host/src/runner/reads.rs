//! Confirms before a pass that everything verifiers read is unchanged.
//!
//! A verifier with the grant `workspace` judges what it reads: a file, a listing, the absence of a file. A command that runs
//! later may change all of that. So the digest of every answer is stored, and every request is repeated before a pass. For a
//! listing, the listed entries must still exist: commands create new files, and those that a check would judge are found
//! elsewhere.

use super::unchanged;
use crate::deadline::Deadline;
use crate::runtime::ReadFiles;
use crate::verdict::{ErrorKind, Failure};
use crate::workspace::{FileKind, FileStamp, ListingPage, Workspace, WorkspaceEntry, WorkspaceError};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::sync::Arc;

/// The most stored answers. With more, a pass cannot be confirmed, so there is none.
const MOST: usize = 200_000;

/// A request to the workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReadRequest {
    File { path: String, max: u64 },
    Range { path: String, offset: u64, length: u32 },
    Stat { path: String },
    Listed { path: String },
    Page { path: String, after: Option<String> },
}

impl ReadRequest {
    fn path(&self) -> &str {
        match self {
            Self::File { path, .. }
            | Self::Range { path, .. }
            | Self::Stat { path }
            | Self::Listed { path }
            | Self::Page { path, .. } => path,
        }
    }

    fn ask(&self, work: &Workspace) -> blake3::Hash {
        match self {
            Self::File { path, max } => of_bytes(&work.read(path, *max)),
            Self::Range { path, offset, length } => of_bytes(&work.read_range(path, *offset, *length)),
            Self::Stat { path } => of_entry(&work.stat(path)),
            Self::Listed { path } => of_kind(&work.stat(path)),
            Self::Page { path, after } => of_page(&work.list(path, after.as_deref())),
        }
    }
}

/// The digest of an answer.
#[derive(Debug)]
struct ReadAnswer {
    /// The stamp from before a file was read; `None` if it would prove nothing.
    mark: Option<FileStamp>,
    digest: blake3::Hash,
    /// Whether the same request had two different answers.
    torn: bool,
}

/// The reads of all checks of a run.
#[derive(Debug, Default)]
pub(super) struct RunReads {
    answers: Mutex<BTreeMap<ReadRequest, ReadAnswer>>,
}

impl RunReads {
    fn note(&self, question: ReadRequest, mark: Option<FileStamp>, digest: blake3::Hash) {
        let mut answers = self.answers.lock();
        let full = answers.len() > MOST;
        match answers.entry(question) {
            btree_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.torn |= known.digest != digest;
            }
            btree_map::Entry::Vacant(vacant) if !full => {
                vacant.insert(ReadAnswer { mark, digest, torn: false });
            }
            btree_map::Entry::Vacant(_) => {}
        }
    }

    /// Returns whether every read would give the same answer as before, as far as that is found out in time. Files are read
    /// again, whatever their stamps say.
    pub(super) fn are_same(&self, work: &Workspace, deadline: &Deadline) -> bool {
        let answers = self.answers.lock();
        let is_same = |(question, answer): (&ReadRequest, &ReadAnswer)| {
            !deadline.is_over() && !answer.torn && question.ask(work) == answer.digest
        };
        answers.len() <= MOST && answers.iter().all(is_same)
    }

    /// Returns `Err` if a request would have another answer now.
    pub(super) fn confirm(&self, work: &Workspace, deadline: &Deadline) -> Result<(), Failure> {
        let answers = self.answers.lock();
        if answers.len() > MOST {
            let message = format!("verifiers read more than {MOST} files and folders, too many to check again");
            return Err(Failure::new(ErrorKind::SubjectChanged, message));
        }
        let same = |question: &ReadRequest, answer: &ReadAnswer| {
            let unmoved = answer.mark.is_some_and(|mark| work.mark(question.path()) == Some(mark));
            !answer.torn && (unmoved || question.ask(work) == answer.digest)
        };
        let in_time = answers.iter().take_while(|_| !deadline.is_over());
        let mut changed: Vec<&str> =
            in_time.filter(|(question, answer)| !same(question, answer)).map(|(it, _)| it.path()).collect();
        deadline.check()?;
        changed.dedup();
        if changed.is_empty() { Ok(()) } else { Err(unchanged::failure("changed after a verifier read it", &changed)) }
    }
}

/// The files of the workspace; every answer is stored in `reads`.
#[derive(Debug)]
pub(super) struct TracedReads {
    pub(super) work: Arc<Workspace>,
    pub(super) reads: Arc<RunReads>,
    /// The answers to one check alone, whole listings included, where its pass may be reused.
    pub(super) own: Option<Arc<RunReads>>,
}

impl TracedReads {
    fn note(&self, question: ReadRequest, mark: Option<FileStamp>, digest: blake3::Hash) {
        if let Some(own) = &self.own {
            own.note(question.clone(), mark, digest);
        }
        self.reads.note(question, mark, digest);
    }
}

impl ReadFiles for TracedReads {
    fn read(&self, path: &str, max: u64) -> Result<Vec<u8>, WorkspaceError> {
        // Taken before reading: if a later stat finds the same stamp, the bytes are the same.
        let mark = self.work.mark(path);
        let read = self.work.read(path, max);
        self.note(ReadRequest::File { path: path.to_owned(), max }, mark, of_bytes(&read));
        read
    }

    fn read_range(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, WorkspaceError> {
        let mark = self.work.mark(path);
        let read = self.work.read_range(path, offset, length);
        self.note(ReadRequest::Range { path: path.to_owned(), offset, length }, mark, of_bytes(&read));
        read
    }

    fn stat(&self, path: &str) -> Result<WorkspaceEntry, WorkspaceError> {
        let entry = self.work.stat(path);
        self.note(ReadRequest::Stat { path: path.to_owned() }, None, of_entry(&entry));
        entry
    }

    fn list(&self, path: &str, after: Option<&str>) -> Result<ListingPage, WorkspaceError> {
        let page = self.work.list(path, after);
        if let Some(own) = &self.own {
            let (path, after) = (path.to_owned(), after.map(str::to_owned));
            own.note(ReadRequest::Page { path, after }, None, of_page(&page));
        }
        match &page {
            Ok(page) => {
                for entry in &page.entries {
                    let listed = Ok(entry.clone());
                    self.note(ReadRequest::Listed { path: entry.path.clone() }, None, of_kind(&listed));
                }
            }
            // Refused because of what is there, or not there.
            Err(_) => self.note(ReadRequest::Listed { path: path.to_owned() }, None, of_kind(&self.work.stat(path))),
        }
        page
    }
}

/// Returns the digest of an answer or of a refusal.
fn digest<T>(answer: &Result<T, WorkspaceError>, add: impl FnOnce(&mut blake3::Hasher, &T)) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    match answer {
        Ok(answer) => {
            hasher.update(b"ok");
            add(&mut hasher, answer);
        }
        Err(error) => {
            hasher.update(b"refused").update(error.to_string().as_bytes());
        }
    }
    hasher.finalize()
}

fn of_bytes(read: &Result<Vec<u8>, WorkspaceError>) -> blake3::Hash {
    digest(read, |hasher, bytes| {
        hasher.update(bytes);
    })
}

fn of_entry(entry: &Result<WorkspaceEntry, WorkspaceError>) -> blake3::Hash {
    digest(entry, |hasher, entry| {
        hasher.update(&[kind(entry)]).update(&entry.size.to_le_bytes());
    })
}

fn of_page(page: &Result<ListingPage, WorkspaceError>) -> blake3::Hash {
    digest(page, |hasher, page| {
        for entry in &page.entries {
            hasher.update(&(entry.path.len() as u64).to_le_bytes()).update(entry.path.as_bytes());
            hasher.update(&[kind(entry)]).update(&entry.size.to_le_bytes());
        }
    })
}

fn of_kind(entry: &Result<WorkspaceEntry, WorkspaceError>) -> blake3::Hash {
    digest(entry, |hasher, entry| {
        hasher.update(&[kind(entry)]);
    })
}

fn kind(entry: &WorkspaceEntry) -> u8 {
    match entry.kind {
        FileKind::File => 0,
        FileKind::Directory => 1,
        FileKind::Link => 2,
        FileKind::Other => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Reads a file, a part of one, a missing file and a folder; do something; and sees what is told of it.
    fn told(change: impl FnOnce(&Path)) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join("out")).expect("a folder");
        fs::write(root.join("out/old"), "").expect("a file");
        fs::write(root.join("list.md"), "- [x] done").expect("a file");
        fs::write(root.join("long.txt"), "0123456789").expect("a file");
        let work = Arc::new(Workspace::open(root).expect("a workspace"));
        let traced = TracedReads { work: Arc::clone(&work), reads: Arc::default(), own: None };
        assert!(traced.read("list.md", 99).is_ok() && traced.read_range("long.txt", 2, 3).is_ok());
        assert!(traced.stat("missing").is_err() && traced.list("out", None).is_ok());
        change(root);
        traced
            .reads
            .confirm(&work, &Deadline::default())
            .map_or_else(|failure| failure.message, |()| "the same".to_owned())
    }

    #[test]
    fn what_was_read_must_stay_as_it_was() {
        let write = |name: &'static str, text: &'static str| {
            move |root: &Path| fs::write(root.join(name), text).expect("written")
        };
        assert_eq!(told(|_| {}), "the same");
        assert_eq!(told(write("list.md", "- [x] done")), "the same", "written again, and equal");
        assert_eq!(told(write("other.md", "nobody read it")), "the same");
        assert_eq!(told(write("list.md", "- [ ] done")), "changed after a verifier read it: `list.md`");
        assert_eq!(told(write("long.txt", "01xxx56789")), "changed after a verifier read it: `long.txt`");
        assert_eq!(told(write("missing", "")), "changed after a verifier read it: `missing`");
        assert_eq!(told(write("out/new", "")), "the same", "what a command leaves behind");
        let unlisted = |root: &Path| fs::remove_file(root.join("out/old")).expect("removed");
        assert_eq!(told(unlisted), "changed after a verifier read it: `out/old`");
        let gone = |root: &Path| fs::remove_file(root.join("list.md")).expect("removed");
        assert_eq!(told(gone), "changed after a verifier read it: `list.md`");
    }

    #[test]
    fn a_pass_is_reused_only_where_everything_that_was_read_is_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "1").expect("written");
        let work = Arc::new(Workspace::open(folder.path()).expect("a workspace"));
        let own = Arc::new(RunReads::default());
        let traced = TracedReads { work: Arc::clone(&work), reads: Arc::default(), own: Some(Arc::clone(&own)) };
        assert!(traced.read("a", 9).is_ok() && traced.list("", None).is_ok());
        assert!(own.are_same(&work, &Deadline::default()));
        fs::write(folder.path().join("a"), "2").expect("written");
        assert!(!own.are_same(&work, &Deadline::default()), "a file with other bytes");
        fs::write(folder.path().join("a"), "1").expect("written");
        assert!(own.are_same(&work, &Deadline::default()));
        fs::write(folder.path().join("b"), "").expect("written");
        assert!(
            !own.are_same(&work, &Deadline::default()) && traced.reads.confirm(&work, &Deadline::default()).is_ok(),
            "a new file in a folder that was listed"
        );
    }

    #[test]
    fn what_was_read_twice_with_other_content_is_torn() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let work = Arc::new(Workspace::open(folder.path()).expect("a workspace"));
        let traced = TracedReads { work: Arc::clone(&work), reads: Arc::default(), own: None };
        for text in ["1", "2", "1"] {
            fs::write(&path, text).expect("written");
            assert!(traced.read("a", 9).is_ok());
        }
        assert!(traced.reads.confirm(&work, &Deadline::default()).is_err());
    }
}
