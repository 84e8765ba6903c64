//! Running other people's code without trusting it. The only door to wasmtime.
//!
//! A caller names a component ([`ComponentSource`]), loads it for the [`Grants`] of a check ([`Runtime::load`]) and has files
//! or submissions judged by it ([`Runtime::check_file`], [`Runtime::check_submission`]). Whatever the component does,
//! the answer is a [`Verdict`](crate::verdict::Verdict): all ways to end badly are statuses and not `Err`s. Nothing
//! in the interface shows that there is a wasmtime behind it, so that it could run in another process.

mod allowance;
mod component_type;
mod bindings;
mod bundled;
mod cache;
mod call;
mod capability;
mod config;
mod contract;
mod convert;
mod ending;
mod engine;
mod load;
mod log;
mod contract_diff;
mod prepared;
mod program;
mod sandbox;
mod scan;
mod source;
mod wasi;

pub use bundled::{ALL as BUNDLED, Bundled};
use cache::Cache;
pub use call::{CallContext, CallResult, FileInput, Used};
pub use capability::{
    AskModels, Capabilities, Capability, CommandsFor, Granted, Grants, Pending, ReadFiles, RunCommands,
};
pub use component_type::{CONTRACT, ComponentType};
pub use contract::WIT;
pub use load::{Code, Verifier};
pub use log::{LogLevel, LogLine};
pub use prepared::PreparedSubmission;
pub use program::{ProgramFile, ProgramInput, ProgramOutput};
pub use source::ComponentSource;

use crate::cache_store::CacheStore;
pub use crate::verdict::Rule;
use crate::verdict::{ErrorKind, Failure};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

/// What a component says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it verifies.
    pub summary: String,
    /// The files that it wants by default.
    pub files: Vec<String>,
    /// A JSON Schema of its settings; empty when it takes none.
    pub settings_schema: String,
    /// Every kind of finding that it can report.
    pub rules: Vec<Rule>,
    /// A page about it.
    pub url: Option<String>,
}

impl Description {
    /// Returns the rule of the findings with this code, if it is declared. `*` stands for all codes of the settings.
    pub fn rule(&self, code: &str) -> Option<&Rule> {
        let rule = |code: &str| self.rules.iter().find(|rule| rule.code == code);
        rule(code).or_else(|| rule("*"))
    }
}

/// Everything that is needed to call verifiers.
pub struct Runtime {
    engine: Engine,
    /// Whether the engine counts instructions.
    metered: bool,
    /// `None` where there is no place for one; then a component from outside is compiled in every run.
    cache: Option<Cache>,
    /// Places of the instance pool.
    slots: Semaphore,
    /// Machine code by digest, so that it is found or compiled once.
    components: Mutex<BTreeMap<String, Component>>,
    /// What was loaded, so that a component is linked once however many checks use it.
    loaded: Mutex<BTreeMap<(String, Grants), Arc<Verifier>>>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Starts the engine.
    pub fn new(store: Option<Arc<CacheStore>>) -> Result<Self, Failure> {
        Self::start(store, false)
    }

    /// Starts an engine that counts the instructions of every call. Its code is slower, and kept nowhere.
    pub fn metered() -> Result<Self, Failure> {
        Self::start(None, true)
    }

    fn start(store: Option<Arc<CacheStore>>, metered: bool) -> Result<Self, Failure> {
        let engine = engine::start(metered)
            .map_err(|error| Failure::new(ErrorKind::HostFailed, format!("cannot start the engine: {error:#}")))?;
        let slots = Semaphore::new(config::SLOTS as usize);
        let (components, loaded) = (Mutex::default(), Mutex::default());
        Ok(Self { engine, metered, cache: store.map(Cache), slots, components, loaded })
    }

    /// Returns where runs leave things for later ones.
    pub fn cache_store(&self) -> Option<&Arc<CacheStore>> {
        self.cache.as_ref().map(|cache| &cache.0)
    }

    /// Makes a component ready for checks with these grants.
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
