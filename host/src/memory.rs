//! What verifiers passed before: asked once, not again.
//!
//! Only a verdict that depends on nothing but what it is remembered under is remembered: a file verifier without grants,
//! whose sandbox is the same in every call, is a function of its component, its settings, its limits, the path and the
//! bytes. And only a bare pass is: what has something to say says it each time.

use crate::limits::Limits;
use crate::runtime::CONTRACT;
use crate::vault::{Kind, Vault};
use crate::verdict::{Status, Verdict};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The most passes that are remembered for one verifier with its settings; those that were not seen for longest go.
const MOST: usize = 1 << 16;

/// What one verifier, with certain settings and limits, passed before.
#[derive(Debug)]
pub(crate) struct Memory {
    vault: Arc<Vault>,
    key: blake3::Hash,
    before: HashSet<Input>,
    /// As in `before`, the latest first.
    order: Vec<Input>,
    now: Mutex<Vec<Input>>,
}

/// The digest of a path and its bytes.
type Input = [u8; blake3::OUT_LEN];

impl Memory {
    /// Recall what the component with this digest passed before.
    pub(crate) fn of(vault: &Arc<Vault>, component: &str, settings: &str, limits: &Limits) -> Self {
        let mut key = blake3::Hasher::new();
        for part in [env!("CARGO_PKG_VERSION"), CONTRACT, component, settings, &format!("{limits:?}")] {
            add(&mut key, part.as_bytes());
        }
        let key = key.finalize();
        let entry = vault.get(Kind::Passes, &key).unwrap_or_default();
        let order: Vec<Input> = entry.as_chunks().0.to_vec();
        Self { vault: Arc::clone(vault), key, before: order.iter().copied().collect(), order, now: Mutex::default() }
    }

    /// What is judged, in short.
    pub(crate) fn input(path: &str, content: &[u8]) -> Input {
        let mut input = blake3::Hasher::new();
        add(&mut input, path.as_bytes());
        add(&mut input, content);
        *input.finalize().as_bytes()
    }

    /// Whether it passed before.
    pub(crate) fn passed(&self, input: &Input) -> bool {
        let passed = self.before.contains(input);
        if passed {
            self.seen(*input);
        }
        passed
    }

    /// Remember a verdict, if it is one to remember.
    pub(crate) fn learn(&self, input: Input, verdict: &Verdict) {
        if *verdict == Verdict::of(Status::Pass) {
            self.seen(input);
        }
    }

    /// Keep what was learned for later runs. A failure costs time and nothing else, so it is not reported.
    pub(crate) fn keep(&self) {
        let mut now = std::mem::take(&mut *self.now.lock().unwrap_or_else(PoisonError::into_inner));
        if now.iter().all(|input| self.before.contains(input)) {
            return;
        }
        let seen: HashSet<Input> = now.iter().copied().collect();
        now.extend(self.order.iter().filter(|input| !seen.contains(*input)));
        now.truncate(MOST);
        let _ = self.vault.put(Kind::Passes, &self.key, now.as_flattened());
    }

    fn seen(&self, input: Input) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).push(input);
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

    fn vault() -> (tempfile::TempDir, Arc<Vault>) {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Arc::new(Vault::open(folder.path()).expect("a vault"));
        (folder, vault)
    }

    #[test]
    fn a_pass_is_remembered_for_exactly_what_passed() {
        let (_folder, vault) = vault();
        let limits = Limits::default();
        let input = Memory::input("a.json", b"[]");
        let first = Memory::of(&vault, "sha256:1", "{}", &limits);
        assert!(!first.passed(&input));
        first.learn(input, &Verdict::of(Status::Pass));
        first.keep();
        let recall = |component, settings, limits: &Limits| Memory::of(&vault, component, settings, limits);
        assert!(recall("sha256:1", "{}", &limits).passed(&input));
        assert!(!recall("sha256:2", "{}", &limits).passed(&input), "another component");
        assert!(!recall("sha256:1", "{\"a\":1}", &limits).passed(&input), "other settings");
        let less = Limits { memory: 1 << 20, ..Limits::default() };
        assert!(!recall("sha256:1", "{}", &less).passed(&input), "other limits");
        let again = recall("sha256:1", "{}", &limits);
        assert!(!again.passed(&Memory::input("b.json", b"[]")), "another path");
        assert!(!again.passed(&Memory::input("a.json", b"[ ]")), "other bytes");
        assert!(!again.passed(&Memory::input("a.json[", b"]")), "another border between the two");
    }

    #[test]
    fn nothing_but_a_bare_pass_is_remembered() {
        let (_folder, vault) = vault();
        let memory = Memory::of(&vault, "sha256:1", "{}", &Limits::default());
        let said = Verdict { summary: "all well".to_owned(), ..Verdict::of(Status::Pass) };
        let broken = Verdict::from(Failure::new(ErrorKind::LimitTime, "late"));
        let others = [Verdict::of(Status::Fail), Verdict::of(Status::Abstain), broken, said];
        for (n, verdict) in others.iter().enumerate() {
            memory.learn(Memory::input("a", &[n as u8]), verdict);
        }
        memory.keep();
        let later = Memory::of(&vault, "sha256:1", "{}", &Limits::default());
        assert!(later.before.is_empty());
    }

    #[test]
    fn what_was_seen_last_is_kept_longest() {
        let (_folder, vault) = vault();
        let recall = || Memory::of(&vault, "sha256:1", "{}", &Limits::default());
        let input = |n: usize| Memory::input("a", &n.to_le_bytes());
        let first = recall();
        (0..MOST).for_each(|n| first.learn(input(n), &Verdict::of(Status::Pass)));
        first.keep();
        let second = recall();
        assert!(second.passed(&input(MOST - 1)));
        second.learn(input(MOST), &Verdict::of(Status::Pass));
        second.keep();
        let third = recall();
        assert_eq!(third.before.len(), MOST);
        assert!(third.passed(&input(MOST)) && third.passed(&input(MOST - 1)) && third.passed(&input(0)));
        assert!(!third.passed(&input(MOST - 2)), "the one that was not seen for longest");
    }
}
