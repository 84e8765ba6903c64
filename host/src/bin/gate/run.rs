//! `gate run`: arguments in, a record out.

use crate::args::{EventsTo, Global, OutputFormat, OutputTo, formats, tier};
use crate::error::{Error, Make as _};
use crate::progress::Progress;
use crate::recording::RecordingArgs;
use crate::terminal::say;
use crate::{Exit, bundle, plan, report as reports, setup, submission_args};
use anyhow::{Context, anyhow, bail};
use clap::Args;
use gatehost::config;
use gatehost::config::Grant;
use gatehost::environment::Environment;
use gatehost::event::{Event, EventKind, Observer};
use gatehost::record::PolicyRecord;
use gatehost::report::Format as ReportFormat;
use gatehost::session::{Checks, LedgerUse, Policy, Request, Unread};
use gatehost::text::json_line;
use gatehost::writer;
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, Args)]
#[command(after_help = "\
Without a gate.toml, the default gate runs: every bundled syntax verifier. By default, `gate` checks all differences from \
the last commit, untracked files included. Outside a repository it checks every file of the folder, ignored or not. Files \
that a submission names are checked in addition; outside a repository, they replace the default. A submission that names \
files cannot be combined with a flag that chooses files.

Examples:
  gate run                                   the changes since the last commit
  gate run commit --staged                   the gate `commit`, on staged files
  gate run --from-ref main --to-ref HEAD     the commits of a branch
  gate run --since main                      a branch, with uncommitted changes
  gate run --all-files --format json         everything, as one JSON document
  gate run --submission done.json            a task, a claim and tool calls
  gate run --verifier ./mine.wasm --files a  one verifier, without a gate.toml")]
pub(crate) struct RunArgs {
    /// The gate to run [default: the only one, the one named `default`, or the only one that no other gate uses]
    pub(crate) gate: Option<String>,
    /// Use this configuration file instead of the nearest gate.toml
    #[arg(short, long, value_name = "FILE", conflicts_with = "verifier")]
    pub(crate) config: Option<PathBuf>,
    /// Use the configuration of this commit; a change that touches the policy needs human review
    #[arg(long, value_name = "REF", conflicts_with_all = ["config", "verifier"])]
    pub(crate) policy_from: Option<String>,
    /// Check these files or folders; in a repository, ignored files of a folder are left out
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["all_files", "staged", "since", "from_ref"])]
    pub(crate) files: Vec<PathBuf>,
    /// Check every file that git does not ignore
    #[arg(long, conflicts_with_all = ["staged", "since", "from_ref"])]
    pub(crate) all_files: bool,
    /// Check the staged content (the index)
    #[arg(long, conflicts_with_all = ["since", "from_ref"])]
    pub(crate) staged: bool,
    /// Check all changes since this commit: later commits, staged, unstaged and untracked files; if the commit is not
    /// an ancestor of HEAD, the merge base is used
    #[arg(long, value_name = "REF", conflicts_with = "from_ref")]
    pub(crate) since: Option<String>,
    /// Check the changes since the merge base with `--to-ref`
    #[arg(long, value_name = "REF")]
    pub(crate) from_ref: Option<String>,
    /// The commit whose files are checked [default: HEAD]
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "from_ref", hide_default_value = true)]
    pub(crate) to_ref: String,
    /// Read the submission (task, claim, changes) from a JSON or YAML file; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["claim", "task", "tier"])]
    pub(crate) submission: Option<PathBuf>,
    /// The task: an id of the plan that gate.toml names, a file that contains a task, or a description
    #[arg(long, value_name = "ID|FILE|TEXT")]
    pub(crate) task: Option<String>,
    /// Read the claim of the executor, its summary of the work, from a file; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) claim: Option<PathBuf>,
    /// Read the transcript of a separate evaluator from a file; - for stdin. Formats: `claude -p --output-format
    /// stream-json`, `codex exec --json`
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluator: Option<PathBuf>,
    /// Run checks up to this tier only
    #[arg(long, value_name = "N", value_parser = tier)]
    pub(crate) tier: Option<u32>,
    /// Run only these checks; the record notes the exclusion
    #[arg(long, value_name = "CHECK", num_args = 1.., conflicts_with = "skip")]
    pub(crate) only: Vec<String>,
    /// Exclude these checks; the record notes the exclusion
    #[arg(long, value_name = "CHECK", num_args = 1..)]
    pub(crate) skip: Vec<String>,
    /// Stop at the first check that fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Ignore cached results
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Do not record the run in the ledger
    #[arg(long)]
    pub(crate) no_ledger: bool,
    /// Show the plan, as `gate plan` does, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run this verifier instead of a gate: a bundled name, or the path of a component; `@sha256:HEX` pins it
    #[arg(long, value_name = "VERIFIER", conflicts_with = "gate")]
    pub(crate) verifier: Vec<String>,
    /// Run this command instead of a gate; exit code 0 passes. The command is split into words without a shell
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["gate", "config", "verifier"])]
    pub(crate) verify: Option<String>,
    /// Settings for the verifier, as a JSON object
    #[arg(long, value_name = "JSON", requires = "verifier")]
    pub(crate) settings: Option<String>,
    /// Grant the verifiers a capability: `workspace`
    #[arg(long, value_name = "GRANT", requires = "verifier")]
    pub(crate) grant: Vec<Grant>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// Write events while the gate runs to this file, one JSON document per line, and replace earlier events; - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// The report format
    #[arg(long, default_value = "human", hide_default_value = true, value_parser = formats())]
    pub(crate) format: ReportFormat,
    /// Also write a report to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE")]
    pub(crate) output: Vec<OutputTo>,
}

