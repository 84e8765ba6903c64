use super::*;
use serde_json::json;

fn read(lines: &[Value]) -> Option<Transcript> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // In pieces of every size, as pipes have it.
    let told: Vec<Option<Transcript>> = [1, 7, 4_096]
        .into_iter()
        .map(|size| {
            let mut reader = TranscriptReader::default();
            text.as_bytes().chunks(size).for_each(|piece| reader.feed(piece));
            reader.finish()
        })
        .collect();
    assert!(told.iter().all(|each| *each == told[0]));
    told.into_iter().next().flatten()
}

fn called(told: &Transcript) -> Vec<(&str, bool)> {
    told.tool_calls.iter().map(|call| (call.tool.as_str(), call.success)).collect()
}

#[test]
fn claude_code_is_understood() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "model": "m1"});
    let edit = json!({"type": "assistant", "message": {"content": [
        {"type": "text", "text": "I will."},
        {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "a.rs", "old_string": "a", "new_string": "b"}},
        {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "make"}}]}});
    let answers = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
        {"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": [{"type": "text", "text": "no"}]}]}});
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "TASK_COMPLETE",
        "total_cost_usd": 0.25, "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3}});
    let told = read(&[init.clone(), edit.clone(), answers.clone(), result]).expect("a transcript");
    assert_eq!((told.agent, told.claim.as_str(), told.ended), ("claude-code", "TASK_COMPLETE", ExecutorEnd::Finished));
    assert_eq!((told.model.as_deref(), told.session.as_deref()), (Some("m1"), Some("s1")));
    assert_eq!((told.tokens, told.cost), (Some((15, 3)), Some(0.25)));
    assert_eq!(called(&told), [("Edit", true), ("Bash", false)]);
    assert_eq!(told.tool_calls[0].files_changed, ["a.rs"]);
    assert_eq!(told.tool_calls[1].error.as_deref(), Some("no"));
    let turns = json!({"type": "result", "subtype": "error_max_turns", "is_error": true});
    assert_eq!(read(&[init.clone(), turns]).expect("one").ended, ExecutorEnd::OutOfTurns);
    let cut = read(&[init, edit]).expect("one");
    assert_eq!((cut.ended, called(&cut)), (ExecutorEnd::Error, vec![("Edit", false), ("Bash", false)]));
}

#[test]
fn codex_is_understood() {
    let started = json!({"type": "thread.started", "thread_id": "t1"});
    let ran = json!({"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "make",
        "aggregated_output": "bad\n", "exit_code": 2, "status": "failed"}});
    let wrote = json!({"type": "item.completed", "item": {"id": "2", "type": "file_change", "status": "completed",
        "changes": [{"path": "a.rs", "kind": "update"}]}});
    let said = json!({"type": "item.completed", "item": {"id": "3", "type": "agent_message", "text": "Done."}});
    let ended =
        json!({"type": "turn.completed", "usage": {"input_tokens": 7, "cached_input_tokens": 4, "output_tokens": 2}});
    let told = read(&[started.clone(), ran, wrote, said, ended.clone()]).expect("a transcript");
    assert_eq!((told.agent, told.claim.as_str(), told.ended), ("codex", "Done.", ExecutorEnd::Finished));
    assert_eq!((told.session.as_deref(), told.tokens), (Some("t1"), Some((7, 2))));
    assert_eq!(called(&told), [("shell", false), ("file_change", true)]);
    assert_eq!(told.tool_calls[1].files_changed, ["a.rs"]);
    let failed = json!({"type": "turn.failed", "error": {"message": "no"}});
    assert_eq!(read(&[started, ended, failed]).expect("one").ended, ExecutorEnd::Error);
}

#[test]
fn gemini_is_understood() {
    let init = json!({"type": "init", "session_id": "s1", "model": "m1"});
    let piece = |text: &str| json!({"type": "message", "role": "assistant", "content": text, "delta": true});
    let call = json!({"type": "tool_use", "tool_name": "write_file", "tool_id": "1", "parameters": {"file_path": "a", "content": "x"}});
    let answer = json!({"type": "tool_result", "tool_id": "1", "status": "success", "output": "ok"});
    let result = json!({"type": "result", "status": "success", "stats": {"input_tokens": 1, "output_tokens": 2}});
    let lines = [init.clone(), piece("Let me"), piece(" see."), call, answer, piece("It is "), piece("done."), result];
    let told = read(&lines).expect("a transcript");
    assert_eq!((told.agent, told.claim.as_str(), told.ended), ("gemini", "It is done.", ExecutorEnd::Finished));
    assert_eq!((told.model.as_deref(), told.tokens), (Some("m1"), Some((1, 2))));
    assert_eq!(called(&told), [("write_file", true)]);
    let failed = json!({"type": "result", "status": "error", "error": {"type": "FatalTurnLimitedError"}});
    assert_eq!(read(&[init, failed]).expect("one").ended, ExecutorEnd::OutOfTurns);
}

#[test]
fn whatever_opens_otherwise_is_text() {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "PASS"});
    for lines in [vec![], vec![json!("words")], vec![result.clone()], vec![json!({"type": "system"}), result]] {
        assert_eq!(read(&lines), None, "{lines:?}");
    }
    let mut reader = TranscriptReader::default();
    reader.feed(b"hello\n{\"type\":\"system\",\"subtype\":\"init\"}\n");
    assert_eq!(reader.finish(), None);
}

#[test]
fn values_of_a_transcript_are_limited() {
    let init = json!({"type": "init", "session_id": "s"});
    let call = |id: &str, values: usize| json!({"type": "tool_use", "tool_id": id, "tool_name": "t", "parameters": vec![0; values]});
    let lines = [init, call("a", 600_000), call("b", 600_000), call("c", 2_000_000), call("d", 1), call("e", 0)];
    let mut reader = TranscriptReader::default();
    lines.iter().for_each(|line| reader.feed(format!("{line}\n").as_bytes()));
    let told = reader.finish().expect("a transcript");
    let sizes = told.tool_calls.iter().map(|call| match &call.input {
        Some(Value::Array(values)) => values.len(),
        other => usize::from(other.is_none()),
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [600_000, 0, 0, 0]);
}
