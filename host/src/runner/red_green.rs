//! Red, then green: a command that passes on the work proves something only if it fails without the change.
//!
//! The files of the base commit are written to a temporary folder, and the command runs there in the same way. Ignored files
//! that the base does not have, such as `node_modules`, are symlinked from the work, because a command that fails for want
//! of its dependencies proves nothing.

use crate::changes::{self, StoredFiles};
use crate::commands::{CommandEnding, CommandResult, Commands, NoResult};
use crate::config::CommandConfig;
use crate::deadline::Deadline;
use crate::environment::Environment;
use crate::plan;
use crate::submission::Submission;
use crate::verdict::{Class, Failure, Finding, Level, Status, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The repository of the work and the base commit of the change.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// The root of the repository.
    pub repository: PathBuf,
    /// The commit, in full.
    pub commit: String,
    /// The environment of git.
    pub environment: Environment,
    /// When reading it must end.
    pub deadline: Deadline,
}

/// Runs the commands that passed on the work on the base commit. Returns their results, and the verdict of the check.
pub(super) async fn confirm(
    commands: &Arc<Commands>,
    base: Option<&Base>,
    submission: &Submission,
    check: &plan::Check,
    ran: &[CommandResult],
    passed: Verdict,
) -> (Vec<CommandResult>, Verdict) {
    let names: BTreeSet<&str> = ran.iter().map(|ran| ran.name.as_str()).collect();
    if names.is_empty() {
        return (Vec::new(), abstain("no command ran, so there is nothing to compare with the base"));
    }
    let mut on_base = Vec::new();
    for name in names {
        match run(commands, base, submission, &check.member, name).await {
            Ok(ran) => on_base.push(CommandResult { on_base: true, ..ran }),
            Err(Unrunnable::NoBase) => {
                return (
                    on_base,
                    abstain("`red_green` runs the command on the base, and there is no commit to compare with"),
                );
            }
            Err(Unrunnable::NoResult(error)) => {
                return (on_base, Verdict::from(Failure::new(error.kind(), error.to_string())));
            }
        }
    }
    let verdict = on_base.iter().find_map(|ran| not_red(check, ran)).unwrap_or(passed);
    (on_base, verdict)
}

/// Returns why a command result on the base proves nothing about the change, if so.
fn not_red(check: &plan::Check, ran: &CommandResult) -> Option<Verdict> {
    let line = ran.argv.join(" ");
    match ran.ending {
        // A shell exits with 126 or 127 if it cannot run a program.
        CommandEnding::Exited(code) if code != 0 && code != 126 && code != 127 => None,
        CommandEnding::Exited(0) => {
            let message = format!(
                "`{line}` also exits with 0 on the base commit, so it does not prove anything about the change"
            );
            let hint = "add a test that fails without the change, or run one that does";
            let finding =
                Finding { hint: Some(hint.to_owned()), ..Finding::new("red-green.not-red", Level::Error, message) };
            let summary = format!("the command of `{}` passes without the change", check.check);
            Some(Verdict {
                summary,
                findings: vec![finding],
                class: Some(Class::VerifyFailure),
                ..Verdict::of(Status::Fail)
            })
        }
        ending => {
            let how = match ending {
                CommandEnding::Exited(code) => {
                    format!("exited with {code}, which means that a program could not be run")
                }
                CommandEnding::Signalled(signal) => format!("was killed by signal {signal}"),
                CommandEnding::TimedOut => "timed out".to_owned(),
            };
            Some(abstain(&format!("on the base, `{line}` {how}: this does not prove anything about the change")))
        }
    }
}

fn abstain(summary: &str) -> Verdict {
    Verdict { summary: summary.to_owned(), ..Verdict::of(Status::Abstain) }
}

enum Unrunnable {
    NoBase,
    NoResult(NoResult),
}

async fn run(
    commands: &Arc<Commands>,
    base: Option<&Base>,
    submission: &Submission,
    check: &str,
    name: &str,
) -> Result<CommandResult, Unrunnable> {
    if commands.is_replayed() {
        return commands.run_with(check, name, Vec::new()).await.map_err(Unrunnable::NoResult);
    }
    let (base, command) = base.cloned().zip(commands.declared(name).cloned()).ok_or(Unrunnable::NoBase)?;
    let changed: BTreeSet<String> = submission.changes.iter().filter_map(|change| first(&change.path)).collect();
    let failed = |why: String| Unrunnable::NoResult(NoResult::not_started(format!("on the base: {why}")));
    let prepared = tokio::task::spawn_blocking(move || prepare(&base, command, &changed)).await;
    let (stored, command) =
        prepared.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    let declared = BTreeMap::from([(name.to_owned(), command)]);
    let there = commands.elsewhere(declared, stored.path().to_owned());
    there.run_with(check, name, Vec::new()).await.map_err(Unrunnable::NoResult)
}

fn first(path: &str) -> Option<String> {
    path.split('/').next().map(str::to_owned)
}

/// Writes the files of the base to a folder, and returns the command to run there.
fn prepare(
    base: &Base,
    mut command: CommandConfig,
    changed: &BTreeSet<String>,
) -> io::Result<(StoredFiles, CommandConfig)> {
    let stored = changes::checkout(&base.repository, &base.commit, &base.environment, &base.deadline);
    let stored = stored.map_err(io::Error::other)?;
    let written: BTreeSet<String> = command.write.iter().filter_map(|path| first(path)).collect();
    for entry in std::fs::read_dir(&base.repository)? {
        let name = entry?.file_name();
        let (Some(text), there) = (name.to_str(), stored.path().join(&name)) else { continue };
        let is_known = text == ".git" || changed.contains(text) || written.contains(text);
        if !is_known && there.symlink_metadata().is_err() {
            link(&base.repository.join(&name), &there, &mut command)?;
        }
    }
    Ok((stored, command))
}

fn link(from: &Path, to: &Path, command: &mut CommandConfig) -> io::Result<()> {
    // Names that are not UTF-8 cannot be in a configuration either.
    let Some(shown) = from.to_str() else { return Ok(()) };
    command.read.push(shown.to_owned());
    symlink(from, to)
}
