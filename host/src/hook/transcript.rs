//! What an agent did, as its transcript tells it: tool calls, the model, the last words.
//!
//! A transcript is written by the host while it runs, may lag, and has no promised form. So every line that is understood
//! counts, and every other is passed over.

use crate::submission::ToolCall;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The most bytes of a transcript that are read, and of one line.
const MAX_BYTES: u64 = 64 << 20;
/// The most tool calls that are handed on: the last ones.
const MAX_CALLS: usize = 1_000;
/// The most characters of what a tool answered.
const MAX_OUTPUT: usize = 4_000;

/// What a transcript tells.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) model: Option<String>,
    pub(super) last: Option<String>,
    pub(super) tool_calls: Vec<ToolCall>,
}

/// Reads a transcript; one that cannot be read tells nothing.
pub(super) fn read(path: &Path) -> Said {
    // A pipe would never end.
    let regular = path.metadata().is_ok_and(|metadata| metadata.is_file());
    match File::open(path) {
        Ok(file) if regular => parse(BufReader::new(file.take(MAX_BYTES))),
        _ => Said::default(),
    }
}

fn parse(mut lines: impl BufRead) -> Said {
    let mut said = Said::default();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if let Ok(value) = serde_json::from_slice::<Value>(&line) {
            entry(&value, &mut said, &mut open);
        }
        line.clear();
    }
    let excess = said.tool_calls.len().saturating_sub(MAX_CALLS);
    said.tool_calls.drain(..excess);
    said
}

fn entry(value: &Value, said: &mut Said, open: &mut BTreeMap<String, usize>) {
    // Claude Code and Qwen wrap a message; Codex an item.
    let message = value.get("message").filter(|message| message.is_object());
    let item = value.get("payload").filter(|item| item.is_object()).or(message).unwrap_or(value);
    if let Some(model) = item.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()) {
        said.model = Some(model.chars().take(200).collect());
    }
    let is_assistant = item.get("role").and_then(Value::as_str) == Some("assistant");
    for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
        self::part(part, is_assistant, said, open);
    }
    part(item, false, said, open);
}

fn part(part: &Value, is_assistant: bool, said: &mut Said, open: &mut BTreeMap<String, usize>) {
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    match text("type").unwrap_or_default() {
        "text" | "output_text" if is_assistant => said.last = text("text").map(str::to_owned),
        "tool_use" => begin(said, open, text("id"), text("name"), part.get("input").cloned()),
        "function_call" | "custom_tool_call" => {
            let arguments = text("arguments").or_else(|| text("input"));
            let input = arguments.map(|json| serde_json::from_str(json).unwrap_or_else(|_| Value::from(json)));
            begin(said, open, text("call_id"), text("name"), input);
        }
        "tool_result" => {
            let failed = part.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            end(said, open, text("tool_use_id"), part.get("content"), !failed);
        }
        "function_call_output" | "custom_tool_call_output" => {
            end(said, open, text("call_id"), part.get("output"), true);
        }
        _ => {}
    }
}

fn begin(
    said: &mut Said,
    open: &mut BTreeMap<String, usize>,
    id: Option<&str>,
    name: Option<&str>,
    input: Option<Value>,
) {
    let Some(name) = name else { return };
    if let Some(id) = id {
        open.insert(id.to_owned(), said.tool_calls.len());
    }
    let file = input.as_ref().and_then(|input| input.get("file_path")).and_then(Value::as_str).map(str::to_owned);
    said.tool_calls.push(ToolCall {
        tool: name.chars().take(200).collect(),
        // Until its result is seen, nobody knows.
        success: false,
        error: None,
        files_changed: file
            .into_iter()
            .filter(|_| matches!(name, "Edit" | "Write" | "MultiEdit" | "edit" | "write_file"))
            .collect(),
        input,
        output: None,
    });
}

fn end(said: &mut Said, open: &mut BTreeMap<String, usize>, id: Option<&str>, output: Option<&Value>, success: bool) {
    let Some(call) = id.and_then(|id| open.remove(id)).and_then(|index| said.tool_calls.get_mut(index)) else { return };
    let text = match output {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let text: String = text.chars().take(MAX_OUTPUT).collect();
    call.success = success;
    call.error = (!success).then(|| text.clone());
    call.output = Some(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_calls_of_both_kinds_are_read_and_noise_is_passed_over() {
        let claude = r#"{"type":"assistant","message":{"role":"assistant","model":"m-1","content":[{"type":"text","text":"on it"},{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/w/a.py","content":"x"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"denied","is_error":true}]}}
not json
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}"#;
        let said = parse(claude.as_bytes());
        assert_eq!((said.model.as_deref(), said.last.as_deref()), (Some("m-1"), Some("done")));
        assert_eq!(said.tool_calls.len(), 1);
        assert_eq!((said.tool_calls[0].success, said.tool_calls[0].files_changed.len()), (false, 1));
        let codex = r#"{"type":"turn_context","payload":{"model":"m-2"}}
{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"ok"}}"#;
        let said = parse(codex.as_bytes());
        assert_eq!(said.model.as_deref(), Some("m-2"));
        assert!(said.tool_calls[0].success && said.tool_calls[0].output.as_deref() == Some("ok"));
        for noise in ["", "[]\n[1]\n{\"message\":3}\n{\"payload\":{\"type\":\"tool_use\"}}", "\u{0}\n\n"] {
            assert_eq!(parse(noise.as_bytes()), Said::default(), "{noise}");
        }
    }
}
