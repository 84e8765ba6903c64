//! `gate init`: writes a gate.toml for this repository.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::{Exit, terminal};
use anyhow::{Context, anyhow};
use gatehost::changes::{self, Needs, Selection};
use gatehost::environment::Environment;
use gatehost::import;
use gatehost::writer::{self, Expected, WriteError};
use std::io::Write as _;
use std::path::Path;

mod draft;
mod places;
mod tools;
mod trial;

use clap::Args;
use draft::Draft;
use std::path::PathBuf;
use tools::Tests;
use trial::TrialReport;

#[derive(Debug, Args)]
#[command(after_help = "\
Runs the gates before writing the file. Files that are broken on purpose, vendored and generated folders are excluded, tests \
get the access that they need, and each decision is printed. Tests run for at most three minutes. An existing file is never \
overwritten.")]
pub(crate) struct InitArgs {
    /// Convert the hooks of this file: `.pre-commit-config.yaml` or `lefthook.yml`
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Print the file instead of writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not run the gates or tests before writing the file
    #[arg(long)]
    pub(crate) no_run: bool,
}

const FILE: &str = "gate.toml";

pub(crate) fn run(global: &Global, command: &InitArgs) -> Result<Exit, Error> {
    if let Some(from) = &command.from {
        return taken_over(global, command, from);
    }
    let changes = changes::collect(&global.directory, &Selection::All, Needs::default(), &Environment::of_process())?;
    let paths: Vec<&str> = changes.paths().into_iter().filter(|path| *path != FILE).collect();
    let root = changes.workspace.root();
    let path = root.join(FILE);
    if !command.dry_run && path.exists() {
        // Before anything runs.
        return Err(not_created(&path, WriteError::Exists));
    }
    let mut draft = Draft::new(&paths, tools::detect(&changes.workspace, &paths));
    let mut told: Vec<String> = Vec::new();
    told.extend(draft.exclude.iter().map(|(pattern, why)| format!("leaves out `{pattern}`: {why}")));
    told.extend(draft.checks.iter().map(|check| format!("{}: {}", check.name, check.reason)));
    if draft.checks.is_empty() {
        told.push("completion-signal: no file here is of a kind that a bundled verifier knows".to_owned());
    }
    if command.no_run {
        let reason =
            |tests: &Tests| format!("{}: `{}`, since {}; not tried", tests.name, tests.run.join(" "), tests.reason);
        told.extend(draft.tests.iter().map(reason));
    } else if !paths.is_empty() {
        let mut trial = TrialReport::new(global, root)?;
        trial.run(&mut draft)?;
        told.append(&mut trial.told);
    }
    let text = draft.text(None);
    let mut out = terminal::stdout();
    if command.dry_run {
        write!(out, "{text}")?;
        // Stdout is TOML.
        terminal::note_later(&text);
        return Ok(Exit::Pass);
    }
    create(&path, &text)?;
    // Without a claim there is no signal to find.
    let signal = draft.checks.is_empty();
    let try_it = if signal { "echo TASK_COMPLETE | gate run --claim -" } else { "gate run --all-files" };
    terminal::noted(&mut out, |out| {
        writeln!(out, "wrote {}", terminal::path(&path))?;
        told.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        let next = "`gate plan` shows what it means";
        writeln!(out, "next: {next}, `{try_it}` tries it, `gate install git` runs it for every commit")
    })?;
    Ok(Exit::Pass)
}

/// Writes the file, unless it exists. A symlink without a target stays, and gets one.
fn create(path: &Path, text: &str) -> Result<(), Error> {
    writer::replace(path, Expected::Absent, text.as_bytes(), writer::PLAIN).map_err(|error| not_created(path, error))
}

fn not_created(path: &Path, error: WriteError) -> Error {
    let exists = matches!(error, WriteError::Exists);
    let failed = anyhow!(error).context(format!("cannot write `{}`", path.display()));
    match exists {
        true => Error::mistake(failed).hint("`gate init --dry-run` prints what it would write".to_owned()),
        false => Error::broken(failed),
    }
}

/// Converts the hooks of another tool to a gate.toml.
fn taken_over(global: &Global, command: &InitArgs, from: &Path) -> Result<Exit, Error> {
    let read = std::fs::read_to_string(global.directory.join(from));
    let text = read.with_context(|| format!("cannot read `{}`", from.display())).map_err(Error::mistake)?;
    let imported = import::import(from, &text)?;
    let mut out = terminal::stdout();
    if command.dry_run {
        write!(out, "{}", imported.text)?;
        terminal::note_later(&imported.text);
        return Ok(Exit::Pass);
    }
    let path = global.directory.join(FILE);
    create(&path, &imported.text)?;
    terminal::noted(&mut out, |out| {
        writeln!(out, "wrote {}", terminal::path(&path))?;
        imported.taken.iter().try_for_each(|taken| writeln!(out, "  {taken}"))?;
        imported.left.iter().try_for_each(|left| writeln!(out, "  not converted: {left}"))?;
        writeln!(out, "next: `gate plan` shows what it means, `gate install git` runs it for every commit")
    })?;
    Ok(Exit::Pass)
}
