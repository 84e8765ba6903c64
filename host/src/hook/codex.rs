//! Codex CLI: as Claude Code, but it refuses keys that it does not know, and a block without a reason is no block.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, claude};
use serde_json::json;

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    let mut call = fields.call(AgentHost::Codex, claude::event(&name), name);
    call.turn = fields.name(&["turn_id"]);
    call
}

pub(super) fn answer(_: &Call, decision: &Decision) -> Answer {
    Answer::json(&match decision {
        Decision::Allow => json!({}),
        Decision::Block(reason) => json!({ "decision": "block", "reason": bounded(reason) }),
        Decision::Release(message) => json!({ "systemMessage": bounded(message) }),
    })
}
