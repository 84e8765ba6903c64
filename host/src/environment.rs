//! The environment as a value: the library reads no variable of the process by itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// The variables of an environment.
///
/// A program that embeds the library decides what a run sees: [`Environment::of_process`], an empty one, or its own.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

/// Shows no values, because some are keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}

impl Environment {
    /// Returns the current variables of this process.
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Returns the value of a variable, where it is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }

    /// Returns the path in a variable, if it is set and not empty.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Returns all variables.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Returns the cache folder: `$GATE_CACHE_DIR`, else `gatehost` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        self.path("GATE_CACHE_DIR").or_else(|| self.below("XDG_CACHE_HOME", ".cache"))
    }

    /// Returns the state folder: `$GATE_STATE_DIR`, else `gatehost` in `$XDG_STATE_HOME` or `~/.local/state`.
    pub fn state_folder(&self) -> Option<PathBuf> {
        self.path("GATE_STATE_DIR").or_else(|| self.below("XDG_STATE_HOME", ".local/state"))
    }

    fn below(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let folder = self.path(variable).or_else(|| Some(self.path("HOME")?.join(in_home)))?;
        Some(folder.join("gatehost"))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(variables: T) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_from_the_most_specific_variable() {
        let cache = |variables: &[(&str, &str)]| variables.iter().copied().collect::<Environment>().cache_folder();
        assert_eq!(cache(&[("GATE_CACHE_DIR", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")]), Some("/a".into()));
        assert_eq!(cache(&[("GATE_CACHE_DIR", ""), ("XDG_CACHE_HOME", "/b")]), Some("/b/gatehost".into()));
        assert_eq!(cache(&[("HOME", "/c")]), Some("/c/.cache/gatehost".into()));
        assert_eq!(cache(&[]), None);
        let state: Environment = [("HOME", "/c")].into_iter().collect();
        assert_eq!(state.state_folder(), Some("/c/.local/state/gatehost".into()));
    }
}
