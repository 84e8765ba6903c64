//! The Anthropic messages API.
//!
//! If an answer must follow a schema, the model is made to call a tool with that schema, and the input of the tool is the
//! answer.

use super::prompt::Rendered;
use super::{NoAnswer, Reply, Stop, Tokens};
use crate::config::ModelConfig;
use serde_json::{Value, json};

pub(super) const URL: &str = "https://api.anthropic.com";
pub(super) const PATH: &str = "/v1/messages";
pub(super) const VERSION: &str = "2023-06-01";
const TOOL: &str = "answer";

pub(super) fn request(model: &ModelConfig, question: &Rendered) -> Value {
    let mut request = json!({
        "model": model.model,
        "max_tokens": question.max_tokens,
        "system": question.system,
        "messages": [{ "role": "user", "content": question.prompt }],
    });
    if let Some(schema) = &question.schema {
        request["tools"] = json!([{ "name": TOOL, "description": "Give your answer.", "input_schema": schema }]);
        request["tool_choice"] = json!({ "type": "tool", "name": TOOL });
    }
    request
}

pub(super) fn reply(body: &Value) -> Result<Reply, NoAnswer> {
    let malformed = |why: &str| NoAnswer::Malformed(why.to_owned());
    let blocks = body["content"].as_array().ok_or_else(|| malformed("expected a message with `content`"))?;
    let of_type = |kind: &str| blocks.iter().filter(|block| block["type"] == kind).collect::<Vec<_>>();
    let (texts, calls) = (of_type("text"), of_type("tool_use"));
    let text = match calls.as_slice() {
        [] => texts.iter().map(|block| block["text"].as_str()).collect::<Option<String>>(),
        [call] if call["name"] == TOOL && call["input"].is_object() => Some(call["input"].to_string()),
        _ => None,
    };
    let text = text.ok_or_else(|| malformed("expected text, or one call of the tool `answer`"))?;
    let stop = match body["stop_reason"].as_str().ok_or_else(|| malformed("expected a `stop_reason`"))? {
        "end_turn" | "stop_sequence" => Stop::End,
        "tool_use" if calls.len() == 1 => Stop::End,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Refusal,
        _ => Stop::Other,
    };
    let usage = &body["usage"];
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    // The server may send any numbers.
    let input = input.map(count).into_iter().fold(0, u64::saturating_add);
    let tokens = usage.is_object().then(|| Tokens { input, output: count("output_tokens") });
    Ok(Reply { text, stop, model: body["model"].as_str().unwrap_or_default().to_owned(), tokens })
}
