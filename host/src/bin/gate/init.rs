//! `gate init`: a gate.toml for the repository that this is.

use crate::args::{Global, Init};
use crate::error::{Error, Make as _};
use crate::{Exit, terminal};
use anyhow::{Context, anyhow};
use gatehost::changes::{self, Needs, Selection};
use gatehost::config::FileSet;
use gatehost::import;
use gatehost::runtime::BUNDLED;
use gatehost::settings;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

mod tests;

use tests::Tests;

const FILE: &str = "gate.toml";

pub(crate) fn run(global: &Global, command: &Init) -> Result<Exit, Error> {
    if let Some(from) = &command.from {
        return taken_over(global, command, from);
    }
    let changes = changes::collect(&global.directory, &Selection::All, Needs::default())?;
    let paths = changes.paths();
    let tests = tests::detect(&changes.workspace, &paths);
    let Composed { text, reasons, try_it } = compose(&paths, tests.as_ref());
    let mut out = std::io::stdout().lock();
    if command.dry_run {
        write!(out, "{text}")?;
        return Ok(Exit::Pass);
    }
    let path = changes.workspace.root().join(FILE);
    create(&path, &text)?;
    writeln!(out, "wrote {}", path.display())?;
    for reason in reasons {
        writeln!(out, "  {reason}")?;
    }
    writeln!(out, "next: `gate plan` shows what it means, `{try_it}` tries it")?;
    Ok(Exit::Pass)
}

/// Writes the file, unless there is one.
fn create(path: &Path, text: &str) -> Result<(), Error> {
    let mut file = File::create_new(path)
        .with_context(|| format!("cannot write `{}`", path.display()))
        .map_err(|error| Error::mistake(error).hint("`gate init --dry-run` prints what it would write".to_owned()))?;
    file.write_all(text.as_bytes())
        .map_err(|error| Error::broken(anyhow!(error).context(format!("cannot write `{}`", path.display()))))
}

/// A gate.toml of the hooks that people have.
fn taken_over(global: &Global, command: &Init, from: &Path) -> Result<Exit, Error> {
    let read = std::fs::read_to_string(global.directory.join(from));
    let text = read.with_context(|| format!("cannot read `{}`", from.display())).map_err(Error::mistake)?;
    let imported = import::import(from, &text)?;
    let mut out = std::io::stdout().lock();
    if command.dry_run {
        write!(out, "{}", imported.text)?;
        return Ok(Exit::Pass);
    }
    let path = global.directory.join(FILE);
    create(&path, &imported.text)?;
    writeln!(out, "wrote {}", terminal::path(&path))?;
    for taken in &imported.taken {
        writeln!(out, "  {taken}")?;
    }
    for left in &imported.left {
        writeln!(out, "  not converted: {left}")?;
    }
    writeln!(out, "next: `gate plan` shows what it means, `gate install git` runs it for every commit")?;
    Ok(Exit::Pass)
}

/// The file.
struct Composed {
    text: String,
    /// Why it says what it says.
    reasons: Vec<String>,
    /// The command that it can pass.
    try_it: &'static str,
}

fn compose(paths: &[&str], tests: Option<&Tests>) -> Composed {
    let mut reasons = Vec::new();
    let mut checks = String::new();
    let mut names = Vec::new();
    for bundled in BUNDLED {
        let about = bundled.description();
        let Ok(files) = FileSet::new(&about.files, &[]) else { continue };
        let matching = paths.iter().filter(|path| files.contains(path)).count();
        // What needs to be told what to look for, cannot be written for everybody.
        let needs_settings = settings::validate(&about.settings_schema, &Value::Object(Map::new())).is_err();
        // What an existing repository may not agree with in every file is for its people to add.
        let is_taste = bundled.name == "hygiene";
        if about.files.is_empty() || matching == 0 || needs_settings || is_taste {
            continue;
        }
        let verb = if matching == 1 { "matches" } else { "match" };
        let (files, patterns) = (terminal::count(matching, "file"), about.files.join(", "));
        reasons.push(format!("{}: {files} {verb} {patterns}", bundled.name));
        let _ = write!(checks, "\n# {}\n[check.{}]\nverifier = \"{}\"\n", about.summary, bundled.name, bundled.name);
        names.push(bundled.name);
    }
    if let Some(Tests { command, reason }) = tests {
        checks.push_str(command);
        reasons.push(format!("tests: {reason}"));
        names.push("tests");
    }
    let signal = names.is_empty();
    if signal {
        names.push("completion-signal");
        reasons.push("completion-signal: no bundled verifier knows the files here".to_owned());
        checks.push_str(
            "\n# The claim says that the task is complete, on a line of its own (`gate run --claim FILE`).\n",
        );
        checks.push_str("[check.completion-signal]\nverifier = \"completion-signal\"\n");
    }
    let mut text = String::from(
        "# The gate of this repository. `gate plan` shows what it means, and `gate schema gate` prints all keys.\n\n",
    );
    let _ = write!(text, "[gate.default]\nall = {names:?}\n{checks}");
    // Without a claim there would be nothing to find the signal in.
    let try_it = if signal { "echo TASK_COMPLETE | gate run --claim -" } else { "gate run --all-files" };
    Composed { text, reasons, try_it }
}
