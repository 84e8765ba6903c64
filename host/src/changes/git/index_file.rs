//! Parses the file of the index.

use super::id::{Id, ObjectFormat};
use super::tree::{EntryMode, TreeEntry};
use crate::changes::{ChangesError, shown_text};
use std::ffi::CStr;
use std::ops::Range;

/// More than the index of ten million files needs.
pub(super) const MAX_BYTES: u64 = 1 << 30;
/// Deeper folders are refused.
pub(super) const MAX_DEPTH: usize = 500;

/// An entry as it is stored.
#[derive(Debug)]
pub(super) struct IndexEntry {
    /// The place of the path in the bytes that contain all paths.
    pub(super) path: Range<usize>,
    /// 0, or the side of a merge conflict.
    pub(super) stage: u8,
    pub(super) entry: TreeEntry,
    pub(super) is_skipped: bool,
    /// Whether only the intent to add is staged.
    pub(super) is_intent: bool,
}

impl IndexEntry {
    /// Returns whether `git commit` would store the entry.
    pub(super) fn is_staged(&self) -> bool {
        self.stage == 0 && !self.is_intent
    }
}

/// A cached tree id, which `git commit` uses without looking at the entries of the folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cached {
    pub(super) folder: Vec<u8>,
    /// How many entries are in the folder.
    pub(super) count: usize,
    pub(super) id: Id,
}

/// The content of an index file.
pub(super) struct IndexFile {
    pub(super) items: Vec<IndexEntry>,
    /// The bytes that contain all paths, if the file has them shortened.
    pub(super) expanded: Option<Vec<u8>>,
    pub(super) cached: Vec<Cached>,
    /// Whether most entries are in another file.
    pub(super) is_split: bool,
}

/// Reads from the front of the remaining bytes.
struct IndexReader<'a>(&'a [u8]);

impl<'a> IndexReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ChangesError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| broken("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, ChangesError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(|| broken("it ends too early"))?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    fn until(&mut self, end: u8) -> Result<&'a [u8], ChangesError> {
        let at = self.0.iter().position(|&byte| byte == end).ok_or_else(|| broken("it ends too early"))?;
        let taken = self.take(at)?;
        self.take(1)?;
        Ok(taken)
    }

    /// Reads a path, and the NUL behind it.
    fn path(&mut self) -> Result<&'a [u8], ChangesError> {
        // Searches several bytes at a time, unlike `until`.
        let path = CStr::from_bytes_until_nul(self.0).map_err(|_| broken("it ends too early"))?.to_bytes();
        self.0 = &self.0[path.len() + 1..];
        Ok(path)
    }

    fn decimal(&mut self, end: u8) -> Result<i64, ChangesError> {
        let digits = str::from_utf8(self.until(end)?).ok().and_then(|digits| digits.parse().ok());
        digits.ok_or_else(|| broken("a number is not one"))
    }

    /// Reads a number of variable length, as in pack offsets.
    fn variable(&mut self) -> Result<usize, ChangesError> {
        let mut byte = self.take(1)?[0];
        let mut number = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            let more = number.checked_add(1).and_then(|number| number.checked_mul(128));
            number = more.ok_or_else(|| broken("a number is too large"))? | usize::from(byte & 0x7f);
        }
        Ok(number)
    }
}

impl IndexFile {
    pub(super) fn parse(format: ObjectFormat, bytes: &[u8]) -> Result<Self, ChangesError> {
        let body = bytes.len().checked_sub(format.length()).ok_or_else(|| broken("it ends too early"))?;
        let mut reader = IndexReader(&bytes[..body]);
        if reader.take(4)? != b"DIRC" {
            return Err(broken("it does not start with the signature of an index"));
        }
        let version = reader.number()?;
        if !(2..=4).contains(&version) {
            return Err(broken(&format!("its version is {version}; expected 2, 3 or 4")));
        }
        let count = reader.number()?;
        // An entry has at least 62 bytes.
        let likely = usize::try_from(count).unwrap_or(0).min(body / 62);
        let mut items: Vec<IndexEntry> = Vec::with_capacity(likely);
        let mut places = EntryOffsets { starts: Vec::with_capacity(likely), end: 0 };
        let mut expanded = (version == 4).then(Vec::new);
        for _ in 0..count {
            let previous = items.last().map_or(0..0, |item| item.path.clone());
            let start = body - reader.0.len();
            let (item, is_whole) = item(&mut reader, body, format, version, previous, expanded.as_mut())?;
            places.starts.push((start, is_whole));
            items.push(item);
        }
        places.end = body - reader.0.len();
        let mut file = Self { items, expanded, cached: Vec::new(), is_split: false };
        places.refuse_hidden_end(&bytes[..body], format)?;
        while !reader.0.is_empty() {
            let name = reader.take(4)?;
            let size = reader.number()?;
            let content = reader.take(usize::try_from(size).unwrap_or(usize::MAX))?;
            match name {
                b"EOIE" => places.refuse_other_end(content, reader.0.is_empty())?,
                b"IEOT" => places.refuse_other_blocks(content)?,
                b"TREE" => {
                    let mut content = IndexReader(content);
                    cached(&mut content, format, &[], 0, &mut file.cached)?;
                }
                b"link" => file.is_split = true,
                // Extensions with a lower-case first letter are mandatory. `sdir`: some entries are folders.
                [b'A'..=b'Z', ..] | b"sdir" => {}
                other => return Err(broken(&format!("it has an unknown part `{}`", shown_bytes(other)))),
            }
        }
        Ok(file)
    }
}

