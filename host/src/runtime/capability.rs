//! What a component can ever do, read off its imports, and what a check grants it.
//!
//! One type answers "may it?" and names what would be needed.

pub(super) mod commands;
pub(super) mod models;
pub(super) mod workspace;

use crate::config::Grant;
use crate::verdict::{ErrorKind, Failure};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a check grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grants {
    granted: BTreeSet<Grant>,
    everything: bool,
}

impl Grants {
    /// Every capability that there is: for a component that is only asked what it is.
    pub(super) fn everything() -> Self {
        Self { granted: BTreeSet::new(), everything: true }
    }

    /// Whether the files of the work may be read.
    pub fn workspace(&self) -> bool {
        Capability::Workspace.is_granted(self)
    }

    /// The names of the commands that may be run, in order.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.granted.iter().filter_map(|grant| if let Grant::Command(name) = grant { Some(&**name) } else { None })
    }

    /// The names of the models that may be asked, in order.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.granted.iter().filter_map(|grant| if let Grant::Model(name) = grant { Some(&**name) } else { None })
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<T: IntoIterator<Item = Grant>>(grants: T) -> Self {
        Self { granted: grants.into_iter().collect(), everything: false }
    }
}

/// What is granted by name, and who gives it.
#[derive(Debug)]
pub struct Granted<T> {
    /// The names, in order.
    pub names: Vec<String>,
    /// Who gives it.
    pub by: Arc<T>,
}

impl<T> Clone for Granted<T> {
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

    /// Whether these grants cover it.
    pub fn is_granted(self, grants: &Grants) -> bool {
        grants.everything
            || grants.granted.iter().any(|grant| match (self, grant) {
                (Self::Workspace, Grant::Workspace) => true,
                (Self::Commands, Grant::Command(_)) => true,
                (Self::Models, Grant::Model(_)) => true,
                (Self::Workspace | Self::Commands | Self::Models, _) => false,
            })
    }

    /// Refuse the import of this capability where it is not granted.
    pub(super) fn permit(self, import: &str, grants: &Grants) -> Result<(), Failure> {
        let needs = self.needs();
        if !self.is_granted(grants) {
            return Err(Failure::new(
                ErrorKind::LinkCapabilityDenied,
                format!("the component imports `{import}`, and its check has no grant `{needs}`"),
            )
            .hint(format!("if you trust it with that, {}", self.how_to_grant())));
        }
        Ok(())
    }

    /// How a check is given it. What `--grant` cannot give is declared in a gate.toml.
    fn how_to_grant(self) -> &'static str {
        match self {
            Self::Workspace => "add `workspace` to the grants of its check; with `--verifier`, add `--grant workspace`",
            Self::Commands => {
                "declare a `[command.NAME]` in gate.toml, and add `command:NAME` to the grants of its check"
            }
            Self::Models => "declare a `[model.NAME]` in gate.toml, and add `model:NAME` to the grants of its check",
        }
    }

    /// The grant that it needs, as one writes it.
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
