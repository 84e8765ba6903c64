//! Has the verifiers of a plan judge: one submission, or many files at once.

use crate::catalogue::Verifiers;
use crate::commands::{Commands, Ran};
use crate::config::FileSet;
use crate::gate::{self, Event, Judge};
use crate::memory::Memory;
use crate::models::{Models, Tape};
use crate::outcome::ModelUse;
use crate::plan::{self, Plan, Shape};
use crate::runtime::{Answer, Granted, Grants, LogLine, Runtime, Source, Terms, Verifier};
use crate::submission::{CommandEvidence, Evidence, Submission};
use crate::verdict::{ErrorKind, Failure, Finding, Status, Verdict};
use crate::workspace::{self, Kind, Workspace};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::task::JoinSet;

/// What is judged.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The submission.
    pub submission: Submission,
    /// Where the files are.
    pub workspace: Arc<Workspace>,
    /// The files that are there to be judged, ordered by path.
    pub paths: Vec<String>,
}

/// Asks the verifiers about one subject.
pub struct Bench<'a> {
    runtime: Arc<Runtime>,
    verifiers: &'a Verifiers,
    subject: Arc<Subject>,
    services: Services,
    forgetful: bool,
    log: Mutex<Vec<Logged>>,
    observer: &'a (dyn Fn(Event<'_>) + Sync),
}

/// What verifiers can be granted by name.
#[derive(Clone, Debug)]
pub struct Services {
    /// Runs commands.
    pub commands: Arc<Commands>,
    /// Asks models.
    pub models: Arc<Models>,
}

impl Services {
    /// What the plan declares, for this subject. Models are recorded on the tape, or answer from it.
    pub fn new(plan: &Plan, subject: &Subject, tape: Option<Tape>) -> Self {
        let commands = Arc::new(Commands::new(plan.commands.clone(), subject.workspace.root().to_owned()));
        let executor = subject.submission.executor.clone();
        let models = Arc::new(Models::new(plan.models.clone(), Arc::clone(&commands), executor, tape));
        Self { commands, models }
    }
}

/// What the verifier of a check logged.
#[derive(Debug)]
pub struct Logged {
    /// The check.
    pub check: String,
    /// The lines.
    pub lines: Vec<LogLine>,
    /// How many lines were dropped.
    pub dropped: u64,
}

impl<'a> Bench<'a> {
    /// A bench for this subject. `observer` is told of progress.
    pub fn new(
        runtime: Arc<Runtime>,
        verifiers: &'a Verifiers,
        subject: Subject,
        services: Services,
        observer: &'a (dyn Fn(Event<'_>) + Sync),
    ) -> Self {
        Self {
            runtime,
            verifiers,
            subject: Arc::new(subject),
            services,
            forgetful: false,
            log: Mutex::default(),
            observer,
        }
    }

    /// Ask every verifier anew, whatever it passed before.
    pub fn forgetful(self, forgetful: bool) -> Self {
        Self { forgetful, ..self }
    }

    /// What was logged, in the order of the checks' names.
    pub fn into_log(self) -> Vec<Logged> {
        let mut log = self.log.into_inner().unwrap_or_else(PoisonError::into_inner);
        log.sort_by(|a, b| a.check.cmp(&b.check));
        log
    }

    async fn ask(&self, check: &plan::Check, evidence: &[Evidence]) -> Result<gate::Judged, Failure> {
        let paths = match check.shape {
            Shape::Submission => Vec::new(),
            Shape::File => {
                let files = FileSet::new(&check.files, &check.exclude)
                    .map_err(|error| Failure::new(ErrorKind::HostFailed, error.to_string()))?;
                let paths = self.subject.paths.iter().filter(|path| files.contains(path));
                let paths: Vec<String> = paths.cloned().collect();
                // Before anything is loaded: most checks of a default gate have no file.
                if paths.is_empty() {
                    return Ok(gate::Judged::NoFiles);
                }
                paths
            }
        };
        let grants: Grants = check.grants.iter().cloned().collect();
        let source = self.verifiers.source(&check.digest).ok_or_else(|| {
            Failure::new(ErrorKind::HostFailed, format!("the verifier of `{}` was not resolved", check.check))
        })?;
        let settings = plan::canonical(&check.settings);
        // What it is granted can change by itself, and what is flaky is asked to be run again.
        let pure = check.shape == Shape::File && check.grants.is_empty() && check.flaky.is_none();
        let vault = self.runtime.vault().filter(|_| pure && !self.forgetful);
        let work = Arc::new(Work {
            memory: vault.map(|vault| Memory::of(vault, &check.digest, &settings, &check.limits)),
            source,
            workspace_granted: grants.workspace(),
            commands: granted(grants.commands(), &self.services.commands),
            models: granted(grants.models(), &self.services.models),
            grants,
            verifier: OnceLock::new(),
            runtime: Arc::clone(&self.runtime),
            subject: Arc::clone(&self.subject),
            settings,
            limits: check.limits.clone(),
            paths,
            next: AtomicUsize::new(0),
            reused: AtomicUsize::new(0),
        });
        let judged = match check.shape {
            Shape::Submission => {
                let mut submission = self.subject.submission.clone();
                submission.evidence.extend_from_slice(evidence);
                let answer = self.runtime.check_submission(work.verifier()?, &work.terms(), &submission).await;
                let Answer { verdict, log, log_dropped, ran, asked, .. } = answer;
                Judged { verdict: Some(verdict), files: None, reused: None, log, log_dropped, ran, asked }
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
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(logged);
        }
        Ok(match judged.verdict {
            None => gate::Judged::NoFiles,
            Some(verdict) => gate::Judged::Answer(gate::Answer {
                verdict,
                files: judged.files,
                reused: judged.reused,
                commands: judged.ran.iter().map(CommandEvidence::from).collect(),
                models: judged.asked,
            }),
        })
    }
}