pub(crate) fn run(global: &Global, command: &RunArgs) -> Result<Exit, Error> {
    let ran = run_gate(global, command).map_err(|error| named_file(global, command, error));
    if let Err(error) = &ran {
        reports::instead(global, &command.output, error)?;
    }
    ran
}

/// Returns a hint if the name of a gate is a file.
fn named_file(global: &Global, command: &RunArgs, error: Error) -> Error {
    let named = command.gate.as_deref().filter(|name| global.directory.join(name).exists());
    match named.filter(|_| error.to_string().contains("expected the name of a gate")) {
        Some(name) => error.hint(format!("to check this file or folder: `gate run --files {name}`")),
        None => error,
    }
}

/// Warns about a variable that has no effect here.
fn skip_variable(global: &Global) {
    if !global.quiet && std::env::var_os("SKIP").is_some_and(|value| !value.is_empty()) {
        say("note: the variable `SKIP` has no effect; `--skip CHECK` leaves a check out, and the record says so");
    }
}

fn run_gate(global: &Global, command: &RunArgs) -> Result<Exit, Error> {
    let start = Instant::now();
    let request = request(global, command)?.begun(start);
    skip_variable(global);
    let host = setup::host(global, &request.environment)?;
    if command.dry_run {
        let planned = setup::wait(host.plan(request, Watcher::silent(global)))?;
        let format = if command.format == ReportFormat::Json { OutputFormat::Json } else { OutputFormat::Human };
        plan::show(&planned.plan, format, global.verbose)?;
        warn(global, &planned.warnings);
        announce(global, &planned.policy, "is");
        return Ok(Exit::Pass);
    }
    let watcher = Watcher::of(global, command.events.as_ref())?;
    let (progress, events) = (Arc::clone(&watcher.progress), watcher.events.clone());
    let record = setup::wait(host.run(request, watcher));
    progress.finish();
    let record = record?;
    events.map_or(Ok(()), |events| events.written())?;
    // If events go to stdout, nothing else does.
    let unasked = command.events == Some(EventsTo::Stdout) && command.format == ReportFormat::Human;
    reports::write(global, Some(command.format).filter(|_| !unasked), &command.output, &record)?;
    warn(global, &record.warnings);
    bundle::not_stored(global, &record);
    announce(global, &record.policy, "was");
    let exit = record.status.into();
    // The process ends now, which frees them faster.
    std::mem::forget((record, host));
    Ok(exit)
}

fn request(global: &Global, command: &RunArgs) -> Result<Request, Error> {
    let mut request = Request::new(&global.directory, Environment::of_process());
    request.policy = match (command.verifier.as_slice(), &command.config, &command.policy_from) {
        ([], None, None) if command.verify.is_some() => verify(command.verify.as_deref())?,
        ([], None, None) => Policy::Nearest,
        ([], None, Some(commit)) => Policy::Commit(commit.clone()),
        ([], Some(path), _) => Policy::File(path.clone()),
        (verifiers, ..) => Policy::Verifiers {
            verifiers: verifiers.to_vec(),
            settings: settings(command.settings.as_deref())?,
            grants: command.grant.clone(),
        },
    };
    request.gate.clone_from(&command.gate);
    request.selection = submission_args::selection(command).1;
    request.submission = submission_args::submission(global, command, &request)?;
    if command.claim.is_some() {
        request.unread = Unread::RefuseClaim;
    }
    request.models = command.recording.models();
    request.checks = match (command.only.is_empty(), command.skip.is_empty()) {
        (true, true) => Checks::All,
        (false, _) => Checks::Only(command.only.iter().cloned().collect()),
        (true, false) => Checks::Except(command.skip.iter().cloned().collect()),
    };
    request.commands = command.recording.commands(global)?;
    request.use_cache = !command.no_cache;
    request.fail_fast = command.fail_fast;
    request.ledger = if command.no_ledger { LedgerUse::Unrecorded } else { LedgerUse::StateFolder };
    Ok(request)
}

/// Returns the policy of `--verify`.
pub(crate) fn verify(line: Option<&str>) -> Result<Policy, Error> {
    let words = config::words(line.unwrap_or_default());
    words.map(Policy::Command).context("`--verify`").map_err(Error::mistake)
}

