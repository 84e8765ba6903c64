//! Detects whether an attempt changed anything, and whether it failed exactly like the previous one.

use crate::changes::{self, Needs, Selection};
use crate::environment::Environment;
use crate::ledger::history::failure_digest;
use crate::outcome::{NodeKind, Outcome};
use crate::record::Record;
use crate::submission::ChangeKind;
use crate::text::{self, hex};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most bytes of a file that are hashed.
const MAX_READ: u64 = 256 << 20;

/// Returns the digest of everything that differs from the base, except files that the loop writes itself. `None` if it
/// cannot be computed, which counts as a change.
pub(super) fn tree(
    folder: &Path,
    selection: &Selection,
    own: &BTreeSet<String>,
    environment: &Environment,
) -> Option<String> {
    let found = changes::collect(folder, selection, Needs::default(), environment).ok()?;
    // Renames are reported for stored files only, so a rename counts as a deletion and an addition.
    let mut entries: BTreeMap<&str, (&str, Vec<u8>)> = BTreeMap::new();
    for change in found.changes.iter().filter(|change| !own.contains(&change.path)) {
        if let Some(old) = change.old_path.as_deref() {
            entries.entry(old).or_insert(("deleted", Vec::new()));
        }
        let entry = if change.kind == ChangeKind::Deleted {
            ("deleted", Vec::new())
        } else if let Ok(target) = found.workspace.link_target(&change.path) {
            ("link", target.into_bytes())
        } else {
            let (bytes, executable) = found.workspace.read_with_mode(&change.path, MAX_READ).ok()?;
            (if executable { "program" } else { "file" }, Sha256::digest(&bytes).to_vec())
        };
        entries.insert(&change.path, entry);
    }
    let mut tree = Sha256::new();
    for (path, (kind, content)) in entries {
        for part in [path.as_bytes(), kind.as_bytes(), &content] {
            tree.update((part.len() as u64).to_le_bytes());
            tree.update(part);
        }
    }
    Some(hex(&tree.finalize()))
}

/// Returns the digest of a failure: the findings, the classes, and the output of failed commands without numbers, which may
/// be times and lines.
pub(super) fn failure(record: &Record) -> String {
    let mut digest = Sha256::new();
    digest.update(failure_digest(record));
    let failed = record.gate.walk().filter(|node| {
        node.kind == NodeKind::Check && !node.shadow && matches!(node.outcome, Outcome::Fail | Outcome::Error)
    });
    for command in failed.flat_map(|node| &node.commands) {
        digest.update([0]);
        digest.update(without_numbers(&command.output));
    }
    text::sha256(digest.finalize())
}

/// Returns the digest of the failure of an executor.
pub(super) fn executor_failure(outcome: &str, exit_code: Option<i32>, printed: &str) -> String {
    let text = format!("{outcome} {exit_code:?} {}", without_numbers(printed));
    text::sha256(Sha256::digest(text))
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lines_make_no_difference() {
        let failed = |text| executor_failure("failure", Some(1), text);
        assert_eq!(failed("a.rs:3: no such name (0.4s)"), failed("a.rs:17: no such name (12.9s)"));
        assert_ne!(failed("a.rs:3: no such name"), failed("b.rs:3: no such name"));
        assert_ne!(failed(""), executor_failure("failure", Some(2), ""));
    }
}
