//! Reads the transcripts of coding agents line by line: `claude -p --output-format stream-json`, `codex exec --json` and
//! `gemini --output-format stream-json`.
//!
//! They contain the claim, the tool calls, the model, the session, the tokens and how the agent ended. Only an output that
//! starts like one of these is a transcript; any other is text. The agent finished by itself only if the last event says so.

use crate::json_values;
use crate::submission::{ExecutorEnd, ToolCall};
use crate::text::clean;
use serde_json::Value;
use std::collections::BTreeMap;

/// The longest line that is read.
const MAX_LINE: usize = 16 << 20;
/// The most tool calls, and the most characters of one result.
const MAX_CALLS: usize = 2_000;
const MAX_OUTPUT: usize = 4_000;
/// The most characters of the claim, from its end.
const MAX_CLAIM: usize = 64 << 10;

/// What an agent did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transcript {
    /// `claude-code`, `codex` or `gemini`.
    pub agent: &'static str,
    /// Its final text.
    pub claim: String,
    /// The tools that it called, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The model.
    pub model: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The tokens that it read and wrote.
    pub tokens: Option<(u64, u64)>,
    /// What it cost, in US dollars.
    pub cost: Option<f64>,
    /// How it ended.
    pub ended: ExecutorEnd,
}

/// Reads an output as it arrives.
#[derive(Debug, Default)]
pub(crate) struct TranscriptReader {
    line: Vec<u8>,
    /// Whether the line is too long, so that the rest of it is skipped.
    passing_over: bool,
    state: ReaderState,
}

#[derive(Debug, Default)]
enum ReaderState {
    /// Nothing was read yet.
    #[default]
    Open,
    /// The output is not a transcript.
    Text,
    /// The output is a transcript.
    Known(Box<KnownTranscript>),
}

#[derive(Debug)]
struct KnownTranscript {
    told: Transcript,
    /// Tool calls without a result yet, by their identifiers.
    pending: BTreeMap<String, usize>,
    /// Whether the next text continues the last.
    goes_on: bool,
    /// The number of JSON values in the events.
    values: usize,
}

impl TranscriptReader {
    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if matches!(self.state, ReaderState::Text) {
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.passing_over {
                self.line.extend_from_slice(piece);
            }
            if self.line.len() > MAX_LINE {
                self.line.clear();
                self.passing_over = true;
            }
            if piece.ends_with(b"\n") {
                self.passing_over = false;
                self.take_line();
            }
        }
    }

    /// Returns the transcript, if the output was one.
    pub(crate) fn finish(mut self) -> Option<Transcript> {
        self.take_line();
        match self.state {
            ReaderState::Known(known) => Some(Transcript { claim: end_of(&known.told.claim), ..known.told }),
            ReaderState::Open | ReaderState::Text => None,
        }
    }

    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let values = json_values::count(&line);
        let event = if values > json_values::MAX { None } else { serde_json::from_slice(&line).ok() };
        match (&mut self.state, event.filter(Value::is_object)) {
            (ReaderState::Known(known), Some(event)) => {
                known.values = known.values.saturating_add(values);
                known.take(&event);
            }
            // A warning between events is ignored.
            (ReaderState::Known(_) | ReaderState::Text, _) => {}
            (ReaderState::Open, event) => {
                self.state = match event.as_ref().and_then(opening) {
                    Some(agent) => ReaderState::Known(Box::new(KnownTranscript::new(agent, event.as_ref()))),
                    None => ReaderState::Text,
                }
            }
        }
    }
}

/// Returns the agent whose output starts with this event.
fn opening(event: &Value) -> Option<&'static str> {
    match event["type"].as_str()? {
        "system" if event["subtype"] == "init" => Some("claude-code"),
        "thread.started" => Some("codex"),
        "init" if event["session_id"].is_string() => Some("gemini"),
        _ => None,
    }
}

