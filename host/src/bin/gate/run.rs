//! `gate run`: from files or a submission to a verdict.

use crate::args::{Format, Global, Run, RunFormat};
use crate::complaint::Complaint;
use crate::prepare::{self, Prepared};
use crate::progress::Progress;
use crate::{Exit, plan, terminal};
use anyhow::{Context, anyhow};
use gatehost::changes::{self, Changes, Selection};
use gatehost::feedback::feedback;
use gatehost::gate::{self, Circumstances};
use gatehost::input;
use gatehost::judge::{Bench, Logged, Services, Subject};
use gatehost::models::{BadTape, Tape};
use gatehost::plan::Shape;
use gatehost::report::{self, Report, Style};
use gatehost::submission::{Claim, Submission, Task};
use gatehost::verdict::Status;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn run(global: &Global, command: &Run) -> Result<Exit, Complaint> {
    let start = Instant::now();
    let configured = match command.verifier.as_slice() {
        [] => prepare::configuration(global)?,
        _ => prepare::ad_hoc(global, command)?,
    };
    // What was said is read before anything runs.
    let mut said = said(command)?;
    if let Some(path) = &command.evaluator {
        if said.evaluator.is_some() {
            let twice = anyhow!("the submission has an `evaluator` already, and `--evaluator` names another");
            return Err(Complaint::mistake(twice));
        }
        let evaluator = input::transcript(&read(path, "transcript")?);
        let evaluator = evaluator.with_context(|| format!("`{}` is not an evaluator's transcript", path.display()));
        said.evaluator = Some(evaluator.map_err(Complaint::mistake)?);
    }
    let prepared = prepare::plan(&configured, command.gate.as_deref())?;
    if command.dry_run {
        let format = if command.format == RunFormat::Json { Format::Json } else { Format::Human };
        plan::show(&prepared.plan, format)?;
        return Ok(Exit::Pass);
    }
    let tape = tape(command)?;
    let hunks = prepared.plan.checks().any(|check| check.shape == Shape::Submission);
    let changes = changes::collect(&global.directory, &selection(command), hunks)?;
    let subject = subject(&changes, said);
    let files = subject.paths.len();
    let mut circumstances = Circumstances::of(&subject.submission);
    circumstances.fail_fast = command.fail_fast;

    let Prepared { plan, runtime, verifiers, tokio } = prepared;
    let progress = Progress::new(&plan, io::stderr().is_terminal() && !global.quiet);
    let observe = |event: gate::Event<'_>| progress.observe(event);
    let replayed = tape.as_ref().is_some_and(Tape::is_replayed);
    let services = Services::new(&plan, &subject, tape, configured.path.clone());
    let bench = Bench::new(runtime, &verifiers, subject, services, &observe).forgetful(command.no_cache);
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
    if configured.is_default && !global.quiet {
        eprintln!("note: there is no gate.toml, so this was the default gate; `gate init` writes one to start from");
    }
    Ok(match report.status() {
        Status::Pass => Exit::Pass,
        Status::Fail => Exit::Fail,
        Status::Abstain | Status::Error => Exit::NoVerdict,
    })
}

fn selection(command: &Run) -> Selection {
    if !command.files.is_empty() {
        Selection::Files(command.files.clone())
    } else if command.all_files {
        Selection::All
    } else if command.staged {
        Selection::Staged
    } else if let Some(from) = &command.from_ref {
        Selection::Between { from: from.clone(), to: command.to_ref.clone() }
    } else {
        Selection::Changed
    }
}

/// What models are recorded on, or answer from.
fn tape(command: &Run) -> Result<Option<Tape>, Complaint> {
    let tape = match (&command.record_models, &command.replay_models) {
        (Some(path), _) => Some(Tape::record(path)),
        (None, Some(path)) => Some(Tape::replay(path)),
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

/// The submission as far as it was said, in a document or in flags.
fn said(command: &Run) -> Result<Submission, Complaint> {
    if let Some(path) = &command.submission {
        let bytes = read(path, "submission")?;
        let name = path.display();
        return input::parse(&bytes).with_context(|| format!("`{name}` is not a submission")).map_err(|error| {
            Complaint::mistake(error).hint("`gate schema submission` shows what one looks like".to_owned())
        });
    }
    let claim = match &command.claim {
        None => None,
        Some(path) => Some(Claim {
            text: String::from_utf8(read(path, "claim")?)
                .map_err(|_| Complaint::mistake(anyhow!("the claim `{}` is not UTF-8", path.display())))?,
            report: None,
        }),
    };
    let task = (command.task.is_some() || command.tier.is_some()).then(|| Task {
        description: command.task.clone().unwrap_or_default(),
        tier: command.tier,
        ..Task::default()
    });
    Ok(Submission { task, claim, ..Submission::default() })
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>, Complaint> {
    let mut bytes = Vec::new();
    // One byte more than is accepted, so that what is too long is seen to be.
    let most = input::MAX_BYTES as u64 + 1;
    let read = match path.to_str() {
        Some("-") => io::stdin().take(most).read_to_end(&mut bytes),
        _ => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read the {what} `{}`", path.display())).map_err(Complaint::mistake)?;
    Ok(bytes)
}

/// What is judged. A document that names changes is believed; otherwise they are git's, or the folder's.
fn subject(changes: &Changes, mut submission: Submission) -> Subject {
    if submission.changes.is_empty() {
        submission.changes = changes.changes.clone();
        submission.base = submission.base.or_else(|| changes.base.clone());
    }
    Subject {
        paths: changes::present(&submission.changes).map(str::to_owned).collect(),
        submission,
        workspace: Arc::clone(&changes.workspace),
    }
}

fn print_log(log: &[Logged]) {
    for Logged { check, lines, dropped } in log {
        for line in lines {
            eprintln!("{check}: {}: {}", line.severity, line.message);
        }
        if *dropped > 0 {
            eprintln!("{check}: {dropped} more lines were dropped");
        }
    }
}
