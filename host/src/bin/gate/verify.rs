//! `gate verify`: looks up whether this policy passed this tree. Nothing runs.

use crate::args::{Global, OutputFormat};
use crate::error::{Error, Make as _};
use crate::run::Watcher;
use crate::{Exit, evidence, setup, terminal};
use anyhow::{Context as _, anyhow};
use clap::Args;
use gatehost::changes::{self, Selection};
use gatehost::environment::Environment;
use gatehost::ledger::{Head, Ledger, Survey};
use gatehost::overrides;
use gatehost::proof::{self, Verification, VerificationRequest};
use gatehost::session::{self, Policy, Request};
use gatehost::text::{clean_line, write_json};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use tempfile::TempDir;

#[derive(Debug, Args)]
#[command(after_help = "\
Looks up the uncommitted changes; without any, the last commit. The exit code is 0 only if a \
run of the same gate passed the same change on the same base, and the chain of the ledger is intact. `gate log --verify` \
also reads the content of every entry.

Examples:
  gate verify                     may this be committed?
  gate verify HEAD                did the last commit pass?
  gate verify \"$new\"              in a pre-receive hook of a bare repository
  gate verify --anchor 12:ab…     and is the ledger unaltered since the anchor?")]
pub(crate) struct VerifyArgs {
    /// The commit to look up
    rev: Option<String>,
    /// The gate that must have passed [default: as for `gate run`]
    #[arg(long, value_name = "GATE")]
    gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use the configuration of this commit, as `gate run --policy-from` does
    #[arg(long, value_name = "REF", conflicts_with = "config")]
    policy_from: Option<String>,
    /// An earlier output of `gate log --head`, which must be part of the chain
    #[arg(long, value_name = "HEAD")]
    anchor: Option<Head>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &VerifyArgs) -> Result<Exit, Error> {
    let ledger = evidence::ledger(command.anchor)?;
    let WorkTree { folder, environment, empty } = work_tree(global)?;
    let rev = command.rev.clone().or_else(|| empty.is_some().then(|| "HEAD".to_owned()));
    let commit = commit(&folder, rev, &environment)?;
    let selection = commit.clone().map_or(Selection::Changed, Selection::Commit);
    let (tree, base) = session::digest_of(&folder, &selection, &environment)?;
    let tree = tree.ok_or_else(|| Error::input("cannot read all files of the change"))?;
    let mut request = Request::new(&folder, environment.clone());
    request.selection = selection;
    request.gate.clone_from(&command.gate);
    request.policy = match (&command.config, &command.policy_from) {
        (Some(file), _) => Policy::File(file.clone()),
        (None, Some(commit)) => Policy::Commit(commit.clone()),
        (None, None) => Policy::Nearest,
    };
    let host = setup::host(global, &request.environment)?;
    // The chain is checked while the plan is made: neither needs the other.
    let (survey, planned) = thread::scope(|scope| {
        let survey = scope.spawn(|| ledger.survey(command.anchor, &tree));
        let planned = setup::wait(host.plan(request, Watcher::silent(global)));
        (survey.join(), planned)
    });
    let survey = survey.map_err(|_| Error::broken(anyhow!("checking the ledger panicked")))?;
    let Survey { damages, entries } = survey?;
    let mut out = terminal::stdout();
    if !damages.is_empty() {
        if command.format == OutputFormat::Json {
            let why = "the ledger is damaged";
            write_json(&mut out, &json!({ "version": 1, "verified": false, "why": why, "damages": damages }))?;
        } else {
            terminal::noted(&mut out, |out| {
                writeln!(out, "not verified: the ledger is damaged")?;
                damages.iter().try_for_each(|damage| writeln!(out, "  {damage}"))
            })?;
        }
        return Ok(Exit::NoVerdict);
    }
    let planned = planned?;
    let question = VerificationRequest {
        tree: tree.clone(),
        base: base.clone(),
        plan: planned.plan.digest(),
        accept_overrides: planned.overrides.accept,
        expired: overrides::expired(&ledger, &entries, evidence::now_millis())?,
    };
    let answer = proof::answer(&entries, &question)?;
    if let (Verification::Passed(entry), Some(commit)) = (&answer, commit) {
        // A ledger that cannot be written still answers.
        let _ = session::note_commit(&ledger, entry, &commit);
    }
    let (verified, line, entry) = match &answer {
        Verification::Passed(entry) => {
            (true, format!("verified: passed in run {} (entry {})", entry.labels.run, entry.seq), Some(entry.seq))
        }
        Verification::Overridden(entry, granted) => {
            (true, format!("{}: let through by {} (entry {})", granted.word(), granted.by, entry.seq), Some(entry.seq))
        }
        Verification::NotPassed { why, nearest } => {
            (false, format!("not verified: {why}"), nearest.as_ref().map(|entry| entry.seq))
        }
    };
    if command.format == OutputFormat::Json {
        let overridden = matches!(answer, Verification::Overridden(..));
        write_json(
            &mut out,
            &json!({
                "version": 1, "verified": verified, "overridden": overridden, "why": line, "entry": entry,
                "tree": tree, "base": base, "plan": question.plan, "head": ledger.head()?.to_string(),
            }),
        )?;
    } else {
        terminal::noted(&mut out, |out| writeln!(out, "{}", clean_line(&line, usize::MAX)))?;
    }
    Ok(if verified { Exit::Pass } else { Exit::Fail })
}

/// Where git looks for the commit.
struct WorkTree {
    folder: PathBuf,
    environment: Environment,
    /// The working tree of a repository that has none.
    empty: Option<TempDir>,
}

/// Returns the folder of the caller. A bare repository, where pre-receive hooks run, gets an empty working tree: a commit is
/// looked up without one.
fn work_tree(global: &Global) -> Result<WorkTree, Error> {
    let (folder, mut environment) = (global.directory.clone(), Environment::of_process());
    let is_there = |name: &str| folder.join(name).exists();
    let is_bare = is_there("HEAD") && is_there("objects") && is_there("refs") && !is_there(".git");
    if !is_bare || environment.get("GIT_WORK_TREE").is_some() {
        return Ok(WorkTree { folder, environment, empty: None });
    }
    let empty = tempfile::tempdir().context("cannot create a temporary folder").map_err(Error::broken)?;
    let repository = folder.canonicalize().context("cannot open the repository").map_err(Error::mistake)?;
    environment.set("GIT_DIR", repository);
    environment.set("GIT_WORK_TREE", empty.path());
    Ok(WorkTree { folder: empty.path().to_owned(), environment, empty: Some(empty) })
}

/// Returns the id of the commit to look up; nothing for uncommitted changes.
fn commit(folder: &Path, rev: Option<String>, environment: &Environment) -> Result<Option<String>, Error> {
    let rev = match rev {
        Some(rev) => rev,
        None if session::is_unchanged(folder, environment)? => "HEAD".to_owned(),
        None => return Ok(None),
    };
    // Named by its id from here on, so that everything below is about the same commit.
    let id = changes::base(folder, &Selection::Base(rev.clone()), environment);
    Ok(Some(id.map_err(gatehost::error::Error::from)?.unwrap_or(rev)))
}
