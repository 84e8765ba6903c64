//! One library call that runs a gate: from a [`Request`] to a [`Record`].
//!
//! All rules that decide *which files* are checked and *whose* configuration is trusted are in this module, so that no
//! caller can forget one. The command line, agent hooks and servers are adapters: they fill in a request and render a
//! record.
//!
//! ```no_run
//! # async fn example() -> Result<(), gatehost::error::Error> {
//! use gatehost::environment::Environment;
//! use gatehost::session::{Host, Request};
//!
//! let environment = Environment::of_process();
//! let host = Host::new(&environment)?;
//! let record = host.run(Request::new(".", environment), ()).await?;
//! println!("{}: {}", record.gate.name, record.status);
//! # Ok(())
//! # }
//! ```
//!
//! Create a [`Host`] once. It serves many requests at the same time: it owns the engine, the compiled verifiers, and threads
//! on which verifiers run, so it never blocks the caller's executor.

mod commits;
mod configured;
mod emit;
mod history;
mod stored_inputs;
mod new_record;
mod notify;
mod pinned;
mod planning;
mod policy;
mod policy_paths;
mod progress;
mod recorder;
mod request;
mod run;
mod sealed;
mod steps;
mod subject;
mod tasks;
mod touched;
mod trusted;

pub(crate) use crate::run_id::new as run_id;
pub use commits::note as note_commit;
pub use configured::{Configured, configuration, configured};
pub(crate) use configured::{PolicyFiles, policy_files};
pub(crate) use notify::notify;
pub use pinned::{Pinned, Planned};
pub(crate) use policy::FILE as POLICY_FILE;
pub use policy::{Policy, PolicyOrigin};
pub(crate) use policy_paths::PolicyPaths;
pub(crate) use progress::ProgressFile;
pub use recorder::LedgerUse;
pub(crate) use recorder::refuse_while_halted;
pub(crate) use request::Repeat;
pub use request::{Checks, Recording, Request, Unread, WorkState};
pub use stored_inputs::forget;
pub(crate) use stored_inputs::{RunInputs, StoredRun};
pub(crate) use subject::submission_digest as tree_digest;
pub use subject::{digest_of, is_unchanged};
pub use tasks::{plan_file, planned_tasks};
pub(crate) use touched::TouchedPath;

use crate::cache_store::CacheStore;
use crate::config::Config;
use crate::cores;
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::error::Error;
use crate::event::Observer;
use crate::record::Record;
use crate::runtime::Runtime;
use emit::RunEvents;
use pinned::ResolvedConfig;
use run::Session;
use sealed::Sealed;
use std::sync::Arc;

/// The state that all runs share: the engine, the compiled verifiers, and the threads on which verifiers run.
pub struct Host {
    runtime: Arc<Runtime>,
    /// Why the cache is disabled, if it is.
    uncached: Option<String>,
    /// `None` only during drop.
    workers: Option<tokio::runtime::Runtime>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("uncached", &self.uncached).finish_non_exhaustive()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Nobody waits for the runs that are left. Waiting for them here would block, which the caller's executor does not
        // allow.
        if let Some(workers) = self.workers.take() {
            workers.shutdown_background();
        }
    }
}

impl Host {
    /// Returns a host with the cache folder of this environment. If the folder cannot be used, the cache is disabled,
    /// which only costs time; [`Host::uncached`] says why.
    pub fn new(environment: &Environment) -> Result<Self, Error> {
        let opened = match environment.cache_folder() {
            Some(folder) => CacheStore::open(&folder)
                .map_err(|error| format!("cannot use the cache folder `{}`: {error}", folder.display())),
            None => Err("there is no cache folder: set `GATE_CACHE_DIR`".to_owned()),
        };
        let (store, uncached) = match opened {
            Ok(store) => (Some(Arc::new(store)), None),
            Err(why) => (None, Some(why)),
        };
        // Guests that compute keep every worker busy and yield only at each tick. With an interval of 1, tokio looks at its
        // timers after every task instead of after every 61st.
        let mut workers = tokio::runtime::Builder::new_multi_thread();
        let workers =
            workers.worker_threads(cores::count()).enable_time().event_interval(1).thread_name("gate").build();
        let workers = workers.map_err(|error| Error::host("cannot start threads").because(error))?;
        Ok(Self { runtime: Arc::new(Runtime::new(store)), uncached, workers: Some(workers) })
    }

