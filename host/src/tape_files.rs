//! The files of a recording: JSON Lines that only their owner can read.

use parking_lot::Mutex;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Files that get the same lines: the recording that the caller wants, and the copy that is stored with the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct TapeFiles(Vec<Arc<Mutex<File>>>);

impl TapeFiles {
    /// Creates a file. An existing file is never overwritten.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self(vec![Arc::new(Mutex::new(options.open(path)?))]))
    }

    /// Returns these files and others.
    pub(crate) fn and(&self, others: Self) -> Self {
        Self(self.0.iter().cloned().chain(others.0).collect())
    }

    /// Appends a line to every file.
    pub(crate) fn append(&self, line: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(line)? + "\n";
        self.0.iter().try_for_each(|file| file.lock().write_all(line.as_bytes()))
    }

    /// Waits until all lines are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|file| file.lock().sync_data())
    }
}
