//! Reads the transcript of an agent: tool calls, the model, the last message.
//!
//! The host writes the transcript while it runs. It may lag, and its format is not guaranteed. So unknown lines are
//! skipped.

use crate::deadline::Deadline;
use crate::json_values;
use crate::regular_file::{self, Symlinks};
use crate::submission::ToolCall;
use crate::transcript::limited_input;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The most bytes of a transcript that are read: the last ones.
const MAX_BYTES: u64 = 64 << 20;
/// The most bytes of a line.
const MAX_LINE: usize = 16 << 20;
/// The most tool calls that are kept: the last ones.
const MAX_CALLS: usize = 1_000;
/// The most characters of the output of a tool.
const MAX_OUTPUT: usize = 4_000;

/// The content of a transcript.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TranscriptSummary {
    pub(super) model: Option<String>,
    pub(super) last: Option<String>,
    pub(super) tool_calls: Vec<ToolCall>,
    /// The number of JSON values in the lines.
    values: usize,
}

/// Reads a transcript until the deadline. One that cannot be read is empty.
pub(super) fn read(path: &Path, deadline: &Deadline) -> TranscriptSummary {
    let Ok(mut file) = regular_file::open(path, Symlinks::Follow) else { return TranscriptSummary::default() };
    let size = file.metadata().map_or(0, |about| about.len());
    let start = size.saturating_sub(MAX_BYTES);
    if file.seek(SeekFrom::Start(start)).is_err() {
        return TranscriptSummary::default();
    }
    let mut lines = BufReader::new(file.take(MAX_BYTES));
    if start > 0 {
        // The rest of a line whose beginning is not read.
        let _ = lines.skip_until(b'\n');
    }
    parse(lines, deadline)
}

fn parse(mut lines: impl BufRead, deadline: &Deadline) -> TranscriptSummary {
    let mut said = TranscriptSummary::default();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut line = Vec::new();
    while !deadline.is_over() && lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let values = json_values::count(&line);
        if line.len() <= MAX_LINE
            && values <= json_values::MAX
            && let Ok(value) = serde_json::from_slice::<Value>(&line)
        {
            said.values = said.values.saturating_add(values);
            entry(&value, &mut said, &mut open);
            drop_oldest(&mut said.tool_calls, &mut open, 2 * MAX_CALLS);
        }
        line.clear();
    }
    drop_oldest(&mut said.tool_calls, &mut open, MAX_CALLS);
    said
}

/// Drops all calls but the last [`MAX_CALLS`], if there are more than `max`.
fn drop_oldest(calls: &mut Vec<ToolCall>, open: &mut BTreeMap<String, usize>, max: usize) {
    if calls.len() > max {
        let excess = calls.len() - MAX_CALLS;
        calls.drain(..excess);
        open.retain(|_, index| *index >= excess);
        open.values_mut().for_each(|index| *index -= excess);
    }
}

fn entry(value: &Value, said: &mut TranscriptSummary, open: &mut BTreeMap<String, usize>) {
    // Claude Code and Qwen Code wrap a message; Codex an item.
    let message = value.get("message").filter(|message| message.is_object());
    let item = value.get("payload").filter(|item| item.is_object()).or(message).unwrap_or(value);
    let model =
        [item, value].into_iter().filter_map(|each| each.get("model")?.as_str()).find(|model| !model.is_empty());
    if let Some(model) = model {
        said.model = Some(model.chars().take(200).collect());
    }
    let is_gemini = value.get("type").and_then(Value::as_str) == Some("gemini");
    let is_agent = is_gemini || matches!(item.get("role").and_then(Value::as_str), Some("assistant" | "model"));
    if let Some(text) = item.get("content").and_then(Value::as_str).filter(|text| is_agent && !text.is_empty()) {
        said.last = Some(text.to_owned());
    }
    for name in ["content", "parts"] {
        for part in item.get(name).and_then(Value::as_array).into_iter().flatten() {
            self::part(part, is_agent, said, open);
        }
    }
    // Gemini CLI writes a message again when it knows more about it.
    for call in item.get("toolCalls").and_then(Value::as_array).into_iter().flatten().filter(|_| is_gemini) {
        let text = |name: &str| call.get(name).and_then(Value::as_str);
        begin(said, open, text("id"), text("name"), call.get("args").cloned());
        let response = call.get("result").and_then(|result| result.get(0)?.get("functionResponse")?.get("response"));
        if matches!(text("status"), Some("success" | "error" | "cancelled")) {
            end(said, open, text("id"), response, text("status") == Some("success"));
        }
    }
    part(item, false, said, open);
}

