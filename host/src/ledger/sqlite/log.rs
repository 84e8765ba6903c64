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
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;
/// The log begins with this number; the last bit says in which order checksums read their words.
const MAGIC: u32 = 0x377f_0682;

type Sums = (u32, u32);
type Frame = [u8; FRAME];

/// The part of the log that the next process reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// Chosen anew when the log starts from its beginning.
    salts: [u8; 8],
    /// The number of pages up to the last commit.
    committed: usize,
    /// The running checksums up to there.
    sums: Sums,
    /// The last of these pages, and the checksums before it.
    last: Option<(Sums, Frame)>,
    /// The number of pages after the last commit, which belong to a write that was not committed.
    pub(super) uncommitted: u64,
}

impl LogEnd {
    /// Returns whether there is a commit that was not there before. In a log that started from its beginning since, an earlier commit
    /// is in the database.
    pub(super) fn follows(&self, before: Option<&Self>) -> bool {
        self.committed > before.filter(|before| before.salts == self.salts).map_or(0, |before| before.committed)
    }
}

/// Returns how far a log goes; `None` if it is empty or not a log. What was `known` to be there is not read again, if its end still
/// is. Call it while holding the write lock, or right after a commit: otherwise a write may still be running.
pub(super) fn end(log: &Path, known: Option<LogEnd>) -> io::Result<Option<LogEnd>> {
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !read(&file, &mut header, 0)? || number(&header, 0) & !1 != MAGIC {
        return Ok(None);
    }
    let log = Log { file, page: number(&header, 8) as usize, is_big_endian: number(&header, 0) & 1 == 1 };
    let mut salts = [0; 8];
    salts.copy_from_slice(&header[16..24]);
    let sums = (number(&header, 24), number(&header, 28));
    if checksum((0, 0), &header[..24], log.is_big_endian) != sums {
        return Ok(None);
    }
    let mut end = LogEnd { salts, committed: 0, sums, last: None, uncommitted: 0 };
    if let Some(known) = known.filter(|known| known.salts == salts)
        && log.has(&known)?
    {
        end = LogEnd { uncommitted: 0, ..known };
    }
    let (mut page, mut pages, mut sums) = (vec![0; FRAME + log.page], end.committed, end.sums);
    while let Some((frame, content)) = log.read_page(pages, &mut page)?.filter(|(frame, _)| frame[8..16] == salts) {
        let before = sums;
        // What is left of a write that stopped, or of an older one that was overwritten in part, does not continue the checksums.
        sums = log.sums(before, &frame, content);
        if sums != stored(&frame) {
            break;
        }
        pages += 1;
        if number(&frame, 4) != 0 {
            end = LogEnd { committed: pages, sums, last: Some((before, frame)), ..end };
        }
    }
    if pages > end.committed {
        let mut frame = [0; FRAME];
        while read(&log.file, &mut frame, log.at(pages))? && frame[8..16] == salts {
            pages += 1;
        }
        end.uncommitted = (pages - end.committed) as u64;
    }
    Ok(Some(end))
}

struct Log {
    file: File,
    /// The size of a page.
    page: usize,
    is_big_endian: bool,
}

impl Log {
    /// Returns where a page begins.
    fn at(&self, index: usize) -> usize {
        HEADER + index * (FRAME + self.page)
    }

    /// Returns whether the last page that is known is still there.
    fn has(&self, known: &LogEnd) -> io::Result<bool> {
        let Some((sums, last)) = &known.last else { return Ok(true) };
        let mut page = vec![0; FRAME + self.page];
        let found = self.read_page(known.committed - 1, &mut page)?;
        Ok(found.is_some_and(|(frame, content)| frame == *last && self.sums(*sums, &frame, content) == stored(last)))
    }

    /// Reads the page at an index into a buffer; `None` where the file ends before that.
    fn read_page<'a>(&self, index: usize, buffer: &'a mut [u8]) -> io::Result<Option<(Frame, &'a [u8])>> {
        let is_there = read(&self.file, buffer, self.at(index))?;
        Ok(buffer.split_first_chunk().filter(|_| is_there).map(|(frame, content)| (*frame, content)))
    }

    /// Returns the checksums after a page.
    fn sums(&self, before: Sums, frame: &Frame, content: &[u8]) -> Sums {
        checksum(checksum(before, &frame[..8], self.is_big_endian), content, self.is_big_endian)
    }
}

/// Returns the checksums that a page has in the log.
fn stored(frame: &Frame) -> Sums {
    (number(frame, 16), number(frame, 20))
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
fn checksum((mut one, mut two): Sums, bytes: &[u8], is_big_endian: bool) -> Sums {
    let word = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    for [a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0.iter().copied() {
        one = one.wrapping_add(word([a, b, c, d])).wrapping_add(two);
        two = two.wrapping_add(word([e, f, g, h])).wrapping_add(one);
    }
    (one, two)
}
