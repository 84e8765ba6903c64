//! GitHub Copilot: JSON only, since it takes exit code 2 for a warning. Two spellings, by the configuration.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, Event, claude};
use serde_json::json;

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    let event = match name.as_str() {
        "" if fields.has("toolName") && fields.has("toolResult") => Event::Tool,
        "" if fields.has("toolName") => Event::Other,
        "" if fields.has("stopReason") || fields.has("agentId") => Event::Stop,
        "" if fields.has("source") || fields.has("initialPrompt") => Event::Start,
        "" if fields.has("prompt") => Event::Prompt,
        "" => Event::Stop,
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
