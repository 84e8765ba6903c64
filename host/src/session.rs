//! One library call that runs a gate: from a [`Request`] to a [`Record`].
//!
//! Every rule about *what* is judged and *whose* configuration counts is here, so that no caller can forget one: the command
//! line, an agent's hook and a server are adapters that fill in a request and render a record.
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
//! A [`Host`] is made once and serves many requests at the same time: it holds the engine, what was compiled, and threads of
//! its own on which verifiers compute, so that a caller's executor is never blocked.

mod commits;
mod emit;
mod history;
mod kept;
mod notify;
mod policy;
mod progress;
mod recorder;
mod sealed;
mod steps;
mod subject;
mod tasks;
mod trusted;

pub use commits::note as note_commit;
pub use kept::forget;
pub(crate) use kept::{Kept, RunInputs};
pub(crate) use notify::notify;
pub(crate) use policy::FILE as POLICY_FILE;
pub use policy::{Policy, PolicyOrigin};
pub use recorder::LedgerUse;
pub use tasks::{plan_file, planned_tasks};

use crate::cache_store::CacheStore;
use crate::changes::{self, Needs, Selection};
use crate::commands::CommandTape;
use crate::config::{Config, HookConfig, Inapplicable, LoopConfig, Overrides, nearest};
use crate::environment::Environment;
use crate::error::Error;
use crate::event::{EventKind, Observer};
use crate::feedback::feedback;
use crate::gate::{self, Circumstances};
use crate::ledger::Labels;
use crate::models::{BadModelTape, ModelTape};
use crate::outcome::{Node, NodeKind, Outcome};
use crate::plan::{self, Plan, Shape, SubmissionParts};
use crate::random::random;
use crate::record::{HostBuild, PolicyRecord, Record, SelectionRecord, TaskRecord};
use crate::resolver::Verifiers;
use crate::retry::{EscalationPolicy, RetryPolicy};
use crate::runner::{Base, CheckRunner, Logged, Services};
use crate::runtime::{CONTRACT, ComponentSource, Runtime};
use crate::submission::{Change, Evaluator, Submission, TaskSource};
use crate::text;
use crate::verdict::{ErrorKind, Failure, Status};
use crate::workspace::Workspace;
use emit::RunEvents;
use policy::FoundPolicy;
use recorder::LedgerRecorder;
use sealed::Sealed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use trusted::{PolicyComparison, Standing};

/// What is to be judged, by which gate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// Where to work; relative paths of the request are relative to it.
    pub folder: PathBuf,
    /// Which files are judged.
    pub selection: Selection,
    /// Where the configuration comes from.
    pub policy: Policy,
    /// The gate; without a name, the only one, the one named `default`, or the only one that is not part of another.
    pub gate: Option<String>,
    /// What is said of the work: the task, the claim, the tool calls.
    pub submission: Submission,
    /// Whether the answers of models are recorded, or come from an earlier recording.
    pub models: Recording,
    /// Where what commands come to is recorded, or comes from.
    pub commands: Option<Arc<CommandTape>>,
    /// Whether passes of earlier runs may be reused.
    pub use_cache: bool,
    /// Whether the members of `all` run one after the other, and none after the first that fails.
    pub fail_fast: bool,
    /// Which checks run. What is left out is marked in the record.
    pub checks: Checks,
    /// The checks that failed before, by the names of their members: they run first, and the others only if they pass.
    pub first: BTreeSet<String>,
    /// What becomes of a claim or of tool calls that no check of the gate reads.
    pub unread: Unread,
    /// The environment that commands, git and models see.
    pub environment: Environment,
    /// Where the run is recorded. A run whose record cannot be stored is an error, whatever its result.
    pub ledger: LedgerUse,
    /// The session of the agent that did the work, which its entries in the ledger are found by; empty for none.
    pub session: String,
    /// What the caller knows of the work, where it saw it being done.
    pub work: WorkState,
    /// The gate, where it was resolved before: what the policy, the gate and the folder of the request say does not count.
    pub pinned: Option<Pinned>,
    /// What was found before, where a run is repeated: nothing is looked for then, and nothing is recorded.
    pub(crate) repeat: Option<Arc<Repeat>>,
}

/// What a run that is repeated was given.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) changes: Vec<Change>,
    pub(crate) base: Option<String>,
    pub(crate) from_git: bool,
    /// The files that were there to be judged.
    pub(crate) paths: Vec<String>,
    pub(crate) predecessor_unpassed: bool,
    /// The paths of the policy that the change touched.
    pub(crate) touched: Vec<String>,
}

