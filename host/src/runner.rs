//! Has the verifiers of a plan judge: one submission, or many files at once.

mod contents;
mod digests;
mod files;
mod reads;
mod red_green;
mod unchanged;

use crate::cache_store::CacheStore;
use crate::cached_passes::CachedPasses;
use crate::commands::{CommandEnding, CommandResult, CommandTape, Commands};
use crate::config::{FileSet, Grant};
use crate::environment::Environment;
use crate::fingerprint;
use crate::gate::{self, GateEvent, RunCheck};
use crate::models::{ModelTape, Models};
use crate::outcome::JudgedFile;
use crate::plan::{self, Plan, Shape};
use crate::resolver::Verifiers;
use crate::runtime::{
    AskModels, CallResult, Capabilities, CommandsFor, Granted, Grants, LogLine, PreparedSubmission, ReadFiles,
    RunCommands, Runtime,
};
use crate::submission::{Change, ChangeKind, CommandEvidence, Evidence, Submission};
use crate::verdict::{ErrorKind, Failure, Level, Status, Verdict};
use crate::workspace::{FileStat, Workspace};
use contents::Contents;
use digests::Digests;
use files::{FileCheck, FilesResult, files};
use parking_lot::Mutex;
use reads::{RunReads, TracedReads};
pub(crate) use red_green::Base;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::runtime::{Handle, RuntimeFlavor};
use unchanged::Unchanged;

/// The most files that are read, and the most bytes of one, to tell findings apart by the text of their lines.
const MAX_LINE_FILES: usize = 100;
const MAX_LINE_BYTES: u64 = 4 << 20;

/// What is judged.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The submission.
    pub submission: Submission,
    /// Where the files are.
    pub workspace: Arc<Workspace>,
    /// The files that are there to be judged, ordered by path.
    pub(crate) paths: Vec<String>,
    /// What is not committed in the working tree, and the commit that it is relative to, where the submission shows
    /// something else and a check asks for it.
    pub(crate) uncommitted: Option<(Vec<Change>, Option<String>)>,
    /// What some of them looked like when they were found.
    pub(crate) looks: HashMap<String, FileStat>,
    /// Whether the files are a copy that nobody else knows.
    pub(crate) is_copy: bool,
}

/// The files that a check is for.
struct Matching {
    set: Arc<FileSet>,
    /// The places of their paths.
    places: Vec<usize>,
}

/// The files and the patterns of those that are left out.
type Patterns = (Vec<String>, Vec<String>);

/// Told of a check how many of how many of its files are done.
pub(crate) type FilesDone = dyn Fn(&str, usize, usize) + Send + Sync;

/// Asks the verifiers about one subject.
pub(crate) struct CheckRunner<'a> {
    runtime: Arc<Runtime>,
    verifiers: &'a Verifiers,
    subject: Arc<Subject>,
    services: Services,
    /// The files that are judged, and which checks are for which of them.
    contents: Arc<Contents>,
    matching: BTreeMap<Patterns, Matching>,
    /// The digests of files, for later runs.
    digests: Option<Digests>,
    /// The files that commands were handed.
    handed: Unchanged,
    /// The submission as the last check was told it.
    prepared: Mutex<Option<PreparedFor>>,
    /// What verifiers read through `workspace`.
    reads: Arc<RunReads>,
    /// The files whose changes the submission shows, as they were before anything ran; and whether somebody judged those.
    shown: Unchanged,
    shown_was_judged: AtomicBool,
    /// What the checks of files that were asked are for.
    asked: Mutex<Vec<Arc<FileSet>>>,
    /// Whether somebody besides this program can change the files.
    is_shared: bool,
    added: Option<&'a (dyn Fn() -> Result<Vec<String>, Failure> + Sync)>,
    use_cache: bool,
    /// What verifiers passed before, by component, settings and limits.
    passes: Mutex<BTreeMap<(String, String, String), Arc<CachedPasses>>>,
    /// The identifier of the run.
    run: String,
    /// What the work is relative to.
    base: Option<Base>,
    /// Told how many files of a check are done.
    done: Arc<FilesDone>,
    log: Mutex<Vec<Logged>>,
    observer: &'a (dyn Fn(GateEvent<'_>) + Sync),
}

