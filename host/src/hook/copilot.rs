//! GitHub Copilot: JSON only, since it takes exit code 2 for a warning. Two spellings, by the configuration.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, HookEvent, claude};
use serde_json::json;

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    let event = match name.as_str() {
        "" if fields.has("toolName") && fields.has("toolResult") => HookEvent::Tool,
        "" if fields.has("toolName") => HookEvent::Other,
        "" if fields.has("stopReason") || fields.has("agentId") => HookEvent::Stop,
        "" if fields.has("source") || fields.has("initialPrompt") => HookEvent::Start,
        "" if fields.has("prompt") => HookEvent::Prompt,
        "" => HookEvent::Stop,
        name => claude::event(name),
    };
    fields.call(AgentHost::Copilot, event, name)
}

pub(super) fn answer(_: &Call, decision: &Decision) -> Answer {
    match decision {
        Decision::Allow => Answer::json(&json!({})),
        Decision::Block(reason) => Answer::json(&json!({ "decision": "block", "reason": bounded(reason) })),
        // It has no field for the user; its log shows this.
        Decision::Release(message) => Answer { stderr: bounded(message), ..Answer::json(&json!({})) },
    }
}