/// What a caller knows of the work that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkState {
    /// Nothing: it may be work of any kind, or none.
    #[default]
    Unknown,
    /// It was asked for, so a gate that finds nothing to check abstains, unless it says otherwise (`on_nothing`).
    Asked,
    /// It was asked for, and nothing was done: no gate passes, unless it says otherwise.
    NotDone,
}

/// A gate that was resolved once, to be run several times. Neither its configuration nor its verifiers are read again, so
/// the executor between two runs changes neither.
#[derive(Clone)]
pub struct Pinned(Arc<ResolvedConfig>);

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pinned").field(&self.0.plan.root.name).finish()
    }
}

impl Pinned {
    /// What the configuration means.
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// The file that the configuration was read from.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        self.0.found.path.clone()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.0.found.config
    }

    /// Where the configuration came from.
    pub fn policy(&self) -> PolicyRecord {
        self.0.found.record()
    }

    /// The budgets of a loop around the gate.
    pub fn budgets(&self) -> LoopConfig {
        let config = self.config();
        let of_gate = config.gates.get(&self.0.plan.root.name).map(|gate| gate.looping.clone()).unwrap_or_default();
        of_gate.or(&config.looping)
    }
}

/// A configuration, what it means, and the verifiers that it names.
struct ResolvedConfig {
    found: Arc<FoundPolicy>,
    plan: Plan,
    verifiers: Verifiers,
    /// What it rests on, where it is pinned.
    sealed: Sealed,
}

impl Request {
    /// A request to judge what changed in this folder by its own gate, in this environment.
    pub fn new(folder: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            folder: folder.into(),
            selection: Selection::default(),
            policy: Policy::default(),
            gate: None,
            submission: Submission::default(),
            models: Recording::default(),
            commands: None,
            use_cache: true,
            fail_fast: false,
            checks: Checks::default(),
            first: BTreeSet::new(),
            unread: Unread::default(),
            environment,
            ledger: LedgerUse::Off,
            session: String::new(),
            work: WorkState::default(),
            pinned: None,
            repeat: None,
        }
    }
}

/// Which checks of a gate run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checks {
    /// All of them.
    #[default]
    All,
    /// Only these.
    Only(BTreeSet<String>),
    /// All but these.
    Except(BTreeSet<String>),
}

impl Checks {
    /// The names of the checks of a plan that are left out. A name that no check has is a mistake.
    fn left_out(&self, plan: &Plan) -> Result<BTreeSet<String>, Error> {
        let names: BTreeSet<&str> = plan.checks().map(|check| check.check.as_str()).collect();
        let (Self::Only(named) | Self::Except(named)) = self else { return Ok(BTreeSet::new()) };
        if let Some(unknown) = named.iter().find(|name| !names.contains(name.as_str())) {
            let shown = text::clean_line(unknown, 60);
            let message = format!("the gate `{}` has no check `{shown}`", plan.root.name);
            return Err(Error::usage(message).hint(nearest(unknown, names.iter().copied())));
        }
        let left_out = |name: &&&str| named.contains(**name) == matches!(self, Self::Except(_));
        Ok(names.iter().filter(left_out).map(|name| (*name).to_owned()).collect())
    }
}

/// What becomes of a claim or of tool calls that no check of the gate reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// The request is refused where no check reads submissions: what was handed over would look as if it had been judged.
    #[default]
    Refuse,
    /// The same, and where no check reads claims: the caller handed one over by itself.
    RefuseClaim,
    /// Nothing: they come with every request, whether they are wanted or not.
    Ignore,
}

/// What a hook must know of a configuration before anything runs.
#[derive(Clone, Debug)]
pub struct Configured {
    /// What it says about hooks.
    pub hook: HookConfig,
    /// Where it came from.
    pub policy: PolicyRecord,
    /// Whether it is one file: it names no other files, and protects none.
    pub stands_alone: bool,
}

/// Read the configuration of a request, and run nothing.
pub fn configured(request: &Request) -> Result<Configured, Error> {
    let found = settled(request)?;
    let is_bundled = |name: &str| !name.contains(['/', '.']);
    let checks = || found.config.checks.values();
    let stands_alone = found.config.protected.is_empty()
        && checks().all(|check| check.settings_files.is_empty() && is_bundled(&check.verifier));
    Ok(Configured { policy: found.record(), hook: found.config.hook, stands_alone })
}

/// The configuration that counts for a request: in a repository, that of the base.
fn settled(request: &Request) -> Result<FoundPolicy, Error> {
    let found = policy::find(request)?;
    match PolicyComparison::new(request, &found) {
        Some(comparison) => trusted::settle(found, comparison.standing()?, &request.folder, &request.environment),
        None => Ok(found),
    }
}

