//! Numbers, chain, damage, and many writers.

use super::*;
use crate::ledger::body::Note;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

fn project() -> Project {
    Project::at(Path::new("/work/sample"))
}

fn note(text: &str) -> NewEntry {
    let labels = Labels { task: "t1".to_owned(), run: format!("run-{text}"), ..Labels::default() };
    let body = Note { text: text.to_owned(), ..Note::default() };
    NewEntry::new(EntryKind::Note, labels, &body).expect("JSON")
}

fn filled(folder: &Path, count: u64) -> SqliteLedger {
    let ledger = SqliteLedger::open(folder).expect("a ledger");
    for number in 1..=count {
        let entry = ledger.append_one(&project(), note(&format!("note {number}"))).expect("appended");
        assert_eq!(entry.seq, number);
    }
    ledger
}

/// One file that holds everything.
fn written_back(ledger: SqliteLedger) -> PathBuf {
    let path = ledger.path();
    let connection = ledger.lock().take().expect("open");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written back");
    path
}

fn sql(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join(FILE)).expect("open");
    connection.execute_batch(sql).expect("done");
}

fn damages(folder: &Path) -> Vec<(Option<u64>, DamageKind)> {
    let damages = SqliteLedger::open(folder).and_then(|ledger| ledger.verify(None)).expect("looked at");
    damages.into_iter().map(|damage| (damage.seq, damage.kind)).collect()
}

#[test]
fn a_long_body_is_stored_compressed_and_read_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 1);
    let long = "a long note. ".repeat(10_000);
    ledger.append_one(&project(), note(&long)).expect("appended");
    let size = "SELECT length(bytes) FROM body WHERE seq = 2";
    let size = |connection: &Connection| connection.query_row(size, [], |row| rows::number(row, 0)).map_err(unreadable);
    let stored = ledger.read(size).expect("a size");
    assert!(stored * 50 < long.len() as u64, "{stored}");
    let entries = ledger.entries(&Filter::of(&project())).expect("entries");
    assert_eq!(entries[1].read::<Note>().expect("a note").text, long);
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    drop(ledger);
    sql(folder.path(), "UPDATE body SET bytes = substr(bytes, 1, 40) WHERE seq = 2");
    assert_eq!(damages(folder.path()), [(Some(2), DamageKind::Altered)]);
}

#[test]
fn attachments_of_a_run_that_was_cut_off_are_deleted_by_the_next_one() {
    use crate::ledger::body::{Process, StepStart};
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = SqliteLedger::open(folder.path()).expect("a ledger");
    let attach = |run: &str| {
        ledger.attach(run, vec![Attachment { name: "commands", part: 0, bytes: vec![7; 3_000] }]).expect("attached");
    };
    let append = |run: &str, kind, process| {
        let body = StepStart { step: "gate".to_owned(), process, ..StepStart::default() };
        let labels = Labels { run: run.to_owned(), ..Labels::default() };
        ledger.append_one(&project(), NewEntry::new(kind, labels, &body).expect("JSON")).expect("appended");
    };
    let ended = || Process { started: 0, ..Process::this() };
    for (run, process) in [("killed", ended()), ("recorded", ended()), ("running", Process::this())] {
        append(run, EntryKind::StepStarted, process);
        if run == "recorded" {
            append(run, EntryKind::Run, ended());
        }
        attach(run);
    }
    attach("next");
    for (run, expected) in [("killed", 0), ("recorded", 1), ("running", 1), ("next", 1)] {
        assert_eq!(ledger.attachment(run, "commands").expect("read").len(), expected, "{run}");
    }
}

#[test]
fn what_is_too_large_for_the_database_has_an_error_of_its_own() {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG);
    let error = unwritable(rusqlite::Error::SqliteFailure(code, None));
    assert!(matches!(error, LedgerError::TooLarge), "{error}");
    assert!(error.hint().contains("limits.findings"));
}

