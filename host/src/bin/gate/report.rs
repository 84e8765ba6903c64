//! `gate report`: the record of an earlier run in another format; and how every command prints a record.

use crate::args::{Global, OutputTo, formats};
use crate::error::{Error, Make as _};
use crate::{Exit, evidence, terminal};
use anyhow::Context;
use clap::Args;
use gatehost::changes;
use gatehost::environment::Environment;
use gatehost::ledger::body::{Committed, Override};
use gatehost::ledger::{Entry, EntryKind, Filter, Ledger as _, LedgerError, history};
use gatehost::record::Record;
use gatehost::report::Format as ReportFormat;
use gatehost::report::{self, Format, Page, PageRun, Style};
use gatehost::writer::{self, WriteError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gate report last --format markdown
  gate run --format json > run.json
  gate report run.json --format sarif --output junit=junit.xml
  gate report --html > gate.html       the runs of this project, as one page")]
pub(crate) struct ReportArgs {
    /// The run: its identifier in the ledger, `last`, or a file that `gate run --format json` wrote; - for stdin
    #[arg(required_unless_present = "html")]
    pub(crate) run: Option<PathBuf>,
    /// Print one self-contained page about the runs of this project: timeline, members, findings
    #[arg(long, conflicts_with_all = ["run", "format", "output"])]
    pub(crate) html: bool,
    /// The number of runs, newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, requires = "html")]
    pub(crate) last: u32,
    /// The output format
    #[arg(long, default_value = "human", hide_default_value = true, value_parser = formats())]
    pub(crate) format: ReportFormat,
    /// Also write a report to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE")]
    pub(crate) output: Vec<OutputTo>,
}

/// The most bytes of a record that are read.
const MAX_BYTES: u64 = 256 << 20;

pub(crate) fn run(global: &Global, command: &ReportArgs) -> Result<Exit, Error> {
    let Some(run) = command.run.as_ref().filter(|_| !command.html) else { return page(global, command.last) };
    let record = match stored(global, run)? {
        Some(record) => record,
        None => report::read(&bytes(global, run)?)
            .map_err(|error| error.context(&format!("cannot read the run `{}`", run.display())))?,
    };
    write(global, Some(command.format), &command.output, &record)?;
    Ok(Exit::Pass)
}

/// Prints a page about the last runs of the project.
fn page(global: &Global, last: u32) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let runs = Filter { last: Some(last), ..Filter::of(&project).kinds(&[EntryKind::Run]) };
    let runs = ledger.entries(&runs)?;
    let besides = Filter {
        after: runs.first().map_or(0, |entry| entry.seq),
        ..Filter::of(&project).kinds(&[EntryKind::Commit, EntryKind::Override])
    };
    let (mut commits, mut overrides) = (BTreeMap::new(), BTreeMap::new());
    for entry in ledger.entries(&besides)? {
        match entry.kind {
            EntryKind::Commit => drop(commits.insert(entry.labels.run.clone(), entry.read::<Committed>()?.commit_sha)),
            _ => {
                let granted: Override = entry.read()?;
                let word = format!("{} by {}: {}", granted.word(), granted.by, granted.reason);
                overrides.insert(entry.labels.run.clone(), word);
            }
        }
    }
    let of_run = |entry: &Entry| -> Result<PageRun, LedgerError> {
        Ok(PageRun {
            record: entry.record()?,
            entry: Some(entry.seq),
            hash: entry.hash.to_string(),
            commit: commits.get(&entry.labels.run).cloned(),
            overridden: overrides.get(&entry.labels.run).cloned(),
        })
    };
    let waiting = history::waiting(&ledger, &project)?;
    let page = Page {
        title: format!("Gate runs of {}", project.root().file_name().unwrap_or_default().to_string_lossy()),
        made: gatehost::text::timestamp(std::time::SystemTime::now()),
        runs: runs.iter().rev().map(of_run).collect::<Result<_, _>>()?,
        waiting: waiting.iter().map(|waiting| waiting.escalation.why.clone()).collect(),
        head: ledger.head()?.to_string(),
    };
    let mut out = BufWriter::new(terminal::stdout());
    report::html(&mut out, &page)?;
    out.flush()?;
    Ok(Exit::Pass)
}

