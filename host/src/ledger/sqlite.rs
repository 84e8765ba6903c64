//! The ledger of one machine: an SQLite database in the state folder, shared by any number of processes.
//!
//! It uses write-ahead mode, so that a commit needs only one fsync. Numbers are assigned in a transaction that began by
//! taking the write lock. After a write error, the connection is closed and nothing more is written through it: after a
//! failed fsync, the state in memory says nothing about the disk.

mod check;
mod files;
mod folder;
mod log;
mod rows;

use super::chain::{self, Damage, DamageKind, Hash, HashedEntry};
use super::{
    Attachment, Durability, Entry, EntryKind, Filter, Head, Labels, Ledger, LedgerError, NewEntry, Project, Survey,
    body::Pruned,
};
use crate::text;
use files::{Changed, OpenFiles};
use log::LogEnd;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

const FILE: &str = "ledger.db";
/// How long to wait for other processes.
const PATIENCE: Duration = Duration::from_secs(60);
/// `gate` in ASCII, so that `file` can tell what it is.
const APPLICATION: i64 = 0x6761_7465;
/// Version 1 had no compressed bodies, and version 2 no attachments. What they stored is read as it is.
const VERSION: i64 = 3;
/// Pages of the write-ahead log after which it is written back. Whoever opens the database first reads that log.
const LOG_PAGES: u32 = 128;

/// What is stored with runs, outside the chain. Its rows are large and written in order, so they are in the index itself.
const ATTACHMENT: (&str, &str) = (
    "attachment",
    "CREATE TABLE attachment (run TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, \
     PRIMARY KEY (run, name, part)) STRICT, WITHOUT ROWID",
);

/// `head` has one row: the last entry, and the last one that was dropped.
const SCHEMA: &[(&str, &str)] = &[
    (
        "entry",
        "CREATE TABLE entry (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, project TEXT NOT NULL, kind TEXT NOT NULL, \
         run TEXT NOT NULL, task TEXT NOT NULL, \"group\" TEXT NOT NULL, session TEXT NOT NULL, gate TEXT NOT NULL, \
         status TEXT NOT NULL, class TEXT NOT NULL, tree TEXT NOT NULL, plan TEXT NOT NULL, prev BLOB NOT NULL, \
         hash BLOB NOT NULL, digest BLOB NOT NULL) STRICT",
    ),
    ("body", "CREATE TABLE body (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    (
        "head",
        "CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL, \
         base_seq INTEGER NOT NULL, base_hash BLOB NOT NULL) STRICT",
    ),
    ATTACHMENT,
    ("entry_kind", "CREATE INDEX entry_kind ON entry (project, kind, seq)"),
    ("entry_task", "CREATE INDEX entry_task ON entry (project, task, seq) WHERE task <> ''"),
    ("entry_session", "CREATE INDEX entry_session ON entry (project, session, seq) WHERE session <> ''"),
    ("entry_run", "CREATE INDEX entry_run ON entry (run) WHERE run <> ''"),
    ("entry_tree", "CREATE INDEX entry_tree ON entry (tree) WHERE tree <> ''"),
];

/// The store.
#[derive(Debug)]
pub struct SqliteLedger {
    /// Without symlinks.
    folder: PathBuf,
    /// As the caller named it.
    named: PathBuf,
    /// The files of the database that are open, by the path at which the next process finds them.
    files: OpenFiles,
    /// Whether the write-ahead log is new, and no commit has waited for its name yet.
    is_new: AtomicBool,
    /// Whether the ledger did not end before the last entry that is known to be on the disk, when this process first read it.
    is_complete: AtomicBool,
    /// When the database was changed last by `gate`, as far as is known, and whether somebody else has changed it since.
    changed: Mutex<(Option<Changed>, bool)>,
    /// The last entry after the last write of this process; the zeroth before it.
    seen: Mutex<Head>,
    /// `None` after an error while writing.
    connection: Mutex<Option<Connection>>,
}

