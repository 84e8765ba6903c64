//! Grants, as they are written in gate.toml.

use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A capability that a check can be granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Read the files of the workspace.
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

impl Serialize for Grant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a text is not a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `workspace`, `command:NAME` or `model:NAME`, found `{0}`")]
pub struct UnknownGrant(String);

impl FromStr for Grant {
    type Err = UnknownGrant;

    fn from_str(word: &str) -> Result<Self, UnknownGrant> {
        match word.split_once(':') {
            None if word == "workspace" => Ok(Self::Workspace),
            Some(("command", name)) if !name.is_empty() => Ok(Self::Command(name.to_owned())),
            Some(("model", name)) if !name.is_empty() => Ok(Self::Model(name.to_owned())),
            _ => Err(UnknownGrant(crate::text::clean_line(word, 60))),
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
}
