//! The child process of a hook: runs the gate for the event, and decides what the agent gets to read.
//!
//! The agent is the author of the change, so it can choose neither the base commit nor the gate: the first event of the
//! session fixes both.

use super::budget::{AgentSession, BOUNCES, HookVerdict, Start, uncounted};
use super::running::Running;
use super::state::{GateRun, HookState};
use super::verdict::{explain, no_answer, verdict_of};
use super::{Call, Decision, HookEvent, transcript};
use crate::changes::{self, Selection};
use crate::config;
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::error::Error;
use crate::event::Event;
use crate::record::PolicyRecord;
use crate::session::{Configured, Host, LedgerUse, Policy, Request, Unread, configured};
use crate::submission::{Claim, Executor, Submission, Task, TaskSource};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The request to the child process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The call of the host.
    pub call: Call,
    /// Where the hook was started.
    pub folder: PathBuf,
    /// How long the run may take.
    pub limit: Duration,
    /// Why a first child failed. Then no gate runs: the failure is recorded and reported.
    pub fault: Option<String>,
}

/// A job that has begun.
#[derive(Debug)]
pub struct Work {
    job: Job,
    environment: Environment,
    root: PathBuf,
    key: String,
    /// The session that a helper of the agent belongs to; else the same as `key`.
    main_key: String,
    state: Option<HookState>,
    /// The stored state of the session.
    session: AgentSession,
    start: Option<Start>,
}

/// What to do at an event.
#[derive(Debug)]
pub enum Prepared {
    /// Nothing is verified.
    Nothing,
    /// Run a gate, and send the agent back at most this many times.
    Run(Box<Request>, u32),
    /// The result is known without a run.
    Known(HookResult),
}

/// The result of the gate.
#[derive(Debug)]
pub struct HookResult {
    pub(super) judged: HookVerdict,
    pub(super) ran: GateRun,
    pub(super) start: Option<Start>,
}

impl Work {
    /// Finds out where the agent works, and what is known about its session.
    pub fn open(job: Job, environment: Environment) -> Self {
        let here = job.call.folder.as_deref().filter(|folder| folder.is_dir()).unwrap_or(&job.folder);
        let folder = root(here);
        let host = job.call.host.as_str();
        let (key, main_key) = match &job.call.session {
            Some(session) => (format!("{host} {session}"), format!("{host} {}", main_session(session))),
            None => {
                let key = format!("{host} in {}", folder.display());
                (key.clone(), key)
            }
        };
        let state = HookState::open(&environment);
        // The session is locked only while it is read and while it is written: a run takes long, and hosts call in parallel.
        let known = |key: &str| Some(state.as_ref()?.session(key).ok()?.session.clone());
        let session = known(&key).unwrap_or_default();
        let main = if main_key == key { None } else { known(&main_key) };
        let (first, start) = match main {
            Some(main) => (main.root.or(session.root.clone()), main.start.or(session.start.clone())),
            None => (session.root.clone(), session.start.clone()),
        };
        let root = match first {
            Some(first) if first != folder && !is_worktree_of(&folder, &first) && first.is_dir() => first,
            _ => folder,
        };
        Self { job, environment, root, key, main_key, state, session, start }
    }

    /// Returns what to run at this event, or that there is nothing to verify.
    pub fn prepare(&self) -> Prepared {
        let mut allowed = BOUNCES;
        let prepared = match &self.job.fault {
            Some(reason) => Ok(Prepared::Known(fault(reason.clone(), allowed))),
            None => self.request(&mut allowed),
        };
        prepared.unwrap_or_else(|error| Prepared::Known(fault(explain(&error), allowed)))
    }

    fn request(&self, allowed: &mut u32) -> Result<Prepared, Error> {
        let (call, start) = (&self.job.call, Instant::now());
        if !matches!(call.event, HookEvent::Stop | HookEvent::Task | HookEvent::Tool) {
            return Ok(Prepared::Nothing);
        }
        let mut request = Request::new(&self.root, self.environment.clone());
        let configured = match self.policy(&mut request)? {
            Ok(configured) => configured,
            Err(reason) => return Ok(Prepared::Known(fault(reason, *allowed))),
        };
        *allowed = configured.hook.bounces.unwrap_or(BOUNCES);
        match gate(&configured.hook, call.event) {
            Some(gate) => request.gate = gate,
            None => return Ok(Prepared::Nothing),
        }
        request.selection = match &self.start {
            _ if call.event == HookEvent::Tool => match inside(&self.root, &call.files) {
                files if files.is_empty() => return Ok(Prepared::Nothing),
                files => Selection::Files(files),
            },
            Some(Start { base: Some(base), .. }) => Selection::Base(base.clone()),
            Some(Start { base: None, .. }) => Selection::All,
            None => Selection::Changed,
        };
        let deadline = Deadline::from(start);
        deadline.set(request.gate.as_deref().unwrap_or_default(), configured.deadline, Duration::ZERO);
        request.submission = self.submission(request.gate.as_deref().unwrap_or_default(), &deadline);
        request.unread = Unread::Ignore;
        request.ledger = LedgerUse::StateFolder;
        request.session.clone_from(&self.key);
        Ok(Prepared::Run(Box::new(request.begun(start)), *allowed))
    }

