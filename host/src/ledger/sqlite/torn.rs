//! Checks the end of the write-ahead log for an earlier write that stopped before its commit.
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

/// Returns the number of pages after the last commit, which belong to a write that was not committed. Call it while holding
/// the write lock: otherwise the write may still be running.
pub(super) fn uncommitted_pages(log: &Path) -> io::Result<u64> {
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !read(&file, &mut header, 0)? || number(&header, 0) & !1 != MAGIC {
        return Ok(0);
    }
    let is_big_endian = number(&header, 0) & 1 == 1;
    let page = number(&header, 8) as usize;
    let salts = &header[16..24];
    let mut sums = (number(&header, 24), number(&header, 28));
    let (mut frame, mut at) = ([0; FRAME], HEADER);
    let mut behind: Vec<[u8; FRAME]> = Vec::new();
    let mut first = at;
    while read(&file, &mut frame, at)? && frame[8..16] == *salts {
        at += FRAME + page;
        if number(&frame, 4) == 0 {
            behind.push(frame);
        } else {
            behind.clear();
            first = at;
            sums = (number(&frame, 16), number(&frame, 20));
        }
    }
    let Some(torn) = behind.first() else { return Ok(0) };
    let mut content = vec![0; page];
    if !read(&file, &mut content, first + FRAME)? {
        return Ok(0);
    }
    // What is left of an older write that was overwritten in part does not continue the checksums.
    let sums = checksum(checksum(sums, &torn[..8], is_big_endian), &content, is_big_endian);
    Ok(if sums == (number(torn, 16), number(torn, 20)) { behind.len() as u64 } else { 0 })
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
