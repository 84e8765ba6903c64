//! Detects the host from its message. `--host` is more reliable.

use super::AgentHost;
use super::fields::Fields;

/// Returns the host, or `None` if the call is not from a known one.
pub fn detect(fields: &Fields<'_>) -> Option<AgentHost> {
    let event = fields.name(&["hook_event_name"]).unwrap_or_default();
    let gemini = ["AfterAgent", "BeforeAgent", "AfterTool", "BeforeTool", "AfterModel", "BeforeModel"];
    if fields.has("conversation_id") && fields.has("generation_id") {
        Some(AgentHost::Cursor)
    } else if gemini.contains(&event.as_str()) {
        Some(AgentHost::Gemini)
    } else if fields.has("turn_id") {
        Some(AgentHost::Codex)
    } else if fields.has("sessionId") {
        Some(AgentHost::Copilot)
    } else if event.is_empty() || !fields.has("session_id") {
        None
    } else if fields.has("timestamp") && fields.has("stop_reason") {
        Some(AgentHost::Copilot)
    } else if fields.has("timestamp") && !fields.has("permission_mode") {
        // Copilot's other spelling, Qwen, or the start of a Gemini session: their answers are the same.
        Some(if fields.has("last_assistant_message") { AgentHost::Qwen } else { AgentHost::Copilot })
    } else {
        Some(AgentHost::Claude)
    }
}
