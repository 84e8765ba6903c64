//! Edits the JSON settings of a host: adds, updates and removes what is ours, and keeps everything else as it is written.

use super::hosts::is_ours;
use crate::error::Error;
use crate::hook::AgentHost;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// Returns the settings with these entries, each of them once.
pub(super) fn merged(
    text: Option<&str>,
    entries: &[(&str, Value)],
    root_entries: &[(&str, u32)],
    host: AgentHost,
) -> Result<String, Error> {
    let is_new = text.is_none_or(|text| text.trim().is_empty());
    let root = parse(if is_new { "{}\n" } else { text.unwrap_or_default() })?;
    let settings = object(root.object_value(), "an object")?;
    for (name, number) in root_entries {
        if settings.get(name).is_none() {
            settings.append(name, CstInputValue::Number(number.to_string()));
        }
    }
    let hooks = match settings.get("hooks") {
        None => settings.object_value_or_set("hooks"),
        Some(hooks) => object(hooks.object_value(), "`hooks` to be an object")?,
    };
    for (event, entry) in entries {
        let groups = match hooks.get(event) {
            None => hooks.array_value_or_set(event),
            Some(groups) => groups.array_value().ok_or_else(|| expected(&format!("`hooks.{event}` to be a list")))?,
        };
        let existing: Vec<CstNode> = groups.elements().into_iter().filter(|group| holds_ours(group, host)).collect();
        if existing.len() == 1 && existing[0].to_serde_value().as_ref() == Some(entry) {
            continue;
        }
        remove_ours(&groups, host);
        groups.append(input(entry));
    }
    let mut text = root.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Returns the settings without our entries, or `None` if nothing else is left.
pub(super) fn without(text: &str, host: AgentHost) -> Result<Option<String>, Error> {
    let root = parse(text)?;
    let Some(settings) = root.object_value() else { return Ok(Some(text.to_owned())) };
    let Some(hooks) = settings.object_value("hooks") else { return Ok(Some(text.to_owned())) };
    let mut removed = false;
    for event in hooks.properties() {
        let Some(groups) = event.array_value() else { continue };
        removed |= remove_ours(&groups, host);
        if groups.elements().is_empty() {
            event.remove();
        }
    }
    if !removed {
        return Ok(Some(text.to_owned()));
    }
    if hooks.properties().is_empty()
        && let Some(hooks) = settings.get("hooks")
    {
        hooks.remove();
    }
    let left = settings.properties();
    let only_version = left.iter().all(|property| property.decoded_name().as_deref() == Some("version"));
    Ok(if only_version { None } else { Some(root.to_string()) })
}

/// Returns the settings as a value, without comments; `None` if they are not valid.
pub fn value(text: &str) -> Option<Value> {
    parse(text).ok()?.to_serde_value()
}

fn parse(text: &str) -> Result<CstRootNode, Error> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| Error::input(format_args!("it is not valid JSON: {error}")).hint("repair it first".to_owned()))
}

fn object(found: Option<CstObject>, what: &str) -> Result<CstObject, Error> {
    found.ok_or_else(|| expected(what))
}

fn expected(what: &str) -> Error {
    Error::input(format_args!("expected {what}, found something else"))
}

/// Returns whether an entry of a list, which is a group of handlers or a handler, is or contains one of ours.
fn holds_ours(entry: &CstNode, host: AgentHost) -> bool {
    let is = |value: &Value| {
        let command = [&value["command"], &value["bash"]].into_iter().find_map(Value::as_str);
        command.is_some_and(|command| is_ours(command, host))
    };
    let Some(value) = entry.to_serde_value() else { return false };
    is(&value) || value["hooks"].as_array().into_iter().flatten().any(is)
}

/// Removes our handlers from a list; a group that holds others keeps them.
fn remove_ours(groups: &CstArray, host: AgentHost) -> bool {
    let mut removed = false;
    for group in groups.elements().into_iter().filter(|group| holds_ours(group, host)) {
        removed = true;
        let inner = group.as_object().and_then(|group| group.array_value("hooks"));
        if let Some(inner) = &inner {
            for handler in inner.elements().into_iter().filter(|handler| holds_ours(handler, host)) {
                handler.remove();
            }
        }
        if inner.is_none_or(|inner| inner.elements().is_empty()) {
            group.remove();
        }
    }
    removed
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entries) => {
            CstInputValue::Object(entries.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hosts::{entries, root_entries};
    use super::*;
    use std::path::Path;

    fn merge(text: Option<&str>, host: AgentHost, gate: &str) -> String {
        merged(text, &entries(host, Path::new(gate)), root_entries(host), host).expect("merged")
    }

    #[test]
    fn installing_twice_is_installing_once_and_a_new_path_replaces_the_old_one() {
        for host in AgentHost::ALL {
            let once = merge(None, *host, "/opt/gate");
            assert_eq!(merge(Some(&once), *host, "/opt/gate"), once, "{host:?}");
            let moved = merge(Some(&once), *host, "/other place/gate");
            assert!(moved.contains("'/other place/gate' hook") && !moved.contains("/opt/gate"), "{host:?}: {moved}");
            assert_eq!(without(&once, *host).expect("removed"), None, "{host:?}");
        }
    }

    #[test]
    fn what_others_wrote_stays_with_its_comments() {
        let text = "{\n  // mine\n  \"model\": \"x\", // best\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] }\n    ]\n  }\n}\n";
        let installed = merge(Some(text), AgentHost::Claude, "/opt/gate");
        for kept in ["// mine", "// best", "say done", "/opt/gate hook --host claude"] {
            assert!(installed.contains(kept), "{kept}: {installed}");
        }
        let removed = without(&installed, AgentHost::Claude).expect("removed").expect("something is left");
        assert!(removed.contains("// mine") && removed.contains("say done") && !removed.contains("gate"), "{removed}");
        // A handler that somebody put into our group stays.
        let mixed = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/a/gate hook --host claude"},{"type":"command","command":"other"}]}]}}"#;
        let removed = without(mixed, AgentHost::Claude).expect("removed").expect("something is left");
        assert!(removed.contains("other") && !removed.contains("gate"), "{removed}");
    }

    #[test]
    fn settings_that_cannot_be_understood_are_not_touched() {
        for text in ["{", "[]", "{\"hooks\": 3}", "{\"hooks\": {\"Stop\": {}}}", "nonsense"] {
            assert!(
                merged(Some(text), &entries(AgentHost::Claude, Path::new("/g/gate")), &[], AgentHost::Claude).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn only_our_commands_are_ours() {
        for (command, ours) in [
            ("/opt/gate hook --host claude --deadline 570", true),
            ("'/a b/gate' hook --host claude", true),
            ("/opt/gate hook --host codex", false),
            ("/opt/gatekeeper hook --host claude", false),
            ("gate run", false),
            ("echo gate hook --host claude", false),
        ] {
            assert_eq!(is_ours(command, AgentHost::Claude), ours, "{command}");
        }
    }
}