#[test]
fn a_ledger_of_format_1_is_read_and_gets_the_new_format() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(filled(folder.path(), 2));
    let opened = |format: i64| {
        sql(folder.path(), &format!("DROP TABLE IF EXISTS attachment; PRAGMA user_version = {format}"));
        SqliteLedger::open(folder.path())
    };
    let ledger = opened(1).expect("a ledger");
    let format = ledger.read(|connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).map_err(unreadable)
    });
    assert_eq!(format.expect("a number"), VERSION);
    assert_eq!(ledger.entries(&Filter::of(&project())).expect("entries").len(), 2);
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    drop(ledger);
    let ledger = opened(2).expect("a ledger");
    let attachment = Attachment { name: "inputs", part: 0, bytes: vec![1] };
    ledger.attach("run", vec![attachment]).expect("attached");
    assert_eq!(ledger.attachment("run", "inputs").expect("read"), [[1]]);
    drop(ledger);
    let refused = opened(VERSION + 1).expect_err("an unknown format").to_string();
    assert!(refused.contains("knows the formats up to"), "{refused}");
}

#[test]
fn entries_are_numbered_and_chained() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 3);
    let entries = ledger.entries(&Filter::of(&project())).expect("entries");
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(entries[0].prev, Hash::ZERO);
    assert_eq!(entries[2].prev, entries[1].hash);
    assert_eq!(ledger.head().expect("a head"), Head { seq: 3, hash: entries[2].hash });
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    let texts: Vec<String> = entries.iter().map(|entry| entry.read::<Note>().expect("a note").text).collect();
    assert_eq!(texts, ["note 1", "note 2", "note 3"]);
}

#[test]
fn entries_are_found_by_what_they_are_about() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 5);
    let other = Project::at(Path::new("/elsewhere"));
    ledger.append_one(&other, note("6")).expect("appended");
    let seqs = |filter: Filter| -> Vec<u64> {
        ledger.entries(&filter).expect("entries").iter().map(|entry| entry.seq).collect()
    };
    let all = Filter::default;
    assert_eq!(seqs(Filter::of(&other)), [6]);
    assert_eq!(seqs(Filter { run: Some("run-note 2".to_owned()), ..all() }), [2]);
    assert_eq!(seqs(Filter { after: 3, ..Filter::of(&project()) }), [4, 5]);
    assert_eq!(seqs(Filter { last: Some(2), ..all() }), [5, 6]);
    assert_eq!(seqs(all().kinds(&[EntryKind::Run])), [0u64; 0]);
    assert_eq!(seqs(Filter { task: Some("t1".to_owned()), last: Some(1), ..all() }), [6]);
    assert_eq!(seqs(Filter { task: Some(String::new()), ..all() }), [0u64; 0]);
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    drop(SqliteLedger::open(&state).expect("made"));
    assert_eq!(fs::metadata(&state).expect("there").permissions().mode() & 0o777, 0o700);
    for file in fs::read_dir(&state).expect("files") {
        let file = file.expect("a file");
        let mode = file.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
    fs::set_permissions(&state, fs::Permissions::from_mode(0o770)).expect("set");
    let error = SqliteLedger::open(&state).expect_err("refused").to_string();
    assert!(error.contains("it is writable by other users"), "{error}");
}

