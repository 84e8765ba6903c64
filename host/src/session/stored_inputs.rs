//! Stores the inputs of a run and the answers of its commands and models with its entry in the ledger, so that `gate bundle` and
//! `gate replay` can repeat the run.
//!
//! They are in the transaction of the entry: whoever finds a run in the ledger finds these too.

use super::WorkState;
use crate::compression::{Compressor, decompressed, packed, unpacked};
use crate::ledger::{Attachment, Ledger, LedgerError};
use crate::limits::StoredLimits;
use crate::record::NotStored;
use crate::run_id;
use crate::submission::Submission;
use crate::tape_files::{MAX_BYTES, StoredBudget, StoredTape};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The names of attachments.
const INPUTS: &str = "inputs";
const COMMANDS: &str = "commands";
const MODELS: &str = "models";
/// The folder below the state folder in which earlier versions stored all of this.
const RUNS: &str = "runs";

/// The inputs that decided a run, besides the files and the policy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, bound(deserialize = "S: Default + Deserialize<'de>"))]
pub(crate) struct RunInputs<S = Value> {
    /// The submission that was checked.
    pub(crate) submission: S,
    /// The paths of the files that were checked.
    pub(crate) paths: Vec<String>,
    /// Whether the changes were found by git.
    pub(crate) from_git: bool,
    /// The commit that they are relative to.
    pub(crate) base: Option<String>,
    /// The [`WorkState`] of the request: `unknown`, `asked` or `not-done`.
    pub(crate) work: String,
    /// Whether the run stopped at the first failure.
    pub(crate) fail_fast: bool,
    /// The checks that the caller excluded.
    pub(crate) left_out: Vec<String>,
    /// Whether a task before this one had no pass.
    pub(crate) predecessor_unpassed: bool,
    /// Whether the results of its commands are stored too.
    pub(crate) has_commands: bool,
    /// Whether the answers of its models are stored too.
    pub(crate) has_models: bool,
}

impl<S> RunInputs<S> {
    pub(crate) fn work(work: WorkState) -> String {
        match work {
            WorkState::Unknown => "unknown",
            WorkState::Asked => "asked",
            WorkState::NotDone => "not-done",
        }
        .to_owned()
    }
}

/// What a run stores while it runs.
#[derive(Debug)]
pub(super) struct StoredAnswers {
    budget: Arc<StoredBudget>,
    pub(super) commands: Option<Arc<StoredTape>>,
    pub(super) models: Option<Arc<StoredTape>>,
}

impl StoredAnswers {
    /// Stores the answers of commands and models of a run, if it has any.
    pub(super) fn new(
        ledger: &Arc<dyn Ledger>,
        run: &str,
        limits: StoredLimits,
        (has_commands, has_models): (bool, bool),
    ) -> Self {
        let budget = Arc::new(StoredBudget::new(limits));
        let tape = |name: &'static str| {
            let (ledger, run) = (Arc::clone(ledger), run.to_owned());
            let store = move |part, bytes| {
                ledger.attach(&run, vec![Attachment { name, part, bytes }]).map_err(io::Error::other)
            };
            Arc::new(StoredTape::new(name, Arc::clone(&budget), Box::new(store)))
        };
        let (commands, models) = (has_commands.then(|| tape(COMMANDS)), has_models.then(|| tape(MODELS)));
        Self { budget, commands, models }
    }

    /// Returns what was not stored, once they are finished.
    pub(super) fn not_stored(&self) -> Vec<NotStored> {
        self.budget.not_stored()
    }

    /// Ends the tapes, and returns what is stored together with the entry of the run.
    pub(super) fn finish(&self, inputs: &RunInputs<&Submission>) -> Result<Vec<Attachment>, LedgerError> {
        let failed = |error: io::Error| LedgerError::Unwritable(format!("cannot store what the run needs: {error}"));
        let mut written = Packed { short: Vec::new(), compressor: None, bytes: 0, most: self.budget.left() };
        serde_json::to_writer(io::BufWriter::with_capacity(SHORT, &mut written), inputs)
            .map_err(|error| failed(error.into()))?;
        let mut attachments = Vec::new();
        if self.budget.take_inputs(INPUTS, written.bytes) {
            let bytes = written.finish().map_err(failed)?;
            attachments.push(Attachment { name: INPUTS, part: 0, bytes });
        }
        for tape in self.commands.iter().chain(&self.models) {
            let (part, bytes) = tape.finish().map_err(failed)?;
            attachments.push(Attachment { name: tape.kind(), part, bytes });
        }
        Ok(attachments)
    }
}

/// What is shorter is compressed at once, which takes less memory than a stream.
const SHORT: usize = 64 << 10;

/// Compresses what is written to it, up to a limit, and counts all of it.
struct Packed {
    /// All of it, while it is short.
    short: Vec<u8>,
    compressor: Option<Compressor>,
    bytes: u64,
    most: u64,
}

