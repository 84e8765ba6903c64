//! `[command.*]` and `[model.*]`: what a check can be granted by name.

use super::check::must_be_declared;
use super::read::{Table, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};
use std::time::Duration;

/// How long a command may run, and how long if nothing else is said.
pub(crate) const COMMAND_TIMEOUT: (Duration, Duration) = (Duration::from_secs(2 * 60), Duration::from_secs(5 * 60));
/// How long a model may take, and how long if nothing else is said.
pub(crate) const MODEL_TIMEOUT: (Duration, Duration) = (Duration::from_secs(3 * 60), Duration::from_secs(10 * 60));

/// What a command may do to the files of the work.
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
    /// The folder that it runs in, relative to the root of the work.
    pub cwd: Option<String>,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may do to the files of the work.
    pub workspace: Access,
    /// What it sees besides: paths, relative to the root of the work or to the home (`~/`).
    pub read: Vec<String>,
    /// What it may change besides: paths as above. A folder inside the work is made if it is not there.
    pub write: Vec<String>,
    /// The least confinement.
    pub min_sandbox: Sandbox,
}

/// How a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// The Anthropic API.
    Anthropic,
    /// The OpenAI API, or a compatible server.
    Openai,
    /// A command of the configuration.
    Command,
}

/// A model that checks can be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Model {
    /// How it is asked.
    pub api: Api,
    /// Which model; present unless the API is a command.
    pub model: Option<String>,
    /// The name of the environment variable that holds the key.
    pub key_env: Option<String>,
    /// Where the API is, if not at its usual address.
    pub url: Option<String>,
    /// The command; present exactly when the API is one.
    pub command: Option<String>,
    /// The most tokens of one answer.
    pub max_tokens: u32,
    /// The most questions of one run.
    pub max_requests: u32,
    /// How long an answer may take.
    #[serde(rename = "timeout_ms", serialize_with = "crate::config::milliseconds")]
    pub timeout: Duration,
    /// Whether it must be another model than the one that did the work.
    pub distinct: bool,
}

pub(super) fn read(mut table: Table<'_>) -> Command {
    let run = table.need("run", "the program and its arguments, such as `[\"cargo\", \"test\"]`");
    let run = run.and_then(|value| {
        let list = value.list("the program and its arguments")?;
        let argument = |value: &Value<'_>| {
            let text = value.as_str().filter(|text| !text.contains('\0')).map(str::to_owned);
            text.or_else(|| value.expected("a text without NUL"))
        };
        list.first()?.text("a program")?;
        Some(list.iter().filter_map(argument).collect())
    });
    let env = table.get("env").and_then(|value| variables(&value));
    let cwd = table.get("cwd").and_then(|value| {
        let text = value.text("a folder")?;
        let inside = Path::new(&text).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if inside { Some(text) } else { value.expected("a folder inside the work") }
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

pub(super) fn read_model(mut table: Table<'_>, commands: &BTreeMap<String, Command>) -> Model {
    let apis = [("anthropic", Api::Anthropic), ("openai", Api::Openai), ("command", Api::Command)];
    let api = table.need("api", "`anthropic`, `openai` or `command`").and_then(|value| value.word(&apis));
    let by_command = api == Some(Api::Command);
    let [model, key_env, url, command] = ["model", "key_env", "url", "command"].map(|key| table.get(key));
    match (by_command, &command) {
        (true, None) => table.here.problem("expected `command`: the name of a `[command.NAME]`"),
        (false, Some(command)) if api.is_some() => {
            command.problem("expected `command` only beside `api = \"command\"`")
        }
        _ => {}
    }
    if by_command {
        for (key, value) in [("key_env", &key_env), ("url", &url)] {
            if let Some(value) = value {
                value.problem(format!("expected no `{key}` beside `api = \"command\"`"));
            }
        }
    } else if api.is_some() && model.is_none() {
        table.here.problem("expected `model`: the name that the API gives it");
    }
    let model = Model {
        api: api.unwrap_or(Api::Command),
        model: model.and_then(|value| value.text("the name that the API gives the model")),
        key_env: key_env.and_then(|value| variable(&value)),
        url: url.and_then(|value| {
            let known = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
            let url = value.as_str().filter(known).map(str::to_owned);
            url.or_else(|| value.expected("an address that starts with `https://` or `http://`"))
        }),
        command: command.filter(|_| by_command).and_then(|value| {
            let name = value.text("the name of a `[command.NAME]`")?;
            must_be_declared(&value, "command", &name, commands);
            Some(name)
        }),
        max_tokens: table.get("max_tokens").and_then(|value| value.small(1..=1_000_000)).unwrap_or(4_096),
        max_requests: table.get("max_requests").and_then(|value| value.small(1..=1_000)).unwrap_or(16),
        timeout: timeout(&mut table, MODEL_TIMEOUT),
        distinct: table.get("distinct").and_then(|value| value.flag()).unwrap_or(false),
    };
    table.finish();
    model
}

fn timeout(table: &mut Table<'_>, (default, max): (Duration, Duration)) -> Duration {
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

fn variable(value: &Value<'_>) -> Option<String> {
    let name = value.as_str().filter(|name| !name.is_empty() && !name.contains(['=', '\0'])).map(str::to_owned);
    name.or_else(|| value.expected("the name of an environment variable"))
}