fn part(part: &Value, is_agent: bool, said: &mut TranscriptSummary, open: &mut BTreeMap<String, usize>) {
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    match text("type").unwrap_or_default() {
        "text" | "output_text" if is_agent => said.last = text("text").map(str::to_owned),
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
            let output = part.get("output");
            let succeeded = output.and_then(Value::as_str).and_then(exit_code).is_none_or(|code| code == 0);
            end(said, open, text("call_id"), output, succeeded);
        }
        // Qwen Code names a part by its only field.
        "" => {
            if let Some(call) = part.get("functionCall") {
                let text = |name: &str| call.get(name).and_then(Value::as_str);
                begin(said, open, text("id"), text("name"), call.get("args").cloned());
            } else if let Some(answer) = part.get("functionResponse") {
                let response = answer.get("response");
                let failed = response.is_some_and(|response| response.get("error").is_some());
                end(said, open, answer.get("id").and_then(Value::as_str), response, !failed);
            } else if let Some(words) = text("text").filter(|words| is_agent && !words.is_empty()) {
                said.last = Some(words.to_owned());
            }
        }
        _ => {}
    }
}

/// Returns the exit code that Codex writes into the output of a command.
fn exit_code(output: &str) -> Option<i64> {
    let lines = output.lines().take(10);
    lines.filter_map(|line| line.strip_prefix("Process exited with code ")).find_map(|code| code.trim().parse().ok())
}

fn begin(
    said: &mut TranscriptSummary,
    open: &mut BTreeMap<String, usize>,
    id: Option<&str>,
    name: Option<&str>,
    input: Option<Value>,
) {
    let Some(name) = name else { return };
    match id {
        // It was announced before.
        Some(id) if open.contains_key(id) => return,
        Some(id) => {
            open.insert(id.to_owned(), said.tool_calls.len());
        }
        None => {}
    }
    said.tool_calls.push(ToolCall {
        tool: name.chars().take(200).collect(),
        // Unknown until its result is seen.
        success: false,
        error: None,
        files_changed: changed(name, input.as_ref()),
        input: input.map(|input| limited_input(&input, said.values)),
        output: None,
    });
}

/// Returns the files that a call of a tool says it changes.
fn changed(tool: &str, input: Option<&Value>) -> Vec<String> {
    match (tool, input) {
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "edit" | "replace" | "write_file", Some(input)) => {
            let path = ["file_path", "notebook_path"].into_iter().find_map(|name| input.get(name)?.as_str());
            path.map(str::to_owned).into_iter().collect()
        }
        ("apply_patch", Some(input)) => {
            let patch = input.as_str().or_else(|| input.get("input")?.as_str()).unwrap_or_default();
            let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
            let path = |line: &str| marks.iter().find_map(|mark| line.strip_prefix(mark).map(str::to_owned));
            patch.lines().filter_map(path).collect()
        }
        _ => Vec::new(),
    }
}

