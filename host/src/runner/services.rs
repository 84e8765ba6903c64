//! The commands and models of a run, and the capabilities that each check gets from them.

use super::Subject;
use super::reads::TracedReads;
use crate::commands::{BaseFiles, CommandTape, Commands};
use crate::environment::Environment;
use crate::models::{ModelTape, Models};
use crate::plan::Plan;
use crate::runtime::{AskModels, Capabilities, CommandsFor, Granted, Grants, ModelsFor, ReadFiles, RunCommands};
use std::path::PathBuf;
use std::sync::Arc;

/// The commands and models of a run.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    /// Runs commands.
    pub commands: Arc<Commands>,
    /// Asks models.
    pub models: Arc<Models>,
}

impl Services {
    /// Returns the commands and models of a plan. Their results are recorded on the tapes, or replayed from them. No command
    /// may change the file `configuration`, and each sees `base_files` as they are in the base commit.
    pub(crate) fn new(
        plan: &Plan,
        subject: &Subject,
        tape: Option<Arc<ModelTape>>,
        command_tape: Option<Arc<CommandTape>>,
        configuration: Option<PathBuf>,
        base_files: Option<Arc<BaseFiles>>,
        environment: &Environment,
    ) -> Self {
        let commands = Commands::new(plan.commands.clone(), subject.workspace.root().to_owned());
        let commands = commands.with_configuration(configuration).with_environment(environment.clone());
        let commands =
            commands.with_base_files(base_files).with_tape(command_tape).for_task(subject.submission.task.as_ref());
        let commands = Arc::new(commands);
        let executor = subject.submission.executor.clone();
        let models = Models::new(plan.models.clone(), Arc::clone(&commands), executor, tape);
        let models = Arc::new(models.with_environment(environment.clone()));
        Self { commands, models }
    }

    /// Returns the capabilities of a check behind these grants. Files are read through `reads`; commands are handed `files`.
    pub(super) fn capabilities(
        &self,
        check: &str,
        grants: &Grants,
        files: &[String],
        reads: TracedReads,
    ) -> Capabilities {
        let check = || check.to_owned();
        let names = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect::<Vec<_>>();
        let (commands, models) = (names(&mut grants.commands()), names(&mut grants.models()));
        Capabilities {
            workspace: grants.workspace().then(|| Arc::new(reads) as Arc<dyn ReadFiles>),
            commands: (!commands.is_empty()).then(|| {
                let by = CommandsFor { commands: Arc::clone(&self.commands), files: files.to_vec(), check: check() };
                Granted { names: commands, by: Arc::new(by) as Arc<dyn RunCommands> }
            }),
            models: (!models.is_empty()).then(|| {
                let by = ModelsFor { models: Arc::clone(&self.models), check: check() };
                Granted { names: models, by: Arc::new(by) as Arc<dyn AskModels> }
            }),
        }
    }
}
