//! What a component can ever do, read off its imports, and what a check grants it.
//!
//! One type answers "may it?" and names what would be needed.

pub(super) mod workspace;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A capability that a check can be granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Read the files of the work.
    Workspace,
    /// Run the command of this name.
    Command(String),
    /// Ask the model of this name.
    Model(String),
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace => f.write_str("workspace"),
            Self::Command(name) => write!(f, "command:{name}"),
            Self::Model(name) => write!(f, "model:{name}"),
        }
    }
}

/// Why a word is not a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a grant; expected `workspace`, `command:NAME` or `model:NAME`")]
pub struct UnknownGrant(String);

impl FromStr for Grant {
    type Err = UnknownGrant;

    fn from_str(word: &str) -> Result<Self, UnknownGrant> {
        match word.split_once(':') {
            None if word == "workspace" => Ok(Self::Workspace),
            Some(("command", name)) if !name.is_empty() => Ok(Self::Command(name.to_owned())),
            Some(("model", name)) if !name.is_empty() => Ok(Self::Model(name.to_owned())),
            _ => Err(UnknownGrant(word.to_owned())),
        }
    }
}

/// What a check grants.
pub type Grants = BTreeSet<Grant>;

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
        grants.iter().any(|grant| match (self, grant) {
            (Self::Workspace, Grant::Workspace) => true,
            (Self::Commands, Grant::Command(_)) => true,
            (Self::Models, Grant::Model(_)) => true,
            (Self::Workspace | Self::Commands | Self::Models, _) => false,
        })
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
    fn grants_are_read_as_they_are_written() {
        for word in ["workspace", "command:tests", "model:reviewer"] {
            assert_eq!(word.parse::<Grant>().expect(word).to_string(), word);
        }
        for word in ["", "Workspace", "command", "command:", "model:", "network", "workspace:x"] {
            assert!(word.parse::<Grant>().is_err(), "{word}");
        }
    }

    #[test]
    fn a_grant_covers_its_own_capability_only() {
        let grants = Grants::from([Grant::Command("tests".into())]);
        assert!(Capability::Commands.is_granted(&grants));
        assert!(!Capability::Workspace.is_granted(&grants));
        assert!(!Capability::Models.is_granted(&grants));
    }
}
