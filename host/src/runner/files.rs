//! Checks many files at once: one worker per core, one verdict for all files.

use super::FilesDone;
use super::contents::{ContentDigests, Contents};
use super::summary::{FileAnswer, FileResult, FilesResult, summarise};
use crate::cached_passes::CachedPasses;
use crate::commands::MAX_LISTED;
use crate::config::Inapplicable;
use crate::cores;
use crate::finding_budget::HeldFindings;
use crate::fingerprint;
use crate::runtime::{CallContext, CallResult, Capabilities, ComponentSource, FileInput, Grants, Runtime, Verifier};
use crate::verdict::{ErrorKind, Failure};
use crate::workspace;
use parking_lot::Mutex;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How often a worker lets others run.
const TICK: Duration = Duration::from_millis(10);

/// Starts one worker per core; each takes the next file until none is left. Dropping the set cancels them.
pub(super) async fn files(work: Arc<FileCheck>) -> FilesResult {
    let mut workers = JoinSet::new();
    for _ in 0..cores::count().min(work.paths.len()) {
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
        let failure = Failure::new(ErrorKind::HostFailed, "a worker thread of the host ended early");
        answers.push((usize::MAX, CallResult::from(failure).into()));
    }
    answers.sort_by_key(|(index, _)| *index);
    let held = &mut *work.held.lock();
    for (index, file) in &mut answers {
        if let FileResult::Called(answer) = &mut file.result {
            answer.verdict.findings = held.take(*index);
        }
    }
    if let Some(cached) = &work.cached {
        cached.keep();
    }
    let mut all = summarise(&work.paths, answers, work.limits.findings, work.on_not_applicable);
    if let Some(verdict) = &mut all.verdict {
        verdict.findings_omitted += held.omitted();
    }
    all
}

/// One check of the files of a subject, shared by its workers.
pub(super) struct FileCheck {
    pub(super) runtime: Arc<Runtime>,
    pub(super) source: Arc<ComponentSource>,
    pub(super) grants: Grants,
    /// Loaded on first use: cached passes need no verifier.
    pub(super) verifier: OnceLock<Result<Arc<Verifier>, Failure>>,
    pub(super) cached: Option<Arc<CachedPasses>>,
    pub(super) contents: Arc<Contents>,
    pub(super) settings: String,
    pub(super) limits: crate::limits::Limits,
    pub(super) capabilities: Capabilities,
    pub(super) paths: Vec<String>,
    /// The position of each path in the subject.
    pub(super) places: Vec<usize>,
    /// The name of the check, for fingerprints.
    pub(super) check: String,
    pub(super) on_not_applicable: Inapplicable,
    pub(super) member: String,
    pub(super) done: Arc<FilesDone>,
    pub(super) finished: AtomicUsize,
    pub(super) next: AtomicUsize,
    pub(super) held: Mutex<HeldFindings>,
}

impl FileCheck {
    pub(super) fn verifier(&self) -> Result<&Verifier, Failure> {
        let loaded = self.verifier.get_or_init(|| self.runtime.load(&self.source, &self.grants));
        loaded.as_deref().map_err(Clone::clone)
    }

    pub(super) fn terms(&self) -> CallContext<'_> {
        CallContext { capabilities: Some(&self.capabilities), ..CallContext::new(&self.settings, &self.limits) }
    }

    async fn work(self: Arc<Self>) -> Vec<(usize, FileAnswer)> {
        let mut answers = Vec::new();
        let mut yielded = Instant::now();
        loop {
            // Reading and cached passes never wait, and time limits are only noticed between the steps of tasks.
            if yielded.elapsed() >= TICK {
                tokio::task::yield_now().await;
                yielded = Instant::now();
            }
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = self.paths.get(index) else { return answers };
            let place = self.places[index];
            match self.contents.digests(place, path, self.limits.input) {
                Ok(Some((seen, content))) => match self.judge(place, path, &seen, content).await {
                    Ok(mut result) => {
                        if let FileResult::Called(answer) = &mut result {
                            bound(answer, index, self.paths.len());
                            self.hold(answer, index);
                        }
                        answers.push((index, FileAnswer { result, digest: Some(seen.digest) }));
                    }
                    Err(error) => answers.push((index, CallResult::from(unreadable(&error)).into())),
                },
                Ok(None) => {}
                Err(error) => answers.push((index, CallResult::from(unreadable(&error)).into())),
            }
            self.contents.release(place);
            self.report_progress();
        }
    }
}

/// The bytes of log that are kept of all files of a check together, and at least of each.
const MAX_LOG: usize = 4 << 20;
const LEAST_LOG: usize = 4 << 10;
/// The bytes of what is said about why a file has no judgement, of all files and at least of each.
const MAX_REASONS: usize = 16 << 20;
const LEAST_REASON: usize = 200;

