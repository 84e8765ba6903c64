//! `[command.*]`: commands that a check can be granted by name.

use super::read::{Table, TomlValue};
use serde::Serialize;
use std::fmt;
use std::path::{Component, Path};
use std::time::Duration;

/// The default and the longest time limit of a command.
pub(crate) const COMMAND_TIMEOUT: (Duration, Duration) = (Duration::from_secs(2 * 60), Duration::from_secs(60 * 60));

/// An argument of `run` that stands for the files of the check.
pub const FILES: &str = "{files}";

/// How a command may access the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Read them.
    #[default]
    ReadOnly,
    /// Read and change them.
    ReadWrite,
}

/// The minimum sandbox level of a command. A command runs at the highest level that the machine supports, or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// No sandbox.
    #[default]
    None,
    /// Landlock.
    Landlock,
    /// Namespaces.
    Namespaces,
}

impl SandboxLevel {
    /// Returns the word used in the configuration and in every report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
        }
    }
}

impl fmt::Display for SandboxLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A command that checks can be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandConfig {
    /// The program and its arguments; empty if they come from the task.
    pub run: Vec<String>,
    /// With `from = "task"`, the patterns of allowed commands: the verify command of the task is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_task: Option<Vec<String>>,
    /// The time limit.
    #[serde(rename = "timeout_ms", serialize_with = "crate::config::milliseconds")]
    pub timeout: Duration,
    /// The names of the environment variables that the command sees.
    pub env: Vec<String>,
    /// The folder that it runs in, relative to the root of the workspace.
    pub cwd: Option<String>,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may do to the files of the workspace.
    pub workspace: Access,
    /// Other paths that the command may read: relative to the root of the workspace, or to the home folder (`~/`).
    pub read: Vec<String>,
    /// Other paths that the command may write. A missing folder inside the workspace is created.
    pub write: Vec<String>,
    /// The minimum sandbox level.
    pub min_sandbox: SandboxLevel,
    /// Whether the command fixes files: it runs in a copy of the workspace, and its changes become findings with fixes.
    pub fixes: bool,
}

impl CommandConfig {
    /// Returns whether the command gets the files of the check as arguments.
    pub fn takes_files(&self) -> bool {
        self.run.iter().any(|argument| argument == FILES)
    }
}

pub(super) fn read(table: Table<'_>) -> CommandConfig {
    read_with(table, COMMAND_TIMEOUT)
}

/// Reads a command with this default and longest time limit.
pub(super) fn read_with(mut table: Table<'_>, timeouts: (Duration, Duration)) -> CommandConfig {
    let from_task = from_task(&mut table);
    let run = match &from_task {
        None => table.need("run", "the program and its arguments, such as `[\"cargo\", \"test\"]`"),
        Some(_) => {
            if let Some(run) = table.get("run") {
                run.problem("expected no `run` beside `from = \"task\"`: the command is that of the task");
            }
            None
        }
    };
    let run = run.and_then(|value| {
        if let Some(line) = value.as_str() {
            return as_list(&value, line);
        }
        let list = value.list("the program and its arguments")?;
        let argument = |value: &TomlValue<'_>| {
            let text = value.as_str().filter(|text| !text.contains('\0')).map(str::to_owned);
            if text.as_ref().is_some_and(|text| text.contains(FILES) && text != FILES) {
                let hint = format!("put it on its own, such as in `[\"lint\", \"{FILES}\"]`");
                value.problem_with(format!("expected `{FILES}` as a separate argument, found {}", value.found()), hint);
            }
            text.or_else(|| value.expected("a string without NUL"))
        };
        list.first()?.text("a program")?;
        if list.first()?.as_str() == Some(FILES) {
            list.first()?.problem(format!("expected a program, found `{FILES}`"));
        }
        for twice in list.iter().filter(|value| value.as_str() == Some(FILES)).skip(1) {
            twice.problem(format!("expected `{FILES}` once"));
        }
        Some(list.iter().filter_map(argument).collect())
    });
    let env = table.get("env").and_then(|value| variables(&value));
    let cwd = table.get("cwd").and_then(|value| {
        let text = value.text("a folder")?;
        let inside = Path::new(&text).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if inside { Some(text) } else { value.expected("a folder inside the workspace") }
    });
    let access = [("read-only", Access::ReadOnly), ("read-write", Access::ReadWrite)];
    let sandboxes =
        [("none", SandboxLevel::None), ("landlock", SandboxLevel::Landlock), ("namespaces", SandboxLevel::Namespaces)];
    let command = CommandConfig {
        run: run.unwrap_or_default(),
        from_task,
        timeout: timeout(&mut table, timeouts),
        env: env.unwrap_or_default(),
        cwd,
        network: table.get("network").and_then(|value| value.flag()).unwrap_or(false),
        workspace: table.get("workspace").and_then(|value| value.word(&access)).unwrap_or_default(),
        read: table.get("read").and_then(|value| paths(&value)).unwrap_or_default(),
        write: table.get("write").and_then(|value| paths(&value)).unwrap_or_default(),
        min_sandbox: table.get("min_sandbox").and_then(|value| value.word(&sandboxes)).unwrap_or_default(),
        fixes: false,
    };
    let fixes = table.get("fixes").and_then(|value| Some((value.flag()?, value)));
    if let Some((true, value)) = &fixes
        && command.workspace == Access::ReadWrite
    {
        let hint = "drop `workspace`: a command that fixes runs in a copy, where it may write";
        value.problem_with(
            "expected a command that only reads the workspace, found `workspace = \"read-write\"`",
            hint.to_owned(),
        );
    }
    let command = CommandConfig { fixes: fixes.is_some_and(|(fixes, _)| fixes), ..command };
    table.finish();
    command
}

