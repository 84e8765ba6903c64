//! What a run was given, and what commands and models told it: kept beside the ledger, so that the run can be repeated by
//! `gate bundle` and `gate replay`.

use super::WorkState;
use crate::submission::Submission;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder of all runs, in the state folder.
const RUNS: &str = "runs";

/// What decided a run besides the files and the policy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunInputs {
    /// The submission, as it was judged.
    pub(crate) submission: Value,
    /// The files that were there to be judged.
    pub(crate) paths: Vec<String>,
    /// Whether the changes are those of a repository.
    pub(crate) from_git: bool,
    /// The commit that they are relative to.
    pub(crate) base: Option<String>,
    /// What the caller knew of the work: `unknown`, `asked` or `not-done`.
    pub(crate) work: String,
    /// Whether it ended with the first failure.
    pub(crate) fail_fast: bool,
    /// The checks that the caller left out.
    pub(crate) left_out: Vec<String>,
    /// Whether a task that comes before this one had no pass.
    pub(crate) predecessor_unpassed: bool,
}

impl RunInputs {
    pub(crate) fn said(submission: &Submission) -> Value {
        serde_json::to_value(submission).unwrap_or_default()
    }

    pub(crate) fn work(work: WorkState) -> String {
        match work {
            WorkState::Unknown => "unknown",
            WorkState::Asked => "asked",
            WorkState::NotDone => "not-done",
        }
        .to_owned()
    }
}

/// The folder of a run.
#[derive(Clone, Debug)]
pub(crate) struct Kept(PathBuf);

impl Kept {
    /// The folder of a run in a state folder, whether it is there or not.
    pub(crate) fn of(state: &Path, run: &str) -> Self {
        Self(state.join(RUNS).join(run))
    }

    /// Make the folder, and write down what the run is given.
    pub(crate) fn begin(&self, given: &RunInputs) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.given_file())?;
        serde_json::to_writer(io::BufWriter::new(file), given).map_err(io::Error::from)
    }

    fn given_file(&self) -> PathBuf {
        self.0.join("given.json")
    }

    /// What the run was given.
    pub(crate) fn given(&self) -> io::Result<RunInputs> {
        serde_json::from_slice(&fs::read(self.given_file())?).map_err(io::Error::from)
    }

    /// Where what commands came to is written down.
    pub(crate) fn commands(&self) -> PathBuf {
        self.0.join("commands.jsonl")
    }

    /// Where what models answered is written down.
    pub(crate) fn models(&self) -> PathBuf {
        self.0.join("models.jsonl")
    }
}

/// Remove what was kept of runs that `is_known` does not know. What cannot be removed stays.
pub fn forget(state: &Path, is_known: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(state.join(RUNS)).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|run| !is_known(run)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