    /// Runs a gate. `tell` is called whenever a check starts or ends.
    pub async fn run(
        &self,
        request: Request,
        allowed: u32,
        tell: impl Fn(&Running) + Send + Sync + 'static,
    ) -> HookResult {
        let running = Arc::new(Mutex::new(Running::default()));
        let known = Arc::clone(&running);
        let observer = move |event: &Event| {
            let mut running = known.lock();
            if running.note(event) {
                tell(&running);
            }
        };
        let host = match Host::new(&self.environment) {
            Ok(host) => host,
            Err(error) => return fault(explain(&error), allowed),
        };
        match tokio::time::timeout(self.job.limit, host.run(request, observer)).await {
            // The run has read the configuration again, and it was different.
            Ok(Ok(record)) if self.known_policy().is_some_and(|known| digest(&record.policy) != *known) => {
                fault(no_answer(CHANGED), allowed)
            }
            Ok(Ok(record)) => {
                let start = Start { base: record.base.clone(), policy: Some(digest(&record.policy)), committed: false };
                let ran = GateRun { run: Some(record.run.clone()), gate: record.gate.name.clone(), allowed };
                HookResult { judged: verdict_of(&record), ran, start: Some(start) }
            }
            Ok(Err(error)) => fault(explain(&error), allowed),
            Err(_) => {
                let running = running.lock();
                fault(no_answer(&running.late(self.job.limit)), allowed)
            }
        }
    }

    fn known_policy(&self) -> Option<&String> {
        self.start.as_ref()?.policy.as_ref()
    }

    /// Returns the state of the work at the start of a session. If it cannot be read now, the next event reads it.
    fn started(&self) -> Option<Start> {
        let base = changes::base(&self.root, &Selection::Changed, &self.environment).ok()?;
        let mut request = Request::new(&self.root, self.environment.clone());
        let read = |request: &Request| configured(request).ok().map(|found| digest(&found.policy));
        let policy = read(&request);
        let committed = base.as_ref().is_some_and(|base| {
            request.policy = Policy::Commit(base.clone());
            policy.is_some() && read(&request) == policy
        });
        Some(Start { base, policy, committed })
    }

    /// Reads the configuration, or returns why there is no configuration that the agent cannot have changed.
    fn policy(&self, request: &mut Request) -> Result<Result<Configured, String>, Error> {
        let nearest = configured(request);
        let Some(Start { base, policy: Some(policy), committed }) = &self.start else { return nearest.map(Ok) };
        let is_same = |found: &Configured| digest(&found.policy) == *policy;
        match (nearest, base) {
            // The same bytes as in the base commit, and no other files: cheaper than reading the commit.
            (Ok(found), _) if is_same(&found) && (!committed || found.stands_alone) => Ok(Ok(found)),
            (_, Some(base)) if *committed => {
                request.policy = Policy::Commit(base.clone());
                configured(request).map(Ok)
            }
            (Err(error), _) => Err(error),
            (Ok(_), _) => Ok(Err(no_answer(CHANGED))),
        }
    }

    fn submission(&self, gate: &str, deadline: &Deadline) -> Submission {
        let call = &self.job.call;
        let said = call.transcript.as_deref().map(|path| transcript::read(path, deadline)).unwrap_or_default();
        let bounces = self
            .state
            .as_ref()
            .and_then(|state| Some(state.budget(&self.root, &self.key, gate, self.session.since).ok()?.bounces));
        Submission {
            claim: call.claim.clone().or(said.last).map(|text| Claim { text, report: None }),
            tool_calls: said.tool_calls,
            // The ledger knows the attempts at a task.
            attempt: if call.task.is_some() { 0 } else { bounces.unwrap_or_default() + 1 },
            executor: Executor {
                name: Some(call.host.as_str().to_owned()),
                model: call.model.clone().or(said.model),
                session: call.session.clone(),
                ..Executor::default()
            },
            task: call.task.clone().map(|(id, title)| Task {
                id,
                title,
                source: TaskSource::Caller,
                ..Task::default()
            }),
            ..Submission::default()
        }
    }

