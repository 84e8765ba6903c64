//! The settings with which each host calls `gate hook`, and its timeouts.

use super::quoted;
use crate::environment::Environment;
use crate::hook::AgentHost;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How long hosts are told to wait, in seconds.
const TIMEOUT: u64 = 600;
/// How long before that the hook answers.
const MARGIN: u64 = 30;

/// Returns the file with a host's settings, relative to the root of the project.
pub fn settings_file(host: AgentHost) -> &'static str {
    match host {
        // Not the shared file: the path of the program is that of this machine.
        AgentHost::Claude => ".claude/settings.local.json",
        AgentHost::Codex => ".codex/hooks.json",
        AgentHost::Gemini => ".gemini/settings.json",
        AgentHost::Qwen => ".qwen/settings.json",
        AgentHost::Copilot => ".github/hooks/gate.json",
        AgentHost::Cursor => ".cursor/hooks.json",
    }
}

/// Returns every file that can contain settings of a host for a project: the project's, and the user's.
pub fn settings_files(host: AgentHost, root: &Path, environment: &Environment) -> Vec<PathBuf> {
    let names: &[&str] = match host {
        AgentHost::Claude => &[".claude/settings.json", ".claude/settings.local.json"],
        AgentHost::Gemini => &[".gemini/settings.json"],
        AgentHost::Qwen => &[".qwen/settings.json"],
        AgentHost::Codex => &[".codex/config.toml"],
        AgentHost::Copilot | AgentHost::Cursor => &[],
    };
    let folders = [Some(root.to_owned()), environment.home()];
    folders.into_iter().flatten().flat_map(|folder| names.iter().map(move |name| folder.join(name))).collect()
}

/// Returns the setting in this text that makes a host skip hooks silently, if there is one.
pub fn switched_off(host: AgentHost, text: &str) -> Option<String> {
    if host == AgentHost::Codex {
        let config = toml::from_str::<toml::Table>(text).ok()?;
        let off =
            |name: &&str| config.get("features").and_then(|features| features.get(name)?.as_bool()) == Some(false);
        return ["hooks", "codex_hooks"].iter().find(|name| off(name)).map(|name| format!("features.{name} = false"));
    }
    let settings = super::settings_value(text)?;
    if settings["disableAllHooks"] == true {
        return Some("disableAllHooks".to_owned());
    }
    let config = &settings["hooksConfig"];
    if config["enabled"] == false {
        return Some("hooksConfig.enabled".to_owned());
    }
    let disabled = config["disabled"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_ours = |name: &&str| *name == "gate" || is_ours(name, host);
    disabled.into_iter().find(is_ours).map(|_| "hooksConfig.disabled".to_owned())
}

/// Returns the program of a host, and the version that its adapter was tested with, if it was tested with a real one.
pub fn client(host: AgentHost) -> (&'static str, Option<&'static str>) {
    match host {
        AgentHost::Claude => ("claude", None),
        AgentHost::Codex => ("codex", Some("0.166.0")),
        AgentHost::Gemini => ("gemini", Some("0.61.0")),
        AgentHost::Qwen => ("qwen", Some("0.15.10")),
        AgentHost::Copilot => ("copilot", None),
        AgentHost::Cursor => ("cursor-agent", None),
    }
}

/// Returns whether something is verified at an event.
pub fn verifies(event: &str) -> bool {
    !matches!(event, "SessionStart" | "sessionStart" | "UserPromptSubmit")
}

/// Returns the host's name of the event at which its agent wants to stop.
pub fn stop_event(host: AgentHost) -> &'static str {
    match host {
        AgentHost::Claude | AgentHost::Codex | AgentHost::Qwen => "Stop",
        AgentHost::Gemini => "AfterAgent",
        AgentHost::Copilot => "agentStop",
        AgentHost::Cursor => "stop",
    }
}

/// Returns the command that a host runs.
pub fn command_line(host: AgentHost, gate: &Path) -> String {
    let gate = quoted(&gate.to_string_lossy());
    // The timeout of Cursor is not documented, so the hook uses a short deadline.
    let deadline = if host == AgentHost::Cursor { String::new() } else { format!(" --deadline {}", TIMEOUT - MARGIN) };
    format!("{gate} hook --host {}{deadline}", host.as_str())
}

/// Returns whether a command is one that [`command_line`] writes for this host, whatever the path of the program is.
pub(super) fn is_ours(command: &str, host: AgentHost) -> bool {
    let Some((_, rest)) = command.split_once(" hook --host ") else { return false };
    let name = program(command).and_then(|program| program.rsplit('/').next().map(str::to_owned));
    name.as_deref() == Some("gate") && rest.split(' ').next() == Some(host.as_str())
}

/// Returns the program of a command that [`command_line`] wrote.
pub fn program(command: &str) -> Option<String> {
    let (program, _) = command.split_once(" hook --host ")?;
    let inner = program.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')).unwrap_or(program);
    Some(inner.replace(r"'\''", "'").trim_matches('"').to_owned())
}

