//! Finds added files that are deleted files under another name.
//!
//! As in git, files with the same bytes come first, then files that share at least half of their bytes, line by line. This
//! decides only how a change is shown.

use crate::deadline::{Deadline, Late};
use std::collections::{BTreeMap, HashMap};

/// The most pairs of files that are compared by lines. Beyond that, only equal files are renames.
const MAX_PAIRS: usize = 40_000;
/// Longer lines are split, so that a file without line ends has parts too.
const MAX_LINE: usize = 64;
/// In percent.
const MIN_SIMILAR: u64 = 50;

/// The lines of a file: how many bytes of the file each of them has.
pub(super) struct LineCounts {
    bytes: HashMap<u64, u64>,
    size: u64,
}

impl LineCounts {
    pub(super) fn of(content: &[u8]) -> Self {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut bytes = HashMap::new();
        for line in content.split_inclusive(|&byte| byte == b'\n').flat_map(|line| line.chunks(MAX_LINE)) {
            *bytes.entry(hasher.hash_one(line)).or_default() += line.len() as u64;
        }
        Self { bytes, size: content.len() as u64 }
    }

    /// Returns how much of the larger file is in the other, in percent.
    fn similar(&self, other: &Self) -> u64 {
        let common: u64 =
            self.bytes.iter().filter_map(|(line, bytes)| Some((*bytes).min(*other.bytes.get(line)?))).sum();
        (common * 100).checked_div(self.size.max(other.size)).unwrap_or(0)
    }
}

/// Returns the old path of each renamed file. Each path is used once, the most similar first.
pub(super) fn similar<'a>(
    deleted: &BTreeMap<&'a str, LineCounts>,
    added: &BTreeMap<&'a str, LineCounts>,
    deadline: &Deadline,
) -> Result<BTreeMap<&'a str, &'a str>, Late> {
    let mut renames = BTreeMap::new();
    if deleted.len().saturating_mul(added.len()) > MAX_PAIRS {
        return Ok(renames);
    }
    let mut pairs = Vec::new();
    for (&new, to) in added {
        for (&old, from) in deleted {
            deadline.check()?;
            let score = from.similar(to);
            if score >= MIN_SIMILAR {
                let is_same_name = old.rsplit('/').next() == new.rsplit('/').next();
                pairs.push((score, is_same_name, old, new));
            }
        }
    }
    pairs.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    let mut taken = std::collections::BTreeSet::new();
    for (_, _, old, new) in pairs {
        if !renames.contains_key(new) && taken.insert(old) {
            renames.insert(new, old);
        }
    }
    Ok(renames)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar<'a>(
        deleted: &BTreeMap<&'a str, LineCounts>,
        added: &BTreeMap<&'a str, LineCounts>,
    ) -> BTreeMap<&'a str, &'a str> {
        super::similar(deleted, added, &Deadline::default()).expect("no deadline")
    }

    #[test]
    fn half_of_the_lines_make_a_rename() {
        let old = "one\ntwo\nthree\nfour\n";
        for (new, expected) in [
            (old, 1),
            ("one\ntwo\nthree\n", 1),
            ("one\ntwo\nthree\nfour\nfive\nsix\nseven\n", 1),
            ("one\ntwo\n5\n6\n7\n8\n9\n10\n", 0),
            ("", 0),
        ] {
            let deleted = BTreeMap::from([("a", LineCounts::of(old.as_bytes()))]);
            let added = BTreeMap::from([("b", LineCounts::of(new.as_bytes()))]);
            assert_eq!(similar(&deleted, &added).len(), expected, "{new:?}");
        }
    }

    #[test]
    fn the_most_similar_is_taken_and_each_once() {
        let deleted = BTreeMap::from([("x/a", LineCounts::of(b"1\n2\n3\n")), ("x/b", LineCounts::of(b"1\n2\n3\n4\n"))]);
        let added = BTreeMap::from([("y/b", LineCounts::of(b"1\n2\n3\n4\n")), ("y/c", LineCounts::of(b"1\n2\n3\n"))]);
        let found: Vec<_> = similar(&deleted, &added).into_iter().collect();
        assert_eq!(found, [("y/b", "x/b"), ("y/c", "x/a")]);
    }
}