impl SqliteLedger {
    /// Opens the ledger in a folder, and creates both if they are missing. A folder that others can write to is refused.
    pub fn open(folder: &Path) -> Result<Self, LedgerError> {
        let named = folder;
        let folder = folder::prepare(named)?;
        let connection = connect(&folder.join(FILE)).map_err(|error| unusable(named, &error))?;
        let files = OpenFiles::of(named).map_err(|error| LedgerError::Unreadable(error.to_string()))?;
        let (is_new, connection) = (AtomicBool::new(files.log_is_empty()), Mutex::new(Some(connection)));
        let seen = Mutex::new(Head { seq: 0, hash: Hash::ZERO });
        let (is_complete, changed) = (AtomicBool::default(), Mutex::new((folder::changed(&folder), false)));
        Ok(Self { folder, named: named.to_owned(), files, is_new, is_complete, changed, seen, connection })
    }

    /// Opens the ledger in a folder, or returns `None` if there is none.
    pub fn open_existing(folder: &Path) -> Result<Option<Self>, LedgerError> {
        match folder.join(FILE).symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && folder.is_absolute() => {
                folder::anchor(folder).map_or(Ok(None), |anchor| folder::reaches(anchor, 0).map(|()| None))
            }
            // A folder that cannot be looked into is refused with its reason.
            _ => Self::open(folder).map(Some),
        }
    }

    /// Refuses a ledger that ends before an entry that is known to be on the disk.
    fn reaches_anchor(&self, connection: &Connection) -> Result<(), LedgerError> {
        // Read first: it is never ahead of the ledger.
        let anchor = folder::anchor(&self.folder);
        let last = ChainEnds::read(connection)?.head.seq;
        anchor.map_or(Ok(()), |anchor| folder::reaches(anchor, last))
    }

    /// Calls [`Self::reaches_anchor`] before the first read; every append calls it too.
    fn is_whole(&self, connection: &Connection) -> Result<(), LedgerError> {
        if !self.is_complete.load(Ordering::Relaxed) {
            self.reaches_anchor(connection)?;
            self.is_complete.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the path of the database.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        // If another thread panicked with the lock, its transaction is rolled back.
        self.connection.lock()
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        let guard = self.lock();
        let connection = guard.as_ref().ok_or_else(closed)?;
        self.files.are_at(&self.named).map_err(LedgerError::Unreadable)?;
        read(connection)
    }

    /// Runs `work` in a transaction with the write lock. An error closes the connection. With [`Durability::Power`], it returns only if
    /// the next process finds what was written.
    fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut guard = self.lock();
        let mut connection = guard.take().ok_or_else(closed)?;
        // Without this, a commit could overwrite what another process has written to the files that are there now.
        self.files.are_at(&self.named).map_err(LedgerError::Unwritable)?;
        // The first sync of a log by a process makes SQLite sync the folder too, which costs as much again. That is needed only
        // for a log that is new. An older log is synced here, after the commit and before the append returns.
        let by_sqlite = durability == Durability::Power && self.is_new.load(Ordering::Relaxed);
        let synchronous = if by_sqlite { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
        connection.execute_batch(synchronous).map_err(unwritable)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unwritable)?;
        self.is_ours(&transaction, durability)?;
        let before = if durability == Durability::Power { self.log_end(None)? } else { None };
        let done = work(&transaction)?;
        transaction.commit().map_err(unwritable)?;
        self.changed.lock().0 = files::changed(&self.folder);
        if by_sqlite {
            self.is_new.store(false, Ordering::Relaxed);
        } else if durability == Durability::Power {
            self.sync()?;
        }
        if durability == Durability::Power {
            // An executor could remove or empty a file. Its content would then be lost when this process ends.
            self.files.are_at(&folder::find(&self.named)?).map_err(LedgerError::Unwritable)?;
            self.is_logged(&mut connection, before)?;
        }
        *guard = Some(connection);
        Ok(done)
    }

    /// Looks for damage before a commit is acknowledged, if somebody else has changed the database: later processes could not
    /// find earlier entries.
    fn is_ours(&self, transaction: &Transaction<'_>, durability: Durability) -> Result<(), LedgerError> {
        let mut changed = self.changed.lock();
        let now = files::changed(&self.folder);
        // Another process writes down what it has changed.
        changed.1 |= changed.0 != now && folder::changed(&self.folder) != now;
        if changed.1 && durability == Durability::Power {
            check::structure(transaction).map_or(Ok(()), |damage| Err(LedgerError::Damaged(damage)))?;
            changed.1 = false;
        }
        Ok(())
    }

    /// Refuses a log that does not contain the commit that this process has just made. The next process reads the log from its
    /// start, so what was there `before` was read from the start, too.
    fn is_logged(&self, connection: &mut Connection, before: Option<LogEnd>) -> Result<(), LedgerError> {
        let follows = |end: Option<LogEnd>| end.is_some_and(|end| end.follows(before.as_ref()));
        if follows(self.log_end(before)?) {
            return Ok(());
        }
        // With the lock, because another process could be starting the log from its beginning.
        let locked = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unwritable)?;
        let end = self.log_end(before)?;
        drop(locked);
        if follows(end) {
            return Ok(());
        }
        Err(LedgerError::Unwritable(format!("`{FILE}-wal` was emptied or overwritten during the run")))
    }

    /// Returns how far the write-ahead log goes.
    fn log_end(&self, known: Option<LogEnd>) -> Result<Option<LogEnd>, LedgerError> {
        log::end(&self.log(), known).map_err(|error| LedgerError::Unreadable(error.to_string()))
    }

    /// Opens the write-ahead log. SQLite's locks are on other files, so it can be opened and closed here.
    fn log(&self) -> PathBuf {
        self.folder.join(format!("{FILE}-wal"))
    }

    /// Waits until all commits survive a power loss.
    fn sync(&self) -> Result<(), LedgerError> {
        let synced = std::fs::File::open(self.log()).and_then(|log| log.sync_data());
        synced.map_err(|error| LedgerError::Unwritable(error.to_string()))
    }

    /// Refuses a ledger whose end was removed: a new entry would hide that.
    fn tail(&self, transaction: &Transaction<'_>) -> Result<ChainEnds, LedgerError> {
        let tail = ChainEnds::read(transaction)?;
        let last = rows::last(transaction)?.unwrap_or(Head { seq: tail.base.seq, hash: tail.base.hash });
        if last != tail.head {
            let message = format!("expected entry {} to be the last one, found entry {}", tail.head.seq, last.seq);
            return Err(LedgerError::Damaged(Damage::new(None, DamageKind::Truncated, message)));
        }
        self.reaches_anchor(transaction)?;
        self.continues(transaction, &tail)?;
        Ok(tail)
    }

    /// Refuses a chain without the entry that this process wrote last: an older copy of the ledger is in its place.
    fn continues(&self, connection: &Connection, tail: &ChainEnds) -> Result<(), LedgerError> {
        let seen = *self.seen.lock();
        // What was dropped since is gone for a reason.
        if seen.seq <= tail.base.seq || rows::hash_at(connection, seen.seq)? == Some(seen.hash) {
            return Ok(());
        }
        let message = format!("entry {} was written during the run, and is no longer there", seen.seq);
        Err(LedgerError::Damaged(Damage::new(seen.seq, DamageKind::Removed, message)))
    }

    /// Refuses a database from which the next process would not read this entry: what is in memory here hides what somebody has
    /// written to the file.
    fn is_readable(&self, entry: &Entry) -> Result<(), LedgerError> {
        let found = self.read(|connection| {
            connection.execute_batch("PRAGMA shrink_memory").map_err(unwritable)?;
            match rows::is_found(connection, entry).map_err(unwritable)? {
                true => Ok(()),
                false => Err(LedgerError::Unwritable(format!("`{FILE}` was overwritten during the run"))),
            }
        });
        found.inspect_err(|_| *self.lock() = None)
    }
}