/// The configuration of a request, and where it came from. What it names is not looked at.
pub fn configuration(request: &Request) -> Result<(Config, PolicyRecord), Error> {
    let found = policy::find(request)?;
    let record = found.record();
    Ok((found.config, record))
}

/// Whether answers are recorded, or come from an earlier recording.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Recording {
    /// Neither.
    #[default]
    Off,
    /// They are recorded to this new file.
    Record(PathBuf),
    /// They come from this file.
    Replay(PathBuf),
    /// On a tape that several runs share.
    Shared(Arc<ModelTape>),
}

/// A gate that was resolved and not run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Planned {
    /// What the configuration means.
    pub plan: Plan,
    /// Where the configuration came from.
    pub policy: PolicyRecord,
    /// How often a failure is tried again. No part of the plan's digest: it decides about no pass.
    pub retry: RetryPolicy,
    /// When human review is needed.
    pub escalation: EscalationPolicy,
    /// Who may let something through without a pass.
    pub overrides: Overrides,
    /// What of the configuration has no effect.
    pub warnings: Vec<String>,
}

/// Everything that runs share: the engine, what was compiled, and the threads on which verifiers compute.
pub struct Host {
    runtime: Arc<Runtime>,
    /// Why nothing is kept for later runs.
    uncached: Option<String>,
    /// `None` only while it is dropped.
    workers: Option<tokio::runtime::Runtime>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("uncached", &self.uncached).finish_non_exhaustive()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What still runs, runs for nobody. Waiting for it would block, which a caller's executor does not allow.
        if let Some(workers) = self.workers.take() {
            workers.shutdown_background();
        }
    }
}

impl Host {
    /// Starts the engine, with the cache folder of this environment. Where that cannot be used, there is no cache, which
    /// costs time and nothing else; [`Host::uncached`] says why.
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
        // Guests that compute keep every worker busy, and yield only from tick to tick: after each of them the timers are
        // looked at, and not, as usual, after every sixty-first.
        let mut workers = tokio::runtime::Builder::new_multi_thread();
        let workers = workers.enable_time().event_interval(1).thread_name("gate").build();
        let workers = workers.map_err(|error| Error::host("cannot start threads").because(error))?;
        Ok(Self { runtime: Arc::new(Runtime::new(store)?), uncached, workers: Some(workers) })
    }

    /// Why the cache is disabled, if it is.
    pub fn uncached(&self) -> Option<&str> {
        self.uncached.as_deref()
    }

    /// Runs a gate. An error means that the caller must change something, or that the machine failed; whatever verifiers do
    /// is in the record. When the future is dropped, the run is cancelled.
    pub async fn run(&self, request: Request, observer: impl Observer + 'static) -> Result<Record, Error> {
        let session = Session { runtime: Arc::clone(&self.runtime), request, observer: Arc::new(observer) };
        self.on_workers(session.run()).await
    }

    /// Resolves a gate, and runs nothing.
    pub async fn plan(&self, request: Request, observer: impl Observer + 'static) -> Result<Planned, Error> {
        let session = Session { runtime: Arc::clone(&self.runtime), request, observer: Arc::new(observer) };
        self.on_workers(async move {
            let emitter = Arc::new(RunEvents::new(String::new(), Arc::clone(&session.observer)));
            let (found, plan, verifiers) = session.plan(&emitter).await?;
            let Config { retry, escalation, overrides, .. } = found.config.clone();
            let warnings = verifiers.unused_grants(&plan);
            Ok(Planned { plan, policy: found.record(), retry, escalation, overrides, warnings })
        })
        .await
    }

    /// Resolves a gate, to run it several times.
    pub async fn pin(&self, request: Request, observer: impl Observer + 'static) -> Result<Pinned, Error> {
        let session = Session { runtime: Arc::clone(&self.runtime), request, observer: Arc::new(observer) };
        self.on_workers(async move {
            let emitter = Arc::new(RunEvents::new(String::new(), Arc::clone(&session.observer)));
            let (found, plan, verifiers) = session.plan(&emitter).await?;
            let (known, request) = (Arc::clone(&found), session.request.clone());
            let sealed = move || Sealed::of(&known, &request.folder, &request.selection, &request.environment);
            let sealed = blocking(sealed).await?;
            Ok(Pinned(Arc::new(ResolvedConfig { found, plan, verifiers, sealed })))
        })
        .await
    }

    /// Runs a future on threads of our own; dropping what is returned ends it.
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

/// What models and commands are recorded on, or answer from.
type Tapes = (Option<Arc<ModelTape>>, Option<Arc<CommandTape>>);

/// One request, being served.
struct Session {
    runtime: Arc<Runtime>,
    request: Request,
    observer: Arc<dyn Observer>,
}

