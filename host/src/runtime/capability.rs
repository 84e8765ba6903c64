//! The capabilities of a component, read from its imports, and the grants of a check.
//!
//! Behind each grant is a trait ([`ReadFiles`], [`RunCommands`], [`AskModels`]), so the sandbox does not know whether this
//! process serves it. One value, [`Capabilities`], carries all three.

pub(super) mod commands;
pub(super) mod files;
pub(super) mod models;

use crate::commands::{CommandResult, Commands, NoResult};
use crate::config::Grant;
use crate::models::{ModelAnswer, ModelQuestion, Models, NoAnswer};
use crate::outcome::ModelUse;
use crate::verdict::{ErrorKind, Failure};
use crate::workspace::{self, Workspace};
use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// The grants of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grants {
    granted: BTreeSet<Grant>,
    everything: bool,
}

impl Grants {
    /// Returns all grants, for a component that is only asked for its description.
    pub(super) fn everything() -> Self {
        Self { granted: BTreeSet::new(), everything: true }
    }

    /// Returns whether the files of the workspace may be read.
    pub fn workspace(&self) -> bool {
        Capability::Workspace.is_granted(self)
    }

    /// Returns the names of the commands that may be run, in order.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.granted.iter().filter_map(|grant| if let Grant::Command(name) = grant { Some(&**name) } else { None })
    }

    /// Returns the names of the models that may be asked, in order.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.granted.iter().filter_map(|grant| if let Grant::Model(name) = grant { Some(&**name) } else { None })
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<T: IntoIterator<Item = Grant>>(grants: T) -> Self {
        Self { granted: grants.into_iter().collect(), everything: false }
    }
}

/// The future that a trait method returns.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Reads the files of the workspace: the `workspace` interface.
pub trait ReadFiles: fmt::Debug + Send + Sync {
    /// Reads a file whole, if it has at most `max` bytes.
    fn read(&self, path: &str, max: u64) -> Result<Vec<u8>, workspace::WorkspaceError>;
    /// Reads at most `length` bytes from `offset`.
    fn read_range(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, workspace::WorkspaceError>;
    /// Returns the kind and size of what is at a path.
    fn stat(&self, path: &str) -> Result<workspace::WorkspaceEntry, workspace::WorkspaceError>;
    /// Lists a directory, from the entry after `after`.
    fn list(&self, path: &str, after: Option<&str>) -> Result<workspace::ListingPage, workspace::WorkspaceError>;
}

/// Runs commands by name: the `commands` interface.
pub trait RunCommands: fmt::Debug + Send + Sync {
    /// Runs a command, several times if its files do not fit on one command line.
    fn run<'a>(&'a self, name: &'a str) -> Pending<'a, Result<Vec<CommandResult>, NoResult>>;
}

/// Asks models by name: the `models` interface.
pub trait AskModels: fmt::Debug + Send + Sync {
    /// Returns an unguessable word for one call of a verifier; `None` if there is no randomness.
    fn nonce(&self) -> Option<String>;
    /// Asks a model, and returns the answer and what it cost.
    fn ask<'a>(
        &'a self,
        name: &'a str,
        question: ModelQuestion,
    ) -> Pending<'a, (ModelUse, Result<ModelAnswer, NoAnswer>)>;
}

impl ReadFiles for Workspace {
    fn read(&self, path: &str, max: u64) -> Result<Vec<u8>, workspace::WorkspaceError> {
        Self::read(self, path, max)
    }

    fn read_range(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, workspace::WorkspaceError> {
        Self::read_range(self, path, offset, length)
    }

    fn stat(&self, path: &str) -> Result<workspace::WorkspaceEntry, workspace::WorkspaceError> {
        Self::stat(self, path)
    }

    fn list(&self, path: &str, after: Option<&str>) -> Result<workspace::ListingPage, workspace::WorkspaceError> {
        Self::list(self, path, after)
    }
}

impl RunCommands for Commands {
    fn run<'a>(&'a self, name: &'a str) -> Pending<'a, Result<Vec<CommandResult>, NoResult>> {
        Box::pin(self.run_for(name, &[]))
    }
}

/// Commands with the files of one check.
#[derive(Debug)]
pub struct CommandsFor {
    /// The commands.
    pub commands: Arc<Commands>,
    /// The files.
    pub files: Vec<String>,
    /// The check, by which its results are stored.
    pub check: String,
}

impl RunCommands for CommandsFor {
    fn run<'a>(&'a self, name: &'a str) -> Pending<'a, Result<Vec<CommandResult>, NoResult>> {
        Box::pin(self.commands.run_by(&self.check, name, &self.files))
    }
}

impl AskModels for Models {
    fn nonce(&self) -> Option<String> {
        Self::nonce(self)
    }