impl Packed {
    fn finish(self) -> io::Result<Vec<u8>> {
        self.compressor.map_or_else(|| Ok(packed(&self.short).into_owned()), Compressor::finish)
    }
}

impl io::Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.most {
            return Ok(bytes.len());
        }
        match &mut self.compressor {
            Some(compressor) => compressor.add(bytes)?,
            None if self.bytes < SHORT as u64 => self.short.extend_from_slice(bytes),
            None => {
                let compressor = self.compressor.insert(Compressor::new()?);
                compressor.add(&std::mem::take(&mut self.short))?;
                compressor.add(bytes)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is stored of a run.
#[derive(Debug)]
pub(crate) struct StoredRun {
    pub(crate) inputs: RunInputs,
    pub(crate) commands: Option<String>,
    pub(crate) models: Option<String>,
}

impl StoredRun {
    /// Returns what is stored of a run; `None` if there is nothing.
    pub(crate) fn of(ledger: &dyn Ledger, run: &str) -> io::Result<Option<Self>> {
        let parts = |name| ledger.attachment(run, name).map_err(io::Error::other);
        let Some(inputs) = parts(INPUTS)?.into_iter().next() else {
            return ledger.folder().map_or(Ok(None), |state| Self::of_earlier_version(&state, run));
        };
        let inputs = match decompressed([&inputs[..]], usize::try_from(MAX_BYTES).unwrap_or(usize::MAX)) {
            Ok(inputs) => inputs,
            // Earlier versions stored short ones as they are.
            Err(_) => unpacked(inputs),
        };
        let inputs: RunInputs = serde_json::from_slice(&inputs)?;
        let tape = |name, has: bool| -> io::Result<Option<String>> {
            if !has {
                return Ok(None);
            }
            let parts = parts(name)?;
            let whole = decompressed(parts.iter().map(Vec::as_slice), usize::try_from(MAX_BYTES).unwrap_or(usize::MAX));
            let damaged = |why: &dyn std::fmt::Display| {
                io::Error::other(format!("the stored recording of its {name} is damaged: {why}"))
            };
            let whole = whole.map_err(|error| damaged(&error))?;
            String::from_utf8(whole).map(Some).map_err(|error| damaged(&error))
        };
        let (commands, models) = (tape(COMMANDS, inputs.has_commands)?, tape(MODELS, inputs.has_models)?);
        Ok(Some(Self { inputs, commands, models }))
    }

    /// Reads the files that earlier versions stored.
    fn of_earlier_version(state: &Path, run: &str) -> io::Result<Option<Self>> {
        let folder = state.join(RUNS).join(run);
        let read = |path: &Path| match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        };
        let inputs = match read(&folder.with_extension("json"))? {
            None => read(&folder.join("given.json"))?,
            inputs => inputs,
        };
        let Some(inputs) = inputs else { return Ok(None) };
        let (commands, models) = (read(&folder.join("commands.jsonl"))?, read(&folder.join("models.jsonl"))?);
        Ok(Some(Self { inputs: serde_json::from_str(&inputs)?, commands, models }))
    }
}

/// Deletes what earlier versions stored for runs that `is_known` rejects: files and folders that are named after a run, through
/// no symlink. Ignores what cannot be deleted.
pub fn forget(state: &Path, is_known: impl Fn(&str) -> bool) {
    let folder = state.join(RUNS);
    if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else { continue };
        let run = name.strip_suffix(".json").unwrap_or(name);
        if run_id::decode(run).is_some() && !is_known(run) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_named_after_a_forgotten_run_is_deleted_and_through_no_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, other) = (folder.path().join("state"), folder.path().join("other"));
        let runs: Vec<String> = (1..=4).map(run_id::encode).collect();
        let fill = |folder: &Path| {
            fs::create_dir_all(folder.join(&runs[0])).expect("made");
            fs::write(folder.join(&runs[0]).join("given.json"), "").expect("written");
            for name in [&format!("{}.json", runs[1]), &format!("{}.json", runs[2]), "thesis.json", "thesis"] {
                fs::write(folder.join(name), "").expect("written");
            }
        };
        let names = |folder: &Path| {
            let names = fs::read_dir(folder).expect("a folder").flatten();
            let mut names: Vec<String> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        fill(&state.join(RUNS));
        fill(&other);
        let before = names(&other);
        symlink(&other, state.join(RUNS).join(&runs[3])).expect("linked");
        forget(&state, |run| run == runs[2]);
        assert_eq!(names(&state.join(RUNS)), [&format!("{}.json", runs[2]), "thesis", "thesis.json"]);
        fs::remove_dir_all(state.join(RUNS)).expect("removed");
        symlink(&other, state.join(RUNS)).expect("linked");
        forget(&state, |_| false);
        assert_eq!(names(&other), before);
    }
}
