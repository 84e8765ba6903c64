//! The environment as a value: the library reads no variable of the process by itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// The variables whose folders must be absolute, as the XDG Base Directory Specification says.
const ABSOLUTE: [&str; 4] = ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"];

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

    /// Returns the home folder, unless `$HOME` is relative.
    pub fn home(&self) -> Option<PathBuf> {
        self.absolute("HOME")
    }

    /// Returns the path in a variable, if it is absolute.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.path(name).filter(|path| path.is_absolute())
    }

    /// Returns the variables with a relative path where it must be absolute. They are ignored.
    pub fn ignored(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        ABSOLUTE.into_iter().filter(|name| self.path(name).is_some_and(|path| path.is_relative()))
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
        let folder = self.absolute(variable).or_else(|| Some(self.home()?.join(in_home)))?;
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

    #[test]
    fn a_relative_home_or_xdg_folder_is_ignored() {
        for (variables, ignored, expected) in [
            (&[("XDG_STATE_HOME", "b"), ("HOME", "/c")][..], &["XDG_STATE_HOME"][..], Some("/c/.local/state/gatehost")),
            (&[("XDG_STATE_HOME", "/b"), ("HOME", "c")], &["HOME"], Some("/b/gatehost")),
            (&[("XDG_STATE_HOME", "./b"), ("HOME", "..")], &["HOME", "XDG_STATE_HOME"], None),
            (&[("XDG_STATE_HOME", "~/b"), ("HOME", "")], &["XDG_STATE_HOME"], None),
            (&[("GATE_STATE_DIR", "a"), ("HOME", "c")], &["HOME"], Some("a")),
            (&[("XDG_CACHE_HOME", "b"), ("XDG_CONFIG_HOME", "d")], &["XDG_CACHE_HOME", "XDG_CONFIG_HOME"], None),
        ] {
            let environment: Environment = variables.iter().copied().collect();
            assert_eq!(environment.state_folder(), expected.map(Into::into), "{variables:?}");
            assert_eq!(environment.ignored().collect::<Vec<_>>(), ignored, "{variables:?}");
        }
        let cache: Environment = [("XDG_CACHE_HOME", "b"), ("HOME", "/c")].into_iter().collect();
        assert_eq!(cache.cache_folder(), Some("/c/.cache/gatehost".into()));
    }
}