impl KnownTranscript {
    fn new(agent: &'static str, first: Option<&Value>) -> Self {
        let told = Transcript {
            agent,
            claim: String::new(),
            tool_calls: Vec::new(),
            model: None,
            session: None,
            tokens: None,
            cost: None,
            ended: ExecutorEnd::Error,
        };
        let mut known = Self { told, pending: BTreeMap::new(), goes_on: false, values: 0 };
        if let Some(first) = first {
            known.take(first);
        }
        known
    }

    fn take(&mut self, event: &Value) {
        // An event after the end cancels it.
        self.told.ended = ExecutorEnd::Error;
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        for (kept, found) in [
            (&mut self.told.model, text(&event["model"]).or_else(|| text(&event["message"]["model"]))),
            (&mut self.told.session, text(&event["session_id"]).or_else(|| text(&event["thread_id"]))),
        ] {
            if kept.is_none() {
                *kept = found;
            }
        }
        match self.told.agent {
            "claude-code" => self.claude(event),
            "codex" => self.codex(event),
            _ => self.gemini(event),
        }
    }

    fn claude(&mut self, event: &Value) {
        let blocks = || event["message"]["content"].as_array().into_iter().flatten();
        match event["type"].as_str().unwrap_or_default() {
            "assistant" => {
                let words: String = blocks().filter_map(|block| block["text"].as_str()).collect();
                self.says(&words);
                for block in blocks().filter(|block| block["type"] == "tool_use") {
                    self.calls(&block["id"], &block["name"], &block["input"]);
                }
            }
            "user" => {
                for block in blocks().filter(|block| block["type"] == "tool_result") {
                    self.answers(&block["tool_use_id"], block["is_error"] != true, &block["content"]);
                }
            }
            "result" => {
                self.says(event["result"].as_str().unwrap_or_default());
                self.uses(&event["usage"]);
                self.told.cost = event["total_cost_usd"].as_f64();
                self.told.ended = match event["subtype"].as_str().unwrap_or_default() {
                    "success" if event["is_error"] == false => ExecutorEnd::Finished,
                    "error_max_turns" | "error_max_budget_usd" => ExecutorEnd::OutOfTurns,
                    _ => ExecutorEnd::Error,
                };
            }
            _ => {}
        }
    }

    fn codex(&mut self, event: &Value) {
        let item = &event["item"];
        let kind = item["type"].as_str().or_else(|| item["item_type"].as_str()).unwrap_or_default();
        match (event["type"].as_str().unwrap_or_default(), kind) {
            ("item.completed", "agent_message" | "assistant_message") => {
                self.goes_on = false;
                self.says(item["text"].as_str().unwrap_or_default());
            }
            ("item.completed", "command_execution") => {
                self.calls(&item["id"], &"shell".into(), &serde_json::json!({ "command": item["command"] }));
                let succeeded = item["exit_code"] == 0 && item["status"] != "failed";
                self.answers(&item["id"], succeeded, &item["aggregated_output"]);
            }
            ("item.completed", "file_change") => {
                self.calls(&item["id"], &"file_change".into(), &item["changes"]);
                self.answers(&item["id"], item["status"] == "completed", &Value::Null);
                let changed = item["changes"].as_array().into_iter().flatten();
                let paths = changed.filter_map(|change| change["path"].as_str().map(str::to_owned));
                if let Some(call) = self.told.tool_calls.last_mut() {
                    call.files_changed = paths.take(1_000).collect();
                }
            }
            ("item.completed", "mcp_tool_call") => {
                self.calls(&item["id"], &item["tool"], &item["arguments"]);
                self.answers(&item["id"], item["status"] == "completed", &item["result"]);
            }
            ("turn.completed", _) => {
                self.uses(&event["usage"]);
                self.told.ended = ExecutorEnd::Finished;
            }
            _ => {}
        }
    }

