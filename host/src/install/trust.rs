//! Finds out whether Codex trusts a hook. Codex runs a project's hook only if its settings contain a hash of the hook, and
//! otherwise skips it silently.

use super::hosts::Handler;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Whether a hook is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is.
    Trusted,
    /// It was, and has been changed since.
    Changed,
    /// It never was.
    Unknown,
    /// It is, and was switched off.
    Off,
    /// It is, and the project is not.
    Project,
}

/// Returns the name of an event in Codex's settings.
fn event_name(event: &str) -> String {
    let mut name = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// Returns the key and the hash under which Codex stores its trust in a hook.
pub fn trusted_line(hooks_file: &Path, handler: &Handler) -> (String, String) {
    let event = event_name(&handler.event);
    let (group, number) = handler.place;
    let key = format!("{}:{event}:{group}:{number}", hooks_file.display());
    let timeout = handler.timeout.unwrap_or(600);
    // Codex hashes the compact JSON with sorted keys; serde_json's objects are sorted.
    let hook = json!({ "async": false, "command": handler.command, "timeout": timeout, "type": "command" });
    let identity = json!({ "event_name": event, "hooks": [hook] });
    (key, format!("sha256:{}", crate::text::hex(&Sha256::digest(identity.to_string()))))
}

/// Returns whether these settings of Codex (`config.toml`) trust a hook.
pub fn trust_of(config: &str, hooks_file: &Path, handler: &Handler) -> Trust {
    let (key, hash) = trusted_line(hooks_file, handler);
    let Ok(config) = toml::from_str::<toml::Table>(config) else { return Trust::Unknown };
    let state = config.get("hooks").and_then(|hooks| hooks.get("state")).and_then(|state| state.get(&key));
    let project = hooks_file.parent().and_then(Path::parent).unwrap_or(Path::new("")).to_string_lossy();
    let project = config.get("projects").and_then(|projects| projects.get(&*project));
    let is_trusted =
        project.and_then(|project| project.get("trust_level")).and_then(toml::Value::as_str) == Some("trusted");
    let is_off = state.and_then(|state| state.get("enabled")).and_then(toml::Value::as_bool) == Some(false);
    match state.and_then(|state| state.get("trusted_hash")).and_then(toml::Value::as_str) {
        None => Trust::Unknown,
        Some(known) if known != hash => Trust::Changed,
        Some(_) if is_off => Trust::Off,
        Some(_) if !is_trusted => Trust::Project,
        Some(_) => Trust::Trusted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_trusted_by_the_hash_of_what_it_does() {
        let file = Path::new("/w/.codex/hooks.json");
        let mut handler =
            Handler { event: "Stop".into(), place: (0, 0), command: "/opt/gate hook".into(), timeout: Some(600) };
        let (key, hash) = trusted_line(file, &handler);
        assert_eq!(key, "/w/.codex/hooks.json:stop:0:0");
        let config = format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n");
        assert_eq!(trust_of(&config, file, &handler), Trust::Project);
        assert_eq!(trust_of(&format!("{config}enabled = false\n"), file, &handler), Trust::Off);
        let config = format!("{config}[projects.\"/w\"]\ntrust_level = \"trusted\"\n");
        assert_eq!(trust_of(&config, file, &handler), Trust::Trusted);
        handler.command.push_str(" --typo");
        assert_eq!(trust_of(&config, file, &handler), Trust::Changed);
        assert_eq!(trust_of("", file, &handler), Trust::Unknown);
        assert_eq!(event_name("SessionStart"), "session_start");
    }
}
