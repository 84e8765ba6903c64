//! `gate install` and `gate uninstall`.

use crate::Exit;
use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::terminal::{self, say};
use anyhow::{Context, anyhow};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatehost::changes;
use gatehost::environment::Environment;
use gatehost::install::{self, InstallStep, Target};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "\
Existing configuration is kept: settings are edited in place, and an existing git hook still runs first. Installing twice \
changes nothing. Without a target, `gate` detects what this folder uses and asks.

Examples:
  gate install claude git
  gate doctor")]
pub(crate) struct InstallArgs {
    /// The targets
    #[arg(value_parser = targets())]
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// The targets [default: all]
    #[arg(value_parser = targets())]
    pub(crate) targets: Vec<Target>,
}

/// Returns the names of the places where a gate can be installed.
fn targets() -> impl TypedValueParser<Value = Target> {
    let parser = PossibleValuesParser::new(Target::ALL.iter().map(|target| target.as_str()));
    parser.map(|name| Target::named(&name).unwrap_or(Target::Git))
}

pub(crate) fn install(global: &Global, command: &InstallArgs) -> Result<Exit, Error> {
    let root = root(&global.directory)?;
    let targets = if command.targets.is_empty() { choose_targets(&root)? } else { command.targets.clone() };
    let gate = program()?;
    for target in &targets {
        show(global, &root, *target, install::install(*target, &root, &gate, &Environment::of_process())?);
    }
    if !targets.is_empty() && !global.quiet {
        if root.join("gate.toml").symlink_metadata().is_err() {
            say(
                "note: there is no gate.toml yet, so the default gate runs; `gate init` writes one for this repository",
            );
        }
        say("`gate doctor` tests that each installed hook blocks");
    }
    Ok(Exit::Pass)
}

pub(crate) fn uninstall(global: &Global, command: &UninstallArgs) -> Result<Exit, Error> {
    let root = root(&global.directory)?;
    let all = command.targets.is_empty();
    let targets = if all { Target::ALL } else { &command.targets };
    for target in targets {
        // Outside of a repository there are no git hooks to remove.
        if all && *target == Target::Git && !target.is_used(&root) {
            continue;
        }
        show(global, &root, *target, install::uninstall(*target, &root, &Environment::of_process())?);
    }
    Ok(Exit::Pass)
}

/// Returns the root of the repository, or the folder.
pub(crate) fn root(directory: &Path) -> Result<PathBuf, Error> {
    let real = directory.canonicalize().with_context(|| format!("cannot open the folder `{}`", directory.display()));
    let real = real.map_err(Error::mistake)?;
    Ok(changes::repository(&real, &Environment::of_process()).map_err(Error::from)?.unwrap_or(real))
}

/// Returns the absolute path of this program as it was called, so that a symlink to the current version stays one.
pub(crate) fn program() -> Result<PathBuf, Error> {
    std::env::current_exe().context("cannot find the path of `gate`").map_err(Error::broken)
}

/// Finds what is used here, and asks.
fn choose_targets(root: &Path) -> Result<Vec<Target>, Error> {
    let used: Vec<Target> =
        Target::ALL.iter().copied().filter(|target| target.is_used(root) || is_in_path(*target)).collect();
    let names: Vec<&str> = used.iter().map(|target| target.as_str()).collect();
    if used.is_empty() {
        let every: Vec<&str> = Target::ALL.iter().map(|target| target.as_str()).collect();
        let none = anyhow!("found nothing here to install `gate` into");
        return Err(Error::mistake(none).hint(format!("name it: {}", every.join(", "))));
    }
    if !io::stdin().is_terminal() {
        let nobody = anyhow!("not a terminal, so `gate` cannot ask; found here: {}", names.join(", "));
        return Err(Error::mistake(nobody).hint(format!("name what you want: `gate install {}`", names.join(" "))));
    }
    let mut chosen = Vec::new();
    for target in used {
        let _ = write!(io::stderr(), "install into {}? [y/N] ", target.as_str());
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map_err(Error::broken)?;
        if matches!(line.trim(), "y" | "Y" | "yes") {
            chosen.push(target);
        }
    }
    Ok(chosen)
}

/// Returns whether the program of a coding agent can be started here.
fn is_in_path(target: Target) -> bool {
    let Target::Host(host) = target else { return false };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(install::client(host).0).is_file())
}

fn show(global: &Global, root: &Path, target: Target, changes: Vec<InstallStep>) {
    if global.quiet {
        return;
    }
    let inside = |path: &Path| terminal::path(path.strip_prefix(root).unwrap_or(path));
    for change in changes {
        say(match change {
            InstallStep::Written(path) => format!("{}: wrote {}", target.as_str(), inside(&path)),
            InstallStep::Kept(path) => format!("{}: {} is up to date", target.as_str(), inside(&path)),
            InstallStep::Removed(path) => format!("{}: removed {}", target.as_str(), inside(&path)),
            InstallStep::Note(note) => format!("{}: note: {note}", target.as_str()),
        });
    }
}
