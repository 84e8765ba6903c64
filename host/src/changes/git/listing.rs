//! What the index holds, and what is beside it in the working tree.

use super::{path, text};
use crate::changes::{Error, shown_text};

/// How it is asked for: with the flags of each file (`-v`) and its mode (`-s`).
pub(super) const LISTING: &[&str] = &["ls-files", "-z", "-v", "-s"];

/// The mode of a commit of another repository.
pub(super) const REPOSITORY: &[u8] = b"160000";

/// One path. It is made out only where it is needed: an unchanged file may have a name that cannot be judged.
pub(super) struct Listed<'a> {
    /// Git's letter for it: `?` where it is not in the index.
    pub(super) tag: u8,
    /// Whether the index has a commit of another repository there.
    pub(super) is_repository: bool,
    name: &'a [u8],
}

impl Listed<'_> {
    pub(super) fn path(&self) -> Result<String, Error> {
        path(self.name)
    }
}

/// From `tag mode oid stage\tpath` for what is in the index, and `? path` for what is not.
pub(super) fn read(listing: &[u8]) -> Result<Vec<Listed<'_>>, Error> {
    listing.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()).map(entry).collect()
}

fn entry(entry: &[u8]) -> Result<Listed<'_>, Error> {
    let unknown = || Error::BadPath(shown_text(&text(entry)));
    let &[tag, b' ', ref rest @ ..] = entry else { return Err(unknown()) };
    if tag == b'?' {
        // Another repository that git does not know ends with a slash.
        return Ok(Listed { tag, is_repository: false, name: rest.strip_suffix(b"/").unwrap_or(rest) });
    }
    let tab = rest.iter().position(|&byte| byte == b'\t').ok_or_else(unknown)?;
    Ok(Listed {
        tag,
        is_repository: rest[..tab].split(|&byte| byte == b' ').next() == Some(REPOSITORY),
        name: &rest[tab + 1..],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_its_tag_and_its_path() {
        let found = read(b"H 100644 1 0\ta\tb\0s 160000 2 0\tlib\0? c d\0? e/\0").expect("a listing");
        let found: Vec<_> = found.iter().map(|listed| (listed.tag, listed.is_repository, listed.name)).collect();
        assert_eq!(
            found,
            [(b'H', false, &b"a\tb"[..]), (b's', true, b"lib"), (b'?', false, b"c d"), (b'?', false, b"e")]
        );
        for broken in [&b"H a"[..], b"Ha\tb"] {
            assert!(read(broken).is_err());
        }
    }
}