fn settings(text: Option<&str>) -> Result<serde_json::Value, Error> {
    let Some(text) = text else { return Ok(serde_json::json!({})) };
    let settings: serde_json::Value =
        serde_json::from_str(text).context("expected `--settings` to be a JSON object").map_err(Error::mistake)?;
    if !settings.is_object() {
        return Err(Error::mistake(anyhow!("expected `--settings` to be a JSON object, found `{settings}`")));
    }
    Ok(settings)
}

/// Prints warnings about settings that have no effect.
pub(crate) fn warn(global: &Global, warnings: &[String]) {
    if !global.quiet {
        warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
    }
}

/// Prints where the configuration came from, if that may be surprising. `verb` is `is` or `was`.
pub(crate) fn announce(global: &Global, policy: &PolicyRecord, verb: &str) {
    let name = &policy.name;
    match policy.source.as_str() {
        _ if global.quiet => {}
        "base" => say(format_args!("note: using the policy of the base commit: {name}")),
        "above" => say(format_args!("note: using `{name}`")),
        "default" => say(format_args!(
            "note: there is no gate.toml, so this {verb} the default gate; `gate init` writes one to start from"
        )),
        _ => {}
    }
}

/// Shows events, and writes them if requested.
pub(crate) struct Watcher {
    progress: Arc<Progress>,
    /// Whether progress is shown.
    watched: bool,
    /// Whether log lines of verifiers are shown.
    verbose: bool,
    events: Option<Arc<EventsWriter>>,
}

/// Writes events, one JSON document per line.
pub(crate) struct EventsWriter(Mutex<(Box<dyn Write + Send>, io::Result<()>)>);

impl EventsWriter {
    fn write(&self, event: &Event) {
        let (out, written) = &mut *self.0.lock();
        if written.is_ok() {
            let line = json_line(event);
            *written = line.and_then(|line| writeln!(out, "{line}"));
        }
    }

    /// Returns whether all events were written. Whoever asked for them must not take a part for the whole.
    pub(crate) fn written(&self) -> Result<(), Error> {
        let (_, written) = &mut *self.0.lock();
        Ok(std::mem::replace(written, Ok(()))?)
    }
}

/// Opens a file for events, and empties it. A stream cannot replace a file as a whole, so a file of something else is refused.
fn events_file(path: &Path) -> anyhow::Result<Box<dyn Write + Send>> {
    if let Some(open) = writer::open_file(path)? {
        return Ok(open);
    }
    let is_replaced = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0);
    if is_replaced && !starts_with_event(path)? {
        bail!("it exists and has no events");
    }
    Ok(Box::new(File::create(path)?))
}

fn starts_with_event(path: &Path) -> io::Result<bool> {
    const MAX_LINE: u64 = 1 << 20;
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(MAX_LINE)).read_until(b'\n', &mut line)?;
    let event = serde_json::from_slice::<serde_json::Value>(&line).unwrap_or_default();
    Ok(event["run"].is_string() && event["event"].is_string())
}

impl Watcher {
    /// Returns a watcher that writes events to this target.
    pub(crate) fn of(global: &Global, events: Option<&EventsTo>) -> Result<Self, Error> {
        let events: Option<Box<dyn Write + Send>> = match events {
            None => None,
            Some(EventsTo::Stdout) => Some(Box::new(io::stdout())),
            Some(EventsTo::File(path)) => {
                let path = global.directory.join(path);
                let file = events_file(&path).with_context(|| format!("cannot write `{}`", path.display()));
                Some(file.map_err(Error::mistake)?)
            }
        };
        let events = events.map(|out| Arc::new(EventsWriter(Mutex::new((out, Ok(()))))));
        Ok(Self { events, ..Self::silent(global) })
    }

    /// Prints a line above the progress.
    pub(crate) fn say(&self, line: &str) {
        self.progress.suspended(|| say(line));
    }

    /// Returns whether all events were written.
    pub(crate) fn written(&self) -> Result<(), Error> {
        self.events.as_ref().map_or(Ok(()), |events| events.written())
    }

    /// Hides the progress until another run starts.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// Returns a watcher that writes no events.
    pub(crate) fn silent(global: &Global) -> Self {
        let watched = io::stderr().is_terminal() && !global.quiet;
        Self { progress: Arc::new(Progress::new(watched)), watched, verbose: global.verbose, events: None }
    }
}

impl Observer for Watcher {
    fn event(&self, event: &Event) {
        if let Some(events) = &self.events {
            events.write(event);
        }
        match &event.what {
            EventKind::Compiling { verifier, bytes } if self.watched => {
                let size = bytes / 1024;
                say(format_args!(
                    "compiling {verifier} ({size} KiB); the result is cached, and `gate compile` does it ahead of time"
                ));
            }
            EventKind::Logged { check, severity, message } if self.verbose => {
                self.progress.finish();
                say(format_args!("{check}: {severity}: {message}"));
            }
            what => self.progress.observe(what),
        }
    }
}
