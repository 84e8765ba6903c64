//! `--record-models`, `--replay-models`, `--record-commands` and `--replay-commands`.

use crate::args::Global;
use crate::error::{Error, Make as _};
use gatehost::commands::CommandTape;
use gatehost::session::Recording;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct RecordingArgs {
    /// Record model requests and responses to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_models")]
    record_models: Option<PathBuf>,
    /// Answer model requests from a file that `--record-models` wrote
    #[arg(long, value_name = "FILE")]
    replay_models: Option<PathBuf>,
    /// Record the results of commands to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_commands")]
    record_commands: Option<PathBuf>,
    /// Take the results of commands from a file that `--record-commands` wrote, instead of running them
    #[arg(long, value_name = "FILE")]
    replay_commands: Option<PathBuf>,
}

impl RecordingArgs {
    /// Returns whether something is recorded or replayed.
    pub(crate) fn is_any(&self) -> bool {
        let Self { record_models, replay_models, record_commands, replay_commands } = self;
        [record_models, replay_models, record_commands, replay_commands].iter().any(|file| file.is_some())
    }

    /// Returns what is recorded or replayed of models.
    pub(crate) fn models(&self) -> Recording {
        match (&self.record_models, &self.replay_models) {
            (Some(path), _) => Recording::Record(path.clone()),
            (None, Some(path)) => Recording::Replay(path.clone()),
            (None, None) => Recording::Off,
        }
    }

    /// Opens the recording of commands.
    pub(crate) fn commands(&self, global: &Global) -> Result<Option<Arc<CommandTape>>, Error> {
        let tape = match (&self.record_commands, &self.replay_commands) {
            (Some(path), _) => CommandTape::record(&global.directory.join(path)),
            (None, Some(path)) => CommandTape::replay(&global.directory.join(path)),
            (None, None) => return Ok(None),
        };
        tape.map(|tape| Some(Arc::new(tape))).map_err(Error::mistake)
    }
}
