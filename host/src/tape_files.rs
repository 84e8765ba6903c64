//! What gets the lines of a recording: the file that the caller wants, and the copy that is stored with the run.
//!
//! The caller's file is JSON Lines that only its owner can read. The stored copy is compressed as it comes, and limited for each
//! check and for the run: what does not fit is counted, so that nobody repeats a run from half of its answers.

use crate::compression::Compressor;
use crate::limits::StoredLimits;
use crate::record::NotStored;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a recording. A longer one is not read.
pub(crate) const MAX_BYTES: u64 = 256 << 20;
/// How many compressed bytes are kept in memory before they are stored.
const PART: usize = 256 << 10;

/// The files of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct TapeFiles {
    file: Option<Arc<Mutex<TapeFile>>>,
    stored: Option<Arc<StoredTape>>,
}

#[derive(Debug)]
struct TapeFile {
    file: File,
    length: u64,
}

impl TapeFiles {
    /// Creates a file. An existing file is never overwritten.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = TapeFile { file: options.open(path)?, length: 0 };
        Ok(Self { file: Some(Arc::new(Mutex::new(file))), stored: None })
    }

    /// Returns the same file, with a copy that is stored with a run.
    pub(crate) fn and_stored(&self, stored: Arc<StoredTape>) -> Self {
        Self { file: self.file.clone(), stored: Some(stored) }
    }

    /// Appends a line about an answer that a check got.
    pub(crate) fn append(&self, check: &str, line: &impl Serialize) -> io::Result<()> {
        if self.file.is_none() && self.stored.is_none() {
            return Ok(());
        }
        let line = serde_json::to_string(line)? + "\n";
        if let Some(file) = &self.file {
            let TapeFile { file, length } = &mut *file.lock();
            if *length + line.len() as u64 > MAX_BYTES {
                return Err(io::Error::other(format!("it would have more than {} MiB", MAX_BYTES >> 20)));
            }
            file.write_all(line.as_bytes())?;
            *length += line.len() as u64;
        }
        if let Some(stored) = &self.stored {
            stored.append(check, line.as_bytes());
        }
        Ok(())
    }

    /// Waits until all lines of the caller's file are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.lock().file.sync_data())
    }
}

/// What a run may still store.
#[derive(Debug)]
pub(crate) struct StoredBudget {
    limits: StoredLimits,
    used: Mutex<StoredUse>,
}

#[derive(Debug, Default)]
struct StoredUse {
    run: u64,
    checks: BTreeMap<String, u64>,
    cut: BTreeMap<(String, &'static str), (u64, u64)>,
}

impl StoredBudget {
    pub(crate) fn new(limits: StoredLimits) -> Self {
        Self { limits, used: Mutex::default() }
    }

    /// Takes the bytes of an answer of a kind for a check. If they do not fit, they are counted as cut. So is everything of the
    /// check from then on: of its answers, only the first are stored.
    fn take(&self, check: &str, kind: &'static str, bytes: u64) -> bool {
        let StoredUse { run, checks, cut } = &mut *self.used.lock();
        let used = checks.entry(check.to_owned()).or_default();
        let fits = *used + bytes <= self.limits.check && *run + bytes <= self.limits.run;
        if fits && !cut.keys().any(|(cut, _)| cut == check) {
            (*used, *run) = (*used + bytes, *run + bytes);
            return true;
        }
        let (results, cut) = cut.entry((check.to_owned(), kind)).or_default();
        (*results, *cut) = (*results + 1, *cut + bytes);
        false
    }

    /// Returns how many bytes the run may still store.
    pub(crate) fn left(&self) -> u64 {
        self.limits.run.saturating_sub(self.used.lock().run)
    }

    /// Takes the bytes of the inputs of the run, which are those of no check. If they do not fit, they are counted as cut.
    pub(crate) fn take_inputs(&self, kind: &'static str, bytes: u64) -> bool {
        let StoredUse { run, cut, .. } = &mut *self.used.lock();
        if *run + bytes <= self.limits.run {
            *run += bytes;
            return true;
        }
        cut.insert((String::new(), kind), (1, bytes));
        false
    }

    /// Returns what was not stored.
    pub(crate) fn not_stored(&self) -> Vec<NotStored> {
        let cut = |((check, kind), (results, bytes)): (&(String, &str), &(u64, u64))| NotStored {
            check: check.clone(),
            kind: (*kind).to_owned(),
            results: *results,
            bytes: *bytes,
        };
        self.used.lock().cut.iter().map(cut).collect()
    }
}

/// Stores a numbered part of a tape.
pub(crate) type StorePart = Box<dyn Fn(u32, Vec<u8>) -> io::Result<()> + Send + Sync>;

/// The copy of a recording that is stored with the run. A failure does not end the check: [`StoredTape::finish`] returns it, and the
/// run is not acknowledged.
pub(crate) struct StoredTape {
    kind: &'static str,
    budget: Arc<StoredBudget>,
    store: StorePart,
    stream: Mutex<io::Result<TapeStream>>,
}

#[derive(Debug, Default)]
struct TapeStream {
    /// Made with the first line, because it takes memory.
    compressor: Option<Compressor>,
    parts: u32,
}

impl fmt::Debug for StoredTape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTape").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl StoredTape {
    /// Creates a tape of this kind, `commands` or `models`, whose parts `store` gets.
    pub(crate) fn new(kind: &'static str, budget: Arc<StoredBudget>, store: StorePart) -> Self {
        Self { kind, budget, store, stream: Mutex::new(Ok(TapeStream::default())) }
    }