fn end(
    said: &mut TranscriptSummary,
    open: &mut BTreeMap<String, usize>,
    id: Option<&str>,
    output: Option<&Value>,
    success: bool,
) {
    let Some(call) = id.and_then(|id| open.get(id)).and_then(|index| said.tool_calls.get_mut(*index)) else { return };
    // Only the first answer counts.
    if call.output.is_some() {
        return;
    }
    let text = match output {
        Some(Value::String(text)) => text.clone(),
        Some(other) => match ["output", "error"].into_iter().find_map(|name| other.get(name)?.as_str()) {
            Some(text) => text.to_owned(),
            None => other.to_string(),
        },
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
    use std::fs;
    use std::time::Duration;

    fn parse(lines: &[u8]) -> TranscriptSummary {
        let said = super::parse(lines, &Deadline::default());
        TranscriptSummary { values: 0, ..said }
    }

    #[test]
    fn the_end_of_a_long_transcript_is_read_and_the_last_calls_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("transcript");
        let text = |text: &str| format!("{{\"role\":\"assistant\",\"content\":\"{text}\"}}\n");
        let long = "x".repeat(8 << 20);
        let call = |number: usize| {
            format!(
                "{{\"type\":\"tool_use\",\"id\":\"{number}\",\"name\":\"t\"}}\n{{\"type\":\"tool_result\",\"tool_use_id\":\"{number}\",\"content\":\"{number}\"}}\n"
            )
        };
        let calls: String = (0..5_000).map(call).collect();
        fs::write(&path, text(&long).repeat(9) + &calls + &text("done") + &"y".repeat(MAX_LINE + 1)).expect("written");
        let said = read(&path, &Deadline::default());
        assert_eq!((said.last.as_deref(), said.tool_calls.len()), (Some("done"), MAX_CALLS));
        let outputs = said.tool_calls.iter().map(|call| call.output.clone().expect("answered"));
        assert_eq!(outputs.collect::<Vec<_>>(), (4_000..5_000).map(|number| number.to_string()).collect::<Vec<_>>());
        let over = Deadline::default().no_later_than(Duration::ZERO);
        assert_eq!(read(&path, &over), TranscriptSummary::default());
        let zeros = |count: usize| format!("{{\"type\":\"tool_use\",\"name\":\"t\",\"input\":{:?}}}\n", vec![0; count]);
        let said = parse([zeros(600_000), zeros(600_000), zeros(2_000_000)].concat().as_bytes());
        let kinds = said.tool_calls.iter().map(|call| call.input.as_ref().is_some_and(Value::is_array));
        assert_eq!(kinds.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("a pipe");
        assert!(read(&pipe, &Deadline::default()).tool_calls.is_empty());
    }

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
        let failed = codex.replace("\"ok\"", "\"Wall time: 0 s\\nProcess exited with code 1\\nOutput:\\n\"");
        assert!(!parse(failed.as_bytes()).tool_calls[0].success);
        let patch = r#"{"payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch","call_id":"p"}}"#;
        assert_eq!(parse(patch.as_bytes()).tool_calls[0].files_changed, ["a.py"]);
        for noise in ["", "[]\n[1]\n{\"message\":3}\n{\"payload\":{\"type\":\"tool_use\"}}", "\u{0}\n\n"] {
            assert_eq!(parse(noise.as_bytes()), TranscriptSummary::default(), "{noise}");
        }
    }

    #[test]
    fn gemini_writes_a_message_again_and_qwen_names_parts_by_their_field() {
        let gemini = r#"{"sessionId":"s","kind":"main"}
{"$set":{"messages":[{"type":"user","content":[{"text":"context"}]}]}}
{"id":"m1","type":"gemini","content":"","model":"m-3","toolCalls":[{"id":"c","name":"run_shell_command","args":{"command":"ls"},"status":"executing"}]}
{"id":"m1","type":"gemini","content":"","model":"m-3","toolCalls":[{"id":"c","name":"run_shell_command","args":{"command":"ls"},"status":"success","result":[{"functionResponse":{"id":"c","response":{"output":"a.py"}}}]}]}
{"id":"u2","type":"user","content":[{"functionResponse":{"id":"c","response":{"output":"a.py"}}}]}
{"id":"m2","type":"gemini","content":"done","model":"m-3"}"#;
        let qwen = r#"{"type":"user","message":{"role":"user","parts":[{"text":"please"}]}}
{"type":"assistant","model":"m-3","message":{"role":"model","parts":[{"text":"on it"},{"functionCall":{"id":"c","name":"run_shell_command","args":{"command":"ls"}}}]}}
{"type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c","response":{"output":"a.py"}}}]}}
{"type":"assistant","model":"m-3","message":{"role":"model","parts":[{"text":"done"}]}}"#;
        for transcript in [gemini, qwen] {
            let said = parse(transcript.as_bytes());
            assert_eq!((said.model.as_deref(), said.last.as_deref()), (Some("m-3"), Some("done")), "{transcript}");
            let [call] = said.tool_calls.as_slice() else { panic!("{said:?}") };
            assert_eq!(
                (call.tool.as_str(), call.success, call.output.as_deref()),
                ("run_shell_command", true, Some("a.py"))
            );
        }
        let failed = qwen.replace(r#""output":"a.py""#, r#""error":"denied""#);
        let said = parse(failed.as_bytes());
        assert_eq!((said.tool_calls[0].success, said.tool_calls[0].error.as_deref()), (false, Some("denied")));
    }
}