/// A submission with what earlier checks established, as verifiers are given it.
#[derive(Clone)]
struct PreparedFor {
    evidence: Vec<Evidence>,
    submission: Arc<PreparedSubmission>,
}

/// What verifiers can be granted by name.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    /// Runs commands.
    pub commands: Arc<Commands>,
    /// Asks models.
    pub models: Arc<Models>,
}

impl Services {
    /// What the plan declares, for this subject. Models and commands are recorded on their tapes, or answer from them; no command may
    /// change the file `configuration`.
    pub(crate) fn new(
        plan: &Plan,
        subject: &Subject,
        tape: Option<Arc<ModelTape>>,
        command_tape: Option<Arc<CommandTape>>,
        configuration: Option<PathBuf>,
        environment: &Environment,
    ) -> Self {
        let commands = Commands::new(plan.commands.clone(), subject.workspace.root().to_owned());
        let commands = commands.with_configuration(configuration).with_environment(environment.clone());
        let commands = commands.with_tape(command_tape).for_task(subject.submission.task.as_ref());
        let commands = Arc::new(commands);
        let executor = subject.submission.executor.clone();
        let models = Models::new(plan.models.clone(), Arc::clone(&commands), executor, tape);
        let models = Arc::new(models.with_environment(environment.clone()));
        Self { commands, models }
    }
}

/// Do something that waits for the disk. Where other tasks share this thread, another thread takes them over meanwhile.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// What the verifier of a check logged.
#[derive(Debug)]
pub(crate) struct Logged {
    /// The check.
    pub check: String,
    /// The lines.
    pub lines: Vec<LogLine>,
    /// How many lines were dropped.
    pub dropped: u64,
}

