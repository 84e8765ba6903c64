//! Stores sessions between calls: one small file per session, in the state folder, outside every workspace.

use super::budget::AgentSession;
use crate::text::hex;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

/// The most bytes of a session.
const MAX_BYTES: u64 = 64 << 10;
/// How many sessions are kept. Their age does not count, because the clock may be wrong.
const MAX_SESSIONS: usize = 1_000;

/// A session that is locked until it is dropped, so that two calls at the same time count as two.
#[derive(Debug)]
pub(super) struct Remembered {
    file: File,
    /// What is known about it.
    pub(super) session: AgentSession,
}

impl Remembered {
    /// Opens the session of this key in a folder, and creates the folder if it is missing.
    pub(super) fn open(folder: &Path, key: &str) -> io::Result<Self> {
        let folder = folder.join("sessions");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        // Old sessions are deleted there.
        if !folder.symlink_metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "`sessions` in the state folder is a symlink"));
        }
        let name = hex(&Sha256::digest(key))[..32].to_owned() + ".json";
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(folder.join(&name), flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(opened);
        lock(&file)?;
        let mut bytes = Vec::new();
        (&mut file).take(MAX_BYTES).read_to_end(&mut bytes)?;
        // A session that cannot be read starts again: the agent may be sent back more often, but nothing passes.
        let session = serde_json::from_slice(&bytes).unwrap_or_default();
        if bytes.is_empty() {
            forget_old(&folder);
        }
        Ok(Self { file, session })
    }

    /// Writes it back.
    pub(super) fn save(&mut self) -> io::Result<()> {
        let bytes = serde_json::to_vec(&self.session)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(&bytes)
    }
}

/// Waits a moment for another call of the same session, but not longer, because a hook must answer.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..200 {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another hook of this session is still running"))
}

/// Returns whether a file has the name of a session.
fn is_session(name: &OsStr) -> bool {
    let key = name.to_str().and_then(|name| name.strip_suffix(".json"));
    key.is_some_and(|key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Deletes the sessions that were not used for the longest time, if there are too many.
fn forget_old(folder: &Path) {
    let used = |entry: fs::DirEntry| Some((entry.metadata().and_then(|about| about.modified()).ok()?, entry.path()));
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sessions: Vec<_> = files.filter(|entry| is_session(&entry.file_name())).filter_map(used).collect();
    sessions.sort();
    for (_, path) in sessions.iter().rev().skip(MAX_SESSIONS) {
        // Another call may have deleted it already.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn only_the_number_of_sessions_is_limited_not_their_age() {
        let folder = tempfile::tempdir().expect("a folder");
        let make = |second: u64| {
            let path = folder.path().join(format!("{second:032x}.json"));
            File::create(&path)
                .expect("a file")
                .set_modified(UNIX_EPOCH + Duration::from_secs(second))
                .expect("a time");
            path
        };
        let oldest = [make(1), make(2)];
        let other = folder.path().join("notes.json");
        File::create(&other).expect("a file").set_modified(UNIX_EPOCH).expect("a time");
        forget_old(folder.path());
        assert!(oldest.iter().all(|path| path.exists()));
        let others: Vec<_> = (3..MAX_SESSIONS as u64 + 2).map(make).collect();
        forget_old(folder.path());
        assert_eq!(oldest.map(|path| path.exists()), [false, true]);
        assert!(others.iter().all(|path| path.exists()) && other.exists());
    }

    #[test]
    fn a_linked_folder_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, other) = (folder.path().join("state"), folder.path().join("other"));
        fs::create_dir(&state).expect("made");
        fs::create_dir(&other).expect("made");
        std::os::unix::fs::symlink(&other, state.join("sessions")).expect("linked");
        assert!(Remembered::open(&state, "s").is_err());
        assert!(fs::read_dir(&other).expect("a folder").next().is_none());
    }
}
