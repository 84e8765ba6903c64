//! What several commands need first: the engine, the cache, the plan.

use crate::args::Global;
use crate::complaint::Complaint;
use crate::configuration::Configured;
use crate::terminal::say;
use anyhow::Context;
use gatehost::catalogue::Verifiers;
use gatehost::plan::{self, Plan};
use gatehost::runtime::{Runtime, Source};
use gatehost::vault::Vault;
use std::future::Future;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

/// What is kept from run to run.
pub(crate) fn vault() -> anyhow::Result<Vault> {
    let folder = Vault::default_folder().context("there is no cache folder: set `GATE_CACHE_DIR`")?;
    Vault::open(&folder).with_context(|| format!("cannot use the cache folder `{}`", folder.display()))
}

/// The runtime with the user's vault; without one where it cannot be used, which costs time and nothing else.
pub(crate) fn runtime(global: &Global) -> Result<Runtime, Complaint> {
    let vault = vault().inspect_err(|error| {
        if !global.quiet {
            say(format_args!("note: nothing is kept for later runs: {error:#}"));
        }
    });
    Runtime::new(vault.ok().map(Arc::new)).map_err(Complaint::broken)
}

pub(crate) fn tokio() -> Result<tokio::runtime::Runtime, Complaint> {
    // Guests that compute keep every worker busy, and yield only from tick to tick: after each of them the timers are
    // looked at, and not, as usual, after every sixty-first.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_time().event_interval(1).build().map_err(Complaint::broken)
}

/// Run a future to its end; what it left behind is not waited for.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Complaint> {
    let tokio = tokio()?;
    let result = tokio.block_on(future);
    tokio.shutdown_timeout(Duration::ZERO);
    Ok(result)
}

/// A plan, and everything that is needed to run it.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) verifiers: Verifiers,
    pub(crate) tokio: tokio::runtime::Runtime,
}

/// Resolve a gate of the configuration.
pub(crate) fn plan(global: &Global, configured: &Configured, gate: Option<&str>) -> Result<Prepared, Complaint> {
    let runtime = Arc::new(runtime(global)?);
    let tokio = tokio()?;
    let watched = std::io::stderr().is_terminal();
    let compiling = move |name: &str, source: &Source| {
        if watched {
            let size = source.bytes().len() / 1024;
            say(format_args!("compiling {name} ({size} KiB), this once; `gate compile` does it ahead"));
        }
    };
    let verifiers = Verifiers::new(Arc::clone(&runtime), tokio.handle().clone(), configured.folder.clone(), compiling);
    let plan = plan::resolve(&configured.config, gate, &verifiers)
        .map_err(|problems| Complaint::problems(&configured.name, &problems))?;
    Ok(Prepared { plan, runtime, verifiers, tokio })
}