impl<'a> CheckRunner<'a> {
    /// A bench for this subject. `observer` is told of progress.
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        verifiers: &'a Verifiers,
        plan: &Plan,
        subject: Arc<Subject>,
        services: Services,
        use_cache: bool,
        observer: &'a (dyn Fn(GateEvent<'_>) + Sync),
    ) -> Self {
        let mut matching = BTreeMap::new();
        let mut wanted = vec![0; subject.paths.len()];
        for check in plan.checks().filter(|check| check.shape == Shape::File) {
            let patterns = (check.files.clone(), check.exclude.clone());
            // The configuration has refused patterns that cannot be read.
            let Ok(set) = FileSet::new(&check.files, &check.exclude) else { continue };
            let matching = matching.entry(patterns).or_insert_with(|| {
                let paths = subject.paths.iter().enumerate();
                let places = paths.filter(|(_, path)| set.contains(path)).map(|(place, _)| place).collect();
                Matching { set: Arc::new(set), places }
            });
            matching.places.iter().for_each(|place| wanted[*place] += 1);
        }
        // What a command changes is judged as it is then, and not as it was when it was found.
        let has_commands = !plan.commands.is_empty();
        let store = runtime.cache_store().filter(|_| use_cache && !subject.is_copy && !has_commands);
        let root = subject.workspace.root();
        let digests = store.and_then(|store| Digests::open(store, root, &subject.paths, &subject.looks));
        let contents = Arc::new(Contents::new(&subject.workspace, &subject.paths, &wanted, digests.as_ref()));
        let is_shared = !subject.is_copy || has_commands;
        let shown = Unchanged::default();
        let changes = subject.submission.changes.iter();
        blocking(|| {
            for change in changes.filter(|change| change.hunks.is_some() && change.kind != ChangeKind::Deleted) {
                shown.look_at(&subject.workspace, &change.path);
            }
        });
        Self {
            runtime,
            verifiers,
            subject,
            services,
            contents,
            matching,
            digests,
            prepared: Mutex::default(),
            handed: Unchanged::default(),
            reads: Arc::default(),
            shown,
            shown_was_judged: AtomicBool::new(false),
            asked: Mutex::default(),
            is_shared,
            added: None,
            use_cache,
            passes: Mutex::default(),
            run: String::new(),
            base: None,
            done: Arc::new(|_, _, _| {}),
            log: Mutex::default(),
            observer,
        }
    }

    /// Tells how many of how many files of a check are done.
    pub(crate) fn telling(self, done: Arc<FilesDone>) -> Self {
        Self { done, ..self }
    }

    /// Passes that are established now are those of this run.
    pub(crate) fn in_run(self, run: &str) -> Self {
        Self { run: run.to_owned(), ..self }
    }

    /// The repository and the commit that the work is relative to, for checks that run their commands there too.
    pub(crate) fn relative_to(self, base: Option<Base>) -> Self {
        Self { base, ..self }
    }

    /// At the end, ask which files were added to those that are there to be judged: where commands run, some may be.
    pub(crate) fn looking_again(self, added: &'a (dyn Fn() -> Result<Vec<String>, Failure> + Sync)) -> Self {
        Self { added: Some(added), ..self }
    }

    /// `Err` where there are files now that a check would have judged, had they been there.
    fn confirm_the_list(&self) -> Result<(), Failure> {
        let Some(added) = self.added else { return Ok(()) };
        let added = added()?;
        let asked = self.asked.lock();
        let unjudged = added.iter().filter(|path| !self.subject.paths.contains(path));
        let unjudged = unjudged.filter(|path| asked.iter().any(|set| set.contains(path)));
        let unjudged: Vec<&str> = unjudged.map(String::as_str).collect();
        if unjudged.is_empty() { Ok(()) } else { Err(unchanged::failure("changed while the gate ran", &unjudged)) }
    }

    /// Ends the run: keeps what was learned of the files, and returns what was logged, in the order of the checks' names.
    pub(crate) fn into_log(self) -> Vec<Logged> {
        if let Some(digests) = &self.digests {
            digests.keep(&self.subject.paths, &self.contents.marks());
        }
        let mut log = self.log.into_inner();
        log.sort_by(|a, b| a.check.cmp(&b.check));
        log
    }

    /// What a verifier passed before this run. Checks that share one, with its settings and limits, share this too: none of
    /// them finds what another of the same run passed, so that a record does not depend on which was faster.
    fn passes_before(&self, store: &Arc<CacheStore>, check: &plan::Check, settings: &str) -> Arc<CachedPasses> {
        let key = (check.digest.clone(), settings.to_owned(), format!("{:?}", check.limits));
        let mut passes = self.passes.lock();
        let read = || Arc::new(CachedPasses::of(store, &check.digest, settings, &check.limits, &self.run));
        Arc::clone(passes.entry(key).or_insert_with(read))
    }

    /// What stands behind these grants. Commands are handed these files.
    fn capabilities(&self, grants: &Grants, files: &[String]) -> Capabilities {
        let names = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect::<Vec<_>>();
        let (commands, models) = (names(&mut grants.commands()), names(&mut grants.models()));
        let reads = TracedReads { work: Arc::clone(&self.subject.workspace), reads: Arc::clone(&self.reads) };
        Capabilities {
            workspace: grants.workspace().then(|| Arc::new(reads) as Arc<dyn ReadFiles>),
            commands: (!commands.is_empty()).then(|| {
                let by = CommandsFor { commands: Arc::clone(&self.services.commands), files: files.to_vec() };
                Granted { names: commands, by: Arc::new(by) as Arc<dyn RunCommands> }
            }),
            models: (!models.is_empty())
                .then(|| Granted { names: models, by: Arc::clone(&self.services.models) as Arc<dyn AskModels> }),
        }
    }

    /// The submission with what earlier checks established. Converted once for all checks that are told the same.
    fn told(&self, evidence: &[Evidence]) -> Result<Arc<PreparedSubmission>, Failure> {
        let mut told = self.prepared.lock();
        if let Some(told) = told.as_ref().filter(|told| told.evidence == evidence) {
            return Ok(Arc::clone(&told.submission));
        }
        let submission = Arc::new(PreparedSubmission::new(self.subject.submission.clone(), evidence)?);
        *told = Some(PreparedFor { evidence: evidence.to_vec(), submission: Arc::clone(&submission) });
        Ok(submission)
    }

    /// Give the findings of a submission verifier their fingerprints, by the lines of the work that they are about.
    fn fingerprint(&self, check: &plan::Check, verdict: &mut Verdict) {
        let mut read: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        fingerprint::assign(&check.check, &mut verdict.findings, |path, line| {
            // As many files are read as anybody can look at.
            if read.len() >= MAX_LINE_FILES && !read.contains_key(path) {
                return None;
            }
            let content = || self.subject.workspace.read(path, MAX_LINE_BYTES).ok();
            files::line_of(read.entry(path.to_owned()).or_insert_with(content).as_ref()?, line)
        });
    }

    /// The files that a check of commands is for; none where it is for whatever changed. A command that is handed its files
    /// is for those that are there; any other for those that are gone, too.
    fn files_of_commands(&self, check: &plan::Check, handed: bool) -> Result<Option<Vec<String>>, Failure> {
        if check.files.is_empty() && check.exclude.is_empty() && !handed {
            return Ok(None);
        }
        let files = FileSet::new(&check.files, &check.exclude)
            .map_err(|error| Failure::new(ErrorKind::HostFailed, error.to_string()))?;
        let Subject { paths, submission, workspace, .. } = &*self.subject;
        let gone = submission.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
        let gone = gone.flatten().filter(|_| !handed);
        let all: BTreeSet<&String> = paths.iter().chain(gone).filter(|path| files.contains(path)).collect();
        if handed {
            all.iter().for_each(|path| self.handed.look_at(workspace, path));
        }
        if handed && !check.files.is_empty() {
            self.asked.lock().push(Arc::new(files));
        }
        Ok(Some(all.into_iter().cloned().collect()))
    }

    async fn ask(&self, check: &plan::Check, evidence: &[Evidence]) -> Result<gate::Checked, Failure> {
        let handed = check.grants.iter().any(|grant| match grant {
            Grant::Command(name) => self.services.commands.takes_files(name),
            Grant::Workspace | Grant::Model(_) => false,
        });
        let mut places = Vec::new();
        let paths = match check.shape {
            Shape::Submission => match self.files_of_commands(check, handed)? {
                Some(paths) if paths.is_empty() => return Ok(gate::Checked::NoFiles),
                paths => paths.unwrap_or_default(),
            },
            Shape::File => {
                let patterns = (check.files.clone(), check.exclude.clone());
                let unknown = || Failure::new(ErrorKind::HostFailed, "the check is not one of the plan");
                let matching = self.matching.get(&patterns).ok_or_else(unknown)?;
                places.clone_from(&matching.places);
                self.asked.lock().push(Arc::clone(&matching.set));
                // Before anything is loaded: most checks of a default gate have no file.
                if places.is_empty() {
                    return Ok(gate::Checked::NoFiles);
                }
                places.iter().map(|place| self.subject.paths[*place].clone()).collect()
            }
        };
        let grants: Grants = check.grants.iter().cloned().collect();
        let source = self.verifiers.source(&check.digest).ok_or_else(|| {
            Failure::new(ErrorKind::HostFailed, format!("the verifier of `{}` was not resolved", check.check))
        })?;
        let settings = plan::canonical(&check.settings);
        // What it is granted can change by itself, and what is flaky is asked to be run again.
        let pure = check.shape == Shape::File && check.grants.is_empty() && check.flaky.is_none();
        let store = self.runtime.cache_store().filter(|_| pure && self.use_cache);
        let work = Arc::new(FileCheck {
            cached: store.map(|store| self.passes_before(store, check, &settings)),
            source,
            capabilities: self.capabilities(&grants, &paths),
            grants,
            verifier: OnceLock::new(),
            runtime: Arc::clone(&self.runtime),
            contents: Arc::clone(&self.contents),
            settings,
            limits: check.limits.clone(),
            paths,
            places,
            check: check.check.clone(),
            on_not_applicable: check.on_not_applicable,
            member: check.member.clone(),
            done: Arc::clone(&self.done),
            finished: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
        });
        let judged = match check.shape {
            Shape::Submission => {
                // Who runs a command judges what that says, and may be what changes the files.
                if work.capabilities.commands.is_none() {
                    self.shown_was_judged.store(true, Ordering::Relaxed);
                }
                let told = match self.subject.uncommitted.as_ref().filter(|_| check.working_tree) {
                    Some((changes, base)) => {
                        let (changes, base) = (changes.clone(), base.clone());
                        let submission = Submission { changes, base, ..self.subject.submission.clone() };
                        Arc::new(PreparedSubmission::new(submission, evidence)?)
                    }
                    None => self.told(evidence)?,
                };
                let verifier = work.verifier()?;
                let answer = self.runtime.check_prepared(verifier, &work.terms(), &told).await;
                let CallResult { verdict, log, log_dropped, mut ran, asked, .. } = answer;
                let mut verdict = no_judgement(verdict, &ran);
                if check.red_green && verdict.status == Status::Pass {
                    let (commands, base) = (&self.services.commands, self.base.as_ref());
                    let on_base;
                    (on_base, verdict) =
                        red_green::confirm(commands, base, &self.subject.submission, check, &ran, verdict).await;
                    ran.extend(on_base);
                }
                self.fingerprint(check, &mut verdict);
                // What its verifier says is none of its business was not judged, and neither was what nobody answered for.
                let counts = handed && matches!(verdict.status, Status::Pass | Status::Fail);
                let files = counts.then(|| work.paths.iter().map(|path| handed_over(path, verdict.status)).collect());
                FilesResult { verdict: Some(verdict), files, log, log_dropped, ran, asked }
            }
            Shape::File => {
                let judged = files(Arc::clone(&work)).await;
                // One reason, and not one for each file.
                if let Some(Err(failure)) = work.verifier.get() {
                    return Err(failure.clone());
                }
                judged
            }
        };
        if !judged.log.is_empty() || judged.log_dropped > 0 {
            let logged = Logged { check: check.member.clone(), lines: judged.log, dropped: judged.log_dropped };
            self.log.lock().push(logged);
        }
        Ok(match judged.verdict {
            None => gate::Checked::NoFiles,
            Some(verdict) => gate::Checked::Answer(gate::CheckAnswer {
                verdict,
                files: judged.files,
                commands: judged.ran.iter().map(CommandEvidence::from).collect(),
                models: judged.asked,
            }),
        })
    }
}