impl Ledger for SqliteLedger {
    fn append(
        &self,
        project: &Project,
        entries: Vec<NewEntry>,
        durability: Durability,
    ) -> Result<Vec<Entry>, LedgerError> {
        let appended = self.write(durability, |transaction| {
            let mut head = self.tail(transaction)?.head;
            let mut appended = Vec::with_capacity(entries.len());
            for mut entry in entries {
                let attachments = std::mem::take(&mut entry.attachments);
                rows::attach(transaction, &entry.labels.run, &attachments).map_err(unwritable)?;
                let (entry, digest) = next(head, project, entry);
                rows::insert(transaction, &entry, &digest).map_err(unwritable)?;
                head = Head { seq: entry.seq, hash: entry.hash };
                appended.push(entry);
            }
            rows::set_head(transaction, head).map_err(unwritable)?;
            Ok(appended)
        })?;
        if let Some(last) = appended.last() {
            let head = Head { seq: last.seq, hash: last.hash };
            *self.seen.lock() = head;
            if durability == Durability::Power {
                self.is_readable(last)?;
                folder::set_anchor(&self.folder, head, self.changed.lock().0)?;
            }
        }
        Ok(appended)
    }

    fn entries(&self, filter: &Filter) -> Result<Vec<Entry>, LedgerError> {
        self.read(|connection| {
            self.is_whole(connection)?;
            rows::select(connection, filter)
        })
    }