    fn gemini(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "message" if event["role"] == "assistant" => {
                let words = event["content"].as_str().unwrap_or_default();
                if self.goes_on && event["delta"] == true {
                    self.told.claim.push_str(words);
                    // Not for every word.
                    if self.told.claim.len() > 16 * MAX_CLAIM {
                        self.told.claim = end_of(&self.told.claim);
                    }
                } else {
                    self.says(words);
                }
                self.goes_on = event["delta"] == true;
            }
            "tool_use" => {
                self.goes_on = false;
                self.calls(&event["tool_id"], &event["tool_name"], &event["parameters"]);
            }
            "tool_result" => self.answers(&event["tool_id"], event["status"] == "success", &event["output"]),
            "result" => {
                self.uses(&event["stats"]);
                self.told.ended = match event["status"].as_str().unwrap_or_default() {
                    "success" => ExecutorEnd::Finished,
                    _ if event["error"]["type"].as_str().is_some_and(|kind| kind.contains("Turn")) => {
                        ExecutorEnd::OutOfTurns
                    }
                    _ => ExecutorEnd::Error,
                };
            }
            _ => {}
        }
    }

    fn says(&mut self, words: &str) {
        if !words.is_empty() {
            self.told.claim = end_of(words);
        }
    }

    /// Adds a tool call. It counts as failed until there is a result.
    fn calls(&mut self, id: &Value, tool: &Value, input: &Value) {
        if self.told.tool_calls.len() >= MAX_CALLS {
            return;
        }
        self.pending.insert(id.as_str().unwrap_or_default().to_owned(), self.told.tool_calls.len());
        self.told.tool_calls.push(ToolCall {
            tool: clean(tool.as_str().unwrap_or("unknown"), 200),
            success: false,
            error: Some("it was not answered".to_owned()),
            input: Some(input).filter(|input| !input.is_null()).map(|input| limited_input(input, self.values)),
            output: None,
            files_changed: paths(input),
        });
    }

    fn answers(&mut self, id: &Value, succeeded: bool, content: &Value) {
        let Some(index) = self.pending.remove(id.as_str().unwrap_or_default()) else { return };
        let Some(call) = self.told.tool_calls.get_mut(index) else { return };
        let words = match content {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
            other => other.to_string(),
        };
        let words = Some(clean(&words, MAX_OUTPUT)).filter(|words| !words.is_empty());
        call.success = succeeded;
        call.error = if succeeded { None } else { words.clone().or_else(|| Some("it failed".to_owned())) };
        call.output = words;
    }

    fn uses(&mut self, usage: &Value) {
        let number = |name: &str| usage[name].as_u64();
        if let (Some(read), Some(written)) = (number("input_tokens"), number("output_tokens")) {
            let cached =
                ["cache_creation_input_tokens", "cache_read_input_tokens"].map(|name| number(name).unwrap_or(0));
            let (before, after) = self.told.tokens.unwrap_or_default();
            let read = read.saturating_add(cached[0]).saturating_add(cached[1]);
            self.told.tokens = Some((before.saturating_add(read), after.saturating_add(written)));
        }
    }
}

/// Returns the input of a tool call as it is, or only its beginning as text if the transcript has had too many values.
pub(crate) fn limited_input(input: &Value, values: usize) -> Value {
    if values <= json_values::MAX { input.clone() } else { clean(&input.to_string(), MAX_OUTPUT).into() }
}

/// Returns the path of the file that a call writes, as agents name it.
fn paths(input: &Value) -> Vec<String> {
    let written = input["old_string"].is_string() || input["new_string"].is_string() || input["content"].is_string();
    let path = ["file_path", "path"].iter().find_map(|name| input[*name].as_str());
    path.filter(|_| written).map(|path| vec![clean(path, 1_000)]).unwrap_or_default()
}

fn end_of(words: &str) -> String {
    let start = words.char_indices().rev().take(MAX_CLAIM).last().map_or(0, |(at, _)| at);
    words[start..].to_owned()
}

#[cfg(test)]
mod tests;
