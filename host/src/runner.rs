//! Runs the verifiers of a plan: on one submission, or on many files at once.

mod check;
mod contents;
mod digests;
mod files;
mod reads;
mod red_green;
mod reusable;
mod services;
mod summary;
mod unchanged;

use crate::cache_store::CacheStore;
use crate::cached_passes::CachedPasses;
use crate::config::FileSet;
use crate::deadline::{Deadline, Late};
use crate::fingerprint;
use crate::gate::{self, GateEvent, RunCheck};
use crate::plan::{self, Plan, Shape, SubmissionParts};
use crate::resolver::Verifiers;
use crate::runtime::{LogLine, PreparedSubmission, Runtime};
use crate::submission::{Change, ChangeKind, Evidence, Submission};
use crate::verdict::{ErrorKind, Failure, Verdict};
use crate::workspace::{FileStat, Workspace};
use contents::Contents;
use digests::Digests;
use parking_lot::Mutex;
use reads::RunReads;
pub(crate) use red_green::Base;
pub(crate) use reusable::ReusablePasses;
pub(crate) use services::Services;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, btree_map};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::{Handle, RuntimeFlavor};
use unchanged::Unchanged;

/// The most files that are read, and the most bytes of one, to compute fingerprints from the text of lines.
const MAX_LINE_FILES: usize = 100;
const MAX_LINE_BYTES: u64 = 4 << 20;

/// The submission and the files that are checked.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The submission.
    pub submission: Submission,
    /// The folder of the files.
    pub workspace: Arc<Workspace>,
    /// The paths of the files to check, in order.
    pub(crate) paths: Vec<String>,
    /// The uncommitted changes of the working tree and their base commit. Set if the submission shows something else and a
    /// check asks for them.
    pub(crate) uncommitted: Option<(Vec<Change>, Option<String>)>,
    /// The stat results of some files, from when they were found.
    pub(crate) stats: Arc<HashMap<String, FileStat>>,
    /// Whether the files are a private copy.
    pub(crate) is_copy: bool,
    /// When the run must end.
    pub(crate) deadline: Deadline,
}

/// The files that match a check.
struct Matching {
    set: Arc<FileSet>,
    /// Their positions in the list of paths.
    places: Vec<usize>,
}

impl Matching {
    /// Finds the files of the subject that match.
    fn of(set: FileSet, subject: &Subject) -> Result<Self, Late> {
        let mut places = Vec::new();
        for (place, path) in subject.paths.iter().enumerate() {
            if place.is_multiple_of(PATHS_AT_ONCE) {
                subject.deadline.check()?;
            }
            if set.contains(path) {
                places.push(place);
            }
        }
        Ok(Self { set: Arc::new(set), places })
    }
}

/// How many paths are compared with patterns before the time is looked at again.
const PATHS_AT_ONCE: usize = 64;

/// The patterns of `files` and `exclude`.
type Patterns = (Vec<String>, Vec<String>);

/// Called with the name of a check, the number of files that are done, and their total.
pub(crate) type FilesDone = dyn Fn(&str, usize, usize) + Send + Sync;

/// Runs the checks of one subject.
pub(crate) struct CheckRunner<'a> {
    runtime: Arc<Runtime>,
    verifiers: &'a Verifiers,
    subject: Arc<Subject>,
    services: Services,
    /// The contents of the files, and how many checks need each.
    contents: Arc<Contents>,
    matching: BTreeMap<Patterns, Matching>,
    /// The digests of files, kept for later runs.
    digests: Option<Digests>,
    /// The files that commands got as arguments.
    handed: Unchanged,
    /// The last prepared submission.
    prepared: Mutex<Option<PreparedFor>>,
    /// What verifiers read through `workspace`.
    reads: Arc<RunReads>,
    /// The files whose changes the submission shows, as they were before anything ran; and whether a check judged them.
    shown: Unchanged,
    shown_was_judged: AtomicBool,
    /// The file patterns of the checks that ran.
    asked: Mutex<Vec<Arc<FileSet>>>,
    /// Whether another process can change the files.
    is_shared: bool,
    added: Option<&'a (dyn Fn() -> Result<Vec<String>, Failure> + Sync)>,
    use_cache: bool,
    /// The passes of earlier runs, by component, settings and limits.
    passes: Mutex<BTreeMap<(String, String, String), Arc<CachedPasses>>>,
    /// Passes of earlier runs of the same loop.
    reusable: Option<Arc<ReusablePasses>>,
    /// The identifier of the run.
    run: String,
    /// The base commit of the change.
    base: Option<Base>,
    /// The files that commands see as they are in the base commit.
    from_base: BTreeSet<String>,
    /// Receives the progress of file checks.
    done: Arc<FilesDone>,
    log: Mutex<Vec<Logged>>,
    observer: &'a (dyn Fn(GateEvent<'_>) + Sync),
}