/// A file that a command was handed.
fn handed_over(path: &str, status: Status) -> JudgedFile {
    JudgedFile {
        path: path.to_owned(),
        digest: String::new(),
        status,
        cached: false,
        established: None,
        reason: String::new(),
    }
}

/// Where a command failed for its confinement, or for what is not installed, that is no judgement of the work; unless more
/// was found than that it failed.
fn no_judgement(verdict: Verdict, ran: &[CommandResult]) -> Verdict {
    let found = verdict.findings.iter().filter(|finding| finding.level == Level::Error).count();
    let told = ran.iter().find_map(|ran| {
        let advice = ran.advice.as_ref()?;
        // pytest, for one, reports every file that it cannot import, and ends with another code than for failed tests.
        let nothing_ran = advice.kind == ErrorKind::CommandNoDependency && ran.ending != CommandEnding::Exited(1);
        (found <= 1 || nothing_ran).then_some(advice)
    });
    match told.filter(|_| verdict.status == Status::Fail) {
        Some(advice) => {
            let failure = Failure::new(advice.kind, &advice.what).hint(&advice.hint);
            Verdict { findings: verdict.findings, findings_omitted: verdict.findings_omitted, ..failure.into() }
        }
        None => verdict,
    }
}

impl RunCheck for CheckRunner<'_> {
    async fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> gate::Checked {
        self.ask(check, evidence).await.unwrap_or_else(|failure| Verdict::from(failure).into())
    }

    fn confirm(&self) -> Result<(), Failure> {
        blocking(|| {
            if self.is_shared {
                self.contents.confirm(&self.subject.paths)?;
            }
            self.handed.confirm(&self.subject.workspace)?;
            self.reads.confirm(&self.subject.workspace)?;
            if self.shown_was_judged.load(Ordering::Relaxed) {
                self.shown.confirm(&self.subject.workspace)?;
            }
            self.confirm_the_list()
        })
    }

    fn observe(&self, event: GateEvent<'_>) {
        (self.observer)(event);
    }
}
