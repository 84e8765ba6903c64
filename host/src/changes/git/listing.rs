//! Reads the index from `git ls-files`, for an index that is split into two files.

use super::id::Id;
use super::index::IndexEntry;
use super::program::Git;
use super::tree::{EntryMode, TreeEntry};
use crate::changes::{ChangesError, shown_text};

/// The arguments: with the flags (`-v`), the mode and the id (`-s`) of each file.
const LISTING: &[&str] = &["ls-files", "-z", "-v", "-s"];

pub(super) fn items(git: &Git) -> Result<Vec<IndexEntry>, ChangesError> {
    read(&git.run(LISTING)?)
}

/// Parses `tag mode id stage\tpath`, each followed by NUL.
fn read(listing: &[u8]) -> Result<Vec<IndexEntry>, ChangesError> {
    let unknown = |entry: &[u8]| ChangesError::BadPath(shown_text(&String::from_utf8_lossy(entry)));
    let entries = listing.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| item(entry).ok_or_else(|| unknown(entry))).collect()
}

fn item(entry: &[u8]) -> Option<IndexEntry> {
    let tab = entry.iter().position(|&byte| byte == b'\t')?;
    let [tag, mode, id, stage] = entry[..tab].split(|&byte| byte == b' ').collect::<Vec<_>>()[..] else { return None };
    let bits = u32::from_str_radix(str::from_utf8(mode).ok()?, 8).ok()?;
    let stage = str::from_utf8(stage).ok()?.parse().ok()?;
    Some(IndexEntry {
        path: entry[tab + 1..].to_vec(),
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
        let found: Vec<_> =
            found.iter().map(|item| (&*item.path, item.stage, item.entry.mode, item.is_skipped)).collect();
        assert_eq!(found, [(&b"a\tb"[..], 0, EntryMode::File, false), (b"lib", 2, EntryMode::Repository, true)]);
        for broken in ["H a", "H 100644 1 0\ta", "H 100644 x\ta"] {
            assert!(read(broken.as_bytes()).is_err());
        }
    }
}