impl Session {
    /// Finds the configuration, load its verifiers, and resolves the gate.
    async fn plan(&self, emitter: &Arc<RunEvents>) -> Result<(Arc<FoundPolicy>, Plan, Verifiers), Error> {
        let (found, plan, verifiers, _) = self.plan_and_collect(emitter, false).await?;
        Ok((Arc::new(found), plan, verifiers))
    }

    /// The same; and where they are wanted, the changes, unless it turned out late which configuration counts. Whether that of
    /// the work is that of the base is looked up meanwhile: it mostly is.
    async fn plan_and_collect(
        &self,
        emitter: &Arc<RunEvents>,
        collecting: bool,
    ) -> Result<(FoundPolicy, Plan, Verifiers, Option<changes::Changes>), Error> {
        let request = self.request.clone();
        let found = blocking(move || policy::find(&request)).await?;
        let comparison = PolicyComparison::new(&self.request, &found);
        let standing = comparison.map(|comparison| tokio::task::spawn_blocking(move || comparison.standing()));
        let resolved = self.resolve(found, emitter).await;
        let collected = match &resolved {
            Ok((_, plan, _)) if collecting => Some(self.collect(plan).await),
            _ => None,
        };
        let standing = match standing {
            Some(standing) => blocked(standing.await)?,
            None => Standing::New,
        };
        if let Standing::Other(commit) = standing {
            let folder = self.request.folder.clone();
            let environment = self.request.environment.clone();
            let found = blocking(move || trusted::find(&folder, &commit, &environment)).await?;
            let (found, plan, verifiers) = self.resolve(found, emitter).await?;
            return Ok((found, plan, verifiers, None));
        }
        let (mut found, plan, verifiers) = resolved?;
        if let Standing::Same(trusted) = standing {
            found.trusted = Some(trusted);
        }
        Ok((found, plan, verifiers, collected.transpose()?))
    }

    /// Where the ids of unchanged files are kept, unless the caller wants nothing cached.
    fn store(&self) -> Option<Arc<CacheStore>> {
        self.runtime.cache_store().filter(|_| self.request.use_cache).cloned()
    }

    /// What changed, as far as the checks of a plan look at it.
    async fn collect(&self, plan: &Plan) -> Result<changes::Changes, Error> {
        let needs = Needs {
            hunks: plan.checks().any(|check| check.shape == Shape::Submission),
            unchanged: plan.checks().any(|check| !check.grants.is_empty()),
        };
        let (folder, selection, repeat) =
            (self.request.folder.clone(), self.request.selection.clone(), self.request.repeat.clone());
        let (store, environment) = (self.store(), self.request.environment.clone());
        blocking(move || match repeat {
            Some(known) => {
                let (changes, base) = (known.changes.clone(), known.base.clone());
                Ok(changes::Changes::again(&folder, changes, base, known.from_git)?)
            }
            None => Ok(changes::collect_with(&folder, &selection, needs, &environment, store.as_ref())?),
        })
        .await
    }

    async fn resolve(
        &self,
        mut found: FoundPolicy,
        emitter: &Arc<RunEvents>,
    ) -> Result<(FoundPolicy, Plan, Verifiers), Error> {
        if self.request.work != WorkState::Unknown {
            for gate in found.config.gates.values_mut() {
                gate.terms.on_nothing.get_or_insert(Inapplicable::Block);
            }
        }
        let compiling = {
            let emitter = Arc::clone(emitter);
            move |name: &str, source: &ComponentSource| {
                emitter.emit(EventKind::Compiling { verifier: name.to_owned(), bytes: source.bytes().len() });
            }
        };
        let verifiers = Verifiers::new(Arc::clone(&self.runtime), found.folder.clone(), compiling);
        verifiers.load(&found.config).await;
        let plan = plan::resolve(&found.config, self.request.gate.as_deref(), &verifiers)
            .map_err(|problems| Error::configuration(&found.name, &problems))?;
        Ok((found, plan, verifiers))
    }

