//! Caches compiled components and their descriptions in the user's [`CacheStore`], so that a component is compiled and
//! described once, not in every run.

use super::{CONTRACT, Description};
use crate::cache_store::{CacheKind, CacheStore};
use crate::limits::Limits;
use crate::verdict::Failure;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wasmtime::Engine;
use wasmtime::component::Component;

/// How long a failure is remembered.
pub(super) const REMEMBERED: Duration = Duration::from_secs(5 * 60);

/// Why a component could not be described, and when.
#[derive(Serialize, Deserialize)]
struct RememberedFailure {
    /// Seconds since 1970.
    at: u64,
    /// How long the component had computed.
    computed: Duration,
    failure: Failure,
}

/// The store.
#[derive(Debug)]
pub(super) struct Cache(pub(super) Arc<CacheStore>);

impl Cache {
    /// Returns the component with this digest, if it is cached and authentic.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let key = key(engine, digest);
        let code = self.0.get(CacheKind::Compiled, &key)?;
        #[expect(unsafe_code, reason = "machine code that this process, or one of the same user, made")]
        // SAFETY: the cache store guarantees that `put` wrote these bytes under this key, in this build of this program,
        // which binds them to this wasmtime and these settings.
        let component = unsafe { Component::deserialize(engine, code) }.ok();
        if component.is_none() {
            self.0.remove(CacheKind::Compiled, &key);
        }
        component
    }

    /// Caches a compiled component, and returns whether that succeeded. A failure only costs time.
    pub(super) fn put(&self, engine: &Engine, digest: &str, component: &Component) -> bool {
        component.serialize().is_ok_and(|code| self.0.put(CacheKind::Compiled, &key(engine, digest), &code).is_ok())
    }

    /// Returns the cached description of the component with this digest.
    pub(super) fn description(&self, digest: &str) -> Option<Description> {
        let said = self.0.get(CacheKind::Description, &blake3::hash(digest.as_bytes()))?;
        serde_json::from_slice(&said).ok()
    }

    /// Caches the description of a component.
    pub(super) fn put_description(&self, digest: &str, about: &Description) {
        if let Ok(said) = serde_json::to_vec(about) {
            let _ = self.0.put(CacheKind::Description, &blake3::hash(digest.as_bytes()), &said);
        }
    }

    /// Returns why the component with this digest could not be described within these limits a short while ago although it had
    /// computed this long, and how long ago that was.
    pub(super) fn failure(&self, digest: &str, limits: &Limits, least: Duration) -> Option<(Failure, Duration)> {
        let kept = self.0.get(CacheKind::Failure, &failure_key(digest, limits))?;
        let RememberedFailure { at, computed, failure } = serde_json::from_slice(&kept).ok()?;
        // After the clock was set back, it is not known how long ago that was.
        let age = Duration::from_secs(now()?.checked_sub(at)?);
        (age < REMEMBERED && computed >= least).then_some((failure, age))
    }

    /// Remembers why the component with this digest could not be described within these limits.
    pub(super) fn put_failure(&self, digest: &str, limits: &Limits, computed: Duration, failure: &Failure) {
        let kept = now().map(|at| RememberedFailure { at, computed, failure: failure.clone() });
        if let Some(kept) = kept.and_then(|kept| serde_json::to_vec(&kept).ok()) {
            let _ = self.0.put(CacheKind::Failure, &failure_key(digest, limits), &kept);
        }
    }
}

fn now() -> Option<u64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|now| now.as_secs())
}

/// Returns the key of a failure: the bytes of the component, the contract and the limits. The store adds the build.
fn failure_key(digest: &str, limits: &Limits) -> blake3::Hash {
    let limits = serde_json::to_vec(limits).unwrap_or_default();
    let mut key = blake3::Hasher::new();
    for part in [digest.as_bytes(), CONTRACT.as_bytes(), &limits] {
        key.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    key.finalize()
}

/// Returns the key of an entry: the bytes of the component, and everything that decides how they are compiled.
fn key(engine: &Engine, digest: &str) -> blake3::Hash {
    struct Into(blake3::Hasher);
    impl Hasher for Into {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut hasher = Into(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.update(digest.as_bytes());
    hasher.0.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::ErrorKind;

    #[test]
    fn a_failure_counts_for_at_most_the_processor_time_that_the_component_had() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache(Arc::new(CacheStore::open(folder.path()).expect("a store")));
        let (limits, failure) = (Limits::default(), Failure::new(ErrorKind::LimitTime, "late"));
        let [more, computed, less] = [3, 2, 1].map(Duration::from_secs);
        cache.put_failure("a", &limits, computed, &failure);
        let is_known = |digest, limits, least| cache.failure(digest, limits, least).is_some();
        assert!(is_known("a", &limits, computed) && is_known("a", &limits, less));
        assert!(!is_known("a", &limits, more) && !is_known("b", &limits, less));
        assert!(!is_known("a", &Limits { time: less, ..limits.clone() }, less));
    }
}
