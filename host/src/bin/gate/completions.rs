//! `gate completions`: prints a completion script for a shell.

use crate::args::Arguments;
use crate::error::Error;
use crate::{Exit, terminal};
use clap::Args;
use clap::CommandFactory;
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gate completions bash > ~/.local/share/bash-completion/completions/gate")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

pub(crate) fn run(command: &CompletionsArgs) -> Result<Exit, Error> {
    // Into memory first, because the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::command(), "gate", &mut script);
    terminal::stdout().write_all(&script)?;
    Ok(Exit::Pass)
}
