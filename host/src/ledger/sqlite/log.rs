//! Reads how far the write-ahead log goes: after a commit, it must contain it, because the next process reads it from its start.
//! What is behind the last commit belongs to a write that stopped; SQLite overwrites it.
//!
//! Only the log is opened here. SQLite's locks are on other files, and closing any descriptor of those would release the
//! locks of this process.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;
/// The log begins with this number; the last bit says in which order checksums read their words.
const MAGIC: u32 = 0x377f_0682;

/// The bytes that are read at once. More would cost more page faults than calls.
const BUFFER: usize = 64 << 10;

type Sums = (u32, u32);

/// The part of the log that the next process reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// Chosen anew when the log starts from its beginning.
    salts: [u8; 8],
    /// The number of pages up to the last commit.
    committed: usize,
    /// The running checksums up to there.
    sums: Sums,
}

impl LogEnd {
    /// Returns whether there is a commit that was not there before. In a log that started from its beginning since, an earlier commit
    /// is in the database.
    pub(super) fn follows(&self, before: Option<&Self>) -> bool {
        self.committed > before.filter(|before| before.salts == self.salts).map_or(0, |before| before.committed)
    }
}

/// Returns how far a log goes; `None` if it is empty or not a log. What was `known` a moment ago is not read again. Call it while
/// holding the write lock, or right after a commit: otherwise a write may still be running.
pub(super) fn end(log: &Path, known: Option<LogEnd>) -> io::Result<Option<LogEnd>> {
    let mut log = match File::open(log) {
        Ok(file) => BufReader::with_capacity(BUFFER, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !fill(&mut log, &mut header)? || number(&header, 0) & !1 != MAGIC {
        return Ok(None);
    }
    let (page, is_big_endian) = (number(&header, 8) as usize, number(&header, 0) & 1 == 1);
    let mut salts = [0; 8];
    salts.copy_from_slice(&header[16..24]);
    let sums = (number(&header, 24), number(&header, 28));
    if checksum((0, 0), &header[..24], is_big_endian) != sums {
        return Ok(None);
    }
    let known = known.filter(|known| known.salts == salts);
    let mut end = known.unwrap_or(LogEnd { salts, committed: 0, sums });
    let (mut frame, mut pages, mut sums) = (vec![0; FRAME + page], end.committed, end.sums);
    log.seek(SeekFrom::Start((HEADER + pages * frame.len()) as u64))?;
    while fill(&mut log, &mut frame)? && frame[8..16] == salts {
        sums = checksum(checksum(sums, &frame[..8], is_big_endian), &frame[FRAME..], is_big_endian);
        // What is left of a write that stopped, or of an older one that was overwritten in part, does not continue the checksums.
        if sums != (number(&frame, 16), number(&frame, 20)) {
            break;
        }
        pages += 1;
        if number(&frame, 4) != 0 {
            end = LogEnd { committed: pages, sums, ..end };
        }
    }
    Ok(Some(end))
}

/// Fills the buffer; `false` where the file ends before that.
fn fill(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}

/// Returns the running checksum of SQLite's log.
fn checksum((mut one, mut two): Sums, bytes: &[u8], is_big_endian: bool) -> Sums {
    let word = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    for [a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0.iter().copied() {
        one = one.wrapping_add(word([a, b, c, d])).wrapping_add(two);
        two = two.wrapping_add(word([e, f, g, h])).wrapping_add(one);
    }
    (one, two)
}
