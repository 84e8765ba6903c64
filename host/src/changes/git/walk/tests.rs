use super::*;
use crate::cache_store::CacheStore;
use crate::changes::git::id::{ObjectFormat, ObjectKind, hash};
use crate::changes::git::tree::{EntryMode, TreeEntry};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

/// The tracked files of the tests.
const TRACKED: &[&str] = &["a/b/1", "a/b/2", "a/c/3", "d/4", "d/5"];

/// Returns the stamp of a folder.
fn stamp(root: &Path, folder: &str) -> FileStamp {
    FileStamp::of(&rustix::fs::lstat(root.join(folder)).expect("a folder"))
}

/// Returns a folder as an earlier run has stored it.
fn learned(root: &Path, folder: &str) -> LearnedFolder {
    let mut entries = LearnedEntries::default();
    for entry in fs::read_dir(root.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind =
            if entry.file_type().expect("a kind").is_dir() { FileType::Directory } else { FileType::RegularFile };
        entries.add(entry.file_name().as_bytes(), kind);
    }
    LearnedFolder { path: folder.into(), stamp: stamp(root, folder), entries }
}

/// Returns everything that a walk finds: the tracked files with their sizes, and the paths that may be ignored.
fn found(work: &Workspace, known: &KnownPaths<'_>, listings: Listings) -> Vec<String> {
    let walk = TreeWalk { work, known, listings, deadline: &Deadline::default() };
    let listing = walk.list_all(&known.folders()).expect("a listing");
    let path = |number: usize| String::from_utf8_lossy(known.paths[number]);
    let tracked = listing.present.iter().map(|(number, file)| format!("{} {}", path(*number), file.size));
    let doubtful = listing.doubtful.iter().map(|(path, _)| format!("? {}", String::from_utf8_lossy(path)));
    let mut all: Vec<String> = tracked.chain(doubtful).collect();
    all.sort();
    all
}

#[test]
fn a_stored_folder_hides_nothing() {
    /// Does something to the working tree, and says which folder it changes.
    type Trick = fn(&Path) -> &'static str;
    let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file");
    let tricks: &[(&str, Trick)] = &[
        ("nothing", |_| ""),
        ("a file changes", |root| {
            fs::write(root.join("a/b/1"), "longer").expect("a file");
            ""
        }),
        ("a file is added", |root| {
            fs::write(root.join("a/b/new"), "").expect("a file");
            "a/b"
        }),
        ("a file is removed", |root| {
            fs::remove_file(root.join("d/4")).expect("removed");
            "d"
        }),
        ("a file gets another name", |root| {
            fs::rename(root.join("d/4"), root.join("d/6")).expect("renamed");
            "d"
        }),
        ("a file becomes a folder", |root| {
            fs::remove_file(root.join("d/4")).expect("removed");
            fs::create_dir(root.join("d/4")).expect("a folder");
            "d"
        }),
        ("a folder is added", |root| {
            fs::create_dir(root.join("a/new")).expect("a folder");
            "a"
        }),
        ("a folder moves and a symlink takes its place", |root| {
            fs::rename(root.join("a"), root.join("elsewhere")).expect("renamed");
            symlink("elsewhere", root.join("a")).expect("a link");
            ""
        }),
        ("a file is added, and the folder gets its old time back", |root| {
            let before = fs::metadata(root.join("a/b")).and_then(|about| about.modified()).expect("a time");
            fs::write(root.join("a/b/new"), "").expect("a file");
            fs::File::open(root.join("a/b")).and_then(|folder| folder.set_modified(before)).expect("another time");
            "a/b"
        }),
    ];
    let id = hash(ObjectFormat::Sha1, ObjectKind::Blob, b"");
    let state = IndexState { entry: Some(TreeEntry { mode: EntryMode::File, id }), ..IndexState::default() };
    let known = KnownPaths::new(TRACKED.iter().map(|path| (path.as_bytes(), Some(&state), false)));
    let top = tempfile::tempdir().expect("a folder");
    for (number, (name, trick)) in tricks.iter().enumerate() {
        let (root, cache) = (top.path().join(number.to_string()), top.path().join(format!("cache-{number}")));
        for path in TRACKED.iter().chain(&["a/c/untracked"]) {
            fs::create_dir_all(root.join(path).parent().expect("a folder")).expect("folders");
            write(root.join(path), "1");
        }
        let work = Workspace::open(&root).expect("a workspace");
        let store = Arc::new(CacheStore::open(&cache).expect("a store"));
        let stored = ["", "a", "a/b", "a/c", "d"].map(|folder| learned(&root, folder));
        Listings::timed(&store, &root).keep(&stored, known.folders().iter().map(|folder| folder.path));
        // All folders are known as they are.
        let listings = Listings::timed(&store, &root);
        assert!(stored.iter().all(|folder| listings.get(&folder.path, &folder.stamp).is_some()), "{name}");
        let changed = trick(&root);
        // The clock of the file system is coarse, so a stamp proves something only after a while. This waits for it.
        while !changed.is_empty() && stored.iter().any(|folder| folder.stamp == stamp(&root, changed)) {
            fs::write(root.join(changed).join("again"), "").expect("a file");
            fs::remove_file(root.join(changed).join("again")).expect("removed");
        }
        assert_eq!(found(&work, &known, listings), found(&work, &known, Listings::default()), "{name}");
    }
}
