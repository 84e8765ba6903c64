//! Reads the fields of a call tolerantly: a field of the wrong type counts as missing. It is never an error, which would
//! keep a gate from running.

use super::{AgentHost, Call, HookEvent};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Characters of an identifier, and of a text that is handed on.
const MAX_NAME: usize = 400;
const MAX_TEXT: usize = 1 << 20;

/// The object that a host sent.
pub struct Fields<'v>(&'v Map<String, Value>);

impl<'v> Fields<'v> {
    pub(super) fn new(value: &'v Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    fn value(&self, names: &[&str]) -> Option<&'v Value> {
        names.iter().filter_map(|name| self.0.get(*name)).find(|value| !value.is_null())
    }

    /// Returns the text under the first of these names that has one.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let text = self.value(names)?.as_str()?;
        (!text.is_empty()).then(|| text.chars().take(MAX_TEXT).collect())
    }

    /// Returns an identifier.
    pub(super) fn name(&self, names: &[&str]) -> Option<String> {
        self.text(names).map(|text| text.chars().take(MAX_NAME).collect())
    }

    pub(super) fn flag(&self, names: &[&str]) -> bool {
        self.value(names).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// Returns an absolute path.
    pub(super) fn path(&self, names: &[&str]) -> Option<PathBuf> {
        let path = PathBuf::from(self.text(names)?);
        (path.is_absolute() && !path.as_os_str().as_encoded_bytes().contains(&0)).then_some(path)
    }

    pub(super) fn list(&self, name: &str) -> &'v [Value] {
        self.0.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn object(&self, names: &[&str]) -> Option<Fields<'v>> {
        self.value(names).and_then(Fields::new)
    }

    /// Returns the call with the fields that all hosts have. A subagent has a budget of its own.
    pub(super) fn call(&self, host: AgentHost, event: HookEvent, name: String) -> Call {
        let session = self.name(&["session_id", "sessionId", "conversation_id"]);
        let helper = self.name(&["agent_id", "agentId"]).map(|helper| format!("/{helper}")).unwrap_or_default();
        let tool = self.object(&["tool_input", "toolArgs"]);
        let file = tool.and_then(|tool| tool.path(&["file_path", "absolute_path", "notebook_path", "path"]));
        Call {
            session: session.map(|session| session + &helper),
            folder: self.path(&["cwd"]),
            transcript: self.path(&["agent_transcript_path", "transcript_path", "transcriptPath"]),
            claim: self.text(&["last_assistant_message", "prompt_response", "response"]),
            model: self.name(&["model"]),
            prompt: self.text(&["prompt"]),
            files: file.into_iter().collect(),
            active: self.flag(&["stop_hook_active"]),
            name,
            event,
            ..Call::of(host)
        }
    }
}
