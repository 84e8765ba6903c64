//! One run: takes the configuration and the changes, runs the gate, and makes the record.

use super::emit::RunEvents;
use super::pinned::ResolvedConfig;
use super::recorder::LedgerRecorder;
use super::request::{Request, Unread, WorkState};
use super::sealed::Sealed;
use super::stored_inputs::StoredAnswers;
use super::touched::{self, TouchedPath};
use super::{Pinned, RunInputs, blocked, blocking, new_record, notify, progress, subject};
use crate::cache_store::CacheStore;
use crate::changes::{self, ChangesError, Needs, Selection};
use crate::commands::{BaseFiles, CommandTape};
use crate::error::Error;
use crate::event::{EventKind, Observer};
use crate::finding_budget;
use crate::gate::{self, Circumstances};
use crate::ledger::Labels;
use crate::models::ModelTape;
use crate::outcome::Outcome;
use crate::plan::{self, Plan, Shape, SubmissionParts};
use crate::record::Record;
use crate::run_id;
use crate::runner::{Base, CheckRunner, Logged, Services};
use crate::runtime::Runtime;
use crate::submission::{Evaluator, TaskSource};
use crate::text;
use crate::verdict::{ErrorKind, Failure};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The tapes on which answers of models and results of commands are recorded, or from which they are replayed.
type Tapes = (Option<Arc<ModelTape>>, Option<Arc<CommandTape>>);

/// One request while it runs.
pub(super) struct Session {
    pub(super) runtime: Arc<Runtime>,
    pub(super) request: Request,
    pub(super) observer: Arc<dyn Observer>,
}

