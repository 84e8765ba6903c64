//! Runs one check: selects its files, calls its verifier, and collects the answer.

use super::files::{FileCheck, files};
use super::reads::{RunReads, TracedReads};
use super::summary::FilesResult;
use super::{CheckRunner, Logged, ReusablePasses, red_green};
use crate::commands::{CommandEnding, CommandResult};
use crate::config::Grant;
use crate::finding_budget::FindingBudget;
use crate::gate;
use crate::outcome::JudgedFile;
use crate::plan::{self, Shape};
use crate::runtime::{CallResult, Grants};
use crate::submission::{CommandEvidence, Evidence};
use crate::verdict::{ErrorKind, Failure, Level, Status, Verdict};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

impl CheckRunner<'_> {
    /// Runs one check of the plan.
    pub(super) async fn ask(&self, check: &plan::Check, evidence: &[Evidence]) -> Result<gate::Checked, Failure> {
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
                let unknown = || match self.subject.deadline.check() {
                    Err(late) => late.into(),
                    Ok(()) => Failure::new(ErrorKind::HostFailed, "the check is not one of the plan"),
                };
                let matching = self.matching.get(&patterns).ok_or_else(unknown)?;
                places.clone_from(&matching.places);
                self.asked.lock().push(Arc::clone(&matching.set));
                // Before anything is loaded, because most checks of a default gate have no files.
                if places.is_empty() {
                    return Ok(gate::Checked::NoFiles);
                }
                places.iter().map(|place| self.subject.paths[*place].clone()).collect()
            }
        };
        if let Some(failure) = self.verifiers.late(&check.digest) {
            return Err(failure);
        }
        let grants: Grants = check.grants.iter().cloned().collect();
        let source = self.verifiers.source(&check.digest).ok_or_else(|| {
            Failure::new(ErrorKind::HostFailed, format!("the verifier of `{}` was not resolved", check.check))
        })?;
        let settings = plan::canonical(&check.settings);
        // Only pure checks are cached: a grant can give other answers later, and a flaky check must run again.
        let pure = check.shape == Shape::File && check.grants.is_empty() && check.flaky.is_none();
        let store = self.runtime.cache_store().filter(|_| pure && self.use_cache);
        let kept = self.reusable.as_ref().filter(|_| ReusablePasses::apply_to(check));
        let own = kept.map(|_| Arc::<RunReads>::default());
        let (subject, reads) = (Arc::clone(&self.subject.workspace), Arc::clone(&self.reads));
        let reads = TracedReads { work: subject, reads, own: own.clone() };
        let work = Arc::new(FileCheck {
            cached: store.map(|store| self.passes_before(store, check, &settings)),
            source,
            capabilities: self.services.capabilities(&check.member, &grants, &paths, reads),
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
            held: Mutex::default(),
        });
        let mut given = None;
        let mut judged = match check.shape {
            Shape::Submission => {
                // A verifier with a command judges the output of the command, which may itself change the files.
                if work.capabilities.commands.is_none() {
                    self.shown_was_judged.store(true, Ordering::Relaxed);
                }
                let prepared = self.prepare(check, evidence)?;
                given = Some(Arc::clone(&prepared));
                let verifier = work.verifier()?;
                let answer = self.runtime.check_prepared(verifier, &work.terms(), &prepared).await;
                let CallResult { verdict, log, log_dropped, mut ran, asked, unlisted, .. } = answer;
                let mut verdict = error_if_sandbox_failed(verdict, &ran);
                if check.red_green && verdict.status == Status::Pass {
                    let (commands, base) = (&self.services.commands, self.base.as_ref());
                    let on_base;
                    (on_base, verdict) =
                        red_green::confirm(commands, base, &self.subject.submission, check, &ran, verdict).await;
                    ran.extend(on_base.into_iter().map(CommandResult::shortened));
                }
                FindingBudget::of_check(check.limits.findings).apply(&mut verdict);
                self.fingerprint(check, &mut verdict);
                // A file that is not applicable, or that has no answer, was not judged.
                let counts = handed && matches!(verdict.status, Status::Pass | Status::Fail);
                let files = counts.then(|| {
                    let digest = |path: &String| self.handed.sha256(path).unwrap_or_default();
                    work.paths.iter().map(|path| handed_over(path, digest(path), verdict.status)).collect()
                });
                FilesResult { verdict: Some(verdict), files, log, log_dropped, ran, asked, unlisted }
            }
            Shape::File => {
                let judged = files(Arc::clone(&work)).await;
                // One error for the check, not one for each file.
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
        Ok(match judged.verdict.take() {
            None => gate::Checked::NoFiles,
            Some(verdict) => {
                let commands = judged.ran.iter().map(CommandEvidence::from).collect();
                let FilesResult { files, asked: models, unlisted, .. } = judged;
                let answer = gate::CheckAnswer { verdict, files, commands, models, unlisted, reused: None };
                if let (Some(kept), Some(reads), Some(given)) = (kept, own, given) {
                    kept.keep(check, &given, reads, &self.run, &answer);
                }
                gate::Checked::Answer(answer)
            }
        })
    }
}

/// Returns the record of a file that a command got as an argument.
fn handed_over(path: &str, digest: String, status: Status) -> JudgedFile {
    JudgedFile { path: path.to_owned(), digest, status, cached: false, established: None, reason: String::new() }
}

/// Returns an error instead of a failure if a command failed because of the sandbox or a missing dependency, and nothing
/// else was found: that says nothing about the work.
fn error_if_sandbox_failed(verdict: Verdict, ran: &[CommandResult]) -> Verdict {
    let found = verdict.findings.iter().filter(|finding| finding.level == Level::Error).count();
    let advice = ran.iter().find_map(|ran| {
        let advice = ran.advice.as_ref()?;
        // For example, pytest reports every file that it cannot import, and exits with another code than for failed tests.
        let nothing_ran = advice.kind == ErrorKind::CommandNoDependency && ran.ending != CommandEnding::Exited(1);
        (found <= 1 || nothing_ran).then_some(advice)
    });
    match advice.filter(|_| verdict.status == Status::Fail) {
        Some(advice) => {
            let failure = Failure::new(advice.kind, &advice.what).hint(&advice.hint);
            let Verdict { findings, findings_omitted, .. } = verdict;
            Verdict { findings, findings_omitted, ..failure.into() }
        }
        None => verdict,
    }
}
