//! Reads objects from the files of the repository or from `git cat-file`. Every object is hashed here before it is used.
//!
//! The object store belongs to the author of the change. A file in it can have other bytes than its name says, and git does
//! not notice. So an object is refused if its bytes do not hash to the requested id.

use super::child_io::receive;
use super::id::{Hasher, Id, ObjectFormat, ObjectKind, hash};
use super::object_files::ObjectFiles;
use super::program::{Git, failed};
use crate::changes::{ChangesError, shown_text};
use crate::deadline::Deadline;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// The arguments. Without `--buffer`, every answer is flushed at once.
const QUESTION: &[&str] = &["cat-file", "--batch"];
/// The time limit for the next piece of an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most pending requests. Together they fit into a pipe, so that writing never blocks.
const WINDOW: usize = 64;
/// The most objects that are read from the files of the repository at once.
const FEW: usize = 64;
const PIECE: usize = 256 << 10;
/// Larger commits, tags and trees are refused.
const MAX_META: u64 = 64 << 20;

/// A part of an answer.
enum Piece {
    /// The header of an object, or the line that says why there is none.
    Line(Vec<u8>),
    Bytes(Vec<u8>),
}

/// Reads objects of a repository.
pub(super) struct Objects<'g> {
    git: &'g Git,
    talk: Option<CatFile>,
    files: Option<ObjectFiles>,
}

/// Receives the content of the object with this number, id and size.
type Take<'f, O> = dyn FnMut(&mut O, usize, &Id, u64) -> Result<(), ChangesError> + 'f;

/// A running `git cat-file`.
pub(super) struct CatFile {
    child: Child,
    stdin: Option<ChildStdin>,
    pieces: Receiver<io::Result<Piece>>,
    complaints: Option<thread::JoinHandle<String>>,
}

impl Drop for CatFile {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An object that was found by name.
pub(super) struct Object {
    pub(super) id: Id,
    pub(super) kind: ObjectKind,
    pub(super) bytes: Vec<u8>,
}

impl<'g> Objects<'g> {
    pub(super) fn new(git: &'g Git) -> Self {
        Self { git, talk: git.reader.lock().take(), files: git.object_files() }
    }

    /// Returns the process for reuse. It has answered all requests.
    pub(super) fn into_talk(self) -> Option<CatFile> {
        self.talk
    }

    /// Returns the last commit, if it was read already.
    pub(super) fn head(&self) -> Option<&'g Object> {
        self.git.head.as_ref()
    }

    pub(super) fn git_format(&self) -> ObjectFormat {
        self.git.format
    }

