//! Cached results of file verifiers: passes are not computed again.
//!
//! Only a pass that depends on nothing but its cache key is cached: a file verifier without grants is a function of its
//! component, settings, limits, path and bytes. And only a bare pass is cached: findings are reported each time. Passes of
//! another build are never read.

use crate::cache_store::{CacheKind, CacheStore};
use crate::limits::Limits;
use crate::run_id;
use crate::runtime::FileInput;
use crate::verdict::{Status, Verdict};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::sync::Arc;

/// The most passes of one verifier with its settings. The least recently used are dropped.
const MOST: usize = 1 << 16;

/// The cached passes of a verifier with certain settings and limits.
#[derive(Debug)]
pub(crate) struct CachedPasses {
    store: Arc<CacheStore>,
    key: blake3::Hash,
    /// Sorted records, searched in place, because most runs look up few of many.
    before: Vec<u8>,
    now: Mutex<Vec<(Input, RunKey)>>,
    /// The current run.
    run: RunKey,
}

/// The digest of a path and its bytes.
type Input = [u8; blake3::OUT_LEN];
/// The run that established a pass: the bits of its identifier. 0 if it has none.
type RunKey = [u8; size_of::<u128>()];

const TIME: usize = size_of::<u32>();
/// An input, the run that established its pass, and a counter of its last use. Big-endian, so that records sort as bytes.
type CachedPass = [u8; blake3::OUT_LEN + size_of::<RunKey>() + TIME];

fn record((input, run): &(Input, RunKey), time: u32) -> CachedPass {
    let mut record = [0; _];
    let (of_input, rest) = record.split_at_mut(blake3::OUT_LEN);
    let (of_run, of_time) = rest.split_at_mut(size_of::<RunKey>());
    of_input.copy_from_slice(input);
    of_run.copy_from_slice(run);
    of_time.copy_from_slice(&time.to_be_bytes());
    record
}

fn run_of(record: &CachedPass) -> RunKey {
    record[blake3::OUT_LEN..].first_chunk().copied().unwrap_or_default()
}

fn input_of(record: &CachedPass) -> &[u8] {
    &record[..blake3::OUT_LEN]
}

fn time_of(record: &CachedPass) -> u32 {
    record.last_chunk().map_or(0, |time: &[u8; TIME]| u32::from_be_bytes(*time))
}

impl CachedPasses {
    /// Loads the passes of the component with this digest from before `run`.
    pub(crate) fn of(store: &Arc<CacheStore>, component: &str, settings: &str, limits: &Limits, run: &str) -> Self {
        let mut key = blake3::Hasher::new();
        for part in [component, settings, &format!("{limits:?}")] {
            add(&mut key, part.as_bytes());
        }
        let key = key.finalize();
        let before = store.get(CacheKind::Passes, &key).unwrap_or_default();
        let run = run_id::decode(run).unwrap_or_default().to_be_bytes();
        Self { store: Arc::clone(store), key, before, now: Mutex::default(), run }
    }

    /// Returns the digest of an input; `content` is the digest of its bytes.
    pub(crate) fn input(file: &FileInput, content: &[u8]) -> Input {
        let mut input = blake3::Hasher::new();
        add(&mut input, file.path.as_bytes());
        add(&mut input, content);
        add(&mut input, &[u8::from(file.executable), u8::from(file.missing), u8::from(file.link_target.is_some())]);
        add(&mut input, file.link_target.as_deref().unwrap_or_default().as_bytes());
        *input.finalize().as_bytes()
    }

    /// Returns the run in which the input passed, if it did.
    pub(crate) fn established(&self, input: &Input) -> Option<String> {
        let run = run_of(self.find(input)?);
        self.note(*input, run);
        Some(run_id::encode(u128::from_be_bytes(run)))
    }

    /// Caches a verdict, if it is a bare pass.
    pub(crate) fn learn(&self, input: Input, verdict: &Verdict) {
        if *verdict == Verdict::of(Status::Pass) {
            self.note(input, self.run);
        }
    }

    /// Stores the new passes for later runs. A failure only costs time, so it is not reported.
    pub(crate) fn keep(&self) {
        // Not removed, because another check of the same run may add to it and store it again.
        let mut now = self.now.lock().clone();
        now.sort_unstable();
        now.dedup_by_key(|(input, _)| *input);
        if now.iter().all(|(input, _)| self.find(input).is_some()) {
            return;
        }
        let time = self.records().iter().map(time_of).max().map_or(0, |last| last.saturating_add(1));
        let others = self
            .records()
            .iter()
            .filter(|record| now.binary_search_by(|(input, _)| input.as_slice().cmp(input_of(record))).is_err());
        let mut records: Vec<CachedPass> =
            now.iter().map(|passed| record(passed, time)).chain(others.copied()).collect();
        if records.len() > MOST {
            records.sort_unstable_by_key(|record| Reverse(time_of(record)));
            records.truncate(MOST);
        }
        records.sort_unstable();
        let _ = self.store.put(CacheKind::Passes, &self.key, records.as_flattened());
    }