    /// Returns why the cache is disabled, or `None` if it is enabled.
    pub fn uncached(&self) -> Option<&str> {
        self.uncached.as_deref()
    }

    /// Runs a gate. An error means that the caller must change something, or that the machine failed. Everything that
    /// verifiers do is in the record. Dropping the future cancels the run.
    pub async fn run(&self, request: Request, observer: impl Observer + 'static) -> Result<Record, Error> {
        let session =
            Session { runtime: Arc::clone(&self.runtime), request: request.fresh(), observer: Arc::new(observer) };
        self.on_workers(session.run()).await
    }

    /// Runs a gate as a part of something that has this deadline.
    pub(crate) async fn run_until(&self, request: Request, deadline: &Deadline) -> Result<Record, Error> {
        let request = Request { deadline: deadline.clone(), ..request.fresh() };
        let session = Session { runtime: Arc::clone(&self.runtime), request, observer: Arc::new(()) };
        self.on_workers(session.run()).await
    }

    /// Resolves a gate without running it.
    pub async fn plan(&self, request: Request, observer: impl Observer + 'static) -> Result<Planned, Error> {
        let session =
            Session { runtime: Arc::clone(&self.runtime), request: request.fresh(), observer: Arc::new(observer) };
        self.on_workers(async move {
            let emitter = Arc::new(RunEvents::new(String::new(), Arc::clone(&session.observer)));
            let (found, plan, verifiers) = session.plan(&emitter).await?;
            let Config { retry, escalation, overrides, .. } = found.config.clone();
            let warnings = verifiers.unused_grants(&plan);
            Ok(Planned { plan, policy: found.record(), retry, escalation, overrides, warnings })
        })
        .await
    }

    /// Resolves a gate that the caller will run several times.
    pub async fn pin(&self, request: Request, observer: impl Observer + 'static) -> Result<Pinned, Error> {
        let session =
            Session { runtime: Arc::clone(&self.runtime), request: request.fresh(), observer: Arc::new(observer) };
        self.on_workers(async move {
            let emitter = Arc::new(RunEvents::new(String::new(), Arc::clone(&session.observer)));
            let (found, plan, verifiers) = session.plan(&emitter).await?;
            let (known, request) = (Arc::clone(&found), session.request.clone());
            let sealed = move || Sealed::of(&known, &request.work_folder()?, &request.selection, &request.environment);
            let sealed = blocking(sealed).await?;
            Ok(Pinned(Arc::new(ResolvedConfig { found, plan, verifiers, sealed })))
        })
        .await
    }

    /// Runs a future on the host's own threads. Dropping the returned future aborts it.
    async fn on_workers<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        struct AbortOnDrop(tokio::task::AbortHandle);
        impl Drop for AbortOnDrop {
            fn drop(&mut self) {
                self.0.abort();
            }
        }
        let gone = || Error::host("the host is shutting down");
        let task = self.workers.as_ref().ok_or_else(gone)?.spawn(future);
        let _guard = AbortOnDrop(task.abort_handle());
        task.await.map_err(|error| Error::host("the run could not continue").because(error))?
    }
}

/// Runs blocking work on a thread where blocking is allowed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    blocked(tokio::task::spawn_blocking(work).await)
}

fn blocked<T>(done: Result<Result<T, Error>, tokio::task::JoinError>) -> Result<T, Error> {
    done.map_err(|error| Error::host("the run could not continue").because(error))?
}
