//! `gate doctor`: tests that every installed hook blocks, and finds problems of the setup.

mod fire;
mod git;
mod hosts;
mod models;

use crate::args::Global;
use crate::error::Error;
use crate::install::{program, root};
use crate::{Exit, setup, terminal};
use anstyle::AnsiColor;
use clap::Args;
use gatehost::environment::Environment;
use gatehost::hook::AgentHost;
use gatehost::install::{self, Target};
use gatehost::ledger::{Ledger as _, SqliteLedger};
use gatehost::plan::Plan;
use gatehost::session::{Policy, Request, configured};
use gatehost::text;
use std::fs;
use std::io::Write;
use std::path::Path;

#[derive(Debug, Args)]
#[command(after_help = "\
Sends a sample that must be blocked through each installed hook, with the same command line, in a shell with an empty \
PATH. Exit code 0: everything works. Exit code 1: something does not.")]
pub(crate) struct DoctorArgs {
    /// Reinstall broken hooks
    #[arg(long)]
    pub(crate) fix: bool,
}

/// One result.
struct DoctorLine {
    /// Whether it works; `None` for information.
    works: Option<bool>,
    what: String,
    detail: String,
    /// What to do about it.
    fix: Option<String>,
    /// What `--fix` reinstalls.
    target: Option<Target>,
}

impl DoctorLine {
    fn good(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { works: Some(true), what: what.into(), detail: detail.into(), fix: None, target: None }
    }

    fn bad(what: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { works: Some(false), fix: Some(fix.into()), ..Self::good(what, detail) }
    }

    fn note(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { works: None, ..Self::good(what, detail) }
    }

    fn of(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }
}

pub(crate) fn run(global: &Global, command: &DoctorArgs) -> Result<Exit, Error> {
    let root = root(&global.directory)?;
    let mut lines = examine(global, &root)?;
    if command.fix {
        let mut broken: Vec<Target> =
            lines.iter().filter(|line| line.works == Some(false)).filter_map(|line| line.target).collect();
        broken.sort();
        broken.dedup();
        for target in &broken {
            install::install(*target, &root, &program()?, &Environment::of_process())?;
        }
        if !broken.is_empty() {
            lines = examine(global, &root)?;
        }
    }
    let mut out = terminal::stdout();
    let color = terminal::color(global.color, &std::io::stdout());
    let paint = |word: &str, colour: AnsiColor| text::paint(color, colour.on_default(), word);
    terminal::noted(&mut out, |out| {
        for line in &lines {
            let word = match line.works {
                Some(true) if global.quiet => continue,
                Some(true) => paint("ok  ", AnsiColor::Green),
                Some(false) => paint("fail", AnsiColor::Red),
                None if global.quiet => continue,
                None => paint("note", AnsiColor::Cyan),
            };
            writeln!(out, "{word}  {}: {}", line.what, line.detail.replace('\n', "\n      "))?;
            if let Some(fix) = &line.fix {
                writeln!(out, "      fix: {}", fix.replace('\n', "\n      "))?;
            }
        }
        Ok(())
    })?;
    out.flush()?;
    let broken = lines.iter().any(|line| line.works == Some(false));
    Ok(if broken { Exit::Fail } else { Exit::Pass })
}

