//! Reads the index from `git ls-files`, for an index that is split into two files.

use super::id::Id;
use super::index_file::IndexEntry;
use super::program::Git;
use super::tree::{EntryMode, TreeEntry};
use crate::changes::{ChangesError, shown_text};

/// The arguments: with the flags (`-v`), the mode and the id (`-s`) of each file.
const LISTING: &[&str] = &["ls-files", "-z", "-v", "-s"];

/// Returns the entries, and the bytes that contain their paths.
pub(super) fn items(git: &Git) -> Result<(Vec<u8>, Vec<IndexEntry>), ChangesError> {
    let listing = git.run(LISTING)?;
    let items = read(&listing)?;
    Ok((listing, items))
}

/// Parses `tag mode id stage\tpath`, each followed by NUL.
fn read(listing: &[u8]) -> Result<Vec<IndexEntry>, ChangesError> {
    let unknown = |entry: &[u8]| ChangesError::BadPath(shown_text(&String::from_utf8_lossy(entry)));
    let mut start = 0;
    let entries = listing.split(|&byte| byte == 0).map(|entry| {
        let place = start;
        start += entry.len() + 1;
        (place, entry)
    });
    let entries = entries.filter(|(_, entry)| !entry.is_empty());
    entries.map(|(start, entry)| item(entry, start).ok_or_else(|| unknown(entry))).collect()
}

/// Parses the entry that begins at `start`.
fn item(entry: &[u8], start: usize) -> Option<IndexEntry> {
    let tab = entry.iter().position(|&byte| byte == b'\t')?;
    let [tag, mode, id, stage] = entry[..tab].split(|&byte| byte == b' ').collect::<Vec<_>>()[..] else { return None };
    let bits = u32::from_str_radix(str::from_utf8(mode).ok()?, 8).ok()?;
    let stage = str::from_utf8(stage).ok()?.parse().ok()?;
    Some(IndexEntry {
        path: start + tab + 1..start + entry.len(),
        stage,
        entry: TreeEntry { mode: EntryMode::from_bits(bits), id: Id::from_hex(id)? },
        // A lower-case tag means that the file is also assumed to be unchanged.
        is_skipped: tag.eq_ignore_ascii_case(b"s"),
        is_intent: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_its_mode_and_its_path() {
        let id = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        let text = format!("H 100644 {id} 0\ta\tb\0s 160000 {id} 2\tlib\0");
        let found = read(text.as_bytes()).expect("a listing");
        let found: Vec<_> = found
            .iter()
            .map(|item| (&text.as_bytes()[item.path.clone()], item.stage, item.entry.mode, item.is_skipped))
            .collect();
        assert_eq!(found, [(&b"a\tb"[..], 0, EntryMode::File, false), (b"lib", 2, EntryMode::Repository, true)]);
        for broken in ["H a", "H 100644 1 0\ta", "H 100644 x\ta"] {
            assert!(read(broken.as_bytes()).is_err());
        }
    }
}
