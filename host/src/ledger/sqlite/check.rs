//! Checks the whole ledger for entries that differ from what was appended.

use super::rows::{self, COLUMNS, LINKS};
use super::{ChainEnds, SCHEMA};
use crate::ledger::body::Pruned;
use crate::ledger::chain::{self, Damage, DamageKind, Hash, HashedEntry};
use crate::ledger::{Entry, EntryKind, Head};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// The position of the kind among the hashed parts.
const KIND: usize = 2;
/// The position of the tree among the hashed parts.
const TREE: usize = 10;
/// The most messages about a damaged file.
const MOST: u32 = 20;

/// Returns all damages. Each of `anchors` was once the last entry.
pub(super) fn all(connection: &Connection, anchors: &[Head]) -> Vec<Damage> {
    let mut damages = file(connection, "integrity_check");
    let broken = |what: &str, error: &dyn std::fmt::Display| {
        Damage::new(None, DamageKind::File, format!("{what} cannot be read: {error}"))
    };
    match ChainEnds::read(connection) {
        Ok(tail) => match walk(connection, &tail, &mut damages) {
            Ok(last) => ends(connection, &tail, last, anchors, &mut damages),
            Err(error) => damages.push(broken("the list of entries", &error)),
        },
        Err(error) => damages.push(broken("the head", &error)),
    }
    damages.dedup();
    damages
}

/// Checks the list of entries without their contents, and returns the damages and the numbers of the entries with this
/// tree. The numbers come from the list itself, not from an index.
pub(super) fn chain(connection: &Connection, anchors: &[Head], tree: &str) -> (Vec<Damage>, Vec<u64>) {
    let (mut damages, mut found) = (Vec::new(), Vec::new());
    let mut look = || -> Result<(), String> {
        let tail = ChainEnds::read(connection).map_err(|error| error.to_string())?;
        let text = |error: rusqlite::Error| error.to_string();
        let mut statement =
            connection.prepare(&format!("SELECT {LINKS} FROM entry NOT INDEXED ORDER BY seq")).map_err(text)?;
        let mut rows = statement.query([]).map_err(text)?;
        let mut before = tail.base;
        let mut pruned = None;
        let mut buffer = Vec::new();
        while let Some(row) = rows.next().map_err(text)? {
            let seq = rows::number(row, 0).map_err(text)?;
            // Borrowed from the row. Bytes that are not UTF-8 do not have the hash of the text that was appended.
            let mut columns = [&[][..]; 15];
            for (index, column) in columns.iter_mut().enumerate() {
                *column = row.get_ref(1 + index).map_err(text)?.as_bytes().map_err(|error| error.to_string())?;
            }
            let [parts @ .., prev, hash, digest] = columns;
            if seq > before.seq + 1 {
                damages.push(removed(before.seq + 1, seq - 1));
            }
            let link = HashedEntry { prev, seq, parts, body: digest };
            linked(&link, hash, before, &mut buffer, &mut damages);
            if parts[TREE] == tree.as_bytes() {
                found.push(seq);
            }
            if parts[KIND] == EntryKind::Prune.as_str().as_bytes() {
                pruned = Some(seq);
            }
            before = Head { seq, hash: Hash(hash.try_into().map_err(|_| format!("entry {seq} has no hash"))?) };
        }
        let pruned = rows::at(connection, pruned.as_slice()).map_err(|error| error.to_string())?;
        begins(&tail, pruned.first().and_then(|entry| entry.read().ok()), &mut damages);
        ends(connection, &tail, before, anchors, &mut damages);
        Ok(())
    };
    if let Err(error) = look() {
        damages.push(Damage::new(None, DamageKind::File, format!("the list of entries cannot be read: {error}")));
    }
    damages.dedup();
    (damages, found)
}

/// Returns the first damage of the tables and indexes, without looking at entries.
pub(super) fn structure(connection: &Connection) -> Option<Damage> {
    file(connection, "quick_check").into_iter().next()
}

