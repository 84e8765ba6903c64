//! `[command.*]`: commands that a check can be granted by name.

use super::read::{Table, Value};
use serde::Serialize;
use std::fmt;
use std::path::{Component, Path};
use std::time::Duration;

/// How long a command may run if nothing else is said, and how long at most.
pub(crate) const COMMAND_TIMEOUT: (Duration, Duration) = (Duration::from_secs(2 * 60), Duration::from_secs(60 * 60));

/// What a command may do to the files of the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read them.
    #[default]
    ReadOnly,
    /// Read and change them.
    ReadWrite,
}

/// The least confinement without which a command is not run. It gets the best one that the machine has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// None.
    #[default]
    None,
    /// Landlock.
    Landlock,
    /// Namespaces.
    Namespaces,
}

impl Sandbox {
    /// The word used in the configuration and in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A command that checks can be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// How long it may run.
    #[serde(rename = "timeout_ms", serialize_with = "crate::config::milliseconds")]
    pub timeout: Duration,
    /// The names of the environment variables that it sees.
    pub env: Vec<String>,
    /// The folder that it runs in, relative to the root of the workspace.
    pub cwd: Option<String>,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may do to the files of the workspace.
    pub workspace: Access,
    /// What it sees besides: paths, relative to the root of the workspace or to the home (`~/`).
    pub read: Vec<String>,
    /// What it may change besides: paths as above. A folder inside the workspace is made if it is not there.
    pub write: Vec<String>,
    /// The least confinement.
    pub min_sandbox: Sandbox,
}

pub(super) fn read(mut table: Table<'_>) -> Command {
    let run = table.need("run", "the program and its arguments, such as `[\"cargo\", \"test\"]`");
    let run = run.and_then(|value| {
        let list = value.list("the program and its arguments")?;
        let argument = |value: &Value<'_>| {
            let text = value.as_str().filter(|text| !text.contains('\0')).map(str::to_owned);
            text.or_else(|| value.expected("text without NUL bytes"))
        };
        list.first()?.text("a program")?;
        Some(list.iter().filter_map(argument).collect())
    });
    let env = table.get("env").and_then(|value| variables(&value));
    let cwd = table.get("cwd").and_then(|value| {
        let text = value.text("a folder")?;
        let inside = Path::new(&text).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if inside { Some(text) } else { value.expected("a folder inside the workspace") }
    });
    let access = [("read-only", Access::ReadOnly), ("read-write", Access::ReadWrite)];
    let sandboxes = [("none", Sandbox::None), ("landlock", Sandbox::Landlock), ("namespaces", Sandbox::Namespaces)];
    let command = Command {
        run: run.unwrap_or_default(),
        timeout: timeout(&mut table, COMMAND_TIMEOUT),
        env: env.unwrap_or_default(),
        cwd,
        network: table.get("network").and_then(|value| value.flag()).unwrap_or(false),
        workspace: table.get("workspace").and_then(|value| value.word(&access)).unwrap_or_default(),
        read: table.get("read").and_then(|value| paths(&value)).unwrap_or_default(),
        write: table.get("write").and_then(|value| paths(&value)).unwrap_or_default(),
        min_sandbox: table.get("min_sandbox").and_then(|value| value.word(&sandboxes)).unwrap_or_default(),
    };
    table.finish();
    command
}

pub(super) fn timeout(table: &mut Table<'_>, (default, max): (Duration, Duration)) -> Duration {
    table.get("timeout").and_then(|value| value.duration_up_to(max)).unwrap_or(default)
}

fn paths(value: &Value<'_>) -> Option<Vec<String>> {
    let path = |value: &Value<'_>| {
        let text = value.as_str().filter(|text| !text.is_empty() && !text.contains('\0')).map(str::to_owned);
        text.or_else(|| value.expected("a path"))
    };
    Some(value.list_or_empty("a list of paths")?.iter().filter_map(path).collect())
}

fn variables(value: &Value<'_>) -> Option<Vec<String>> {
    Some(value.list_or_empty("a list of names of environment variables")?.iter().filter_map(variable).collect())
}

pub(super) fn variable(value: &Value<'_>) -> Option<String> {
    let name = value.as_str().filter(|name| !name.is_empty() && !name.contains(['=', '\0'])).map(str::to_owned);
    name.or_else(|| value.expected("the name of an environment variable"))
}
