//! Compiled components, and what they said of themselves, in the user's [`CacheStore`]: so that a component from outside is
//! compiled and asked once and not in every run.

use super::Description;
use crate::cache_store::{CacheKind, CacheStore};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Where both are kept.
#[derive(Debug)]
pub(super) struct Cache(pub(super) Arc<CacheStore>);

impl Cache {
    /// Returns the component with this digest, if it is here and authentic.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let key = key(engine, digest);
        let code = self.0.get(CacheKind::Compiled, &key)?;
        #[expect(unsafe_code, reason = "machine code that this process, or one of the same user, made")]
        // SAFETY: the cache store vouches that these very bytes were written by `put` under this key, by this build of this
        // program, which binds them to this wasmtime and these settings.
        let component = unsafe { Component::deserialize(engine, code) }.ok();
        if component.is_none() {
            self.0.remove(CacheKind::Compiled, &key);
        }
        component
    }

    /// Keeps a compiled component, and tells whether it is kept. A failure costs time and nothing else.
    pub(super) fn put(&self, engine: &Engine, digest: &str, component: &Component) -> bool {
        component.serialize().is_ok_and(|code| self.0.put(CacheKind::Compiled, &key(engine, digest), &code).is_ok())
    }

    /// What the component with this digest said of itself, if it was asked before.
    pub(super) fn description(&self, digest: &str) -> Option<Description> {
        let said = self.0.get(CacheKind::Description, &blake3::hash(digest.as_bytes()))?;
        serde_json::from_slice(&said).ok()
    }

    /// Keeps what a component said of itself.
    pub(super) fn put_description(&self, digest: &str, about: &Description) {
        if let Ok(said) = serde_json::to_vec(about) {
            let _ = self.0.put(CacheKind::Description, &blake3::hash(digest.as_bytes()), &said);
        }
    }
}

/// What an entry is valid for: the component's bytes, and everything that decides what they are compiled to.
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
