//! Converts entries to rows, and back.

use super::{unreadable, unwritable};
use crate::compression;
use crate::ledger::body::StepStart;
use crate::ledger::chain::{Damage, DamageKind, Hash};
use crate::ledger::{Attachment, Entry, EntryKind, Filter, Head, Labels, LedgerError, Project};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params, params_from_iter};
use std::collections::BTreeMap;

/// Every column, in the order in which [`read`] expects them, and the body last.
pub(super) const COLUMNS: &str = "entry.seq, at, project, kind, run, task, \"group\", session, gate, status, class, tree, \
                                  plan, prev, hash, digest, body.bytes";

/// The same without the body, which is most of what is stored, and as bytes: SQLite copies every text to end it with a zero.
pub(super) const LINKS: &str = "seq, CAST(at AS BLOB), CAST(project AS BLOB), CAST(kind AS BLOB), CAST(run AS BLOB), \
                                CAST(task AS BLOB), CAST(\"group\" AS BLOB), CAST(session AS BLOB), CAST(gate AS BLOB), \
                                CAST(status AS BLOB), CAST(class AS BLOB), CAST(tree AS BLOB), CAST(plan AS BLOB), prev, \
                                hash, digest";

pub(super) fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(index)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, number))
}

/// Converts a number for SQLite, which counts in `i64`. No ledger has more entries than that.
fn stored(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// Inserts an entry; `digest` is that of its body.
pub(super) fn insert(transaction: &Transaction<'_>, entry: &Entry, digest: &Hash) -> rusqlite::Result<()> {
    let Entry { seq, at, project, kind, labels, prev, hash, body } = entry;
    let Labels { run, task, group, session, gate, status, class, tree, plan } = labels;
    transaction.execute(
        "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            stored(*seq),
            at,
            project.as_str(),
            kind.as_str(),
            run,
            task,
            group,
            session,
            gate,
            status,
            class,
            tree,
            plan,
            prev.0,
            hash.0,
            digest.0
        ],
    )?;
    transaction.execute("INSERT INTO body VALUES (?1, ?2)", params![stored(*seq), compression::packed(body)])?;
    Ok(())
}

/// Inserts attachments of a run.
pub(super) fn attach(transaction: &Transaction<'_>, run: &str, attachments: &[Attachment]) -> rusqlite::Result<()> {
    for Attachment { name, part, bytes } in attachments {
        transaction.execute("INSERT INTO attachment VALUES (?1, ?2, ?3, ?4)", params![run, name, part, bytes])?;
    }
    Ok(())
}

/// Deletes the attachments of other runs that were cut off: they have no record, and their process has ended.
pub(super) fn forget_cut_off(transaction: &Transaction<'_>, run: &str) -> Result<(), LedgerError> {
    let sql = "SELECT DISTINCT run FROM attachment WHERE run <> ?1 AND NOT EXISTS \
               (SELECT 1 FROM entry WHERE entry.run = attachment.run AND entry.run <> '' AND kind = 'run')";
    let mut statement = transaction.prepare(sql).map_err(unreadable)?;
    let runs = statement.query_map([run], |row| row.get(0)).map_err(unreadable)?;
    for run in runs.collect::<rusqlite::Result<Vec<String>>>().map_err(unreadable)? {
        let starts = Filter { run: Some(run.clone()), ..Filter::default().kinds(&[EntryKind::StepStarted]) };
        let is_running = |entry: &Entry| entry.read::<StepStart>().is_ok_and(|start| start.process.is_alive());
        let starts = select(transaction, &starts)?;
        if !starts.is_empty() && !starts.iter().any(is_running) {
            transaction.execute("DELETE FROM attachment WHERE run = ?1", [run]).map_err(unwritable)?;
        }
    }
    Ok(())
}

/// Returns the parts of an attachment, in order.
pub(super) fn attachment(connection: &Connection, run: &str, name: &str) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut statement =
        connection.prepare("SELECT bytes FROM attachment WHERE run = ?1 AND name = ?2 ORDER BY part")?;
    statement.query_map([run, name], |row| row.get(0))?.collect()
}

