//! Cursor: a stop is answered by a follow-up message, and only where the agent completed.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, HookEvent};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    let event = match name.as_str() {
        "sessionStart" => HookEvent::Start,
        "beforeSubmitPrompt" => HookEvent::Prompt,
        "afterFileEdit"
        | "beforeShellExecution"
        | "afterShellExecution"
        | "beforeMCPExecution"
        | "afterMCPExecution"
        | "beforeReadFile"
        | "afterAgentResponse"
        | "afterAgentThought"
        | "preToolUse"
        | "postToolUse"
        | "preCompact"
        | "sessionEnd"
        | "subagentStart" => HookEvent::Other,
        _ => HookEvent::Stop,
    };
    let mut call = fields.call(AgentHost::Cursor, event, name);
    let root = fields.list("workspace_roots").first().and_then(Value::as_str).map(PathBuf::from);
    call.folder = call.folder.or(root.filter(|root| root.is_absolute()));
    call.aborted = fields.name(&["status"]).is_some_and(|status| status != "completed");
    let loops = fields.number("loop_count").unwrap_or(0);
    call.active = loops > 0;
    call.turn = fields.name(&["generation_id"]).filter(|_| loops == 0);
    call
}

pub(super) fn answer(_: &Call, decision: &Decision) -> Answer {
    match decision {
        Decision::Allow => Answer::json(&json!({})),
        Decision::Block(reason) => Answer::json(&json!({ "followup_message": bounded(reason) })),
        Decision::Release(message) => Answer { stderr: bounded(message), ..Answer::json(&json!({})) },
    }
}