    async fn run(self) -> Result<Record, Error> {
        let (start, started) = (Instant::now(), SystemTime::now());
        let emitter = Arc::new(RunEvents::new(run_id(started), Arc::clone(&self.observer)));
        let recorder = tokio::task::spawn_blocking(self.recorder());
        let (resolved, collected) = match &self.request.pinned {
            Some(Pinned(resolved)) => (Arc::clone(resolved), None),
            None => {
                let (found, plan, verifiers, changes) = self.plan_and_collect(&emitter, true).await?;
                (
                    Arc::new(ResolvedConfig { found: Arc::new(found), plan, verifiers, sealed: Sealed::default() }),
                    changes,
                )
            }
        };
        let ResolvedConfig { found, plan, verifiers, .. } = &*resolved;
        self.refuse_unread(plan)?;
        let tape = self.tape()?;
        let store = self.store();
        let changes = Arc::new(match collected {
            Some(changes) => changes,
            None => self.collect(plan).await?,
        });
        let (seen, said) = (Arc::clone(&changes), self.request.submission.clone());
        let judges_submissions = plan.checks().any(|check| check.shape == Shape::Submission);
        let about_working_tree = plan.checks().any(|check| check.working_tree);
        let (folder, selection) = (self.request.folder.clone(), self.request.selection.clone());
        let environment = self.request.environment.clone();
        let mut subject = blocking(move || {
            let mut subject = subject::of(&seen, said);
            // Only verifiers of submissions are told. Before anything ran, no file was judged.
            let nothing = Node::new("", NodeKind::All, Outcome::NotReached);
            let digest =
                judges_submissions.then(|| subject::tree_digest(&nothing, &subject.submission, &subject.workspace));
            subject.submission.tree_digest = digest.flatten();
            if about_working_tree && !selection.shows_working_tree() {
                let live = changes::collect(&folder, &Selection::Changed, Needs::default(), &environment)?;
                subject.uncommitted = live.from_git.then(|| (live.changes.clone(), live.base.clone()));
            }
            Ok(subject)
        })
        .await?;
        if let Some(known) = &self.request.repeat {
            subject.paths.clone_from(&known.paths);
        }
        let left_out = subject::leave_out(&mut subject, plan)?;
        let recorder = blocked(recorder.await)?;
        let mut predecessor_unpassed = self.request.repeat.as_ref().is_some_and(|known| known.predecessor_unpassed);
        let recorder = match recorder {
            Some(mut recorder) => {
                let mut said = subject.submission;
                let has_cadence = plan.root.walk().any(|node| !node.when.is_empty());
                let head = changes.base.clone();
                let head = head.filter(|_| matches!(self.request.selection, Selection::Changed | Selection::Staged));
                let request = self.request.clone();
                let know = move || {
                    let note = |head: String| recorder.note_commit(&request.folder, &head, &request.environment);
                    head.map_or(Ok(()), note)?;
                    let unpassed = recorder.know(&mut said, has_cadence)?;
                    Ok((recorder, said, unpassed))
                };
                let (recorder, said, unpassed) = blocking(know).await?;
                subject.submission = said;
                predecessor_unpassed = unpassed;
                Some(recorder)
            }
            None => None,
        };
        let files = subject.paths.len() + left_out.len();
        let mut circumstances = Circumstances::of(&subject.submission);
        circumstances.facts.predecessor_unpassed = predecessor_unpassed;
        circumstances.changed = subject::changed(&changes, &subject.submission);
        circumstances.fail_fast = self.request.fail_fast;
        circumstances.left_out = self.request.checks.left_out(plan)?;
        circumstances.nothing_done = self.request.work == WorkState::NotDone;

        let digest = plan.digest();
        let attempt = subject.submission.attempt.max(1);
        let labels = Labels {
            run: emitter.run().to_owned(),
            task: subject.submission.task.as_ref().map(|task| task.id.clone()).unwrap_or_default(),
            group: subject.submission.task.as_ref().and_then(|task| task.group.clone()).unwrap_or_default(),
            gate: plan.root.name.clone(),
            plan: digest.clone(),
            ..Labels::default()
        };
        let takes_time = !plan.commands.is_empty() || !plan.models.is_empty();
        let given = recorder.is_some().then(|| RunInputs {
            submission: RunInputs::said(&subject.submission),
            paths: subject.paths.clone(),
            from_git: changes.from_git,
            base: changes.base.clone(),
            work: RunInputs::work(self.request.work),
            fail_fast: self.request.fail_fast,
            left_out: circumstances.left_out.iter().cloned().collect(),
            predecessor_unpassed,
        });
        let run = emitter.run().to_owned();
        let begin = |mut recorder: LedgerRecorder| {
            blocking(move || {
                recorder.begin(labels, attempt, takes_time)?;
                let kept = recorder.ledger().folder().map(|state| Kept::of(&state, &run));
                // Where it cannot be kept, the run cannot be bundled later; its entries tell all the same.
                let kept = kept.filter(|kept| kept.begin(&given.unwrap_or_default()).is_ok());
                Ok((recorder, kept))
            })
        };
        let (recorder, kept) = match recorder {
            Some(recorder) => {
                let (recorder, kept) = begin(recorder).await?;
                (Some(recorder), kept)
            }
            None => (None, None),
        };
        let (tape, commands) = self.tapes(tape, kept.as_ref(), plan);
        emitter.run_started(plan, &digest, files);
        let environment = &self.request.environment;
        let services = Services::new(plan, &subject, tape, commands, found.path.clone(), environment);
        let told = Arc::new(subject);
        let observe = |event: gate::GateEvent<'_>| {
            if let Some(recorder) = &recorder {
                recorder.observe(event);
            }
            emitter.gate_event(event);
        };
        let done = {
            let emitter = Arc::clone(&emitter);
            move |check: &str, done, total| {
                emitter.emit(EventKind::FilesDone { check: check.to_owned(), done, total });
            }
        };
        let kept = subject::looked_at(plan)?;
        let added = || {
            let added = added(&self.request, &changes, store.as_ref());
            added.map(|paths| paths.into_iter().filter(|path| kept.contains(path)).collect())
        };
        let (runtime, use_cache) = (Arc::clone(&self.runtime), self.request.use_cache);
        let bench = CheckRunner::new(runtime, verifiers, plan, Arc::clone(&told), services, use_cache, &observe);
        let mut bench = bench.telling(Arc::new(done)).in_run(emitter.run());
        let root = changes::root(&self.request.folder, environment);
        if let (Some(commit), Ok(Some(repository))) = (changes.base.clone(), root) {
            bench = bench.relative_to(Some(Base { repository, commit, environment: environment.clone() }));
        }
        if !plan.commands.is_empty() && self.request.selection.is_live() {
            bench = bench.looking_again(&added);
        }
        let mut gate = gate::run_failed_first(plan, &circumstances, &bench, &self.request.first).await;
        emit_log(&emitter, bench.into_log());
        let (known, collected, request) = (Arc::clone(&resolved), Arc::clone(&changes), self.request.clone());
        let touched = match &self.request.repeat {
            Some(known) => known.touched.clone(),
            None => {
                blocking(move || {
                    let Request { folder, selection, environment, .. } = &request;
                    let mut touched = known.found.touched(&collected, folder, selection, environment)?;
                    touched.extend(known.sealed.touched(&known.found, folder, selection, environment)?);
                    Ok(touched)
                })
                .await?
            }
        };
        trusted::hold(&mut gate, &touched);
        explain(&mut gate, verifiers);

