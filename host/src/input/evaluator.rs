//! Reads the answer of a separate evaluator from a transcript: JSON Lines, one event per line.
//!
//! Supported are the events of `claude -p --output-format stream-json` (`assistant`, `result`) and of `codex exec --json`
//! (`item.completed`, `turn.completed`). The evaluator finished by itself only if the last event says so.

use super::{InputError, MAX_BYTES, invalid};
use crate::json_values;
use crate::submission::{Evaluator, TaskSource};
use serde_json::Value;

/// Reads a transcript.
pub fn transcript(bytes: &[u8]) -> Result<Evaluator, InputError> {
    if bytes.len() > MAX_BYTES {
        return Err(InputError::TooLarge);
    }
    let text = str::from_utf8(bytes).map_err(|error| InputError::NotUtf8(error.valid_up_to()))?;
    let mut evaluator = Evaluator {
        completed: false,
        text: String::new(),
        name: None,
        model: None,
        session: None,
        source: TaskSource::default(),
    };
    let mut known = 0;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        if json_values::count(line.as_bytes()) > json_values::MAX {
            return Err(InputError::TooManyValues);
        }
        let event: Value = serde_json::from_str(line)
            .map_err(|error| invalid(number, error.column() as u64, "expected a JSON object on each line"))?;
        // An event after the end cancels it.
        evaluator.completed = false;
        let (said, ends) = understood(&event);
        known += usize::from(said.is_some() || ends);
        evaluator.text = said.unwrap_or(evaluator.text);
        evaluator.completed = ends;
        let first = |known: &mut Option<String>, found: &Value| {
            if known.is_none() {
                *known = found.as_str().map(str::to_owned);
            }
        };
        for model in [&event["model"], &event["message"]["model"]] {
            first(&mut evaluator.model, model);
        }
        for session in [&event["session_id"], &event["thread_id"]] {
            first(&mut evaluator.session, session);
        }
    }
    if known == 0 {
        return Err(InputError::NoTranscript);
    }
    Ok(evaluator)
}

/// Returns the text of an event, and whether the evaluator ended with it.
fn understood(event: &Value) -> (Option<String>, bool) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match event["type"].as_str().unwrap_or_default() {
        "assistant" => {
            let blocks = event["message"]["content"].as_array().into_iter().flatten();
            let words: String = blocks.filter_map(|block| block["text"].as_str()).collect();
            (Some(words).filter(|words| !words.is_empty()), false)
        }
        "result" => {
            let ends = event["subtype"] == "success" && event["is_error"] == false;
            (text(&event["result"]), ends)
        }
        "item.completed" if event["item"]["type"] == "agent_message" => (text(&event["item"]["text"]), false),
        "turn.completed" => (None, true),
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_says_whether_it_ended() {
        let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"FAIL: no tests"}]}}"#;
        let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"PASS"}"#;
        let stopped = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
        let item = r#"{"type":"item.completed","item":{"type":"agent_message","text":"PASS"}}"#;
        let turn = r#"{"type":"turn.completed","usage":{}}"#;
        for (lines, completed, text) in [
            (vec![said, result], true, "PASS"),
            (vec![r#"{"type":"system"}"#, said], false, "FAIL: no tests"),
            (vec![said, stopped], false, "FAIL: no tests"),
            (vec![result, said], false, "FAIL: no tests"),
            (vec![item, turn, ""], true, "PASS"),
            (vec![item], false, "PASS"),
            (vec![item, turn, r#"{"type":"error"}"#], false, "PASS"),
        ] {
            let found = transcript(lines.join("\n").as_bytes()).expect("a transcript");
            assert_eq!((found.completed, found.text.as_str()), (completed, text), "{lines:?}");
        }
        let init = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m1"}"#;
        let found = transcript([init, result].join("\n").as_bytes()).expect("a transcript");
        assert_eq!((found.model.as_deref(), found.session.as_deref()), (Some("m1"), Some("s1")));
        assert_eq!(transcript(b""), Err(InputError::NoTranscript));
        assert_eq!(transcript(b"{\"type\":\"system\"}\n"), Err(InputError::NoTranscript));
        assert_eq!(
            transcript(b"{}\nPASS").expect_err("refused").to_string(),
            "line 2, column 1: expected a JSON object on each line"
        );
    }
}
