//! Gemini CLI: `AfterAgent` is its stop. It forgets `stop_hook_active` after a tool call and has no bound of its own.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, HookEvent};
use serde_json::json;
use sha2::{Digest, Sha256};

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    let event = match name.as_str() {
        "SessionStart" => HookEvent::Start,
        "AfterTool" => HookEvent::Tool,
        "BeforeAgent"
        | "BeforeTool"
        | "BeforeModel"
        | "AfterModel"
        | "BeforeToolSelection"
        | "SessionEnd"
        | "PreCompress"
        | "Notification" => HookEvent::Other,
        _ => HookEvent::Stop,
    };
    let mut call = fields.call(AgentHost::Gemini, event, name);
    // The prompt stays the user's, however often the agent is sent back.
    call.turn = fields.text(&["prompt"]).map(|prompt| crate::text::hex(&Sha256::digest(prompt)));
    call
}

pub(super) fn answer(call: &Call, decision: &Decision) -> Answer {
    Answer::json(&match decision {
        Decision::Allow => json!({}),
        // A denied tool would hide what it answered.
        Decision::Block(reason) if call.event == HookEvent::Tool => {
            let context = json!({ "hookEventName": "AfterTool", "additionalContext": bounded(reason) });
            json!({ "hookSpecificOutput": context })
        }
        Decision::Block(reason) => json!({ "decision": "deny", "reason": bounded(reason) }),
        Decision::Release(message) => json!({ "systemMessage": bounded(message) }),
    })
}