        let feedback = (gate.outcome.status() != Some(Status::Pass)).then(|| feedback(&gate));
        let mut record = Record::of(gate);
        record.run = emitter.run().to_owned();
        record.started = text::timestamp(started);
        record.host = HostBuild {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: env!("GATEHOST_BUILD").to_owned(),
            contract: CONTRACT.to_owned(),
        };
        record.selection = selection_record(&self.request.selection);
        record.base = changes.base.clone();
        record.policy = found.record();
        record.plan = digest;
        record.task = told.submission.task.as_ref().map(TaskRecord::from);
        record.attempt = told.submission.attempt.max(1);
        record.attempts_allowed = told.submission.attempts_allowed;
        record.executor = told.submission.executor.clone();
        record.files = files;
        record.warnings = verifiers.unused_grants(plan);
        record.feedback = feedback;
        let root = told.workspace.root().to_owned();
        let reviews = told.submission.review.as_ref().map_or(1, |review| review.number);
        let mut record = blocking(move || {
            record.tree = subject::tree_digest(&record.gate, &told.submission, &told.workspace);
            record.unjudged = subject::unjudged(&record.gate, &told.paths, &left_out);
            Ok(record)
        })
        .await?;
        record.duration = start.elapsed();
        if let Some(mut recorder) = recorder {
            let (found, environment) = (Arc::clone(found), self.request.environment.clone());
            let end = move || {
                let asked = recorder.end(&mut record, &found.config)?;
                Ok((record, recorder.ledger(), asked))
            };
            let (stored, ledger, asked) = blocking(end).await?;
            record = stored;
            if let Some(asked) = asked {
                notify(&resolved.found.config, &environment, root, &*ledger, &asked).await?;
            }
        }
        // A loop tells of its reviews itself, with what follows from them.
        if let Some(file) = found.progress_file().filter(|_| self.request.pinned.is_none())
            && let Err(error) = progress::append(&file, plan, &record, reviews)
        {
            let message = format!("cannot append to the progress file `{}`: {error}", file.display());
            emitter.emit(EventKind::Logged { check: "progress".to_owned(), severity: "warn".to_owned(), message });
        }
        emitter.run_ended(record.status);
        Ok(record)
    }

    /// Returns the tapes of the run: what models and commands answer is kept with the run, and on the caller's tapes.
    fn tapes(&self, tape: Option<Arc<ModelTape>>, kept: Option<&Kept>, plan: &Plan) -> Tapes {
        let commands = self.request.commands.clone();
        let models_kept = kept.filter(|_| !plan.models.is_empty()).and_then(|kept| match &tape {
            Some(tape) => tape.copied_to(&kept.models()).ok(),
            None => ModelTape::record(&kept.models()).ok(),
        });
        let commands_kept = kept.filter(|_| !plan.commands.is_empty()).and_then(|kept| match &commands {
            Some(tape) => tape.copied_to(&kept.commands()).ok(),
            None => CommandTape::record(&kept.commands()).ok(),
        });
        (models_kept.map(Arc::new).or(tape), commands_kept.map(Arc::new).or(commands))
    }

    /// Opens the ledger, where blocking is allowed.
    fn recorder(&self) -> impl FnOnce() -> Result<Option<LedgerRecorder>, Error> + Send + 'static {
        let Request { ledger, environment, folder, session, .. } = self.request.clone();
        move || LedgerRecorder::open(&ledger, &environment, &folder, session)
    }

    /// What is handed over and read by no check would look as if it had been judged.
    fn refuse_unread(&self, plan: &Plan) -> Result<(), Error> {
        if self.request.unread == Unread::Ignore {
            return Ok(());
        }
        let said = &self.request.submission;
        let is_any = |reads: fn(&plan::Check) -> bool| plan.checks().any(reads);
        let reads_any = is_any(|check| check.shape == Shape::Submission);
        // A document may say more than one gate reads; what the caller hands over by itself is meant to be read.
        let by_caller = |evaluator: &Evaluator| evaluator.source == TaskSource::Caller;
        let reads_claim = if self.request.unread == Unread::RefuseClaim {
            is_any(|check| check.reads.has(SubmissionParts::CLAIM))
        } else {
            reads_any
        };
        let reads_evaluator = match said.evaluator.as_ref().is_some_and(by_caller) {
            true => is_any(|check| check.reads.has(SubmissionParts::EVALUATOR)),
            false => reads_any,
        };
        let what = [
            ("a claim", said.claim.is_some() && !reads_claim, "claims"),
            ("an evaluator's answer", said.evaluator.is_some() && !reads_evaluator, "evaluators' answers"),
            ("tool calls", !said.tool_calls.is_empty() && !reads_any, "submissions"),
        ];
        match what.iter().find(|(_, is_unread, _)| *is_unread) {
            None => Ok(()),
            Some((what, _, all)) => {
                let gate = &plan.root.name;
                let all = if reads_any { *all } else { "submissions" };
                let message = format!("the submission has {what}, but no check of the gate `{gate}` reads {all}");
                let hint = "use another gate, or add a check that reads it; `gate inspect` lists the bundled verifiers";
                Err(Error::usage(message).hint(hint.to_owned()))
            }
        }
    }

    fn tape(&self) -> Result<Option<Arc<ModelTape>>, Error> {
        self.request.models.open(&self.request.folder)
    }
}

