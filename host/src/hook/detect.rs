//! Which host calls, by what it sends. `--host` says it more surely.

use super::Host;
use super::fields::Fields;

/// The host, or `None` where this is not the call of a known one.
pub fn detect(fields: &Fields<'_>) -> Option<Host> {
    let event = fields.name(&["hook_event_name"]).unwrap_or_default();
    let gemini = ["AfterAgent", "BeforeAgent", "AfterTool", "BeforeTool", "AfterModel", "BeforeModel"];
    if fields.has("conversation_id") && fields.has("generation_id") {
        Some(Host::Cursor)
    } else if gemini.contains(&event.as_str()) {
        Some(Host::Gemini)
    } else if fields.has("turn_id") {
        Some(Host::Codex)
    } else if fields.has("sessionId") {
        Some(Host::Copilot)
    } else if event.is_empty() || !fields.has("session_id") {
        None
    } else if fields.has("timestamp") && fields.has("stop_reason") {
        Some(Host::Copilot)
    } else if fields.has("timestamp") && !fields.has("permission_mode") {
        // Copilot's other spelling, Qwen, or the start of a Gemini session: their answers are the same.
        Some(if fields.has("last_assistant_message") { Host::Qwen } else { Host::Copilot })
    } else {
        Some(Host::Claude)
    }
}