#[test]
fn whatever_is_done_to_an_entry_is_named() {
    use DamageKind::{Altered, File, Removed, Truncated, Unlinked};
    for (what, expected) in [
        (
            "UPDATE body SET bytes = CAST(replace(bytes, 'note 2', 'note 7') AS BLOB) WHERE seq = 2",
            vec![(Some(2), Altered)],
        ),
        ("UPDATE entry SET status = 'pass' WHERE seq = 2", vec![(Some(2), Altered)]),
        ("UPDATE entry SET at = '2020' WHERE seq = 3", vec![(Some(3), Altered)]),
        ("UPDATE entry SET project = '/x' WHERE seq = 1", vec![(Some(1), Altered)]),
        ("UPDATE entry SET kind = 'run' WHERE seq = 4", vec![(Some(4), Altered)]),
        ("UPDATE entry SET kind = 'odd' WHERE seq = 4", vec![(Some(4), Altered), (Some(5), Unlinked)]),
        ("UPDATE entry SET digest = zeroblob(32) WHERE seq = 4", vec![(Some(4), Altered)]),
        ("DELETE FROM body WHERE seq = 4", vec![(Some(4), Altered)]),
        ("UPDATE entry SET hash = zeroblob(32) WHERE seq = 2", vec![(Some(2), Altered), (Some(3), Unlinked)]),
        ("DELETE FROM entry WHERE seq = 2; DELETE FROM body WHERE seq = 2", vec![(Some(2), Removed)]),
        ("DELETE FROM entry WHERE seq = 1; DELETE FROM body WHERE seq = 1", vec![(Some(1), Removed)]),
        (
            "DELETE FROM entry WHERE seq = 5; DELETE FROM body WHERE seq = 5",
            vec![(Some(5), Truncated), (Some(5), Truncated)],
        ),
        (
            "DELETE FROM entry WHERE seq = 5; DELETE FROM body WHERE seq = 5; \
             UPDATE head SET seq = 4, hash = (SELECT hash FROM entry WHERE seq = 4)",
            vec![(Some(5), Truncated)],
        ),
        (
            "UPDATE entry SET seq = 9 WHERE seq = 2; UPDATE entry SET seq = 2 WHERE seq = 3; \
             UPDATE entry SET seq = 3 WHERE seq = 9",
            vec![(Some(2), Altered), (Some(2), Unlinked), (Some(3), Altered), (Some(3), Unlinked), (Some(4), Unlinked)],
        ),
        (
            "INSERT INTO entry SELECT 6, at, project, kind, run, task, \"group\", session, gate, status, class, tree, plan, \
             prev, hash, digest FROM entry WHERE seq = 5; INSERT INTO body SELECT 6, bytes FROM body WHERE seq = 5",
            vec![(Some(6), Altered), (Some(6), Unlinked), (Some(6), Unlinked)],
        ),
        ("UPDATE head SET base_seq = 2", vec![(Some(3), Removed)]),
        ("INSERT INTO body VALUES (77, x'00')", vec![(None, Removed)]),
        ("DROP INDEX entry_task", vec![(None, File)]),
        ("CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END", vec![(None, File)]),
        ("DELETE FROM head", vec![(None, File)]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        written_back(filled(folder.path(), 5));
        sql(folder.path(), what);
        let mut found = damages(folder.path());
        found.dedup();
        let mut expected = expected;
        expected.dedup();
        // Whatever follows from the first damage may be told besides.
        for damage in &expected {
            assert!(found.contains(damage), "{what}\nexpected {expected:?}\nfound {found:?}");
        }
    }
}

#[test]
fn a_survey_finds_what_an_index_hides() {
    let folder = tempfile::tempdir().expect("a folder");
    let labels = Labels { tree: "sha256:t".to_owned(), ..Labels::default() };
    let ledger = filled(folder.path(), 3);
    let entry = NewEntry::new(EntryKind::Note, labels, &Note::default()).expect("JSON");
    ledger.append_one(&project(), entry).expect("appended");
    let survey = ledger.survey(None, "sha256:t").expect("looked at");
    assert_eq!((survey.damages.len(), survey.entries.len(), survey.entries[0].seq), (0, 1, 4));
    assert_eq!(ledger.survey(None, "sha256:u").expect("looked at").entries, []);
    written_back(ledger);
    let root = "(SELECT rootpage FROM sqlite_schema WHERE name = 'entry_tree')";
    let connection = Connection::open(folder.path().join(FILE)).expect("open");
    let page: i64 = connection.query_row(&format!("SELECT {root}"), [], |row| row.get(0)).expect("a page");
    drop(connection);
    // An index that forgot everything: a leaf without cells.
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).expect("the file");
    let start = usize::try_from(page - 1).expect("a page") * 4096;
    bytes[start..start + 4096].fill(0);
    bytes[start] = 10;
    bytes[start + 5..start + 7].copy_from_slice(&4096u16.to_be_bytes());
    fs::write(&path, bytes).expect("written");
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    let by_index = Filter { tree: Some("sha256:t".to_owned()), ..Filter::default() };
    assert_eq!(ledger.entries(&by_index).expect("entries"), []);
    assert_eq!(ledger.survey(None, "sha256:t").expect("looked at").entries.len(), 1);
    assert!(!ledger.verify(None).expect("looked at").is_empty());
}

