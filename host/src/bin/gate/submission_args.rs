//! Reads the submission and the selection from the flags of `gate run`.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::run::RunArgs;
use crate::tasks;
use anyhow::{Context, anyhow};
use gatehost::changes::Selection;
use gatehost::input::{self, InputError};
use gatehost::schema;
use gatehost::session::Request;
use gatehost::submission::{Claim, Evaluator, Submission, Task, TaskSource};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Returns the submission that the flags describe. `request` has the policy and the selection already.
pub(crate) fn submission(global: &Global, command: &RunArgs, request: &Request) -> Result<Submission, Error> {
    let mut said = match &command.submission {
        Some(path) => document(global, command, path)?,
        None => flags(global, command, request)?,
    };
    if let Some(path) = &command.evaluator {
        if said.evaluator.is_some() {
            let twice = anyhow!("the submission already has an `evaluator`, so `--evaluator` cannot be used");
            return Err(Error::mistake(twice));
        }
        let evaluator = input::transcript(&read(global, path, "transcript")?);
        let evaluator = evaluator.with_context(|| format!("`{}` is not an evaluator's transcript", path.display()));
        said.evaluator = Some(Evaluator { source: TaskSource::Caller, ..evaluator.map_err(Error::mistake)? });
    }
    Ok(said)
}

fn document(global: &Global, command: &RunArgs, path: &Path) -> Result<Submission, Error> {
    let bytes = read(global, path, "submission")?;
    let said = input::parse(&bytes).map_err(|error| {
        wrong(path, &bytes, error).hint("`gate schema submission --example` prints one to start from".to_owned())
    })?;
    match selection(command) {
        (Some(flag), _) if !said.changes.is_empty() => {
            let twice = anyhow!("`{flag}` and the `changes` of the submission both choose the files");
            Err(Error::mistake(twice).hint(format!("remove `{flag}`, or remove `changes` from the submission")))
        }
        _ => Ok(said),
    }
}

/// Explains what is wrong with a document, field by field, if it can be parsed.
fn wrong(path: &Path, bytes: &[u8], error: InputError) -> Error {
    let name = if path == Path::new("-") { "stdin".to_owned() } else { format!("`{}`", path.display()) };
    let no_submission = format!("{name} is not a submission");
    let place = match &error {
        // These messages name the field themselves.
        InputError::Invalid { message, .. } if message.starts_with('`') => None,
        InputError::Invalid { line, column, .. } => Some(format!(" (line {line}, column {column})")),
        _ => None,
    };
    let text = String::from_utf8_lossy(bytes);
    let value: Option<serde_json::Value> = match &place {
        None => None,
        Some(_) if text.trim_start().starts_with('{') => serde_json::from_str(&text).ok(),
        Some(_) => serde_saphyr::from_str(&text).ok(),
    };
    let fields = value.map(|value| schema::differences(&schema::submission(), &value)).unwrap_or_default();
    match (fields.as_slice(), place) {
        ([], _) | (_, None) => Error::mistake(anyhow!(error).context(no_submission)),
        ([one], Some(place)) => Error::mistake(anyhow!("{no_submission}: {one}{place}")),
        (several, Some(_)) => Error::mistake(anyhow!("{no_submission}: {}", several.join("; "))),
    }
}

fn flags(global: &Global, command: &RunArgs, request: &Request) -> Result<Submission, Error> {
    let claim = match &command.claim {
        None => None,
        Some(path) => Some(Claim {
            text: String::from_utf8(read(global, path, "claim")?)
                .map_err(|_| Error::mistake(anyhow!("the claim `{}` is not UTF-8", path.display())))?,
            report: None,
        }),
    };
    let planned = command.task.as_deref().map(|task| tasks::task(global, request, task, None, false)).transpose()?;
    let task = match (planned, command.tier) {
        (Some(task), tier) => Some(Task { tier: tier.or(task.tier), ..task }),
        (None, Some(tier)) => Some(Task { tier: Some(tier), source: TaskSource::Caller, ..Task::default() }),
        (None, None) => None,
    };
    Ok(Submission { claim, task, ..Submission::default() })
}

fn read(global: &Global, path: &Path, what: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    // One byte more than is accepted, to notice documents that are too long.
    let most = input::MAX_BYTES as u64 + 1;
    let read = match path.to_str() {
        Some("-") => io::stdin().take(most).read_to_end(&mut bytes),
        _ => File::open(global.directory.join(path)).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read the {what} `{}`", path.display())).map_err(Error::mistake)?;
    Ok(bytes)
}

/// Returns the selected files, and the flag that selects them.
pub(crate) fn selection(command: &RunArgs) -> (Option<&'static str>, Selection) {
    if !command.files.is_empty() {
        (Some("--files"), Selection::Files(command.files.clone()))
    } else if command.all_files {
        (Some("--all-files"), Selection::All)
    } else if command.staged {
        (Some("--staged"), Selection::Staged)
    } else if let Some(since) = &command.since {
        (Some("--since"), Selection::Since(since.clone()))
    } else if let Some(from) = &command.from_ref {
        (Some("--from-ref"), Selection::Between { from: from.clone(), to: command.to_ref.clone() })
    } else {
        (None, Selection::Changed)
    }
}