/// Checks that the file is intact for SQLite, by this pragma, and has our tables and nothing else.
fn file(connection: &Connection, pragma: &str) -> Vec<Damage> {
    let found = || -> rusqlite::Result<Vec<Damage>> {
        let mut damages = Vec::new();
        let mut statement = connection.prepare(&format!("PRAGMA {pragma}({MOST})"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let said: String = row.get(0)?;
            if said != "ok" {
                damages.push(Damage::new(None, DamageKind::File, format!("the file is damaged: {said}")));
            }
        }
        let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let schema = rows.collect::<rusqlite::Result<BTreeMap<_, _>>>()?;
        let expected = SCHEMA.iter().map(|(name, sql)| ((*name).to_owned(), (*sql).to_owned()));
        if schema != expected.collect() {
            damages.push(Damage::new(None, DamageKind::File, "the tables differ from those that `gate` creates"));
        }
        Ok(damages)
    };
    found()
        .unwrap_or_else(|error| vec![Damage::new(None, DamageKind::File, format!("the file cannot be read: {error}"))])
}

/// Checks entry after entry, and returns the last one.
fn walk(connection: &Connection, tail: &ChainEnds, damages: &mut Vec<Damage>) -> rusqlite::Result<Head> {
    let sql = format!("SELECT {COLUMNS} FROM entry LEFT JOIN body ON body.seq = entry.seq ORDER BY entry.seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut before = tail.base;
    let mut pruned = None;
    let mut buffer = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = rows::number(row, 0)?;
        if seq > before.seq + 1 {
            damages.push(removed(before.seq + 1, seq - 1));
        }
        let read = rows::read(row);
        match &read {
            Ok((entry, digest, there)) => {
                one(entry, *digest, *there, before, &mut buffer, damages);
                before = Head { seq, hash: entry.hash };
            }
            Err(error) => {
                let message = format!("entry {seq} was altered: it cannot be read: {error}");
                damages.push(Damage::new(seq, DamageKind::Altered, message));
                // Whether the next entry follows this one is unknown.
                before = Head { seq, ..before };
            }
        }
        if let Ok((entry, ..)) = read
            && entry.kind == EntryKind::Prune
        {
            pruned = entry.read::<Pruned>().ok();
        }
    }
    begins(tail, pruned, damages);
    let orphans = "SELECT count(*) FROM body WHERE seq NOT IN (SELECT seq FROM entry)";
    let orphans: i64 = connection.query_row(orphans, [], |row| row.get(0))?;
    if orphans > 0 {
        let message = format!("contents without an entry: {orphans}");
        damages.push(Damage::new(None, DamageKind::Removed, message));
    }
    Ok(before)
}

/// Checks that an entry, except its content, is unaltered and follows the one before it.
fn linked(link: &HashedEntry<'_>, hash: &[u8], before: Head, buffer: &mut Vec<u8>, damages: &mut Vec<Damage>) {
    let seq = link.seq;
    if link.hash(buffer).0 != hash {
        damages.push(Damage::new(seq, DamageKind::Altered, format!("entry {seq} was altered")));
    }
    if link.prev != before.hash.0 && seq == before.seq + 1 {
        let why = "does not follow the one before it: an entry was altered, removed, inserted or moved";
        damages.push(Damage::new(seq, DamageKind::Unlinked, format!("entry {seq} {why}")));
    }
}

/// Checks one entry with its content.
fn one(entry: &Entry, digest: chain::Hash, there: bool, before: Head, buffer: &mut Vec<u8>, damages: &mut Vec<Damage>) {
    let Entry { seq, at, project, kind, labels, prev, hash, .. } = entry;
    let (seq, parts) = (*seq, chain::parts(at, project.as_str(), kind.as_str(), labels));
    linked(&HashedEntry { prev: &prev.0, seq, parts, body: &digest.0 }, &hash.0, before, buffer, damages);
    let mut altered =
        |why: &str| damages.push(Damage::new(seq, DamageKind::Altered, format!("entry {seq} was altered: {why}")));
    if !there {
        altered("its content is missing");
    } else if chain::digest(&entry.body) != digest {
        altered("its content differs from what was appended");
    }
}

/// Checks that the chain begins where the last `prune` entry says.
fn begins(tail: &ChainEnds, pruned: Option<Pruned>, damages: &mut Vec<Damage>) {
    let base = pruned.map_or((0, Hash::ZERO.to_string()), |pruned| (pruned.last, pruned.last_hash));
    if base != (tail.base.seq, tail.base.hash.to_string()) {
        let message = format!("the ledger starts after entry {}, and no `prune` entry explains it", tail.base.seq);
        damages.push(Damage::new(tail.base.seq + 1, DamageKind::Removed, message));
    }
}

/// Checks that no entry at the end is missing.
fn ends(connection: &Connection, tail: &ChainEnds, last: Head, anchors: &[Head], damages: &mut Vec<Damage>) {
    if last.seq < tail.head.seq {
        damages.push(truncated(last.seq + 1, tail.head.seq));
    } else if last != tail.head {
        let message = format!("entry {} is the last one, and the head says entry {}", last.seq, tail.head.seq);
        damages.push(Damage::new(last.seq, DamageKind::Unlinked, message));
    }
    for anchor in anchors {
        if anchor.seq > last.seq {
            damages.push(truncated(last.seq + 1, anchor.seq));
            continue;
        }
        let hash = match anchor.seq {
            // A pruned entry can no longer be compared.
            seq if seq < tail.base.seq => continue,
            seq if seq == tail.base.seq => Some(tail.base.hash),
            seq => rows::hash_at(connection, seq).ok().flatten(),
        };
        if hash != Some(anchor.hash) {
            let message = format!("entry {} is not the one that was anchored", anchor.seq);
            damages.push(Damage::new(anchor.seq, DamageKind::Altered, message));
        }
    }
}

fn removed(first: u64, last: u64) -> Damage {
    let message = if first == last {
        format!("entry {first} was removed")
    } else {
        format!("entries {first} to {last} were removed")
    };
    Damage::new(first, DamageKind::Removed, message)
}

fn truncated(first: u64, last: u64) -> Damage {
    let message = if first == last {
        format!("entry {first} was removed at the end")
    } else {
        format!("entries {first} to {last} were removed at the end")
    };
    Damage::new(first, DamageKind::Truncated, message)
}
