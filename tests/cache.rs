//! The cache of compiled components never uses an entry that it did not write itself.

use crate::guests;
use gatehost::cache_store::CacheStore;
use gatehost::runtime::{Code, ComponentSource, Runtime};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn guest(name: &str) -> ComponentSource {
    ComponentSource::from_bytes(guests::component(name))
}

/// Returns where the code of a component comes from in a new process.
fn code(folder: &Path, source: &ComponentSource) -> Code {
    let runtime = Runtime::new(Some(Arc::new(CacheStore::open(folder).expect("a cache store"))));
    let code = runtime.compile(source).expect("a component");
    assert!(!runtime.needs_compiling(source), "it is there afterwards");
    code
}

fn entries(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect()
}

fn only_entry(folder: &Path) -> PathBuf {
    let entries = entries(folder, "compiled");
    assert_eq!(entries.len(), 1);
    entries[0].clone()
}

#[test]
fn a_component_is_compiled_once() {
    let folder = crate::support::tempdir().expect("a folder");
    let source = guest("another-name");
    assert_eq!(code(folder.path(), &source), Code::Compiled);
    assert_eq!(code(folder.path(), &source), Code::Cached);
    assert_eq!(code(folder.path(), &guest("confidence")), Code::Compiled);
}

#[test]
fn a_component_is_asked_once_what_it_is() {
    let folder = crate::support::tempdir().expect("a folder");
    let source = guest("forging-description");
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a thread");
    let describe = || {
        let store = CacheStore::open(folder.path()).expect("a cache store");
        let runtime = Runtime::new(Some(Arc::new(store)));
        tokio.block_on(runtime.describe(&source)).expect("a description")
    };
    let first = describe();
    assert_eq!(first.files, ["**/*\\u{1b}[2K\\nneeds     no grant\\n⟨U+202E⟩"]);
    fs::remove_file(only_entry(folder.path())).expect("removed");
    assert_eq!(describe(), first);
    assert!(entries(folder.path(), "compiled").is_empty(), "nothing was compiled to ask it");
    let [kept] = &entries(folder.path(), "description")[..] else { panic!("one description") };
    fs::write(kept, "{}").expect("written");
    assert_eq!(describe(), first);
    assert_eq!(entries(folder.path(), "compiled").len(), 1, "what was altered is not believed");
}

#[test]
fn an_altered_entry_is_compiled_anew_and_replaced() {
    let folder = crate::support::tempdir().expect("a folder");
    let source = guest("another-name");
    code(folder.path(), &source);
    let entry = only_entry(folder.path());
    let good = fs::read(&entry).expect("an entry");
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let altered = [
        flipped(0),
        flipped(31),
        flipped(32),
        flipped(good.len() / 2),
        flipped(good.len() - 1),
        good[..good.len() - 1].to_vec(),
        good[..20].to_vec(),
        Vec::new(),
    ];
    for bytes in altered {
        fs::write(&entry, bytes).expect("written");
        assert_eq!(code(folder.path(), &source), Code::Compiled);
        assert_eq!(code(folder.path(), &source), Code::Cached);
    }
}

#[test]
fn an_entry_of_another_component_or_another_cache_is_not_believed() {
    let folder = crate::support::tempdir().expect("a folder");
    let (one, two) = (guest("another-name"), guest("confidence"));
    code(folder.path(), &one);
    let of_one = only_entry(folder.path());
    let elsewhere = crate::support::tempdir().expect("a folder");
    code(elsewhere.path(), &two);
    let of_two = only_entry(elsewhere.path());
    // The other component's code under this one's name, and the right code with another cache's mark.
    fs::copy(&of_one, folder.path().join(of_two.file_name().expect("a name"))).expect("copied");
    assert_eq!(code(folder.path(), &two), Code::Compiled);
    fs::copy(&of_two, folder.path().join(of_two.file_name().expect("a name"))).expect("copied");
    assert_eq!(code(folder.path(), &two), Code::Compiled);
}

#[test]
fn a_secret_that_others_could_read_vouches_for_nothing() {
    let folder = crate::support::tempdir().expect("a folder");
    let source = guest("another-name");
    code(folder.path(), &source);
    let secret = folder.path().join("secret");
    assert_eq!(fs::metadata(&secret).expect("a secret").permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&secret, Permissions::from_mode(0o644)).expect("allowed");
    assert_eq!(code(folder.path(), &source), Code::Compiled);
    fs::write(&secret, "short").expect("written");
    assert_eq!(code(folder.path(), &source), Code::Compiled);
    assert_eq!(code(folder.path(), &source), Code::Cached);
}

#[test]
fn many_may_fill_it_at_once() {
    let folder = crate::support::tempdir().expect("a folder");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| code(folder.path(), &guest("another-name")));
        }
    });
    assert_eq!(code(folder.path(), &guest("another-name")), Code::Cached);
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 2, "the secret, the entry, and nothing half-written");
}

#[test]
fn code_that_could_not_be_kept_is_told_from_code_that_was() {
    let folder = crate::support::tempdir().expect("a folder");
    let store = Arc::new(CacheStore::open(folder.path()).expect("a cache store"));
    folder.close().expect("removed");
    for store in [Some(store), None] {
        let runtime = Runtime::new(store);
        assert_eq!(runtime.compile(&guest("another-name")).expect("a component"), Code::Unkept);
    }
}