/// Reads `from = "task"` and the patterns of allowed commands.
fn from_task(table: &mut Table<'_>) -> Option<Vec<String>> {
    let from = table.get("from").map(|value| value.word(&[("task", ())]));
    let allow = table.get("allow");
    if from.is_none() {
        if let Some(allow) = allow {
            allow.problem("expected `allow` only beside `from = \"task\"`");
        }
        return None;
    }
    let Some(allow) = allow else {
        table.here.problem("expected `allow`: the commands that a task may name, such as `[\"npm test -- *\"]`");
        return Some(Vec::new());
    };
    let patterns = allow.list("a list of commands such as `[\"npm test -- *\"]`").unwrap_or_default();
    Some(patterns.iter().filter_map(|value| value.text("a command such as `npm test -- *`")).collect())
}

/// Reports a command line that must be a list, and shows the list.
fn as_list(value: &TomlValue<'_>, line: &str) -> Option<Vec<String>> {
    let words =
        super::words(line).ok().map(|words| serde_json::Value::from(words).to_string().replace("\",\"", "\", \""));
    let hint = words.map(|words| format!("write `run = {words}`; for a shell, `run = [\"sh\", \"-c\", \"…\"]`"));
    let message = format!("expected a list of the program and its arguments, found {}", value.found());
    value.problem_with(message, hint);
    None
}

pub(super) fn timeout(table: &mut Table<'_>, (default, max): (Duration, Duration)) -> Duration {
    table.get("timeout").and_then(|value| value.duration_up_to(max)).unwrap_or(default)
}

fn paths(value: &TomlValue<'_>) -> Option<Vec<String>> {
    let path = |value: &TomlValue<'_>| {
        let text = value.as_str().filter(|text| !text.is_empty() && !text.contains('\0')).map(str::to_owned);
        text.or_else(|| value.expected("a path"))
    };
    Some(value.list_or_empty("a list of paths")?.iter().filter_map(path).collect())
}

fn variables(value: &TomlValue<'_>) -> Option<Vec<String>> {
    Some(value.list_or_empty("a list of names of environment variables")?.iter().filter_map(variable).collect())
}

pub(super) fn variable(value: &TomlValue<'_>) -> Option<String> {
    let name = value.as_str().filter(|name| !name.is_empty() && !name.contains(['=', '\0'])).map(str::to_owned);
    name.or_else(|| value.expected("the name of an environment variable"))
}