    /// Decides what the agent is told, and records it. `None` if nothing is verified at this event.
    pub fn conclude(self, found: Option<HookResult>) -> Decision {
        let Some(found) = found else {
            self.note();
            return Decision::Allow;
        };
        self.count(&found).unwrap_or_else(|| match &found.judged {
            HookVerdict::Pass => Decision::Allow,
            HookVerdict::Fail { reason, .. } | HookVerdict::Blocked { reason } | HookVerdict::Fault { reason } => {
                uncounted(&self.job.call, reason)
            }
        })
    }

    /// Stores how a session began, and that the user asked for something. If that fails, the next event stores it.
    fn note(&self) -> Option<()> {
        // Not every host announces a session: then it begins with the first request of the user.
        if self.start.is_none() {
            self.remember_start(self.started());
        }
        if self.job.call.event != HookEvent::Prompt {
            return None;
        }
        let state = self.state.as_ref()?;
        let mut remembered = state.session(&self.key).ok()?;
        self.turn(state, &mut remembered.session, false);
        remembered.save().ok()
    }

    fn remember_start(&self, start: Option<Start>) -> Option<()> {
        let mut remembered = self.state.as_ref()?.session(&self.main_key).ok()?;
        remembered.session.root.get_or_insert_with(|| self.root.clone());
        remembered.session.start = remembered.session.start.take().or(start);
        remembered.save().ok()
    }

    /// Stores which request of the user a call belongs to.
    fn turn(&self, state: &HookState, session: &mut AgentSession, is_spent: bool) {
        if session.is_new_turn(&self.job.call, is_spent) {
            session.since = state.last().unwrap_or(session.since);
        }
        if self.job.call.turn.is_some() {
            session.turn.clone_from(&self.job.call.turn);
        }
    }

    /// Decides by the entries of the ledger; `None` if the ledger cannot be used.
    fn count(&self, found: &HookResult) -> Option<Decision> {
        let state = self.state.as_ref()?;
        let HookResult { judged, ran, start } = found;
        if self.main_key != self.key {
            self.remember_start(start.clone())?;
        }
        let mut remembered = state.session(&self.key).ok()?;
        let session = &mut remembered.session;
        let budget = |since: u64| state.budget(&self.root, &self.key, &ran.gate, since).ok();
        self.turn(state, session, budget(session.since)?.is_spent);
        session.root.get_or_insert_with(|| self.root.clone());
        session.start = session.start.take().or(start.clone());
        let budget = budget(session.since)?;
        let decision = budget.decide(&self.job.call, judged, ran.allowed);
        state.record(&self.root, &self.key, &self.job.call, &budget, (judged, ran, &decision)).ok()?;
        if let Decision::Block(reason) = &decision {
            session.remember_reason(reason);
        }
        if *judged == HookVerdict::Pass && self.job.call.event != HookEvent::Tool {
            session.since = state.last().ok()?;
        }
        remembered.save().ok()?;
        Some(decision)
    }
}

/// Why a configuration cannot be used for an agent.
const CHANGED: &str = "`gate.toml` was changed in this session, and the author of the work cannot choose the gate; a person \
                       must review and commit the change, which then applies from the next session";

/// Returns the digest of a configuration; empty for the default gate.
fn digest(policy: &PolicyRecord) -> String {
    policy.digest.clone().unwrap_or_default()
}

fn fault(reason: String, allowed: u32) -> HookResult {
    HookResult { judged: HookVerdict::Fault { reason }, ran: GateRun { allowed, ..GateRun::default() }, start: None }
}

/// Returns the files that exist inside the root; others are not checked here.
fn inside(root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let real = |file: &PathBuf| Some(file.parent()?.canonicalize().ok()?.join(file.file_name()?));
    files.iter().filter_map(real).filter(|file| file.starts_with(root) && file.exists()).collect()
}

/// Returns the session without the subagent, which [`super::fields`] appends to it.
fn main_session(session: &str) -> &str {
    session.split_once('/').map_or(session, |(main, _)| main)
}

/// Returns the root of the repository that a folder is in, or the folder.
fn root(folder: &Path) -> PathBuf {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = real.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    root.unwrap_or(&real).to_owned()
}

/// Returns whether a folder is the root of a worktree of the repository at `root`.
fn is_worktree_of(folder: &Path, root: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(folder.join(".git")) else { return false };
    let Some(git) = text.strip_prefix("gitdir:").map(|path| Path::new(path.trim())) else { return false };
    git.starts_with(root.join(".git").join("worktrees"))
}

/// Returns the gate for an event: `None` if there is none, `Some(None)` for the default gate.
fn gate(settings: &config::HookConfig, event: HookEvent) -> Option<Option<String>> {
    match event {
        HookEvent::Stop => Some(settings.stop.clone()),
        HookEvent::Task => Some(settings.task_completed.clone().or_else(|| settings.stop.clone())),
        HookEvent::Tool => settings.post_tool_use.clone().map(Some),
        HookEvent::Start | HookEvent::Prompt | HookEvent::Other => None,
    }
}
