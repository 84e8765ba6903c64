//! The `commands` interface: the commands that a check is granted, by name.

use super::{Granted, RunCommands};
use crate::commands::{Captured, CommandEnding, CommandResult, MAX_LISTED, Rewrite};
use crate::runtime::bindings::gatehost::verifier::commands as wit;
use crate::runtime::convert;
use crate::runtime::ending::GuestEnded;
use crate::runtime::sandbox::Sandbox;
use crate::verdict::ErrorKind;

/// The commands that a guest may run, and the results of those that it ran.
pub(crate) struct Runner {
    granted: Granted<dyn RunCommands>,
    ran: Vec<CommandResult>,
    /// How many more ran.
    unlisted: u64,
}

impl Runner {
    pub(crate) fn new(granted: Granted<dyn RunCommands>) -> Self {
        Self { granted, ran: Vec::new(), unlisted: 0 }
    }

    /// Returns the results as the record shows them, and how many more there were.
    pub(crate) fn into_ran(self) -> (Vec<CommandResult>, u64) {
        (self.ran, self.unlisted)
    }
}

impl Sandbox {
    /// Returns the commands of the check. The import is linked only if it is granted; if that should ever be wrong, the
    /// guest ends.
    fn runner(&mut self) -> wasmtime::Result<&mut Runner> {
        self.commands
            .as_mut()
            .ok_or_else(|| GuestEnded::error(ErrorKind::LinkCapabilityDenied, "the check has no grant `command:NAME`"))
    }
}

impl wit::Host for Sandbox {
    fn granted(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.runner()?.granted.names.clone())
    }

    async fn run(&mut self, name: String) -> wasmtime::Result<Result<Vec<wit::Output>, wit::Error>> {
        let runner = self.runner()?;
        if !runner.granted.names.contains(&name) {
            return Ok(Err(wit::Error::NotGranted));
        }
        let commands = runner.granted.by.clone();
        let _paused = self.time.pause();
        match commands.run(&name).await {
            Ok(ran) => {
                let outputs = ran.iter().map(output).collect();
                let Runner { ran: listed, unlisted, .. } = self.runner()?;
                let (all, left) = (ran.len(), MAX_LISTED.saturating_sub(listed.len()));
                *unlisted += all.saturating_sub(left) as u64;
                // Shortened at once: the tape has the outputs, and the guest may run the command again and again.
                listed.extend(ran.into_iter().take(left).map(CommandResult::shortened));
                Ok(Ok(outputs))
            }
            // If a command has no result, the check is an error: the guest could not judge it.
            Err(error) => Err(GuestEnded::failure(error.into())),
        }
    }
}

fn output(ran: &CommandResult) -> wit::Output {
    wit::Output {
        argv: ran.argv.clone(),
        ending: match ran.ending {
            CommandEnding::TimedOut => wit::Ending::TimedOut,
            CommandEnding::Signalled(signal) => wit::Ending::Signalled(signal),
            CommandEnding::Exited(code) => wit::Ending::Exited(code),
        },
        stdout: captured(&ran.stdout),
        stderr: captured(&ran.stderr),
        rewrites: ran.rewrites.iter().map(rewrite).collect(),
        replayed: ran.replayed,
    }
}

fn rewrite(rewrite: &Rewrite) -> wit::Rewrite {
    let edits = rewrite.edits.iter().cloned().map(convert::edit).collect();
    wit::Rewrite { path: rewrite.path.clone(), edits }
}

fn captured(captured: &Captured) -> wit::Captured {
    let Captured { head, tail, length, sha256 } = captured.clone();
    wit::Captured { head, tail, length, sha256 }
}