pub(super) fn set_head(transaction: &Transaction<'_>, head: Head) -> rusqlite::Result<()> {
    transaction.execute("UPDATE head SET seq = ?1, hash = ?2", params![stored(head.seq), head.hash.0])?;
    Ok(())
}

/// Returns the entry with the greatest number.
pub(super) fn last(connection: &Connection) -> Result<Option<Head>, LedgerError> {
    let row = connection.query_row("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1", [], |row| {
        Ok(Head { seq: number(row, 0)?, hash: Hash(row.get(1)?) })
    });
    row.optional().map_err(unreadable)
}

/// Returns the hash at a number, if there is such an entry.
pub(super) fn hash_at(connection: &Connection, seq: u64) -> Result<Option<Hash>, LedgerError> {
    let hash = connection.query_row("SELECT hash FROM entry WHERE seq = ?1", [stored(seq)], |row| row.get(0));
    Ok(hash.optional().map_err(unreadable)?.map(Hash))
}

/// Returns whether an entry and its body are found by the index of its project.
pub(super) fn is_found(connection: &Connection, entry: &Entry) -> rusqlite::Result<bool> {
    let sql = "SELECT hash = ?4 FROM entry INDEXED BY entry_kind JOIN body ON body.seq = entry.seq \
               WHERE project = ?1 AND kind = ?2 AND entry.seq = ?3";
    let values = params![entry.project.as_str(), entry.kind.as_str(), stored(entry.seq), entry.hash.0];
    Ok(connection.query_row(sql, values, |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Reads one entry, and the digest that is stored with it. The body is empty if it is missing.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<(Entry, Hash, bool)> {
    let bytes: Option<Vec<u8>> = row.get(16)?;
    let kind: String = row.get(3)?;
    let kind: EntryKind = kind.parse().map_err(|error: crate::ledger::UnknownKind| {
        rusqlite::Error::FromSqlConversionFailure(3, rusqlite::types::Type::Text, error.into())
    })?;
    let labels = Labels {
        run: row.get(4)?,
        task: row.get(5)?,
        group: row.get(6)?,
        session: row.get(7)?,
        gate: row.get(8)?,
        status: row.get(9)?,
        class: row.get(10)?,
        tree: row.get(11)?,
        plan: row.get(12)?,
    };
    let there = bytes.is_some();
    let entry = Entry {
        seq: number(row, 0)?,
        at: row.get(1)?,
        project: Project(row.get(2)?),
        kind,
        labels,
        prev: Hash(row.get(13)?),
        hash: Hash(row.get(14)?),
        body: bytes.map(compression::unpacked).unwrap_or_default(),
    };
    Ok((entry, Hash(row.get(15)?), there))
}

/// Returns the selected entries, each checked against its own hash.
pub(super) fn select(connection: &Connection, filter: &Filter) -> Result<Vec<Entry>, LedgerError> {
    let (mut conditions, mut values): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    let project = filter.project.as_ref().map(|project| project.as_str().to_owned());
    for (column, value) in [
        ("project", project.as_ref()),
        ("run", filter.run.as_ref()),
        ("task", filter.task.as_ref()),
        ("\"group\"", filter.group.as_ref()),
        ("session", filter.session.as_ref()),
        ("gate", filter.gate.as_ref()),
        ("status", filter.status.as_ref()),
        ("tree", filter.tree.as_ref()),
    ] {
        let Some(value) = value else { continue };
        if value.is_empty() {
            // The index contains only entries with a value.
            conditions.push(format!("{column} = ''"));
            continue;
        }
        values.push(Value::Text(value.clone()));
        let indexed = matches!(column, "run" | "task" | "session" | "tree");
        let there = if indexed { format!(" AND {column} <> ''") } else { String::new() };
        conditions.push(format!("{column} = ?{}{there}", values.len()));
    }
    if !filter.kinds.is_empty() {
        let words: Vec<String> = filter.kinds.iter().map(|kind| format!("'{kind}'")).collect();
        conditions.push(format!("kind IN ({})", words.join(", ")));
    }
    values.push(Value::Integer(stored(filter.after)));
    conditions.push(format!("entry.seq > ?{}", values.len()));
    let mut condition = conditions.join(" AND ");
    if let Some(last) = filter.last {
        // Numbers first: otherwise every matching entry is sorted together with its content.
        condition =
            format!("entry.seq IN (SELECT seq FROM entry WHERE {condition} ORDER BY entry.seq DESC LIMIT {last})");
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM entry LEFT JOIN body ON body.seq = entry.seq WHERE {condition} ORDER BY entry.seq"
    );
    let mut statement = connection.prepare(&sql).map_err(unreadable)?;
    let mut rows = statement.query(params_from_iter(values)).map_err(unreadable)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(unreadable)? {
        entries.push(intact(row)?);
    }
    Ok(entries)
}

/// Returns the entries with these numbers, each checked against its own hash.
pub(super) fn at(connection: &Connection, numbers: &[u64]) -> Result<Vec<Entry>, LedgerError> {
    let sql = format!("SELECT {COLUMNS} FROM entry LEFT JOIN body ON body.seq = entry.seq WHERE entry.seq = ?1");
    let mut statement = connection.prepare(&sql).map_err(unreadable)?;
    let mut entries = Vec::new();
    for seq in numbers {
        let mut rows = statement.query([stored(*seq)]).map_err(unreadable)?;
        if let Some(row) = rows.next().map_err(unreadable)? {
            entries.push(intact(row)?);
        }
    }
    Ok(entries)
}

/// Returns an entry, or an error if it was altered.
fn intact(row: &Row<'_>) -> Result<Entry, LedgerError> {
    let seq = number(row, 0).map_err(unreadable)?;
    let damaged = |why: &str| LedgerError::Damaged(Damage::new(seq, DamageKind::Altered, format!("entry {seq} {why}")));
    let (entry, _, there) = read(row).map_err(|_| damaged("cannot be read"))?;
    if !there {
        return Err(damaged("has lost its content"));
    }
    if !entry.is_intact() {
        return Err(damaged("was altered"));
    }
    Ok(entry)
}

/// Returns a summary of the entries to drop: the hash of the last one, the number of each kind, and the results of the
/// runs.
#[expect(clippy::type_complexity, reason = "read once, by one caller")]
pub(super) fn summary(
    connection: &Connection,
    up_to: u64,
) -> Result<(Hash, BTreeMap<String, u64>, BTreeMap<String, u64>), LedgerError> {
    let hash = hash_at(connection, up_to)?
        .ok_or_else(|| LedgerError::Unwritable(format!("there is no entry {up_to}, so nothing can be dropped")))?;
    let count = |sql: &str| -> rusqlite::Result<BTreeMap<String, u64>> {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([stored(up_to)], |row| Ok((row.get(0)?, number(row, 1)?)))?;
        rows.collect()
    };
    let kinds = count("SELECT kind, count(*) FROM entry WHERE seq <= ?1 GROUP BY kind").map_err(unwritable)?;
    let runs = count("SELECT status, count(*) FROM entry WHERE seq <= ?1 AND kind = 'run' GROUP BY status");
    Ok((hash, kinds, runs.map_err(unwritable)?))
}

pub(super) fn drop_up_to(transaction: &Transaction<'_>, up_to: u64, hash: Hash) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM entry WHERE seq <= ?1", [stored(up_to)])?;
    transaction.execute("DELETE FROM body WHERE seq <= ?1", [stored(up_to)])?;
    transaction.execute("DELETE FROM attachment WHERE run NOT IN (SELECT run FROM entry)", [])?;
    transaction.execute("UPDATE head SET base_seq = ?1, base_hash = ?2", params![stored(up_to), hash.0])?;
    Ok(())
}
