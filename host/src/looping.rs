//! The loop: run an executor, judge what it did, send it back with feedback, and end in a state that has a name.
//!
//! What decides is fixed before the executor runs for the first time: the commit that its work is compared with, the
//! configuration, and the bytes of the verifiers ([`Pinned`]). At every attempt everything that differs from that commit
//! is judged: later commits, staged, unstaged and untracked files, also those that were there before.
//!
//! An executor is not confined. It keeps its terminal and its network, and ends with everything that it started before
//! its work is judged. One that does not end by itself with exit code 0 has failed, whatever it left behind.

mod attempt;
mod entries;
mod decide;
mod emit;
mod executor;
mod record;
mod repeated;

pub use record::{AttemptRecord, ExecutorRun, LoopRecord, State};

use crate::changes::{self, Needs, Selection};
use crate::config::Loop;
use crate::error::Error;
use crate::event::{Observer, What};
use crate::record::TaskRecord;
use crate::session::{self, Host, LedgerUse, Pinned, Request, Work, run_id};
use crate::shutdown;
use crate::text;
use decide::{Next, Rules};
use emit::Emitter;
use entries::LoopEntries;
use record::Ended;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

/// What is handed the output of an executor as it comes.
pub type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// What is to be done, by whom, and how it is judged.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoopRequest {
    /// How the work is judged. Its selection, claim, attempt and session are for the loop to fill in.
    pub request: Request,
    /// The executor and its arguments. In an argument, `{feedback}` and `{task}` stand for what is said to it.
    pub executor: Vec<String>,
    /// Whether the feedback is its standard input.
    pub feedback_on_stdin: bool,
    /// The budgets that outrank those of the configuration.
    pub budgets: Loop,
    /// Whether the executor stays in the foreground of the terminal.
    pub keep_terminal: bool,
    /// Handed what the executor prints.
    pub output: Output,
}

impl LoopRequest {
    /// Runs this executor until this request passes.
    pub fn new(request: Request, executor: Vec<String>) -> Self {
        Self {
            request,
            executor,
            feedback_on_stdin: false,
            budgets: Loop::default(),
            keep_terminal: false,
            output: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for LoopRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopRequest").field("request", &self.request).field("executor", &self.executor).finish()
    }
}

/// Runs a loop to its end, which blocks for as long as it takes. An error means that the caller must change something, or
/// that the machine failed: there was nothing to run or to judge, or the ledger could not be written. Whatever the
/// executor and the verifiers do is in the record.
pub fn run(host: &Host, wanted: LoopRequest, observer: impl Observer + 'static) -> Result<LoopRecord, Error> {
    if wanted.executor.is_empty() {
        return Err(Error::usage("expected an executor").hint("`gate loop -- PROGRAM ARGUMENTS`".to_owned()));
    }
    let started = SystemTime::now();
    let emitter = Arc::new(Emitter::new(run_id(started), Arc::new(observer)));
    let mut request = wanted.request.clone();
    let base = base(&request)?;
    request.work = Work::Asked;
    request.selection = Selection::Base(base.clone());
    request.session = emitter.id().to_owned();
    let pinned = wait(host.pin(request.clone(), emitter.forwarding()))?;
    let ledger = request.ledger.open(&request.environment)?;
    let entries = LoopEntries::new(ledger.clone(), &request, pinned.plan())?;
    request.ledger = ledger.map_or(LedgerUse::Off, LedgerUse::Store);
    request.pinned = Some(pinned.clone());
    let budgets = wanted.budgets.or(&pinned.budgets());
    let mut record = LoopRecord {
        id: emitter.id().to_owned(),
        gate: pinned.plan().root.name.clone(),
        plan: pinned.plan().digest(),
        policy: pinned.policy(),
        base,
        task: request.submission.task.as_ref().map(TaskRecord::from),
        executor: wanted.executor.clone(),
        started: text::timestamp(started),
        bounces_allowed: budgets.bounces(),
        ..LoopRecord::default()
    };
    emitter.emit(What::LoopStarted {
        gate: record.gate.clone(),
        plan: record.plan.clone(),
        base: record.base.clone(),
        executor: wanted.executor.clone(),
        max_bounces: budgets.bounces(),
    });
    entries.begin(&record)?;
    let interrupted = {
        let (entries, emitter) = (entries.clone(), Arc::clone(&emitter));
        move || {
            // Where it is not written, the start without an end says the same once this process has ended.
            let _ = entries.interrupted();
            emitter.ended(&Ended::new(State::Interrupted, "a signal interrupted it", None));
        }
    };
    let _interrupted = shutdown::when_interrupted(interrupted);
    let ended = match entries.halted()? {
        Some(why) => Ended::new(State::Halted, why, Some("halted")),
        None => {
            let config = pinned.config();
            let rules = Rules::new(&budgets, config.retry.clone(), config.escalation.clone());
            Driver { host, wanted, request, pinned, budgets, rules, entries: &entries, emitter: &emitter }
                .drive(&mut record)?
        }
    };
    record.state = ended.state;
    record.why.clone_from(&ended.why);
    record.budget.clone_from(&ended.budget);
    record.duration = emitter.elapsed();
    entries.end(&record)?;
    emitter.ended(&ended);
    Ok(record)
}

/// Waits for what computes on threads of its own.
fn wait<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let tokio = tokio::runtime::Builder::new_current_thread().build();
    tokio.map_err(|error| Error::host("cannot wait").because(error))?.block_on(future)
}