/// Returns the record of a run in the ledger, named as in `gate explain`; nothing if the name is that of a file.
fn stored(global: &Global, run: &Path) -> Result<Option<Record>, Error> {
    let is_file = |name: &str| name == "-" || name.contains(['/', '.']) || global.directory.join(name).exists();
    let Some(name) = run.to_str().filter(|name| !is_file(name)) else { return Ok(None) };
    let (ledger, project) = evidence::open(global)?;
    Ok(Some(evidence::find(&ledger, &project, Some(name))?.record()?))
}

fn bytes(global: &Global, path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().take(MAX_BYTES).read_to_end(&mut bytes),
        _ => File::open(global.directory.join(path)).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read the run `{}`", path.display()))
        .map_err(|error| Error::mistake(error).hint("`gate run --format json > FILE` writes such a file".to_owned()))?;
    Ok(bytes)
}

/// Writes the files that were asked for, and prints a record unless there is no format.
pub(crate) fn write(global: &Global, format: Option<Format>, files: &[OutputTo], record: &Record) -> Result<(), Error> {
    // Only this format reads files.
    let reads_files = files.iter().map(|output| output.format).chain(format).any(|format| format == Format::Rdjsonl);
    let root = reads_files.then(|| changes::root(&global.directory, &Environment::of_process()).ok().flatten());
    let root = root.flatten().unwrap_or_else(|| global.directory.clone());
    let root = root.as_path();
    for output in files {
        let path = global.directory.join(&output.path);
        let mut text = Vec::new();
        report::write(&mut text, record, output.format, Style::default(), root)?;
        let written = writer::output(&path, &text);
        let failed = || format!("cannot write the {} report to `{}`", output.format.as_str(), output.path.display());
        written.with_context(failed).map_err(Error::mistake)?;
    }
    if format == Some(Format::Github) || files.iter().any(|output| output.format == Format::Github) {
        summarize(record)?;
    }
    let mut out = terminal::stdout();
    let style =
        Style { color: terminal::color(global.color, &io::stdout()), verbose: global.verbose, quiet: global.quiet };
    if let Some(format) = format {
        report::write(&mut out, record, format, style, root)?;
    }
    Ok(out.flush()?)
}

/// Appends the report to the job summary, if GitHub Actions names a file for it.
fn summarize(record: &Record) -> Result<(), Error> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let written = File::options().create(true).append(true).open(&path).map(BufWriter::new).and_then(|mut file| {
        report::markdown(&mut file, record)?;
        file.flush()
    });
    let failed = || format!("cannot write the job summary to `{}`", Path::new(&path).display());
    written.with_context(failed).map_err(Error::mistake)
}

/// Handles the report files if there was no run: an outdated report must not stay, so formats that cannot express the error
/// are removed.
pub(crate) fn instead(global: &Global, files: &[OutputTo], why: &Error) -> Result<(), Error> {
    for output in files {
        let path = global.directory.join(&output.path);
        match output.format {
            Format::Json => {
                let mut text = Vec::new();
                report::mistake(&mut text, why)?;
                let written = writer::output(&path, &text);
                let failed = || format!("cannot write `{}`", output.path.display());
                written.with_context(failed).map_err(Error::mistake)?;
            }
            _ if path.is_file() => {
                let failed = || format!("cannot remove the outdated report `{}`", output.path.display());
                match writer::remove(&path) {
                    // Others write to it as well.
                    Err(WriteError::OpenFile) => {}
                    removed => removed.with_context(failed).map_err(Error::mistake)?,
                }
            }
            _ => {}
        }
    }
    Ok(())
}