    fn ask<'a>(
        &'a self,
        name: &'a str,
        question: ModelQuestion,
    ) -> Pending<'a, (ModelUse, Result<ModelAnswer, NoAnswer>)> {
        Box::pin(Self::ask(self, name, question))
    }
}

/// Models that one check asks.
#[derive(Debug)]
pub struct ModelsFor {
    /// The models.
    pub models: Arc<Models>,
    /// The check, by which their answers are stored.
    pub check: String,
}

impl AskModels for ModelsFor {
    fn nonce(&self) -> Option<String> {
        self.models.nonce()
    }

    fn ask<'a>(
        &'a self,
        name: &'a str,
        question: ModelQuestion,
    ) -> Pending<'a, (ModelUse, Result<ModelAnswer, NoAnswer>)> {
        Box::pin(self.models.ask_for(&self.check, name, question))
    }
}

/// The granted capabilities of a check: what serves each of them.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// The files of the workspace.
    pub workspace: Option<Arc<dyn ReadFiles>>,
    /// Commands.
    pub commands: Option<Granted<dyn RunCommands>>,
    /// Models.
    pub models: Option<Granted<dyn AskModels>>,
}

/// A capability that is granted by name, and what serves it.
#[derive(Debug)]
pub struct Granted<T: ?Sized> {
    /// The names, in order.
    pub names: Vec<String>,
    /// The implementation.
    pub by: Arc<T>,
}

impl<T: ?Sized> Clone for Granted<T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), by: Arc::clone(&self.by) }
    }
}

/// An interface that needs a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// `gatehost:verifier/workspace`
    Workspace,
    /// `gatehost:verifier/commands`
    Commands,
    /// `gatehost:verifier/models`
    Models,
}

impl Capability {
    pub(super) fn of_interface(name: &str) -> Option<Self> {
        match name {
            "workspace" => Some(Self::Workspace),
            "commands" => Some(Self::Commands),
            "models" => Some(Self::Models),
            _ => None,
        }
    }

    /// Returns whether these grants include the capability.
    pub fn is_granted(self, grants: &Grants) -> bool {
        grants.everything
            || grants.granted.iter().any(|grant| match (self, grant) {
                (Self::Workspace, Grant::Workspace) => true,
                (Self::Commands, Grant::Command(_)) => true,
                (Self::Models, Grant::Model(_)) => true,
                (Self::Workspace | Self::Commands | Self::Models, _) => false,
            })
    }

    /// Refuses the import of a capability that is not granted.
    pub(super) fn permit(self, import: &str, grants: &Grants) -> Result<(), Failure> {
        let needs = self.needs();
        if !self.is_granted(grants) {
            return Err(Failure::new(
                ErrorKind::LinkCapabilityDenied,
                format!("the component imports `{import}`, but its check has no grant `{needs}`"),
            )
            .hint(format!("if you trust it with that, {}", self.how_to_grant())));
        }
        Ok(())
    }

    /// Returns how to grant the capability. `--grant` gives only `workspace`; the others are declared in gate.toml.
    fn how_to_grant(self) -> &'static str {
        match self {
            Self::Workspace => "add `workspace` to the grants of its check; with `--verifier`, add `--grant workspace`",
            Self::Commands => {
                "declare a `[command.NAME]` in gate.toml, and add `command:NAME` to the grants of its check"
            }
            Self::Models => "declare a `[model.NAME]` in gate.toml, and add `model:NAME` to the grants of its check",
        }
    }

    /// Returns the grant, as it is written in gate.toml.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Commands => "command:NAME",
            Self::Models => "model:NAME",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_covers_its_own_capability_only() {
        let grants = Grants::from_iter([Grant::Command("tests".into())]);
        assert!(Capability::Commands.is_granted(&grants));
        assert!(!Capability::Workspace.is_granted(&grants));
        assert!(!Capability::Models.is_granted(&grants));
    }
}
