//! Runs untrusted components in a sandbox. No other module uses wasmtime.
//!
//! A caller names a component ([`ComponentSource`]), loads it for the [`Grants`] of a check ([`Runtime::load`]), and calls
//! it with files or submissions ([`Runtime::check_file`], [`Runtime::check_submission`]). Whatever the component does, the
//! answer is a [`Verdict`](crate::verdict::Verdict): failures of the component are statuses, not `Err`s. The interface does
//! not expose wasmtime, so the runtime could move to another process.

mod allowance;
mod bindings;
mod bundled;
mod cache;
mod call;
mod capability;
mod checked;
mod component_type;
mod config;
mod contract;
mod contract_diff;
mod convert;
mod ending;
mod engine;
mod load;
mod log;
mod prepared;
mod processor_time;
mod program;
mod sandbox;
mod scan;
mod source;
mod wasi;

pub use bundled::{ALL as BUNDLED, Bundled};
use cache::Cache;
pub(crate) use call::Remembered;
pub use call::{CallContext, CallResult, FileInput, Used};
pub use capability::{
    AskModels, Capabilities, Capability, CommandsFor, Granted, Grants, ModelsFor, Pending, ReadFiles, RunCommands,
};
pub use component_type::{CONTRACT, ComponentType};
pub use contract::WIT;
pub use load::{Code, Verifier};
pub use log::{LogLevel, LogLine};
pub use prepared::PreparedSubmission;
pub use program::{ProgramFile, ProgramInput, ProgramOutput};
pub use source::ComponentSource;

use crate::cache_store::CacheStore;
use crate::process_limits::ProcessLimit;
pub use crate::verdict::Rule;
use crate::verdict::{ErrorKind, Failure};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

/// How a component describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What the component verifies.
    pub summary: String,
    /// The default file patterns.
    pub files: Vec<String>,
    /// The JSON Schema of the settings; empty if there are none.
    pub settings_schema: String,
    /// Every kind of finding that it can report.
    pub rules: Vec<Rule>,
    /// A page about it.
    pub url: Option<String>,
}

impl Description {
    /// Returns the rule for findings with this code, if it is declared. `*` stands for all codes that come from the
    /// settings.
    pub fn rule(&self, code: &str) -> Option<&Rule> {
        let rule = |code: &str| self.rules.iter().find(|rule| rule.code == code);
        rule(code).or_else(|| rule("*"))
    }
}

/// The engine, and the components that are compiled and loaded.
pub struct Runtime {
    /// Started when it is first needed: a run that only uses cached passes calls no verifier.
    engine: OnceLock<Result<Engine, Failure>>,
    /// Whether the engine counts instructions.
    metered: bool,
    /// `None` if there is no cache folder; then components are compiled in every run.
    cache: Option<Cache>,
    /// The slots of the instance pool.
    slots: Semaphore,
    /// The number of these slots.
    slot_count: usize,
    /// Compiled components by digest, so that each is loaded or compiled once.
    components: Mutex<BTreeMap<String, Component>>,
    /// Linked components, so that each is linked once for all its checks.
    loaded: Mutex<BTreeMap<(String, Grants), Arc<Verifier>>>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Returns a runtime that keeps compiled components in this store.
    pub fn new(store: Option<Arc<CacheStore>>) -> Self {
        Self::with(store, false)
    }

    /// Returns a runtime that counts the instructions of every call. Its code is slower and not cached.
    pub fn metered() -> Self {
        Self::with(None, true)
    }

    fn with(store: Option<Arc<CacheStore>>, metered: bool) -> Self {
        // Without room for its pool, the engine maps memory for each instance.
        let slot_count = engine::slots(ProcessLimit::AddressSpace.value()) as usize;
        let slots = Semaphore::new(slot_count);
        let (engine, components, loaded) = (OnceLock::new(), Mutex::default(), Mutex::default());
        Self { engine, metered, cache: store.map(Cache), slots, slot_count, components, loaded }
    }

    fn engine(&self) -> Result<&Engine, Failure> {
        let failed = |error| Failure::new(ErrorKind::HostFailed, format!("cannot start the engine: {error:#}"));
        self.engine.get_or_init(|| engine::start(self.metered).map_err(failed)).as_ref().map_err(Clone::clone)
    }

    /// Returns how many verifiers can run at the same time.
    pub(crate) fn slots(&self) -> usize {
        self.slot_count
    }

    /// Returns the store that is shared between runs.
    pub fn cache_store(&self) -> Option<&Arc<CacheStore>> {
        self.cache.as_ref().map(|cache| &cache.0)
    }

    /// Prepares a component for checks with these grants.
    pub fn load(&self, source: &ComponentSource, grants: &Grants) -> Result<Arc<Verifier>, Failure> {
        let key = (source.digest().to_owned(), grants.clone());
        let loaded = || self.loaded.lock();
        if let Some(verifier) = loaded().get(&key) {
            return Ok(Arc::clone(verifier));
        }
        let verifier = Arc::new(self.prepare(source, grants)?);
        loaded().insert(key, Arc::clone(&verifier));
        Ok(verifier)
    }
}
