//! Stores the inputs of a run and the answers of its commands and models next to the ledger, so that `gate bundle` and `gate
//! replay` can repeat the run.

use super::WorkState;
use crate::submission::Submission;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder of all runs, below the state folder.
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

/// The folder of a run. Its inputs are in a file next to it, and it exists only for a run with commands or models.
#[derive(Clone, Debug)]
pub(crate) struct StoredInputs(PathBuf);

impl StoredInputs {
    /// Returns the folder of a run below a state folder, whether it exists or not.
    pub(crate) fn of(state: &Path, run: &str) -> Self {
        Self(state.join(RUNS).join(run))
    }

    /// Stores the inputs of the run. With `has_answers`, also creates the folder for what its commands and models answer: a new
    /// folder takes longer than a file.
    pub(crate) fn begin(&self, given: &RunInputs<&Submission>, has_answers: bool) -> io::Result<()> {
        let folder = if has_answers { Some(self.0.as_path()) } else { self.0.parent() };
        let folder = folder.unwrap_or(&self.0);
        if !folder.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.given_file())?;
        serde_json::to_writer(io::BufWriter::new(file), given).map_err(io::Error::from)
    }

    fn given_file(&self) -> PathBuf {
        self.0.with_extension("json")
    }

    /// Returns the inputs of the run.
    pub(crate) fn given(&self) -> io::Result<RunInputs> {
        let given = fs::read(self.given_file());
        // Where earlier versions stored it.
        let given = given.or_else(|error| fs::read(self.0.join("given.json")).map_err(|_| error));
        serde_json::from_slice(&given?).map_err(io::Error::from)
    }

    /// Returns the path of the recorded results of commands.
    pub(crate) fn commands(&self) -> PathBuf {
        self.0.join("commands.jsonl")
    }

    /// Returns the path of the recorded answers of models.
    pub(crate) fn models(&self) -> PathBuf {
        self.0.join("models.jsonl")
    }
}

/// Deletes what was stored for runs that `is_known` rejects. Ignores files that cannot be deleted.
pub fn forget(state: &Path, is_known: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(state.join(RUNS)).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.file_stem().and_then(|run| run.to_str()).is_some_and(|run| !is_known(run)) {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}
