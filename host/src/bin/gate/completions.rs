//! `gate completions`: what a shell needs to complete the words of this program.

use crate::Exit;
use crate::args::{Arguments, Completions};
use crate::complaint::Complaint;
use clap::CommandFactory;

pub(crate) fn run(command: &Completions) -> Result<Exit, Complaint> {
    clap_complete::generate(command.shell, &mut Arguments::command(), "gate", &mut std::io::stdout());
    Ok(Exit::Pass)
}
