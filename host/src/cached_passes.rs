//! What verifiers passed before: asked once, not again.
//!
//! Only a verdict that depends on nothing but what it is remembered under is remembered: a file verifier without grants,
//! whose sandbox is the same in every call, is a function of its component, its settings, its limits, the path and the
//! bytes. And only a bare pass is: what has something to say says it each time. What another build of this program passed,
//! the cache store does not find.

use crate::cache_store::{CacheStore, Kind};
use crate::limits::Limits;
use crate::runtime::FileInput;
use crate::verdict::{Status, Verdict};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::sync::Arc;

/// The most passes that are remembered for one verifier with its settings; those that were not seen for longest go.
const MOST: usize = 1 << 16;

/// What one verifier, with certain settings and limits, passed before.
#[derive(Debug)]
pub(crate) struct CachedPasses {
    store: Arc<CacheStore>,
    key: blake3::Hash,
    /// Records in order, as they were kept: searched in place, since most runs ask for few of many.
    before: Vec<u8>,
    now: Mutex<Vec<Input>>,
}

/// The digest of a path and its bytes.
type Input = [u8; blake3::OUT_LEN];

const TIME: usize = size_of::<u32>();
/// An input, and when it was seen last: in which of the runs that kept something. Big-endian, to be ordered as bytes.
type Record = [u8; blake3::OUT_LEN + TIME];

fn record(input: &Input, time: u32) -> Record {
    let mut record = [0; _];
    let (of_input, of_time) = record.split_at_mut(blake3::OUT_LEN);
    of_input.copy_from_slice(input);
    of_time.copy_from_slice(&time.to_be_bytes());
    record
}

fn input_of(record: &Record) -> &[u8] {
    &record[..blake3::OUT_LEN]
}

fn time_of(record: &Record) -> u32 {
    record.last_chunk().map_or(0, |time: &[u8; TIME]| u32::from_be_bytes(*time))
}

impl CachedPasses {
    /// Recalls what the component with this digest passed before.
    pub(crate) fn of(store: &Arc<CacheStore>, component: &str, settings: &str, limits: &Limits) -> Self {
        let mut key = blake3::Hasher::new();
        for part in [component, settings, &format!("{limits:?}")] {
            add(&mut key, part.as_bytes());
        }
        let key = key.finalize();
        let before = store.get(Kind::Passes, &key).unwrap_or_default();
        Self { store: Arc::clone(store), key, before, now: Mutex::default() }
    }

    /// What is judged, in short: `content` is the digest of its bytes.
    pub(crate) fn input(file: &FileInput, content: &[u8]) -> Input {
        let mut input = blake3::Hasher::new();
        add(&mut input, file.path.as_bytes());
        add(&mut input, content);
        add(&mut input, &[u8::from(file.executable), u8::from(file.missing), u8::from(file.link_target.is_some())]);
        add(&mut input, file.link_target.as_deref().unwrap_or_default().as_bytes());
        *input.finalize().as_bytes()
    }

    /// Whether it passed before.
    pub(crate) fn passed(&self, input: &Input) -> bool {
        let passed = self.contains(input);
        if passed {
            self.seen(*input);
        }
        passed
    }

    /// Remembers a verdict, if it is one to remember.
    pub(crate) fn learn(&self, input: Input, verdict: &Verdict) {
        if *verdict == Verdict::of(Status::Pass) {
            self.seen(input);
        }
    }

    /// Keeps what was learned for later runs. A failure costs time and nothing else, so it is not reported.
    pub(crate) fn keep(&self) {
        let mut now = std::mem::take(&mut *self.now.lock());
        now.sort_unstable();
        now.dedup();
        if now.iter().all(|input| self.contains(input)) {
            return;
        }
        let time = self.records().iter().map(time_of).max().map_or(0, |last| last.saturating_add(1));
        let others = self
            .records()
            .iter()
            .filter(|record| now.binary_search_by(|input| input.as_slice().cmp(input_of(record))).is_err());
        let mut records: Vec<Record> = now.iter().map(|input| record(input, time)).chain(others.copied()).collect();
        if records.len() > MOST {
            records.sort_unstable_by_key(|record| Reverse(time_of(record)));
            records.truncate(MOST);
        }
        records.sort_unstable();
        let _ = self.store.put(Kind::Passes, &self.key, records.as_flattened());
    }

