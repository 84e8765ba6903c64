//! The sample that `gate doctor` sends through each hook to prove that it blocks: work that must be blocked, and the
//! message of each host about it.

use super::{AgentHost, Answer};
use serde_json::{Value, json};
use std::path::Path;

/// The name and the text of a file with a syntax error.
pub const BAD: (&str, &str) = ("sample.json", "{\"a\": 1,}\n");
/// The finding code that the reason of the block must contain.
pub const CODE: &str = "trailing-comma";
/// The gate.toml for hooks that check nothing by default: after a tool was used, and for a commit message.
pub const GATE: &str = "[gate.default]\nall = [\"json\"]\n[gate.message]\nall = [\"signal\"]\n\
                        [check.json]\nverifier = \"json-syntax\"\n[check.signal]\nverifier = \"completion-signal\"\n\
                        [hook]\npost_tool_use = \"default\"\ncommit_msg = \"message\"\n";
/// A message that [`GATE`] accepts.
pub const GOOD_MESSAGE: &str = "TASK_COMPLETE";
/// The finding code that the refusal of any other message must contain.
pub const MESSAGE_CODE: &str = "no-signal";

/// Returns the message of a host for an event in this folder.
pub fn message(host: AgentHost, event: &str, folder: &Path, session: &str) -> String {
    let file = folder.join(BAD.0).display().to_string();
    let folder = folder.display().to_string();
    let message = match host {
        AgentHost::Claude => json!({
            "session_id": session, "transcript_path": "/nonexistent", "cwd": folder, "permission_mode": "default",
            "hook_event_name": event, "stop_hook_active": false, "last_assistant_message": "done",
            "task_id": "sample", "task_subject": "sample", "tool_name": "Write", "tool_input": { "file_path": file },
        }),
        AgentHost::Codex => json!({
            "session_id": session, "turn_id": "sample", "transcript_path": null, "cwd": folder, "model": "sample",
            "hook_event_name": event, "permission_mode": "default", "stop_hook_active": false,
            "last_assistant_message": null,
        }),
        AgentHost::Gemini => json!({
            "session_id": session, "transcript_path": "/nonexistent", "cwd": folder, "hook_event_name": event,
            "timestamp": "2026-01-01T00:00:00Z", "prompt": "sample", "prompt_response": "done",
            "stop_hook_active": false,
        }),
        AgentHost::Qwen => json!({
            "session_id": session, "transcript_path": "/nonexistent", "cwd": folder, "hook_event_name": event,
            "timestamp": "2026-01-01T00:00:00Z", "stop_hook_active": true, "last_assistant_message": "done",
        }),
        AgentHost::Copilot => json!({
            "sessionId": session, "timestamp": 1, "cwd": folder, "transcriptPath": "/nonexistent",
            "stopReason": "end_turn", "stop_hook_active": false,
        }),
        AgentHost::Cursor => json!({
            "conversation_id": session, "generation_id": "sample", "hook_event_name": event,
            "workspace_roots": [folder], "status": "completed", "loop_count": 0,
        }),
    };
    message.to_string()
}

/// Checks that a host takes an answer as a block, and that the block names the sample. Returns `Err` with the reason if
/// not.
pub fn proves(host: AgentHost, answer: &Answer) -> Result<(), String> {
    let reason = match (answer.exit, serde_json::from_str::<Value>(&answer.stdout)) {
        (2, _) if host == AgentHost::Claude => answer.stderr.clone(),
        (0, Ok(value)) => {
            let word = value["decision"].as_str().unwrap_or_default();
            let blocks = match host {
                AgentHost::Cursor => value["followup_message"].is_string(),
                AgentHost::Gemini => matches!(word, "deny" | "block"),
                _ => word == "block",
            };
            if !blocks {
                return Err(format!("it did not block: it printed `{}`", crate::text::clean_line(&answer.stdout, 300)));
            }
            value["followup_message"].as_str().or(value["reason"].as_str()).unwrap_or_default().to_owned()
        }
        (code, _) => {
            let said = crate::text::clean_line(&format!("{} {}", answer.stdout, answer.stderr), 300);
            return Err(format!("exit code {code}, and printed `{}`", said.trim()));
        }
    };
    if reason.contains(CODE) {
        Ok(())
    } else {
        let reason = crate::text::clean_line(&reason, 300);
        Err(format!("it blocks, but did not find the mistake in the sample: `{reason}`"))
    }
}