    /// Returns when reading must end.
    pub(super) fn deadline(&self) -> &'g Deadline {
        &self.git.deadline
    }

    /// Returns an object from the files of the repository; `None` if it must be read by git.
    pub(super) fn stored(&self, id: &Id) -> Option<Object> {
        let (kind, bytes) = self.files.as_ref()?.read(id)?;
        (hash(ObjectFormat::of(id), kind, &bytes) == *id).then_some(Object { id: *id, kind, bytes })
    }

    /// Returns the object that a name refers to; `None` if there is none. Git resolves the name, and the bytes match the id.
    pub(super) fn named(&mut self, name: &str) -> Result<Option<Object>, ChangesError> {
        if let Some(object) = Id::from_hex(name.as_bytes()).and_then(|id| self.stored(&id)) {
            return Ok(Some(object));
        }
        self.ask(name)?;
        let Some((id, kind, size)) = self.header(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        self.content(&id, kind, size, &mut |piece| append(&mut bytes, piece, MAX_META))?;
        Ok(Some(Object { id, kind, bytes }))
    }

    /// Returns the bytes of an object; `what` is its purpose in messages.
    pub(super) fn read(&mut self, id: &Id, kind: ObjectKind, what: &str) -> Result<Vec<u8>, ChangesError> {
        let mut found = Vec::new();
        self.read_all(&[(*id, what)], kind, &mut |_, bytes| {
            found = bytes;
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the bytes of a file, or `None` if it has more than `most`.
    pub(super) fn read_at_most(&mut self, id: &Id, most: u64, what: &str) -> Result<Option<Vec<u8>>, ChangesError> {
        let mut found = None;
        let wanted = [(*id, what)];
        let read = self.few(&wanted, ObjectKind::Blob, &mut |_, bytes| {
            found = Some(bytes).filter(|bytes| bytes.len() as u64 <= most);
            Ok(())
        })?;
        self.each(&wanted[read..], ObjectKind::Blob, &mut |objects, _, id, size| {
            if size > most {
                // Ends git, which would otherwise send all of it.
                objects.talk = None;
                return Ok(());
            }
            let bytes = found.insert(Vec::new());
            objects.content(id, ObjectKind::Blob, size, &mut |piece| append(bytes, piece, most))
        })?;
        Ok(found)
    }

    /// Returns the bytes of many objects, in order.
    pub(super) fn read_all(
        &mut self,
        wanted: &[(Id, &str)],
        kind: ObjectKind,
        each: &mut dyn FnMut(usize, Vec<u8>) -> Result<(), ChangesError>,
    ) -> Result<(), ChangesError> {
        let most = if kind == ObjectKind::Blob { u64::MAX } else { MAX_META };
        let start = self.few(wanted, kind, each)?;
        self.each(&wanted[start..], kind, &mut |objects, number, id, size| {
            let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or(0).min(PIECE));
            objects.content(id, kind, size, &mut |piece| append(&mut bytes, piece, most))?;
            each(start + number, bytes)
        })
    }

    /// Copies the bytes of many objects, each to the writer that `to` opens for it.
    pub(super) fn copy_all<W: Write>(
        &mut self,
        wanted: &[(Id, &str)],
        to: &mut dyn FnMut(usize) -> io::Result<W>,
    ) -> Result<(), ChangesError> {
        let failed = |error: io::Error| ChangesError::Snapshot(error.to_string());
        let start = self.few(wanted, ObjectKind::Blob, &mut |number, bytes| {
            to(number).and_then(|mut writer| writer.write_all(&bytes)).map_err(failed)
        })?;
        self.each(&wanted[start..], ObjectKind::Blob, &mut |objects, number, id, size| {
            let mut writer = to(start + number).map_err(failed)?;
            objects.content(id, ObjectKind::Blob, size, &mut |piece| writer.write_all(piece))
        })
    }

    /// Reads a few objects from the files of the repository, and returns how many. Git must read the others.
    ///
    /// A few are read faster than git starts. Git reads many faster, because it keeps what they have in common.
    fn few(
        &self,
        wanted: &[(Id, &str)],
        kind: ObjectKind,
        each: &mut dyn FnMut(usize, Vec<u8>) -> Result<(), ChangesError>,
    ) -> Result<usize, ChangesError> {
        if self.talk.is_some() || wanted.len() > FEW {
            return Ok(0);
        }
        for (number, (id, _)) in wanted.iter().enumerate() {
            self.deadline().check()?;
            match self.stored(id).filter(|object| object.kind == kind) {
                Some(object) => each(number, object.bytes)?,
                None => return Ok(number),
            }
        }
        Ok(wanted.len())
    }

    fn each(&mut self, wanted: &[(Id, &str)], kind: ObjectKind, take: &mut Take<'_, Self>) -> Result<(), ChangesError> {
        let mut asked = 0;
        for (number, (id, what)) in wanted.iter().enumerate() {
            while asked < wanted.len() && asked - number < WINDOW {
                self.ask(&wanted[asked].0.to_string())?;
                asked += 1;
            }
            let missing = || ChangesError::Missing { what: (*what).to_owned(), id: id.to_string() };
            let (found, found_kind, size) = self.header(&id.to_string())?.ok_or_else(missing)?;
            if found != *id || found_kind != kind {
                return Err(ChangesError::Forged { id: id.to_string() });
            }
            take(self, number, id, size)?;
        }
        Ok(())
    }

    fn ask(&mut self, question: &str) -> Result<(), ChangesError> {
        if question.contains('\n') {
            return Err(ChangesError::BadPath(shown_text(question)));
        }
        if self.talk.is_none() {
            self.talk = Some(CatFile::start(self.git)?);
        }
        let stdin = self.talk.as_mut().and_then(|talk| talk.stdin.as_mut());
        // If git stopped reading, its output says why.
        let _ = stdin.map(|stdin| stdin.write_all(format!("{question}\n").as_bytes()));
        Ok(())
    }

    /// Reads a header `id type size`; `None` if there is no object.
    fn header(&mut self, question: &str) -> Result<Option<(Id, ObjectKind, u64)>, ChangesError> {
        let line = match self.next()? {
            Piece::Line(line) => line,
            Piece::Bytes(_) => return Err(failed(QUESTION, "it sent an unexpected answer")),
        };
        if line.ends_with(b" missing") {
            return Ok(None);
        }
        let mut words = line.split(|&byte| byte == b' ');
        let id = words.next().and_then(Id::from_hex);
        let kind = words.next().and_then(ObjectKind::from_name);
        let size = words.next().and_then(|size| str::from_utf8(size).ok()?.parse().ok());
        match (id, kind, size) {
            (Some(id), Some(kind), Some(size)) => Ok(Some((id, kind, size))),
            _ if line.ends_with(b" ambiguous") => Err(ChangesError::Ambiguous(shown_text(question))),
            _ => Err(failed(QUESTION, &format!("it answered `{}`", String::from_utf8_lossy(&line)))),
        }
    }

    /// Passes on the bytes after a header, and compares their hash with the id.
    fn content(
        &mut self,
        id: &Id,
        kind: ObjectKind,
        size: u64,
        to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ChangesError> {
        let mut hasher = Hasher::new(ObjectFormat::of(id), kind, size);
        let mut left = size;
        while left > 0 {
            let Piece::Bytes(bytes) = self.next()? else {
                return Err(failed(QUESTION, "it sent an unexpected answer"));
            };
            hasher.update(&bytes);
            to(&bytes).map_err(|error| ChangesError::Snapshot(error.to_string()))?;
            left = left.saturating_sub(bytes.len() as u64);
        }
        if hasher.finish() == *id { Ok(()) } else { Err(ChangesError::Forged { id: id.to_string() }) }
    }

    fn next(&mut self) -> Result<Piece, ChangesError> {
        let Some(talk) = &mut self.talk else { return Err(failed(QUESTION, "the process is not running")) };
        let why = match receive(&talk.pieces, PATIENCE, &self.git.deadline)? {
            Ok(Ok(piece)) => return Ok(piece),
            Ok(Err(error)) => error.to_string(),
            Err(RecvTimeoutError::Timeout) => {
                format!("timed out after {} s and was killed", PATIENCE.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => talk.last_words(),
        };
        self.talk = None;
        Err(failed(QUESTION, &why))
    }
}

fn append(to: &mut Vec<u8>, piece: &[u8], most: u64) -> io::Result<()> {
    if (to.len() + piece.len()) as u64 > most {
        return Err(io::Error::other("an object of the repository is too large"));
    }
    to.extend_from_slice(piece);
    Ok(())
}

impl CatFile {
    pub(super) fn start(git: &Git) -> Result<Self, ChangesError> {
        let mut child = git.spawn(QUESTION)?;
        let (Some(stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(QUESTION, "its pipes are missing"));
        };
        let (sender, pieces) = sync_channel(WINDOW);
        thread::spawn(move || {
            if let Err(error) = listen(stdout, &sender) {
                let _ = sender.send(Err(error));
            }
        });
        let complaints = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.by_ref().take(64 << 10).read_to_end(&mut text);
            String::from_utf8_lossy(&text).trim_end().to_owned()
        });
        Ok(Self { child, stdin: Some(stdin), pieces, complaints: Some(complaints) })
    }

    /// Returns why git ended before it answered.
    fn last_words(&mut self) -> String {
        self.stdin = None;
        let status = self.child.wait();
        let complaint = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        match (complaint.is_empty(), status) {
            (false, _) => complaint,
            (true, Ok(status)) => format!("it exited without output ({status})"),
            (true, Err(error)) => error.to_string(),
        }
    }
}

/// Reads answers until git ends or nobody needs more.
fn listen(stdout: ChildStdout, sender: &SyncSender<io::Result<Piece>>) -> io::Result<()> {
    let mut answers = BufReader::with_capacity(64 << 10, stdout);
    loop {
        let mut line = Vec::new();
        answers.by_ref().take(64 << 10).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Ok(());
        }
        // `id type size`; all other answers are one line.
        let size = line.rsplit(|&byte| byte == b' ').next().and_then(|size| str::from_utf8(size).ok()?.parse().ok());
        if sender.send(Ok(Piece::Line(line))).is_err() {
            return Ok(());
        }
        let Some(size) = size else { continue };
        let mut left: u64 = size;
        while left > 0 {
            let mut bytes = vec![0; usize::try_from(left.min(PIECE as u64)).unwrap_or(PIECE)];
            answers.read_exact(&mut bytes)?;
            left -= bytes.len() as u64;
            if sender.send(Ok(Piece::Bytes(bytes))).is_err() {
                return Ok(());
            }
        }
        answers.read_exact(&mut [0])?;
    }
}