fn examine(global: &Global, root: &Path) -> Result<Vec<DoctorLine>, Error> {
    let mut lines =
        vec![DoctorLine::note("gate", format!("{} at {}", env!("CARGO_PKG_VERSION"), program()?.display()))];
    match plan(global, root) {
        Err(error) => {
            lines.push(DoctorLine::bad("configuration", error.to_string(), "`gate plan` shows every problem"))
        }
        Ok((plan, policy)) => {
            let detail = if policy.contains("gate.toml") {
                format!("the gate `{}` of {policy}", plan.root.name)
            } else {
                format!("{policy}, since there is no gate.toml")
            };
            lines.push(DoctorLine::good("configuration", detail));
            lines.extend(models::lines(&plan));
        }
    }
    let mut installed = false;
    let hook = configured(&Request::new(root, Environment::of_process())).map(|found| found.hook).unwrap_or_default();
    for host in AgentHost::ALL {
        let found = hosts::lines(*host, root, &hook);
        installed |= found.iter().any(|line| line.target.is_some());
        lines.extend(found);
    }
    let git = git::lines(root);
    installed |= git.iter().any(|line| line.target.is_some());
    lines.extend(git);
    if !installed {
        let fix = "`gate install` finds what is used here";
        lines.push(DoctorLine::bad("hooks", "no hook is installed, so nothing stops an agent or a commit", fix));
    }
    lines.push(ledger());
    lines.push(match setup::store() {
        Ok(_) => DoctorLine::good("cache", "can be used"),
        Err(error) => DoctorLine::bad(
            "cache",
            format!("{error:#}"),
            "set `GATE_CACHE_DIR` to a folder that you own; without a cache, gates are slower",
        ),
    });
    lines.push(sandbox(global));
    Ok(lines)
}

/// Checks the configuration.
fn plan(global: &Global, root: &Path) -> Result<(Plan, String), Error> {
    let host = setup::host(global, &Environment::of_process())?;
    let planned = setup::wait(host.plan(Request::new(root, Environment::of_process()), ()))?;
    Ok((planned.plan, planned.policy.name))
}

fn ledger() -> DoctorLine {
    let fix = "set `GATE_STATE_DIR` to a folder that only you can write to";
    let Some(folder) = Environment::of_process().state_folder() else {
        return DoctorLine::bad("ledger", "there is no state folder", fix);
    };
    let verified = SqliteLedger::open_existing(&folder)
        .and_then(|ledger| ledger.map(|ledger| Ok((ledger.verify(None)?, ledger.path()))).transpose());
    match verified {
        Ok(None) => DoctorLine::note("ledger", format!("`gate run` creates one in {}", folder.display())),
        Ok(Some((damages, path))) if damages.is_empty() => DoctorLine::good("ledger", path.display().to_string()),
        Ok(Some((damages, path))) => {
            let detail = format!("{} is damaged in {}", path.display(), terminal::count(damages.len(), "place"));
            DoctorLine::bad(
                "ledger",
                detail,
                "`gate log --verify` names them; keep the ledger as evidence, and move it away",
            )
        }
        Err(error) => DoctorLine::bad("ledger", error.to_string(), fix),
    }
}

/// Runs a command that does nothing, to find the sandbox level.
fn sandbox(global: &Global) -> DoctorLine {
    const GATE: &str = "[gate.g]\nall = [\"c\"]\n[check.c]\nverifier = \"command\"\ngrants = [\"command:c\"]\n\
                        [command.c]\nrun = [\"true\"]\n";
    let level = || -> Option<String> {
        let temporary = tempfile::tempdir().ok()?;
        fs::write(temporary.path().join("gate.toml"), GATE).ok()?;
        let mut request = Request::new(temporary.path(), Environment::of_process());
        request.policy = Policy::File("gate.toml".into());
        let host = setup::host(global, &request.environment).ok()?;
        let record = setup::wait(host.run(request, ())).ok()?;
        record.checks().flat_map(|check| &check.commands).next().map(|command| command.sandbox.to_string())
    };
    match level().as_deref() {
        Some("namespaces") => DoctorLine::good("commands", "run in a sandbox of level `namespaces`"),
        Some("none") => DoctorLine::bad(
            "commands",
            "run without a sandbox",
            "allow unprivileged user namespaces, or use a kernel with Landlock",
        ),
        Some(other) => DoctorLine::note("commands", format!("run in a sandbox of level `{other}` only")),
        None => DoctorLine::bad(
            "commands",
            "cannot run in a sandbox on this machine",
            "run a gate with a command and `-v` to see why",
        ),
    }
}
