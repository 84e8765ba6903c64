//! `gate run`: arguments in, a record out.

use crate::args::{EventsTo, Global, OutputFormat, RunArgs};
use crate::error::{Error, Make as _};
use crate::progress::Progress;
use crate::terminal::say;
use crate::{Exit, plan, report as reports, setup, submission_args};
use anyhow::{Context, anyhow};
use gatehost::commands::CommandTape;
use gatehost::config;
use gatehost::environment::Environment;
use gatehost::event::{Event, EventKind, Observer};
use gatehost::record::PolicyRecord;
use gatehost::report::Format as ReportFormat;
use gatehost::session::{Checks, LedgerUse, Policy, Recording, Request, Unread};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) fn run(global: &Global, command: &RunArgs) -> Result<Exit, Error> {
    let ran = run_gate(global, command).map_err(|error| named_file(global, command, error));
    if let Err(error) = &ran {
        reports::instead(global, &command.output, error)?;
    }
    ran
}

/// Say how a file is named, where one was named as a gate.
fn named_file(global: &Global, command: &RunArgs, error: Error) -> Error {
    let named = command.gate.as_deref().filter(|name| global.directory.join(name).exists());
    match named.filter(|_| error.to_string().contains("expected the name of a gate")) {
        Some(name) => error.hint(format!("to judge this file or folder: `gate run --files {name}`")),
        None => error,
    }
}

/// Tell what has no effect here, and would elsewhere.
fn skip_variable(global: &Global) {
    if !global.quiet && std::env::var_os("SKIP").is_some_and(|value| !value.is_empty()) {
        say("note: the variable `SKIP` has no effect; `--skip CHECK` leaves a check out, and the record says so");
    }
}

fn run_gate(global: &Global, command: &RunArgs) -> Result<Exit, Error> {
    let request = request(global, command)?;
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
    let progress = Arc::clone(&watcher.progress);
    let record = setup::wait(host.run(request, watcher));
    progress.finish();
    let record = record?;
    // Where the events go, nothing else does that nobody asked for.
    let unasked = command.events == Some(EventsTo::Stdout) && command.format == ReportFormat::Human;
    reports::write(global, Some(command.format).filter(|_| !unasked), &command.output, &record)?;
    warn(global, &record.warnings);
    announce(global, &record.policy, "was");
    Ok(record.status.into())
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
    request.models = model_tape(command.record_models.as_deref(), command.replay_models.as_deref());
    request.checks = match (command.only.is_empty(), command.skip.is_empty()) {
        (true, true) => Checks::All,
        (false, _) => Checks::Only(command.only.iter().cloned().collect()),
        (true, false) => Checks::Except(command.skip.iter().cloned().collect()),
    };
    request.commands = command_tape(global, command.record_commands.as_deref(), command.replay_commands.as_deref())?;
    request.use_cache = !command.no_cache;
    request.fail_fast = command.fail_fast;
    request.ledger = if command.no_ledger { LedgerUse::Off } else { LedgerUse::StateFolder };
    Ok(request)
}

/// The policy of `--verify`.
pub(crate) fn verify(line: Option<&str>) -> Result<Policy, Error> {
    let words = config::words(line.unwrap_or_default());
    words.map(Policy::Command).context("`--verify`").map_err(Error::mistake)
}

/// What `--record-models` or `--replay-models` asks for.
pub(crate) fn model_tape(record: Option<&Path>, replay: Option<&Path>) -> Recording {
    match (record, replay) {
        (Some(path), _) => Recording::Record(path.to_owned()),
        (None, Some(path)) => Recording::Replay(path.to_owned()),
        (None, None) => Recording::Off,
    }
}

/// The tape of `--record-commands` or `--replay-commands`.
pub(crate) fn command_tape(
    global: &Global,
    record: Option<&Path>,
    replay: Option<&Path>,
) -> Result<Option<Arc<CommandTape>>, Error> {
    let seen = |path: &Path| global.directory.join(path);
    let tape = match (record, replay) {
        (Some(path), _) => CommandTape::record(&seen(path)),
        (None, Some(path)) => CommandTape::replay(&seen(path)),
        (None, None) => return Ok(None),
    };
    tape.map(|tape| Some(Arc::new(tape))).map_err(Error::mistake)
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

/// Tell what of the configuration has no effect.
pub(crate) fn warn(global: &Global, warnings: &[String]) {
    if !global.quiet {
        warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
    }
}

/// Tell where the configuration came from, if that may surprise. `verb`: it `is`, or it `was`, the one that counts.
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

/// Shows what happens, and writes it down where it was asked to.
pub(crate) struct Watcher {
    progress: Arc<Progress>,
    /// Whether a person watches.
    watched: bool,
    /// Whether log lines of verifiers are shown.
    verbose: bool,
    events: Option<Mutex<Box<dyn Write + Send>>>,
}

impl Watcher {
    /// Writes events where this says.
    pub(crate) fn of(global: &Global, events: Option<&EventsTo>) -> Result<Self, Error> {
        let events: Option<Box<dyn Write + Send>> = match events {
            None => None,
            Some(EventsTo::Stdout) => Some(Box::new(io::stdout())),
            Some(EventsTo::File(path)) => {
                let path = global.directory.join(path);
                let file = File::create(&path).with_context(|| format!("cannot write `{}`", path.display()));
                Some(Box::new(file.map_err(Error::mistake)?))
            }
        };
        Ok(Self { events: events.map(Mutex::new), ..Self::silent(global) })
    }

    /// Tells a person something, above what is shown.
    pub(crate) fn say(&self, line: &str) {
        self.progress.suspended(|| say(line));
    }

    /// Shows nothing any more, until another run begins.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// Writes nothing down.
    pub(crate) fn silent(global: &Global) -> Self {
        let watched = io::stderr().is_terminal() && !global.quiet;
        Self { progress: Arc::new(Progress::new(watched)), watched, verbose: global.verbose, events: None }
    }
}

impl Observer for Watcher {
    fn event(&self, event: &Event) {
        if let Some(events) = &self.events
            && let Ok(line) = serde_json::to_string(event)
        {
            // Where nobody reads, there is nobody to tell.
            let _ = events.lock().map(|mut events| writeln!(events, "{line}"));
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