/// The commit that the work is compared with.
fn base(request: &Request) -> Result<String, Error> {
    let changes = changes::collect(&request.folder, &Selection::Changed, Needs::default())?;
    changes.base.filter(|_| changes.from_git).ok_or_else(|| {
        Error::input("a loop compares the work with the last commit, and there is none")
            .hint("run it in a git repository that has a commit".to_owned())
    })
}

/// A loop that runs.
struct Driver<'a> {
    host: &'a Host,
    wanted: LoopRequest,
    request: Request,
    pinned: Pinned,
    budgets: Loop,
    rules: Rules,
    entries: &'a LoopEntries,
    emitter: &'a Arc<Emitter>,
}

impl Driver<'_> {
    /// Attempt after attempt, until one passes or a budget ends.
    fn drive(&self, record: &mut LoopRecord) -> Result<Ended, Error> {
        let before = repeated::tree(&self.request);
        let mut past = self.entries.past()?;
        let mut feedback = String::new();
        let mut earlier = Vec::new();
        loop {
            let number = u32::try_from(record.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.emitter.attempt(number);
            let mut done = self.attempt(number, &feedback, before.as_deref(), &earlier)?;
            past.push(done.past());
            let facts = self.entries.facts(&past, &done)?;
            let last_failure = record.attempts.last().map(|attempt| attempt.failure.as_str());
            let next = self.rules.next(&done, &facts, record.bounces, last_failure);
            done.summary.next = next.word().to_owned();
            done.summary.why = next.why();
            self.entries.attempt(&done.summary, self.budgets.bounces())?;
            record.attempts.push(done.summary);
            earlier.extend(done.record.clone().map(|record| (number, record)));
            record.record = done.record.or(record.record.take());
            match next {
                Next::End(ended) => {
                    if let Some((ledger, asked)) = self.entries.escalation(&ended)? {
                        let root = asked.project.root().to_owned();
                        let (config, environment) = (self.pinned.config(), &self.request.environment);
                        wait(session::notify(config, environment, root, &*ledger, &asked))?;
                    }
                    self.emitter.escalation(&ended);
                    return Ok(ended);
                }
                Next::Bounce { wait } => {
                    feedback = done.feedback;
                    record.bounces += 1;
                    self.bounce(record, &feedback)?;
                    thread::sleep(wait);
                }
            }
        }
    }

    fn bounce(&self, record: &LoopRecord, feedback: &str) -> Result<(), Error> {
        let (number, allowed) = (record.bounces, self.budgets.bounces());
        let last = record.attempts.last();
        let failure = last.map(|last| last.failure.clone()).unwrap_or_default();
        let class = last.map(|last| last.class_word().to_owned()).unwrap_or_default();
        self.entries.bounce(number, allowed, feedback, &failure)?;
        self.emitter.emit(What::Bounce { number, allowed, class, failure, feedback: feedback.to_owned() });
        Ok(())
    }
}
