//! Reads how far the write-ahead log goes: after a commit, it must contain it. Behind the last commit there may be the beginning of
//! an earlier write that stopped.
//!
//! SQLite ignores such a tail and overwrites it, so nothing of it is ever read as an entry. An entry records it, because a
//! process was killed, or the disk was full, in the middle of a write.
//!
//! Only the log is opened here. SQLite's locks are on other files, and closing any descriptor of those would release the
//! locks of this process.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;
/// The log begins with this number; the last bit says in which order checksums read their words.
const MAGIC: u32 = 0x377f_0682;

/// The part of the log that the next process reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// Chosen anew when the log starts from its beginning.
    salts: [u8; 8],
    /// Where the last commit ends.
    end: usize,
    /// The number of pages after the last commit, which belong to a write that was not committed.
    pub(super) uncommitted: u64,
}

impl LogEnd {
    /// Returns whether there is a commit that was not there before. In a log that started from its beginning since, an earlier commit
    /// is in the database.
    pub(super) fn follows(&self, before: Option<&Self>) -> bool {
        self.end > before.filter(|before| before.salts == self.salts).map_or(HEADER, |before| before.end)
    }
}

/// Returns how far a log goes; `None` if it is empty or not a log. Call it while holding the write lock, or right after a commit:
/// otherwise a write may still be running.
pub(super) fn end(log: &Path) -> io::Result<Option<LogEnd>> {
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !read(&file, &mut header, 0)? || number(&header, 0) & !1 != MAGIC {
        return Ok(None);
    }
    let is_big_endian = number(&header, 0) & 1 == 1;
    let page = number(&header, 8) as usize;
    let mut salts = [0; 8];
    salts.copy_from_slice(&header[16..24]);
    let sums = (number(&header, 24), number(&header, 28));
    if checksum((0, 0), &header[..24], is_big_endian) != sums {
        return Ok(None);
    }
    let log = Log { file, page, is_big_endian };
    let (mut frame, mut frames) = ([0; FRAME], Vec::new());
    while read(&log.file, &mut frame, log.at(frames.len()))? && frame[8..16] == salts {
        frames.push(frame);
    }
    // The last commit that is whole. What is left of a write that stopped, or of an older one that was overwritten in part, does
    // not continue the checksums.
    let (mut committed, mut last) = (0, frames.len());
    let is_commit = |frame: &[u8; FRAME]| number(frame, 4) != 0;
    while let Some(commit) = frames[..last].iter().rposition(is_commit) {
        let first = frames[..commit].iter().rposition(is_commit).map_or(0, |before| before + 1);
        if log.continues(&frames, first..commit + 1, sums)? {
            committed = commit + 1;
            break;
        }
        last = commit;
    }
    let behind = frames.len() - committed;
    let is_torn = behind > 0 && log.continues(&frames, committed..committed + 1, sums)?;
    Ok(Some(LogEnd { salts, end: log.at(committed), uncommitted: if is_torn { behind as u64 } else { 0 } }))
}

struct Log {
    file: File,
    /// The size of a page.
    page: usize,
    is_big_endian: bool,
}

impl Log {
    /// Returns where a frame begins.
    fn at(&self, frame: usize) -> usize {
        HEADER + frame * (FRAME + self.page)
    }

    /// Returns whether these frames continue the checksums of the frame before them; `sums` are those of the header of the log.
    fn continues(&self, frames: &[[u8; FRAME]], range: Range<usize>, sums: (u32, u32)) -> io::Result<bool> {
        let stored = |frame: &[u8; FRAME]| (number(frame, 16), number(frame, 20));
        let before = range.start.checked_sub(1).and_then(|before| frames.get(before));
        let mut sums = before.map_or(sums, stored);
        let mut content = vec![0; self.page];
        for (index, frame) in range.clone().zip(&frames[range]) {
            if !read(&self.file, &mut content, self.at(index) + FRAME)? {
                return Ok(false);
            }
            sums = checksum(checksum(sums, &frame[..8], self.is_big_endian), &content, self.is_big_endian);
            if sums != stored(frame) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Fills the buffer; `false` where the file ends before that.
fn read(file: &File, buffer: &mut [u8], at: usize) -> io::Result<bool> {
    match file.read_exact_at(buffer, at as u64) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}

/// Returns the running checksum of SQLite's log.
fn checksum((mut one, mut two): (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let word = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    for [a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0.iter().copied() {
        one = one.wrapping_add(word([a, b, c, d])).wrapping_add(two);
        two = two.wrapping_add(word([e, f, g, h])).wrapping_add(one);
    }
    (one, two)
}
