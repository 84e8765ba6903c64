//! Drives a loop from its first entry to its last: runs attempts, decides what follows each, and sends the work back.

use super::attempt::{self, Done};
use super::decide::{LoopRules, Next, Spent};
use super::emit::Emitter;
use super::entries::LoopEntries;
use super::record::LoopEnd;
use super::resume::{After, OpenAttempt, Reached};
use super::{LoopRecord, LoopRequest, State, repeated};
use crate::changes::{self, Needs, Selection};
use crate::config::LoopConfig;
use crate::error::Error;
use crate::event::{EventKind, Observer};
use crate::ledger::Project;
use crate::plan::Shape;
use crate::record::{Record, TaskRecord};
use crate::retry::PastAttempt;
use crate::session::{self, Host, LedgerUse, Pinned, ProgressFile, Request, WorkState, run_id};
use crate::shutdown;
use crate::text;
use crate::verdict::Class;
use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

/// Waits for a future that runs on other threads.
pub(super) fn wait<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let tokio = tokio::runtime::Builder::new_current_thread().build();
    tokio.map_err(|error| Error::host("cannot wait").because(error))?.block_on(future)
}

/// Returns the commit that the work is compared with.
fn base(request: &Request) -> Result<String, Error> {
    let changes = changes::collect(&request.folder, &Selection::Changed, Needs::default(), &request.environment)?;
    changes.base.filter(|_| changes.from_git).ok_or_else(|| {
        Error::input("a loop compares the work with the last commit, but there is no commit")
            .hint("run it in a git repository that has a commit".to_owned())
    })
}

/// What is known when an attempt begins.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The digest of the work before the loop began.
    pub(super) before: Option<String>,
    /// The feedback for the executor.
    pub(super) feedback: String,
    /// The fix tasks for the findings of a reviewer.
    pub(super) fix_tasks: String,
    /// The records of the checked attempts, each with the number of the attempt.
    pub(super) earlier: Vec<(u32, Record)>,
    /// The attempts at the task so far, those of earlier loops included.
    pub(super) past: Vec<PastAttempt>,
}

/// A running loop: everything that is fixed before its executor runs for the first time.
pub(super) struct Driver<'a> {
    pub(super) host: &'a Host,
    pub(super) wanted: LoopRequest,
    pub(super) request: Request,
    pub(super) pinned: Pinned,
    pub(super) budgets: LoopConfig,
    pub(super) rules: LoopRules,
    /// Whether an evaluator runs after each attempt.
    pub(super) evaluates: bool,
    pub(super) entries: LoopEntries,
    pub(super) emitter: Arc<Emitter>,
    pub(super) started: SystemTime,
}