#[test]
fn nothing_is_appended_where_the_end_was_cut_off() {
    for what in [
        "DELETE FROM entry WHERE seq = 5",
        "DELETE FROM entry WHERE seq = 5; UPDATE head SET seq = 4, hash = (SELECT hash FROM entry WHERE seq = 4)",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        written_back(filled(folder.path(), 5));
        sql(folder.path(), what);
        let ledger = SqliteLedger::open(folder.path()).expect("open");
        let error = ledger.append_one(&project(), note("x")).expect_err("refused");
        assert!(matches!(error, LedgerError::Damaged(_)), "{error}");
    }
}

#[test]
fn nothing_is_acknowledged_after_the_file_was_removed_or_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |ledger: &SqliteLedger| {
        let error = ledger.append_one(&project(), note("lost")).expect_err("refused").to_string();
        assert!(error.contains("removed or replaced"), "{error}");
    };
    let ledger = filled(folder.path(), 2);
    for name in [FILE, "ledger.db-wal", "ledger.db-shm"] {
        fs::remove_file(folder.path().join(name)).expect("removed");
    }
    refused(&ledger);
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 2);
    fs::rename(folder.path().join(FILE), folder.path().join("old")).expect("renamed");
    fs::copy(folder.path().join("old"), folder.path().join(FILE)).expect("copied");
    refused(&ledger);
}

#[test]
fn a_path_that_is_relative_or_too_long_is_refused_with_its_reason() {
    for opened in
        [SqliteLedger::open(Path::new("state")), SqliteLedger::open_existing(Path::new("a")).map(Option::unwrap)]
    {
        let error = opened.expect_err("refused").to_string();
        assert!(error.contains("its path is relative"), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    for length in [470, 480, 481, 500, 520] {
        let mut path = folder.clone();
        while path.as_os_str().len() + 1 < length {
            path.push("x".repeat((length - path.as_os_str().len() - 1).min(100)));
        }
        let refused = SqliteLedger::open(&path).and_then(|ledger| ledger.append_one(&project(), note("1"))).err();
        let length = path.as_os_str().len();
        assert_eq!(refused.is_some(), length > 480, "{length}: {refused:?}");
        assert!(refused.is_none_or(|error| error.to_string().contains("more than 480 bytes")));
    }
}

#[test]
fn nothing_is_acknowledged_while_pages_of_the_database_are_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written_back(filled(folder.path(), 60));
    let pages = fs::metadata(&path).expect("there").len() / 4096;
    let original = fs::read(&path).expect("the file");
    for page in 2..pages {
        fs::write(&path, &original).expect("written");
        let ledger = SqliteLedger::open(folder.path()).expect("open");
        let file = fs::File::options().write(true).open(&path).expect("the file");
        std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4096], page * 4096).expect("overwritten");
        ledger.append_one(&project(), note("lost")).expect_err("during the run");
        let after = SqliteLedger::open(folder.path()).and_then(|ledger| ledger.append_one(&project(), note("lost")));
        after.expect_err("the next run");
    }
    fs::write(&path, &original).expect("written");
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    assert_eq!(ledger.append_one(&project(), note("61")).expect("appended").seq, 61);
}