    fn attach(&self, run: &str, attachments: Vec<Attachment>) -> Result<(), LedgerError> {
        self.write(Durability::Process, |transaction| {
            if attachments.iter().any(|attachment| attachment.part == 0) {
                rows::forget_cut_off(transaction, run)?;
            }
            rows::attach(transaction, run, &attachments).map_err(unwritable)
        })
    }

    fn attachment(&self, run: &str, name: &str) -> Result<Vec<Vec<u8>>, LedgerError> {
        self.read(|connection| rows::attachment(connection, run, name).map_err(unreadable))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.folder.clone())
    }

    fn head(&self) -> Result<Head, LedgerError> {
        self.read(|connection| {
            self.is_whole(connection)?;
            Ok(ChainEnds::read(connection)?.head)
        })
    }

    fn verify(&self, anchor: Option<Head>) -> Result<Vec<Damage>, LedgerError> {
        self.read(|connection| {
            // One snapshot of the database, whatever other processes append meanwhile.
            let view = connection.unchecked_transaction().map_err(unreadable)?;
            let anchors = [folder::anchor(&self.folder), anchor];
            Ok(check::all(&view, &anchors.into_iter().flatten().collect::<Vec<_>>()))
        })
    }

    fn survey(&self, anchor: Option<Head>, tree: &str) -> Result<Survey, LedgerError> {
        self.read(|connection| {
            let view = connection.unchecked_transaction().map_err(unreadable)?;
            let durable = folder::anchor(&self.folder);
            let anchors: Vec<Head> = durable.into_iter().chain(anchor).collect();
            let (damages, found) = check::chain(&view, &anchors, tree);
            let entries = if damages.is_empty() { rows::at(&view, &found)? } else { Vec::new() };
            // An entry is visible a moment before its writer has synced it.
            let decides = |entry: &Entry| matches!(entry.kind, EntryKind::Run | EntryKind::Override);
            if entries.iter().any(|entry| decides(entry) && durable.is_none_or(|head| entry.seq > head.seq)) {
                self.sync()?;
            }
            Ok(Survey { damages, entries })
        })
    }

    fn prune(&self, project: &Project, up_to: u64) -> Result<Entry, LedgerError> {
        let pruned = self.write(Durability::Power, |transaction| {
            let ChainEnds { head, base } = self.tail(transaction)?;
            if up_to <= base.seq || up_to >= head.seq {
                let there = format!(
                    "the ledger has entries {} to {}, and the last one cannot be dropped",
                    base.seq + 1,
                    head.seq
                );
                return Err(LedgerError::Unwritable(format!("cannot drop entries up to {up_to}: {there}")));
            }
            let (last_hash, kinds, runs) = rows::summary(transaction, up_to)?;
            rows::drop_up_to(transaction, up_to, last_hash).map_err(unwritable)?;
            let pruned = Pruned { first: base.seq + 1, last: up_to, last_hash: last_hash.to_string(), kinds, runs };
            let (entry, digest) = next(head, project, NewEntry::new(EntryKind::Prune, Labels::default(), &pruned)?);
            rows::insert(transaction, &entry, &digest).map_err(unwritable)?;
            rows::set_head(transaction, Head { seq: entry.seq, hash: entry.hash }).map_err(unwritable)?;
            Ok(entry)
        })?;
        let head = Head { seq: pruned.seq, hash: pruned.hash };
        folder::set_anchor(&self.folder, head, self.changed.lock().0)?;
        Ok(pruned)
    }
}

