//! `gate fix`: shows the fixes that help as a diff, and writes them if the caller agrees.

use crate::args::Global;
use crate::error::Error;
use crate::run::Watcher;
use crate::terminal::say;
use crate::{Exit, person, setup, terminal};
use clap::Args;
use gatehost::changes::Selection;
use gatehost::environment::Environment;
use gatehost::fix::{self, FileFix};
use gatehost::outcome::Node;
use gatehost::record::Record;
use gatehost::session::{Policy, Request};
use gatehost::text::{self, clean_line};
use similar::TextDiff;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Fixes are tried in a copy of the workspace. `gate` keeps them only if a finding is gone, no finding is new, and no check has a \
worse result. It shows the diff and asks before it writes; without a terminal, use `--yes`. A fix changes only a file that its check \
judged, through no symlink, and never gate.toml, protected files, repository data, hooks, or settings of agents, editors, git and \
CI. The exit code is that of the gate on the resulting work.

Examples:
  gate fix
  gate fix commit --yes")]
pub(crate) struct FixArgs {
    /// The gate [default: as for `gate run`]
    pub(crate) gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Fix these files or folders
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["all_files", "since"])]
    pub(crate) files: Vec<PathBuf>,
    /// Fix every file that git tracks or would track
    #[arg(long, conflicts_with = "since")]
    pub(crate) all_files: bool,
    /// Fix what differs between this commit and the working tree
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,
    /// Write the fixes without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

pub(crate) fn run(global: &Global, command: &FixArgs) -> Result<Exit, Error> {
    let mut request = Request::new(&global.directory, Environment::of_process());
    request.policy = command.config.clone().map_or(Policy::Nearest, Policy::File);
    request.gate.clone_from(&command.gate);
    request.selection = match (&command.since, command.all_files) {
        (Some(since), _) => Selection::Since(since.clone()),
        (None, true) => Selection::All,
        (None, false) if !command.files.is_empty() => Selection::Files(command.files.clone()),
        (None, false) => Selection::Changed,
    };
    let host = setup::host(global, &request.environment)?;
    let pinned = setup::wait(host.pin(request.clone(), Watcher::silent(global)))?;
    request.pinned = Some(pinned.clone());
    let before = setup::wait(host.run(request.clone(), Watcher::silent(global)))?;
    let (status, failures) = (before.status, failures(&before));
    let proposal = fix::propose(&host, &request, &pinned, before)?;
    for (path, why) in &proposal.refused {
        say(format!("note: a fix for `{}` was not tried: {why}", clean_line(path, 200)));
    }
    if let Some(late) = &proposal.late {
        say(format_args!("note: not every fix was tried: {late}"));
    }
    let mut out = terminal::stdout();
    if proposal.files.is_empty() {
        let why = match proposal.offered {
            0 => "no finding has a fix".to_owned(),
            1 => "the offered fix does not improve the result".to_owned(),
            count => format!("none of the {count} offered fixes improves the result"),
        };
        writeln!(out, "fix: nothing to write: {why}; gate {}", status.as_str())?;
        failures.iter().for_each(say);
        return Ok(status.into());
    }
    let mut invisible = 0;
    for file in &proposal.files {
        let difference = difference(file);
        invisible += text::invisible(&difference);
        write!(out, "{difference}")?;
    }
    if let Some(note) = text::invisible_note(invisible) {
        writeln!(out, "note: {note}")?;
    }
    let after = proposal.after.as_ref().map_or(status, |record| record.status);
    let files = terminal::count(proposal.files.len(), "file");
    writeln!(out, "fix: {files}; gate {} -> {}", status.as_str(), after.as_str())?;
    out.flush()?;
    let agreed = command.yes || (person::is_here() && person::confirms("Write these changes?", "yes")?);
    if !agreed {
        if !person::is_here() {
            say("note: nothing was written; `--yes` writes without asking");
        }
        return Ok(status.into());
    }
    proposal.write()?;
    writeln!(out, "fix: written")?;
    Ok(after.into())
}

/// Returns the errors of the checks that have no result.
fn failures(record: &Record) -> Vec<String> {
    let failure = |node: &Node| {
        let failure = node.verdict.as_ref()?.error.as_ref()?;
        Some(clean_line(&format!("{}: {}: {}", node.name, failure.kind, failure.message), 1_000))
    };
    record.gate.walk().filter_map(failure).collect()
}

/// Returns the difference as `diff -u` prints it.
fn difference(file: &FileFix) -> String {
    let path = clean_line(&file.path, 1_000);
    let diff = TextDiff::from_lines(&file.before, &file.after);
    let text = diff.unified_diff().context_radius(2).header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    // The content of a file must not move the cursor.
    text::clean(&text, 1 << 20)
}