/// Drops what a check with many files does not list: otherwise a verifier that says much about each file would fill the memory. The
/// share of a file depends only on its place, so that two runs list the same.
fn bound(answer: &mut CallResult, index: usize, files: usize) {
    let listed = if index < MAX_LISTED { (MAX_LISTED / files.max(1)).max(1) } else { 0 };
    let cut = |all: usize| all.saturating_sub(listed) as u64;
    answer.unlisted += cut(answer.ran.len()) + cut(answer.asked.len());
    answer.ran.truncate(listed);
    answer.asked.truncate(listed);
    let mut left = (MAX_LOG / files.max(1)).max(LEAST_LOG);
    let lines = answer.log.iter().take_while(|line| {
        let fits = line.message.len() <= left;
        left = left.saturating_sub(line.message.len());
        fits
    });
    let kept = lines.count();
    answer.log_dropped += (answer.log.len() - kept) as u64;
    answer.log.truncate(kept);
    let most = (MAX_REASONS / files.max(1)).max(LEAST_REASON);
    let verdict = &mut answer.verdict;
    for text in
        [Some(&mut verdict.summary), verdict.error.as_mut().map(|error| &mut error.message)].into_iter().flatten()
    {
        text.truncate(text.floor_char_boundary(most));
    }
}

impl FileCheck {
    /// Puts the findings of a file aside, until it is known which of them are kept.
    fn hold(&self, answer: &mut CallResult, index: usize) {
        let findings = mem::take(&mut answer.verdict.findings);
        if !findings.is_empty() {
            self.held.lock().add(index, findings, self.limits.findings);
        }
    }

    /// Reports progress, about a hundred times per check.
    fn report_progress(&self) {
        let (done, total) = (self.finished.fetch_add(1, Ordering::Relaxed) + 1, self.paths.len());
        if done == total || done.is_multiple_of((total / 100).max(1)) {
            (self.done)(&self.member, done, total);
        }
    }

    /// Returns the result for a file, which may be cached.
    async fn judge(
        &self,
        place: usize,
        path: &str,
        seen: &ContentDigests,
        content: Option<Arc<FileInput>>,
    ) -> Result<FileResult, workspace::WorkspaceError> {
        if let Some(run) = self.cached.as_ref().and_then(|cached| cached.established(&seen.input)) {
            return Ok(FileResult::Cached(run));
        }
        let verifier = match self.verifier() {
            Ok(verifier) => verifier,
            Err(failure) => return Ok(CallResult::from(failure).into()),
        };
        let file = match content {
            Some(content) => content,
            None => {
                let read = self.contents.content(place, path, self.limits.input)?;
                read.ok_or(workspace::WorkspaceError::Changed)?
            }
        };
        let file = Arc::try_unwrap(file).unwrap_or_else(|shared| FileInput::clone(&shared));
        // The content is returned for the lines of findings, which most files do not have.
        let (mut answer, content) = self.runtime.check_file_keeping(verifier, &self.terms(), file).await;
        let findings = &mut answer.verdict.findings;
        let lines = fingerprint::texts(&content, &fingerprint::lines_in(findings, path));
        fingerprint::assign(&self.check, findings, |_, line| lines.get(&line).cloned());
        if let Some(cached) = &self.cached
            && answer.log.is_empty()
            && answer.log_dropped == 0
        {
            cached.learn(seen.input, &answer.verdict);
        }
        Ok(answer.into())
    }
}

fn unreadable(error: &workspace::WorkspaceError) -> Failure {
    let kind = match error {
        workspace::WorkspaceError::TooLarge(_) => ErrorKind::InputLimit,
        workspace::WorkspaceError::BadPath => ErrorKind::FsBadPath,
        workspace::WorkspaceError::Changed => ErrorKind::SubjectChanged,
        _ => ErrorKind::FsUnreadable,
    };
    let failure = Failure::new(kind, format!("cannot read it: {error}"));
    match error {
        workspace::WorkspaceError::BadLink { .. } => failure.hint("add it to `exclude`, or replace it by the file"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{Captured, CommandEnding, CommandResult};
    use crate::config::SandboxLevel;
    use crate::runtime::{LogLevel, LogLine};
    use crate::verdict::{Status, Verdict};
    use std::time::{Duration, SystemTime};

    #[test]
    fn what_is_kept_of_a_file_depends_on_its_place_alone() {
        for (index, files, ran, kept, lines) in
            [(0, 1, 1_000, 1_000, 64), (3, 10, 1_000, 100, 64), (999, 5_000, 9, 1, 4), (1_000, 5_000, 9, 0, 4)]
        {
            let mut answer = CallResult::from(Verdict::of(Status::Pass));
            let result = CommandResult {
                name: "c".to_owned(),
                argv: Vec::new(),
                ending: CommandEnding::Exited(0),
                stdout: Captured::default(),
                stderr: Captured::default(),
                started: SystemTime::UNIX_EPOCH,
                duration: Duration::ZERO,
                sandbox: SandboxLevel::None,
                advice: None,
                rewrites: Vec::new(),
                replayed: false,
                on_base: false,
            };
            answer.ran = vec![result; ran];
            answer.log = vec![LogLine { severity: LogLevel::Info, message: "x".repeat(1 << 10) }; 64];
            bound(&mut answer, index, files);
            assert_eq!((answer.ran.len(), answer.unlisted), (kept, (ran - kept) as u64), "{index} of {files}");
            assert_eq!((answer.log.len(), answer.log_dropped), (lines, 64 - lines as u64), "{index} of {files}");
        }
    }
}
