//! Qwen Code: as Claude Code. Its `stop_hook_active` is always true, so only a new prompt renews the budget.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, claude};
use serde_json::json;

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    fields.call(AgentHost::Qwen, claude::event(&name), name)
}

pub(super) fn answer(_: &Call, decision: &Decision) -> Answer {
    Answer::json(&match decision {
        Decision::Allow => json!({}),
        Decision::Block(reason) => json!({ "decision": "block", "reason": bounded(reason) }),
        Decision::Release(message) => json!({ "systemMessage": bounded(message) }),
    })
}
