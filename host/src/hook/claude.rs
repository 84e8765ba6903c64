//! Claude Code: `decision` and `reason` in JSON; for tasks and teammates, only exit code 2 blocks.

use super::answer::{Answer, bounded};
use super::fields::Fields;
use super::{AgentHost, Call, Decision, HookEvent};
use serde_json::{Value, json};

/// The events at which nothing is verified.
const OTHER: &[&str] = &[
    "ConfigChange",
    "Notification",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "SessionEnd",
    "StopFailure",
    "SubagentStart",
    "TaskCreated",
    "WorktreeCreate",
    "WorktreeRemove",
];

pub(super) fn read(fields: &Fields<'_>) -> Call {
    let name = fields.name(&["hook_event_name"]).unwrap_or_default();
    let mut call = fields.call(AgentHost::Claude, event(&name), name);
    // After the agent was sent back, the identifier of the prompt may be another one.
    call.turn = fields.name(&["prompt_id"]).filter(|_| !call.active);
    let runs = |task: &&Value| !matches!(task["status"].as_str(), Some("completed" | "failed" | "killed" | "stopped"));
    call.paused = fields.list("background_tasks").iter().any(|task| runs(&task));
    if let Some(id) = fields.name(&["task_id"]) {
        call.task = Some((id, fields.text(&["task_subject"]).unwrap_or_default()));
    }
    call
}

pub(super) fn event(name: &str) -> HookEvent {
    match name {
        "SessionStart" => HookEvent::Start,
        "UserPromptSubmit" => HookEvent::Prompt,
        "TaskCompleted" | "TeammateIdle" => HookEvent::Task,
        "PostToolUse" => HookEvent::Tool,
        name if OTHER.contains(&name) => HookEvent::Other,
        // An unknown event is treated as a stop.
        _ => HookEvent::Stop,
    }
}

pub(super) fn answer(call: &Call, decision: &Decision) -> Answer {
    match decision {
        Decision::Allow => Answer::silent(),
        Decision::Block(reason) if call.event == HookEvent::Task => Answer::refuse(reason),
        Decision::Block(reason) => Answer::json(&json!({ "decision": "block", "reason": bounded(reason) })),
        Decision::Release(message) => Answer::json(&json!({ "systemMessage": bounded(message) })),
    }
}
