//! `gate attest`: a signed statement of the result of a run.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::{Exit, evidence};
use anyhow::Context;
use clap::Args;
use gatehost::ledger::body::Committed;
use gatehost::ledger::{EntryKind, Filter, Ledger, LedgerError};
use gatehost::proof::dsse::{IN_TOTO, SigningKey};
use gatehost::proof::statement;
use gatehost::text::write_json;
use std::io;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
The statement is an in-toto test-result (v0.1), in a DSSE envelope that is signed with ed25519. The key file holds the seed \
of the key: 64 hexadecimal digits, such as `openssl rand -hex 32` prints. Without a key, the statement is printed unsigned. \
Nothing is stated about a run in a damaged ledger.

Examples:
  gate attest --key gate.key > attestation.json
  gate attest 01hx")]
pub(crate) struct AttestArgs {
    /// The run: its identifier or a prefix of it, or `#` and the number of its entry [default: the last run]
    run: Option<String>,
    /// The key file
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

pub(crate) fn run(global: &Global, command: &AttestArgs) -> Result<Exit, Error> {
    let (ledger, project) = evidence::open(global)?;
    let entry = evidence::find(&ledger, &project, command.run.as_deref())?;
    let record = entry.record()?;
    // Only an entry of an intact chain is worth a signature.
    let survey = ledger.survey(None, &entry.labels.tree)?;
    if let Some(damage) = survey.damages.into_iter().next() {
        return Err(LedgerError::Damaged(damage).into());
    }
    let committed = Filter { run: Some(record.run.clone()), ..Filter::default().kinds(&[EntryKind::Commit]) };
    let committed = ledger.entries(&committed)?;
    let commits: Result<Vec<String>, LedgerError> =
        committed.iter().map(|entry| Ok(entry.read::<Committed>()?.commit_sha)).collect();
    let statement = statement::of_run(&record, &entry, &commits?).ok_or_else(|| {
        Error::usage(format_args!("run {} has no tree digest, so nothing can be stated about it", record.run))
    })?;
    let mut out = io::stdout().lock();
    let Some(file) = &command.key else {
        write_json(&mut out, &statement)?;
        return Ok(Exit::Pass);
    };
    let path = global.directory.join(file);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read the key `{}`", file.display()));
    let key = SigningKey::from_text(&text.map_err(Error::mistake)?).ok_or_else(|| {
        Error::usage(format_args!("`{}` is not a key: expected 64 hexadecimal digits", file.display()))
    })?;
    let envelope = key.envelope(IN_TOTO, statement.to_string().as_bytes());
    write_json(&mut out, &envelope)?;
    Ok(Exit::Pass)
}