/// Returns the entries of the settings: each event with its handler.
pub(super) fn entries(host: AgentHost, gate: &Path) -> Vec<(&'static str, Value)> {
    let command = command_line(host, gate);
    let group = |handler: Value| json!({ "hooks": [handler] });
    match host {
        AgentHost::Claude => {
            let handler = json!({ "type": "command", "command": command, "timeout": TIMEOUT });
            let mut edits = group(handler.clone());
            edits["matcher"] = json!("Edit|MultiEdit|Write");
            let mut entries: Vec<(&str, Value)> =
                ["SessionStart", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"]
                    .into_iter()
                    .map(|event| (event, group(handler.clone())))
                    .collect();
            entries.push(("PostToolUse", edits));
            entries
        }
        AgentHost::Codex => {
            let handler = json!({ "type": "command", "command": command, "timeout": TIMEOUT });
            ["SessionStart", "Stop", "SubagentStop"].into_iter().map(|event| (event, group(handler.clone()))).collect()
        }
        AgentHost::Gemini => {
            let handler = json!({ "type": "command", "name": "gate", "command": command, "timeout": TIMEOUT * 1_000 });
            ["SessionStart", "AfterAgent"].into_iter().map(|event| (event, group(handler.clone()))).collect()
        }
        AgentHost::Qwen => {
            let handler = json!({ "type": "command", "name": "gate", "command": command, "timeout": TIMEOUT * 1_000 });
            let events = ["SessionStart", "UserPromptSubmit", "Stop"];
            events.into_iter().map(|event| (event, group(handler.clone()))).collect()
        }
        AgentHost::Copilot => {
            let handler = json!({ "type": "command", "bash": command, "timeoutSec": TIMEOUT });
            let events = ["sessionStart", "agentStop", "subagentStop"];
            events.into_iter().map(|event| (event, handler.clone())).collect()
        }
        AgentHost::Cursor => {
            // The timeout of the host must be longer than the deadline of the hook.
            let stop = json!({ "command": command, "loop_limit": 25 });
            vec![("sessionStart", json!({ "command": command })), ("stop", stop.clone()), ("subagentStop", stop)]
        }
    }
}

/// Returns the other entries that the settings need.
pub(super) fn root_entries(host: AgentHost) -> &'static [(&'static str, u32)] {
    match host {
        AgentHost::Copilot | AgentHost::Cursor => &[("version", 1)],
        _ => &[],
    }
}

/// Returns notes for the user.
pub(super) fn notes(host: AgentHost, root: &Path) -> Vec<String> {
    match host {
        AgentHost::Codex => vec![format!(
            "Codex runs a project's hook only after you trust it, and skips it silently until then: open Codex in `{}` and \
             use `/hooks`; `gate doctor` says whether it is trusted",
            root.display()
        )],
        AgentHost::Gemini => vec!["Gemini CLI runs a project's hooks only in a trusted folder".to_owned()],
        AgentHost::Cursor => {
            vec!["Cursor's cloud agents run no stop hooks: run `gate` in CI too (`gate install github`)".to_owned()]
        }
        AgentHost::Claude | AgentHost::Qwen | AgentHost::Copilot => Vec::new(),
    }
}

/// A hook of ours in the settings of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The event.
    pub event: String,
    /// Its number among the groups of the event, and within the group.
    pub place: (usize, usize),
    /// The command.
    pub command: String,
    /// The timeout of the host in seconds, if the settings have one.
    pub timeout: Option<u64>,
}

/// Returns how long a host waits for a handler, in seconds.
pub fn timeout(host: AgentHost, handler: &Handler) -> u64 {
    handler.timeout.unwrap_or(match host {
        AgentHost::Claude | AgentHost::Codex => 600,
        AgentHost::Gemini | AgentHost::Qwen => 60,
        AgentHost::Copilot | AgentHost::Cursor => 30,
    })
}

/// Returns the deadline that a command gives itself, in seconds.
pub fn deadline(host: AgentHost, command: &str) -> u64 {
    let said = command.split_once(" --deadline ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    said.unwrap_or_else(|| host.deadline().as_secs())
}

/// Returns our hooks in parsed settings.
pub fn handlers(host: AgentHost, settings: &Value) -> Vec<Handler> {
    let mut found = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        for (group_number, group) in groups.as_array().into_iter().flatten().enumerate() {
            let inner = group["hooks"].as_array().map(Vec::as_slice);
            for (number, handler) in inner.unwrap_or(std::slice::from_ref(group)).iter().enumerate() {
                let command = [&handler["command"], &handler["bash"]].into_iter().find_map(Value::as_str);
                let Some(command) = command.filter(|command| is_ours(command, host)) else { continue };
                let seconds = match host {
                    AgentHost::Gemini | AgentHost::Qwen => {
                        handler["timeout"].as_u64().map(|milliseconds| milliseconds / 1_000)
                    }
                    AgentHost::Copilot => handler["timeoutSec"].as_u64(),
                    _ => handler["timeout"].as_u64(),
                };
                let place = (group_number, number);
                found.push(Handler { event: event.clone(), place, command: command.to_owned(), timeout: seconds });
            }
        }
    }
    found
}
