//! Creates the host, the engine and the cache for commands.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::terminal::say;
use anyhow::Context;
use gatehost::cache_store::CacheStore;
use gatehost::environment::Environment;
use gatehost::runtime::Runtime;
use gatehost::session::Host;
use std::future::Future;
use std::sync::Arc;

/// Opens the cache.
pub(crate) fn store() -> anyhow::Result<CacheStore> {
    let folder = Environment::of_process().cache_folder().context("there is no cache folder: set `GATE_CACHE_DIR`")?;
    CacheStore::open(&folder).with_context(|| format!("cannot use the cache folder `{}`", folder.display()))
}

/// Returns the runtime with the user's cache, or without one if it cannot be used, which only costs time.
pub(crate) fn runtime(global: &Global) -> Runtime {
    let store = store().inspect_err(|error| uncached(global, &format!("{error:#}")));
    Runtime::new(store.ok().map(Arc::new))
}

/// Returns the host with the cache of this environment.
pub(crate) fn host(global: &Global, environment: &Environment) -> Result<Host, Error> {
    let host = Host::new(environment)?;
    if let Some(why) = host.uncached() {
        uncached(global, why);
    }
    Ok(host)
}

fn uncached(global: &Global, why: &str) {
    if !global.quiet {
        say(format_args!("note: the cache is disabled: {why}"));
    }
}

/// Waits for a host, which has its own threads.
pub(crate) fn wait<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::broken)?;
    tokio.block_on(future)
}

/// Runs a future on several threads. Does not wait for tasks that it left behind.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    // Guests that compute keep every worker busy and yield only at each tick. With an interval of 1, tokio looks at its
    // timers after every task instead of after every 61st.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let tokio = builder.enable_time().event_interval(1).build().map_err(Error::broken)?;
    let result = tokio.block_on(future);
    tokio.shutdown_background();
    Ok(result)
}