    /// Returns the kind of the tape.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    fn append(&self, check: &str, line: &[u8]) {
        if !self.budget.take(check, self.kind, line.len() as u64) {
            return;
        }
        let mut stream = self.stream.lock();
        let Ok(TapeStream { compressor, parts }) = &mut *stream else { return };
        let mut add = || -> io::Result<()> {
            let compressor = match compressor {
                Some(compressor) => compressor,
                None => compressor.insert(Compressor::new()?),
            };
            compressor.add(line)?;
            if compressor.ready.len() >= PART {
                (self.store)(*parts, std::mem::take(&mut compressor.ready))?;
                *parts += 1;
            }
            Ok(())
        };
        if let Err(error) = add() {
            *stream = Err(error);
        }
    }

    /// Ends the tape, and returns its last part and the number of it.
    pub(crate) fn finish(&self) -> io::Result<(u32, Vec<u8>)> {
        let ended = Err(io::Error::other("the recording has ended"));
        let TapeStream { compressor, parts } = std::mem::replace(&mut *self.stream.lock(), ended)?;
        let compressor = compressor.map_or_else(Compressor::new, Ok)?;
        Ok((parts, compressor.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::decompressed;

    /// The parts that were stored.
    type Parts = Arc<Mutex<Vec<Vec<u8>>>>;

    fn tape(limits: StoredLimits, failing: bool) -> (TapeFiles, Arc<StoredTape>, Parts) {
        let stored = Parts::default();
        let parts = Arc::clone(&stored);
        let store: StorePart = Box::new(move |part, bytes| {
            assert_eq!(part as usize, parts.lock().len());
            parts.lock().push(bytes);
            if failing { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        });
        let tape = Arc::new(StoredTape::new("commands", Arc::new(StoredBudget::new(limits)), store));
        (TapeFiles::default().and_stored(Arc::clone(&tape)), tape, stored)
    }

    /// A line that cannot be compressed.
    fn noise(length: usize) -> String {
        let mut bytes = vec![0; length / 2];
        blake3::Hasher::new().update(&length.to_le_bytes()).finalize_xof().fill(&mut bytes);
        crate::text::hex(&bytes)
    }

    #[test]
    fn only_the_first_answers_of_a_check_are_stored_and_the_others_are_counted() {
        let (files, tape, stored) = tape(StoredLimits { check: 100, run: 150 }, false);
        for (check, length) in [("a", 60), ("a", 60), ("a", 4), ("b", 60), ("b", 60), ("c", 40), ("c", 10), ("d", 20)] {
            files.append(check, &"x".repeat(length - 3)).expect("appended");
        }
        let cut: Vec<_> = tape.budget.not_stored().into_iter().map(|cut| (cut.check, cut.results, cut.bytes)).collect();
        let expected = [("a", 2, 64), ("b", 1, 60), ("c", 2, 50)].map(|(check, n, bytes)| (check.to_owned(), n, bytes));
        assert_eq!(cut, expected);
        let (part, last) = tape.finish().expect("ended");
        assert_eq!((part, stored.lock().len()), (0, 0));
        let text = decompressed([&last[..]], 1_000).expect("whole");
        assert_eq!(text.split(|byte| *byte == b'\n').map(<[u8]>::len).collect::<Vec<_>>(), [59, 59, 19, 0]);
    }

    #[test]
    fn a_long_tape_is_stored_in_parts_and_never_held_as_a_whole() {
        let (files, tape, stored) = tape(StoredLimits::default(), false);
        let line = noise(100_000);
        for _ in 0..50 {
            files.append("a", &line).expect("appended");
        }
        let random: Vec<String> = (0..20).map(|n| noise(200_000 + 2 * n)).collect();
        for line in &random {
            files.append("a", line).expect("appended");
        }
        let (part, last) = tape.finish().expect("ended");
        let parts = std::mem::take(&mut *stored.lock());
        assert!(part as usize == parts.len() && parts.len() > 1);
        assert!(parts.iter().all(|part| part.len() < 2 * PART + (200 << 10)));
        let pieces = parts.iter().map(Vec::as_slice).chain([&last[..]]);
        let text = decompressed(pieces, 64 << 20).expect("whole");
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 70);
    }

    #[test]
    fn a_failure_to_store_is_told_at_the_end() {
        let (files, tape, _) = tape(StoredLimits::default(), true);
        for n in 0..40 {
            files.append("a", &noise(100_000 + 2 * n)).expect("the check goes on");
        }
        assert_eq!(tape.finish().expect_err("it failed").kind(), io::ErrorKind::StorageFull);
    }
}