    fn records(&self) -> &[CachedPass] {
        self.before.as_chunks().0
    }

    fn find(&self, input: &Input) -> Option<&CachedPass> {
        let records = self.records();
        records.binary_search_by(|record| input_of(record).cmp(input)).ok().map(|index| &records[index])
    }

    fn note(&self, input: Input, run: RunKey) {
        self.now.lock().push((input, run));
    }
}

/// Hashes a part with its length, so that no two lists of parts give the same bytes.
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
        let first = CachedPasses::of(&store, "sha256:1", "{}", &limits, &crate::run_id::encode(7));
        assert!(first.established(&judged).is_none());
        first.learn(judged, &Verdict::of(Status::Pass));
        first.keep();
        let recall = |component, settings, limits: &Limits| CachedPasses::of(&store, component, settings, limits, "");
        let run = crate::run_id::encode(7);
        assert_eq!(recall("sha256:1", "{}", &limits).established(&judged), Some(run), "and the run is known");
        assert!(recall("sha256:2", "{}", &limits).established(&judged).is_none(), "another component");
        assert!(recall("sha256:1", "{\"a\":1}", &limits).established(&judged).is_none(), "other settings");
        let less = Limits { memory: 1 << 20, ..Limits::default() };
        assert!(recall("sha256:1", "{}", &less).established(&judged).is_none(), "other limits");
        let again = recall("sha256:1", "{}", &limits);
        assert!(again.established(&input("b.json", b"[]")).is_none(), "another path");
        assert!(again.established(&input("a.json", b"[ ]")).is_none(), "other bytes");
        assert!(again.established(&input("a.json[", b"]")).is_none(), "another border between the two");
    }

    #[test]
    fn nothing_but_a_bare_pass_is_remembered() {
        let (_folder, store) = store();
        let cached = CachedPasses::of(&store, "sha256:1", "{}", &Limits::default(), "");
        let said = Verdict { summary: "all well".to_owned(), ..Verdict::of(Status::Pass) };
        let broken = Verdict::from(Failure::new(ErrorKind::LimitTime, "late"));
        let others = [Verdict::of(Status::Fail), Verdict::of(Status::Abstain), broken, said];
        for (n, verdict) in others.iter().enumerate() {
            cached.learn(input("a", &[n as u8]), verdict);
        }
        cached.keep();
        let later = CachedPasses::of(&store, "sha256:1", "{}", &Limits::default(), "");
        assert!(later.records().is_empty());
    }

    #[test]
    fn what_was_seen_last_is_kept_longest() {
        let (_folder, store) = store();
        let recall = || CachedPasses::of(&store, "sha256:1", "{}", &Limits::default(), "");
        let input = |n: usize| input("a", &n.to_le_bytes());
        let first = recall();
        (0..MOST).for_each(|n| first.learn(input(n), &Verdict::of(Status::Pass)));
        first.keep();
        let second = recall();
        assert!(second.established(&input(MOST - 1)).is_some());
        second.learn(input(MOST), &Verdict::of(Status::Pass));
        second.keep();
        let third = recall();
        assert_eq!(third.records().len(), MOST);
        assert!(
            third.established(&input(MOST)).is_some() && third.established(&input(MOST - 1)).is_some(),
            "seen last"
        );
        let gone = (0..MOST - 1).filter(|n| third.find(&input(*n)).is_none()).count();
        assert_eq!(gone, 1, "one of those that were not seen since");
    }

    #[test]
    fn every_record_is_found_and_no_other() {
        let (_folder, store) = store();
        let recall = || CachedPasses::of(&store, "sha256:1", "{}", &Limits::default(), "");
        let input = |n: usize| input("a", &n.to_le_bytes());
        for run in 0..10 {
            let cached = recall();
            for n in 0..200 {
                assert_eq!(cached.established(&input(n)).is_some(), n < 20 * run, "{n} in run {run}");
            }
            (20 * run..20 * (run + 1)).for_each(|n| cached.learn(input(n), &Verdict::of(Status::Pass)));
            cached.keep();
        }
        assert_eq!(recall().records().iter().map(time_of).max(), Some(9));
        recall().keep();
        assert_eq!(recall().records().len(), 200);
    }
}