/// A submission with this evidence, prepared for verifiers.
#[derive(Clone)]
struct PreparedFor {
    evidence: Vec<Evidence>,
    submissions: Vec<(SubmissionParts, Arc<PreparedSubmission>)>,
}

/// Runs work that waits for the disk. On a multi-threaded runtime, another thread takes over the tasks of this thread
/// meanwhile.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// The log lines of the verifier of a check.
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
    /// Returns a runner for this subject. `observer` receives progress.
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
            let matching = match matching.entry((check.files.clone(), check.exclude.clone())) {
                btree_map::Entry::Occupied(known) => known.into_mut(),
                btree_map::Entry::Vacant(vacant) => {
                    // The configuration has refused invalid patterns already.
                    let Ok(set) = FileSet::new(&check.files, &check.exclude) else { continue };
                    // After the deadline no check runs.
                    let Ok(found) = Matching::of(set, &subject) else { break };
                    vacant.insert(found)
                }
            };
            matching.places.iter().for_each(|place| wanted[*place] += 1);
        }
        // A file that a command changes is checked in its new state, so earlier digests do not help.
        let has_commands = !plan.commands.is_empty();
        let store = runtime.cache_store().filter(|_| use_cache && !subject.is_copy && !has_commands);
        let root = subject.workspace.root();
        let digests = store.and_then(|store| Digests::open(store, root, &subject.paths, &subject.stats));
        let contents = Arc::new(Contents::new(&subject.workspace, &subject.paths, &wanted, digests.as_ref()));
        let is_shared = !subject.is_copy || has_commands;
        let shown = Unchanged::default();
        let changes = subject.submission.changes.iter();
        blocking(|| {
            let shown_changes = changes.filter(|change| change.hunks.is_some() && change.kind != ChangeKind::Deleted);
            for change in shown_changes.take_while(|_| !subject.deadline.is_over()) {
                shown.store(&subject.workspace, &change.path);
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
            reusable: None,
            run: String::new(),
            base: None,
            from_base: BTreeSet::new(),
            done: Arc::new(|_, _, _| {}),
            log: Mutex::default(),
            observer,
        }
    }

    /// Sets the receiver of progress.
    pub(crate) fn reporting_to(self, done: Arc<FilesDone>) -> Self {
        Self { done, ..self }
    }

    /// Sets the identifier of the run, which is stored with new passes.
    pub(crate) fn in_run(self, run: &str) -> Self {
        Self { run: run.to_owned(), ..self }
    }

    /// Reuses passes of submission verifiers from earlier runs, and keeps those of this run for later ones.
    pub(crate) fn reusing(self, reusable: Option<Arc<ReusablePasses>>) -> Self {
        Self { reusable: reusable.filter(|_| self.use_cache), ..self }
    }

    /// Sets the base commit, for checks that also run their commands there.
    pub(crate) fn relative_to(self, base: Option<Base>) -> Self {
        Self { base, ..self }
    }

    /// Sets the files that commands see as they are in the base commit. They are handed to none.
    pub(crate) fn with_from_base(self, from_base: BTreeSet<String>) -> Self {
        Self { from_base, ..self }
    }

    /// Sets a function that finds files that were added during the run. It is called at the end, because commands may create
    /// files.
    pub(crate) fn finding_added(self, added: &'a (dyn Fn() -> Result<Vec<String>, Failure> + Sync)) -> Self {
        Self { added: Some(added), ..self }
    }

    /// Returns `Err` if there are new files that a check would have judged.
    fn confirm_no_new_files(&self) -> Result<(), Failure> {
        let Some(added) = self.added else { return Ok(()) };
        let added = added()?;
        let judged: HashSet<&String> = self.subject.paths.iter().collect();
        let asked = self.asked.lock();
        let mut unjudged = Vec::new();
        for path in added.iter().filter(|path| !judged.contains(path)) {
            self.subject.deadline.check()?;
            if asked.iter().any(|set| set.contains(path)) {
                unjudged.push(path.as_str());
            }
        }
        if unjudged.is_empty() { Ok(()) } else { Err(unchanged::failure("changed while the gate ran", &unjudged)) }
    }

    /// Ends the run: stores the digests of files, and returns the log lines, in the order of the names of the checks.
    pub(crate) fn into_log(self) -> Vec<Logged> {
        if let Some(digests) = &self.digests {
            digests.keep(&self.subject.paths, &self.contents.marks());
        }
        let mut log = self.log.into_inner();
        log.sort_by(|a, b| a.check.cmp(&b.check));
        log
    }

    /// Returns the passes of a verifier from before this run. Checks with the same verifier, settings and limits share them.
    /// None of them sees a pass of this run, so that the record does not depend on which check was faster.
    fn passes_before(&self, store: &Arc<CacheStore>, check: &plan::Check, settings: &str) -> Arc<CachedPasses> {
        let key = (check.digest.clone(), settings.to_owned(), format!("{:?}", check.limits));
        let mut passes = self.passes.lock();
        let read = || Arc::new(CachedPasses::of(store, &check.digest, settings, &check.limits, &self.run));
        Arc::clone(passes.entry(key).or_insert_with(read))
    }

    /// Returns the submission with this evidence, and only with the parts that the check is given. It is converted once for
    /// all checks with the same evidence and parts.
    fn prepare(&self, check: &plan::Check, evidence: &[Evidence]) -> Result<Arc<PreparedSubmission>, Failure> {
        let submission = || check.reads.of(&self.subject.submission);
        if let Some((changes, base)) = self.subject.uncommitted.as_ref().filter(|_| check.working_tree) {
            let submission = Submission { changes: changes.clone(), base: base.clone(), ..submission() };
            return Ok(Arc::new(PreparedSubmission::new(submission, evidence)?));
        }
        let mut last = self.prepared.lock();
        if last.as_ref().is_none_or(|last| last.evidence != evidence) {
            *last = Some(PreparedFor { evidence: evidence.to_vec(), submissions: Vec::new() });
        }
        let known = last.as_ref().and_then(|last| last.submissions.iter().find(|(parts, _)| *parts == check.reads));
        if let Some((_, known)) = known {
            return Ok(Arc::clone(known));
        }
        let prepared = Arc::new(PreparedSubmission::new(submission(), evidence)?);
        if let Some(last) = &mut *last {
            last.submissions.push((check.reads, Arc::clone(&prepared)));
        }
        Ok(prepared)
    }

    /// Sets the fingerprints of the findings of a submission verifier, by the text of the lines.
    fn fingerprint(&self, check: &plan::Check, verdict: &mut Verdict) {
        let mut files: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
        for path in verdict.findings.iter().filter_map(|finding| Some(&finding.place.as_ref()?.path)) {
            // No more files are read than a person would look at.
            if files.contains_key(path) || files.len() >= MAX_LINE_FILES || self.subject.deadline.is_over() {
                continue;
            }
            let lines = fingerprint::lines_in(&verdict.findings, path);
            let content = self.subject.workspace.read(path, MAX_LINE_BYTES).unwrap_or_default();
            files.insert(path.clone(), fingerprint::texts(&content, &lines));
        }
        let line = |path: &str, line| files.get(path)?.get(&line).cloned();
        fingerprint::assign(&check.check, &mut verdict.findings, line);
    }

    /// Returns the files of a check that runs commands; `None` if the check has no patterns. A command with `{files}` gets
    /// only files that exist. For any other command, deleted files match too.
    fn files_of_commands(&self, check: &plan::Check, handed: bool) -> Result<Option<Vec<String>>, Failure> {
        if check.files.is_empty() && check.exclude.is_empty() && !handed {
            return Ok(None);
        }
        let files = FileSet::new(&check.files, &check.exclude)
            .map_err(|error| Failure::new(ErrorKind::HostFailed, error.to_string()))?;
        let Subject { paths, submission, workspace, .. } = &*self.subject;
        let gone = submission.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]);
        let gone = gone.flatten().filter(|_| !handed);
        // A command that sees another version of a file cannot judge it.
        let is_seen = |path: &&String| !handed || !self.from_base.contains(*path);
        let mut all = BTreeSet::new();
        for path in paths.iter().chain(gone).filter(is_seen) {
            self.subject.deadline.check()?;
            if files.contains(path) {
                all.insert(path);
            }
        }
        if handed {
            for path in &all {
                self.subject.deadline.check()?;
                self.handed.store(workspace, path);
            }
        }
        if handed && !check.files.is_empty() {
            self.asked.lock().push(Arc::new(files));
        }
        Ok(Some(all.into_iter().cloned().collect()))
    }
}

