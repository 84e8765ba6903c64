//! `gate git-hook`: the command in the scripts of `gate install git`.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::{Exit, report as reports, setup};
use anyhow::{Context, anyhow};
use clap::Args;
use gatehost::changes::Selection;
use gatehost::environment::Environment;
use gatehost::report::Format;
use gatehost::search_path;
use gatehost::session::{LedgerUse, Request, Unread, configured};
use gatehost::submission::{Claim, Submission};
use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};

#[derive(Debug, Args)]
pub(crate) struct GitHookArgs {
    /// The hook: pre-commit, commit-msg or pre-push
    pub(crate) name: String,
    /// The arguments from git
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// The most bytes of a commit's message, and of the list of what is pushed.
const MAX_BYTES: u64 = 4 << 20;

pub(crate) fn run(global: &Global, command: &GitHookArgs) -> Result<Exit, Error> {
    let request = |gate: &Option<String>, selection: Selection| {
        let mut request = Request::new(&global.directory, Environment::of_process());
        request.gate.clone_from(gate);
        request.selection = selection;
        request.ledger = LedgerUse::StateFolder;
        request.unread = Unread::Ignore;
        request
    };
    let plain = request(&None, Selection::Staged);
    let settings = configured(&plain)?.hook;
    let requests = match command.name.as_str() {
        "pre-commit" => vec![request(&settings.pre_commit, Selection::Staged)],
        "commit-msg" if settings.commit_msg.is_none() => Vec::new(),
        "commit-msg" => {
            let claim = Some(Claim { text: message(global, command)?, report: None });
            let mut request = request(&settings.commit_msg, Selection::Staged);
            request.submission = Submission { claim, ..Submission::default() };
            vec![request]
        }
        "pre-push" => {
            let remote = command.arguments.first().map(String::as_str).unwrap_or_default();
            let pushed = match of_runner(global, &plain.environment) {
                Some(selection) => vec![selection?],
                None => pushed(global, remote)?,
            };
            pushed.into_iter().map(|selection| request(&settings.pre_push, selection)).collect()
        }
        other => {
            return Err(Error::mistake(anyhow!("expected `pre-commit`, `commit-msg` or `pre-push`, found `{other}`")));
        }
    };
    let mut worst = Exit::Pass;
    if requests.is_empty() {
        return Ok(worst);
    }
    let host = setup::host(global, &plain.environment)?;
    for request in requests {
        let record = setup::wait(host.run(request, ()))?;
        reports::write(global, Some(Format::Human), &[], &record)?;
        worst = worst.max(record.status.into());
    }
    Ok(worst)
}

/// Returns the message of a commit, without the comments that git drops.
fn message(global: &Global, command: &GitHookArgs) -> Result<String, Error> {
    let path =
        command.arguments.first().ok_or_else(|| Error::mistake(anyhow!("expected the path of the commit message")))?;
    let mut text = String::new();
    let read = File::open(global.directory.join(path)).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
    read.with_context(|| format!("cannot read the message `{path}`")).map_err(Error::mistake)?;
    let cut = text.find("# ------------------------ >8 ------------------------").unwrap_or(text.len());
    Ok(text[..cut].lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
}

/// Returns the commits that are about to be pushed, if pre-commit or prek calls the hook. These have read stdin already, and
/// pass its content in variables.
fn of_runner(global: &Global, environment: &Environment) -> Option<Result<Selection, Error>> {
    environment.get("PRE_COMMIT")?;
    let reference = |name: &str| environment.text(name).filter(|name| !name.is_empty()).map(str::to_owned);
    Some(match (reference("PRE_COMMIT_FROM_REF"), reference("PRE_COMMIT_TO_REF")) {
        (Some(from), Some(to)) => Ok(Selection::Between { from, to }),
        // The commits of the remote are unknown, so all commits count as new.
        _ => whole(global, &reference("PRE_COMMIT_LOCAL_BRANCH").unwrap_or_else(|| "HEAD".to_owned())),
    })
}

/// Returns all files of a commit with its whole history, where they are those in the working tree: nothing else can be
/// judged.
fn whole(global: &Global, commit: &str) -> Result<Selection, Error> {
    let id = |name: &str| git(global, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
    let changed = git(global, &["status", "--porcelain", "--untracked-files=no"]);
    if id(commit).is_some() && id(commit) == id("HEAD") && changed.is_some_and(|changed| changed.is_empty()) {
        return Ok(Selection::All);
    }
    let error = anyhow!("a first push is checked in the working tree, which differs from the pushed commit");
    Err(Error::broken(error)
        .hint("check the commit out and stash what is not committed (`git stash`), then push".to_owned()))
}

/// Returns what is about to be pushed: for each ref, the difference from the remote.
fn pushed(global: &Global, remote: &str) -> Result<Vec<Selection>, Error> {
    let mut text = String::new();
    let read = io::stdin().take(MAX_BYTES).read_to_string(&mut text);
    read.context("cannot read the refs from git").map_err(Error::mistake)?;
    let mut selections = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[_, local, _, there] = words.as_slice() else {
            return Err(Error::mistake(anyhow!("expected `REF OID REF OID` from git, found another line")));
        };
        let is_none = |oid: &str| !oid.is_empty() && oid.bytes().all(|byte| byte == b'0');
        if is_none(local) {
            continue;
        }
        let known = !is_none(there) && git(global, &["cat-file", "-e", &format!("{there}^{{commit}}")]).is_some();
        let from = if known { Some(there.to_owned()) } else { first_parent(global, remote, local)? };
        match from {
            Some(from) => selections.push(Selection::Between { from, to: local.to_owned() }),
            // The remote has all of these commits already.
            None if new_commits(global, remote, local)?.is_empty() => {}
            None => selections.push(whole(global, local)?),
        }
    }
    selections.dedup();
    Ok(selections)
}

/// Returns the commits that no branch of the remote has, the newest first.
fn new_commits(global: &Global, remote: &str, local: &str) -> Result<Vec<String>, Error> {
    let remotes = format!("--remotes={remote}");
    let listed = git(global, &["rev-list", "--topo-order", local, "--not", &remotes]);
    let listed = listed.ok_or_else(|| Error::broken(anyhow!("`git rev-list` failed for `{local}`")))?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// Returns the parent of the first commit that the remote does not have; `None` if that commit has no parent, or if the remote
/// has all commits.
fn first_parent(global: &Global, remote: &str, local: &str) -> Result<Option<String>, Error> {
    let new = new_commits(global, remote, local)?;
    let Some(oldest) = new.last() else { return Ok(None) };
    Ok(git(global, &["rev-parse", "--verify", "--quiet", &format!("{oldest}^")]).map(|text| text.trim().to_owned()))
}

/// Returns the output of git, or `None` if it fails.
fn git(global: &Global, arguments: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut git = Command::new(search_path::find_program("git", &path, &global.directory)?);
    git.arg("-C").arg(&global.directory).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    git.env("PATH", search_path::outside(&path, &global.directory));
    let output = git.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}