    fn records(&self) -> &[Record] {
        self.before.as_chunks().0
    }

    fn contains(&self, input: &Input) -> bool {
        self.records().binary_search_by(|record| input_of(record).cmp(input)).is_ok()
    }

    fn seen(&self, input: Input) {
        self.now.lock().push(input);
    }
}

/// With its length before it, so that no two lists of parts are the same bytes.
fn add(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{ErrorKind, Failure};

    fn input(path: &str, content: &[u8]) -> Input {
        CachedPasses::input(&FileInput::new(path, content), content)
    }

    fn store() -> (tempfile::TempDir, Arc<CacheStore>) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(CacheStore::open(folder.path()).expect("a cache store"));
        (folder, store)
    }

    #[test]
    fn a_pass_is_remembered_for_exactly_what_passed() {
        let (_folder, store) = store();
        let limits = Limits::default();
        let judged = input("a.json", b"[]");
        let first = CachedPasses::of(&store, "sha256:1", "{}", &limits);
        assert!(!first.passed(&judged));
        first.learn(judged, &Verdict::of(Status::Pass));
        first.keep();
        let recall = |component, settings, limits: &Limits| CachedPasses::of(&store, component, settings, limits);
        assert!(recall("sha256:1", "{}", &limits).passed(&judged));
        assert!(!recall("sha256:2", "{}", &limits).passed(&judged), "another component");
        assert!(!recall("sha256:1", "{\"a\":1}", &limits).passed(&judged), "other settings");
        let less = Limits { memory: 1 << 20, ..Limits::default() };
        assert!(!recall("sha256:1", "{}", &less).passed(&judged), "other limits");
        let again = recall("sha256:1", "{}", &limits);
        assert!(!again.passed(&input("b.json", b"[]")), "another path");
        assert!(!again.passed(&input("a.json", b"[ ]")), "other bytes");
        assert!(!again.passed(&input("a.json[", b"]")), "another border between the two");
    }

    #[test]
    fn nothing_but_a_bare_pass_is_remembered() {
        let (_folder, store) = store();
        let cached = CachedPasses::of(&store, "sha256:1", "{}", &Limits::default());
        let said = Verdict { summary: "all well".to_owned(), ..Verdict::of(Status::Pass) };
        let broken = Verdict::from(Failure::new(ErrorKind::LimitTime, "late"));
        let others = [Verdict::of(Status::Fail), Verdict::of(Status::Abstain), broken, said];
        for (n, verdict) in others.iter().enumerate() {
            cached.learn(input("a", &[n as u8]), verdict);
        }
        cached.keep();
        let later = CachedPasses::of(&store, "sha256:1", "{}", &Limits::default());
        assert!(later.records().is_empty());
    }

    #[test]
    fn what_was_seen_last_is_kept_longest() {
        let (_folder, store) = store();
        let recall = || CachedPasses::of(&store, "sha256:1", "{}", &Limits::default());
        let input = |n: usize| input("a", &n.to_le_bytes());
        let first = recall();
        (0..MOST).for_each(|n| first.learn(input(n), &Verdict::of(Status::Pass)));
        first.keep();
        let second = recall();
        assert!(second.passed(&input(MOST - 1)));
        second.learn(input(MOST), &Verdict::of(Status::Pass));
        second.keep();
        let third = recall();
        assert_eq!(third.records().len(), MOST);
        assert!(third.passed(&input(MOST)) && third.passed(&input(MOST - 1)), "seen last");
        let gone = (0..MOST - 1).filter(|n| !third.contains(&input(*n))).count();
        assert_eq!(gone, 1, "one of those that were not seen since");
    }

    #[test]
    fn every_record_is_found_and_no_other() {
        let (_folder, store) = store();
        let recall = || CachedPasses::of(&store, "sha256:1", "{}", &Limits::default());
        let input = |n: usize| input("a", &n.to_le_bytes());
        for run in 0..10 {
            let cached = recall();
            for n in 0..200 {
                assert_eq!(cached.passed(&input(n)), n < 20 * run, "{n} in run {run}");
            }
            (20 * run..20 * (run + 1)).for_each(|n| cached.learn(input(n), &Verdict::of(Status::Pass)));
            cached.keep();
        }
        assert_eq!(recall().records().iter().map(time_of).max(), Some(9));
        recall().keep();
        assert_eq!(recall().records().len(), 200);
    }
}