impl Session {
    pub(super) async fn run(self) -> Result<Record, Error> {
        let (start, started) = (Instant::now(), SystemTime::now());
        let emitter = Arc::new(RunEvents::new(run_id::new(started), Arc::clone(&self.observer)));
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
        let deadline = self.request.deadline.clone();
        if deadline.at().is_none() {
            deadline.set(&plan.root.name, plan.deadline, Duration::ZERO);
        }
        self.refuse_unread(plan)?;
        let tape = self.tape()?;
        let store = self.store();
        let changes = Arc::new(match collected {
            Some(changes) => changes,
            None => self.start_collecting().finish(plan).await?,
        });
        let (seen, submission) = (Arc::clone(&changes), self.request.submission.clone());
        let judges_submissions = plan.checks().any(|check| check.shape == Shape::Submission);
        let about_working_tree = plan.checks().any(|check| check.working_tree);
        let request = self.request.clone();
        let mut subject = blocking(move || {
            let Request { selection, environment, deadline, .. } = &request;
            let mut subject = subject::of(&seen, submission, deadline);
            // Only submission verifiers read it.
            let digest = judges_submissions
                .then(|| subject::submission_digest(&subject.submission, &subject.workspace, deadline));
            subject.submission.tree_digest = digest.flatten();
            if about_working_tree && !selection.shows_working_tree() {
                let work = request.work_folder()?;
                match changes::collect_at(&work, &Selection::Changed, &Needs::default, environment, None) {
                    Err(ChangesError::Late(_)) => {}
                    live => {
                        let live = live?;
                        subject.uncommitted = live.from_git.then(|| (live.changes.clone(), live.base.clone()));
                    }
                }
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
                let mut submission = subject.submission;
                let has_cadence = plan.root.walk().any(|node| !node.when.is_empty());
                let head = changes.base.clone();
                let head = head.filter(|_| matches!(self.request.selection, Selection::Changed | Selection::Staged));
                let request = self.request.clone();
                let complete = move || {
                    let note =
                        |head: String| recorder.note_commit(&request.work_folder()?, &head, &request.environment);
                    head.map_or(Ok(()), note)?;
                    let unpassed = recorder.complete(&mut submission, has_cadence)?;
                    Ok((recorder, submission, unpassed))
                };
                let (recorder, submission, unpassed) = blocking(complete).await?;
                subject.submission = submission;
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
        circumstances.deadline = deadline.at().map(Into::into);

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
        let subject = Arc::new(subject);
        let recorder = match recorder {
            Some(mut recorder) => {
                let begin = move || recorder.begin(labels, attempt, takes_time).map(|()| recorder);
                Some(blocking(begin).await?)
            }
            None => None,
        };
        let has_answers = (!plan.commands.is_empty(), !plan.models.is_empty());
        let stored = recorder
            .as_ref()
            .map(|recorder| StoredAnswers::new(&recorder.ledger(), emitter.run(), found.config.stored, has_answers));
        let (tape, commands) = self.tapes(tape, stored.as_ref());
        emitter.run_started(plan, &digest, files);
        let environment = &self.request.environment;
        let base_files = match self.base_files(&resolved, &changes).await {
            Err(_) if deadline.is_over() => None,
            found => found?,
        };
        let from_base: BTreeSet<String> = match &self.request.repeat {
            Some(known) => known.touched.iter().filter(|path| path.from_base).map(|path| path.path.clone()).collect(),
            None => base_files.as_ref().map(|base| base.paths().clone()).unwrap_or_default(),
        };
        let services = Services::new(plan, &subject, tape, commands, found.path.clone(), base_files, environment);
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
        let kept = subject::matched_files(plan)?;
        let added = || {
            let added = added(&self.request, &changes, store.as_ref());
            // After the deadline, nothing passes whatever was added.
            added.map(|paths| paths.into_iter().filter(|path| deadline.is_over() || kept.contains(path)).collect())
        };
        let (runtime, use_cache) = (Arc::clone(&self.runtime), self.request.use_cache);
        let runner = CheckRunner::new(runtime, verifiers, plan, Arc::clone(&subject), services, use_cache, &observe);
        let mut runner =
            runner.reporting_to(Arc::new(done)).in_run(emitter.run()).reusing(self.request.reusable.clone());
        runner = runner.with_from_base(from_base.clone());
        if let (Some(commit), Some(repository)) = (changes.base.clone(), changes.repository.clone()) {
            let (environment, deadline) = (environment.clone(), deadline.clone());
            runner = runner.relative_to(Some(Base { repository, commit, environment, deadline }));
        }
        if !plan.commands.is_empty() && self.request.selection.is_live() {
            runner = runner.finding_added(&added);
        }
        let gate = gate::run_failed_first(plan, &circumstances, &runner, &self.request.first).await;
        emit_log(&emitter, runner.into_log());
        let (known, collected, request) = (Arc::clone(&resolved), Arc::clone(&changes), self.request.clone());
        let touched = match &self.request.repeat {
            Some(known) => known.touched.clone(),
            None => {
                let touched = blocking(move || {
                    let Request { selection, environment, .. } = &request;
                    let work = request.work_folder()?;
                    let mut touched = known.found.touched(&collected, &work, selection, environment)?;
                    touched.extend(known.sealed.touched(&known.found, &work, selection, environment)?);
                    let touched = touched.into_iter();
                    Ok(touched.map(|path| TouchedPath { from_base: from_base.contains(&path), path }).collect())
                });
                match touched.await {
                    Err(_) if deadline.is_over() => Vec::new(),
                    touched => touched?,
                }
            }
        };
        let (checked, late) = (Arc::clone(&subject), deadline.clone());
        let digest_files = move || {
            let tree = subject::tree_digest(&gate, &checked.submission, &checked.workspace, &checked.stats, &late);
            let unjudged = subject::unjudged(&gate, &checked.paths, &left_out);
            Ok((gate, tree, unjudged))
        };
        let (mut gate, tree, unjudged) = blocking(digest_files).await?;
        // Whatever was not found out in time could have been a reason not to pass.
        if gate.outcome == Outcome::Pass
            && let Err(late) = deadline.check()
        {
            gate::fail(&mut gate, late.into());
        }
        finding_budget::limit(&mut gate);
        touched::hold(&mut gate, &touched);
        new_record::explain(&mut gate, verifiers);

        let mut record = Record::of(gate);
        record.run = emitter.run().to_owned();
        record.started = text::timestamp(started);
        record.plan = digest;
        record.policy = found.record();
        record.files = files;
        record.warnings = verifiers.unused_grants(plan);
        new_record::describe_run(&mut record, &self.request.selection, changes.base.clone(), &subject.submission);
        let root = subject.workspace.root().to_owned();
        let reviews = subject.submission.review.as_ref().map_or(1, |review| review.number);
        let checked = Arc::clone(&subject);
        (record.tree, record.unjudged) = (tree, unjudged);
        record.duration = start.elapsed();
        if let (Some(mut recorder), Some(stored)) = (recorder, stored) {
            let (found, environment) = (Arc::clone(found), self.request.environment.clone());
            let collected = Arc::clone(&changes);
            let (work, fail_fast) = (RunInputs::<()>::work(self.request.work), self.request.fail_fast);
            let left_out = circumstances.left_out.iter().cloned().collect();
            let end = move || {
                let attachments = stored.finish(&RunInputs {
                    submission: &checked.submission,
                    paths: checked.paths.clone(),
                    from_git: collected.from_git,
                    base: collected.base.clone(),
                    work,
                    fail_fast,
                    left_out,
                    predecessor_unpassed,
                    has_commands: has_answers.0,
                    has_models: has_answers.1,
                })?;
                record.not_stored = stored.not_stored();
                let asked = recorder.end(&mut record, attachments, &found.config)?;
                Ok((record, recorder.ledger(), asked))
            };
            let (stored, ledger, asked) = blocking(end).await?;
            record = stored;
            if let Some(asked) = asked {
                notify(&resolved.found.config, &environment, root, &*ledger, &asked).await?;
            }
        }
        // A loop logs its reviews itself, together with its decisions. A repeated run writes nothing.
        let logs_reviews = self.request.pinned.is_none() && self.request.repeat.is_none();
        if let Some(file) = found.progress_file().filter(|_| logs_reviews)
            && let Err(error) = progress::append(&file, plan, &record, reviews)
        {
            let message = format!("cannot append to the progress file `{}`: {error}", file.path().display());
            emitter.emit(EventKind::Logged { check: "progress".to_owned(), severity: "warn".to_owned(), message });
        }
        emitter.run_ended(record.status);
        Ok(record)
    }

    /// Returns the files that commands see as they are in the base commit: protected ones that the work touches.
    async fn base_files(
        &self,
        resolved: &Arc<ResolvedConfig>,
        changes: &Arc<changes::Changes>,
    ) -> Result<Option<Arc<BaseFiles>>, Error> {
        // A repeated run gets the results of its commands from a tape.
        if resolved.plan.commands.is_empty() || self.request.repeat.is_some() {
            return Ok(None);
        }
        let (found, changes, request) = (Arc::clone(&resolved.found), Arc::clone(changes), self.request.clone());
        blocking(move || {
            let (work, Request { selection, environment, .. }) = (request.work_folder()?, &request);
            Ok(found.base_files(&changes, &work, selection, environment)?.map(Arc::new))
        })
        .await
    }

    /// Returns the tapes of the run: what models and commands answer is stored with the run, and on the caller's tapes.
    fn tapes(&self, models: Option<Arc<ModelTape>>, stored: Option<&StoredAnswers>) -> Tapes {
        let commands = self.request.commands.clone();
        let models_stored = stored.and_then(|stored| stored.models.clone());
        let models_stored = models_stored.map(|stored| Arc::new(ModelTape::and_stored(models.as_deref(), stored)));
        let commands_stored = stored.and_then(|stored| stored.commands.clone());
        let commands_stored =
            commands_stored.map(|stored| Arc::new(CommandTape::and_stored(commands.as_deref(), stored)));
        (models_stored.or(models), commands_stored.or(commands))
    }

    /// Returns a closure that opens the ledger, to be called where blocking is allowed.
    fn recorder(&self) -> impl FnOnce() -> Result<Option<LedgerRecorder>, Error> + Send + 'static {
        let request = self.request.clone();
        move || LedgerRecorder::open(&request.ledger, &request.environment, &request.work_folder()?, request.session)
    }

    /// Refuses a submission that no check reads, because it would look as if it had been checked.
    fn refuse_unread(&self, plan: &Plan) -> Result<(), Error> {
        if self.request.unread == Unread::Ignore {
            return Ok(());
        }
        let submission = &self.request.submission;
        let is_any = |reads: fn(&plan::Check) -> bool| plan.checks().any(reads);
        let reads_any = is_any(|check| check.shape == Shape::Submission);
        // A document may contain more than one gate reads. A claim that the caller passes by itself is meant to be read.
        let by_caller = |evaluator: &Evaluator| evaluator.source == TaskSource::Caller;
        let reads_claim = if self.request.unread == Unread::RefuseClaim {
            is_any(|check| check.reads.has(SubmissionParts::CLAIM))
        } else {
            reads_any
        };
        let reads_evaluator = match submission.evaluator.as_ref().is_some_and(by_caller) {
            true => is_any(|check| check.reads.has(SubmissionParts::EVALUATOR)),
            false => reads_any,
        };
        let what = [
            ("a claim", submission.claim.is_some() && !reads_claim, "claims"),
            ("an evaluator's answer", submission.evaluator.is_some() && !reads_evaluator, "evaluators' answers"),
            ("tool calls", !submission.tool_calls.is_empty() && !reads_any, "submissions"),
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

/// Returns the files that were added since the changes were collected.
fn added(
    request: &Request,
    before: &changes::Changes,
    store: Option<&Arc<CacheStore>>,
) -> Result<Vec<String>, Failure> {
    let Request { selection, environment, .. } = request;
    let now = request
        .work_folder()
        .and_then(|work| Ok(changes::collect_at(&work, selection, &Needs::default, environment, store)?));
    let now = now.map_err(|error| match request.deadline.check() {
        Err(late) => late.into(),
        Ok(()) => Failure::new(ErrorKind::FsUnreadable, format!("cannot check for changes during the run: {error}")),
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
