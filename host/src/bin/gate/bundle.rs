//! `gate bundle` and `gate replay`: write a run to one file, and repeat it.

use crate::args::{Global, OutputFormat};
use crate::error::{Error, Make as _};
use crate::{Exit, evidence, setup, terminal};
use anyhow::Context;
use clap::Args;
use gatehost::bundle::{self, Replayed};
use gatehost::environment::Environment;
use gatehost::record::Record;
use gatehost::text::{clean_line, json_line, write_json};
use gatehost::writer::{self, Expected, WriteError};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The most bytes of a bundle that are read.
const MAX_BYTES: u64 = 1 << 30;
/// The most differences that are shown.
const MOST: usize = 20;

#[derive(Debug, Args)]
#[command(after_help = "\
A bundle contains the policy, the checked files, the answers of commands and models, and the ledger entry. The files are \
taken from the working tree or from a commit, and only if they have the recorded digests. A bundle contains everything that \
was under review, so share it with care.

Examples:
  gate bundle > run.bundle            the last run of this project
  gate bundle 01hx --output run.bundle")]
pub(crate) struct BundleArgs {
    /// The run: its identifier or a prefix of it, or `#` and the number of its entry [default: the last run]
    run: Option<String>,
    /// Write to this new file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The gate of the bundle runs again on its files. No command runs and no model is asked: their answers are in the bundle. Exit \
code 0: the record is the same. Exit code 1: it differs.

Example:
  gate replay run.bundle")]
pub(crate) struct ReplayArgs {
    /// The bundle; - for stdin
    bundle: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

pub(crate) fn bundle(global: &Global, command: &BundleArgs) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let entry = evidence::find(&ledger, &project, command.run.as_deref())?;
    let bundle = bundle::make(&ledger, &entry, &global.directory, &Environment::of_process())?;
    not_stored(global, &entry.record()?);
    let write = |out: &mut dyn Write| -> io::Result<()> {
        out.write_all(json_line(&bundle)?.as_bytes())?;
        writeln!(out)?;
        out.flush()
    };
    match &command.output {
        None => write(&mut BufWriter::new(io::stdout().lock()))?,
        Some(file) => {
            let path = global.directory.join(file);
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            let written = match writer::open_file(&path) {
                Ok(Some(mut open)) => open.write_all(&bytes).and_then(|()| open.flush()).map_err(WriteError::from),
                Ok(None) => writer::replace(&path, Expected::Absent, &bytes, 0o600),
                Err(error) => Err(error.into()),
            };
            written.with_context(|| format!("cannot write `{}`", file.display())).map_err(Error::mistake)?;
        }
    }
    Ok(Exit::Pass)
}

pub(crate) fn replay(global: &Global, command: &ReplayArgs) -> Result<Exit, Error> {
    let unreadable = || format!("cannot read the bundle `{}`", command.bundle.display());
    let source: Box<dyn Read> = match command.bundle.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(open(&global.directory.join(&command.bundle)).with_context(unreadable).map_err(Error::mistake)?),
    };
    let bundle: bundle::Bundle = serde_json::from_reader(BufReader::new(source.take(MAX_BYTES)))
        .with_context(unreadable)
        .map_err(|error| Error::mistake(error).hint("`gate bundle` writes a bundle".to_owned()))?;
    let host = setup::host(global, &Environment::of_process())?;
    let replayed = setup::wait(bundle::replay(&host, &bundle, &Environment::of_process()))?;
    print(&replayed, command.format)?;
    Ok(if replayed.differences.is_empty() { Exit::Pass } else { Exit::Fail })
}

/// Tells what a run did not store, so that it cannot be replayed.
pub(crate) fn not_stored(global: &Global, record: &Record) {
    for cut in record.not_stored.iter().filter(|_| !global.quiet) {
        terminal::say(format_args!("warning: {cut} were not stored: the run cannot be replayed"));
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

fn print(replayed: &Replayed, format: OutputFormat) -> io::Result<()> {
    let Replayed { recorded, record, differences } = replayed;
    let mut out = terminal::stdout();
    let same = differences.is_empty();
    if format == OutputFormat::Json {
        let (run, status) = (&recorded.run, recorded.status);
        let told = json!({
            "version": 1, "same": same, "run": run, "status": status, "replayed": record.status,
            "differences": differences, "record": record,
        });
        return write_json(&mut out, &told);
    }
    // Anybody may have written the bundle.
    let (run, version) = (clean_line(&recorded.run, 100), clean_line(&recorded.host.version, 100));
    let (was, is) = (recorded.status, record.status);
    terminal::noted(&mut out, |out| {
        if same {
            writeln!(out, "same: the replay of run {run} gives the same record ({was})")?;
        } else {
            writeln!(out, "differs: run {run} ended with `{was}`, the replay with `{is}`")?;
        }
        for difference in differences.iter().take(MOST) {
            let shown = |value: &serde_json::Value| clean_line(&value.to_string(), 120);
            let (one, two) = (shown(&difference.recorded), shown(&difference.replayed));
            writeln!(out, "  {}: {one}, now {two}", clean_line(&difference.at, 200))?;
        }
        if differences.len() > MOST {
            writeln!(out, "  … and {} more", differences.len() - MOST)?;
        }
        if recorded.host.build != record.host.build {
            writeln!(out, "note: another build of `gate` recorded the run ({version})")?;
        }
        Ok(())
    })
}