impl RunCheck for CheckRunner<'_> {
    async fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> gate::Checked {
        self.ask(check, evidence).await.unwrap_or_else(|failure| Verdict::from(failure).into())
    }

    fn reuse(&self, check: &plan::Check, evidence: &[Evidence]) -> Option<gate::CheckAnswer> {
        let reusable = self.reusable.as_ref().filter(|_| ReusablePasses::apply_to(check))?;
        let given = self.prepare(check, evidence).ok()?;
        let Subject { workspace, deadline, .. } = &*self.subject;
        blocking(|| reusable.find(check, &given, workspace, deadline))
    }

    fn has_passes(&self) -> bool {
        self.reusable.as_ref().is_some_and(|reusable| !reusable.is_empty())
    }

    fn confirm(&self) -> Result<(), Failure> {
        let Subject { workspace, paths, deadline, .. } = &*self.subject;
        blocking(|| {
            deadline.check()?;
            if self.is_shared {
                self.contents.confirm(paths, deadline)?;
            }
            self.handed.confirm(workspace, deadline)?;
            self.reads.confirm(workspace, deadline)?;
            if self.shown_was_judged.load(Ordering::Relaxed) {
                self.shown.confirm(workspace, deadline)?;
            }
            self.confirm_no_new_files()
        })
    }

    fn observe(&self, event: GateEvent<'_>) {
        (self.observer)(event);
    }
}