/// The offsets of the entries.
///
/// With several threads, git does not read the entries in sequence: one extension says where blocks of entries start, and
/// another where the last one ends. Both must lead git to the same entries that are read here.
struct EntryOffsets {
    /// The offset of each entry, and whether its path is stored in full.
    starts: Vec<(usize, bool)>,
    /// The end of the last entry.
    end: usize,
}

impl EntryOffsets {
    /// Refuses an end marker that git would find in the last bytes, outside the sequence of extensions.
    fn refuse_hidden_end(&self, body: &[u8], format: ObjectFormat) -> Result<(), ChangesError> {
        let start = body.len().checked_sub(8 + 4 + format.length()).filter(|start| *start >= self.end);
        let Some(mut reader) = start.map(|start| IndexReader(&body[start..])) else { return Ok(()) };
        if reader.take(4)? != b"EOIE" {
            return Ok(());
        }
        reader.number()?;
        let end = reader.number()?;
        if usize::try_from(end) == Ok(self.end) {
            Ok(())
        } else {
            Err(broken("the recorded end of its entries is wrong"))
        }
    }

    fn refuse_other_end(&self, content: &[u8], is_last: bool) -> Result<(), ChangesError> {
        let end = IndexReader(content).number()?;
        match usize::try_from(end) == Ok(self.end) && is_last {
            true => Ok(()),
            false => Err(broken("the recorded end of its entries is wrong")),
        }
    }

    fn refuse_other_blocks(&self, content: &[u8]) -> Result<(), ChangesError> {
        let elsewhere = || broken("the recorded positions of its entries are wrong");
        let mut reader = IndexReader(content);
        if reader.number()? != 1 {
            return Err(elsewhere());
        }
        let mut next = 0_usize;
        while !reader.0.is_empty() {
            let (start, count) = (reader.number()?, reader.number()?);
            let is_there = self
                .starts
                .get(next)
                .is_some_and(|(place, is_whole)| usize::try_from(start) == Ok(*place) && *is_whole);
            if !is_there {
                return Err(elsewhere());
            }
            next = next.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        }
        if next == self.starts.len() { Ok(()) } else { Err(elsewhere()) }
    }
}

/// Reads an entry, and returns whether its path is stored in full. A shortened path is appended to `expanded`.
fn item(
    reader: &mut IndexReader<'_>,
    body: usize,
    format: ObjectFormat,
    version: u32,
    previous: Range<usize>,
    expanded: Option<&mut Vec<u8>>,
) -> Result<(IndexEntry, bool), ChangesError> {
    let start = reader.0.len();
    // Times, device and inode; then the mode; then owner, group and size.
    reader.take(24)?;
    let mode = EntryMode::from_bits(reader.number()?);
    reader.take(12)?;
    let id = Id::from_bytes(reader.take(format.length())?).ok_or_else(|| broken("an id is not one"))?;
    let flags = reader.take(2)?;
    let flags = u16::from_be_bytes([flags[0], flags[1]]);
    let more = match flags & 0x4000 != 0 {
        true if version == 2 => return Err(broken("an entry has flags that its version does not have")),
        true => reader.take(2).map(|more| u16::from_be_bytes([more[0], more[1]]))?,
        false => 0,
    };
    let mut is_whole = true;
    let path = if let Some(expanded) = expanded {
        let kept = previous.len().checked_sub(reader.variable()?).ok_or_else(|| broken("a path is not one"))?;
        is_whole = kept == 0;
        let place = expanded.len();
        expanded.extend_from_within(previous.start..previous.start + kept);
        expanded.extend_from_slice(reader.path()?);
        if expanded.len() as u64 > MAX_BYTES {
            return Err(broken("its paths are too long"));
        }
        place..expanded.len()
    } else {
        let place = body - reader.0.len();
        let path = place..place + reader.path()?.len();
        // Padded to eight bytes; one NUL is consumed already.
        let length = start - reader.0.len();
        reader.take(length.next_multiple_of(8) - length)?;
        path
    };
    // All bits of the field are set for longer paths.
    if usize::from(flags & 0xfff) != path.len().min(0xfff) {
        return Err(broken("the recorded length of a path is wrong"));
    }
    let item = IndexEntry {
        path,
        stage: (flags >> 12 & 3) as u8,
        entry: TreeEntry { mode, id },
        is_skipped: more & 0x4000 != 0,
        is_intent: more & 0x2000 != 0,
    };
    Ok((item, is_whole))
}

/// Reads one folder of the cached tree ids, and those inside it.
fn cached(
    reader: &mut IndexReader<'_>,
    format: ObjectFormat,
    above: &[u8],
    depth: usize,
    found: &mut Vec<Cached>,
) -> Result<(), ChangesError> {
    if depth > MAX_DEPTH {
        return Err(broken("its folders are too deep"));
    }
    let name = reader.until(0)?;
    let folder = if above.is_empty() { name.to_vec() } else { [above, b"/", name].concat() };
    let count = reader.decimal(b' ')?;
    let inner = reader.decimal(b'\n')?;
    if let Ok(count) = usize::try_from(count) {
        let id = Id::from_bytes(reader.take(format.length())?).ok_or_else(|| broken("an id is not one"))?;
        found.push(Cached { folder: folder.clone(), count, id });
    }
    for _ in 0..inner {
        cached(reader, format, &folder, depth + 1, found)?;
    }
    Ok(())
}

pub(super) fn shown_bytes(path: &[u8]) -> String {
    shown_text(&String::from_utf8_lossy(path))
}

pub(super) fn broken(why: &str) -> ChangesError {
    ChangesError::BadIndex(why.to_owned())
}