#[test]
fn nothing_is_acknowledged_without_the_file_of_the_last_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 2);
    let head = folder.path().join("ledger.head");
    fs::remove_file(&head).expect("removed");
    fs::create_dir(&head).expect("made");
    let error = ledger.append_one(&project(), note("lost")).expect_err("refused").to_string();
    assert!(error.contains("cannot write `ledger.head`"), "{error}");
    let error = SqliteLedger::open(folder.path()).expect_err("refused").to_string();
    assert!(error.contains("`ledger.head` in it is not a regular file"), "{error}");
}

#[test]
fn a_ledger_that_lost_its_end_is_not_read_as_a_shorter_one() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(filled(folder.path(), 2));
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        fs::remove_file(folder.path().join(name)).expect("removed");
    }
    let ledger = SqliteLedger::open(folder.path());
    let read = ledger.and_then(|ledger| ledger.entries(&Filter::default()));
    assert!(matches!(read, Err(LedgerError::Damaged(_))), "{read:?}");
    fs::remove_file(folder.path().join(FILE)).expect("removed");
    let opened = SqliteLedger::open_existing(folder.path());
    assert!(matches!(opened, Err(LedgerError::Damaged(_))), "{opened:?}");
}

#[test]
fn nothing_is_acknowledged_after_the_log_was_cut_or_overwritten() {
    let log = |folder: &Path| folder.join("ledger.db-wal");
    let cut = |folder: &Path, to: u64| {
        let file = fs::File::options().write(true).open(log(folder)).expect("the log");
        let length = file.metadata().expect("a length").len();
        file.set_len(length * to / 10).expect("cut");
    };
    let zeros = |folder: &Path, from: usize| {
        let mut bytes = fs::read(log(folder)).expect("the log");
        bytes[from..].fill(0);
        std::os::unix::fs::FileExt::write_all_at(
            &fs::File::options().write(true).open(log(folder)).expect("the log"),
            &bytes,
            0,
        )
        .expect("written");
    };
    type Tamper<'a> = (&'a str, &'a dyn Fn(&Path));
    let byte = |folder: &Path, at: u64| {
        let file = fs::File::options().write(true).open(log(folder)).expect("the log");
        std::os::unix::fs::FileExt::write_all_at(&file, b"X", at).expect("written");
    };
    let tampers: [Tamper<'_>; 6] = [
        ("emptied", &|folder| cut(folder, 0)),
        ("cut to its beginning", &|folder| cut(folder, 1)),
        ("cut in the middle", &|folder| cut(folder, 5)),
        ("its header overwritten", &|folder| zeros(folder, 0)),
        ("a byte of its first page overwritten", &|folder| byte(folder, 3_000)),
        ("its second half overwritten", &|folder| zeros(folder, 50_000)),
    ];
    for (what, tamper) in tampers {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = filled(folder.path(), 5);
        tamper(folder.path());
        ledger.append_one(&project(), note("lost")).expect_err(what);
        ledger.append_one(&project(), note("lost too")).expect_err("it is closed");
    }
}

#[test]
fn what_is_stored_with_a_run_is_dropped_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = SqliteLedger::open(folder.path()).expect("a ledger");
    let attachment = |part: u32| Attachment { name: "commands", part, bytes: vec![7; 3_000 + part as usize] };
    for number in 1..=4 {
        ledger.attach(&format!("run-{number}"), vec![attachment(0)]).expect("attached");
        let entry = note(&number.to_string());
        ledger.append_one(&project(), NewEntry { attachments: vec![attachment(1)], ..entry }).expect("appended");
    }
    ledger.attach("run-3", vec![attachment(1)]).expect_err("a part is stored once");
    let ledger = SqliteLedger::open(folder.path()).expect("a ledger");
    let sizes =
        |run: &str| -> Vec<usize> { ledger.attachment(run, "commands").expect("read").iter().map(Vec::len).collect() };
    assert_eq!((sizes("run-2"), sizes("run-4"), sizes("run-9")), (vec![3_000, 3_001], vec![3_000, 3_001], vec![]));
    ledger.prune(&project(), 2).expect("pruned");
    assert_eq!((sizes("run-2"), sizes("run-3")), (vec![], vec![3_000, 3_001]));
    assert_eq!(ledger.verify(None).expect("looked at"), []);
}