impl Judge for Bench<'_> {
    async fn judge(&self, check: &plan::Check, evidence: &[Evidence]) -> gate::Judged {
        self.ask(check, evidence).await.unwrap_or_else(|failure| Verdict::from(failure).into())
    }

    fn observe(&self, event: Event<'_>) {
        (self.observer)(event);
    }
}

fn granted<'n, T>(names: impl Iterator<Item = &'n str>, by: &Arc<T>) -> Option<Granted<T>> {
    let names: Vec<String> = names.map(str::to_owned).collect();
    (!names.is_empty()).then(|| Granted { names, by: Arc::clone(by) })
}

/// What came of all calls of one check.
struct Judged {
    /// `None` where there was nothing to judge.
    verdict: Option<Verdict>,
    files: Option<usize>,
    reused: Option<usize>,
    log: Vec<LogLine>,
    log_dropped: u64,
    ran: Vec<Ran>,
    asked: Vec<ModelUse>,
}

/// One worker for each core; each takes the next file until there is none. Dropping the set ends them.
async fn files(work: Arc<Work>) -> Judged {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut workers = JoinSet::new();
    for _ in 0..cores.min(work.paths.len()) {
        workers.spawn(Arc::clone(&work).work());
    }
    let mut answers = Vec::with_capacity(work.paths.len());
    let mut broken = false;
    while let Some(finished) = workers.join_next().await {
        match finished {
            Ok(some) => answers.extend(some),
            Err(_) => broken = true,
        }
    }
    if broken {
        answers.push((usize::MAX, Failure::new(ErrorKind::HostFailed, "a worker of the host ended early").into()));
    }
    answers.sort_by_key(|(index, _)| *index);
    let mut judged = summarise(&work.paths, answers, work.limits.findings);
    if let Some(memory) = &work.memory {
        memory.keep();
        judged.reused = Some(work.reused.load(Ordering::Relaxed));
    }
    judged
}

struct Work {
    runtime: Arc<Runtime>,
    source: Arc<Source>,
    grants: Grants,
    /// Loaded when it is first needed: what was passed before needs none.
    verifier: OnceLock<Result<Arc<Verifier>, Failure>>,
    memory: Option<Memory>,
    subject: Arc<Subject>,
    settings: String,
    limits: crate::limits::Limits,
    workspace_granted: bool,
    commands: Option<Granted<Commands>>,
    models: Option<Granted<Models>>,
    paths: Vec<String>,
    next: AtomicUsize,
    reused: AtomicUsize,
}

impl Work {
    fn verifier(&self) -> Result<&Verifier, Failure> {
        let loaded = self.verifier.get_or_init(|| self.runtime.load(&self.source, &self.grants));
        loaded.as_deref().map_err(Clone::clone)
    }

    fn terms(&self) -> Terms<'_> {
        let workspace = self.workspace_granted.then_some(&self.subject.workspace);
        Terms {
            workspace,
            commands: self.commands.as_ref(),
            models: self.models.as_ref(),
            ..Terms::new(&self.settings, &self.limits)
        }
    }

    async fn work(self: Arc<Self>) -> Vec<(usize, Answer)> {
        let mut answers = Vec::new();
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = self.paths.get(index) else { return answers };
            match self.subject.workspace.read(path, self.limits.input) {
                Ok(content) => answers.push((index, self.judge(path, content).await)),
                // A link or a folder has no bytes of its own: what it leads to is judged under its own name.
                Err(workspace::Error::WrongKind(Kind::Link | Kind::Directory)) => {}
                Err(error) => answers.push((index, unreadable(&error).into())),
            }
        }
    }
}