/// Returns the entry that follows this head, and the digest of its body.
fn next(head: Head, project: &Project, entry: NewEntry) -> (Entry, Hash) {
    let NewEntry { kind, labels, body, .. } = entry;
    let (seq, prev, at) = (head.seq + 1, head.hash, text::timestamp(SystemTime::now()));
    let digest = chain::digest(&body);
    let parts = chain::parts(&at, project.as_str(), kind.as_str(), &labels);
    let hash = HashedEntry { prev: &prev.0, seq, parts, body: &digest.0 }.hash(&mut Vec::new());
    (Entry { seq, at, project: project.clone(), kind, labels, prev, hash, body }, digest)
}

/// The start and the end of the chain.
struct ChainEnds {
    head: Head,
    /// The last dropped entry; 0 if there is none.
    base: Head,
}

impl ChainEnds {
    fn read(connection: &Connection) -> Result<Self, LedgerError> {
        let row = connection.query_row("SELECT seq, hash, base_seq, base_hash FROM head WHERE id = 1", [], |row| {
            let head = Head { seq: rows::number(row, 0)?, hash: Hash(row.get(1)?) };
            Ok(Self { head, base: Head { seq: rows::number(row, 2)?, hash: Hash(row.get(3)?) } })
        });
        row.map_err(unreadable)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // The stored schema cannot run functions. Closing does not write back the log, because a run has waited for its entry already.
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    ] {
        connection.set_db_config(setting, on)?;
    }
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match version {
        0 => create(&mut connection)?,
        // A program that does not know compressed bodies must not take them for damaged ones.
        1 | 2 => upgrade(&mut connection)?,
        VERSION => {}
        _ => {
            let message = format!("its format is {version}, and this program knows the formats up to {VERSION}");
            return Err(rusqlite::Error::ToSqlConversionFailure(message.into()));
        }
    }
    connection.execute_batch(&format!("PRAGMA wal_autocheckpoint = {LOG_PAGES}; PRAGMA cell_size_check = ON;"))?;
    Ok(connection)
}

/// Creates the tables. If several processes start at once, one of them does it.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    // Retried while another process does the same, because SQLite does not wait for that.
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(_) => break,
            Err(error) if is_busy(&error) && std::time::Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if transaction.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? == 0 {
        for (_, sql) in SCHEMA {
            transaction.execute_batch(sql)?;
        }
        transaction.execute("INSERT INTO head VALUES (1, 0, ?1, 0, ?1)", params![Hash::ZERO.0])?;
        transaction
            .execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))?;
    }
    transaction.commit()
}

/// Adds what earlier versions did not have, unless another process has done it meanwhile.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if transaction.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? < VERSION {
        transaction.execute_batch(&format!("{}; PRAGMA user_version = {VERSION};", ATTACHMENT.1))?;
    }
    transaction.commit()
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

fn unusable(folder: &Path, error: &rusqlite::Error) -> LedgerError {
    LedgerError::Folder { folder: folder.to_owned(), why: format!("cannot open `{FILE}`: {error}") }
}

fn unwritable(error: rusqlite::Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::TooBig) => LedgerError::TooLarge,
        _ => LedgerError::Unwritable(error.to_string()),
    }
}

fn unreadable(error: rusqlite::Error) -> LedgerError {
    LedgerError::Unreadable(error.to_string())
}

fn closed() -> LedgerError {
    LedgerError::Unwritable("it was closed after an earlier error".to_owned())
}

#[cfg(test)]
mod tests;