#[test]
fn an_anchor_that_was_kept_elsewhere_names_an_old_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 2);
    let early = ledger.head().expect("a head");
    let ledger = {
        let path = written_back(ledger);
        fs::copy(&path, folder.path().join("old")).expect("copied");
        filled_on(folder.path())
    };
    let late = ledger.head().expect("a head");
    assert_eq!(ledger.verify(Some(early)).expect("looked at"), []);
    assert_eq!(late.to_string().parse::<Head>(), Ok(late));
    drop(ledger);
    // Everything that is kept beside it was restored or deleted too.
    for file in ["ledger.db-wal", "ledger.db-shm", "ledger.head"] {
        let _ = fs::remove_file(folder.path().join(file));
    }
    fs::rename(folder.path().join("old"), folder.path().join(FILE)).expect("restored");
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    let damages = ledger.verify(Some(late)).expect("looked at");
    assert_eq!(damages.len(), 1);
    assert_eq!((damages[0].seq, damages[0].kind), (Some(3), DamageKind::Truncated));
    let forged = Head { hash: Hash::ZERO, ..early };
    assert_eq!(ledger.verify(Some(forged)).expect("looked at").len(), 1);
}

fn filled_on(folder: &Path) -> SqliteLedger {
    let ledger = SqliteLedger::open(folder).expect("open");
    ledger.append_one(&project(), note("one more")).expect("appended");
    ledger
}

#[test]
fn what_was_pruned_leaves_a_chain_that_can_be_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 6);
    let entry = ledger.prune(&project(), 4).expect("pruned");
    let pruned: Pruned = entry.read().expect("a body");
    assert_eq!((entry.seq, pruned.first, pruned.last), (7, 1, 4));
    assert_eq!(pruned.kinds.get("note"), Some(&4));
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    ledger.append_one(&project(), note("8")).expect("appended");
    ledger.prune(&project(), 6).expect("pruned again");
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    let left: Vec<u64> = ledger.entries(&Filter::default()).expect("entries").iter().map(|entry| entry.seq).collect();
    assert_eq!(left, [7, 8, 9]);
    drop(ledger);
    sql(folder.path(), "DELETE FROM entry WHERE seq = 7; DELETE FROM body WHERE seq = 7; UPDATE head SET base_seq = 7");
    assert!(!damages(folder.path()).is_empty());
}

#[test]
fn pruning_never_takes_the_last_entry_or_what_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    for up_to in [0, 3, 4, u64::MAX] {
        let ledger = filled(&folder.path().join(up_to.to_string()), 3);
        assert!(ledger.prune(&project(), up_to).is_err(), "{up_to}");
    }
}