impl<'a> Driver<'a> {
    /// Resolves the gate and the base of a loop. For a resumed loop, also returns its progress.
    pub(super) fn new(
        host: &'a Host,
        wanted: LoopRequest,
        observer: impl Observer + 'static,
    ) -> Result<(Self, Option<Reached>), Error> {
        if wanted.executor.is_empty() {
            return Err(Error::usage("expected an executor").hint("`gate loop -- PROGRAM ARGUMENTS`".to_owned()));
        }
        let started = SystemTime::now();
        let mut request = wanted.request.clone();
        let project = Project::of(&request.folder, &request.environment)?;
        session::refuse_while_halted(&request.ledger, &request.environment, &project)?;
        let ledger = request.ledger.open(&request.environment)?;
        let reached = match (&wanted.resume, &ledger) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(Error::usage("a loop is resumed from the ledger, and the ledger is disabled"));
            }
            (Some(id), Some(ledger)) => Some(Reached::read(ledger.as_ref(), &project, id)?),
        };
        let id = wanted.resume.clone().unwrap_or_else(|| run_id(started));
        let emitter = Arc::new(Emitter::new(id, Arc::new(observer)));
        let base = match &reached {
            Some(reached) => reached.base.clone(),
            None => base(&request)?,
        };
        request.work = WorkState::Asked;
        request.selection = Selection::Base(base);
        request.session = emitter.id().to_owned();
        request.models = request.models.shared(&request.folder)?;
        let pinned = match request.pinned.take() {
            Some(pinned) => pinned,
            None => wait(host.pin(request.clone(), emitter.forwarding()))?,
        };
        if let Some(reached) = &reached {
            reached.refuse_another_gate(&pinned)?;
        }
        let entries = LoopEntries::new(ledger.clone(), &request, pinned.plan())?;
        if let Some(ledger) = ledger {
            request.ledger = LedgerUse::Store(ledger);
        }
        request.pinned = Some(pinned.clone());
        // A tape answers each request once, in its order.
        request.reusable = request.commands.is_none().then(Arc::default);
        let budgets = wanted.budgets.or(&pinned.budgets());
        let config = pinned.config();
        let reads_submissions = pinned.plan().checks().any(|check| check.shape == Shape::Submission);
        let evaluates = config.evaluator.is_some() && reads_submissions;
        let rules = LoopRules::new(&budgets, evaluates, config.retry.clone(), config.escalation.clone());
        let driver = Self { host, wanted, request, pinned, budgets, rules, evaluates, entries, emitter, started };
        Ok((driver, reached))
    }

    /// Runs `work` between the first and the last entry and event of the loop.
    pub(super) fn run(
        &self,
        reached: Option<Reached>,
        work: impl FnOnce(&Self, &mut LoopRecord, Course, Option<Reached>) -> Result<LoopEnd, Error>,
    ) -> Result<LoopRecord, Error> {
        let mut record = LoopRecord {
            id: self.emitter.id().to_owned(),
            gate: self.pinned.plan().root.name.clone(),
            plan: self.pinned.plan().digest(),
            policy: self.pinned.policy(),
            base: self.base().to_owned(),
            task: self.request.submission.task.as_ref().map(TaskRecord::from),
            executor: self.wanted.executor.clone(),
            started: text::timestamp(self.started),
            bounces_allowed: self.budgets.bounces(),
            ..LoopRecord::default()
        };
        let course = self.begin(&mut record, reached.as_ref())?;
        let (entries, emitter) = (self.entries.clone(), Arc::clone(&self.emitter));
        let _interrupted = shutdown::when_interrupted(move || {
            // If this entry cannot be written, the start entry without an end says the same.
            let _ = entries.interrupted();
            emitter.ended(&LoopEnd::new(State::Interrupted, "a signal interrupted it", None));
        });
        let end = match self.entries.halted()? {
            Some(why) => LoopEnd::new(State::Halted, why, Some("halted")),
            None => work(self, &mut record, course, reached)?,
        };
        self.end(&mut record, &end)?;
        self.emitter.ended(&end);
        Ok(record)
    }

    /// Returns the commit that the work is compared with.
    pub(super) fn base(&self) -> &str {
        match &self.request.selection {
            Selection::Base(base) => base,
            _ => "",
        }
    }

    /// Returns the digest of the work.
    pub(super) fn tree(&self) -> Option<String> {
        repeated::tree(&self.request.folder, &self.request.selection, &self.own_files(), &self.request.environment)
    }

    /// Returns the files that the loop writes itself, relative to the root of the work.
    pub(super) fn own_files(&self) -> BTreeSet<String> {
        let progress = self.progress_file().map(|file| file.path());
        let own = progress.iter().chain(&self.wanted.insert_fix_tasks);
        let root = self.request.folder.canonicalize().ok();
        let root = root.and_then(|folder| changes::repository(&folder, &self.request.environment).ok().flatten());
        let inside = |path: &PathBuf| {
            let path = self.request.folder.join(path);
            let parent = path.parent()?.canonicalize().ok()?;
            let path = parent.join(path.file_name()?);
            path.strip_prefix(root.as_ref()?).ok()?.to_str().map(str::to_owned)
        };
        own.filter_map(inside).collect()
    }

    /// Returns the file to which reviews are appended.
    pub(super) fn progress_file(&self) -> Option<ProgressFile> {
        let name = self.pinned.config().progress.clone()?;
        let folder = self.pinned.configuration().and_then(|path| path.parent().map(Path::to_owned));
        Some(ProgressFile { folder: folder.unwrap_or_else(|| self.request.folder.clone()), name })
    }

    /// Records that the loop begins or continues.
    fn begin(&self, record: &mut LoopRecord, reached: Option<&Reached>) -> Result<Course, Error> {
        let Some(reached) = reached else {
            let before = self.tree();
            self.emitter.emit(EventKind::LoopStarted {
                gate: record.gate.clone(),
                plan: record.plan.clone(),
                base: record.base.clone(),
                executor: record.executor.clone(),
                max_bounces: self.budgets.bounces(),
            });
            self.entries.begin(record, &self.wanted.arguments, before.as_deref())?;
            return Ok(Course { before, past: self.entries.past(u64::MAX)?, ..Course::default() });
        };
        record.started.clone_from(&reached.started);
        record.attempts.clone_from(&reached.attempts);
        record.bounces = reached.bounces;
        record.resumed = reached.resumed.saturating_add(1);
        record.record = reached.records.last().map(|(_, record)| record.clone());
        let attempts = u32::try_from(record.attempts.len()).unwrap_or(u32::MAX);
        self.emitter.emit(EventKind::LoopResumed { attempts, bounces: record.bounces });
        self.entries.resume()?;
        let mut past = self.entries.past(reached.began)?;
        past.extend(record.attempts.iter().map(attempt::past));
        let fix_tasks = record.attempts.last().map(|last| last.fix_tasks.concat()).unwrap_or_default();
        let (before, feedback, earlier) = (reached.before.clone(), reached.feedback.clone(), reached.records.clone());
        Ok(Course { before, feedback, fix_tasks, earlier, past })
    }

    /// Runs attempts until one passes or a budget is used up.
    pub(super) fn drive(
        &self,
        record: &mut LoopRecord,
        mut course: Course,
        reached: Option<Reached>,
    ) -> Result<LoopEnd, Error> {
        if let Some(reached) = reached
            && let Some(ended) = self.go_on(record, &mut course, reached)?
        {
            return Ok(ended);
        }
        loop {
            let number = u32::try_from(record.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.emitter.attempt(number);
            let done = self.attempt(number, &course, record)?;
            if let Some(ended) = self.settle(record, &mut course, done)? {
                return Ok(ended);
            }
        }
    }

    /// Finishes the step in which the loop was interrupted.
    fn go_on(&self, record: &mut LoopRecord, course: &mut Course, reached: Reached) -> Result<Option<LoopEnd>, Error> {
        let tree = session::digest_of(&self.request.folder, &self.request.selection, &self.request.environment)
            .ok()
            .and_then(|(tree, _)| tree);
        let is_same = |judged: &Record| tree.is_some() && judged.tree == tree;
        if let Some(OpenAttempt { number, executor, evaluator, record: judged }) = reached.open {
            self.emitter.attempt(number);
            let done = match (executor, judged.filter(is_same)) {
                (Some(executor), Some(judged)) => self.judged(number, executor, evaluator, judged, course, record),
                _ => self.interrupted(number, evaluator),
            };
            return self.settle(record, course, done);
        }
        match reached.after {
            After::Attempt => Ok(None),
            After::Bounce => {
                self.bounce(record, &course.feedback)?;
                Ok(None)
            }
            After::End(ended) if ended.state != State::Completed || record.record.as_ref().is_some_and(is_same) => {
                Ok(Some(ended))
            }
            // The work has changed since it passed.
            After::End(_) => {
                let last = record.attempts.pop().unwrap_or_default();
                course.past.pop();
                self.settle(record, course, self.interrupted(last.number.max(1), last.evaluator))
            }
        }
    }

    /// Decides what follows an attempt, and does it. Returns how the loop ends, if it does.
    fn settle(&self, record: &mut LoopRecord, course: &mut Course, mut done: Done) -> Result<Option<LoopEnd>, Error> {
        course.past.push(done.past());
        let facts = self.entries.facts(&course.past, &done)?;
        let last_failure = record.attempts.last().map(|attempt| attempt.failure.clone());
        record.attempts.push(done.summary.clone());
        let spent = Spent::of(&record.attempts, record.bounces);
        let next = self.rules.next(&done, &facts, &spent, last_failure.as_deref());
        record.attempts.pop();
        done.summary.next = next.word().to_owned();
        done.summary.why = next.why();
        let goes_back = matches!(next, Next::Bounce { .. });
        if goes_back && done.summary.class == Some(Class::ReviewRejection) {
            done.summary.fix_tasks = self.fix_tasks(record, &done)?;
        }
        let ended = match &next {
            Next::End(ended) => Some(ended.clone()),
            Next::Bounce { .. } => None,
        };
        self.entries.attempt(&done.summary, self.budgets.bounces(), &done.feedback, ended.as_ref())?;
        self.append_progress(&done, ended.as_ref())?;
        course.fix_tasks = done.summary.fix_tasks.concat();
        let number = done.summary.number;
        record.attempts.push(done.summary);
        course.earlier.extend(done.record.clone().map(|record| (number, record)));
        record.record = done.record.or(record.record.take());
        match next {
            Next::End(end) => Ok(Some(end)),
            Next::Bounce { wait } => {
                course.feedback = done.feedback;
                self.bounce(record, &course.feedback)?;
                thread::sleep(wait);
                Ok(None)
            }
        }
    }

    /// Sends the work back.
    fn bounce(&self, record: &mut LoopRecord, feedback: &str) -> Result<(), Error> {
        record.bounces += 1;
        let (number, allowed) = (record.bounces, self.budgets.bounces());
        let last = record.attempts.last();
        let failure = last.map(|last| last.failure.clone()).unwrap_or_default();
        let class = last.map(|last| last.class_word().to_owned()).unwrap_or_default();
        self.entries.bounce(number, allowed, feedback, &failure)?;
        self.emitter.emit(EventKind::Bounce { number, allowed, class, failure, feedback: feedback.to_owned() });
        Ok(())
    }

    /// Escalates if the end needs human review, commits work that passed if the caller wants that, and records the end.
    fn end(&self, record: &mut LoopRecord, end: &LoopEnd) -> Result<(), Error> {
        if let (Some(escalation), Some((ledger, project))) = (self.entries.escalation(end)?, &self.entries.kept) {
            let root = project.root().to_owned();
            let (config, environment) = (self.pinned.config(), &self.request.environment);
            wait(session::notify(config, environment, root, ledger.as_ref(), &escalation))?;
        }
        self.emitter.escalation(end);
        record.state = end.state;
        record.why.clone_from(&end.why);
        record.budget.clone_from(&end.budget);
        record.warnings.clone_from(&end.warnings);
        record.duration = self.emitter.elapsed();
        if self.wanted.commit && record.may_be_committed() {
            record.commit = Some(self.commit(record)?);
        }
        self.entries.end(record)
    }
}