impl Recording {
    /// The tape, if there is to be one.
    fn open(&self, folder: &Path) -> Result<Option<Arc<ModelTape>>, Error> {
        let seen = |path: &Path| folder.join(path);
        let tape = match self {
            Recording::Off => return Ok(None),
            Recording::Shared(tape) => return Ok(Some(Arc::clone(tape))),
            Recording::Record(path) => ModelTape::record(&seen(path)),
            Recording::Replay(path) => ModelTape::replay(&seen(path)),
        };
        tape.map(|tape| Some(Arc::new(tape))).map_err(|error| {
            let hint = match &error {
                BadModelTape::Exists(_) => Some("delete it, or choose another name".to_owned()),
                BadModelTape::Invalid { .. } => Some("record it again with `--record-models`".to_owned()),
                _ => None,
            };
            Error::input(&error).hint(hint)
        })
    }

    /// The same, with one tape for several runs.
    pub fn shared(&self, folder: &Path) -> Result<Self, Error> {
        Ok(self.open(folder)?.map_or(Self::Off, Self::Shared))
    }
}

/// The digest of what a selection holds, and the commit that it is relative to: as a record of a run has them.
pub fn digest_of(
    folder: &Path,
    selection: &Selection,
    environment: &Environment,
) -> Result<(Option<String>, Option<String>), Error> {
    let changes = changes::collect(folder, selection, Needs::default(), environment)?;
    let subject = subject::of(&changes, Submission::default());
    let nothing = Node::new("", NodeKind::All, Outcome::NotReached);
    Ok((subject::tree_digest(&nothing, &subject.submission, &subject.workspace), changes.base.clone()))
}

