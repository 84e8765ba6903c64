//! `gate run`: from files or a submission to a verdict.

use crate::args::{Format, Global, Run, RunFormat};
use crate::complaint::Complaint;
use crate::prepare::{self, Prepared};
use crate::progress::Progress;
use crate::terminal::say;
use crate::{Exit, configuration, plan, said, terminal};
use gatehost::changes::{self, Changes, Needs, Selection};
use gatehost::feedback::feedback;
use gatehost::gate::{self, Circumstances};
use gatehost::judge::{Bench, Logged, Services};
use gatehost::models::{BadTape, Tape};
use gatehost::plan::Shape;
use gatehost::report::{self, Report, Style};
use gatehost::vault::Vault;
use gatehost::verdict::{ErrorKind, Failure, Status};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn run(global: &Global, command: &Run) -> Result<Exit, Complaint> {
    let start = Instant::now();
    let configured = match command.verifier.as_slice() {
        [] => configuration::find(global, command.config.as_deref())?,
        _ => configuration::ad_hoc(global, command)?,
    };
    // What was said is read before anything runs.
    let said = said::submission(global, command)?;
    let prepared = prepare::plan(global, &configured, command.gate.as_deref())?;
    if command.dry_run {
        let format = if command.format == RunFormat::Json { Format::Json } else { Format::Human };
        plan::show(&prepared.plan, format)?;
        configured.announce(global, "is");
        return Ok(Exit::Pass);
    }
    let tape = tape(global, command)?;
    let needs = Needs {
        hunks: prepared.plan.checks().any(|check| check.shape == Shape::Submission),
        unchanged: prepared.plan.checks().any(|check| !check.grants.is_empty()),
    };
    let selection = said::selection(command).1;
    let store = prepared.runtime.vault().filter(|_| !command.no_cache).cloned();
    let changes = changes::collect_with(&global.directory, &selection, needs, store.as_ref())?;
    let subject = said::subject(&changes, said);
    let files = subject.paths.len();
    let mut circumstances = Circumstances::of(&subject.submission);
    circumstances.fail_fast = command.fail_fast;

    let Prepared { plan, runtime, verifiers, tokio } = prepared;
    let progress = Progress::new(&plan, io::stderr().is_terminal() && !global.quiet);
    let observe = |event: gate::Event<'_>| progress.observe(event);
    let replayed = tape.as_ref().is_some_and(Tape::is_replayed);
    let services = Services::new(&plan, &subject, tape, configured.path.clone());
    let added = || added(&global.directory, &selection, &changes, store.as_ref());
    let mut bench = Bench::new(runtime, &verifiers, subject, services, &observe).forgetful(command.no_cache);
    if !plan.commands.is_empty() && selection.is_live() {
        bench = bench.looking_again(&added);
    }
    let mut gate = tokio.block_on(gate::run(&plan, &circumstances, &bench));
    progress.finish();
    if global.verbose {
        print_log(&bench.into_log());
    } else {
        gate.hide_reuse();
    }
    // What still runs, runs for nobody.
    tokio.shutdown_timeout(Duration::ZERO);

    let digest = plan.digest();
    let base = changes.base.as_deref();
    let report = Report { gate: &gate, plan: Some(&digest), base, files, replayed, duration: start.elapsed() };
    let mut out = io::stdout().lock();
    match command.format {
        RunFormat::Json => report::json(&mut out, &report)?,
        RunFormat::Feedback if report.status() == Status::Pass => {}
        RunFormat::Feedback => write!(out, "{}", feedback(&gate))?,
        RunFormat::Human => {
            let color = terminal::color(global.color, &out);
            report::human(&mut out, &report, Style { color, verbose: global.verbose, quiet: global.quiet })?;
        }
    }
    out.flush()?;
    configured.announce(global, "was");
    Ok(match report.status() {
        Status::Pass => Exit::Pass,
        Status::Fail => Exit::Fail,
        Status::Abstain | Status::Error => Exit::NoVerdict,
    })
}

/// The files that there are to judge now and were not before.
fn added(
    folder: &Path,
    selection: &Selection,
    before: &Changes,
    store: Option<&Arc<Vault>>,
) -> Result<Vec<String>, Failure> {
    let now = changes::collect_with(folder, selection, Needs::default(), store).map_err(|error| {
        Failure::new(ErrorKind::FsUnreadable, format!("cannot see what changed meanwhile: {error}"))
    })?;
    let before: BTreeSet<&str> = before.paths().into_iter().collect();
    Ok(now.paths().into_iter().filter(|path| !before.contains(path)).map(str::to_owned).collect())
}

/// What models are recorded on, or answer from.
fn tape(global: &Global, command: &Run) -> Result<Option<Tape>, Complaint> {
    let seen = |path| terminal::seen(&global.directory, path);
    let tape = match (&command.record_models, &command.replay_models) {
        (Some(path), _) => Some(Tape::record(&seen(path))),
        (None, Some(path)) => Some(Tape::replay(&seen(path))),
        (None, None) => None,
    };
    tape.transpose().map_err(|error| {
        let hint = match &error {
            BadTape::Exists(_) => Some("delete it, or choose another name".to_owned()),
            BadTape::Invalid { .. } => Some("record it anew with `--record-models`".to_owned()),
            _ => None,
        };
        Complaint::mistake(error).hint(hint)
    })
}

fn print_log(log: &[Logged]) {
    for Logged { check, lines, dropped } in log {
        for line in lines {
            say(format_args!("{check}: {}: {}", line.severity, line.message));
        }
        if *dropped > 0 {
            say(format_args!("{check}: {dropped} more lines were dropped"));
        }
    }
}
