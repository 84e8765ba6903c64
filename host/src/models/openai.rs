//! The OpenAI chat API, which many other servers support.

use super::prompt::Rendered;
use super::{NoAnswer, Reply, Stop, Tokens};
use crate::config::ModelConfig;
use serde_json::{Value, json};

pub(super) const URL: &str = "https://api.openai.com/v1";
pub(super) const PATH: &str = "/chat/completions";

pub(super) fn request(model: &ModelConfig, question: &Rendered) -> Value {
    let mut request = json!({
        "model": model.model,
        "messages": [
            { "role": "system", "content": question.system },
            { "role": "user", "content": question.prompt },
        ],
    });
    // OpenAI's newer models refuse the older name; compatible servers support it best.
    let limit = if model.url.is_none() { "max_completion_tokens" } else { "max_tokens" };
    request[limit] = question.max_tokens.into();
    if let Some(schema) = &question.schema {
        let schema = json!({ "name": "answer", "schema": schema, "strict": can_be_strict(schema) });
        request["response_format"] = json!({ "type": "json_schema", "json_schema": schema });
    }
    request
}

/// Returns whether the API can enforce a schema: every property must be required, and no others allowed.
fn can_be_strict(schema: &Value) -> bool {
    let required = |name: &String| schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
    schema["additionalProperties"] == json!(false)
        && schema["properties"].as_object().is_some_and(|properties| properties.keys().all(required))
}

pub(super) fn reply(body: &Value) -> Result<Reply, NoAnswer> {
    let malformed = |why: &str| NoAnswer::Malformed(why.to_owned());
    let Some([choice]) = body["choices"].as_array().map(Vec::as_slice) else {
        return Err(malformed("expected exactly one choice"));
    };
    let message = &choice["message"];
    let refused = message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty());
    let stop = match choice["finish_reason"].as_str().ok_or_else(|| malformed("expected a `finish_reason`"))? {
        _ if refused => Stop::Refusal,
        "stop" => Stop::End,
        "length" => Stop::Length,
        "content_filter" => Stop::Refusal,
        _ => Stop::Other,
    };
    let text = match (&message["content"], stop) {
        (Value::String(text), _) => text.clone(),
        (Value::Null, Stop::Refusal | Stop::Length | Stop::Other) => String::new(),
        _ => return Err(malformed("expected a message with text")),
    };
    let usage = &body["usage"];
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let tokens =
        usage.is_object().then(|| Tokens { input: count("prompt_tokens"), output: count("completion_tokens") });
    Ok(Reply { text, stop, model: body["model"].as_str().unwrap_or_default().to_owned(), tokens })
}