/// The digest of what a submission is about, in a folder that holds it.
pub(crate) fn tree_digest(submission: &Submission, workspace: &Workspace) -> Option<String> {
    subject::tree_digest(&Node::new("", NodeKind::All, Outcome::NotReached), submission, workspace)
}

/// A configuration, as files.
pub(crate) struct PolicyFiles {
    /// The digest of its gate.toml.
    pub(crate) digest: Option<String>,
    /// The bytes of every file of it, by its path relative to gate.toml.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// The files of the configuration of a request.
pub(crate) fn policy_files(request: &Request) -> Result<PolicyFiles, Error> {
    let found = policy::find(request)?;
    Ok(PolicyFiles { digest: found.record().digest, files: trusted::files(&found)? })
}

/// Whether a folder is in a repository, and nothing in it differs from the last commit.
pub fn is_unchanged(folder: &Path, environment: &Environment) -> Result<bool, Error> {
    let changes = changes::collect(folder, &Selection::Changed, Needs::default(), environment)?;
    Ok(changes.from_git && changes.base.is_some() && changes.changes.is_empty())
}

/// Does something that blocks where that is allowed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    blocked(tokio::task::spawn_blocking(work).await)
}

fn blocked<T>(done: Result<Result<T, Error>, tokio::task::JoinError>) -> Result<T, Error> {
    done.map_err(|error| Error::host("the run could not continue").because(error))?
}

/// The files that there are to judge now and were not before.
fn added(
    request: &Request,
    before: &changes::Changes,
    store: Option<&Arc<CacheStore>>,
) -> Result<Vec<String>, Failure> {
    let Request { folder, selection, environment, .. } = request;
    let now = changes::collect_with(folder, selection, Needs::default(), environment, store).map_err(|error| {
        Failure::new(ErrorKind::FsUnreadable, format!("cannot check for changes during the run: {error}"))
    })?;
    let before: BTreeSet<&str> = before.paths().into_iter().collect();
    Ok(now.paths().into_iter().filter(|path| !before.contains(path)).map(str::to_owned).collect())
}

fn emit_log(emitter: &RunEvents, log: Vec<Logged>) {
    for Logged { check, lines, dropped } in log {
        let logged = |severity: String, message: String| EventKind::Logged { check: check.clone(), severity, message };
        for line in lines {
            emitter.emit(logged(line.severity.to_string(), line.message));
        }
        if dropped > 0 {
            emitter.emit(logged("warn".to_owned(), format!("{dropped} more lines were dropped")));
        }
    }
}

/// Keeps what the verifiers say about the codes that they reported.
fn explain(node: &mut Node, verifiers: &Verifiers) {
    if let (Some(verifier), Some(verdict)) = (&node.verifier, &node.verdict) {
        let codes: BTreeSet<&str> = verdict.findings.iter().map(|finding| finding.code.as_str()).collect();
        node.rules = codes.into_iter().filter_map(|code| verifiers.rule(&verifier.digest, code)).collect();
    }
    node.children.iter_mut().for_each(|child| explain(child, verifiers));
}

fn selection_record(selection: &Selection) -> SelectionRecord {
    let of = |kind: &str| SelectionRecord { kind: kind.to_owned(), ..SelectionRecord::default() };
    match selection {
        Selection::Changed => of("changed"),
        Selection::Staged => of("staged"),
        Selection::All => of("all"),
        Selection::Files(paths) => {
            let paths = paths.iter().map(|path| text::clean_line(&path.to_string_lossy(), 1_000)).collect();
            SelectionRecord { paths, ..of("files") }
        }
        Selection::Since(from) => SelectionRecord { from: Some(from.clone()), ..of("since") },
        Selection::Base(from) => SelectionRecord { from: Some(from.clone()), ..of("base") },
        Selection::Between { from, to } => {
            SelectionRecord { from: Some(from.clone()), to: Some(to.clone()), ..of("between") }
        }
        Selection::Commit(commit) => SelectionRecord { to: Some(commit.clone()), ..of("commit") },
    }
}

/// An identifier that sorts by time: 48 bits of milliseconds and 80 random bits, as 26 letters and digits.
pub(crate) fn run_id(now: SystemTime) -> String {
    let milliseconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let random = random::<10>().unwrap_or_default();
    let random = random.iter().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    let bits = (milliseconds & ((1 << 48) - 1)) << 80 | random;
    crate::run_id::encode(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn identifiers_sort_by_time_and_never_repeat() {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let ids: BTreeSet<String> = (0..1_000).map(|_| run_id(then)).collect();
        assert_eq!(ids.len(), 1_000);
        let later = run_id(then + Duration::from_millis(1));
        assert!(ids.iter().all(|id| *id < later && id.len() == 26));
    }
}