impl Work {
    async fn judge(&self, path: &str, content: Vec<u8>) -> Answer {
        let remembered = self.memory.as_ref().map(|memory| (memory, Memory::input(path, &content)));
        if let Some((memory, input)) = &remembered
            && memory.passed(input)
        {
            self.reused.fetch_add(1, Ordering::Relaxed);
            return Verdict::of(Status::Pass).into();
        }
        let answer = match self.verifier() {
            Ok(verifier) => self.runtime.check_file(verifier, &self.terms(), path, content).await,
            Err(failure) => failure.into(),
        };
        if let Some((memory, input)) = remembered
            && answer.log.is_empty()
            && answer.log_dropped == 0
        {
            memory.learn(input, &answer.verdict);
        }
        answer
    }
}

fn unreadable(error: &workspace::Error) -> Failure {
    let kind = match error {
        workspace::Error::TooLarge(_) => ErrorKind::InputLimit,
        workspace::Error::BadPath => ErrorKind::FsBadPath,
        _ => ErrorKind::FsUnreadable,
    };
    Failure::new(kind, format!("cannot read it: {error}"))
}

/// One verdict for all files: any failure fails; else any error is one; else any abstention; else it passes.
fn summarise(paths: &[String], answers: Vec<(usize, Answer)>, max_findings: usize) -> Judged {
    let mut counts = [0usize; 4];
    let mut findings: Vec<Finding> = Vec::new();
    let mut omitted = 0;
    let mut first_error = None;
    let mut confidence: Option<f64> = None;
    let mut first_words = String::new();
    let mut log = Vec::new();
    let mut log_dropped = 0;
    let mut ran = Vec::new();
    let mut asked = Vec::new();
    let judged = answers.len();
    for (index, answer) in answers {
        let path = paths.get(index).map_or("", String::as_str);
        let verdict = answer.verdict;
        counts[verdict.status as usize] += 1;
        omitted += verdict.findings_omitted;
        // As sure as of the file that it is least sure of.
        confidence = match (confidence, verdict.confidence) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for finding in verdict.findings {
            if findings.len() < max_findings {
                findings.push(finding);
            } else {
                omitted += 1;
            }
        }
        if let Some(failure) = verdict.error
            && first_error.is_none()
        {
            first_error = Some(Failure { message: format!("{path}: {}", failure.message), ..failure });
        }
        if verdict.status != Status::Pass && first_words.is_empty() && !verdict.summary.is_empty() {
            first_words = format!("{path}: {}", verdict.summary);
        }
        log.extend(answer.log);
        log_dropped += answer.log_dropped;
        ran.extend(answer.ran);
        asked.extend(answer.asked);
    }
    if judged == 0 {
        return Judged { verdict: None, files: Some(0), reused: None, log, log_dropped, ran, asked };
    }
    let of = |status: Status| counts[status as usize];
    let status = [Status::Fail, Status::Error, Status::Abstain].into_iter().find(|&status| of(status) > 0);
    let status = status.unwrap_or(Status::Pass);
    let summary = match status {
        Status::Pass => String::new(),
        _ if judged == 1 => first_words,
        other => format!("{} of {judged} files: {other}", of(other)),
    };
    let error = first_error.filter(|_| status == Status::Error);
    let verdict = Verdict { confidence, summary, error, findings, findings_omitted: omitted, ..Verdict::of(status) };
    Judged { verdict: Some(verdict), files: Some(judged), reused: None, log, log_dropped, ran, asked }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(statuses: &[Status]) -> Vec<(usize, Answer)> {
        let answer = |status: Status| match status {
            Status::Error => Answer::from(Failure::new(ErrorKind::LimitTime, "late")),
            other => Answer { verdict: Verdict::of(other), ..Failure::new(ErrorKind::HostFailed, "").into() },
        };
        statuses.iter().map(|&status| answer(status)).enumerate().collect()
    }

    #[test]
    fn the_worst_file_decides() {
        use Status::{Abstain, Error, Fail, Pass};
        let paths: Vec<String> = ["a", "b", "c"].map(String::from).into();
        for (statuses, expected) in [
            (&[Pass, Pass][..], Pass),
            (&[Pass, Fail, Error], Fail),
            (&[Error, Fail], Fail),
            (&[Pass, Error, Abstain], Error),
            (&[Pass, Abstain], Abstain),
        ] {
            let judged = summarise(&paths, answers(statuses), 10);
            let verdict = judged.verdict.expect("a verdict");
            assert_eq!(verdict.status, expected, "{statuses:?}");
            assert_eq!(verdict.error.is_some(), expected == Error, "{statuses:?}");
        }
        assert!(summarise(&paths, Vec::new(), 10).verdict.is_none());
    }
}
