//! Looking at the whole ledger: which entries are not what was appended.

use super::rows::{self, COLUMNS};
use super::{SCHEMA, Tail};
use crate::ledger::body::Pruned;
use crate::ledger::chain::{self, Damage, DamageKind, Link};
use crate::ledger::{Entry, EntryKind, Head};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// The most that is told of a damaged file.
const MOST: u32 = 20;

/// Everything that is wrong. `anchors` were once the last entry.
pub(super) fn all(connection: &Connection, anchors: &[Head]) -> Vec<Damage> {
    let mut damages = file(connection);
    let broken = |what: &str, error: &dyn std::fmt::Display| {
        Damage::new(None, DamageKind::File, format!("{what} cannot be read: {error}"))
    };
    match Tail::read(connection) {
        Ok(tail) => match walk(connection, &tail, &mut damages) {
            Ok(last) => ends(connection, &tail, last, anchors, &mut damages),
            Err(error) => damages.push(broken("the list of entries", &error)),
        },
        Err(error) => damages.push(broken("the head", &error)),
    }
    damages.dedup();
    damages
}

/// Whether the file is as SQLite wrote it, with our tables and nothing else.
fn file(connection: &Connection) -> Vec<Damage> {
    let found = || -> rusqlite::Result<Vec<Damage>> {
        let mut damages = Vec::new();
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MOST})"))?;
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
            damages.push(Damage::new(None, DamageKind::File, "the tables are not those that gate made"));
        }
        Ok(damages)
    };
    found()
        .unwrap_or_else(|error| vec![Damage::new(None, DamageKind::File, format!("the file cannot be read: {error}"))])
}

/// Go from entry to entry. The last one that is there is returned.
fn walk(connection: &Connection, tail: &Tail, damages: &mut Vec<Damage>) -> rusqlite::Result<Head> {
    let sql = format!("SELECT {COLUMNS} FROM entry LEFT JOIN body ON body.seq = entry.seq ORDER BY entry.seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut before = tail.base;
    let mut pruned = None;
    while let Some(row) = rows.next()? {
        let seq = rows::number(row, 0)?;
        if seq > before.seq + 1 {
            damages.push(removed(before.seq + 1, seq - 1));
        }
        let read = rows::read(row);
        match &read {
            Ok((entry, digest, there)) => {
                one(entry, *digest, *there, before, damages);
                before = Head { seq, hash: entry.hash };
            }
            Err(error) => {
                let message = format!("entry {seq} was altered: it cannot be read: {error}");
                damages.push(Damage::new(seq, DamageKind::Altered, message));
                // Whether the next one follows it cannot be told.
                before = Head { seq, ..before };
            }
        }
        if let Ok((entry, ..)) = read
            && entry.kind == EntryKind::Prune
        {
            pruned = entry.read::<Pruned>().ok();
        }
    }
    // Where the chain begins is said by an entry of the chain itself.
    let base = pruned.map_or((0, chain::Hash::ZERO.to_string()), |pruned| (pruned.last, pruned.last_hash));
    if base != (tail.base.seq, tail.base.hash.to_string()) {
        let message = format!("the ledger begins after entry {}, and no entry says why", tail.base.seq);
        damages.push(Damage::new(tail.base.seq + 1, DamageKind::Removed, message));
    }
    let orphans = "SELECT count(*) FROM body WHERE seq NOT IN (SELECT seq FROM entry)";
    let orphans: i64 = connection.query_row(orphans, [], |row| row.get(0))?;
    if orphans > 0 {
        let message = format!("{orphans} contents belong to no entry");
        damages.push(Damage::new(None, DamageKind::Removed, message));
    }
    Ok(before)
}

/// One entry: is it what was appended, and does it follow the one before it?
fn one(entry: &Entry, digest: chain::Hash, there: bool, before: Head, damages: &mut Vec<Damage>) {
    let Entry { seq, at, project, kind, labels, prev, hash, body } = entry;
    let link = Link { prev, seq: *seq, at, project, kind: *kind, labels, body: &digest };
    let mut damaged = |kind, why: &str| damages.push(Damage::new(*seq, kind, format!("entry {seq} {why}")));
    if link.hash() != *hash {
        damaged(DamageKind::Altered, "was altered");
    } else if !there {
        damaged(DamageKind::Altered, "was altered: its content is missing");
    } else if chain::digest(body) != digest {
        damaged(DamageKind::Altered, "was altered: its content is not what was appended");
    }
    if *prev != before.hash && *seq == before.seq + 1 {
        damaged(
            DamageKind::Unlinked,
            "does not follow the one before it: an entry was altered, removed, inserted or moved",
        );
    }
}

/// Whether the end is where it was.
fn ends(connection: &Connection, tail: &Tail, last: Head, anchors: &[Head], damages: &mut Vec<Damage>) {
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
            // What was dropped in the open can no longer be compared.
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