#[test]
fn many_writers_neither_lose_an_entry_nor_fork_the_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writers, each) = (8, 25);
    let folder = Arc::new(folder);
    let threads: Vec<_> = (0..writers)
        .map(|writer| {
            let folder = Arc::clone(&folder);
            std::thread::spawn(move || {
                // Each with a connection of its own, as processes have.
                let ledger = SqliteLedger::open(folder.path()).expect("open");
                for number in 0..each {
                    let entry = note(&format!("{writer} {number}"));
                    ledger.append(&project(), vec![entry], Durability::Process).expect("appended");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    assert_eq!(ledger.verify(None).expect("looked at"), []);
    let entries = ledger.entries(&Filter::default()).expect("entries");
    assert_eq!(entries.len(), writers * each);
    for writer in 0..writers {
        let mine: Vec<String> = entries
            .iter()
            .map(|entry| entry.read::<Note>().expect("a note").text)
            .filter(|text| text.starts_with(&format!("{writer} ")))
            .collect();
        assert_eq!(mine, (0..each).map(|number| format!("{writer} {number}")).collect::<Vec<_>>());
    }
}

#[test]
fn several_entries_are_appended_together_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = filled(folder.path(), 1);
    let appended = ledger.append(&project(), vec![note("a"), note("b")], Durability::Power).expect("appended");
    assert_eq!(appended.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(appended[1].prev, appended[0].hash);
    sql(folder.path(), "DELETE FROM entry WHERE seq = 3");
    assert!(ledger.append(&project(), vec![note("c")], Durability::Power).is_err());
    // After an error, nothing more is written through the same connection.
    let error = ledger.append(&project(), vec![note("d")], Durability::Power).expect_err("closed").to_string();
    assert!(error.contains("closed after an earlier error"), "{error}");
}

/// Do something to a file at every `step`th byte: what is wrong is named, or nothing that anybody reads has changed.
fn at_every(step: usize, tamper: impl Fn(&[u8], usize) -> Vec<u8> + Sync) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written_back(filled(folder.path(), 4));
    let original = fs::read(&path).expect("the file");
    let truth = SqliteLedger::open(folder.path()).expect("open").entries(&Filter::default()).expect("entries");
    let anchor = fs::read(folder.path().join("ledger.head")).expect("an anchor");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (original, truth, tamper, anchor) = (&original, &truth, &tamper, &anchor);
            scope.spawn(move || {
                let folder = tempfile::tempdir().expect("a folder");
                drop(SqliteLedger::open(folder.path()).expect("made"));
                fs::write(folder.path().join("ledger.head"), anchor).expect("written");
                let path = folder.path().join(FILE);
                for index in (thread * step..original.len()).step_by(threads * step) {
                    let bytes = tamper(original, index);
                    for beside in ["ledger.db-wal", "ledger.db-shm"] {
                        let _ = fs::remove_file(folder.path().join(beside));
                    }
                    fs::write(&path, &bytes).expect("written");
                    let Ok(ledger) = SqliteLedger::open(folder.path()) else { continue };
                    let Ok(damages) = ledger.verify(None) else { continue };
                    if damages.is_empty() && bytes != *original {
                        let entries = ledger.entries(&Filter::default());
                        assert!(entries.is_ok_and(|entries| entries == *truth), "byte {index} was not noticed");
                    }
                }
            });
        }
    });
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x41;
    bytes
}

fn deleted(bytes: &[u8], at: usize) -> Vec<u8> {
    [&bytes[..at], &bytes[at + 1..]].concat()
}

fn swapped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let next = (at + 1) % bytes.len();
    bytes.swap(at, next);
    bytes
}

fn cut(bytes: &[u8], at: usize) -> Vec<u8> {
    bytes[..at].to_vec()
}

#[test]
fn tampering_with_a_byte_is_noticed() {
    for tamper in [flipped, deleted, swapped, cut] {
        at_every(197, tamper);
    }
}

#[test]
#[ignore = "four things to every byte of a ledger: minutes"]
fn tampering_with_any_byte_is_noticed() {
    for tamper in [flipped, deleted, swapped, cut] {
        at_every(1, tamper);
    }
}

#[test]
fn a_ledger_whose_beginning_was_cut_off_proves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    written_back(filled(folder.path(), 5));
    // As if entries up to 2 had been dropped in the open.
    let what = "UPDATE head SET base_seq = 2, base_hash = (SELECT hash FROM entry WHERE seq = 2); \
                DELETE FROM entry WHERE seq <= 2; DELETE FROM body WHERE seq <= 2";
    sql(folder.path(), what);
    let ledger = SqliteLedger::open(folder.path()).expect("open");
    let kinds = |damages: Vec<Damage>| damages.into_iter().map(|damage| damage.kind).collect::<Vec<_>>();
    assert_eq!(kinds(ledger.survey(None, "sha256:t").expect("looked at").damages), [DamageKind::Removed]);
    assert_eq!(kinds(ledger.verify(None).expect("looked at")), [DamageKind::Removed]);
}
