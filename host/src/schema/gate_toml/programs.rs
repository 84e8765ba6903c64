//! The keys of commands, models and the evaluator.

use serde_json::{Value, json};

/// Returns the schema of `[evaluator]`.
pub(super) fn evaluator() -> Value {
    let mut keys = command();
    if let Some(keys) = keys.as_object_mut() {
        ["workspace", "from", "allow", "fixes"].iter().for_each(|key| drop(keys.remove(*key)));
    }
    keys["min_sandbox"]["default"] = json!("landlock");
    keys["timeout"]["default"] = json!("3m");
    keys["timeout"]["description"] =
        json!("Time limit, at most `10m`. Then the evaluator and everything that it started is killed.");
    json!({
        "description": "The command that evaluates the work after each attempt of `gate loop`. It can only read the work, and runs at least under Landlock.",
        "type": "object",
        "properties": keys,
        "required": ["run"],
        "additionalProperties": false,
    })
}

/// Returns the schema of a command: with `run`, or with `from = "task"`.
pub(super) fn with_a_program(mut command: Value) -> Value {
    command["oneOf"] = json!([{ "required": ["run"] }, { "required": ["from", "allow"] }]);
    command
}

pub(super) fn command() -> Value {
    json!({
        "from": { "description": "Run the verify command of the task, which must come from a plan in the base commit.", "enum": ["task"] },
        "allow": {
            "description": "The verify commands that a task may name; `*` in a word stands for any characters, as the last word for one or more.",
            "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 1,
        },
        "run": { "description": "The program and its arguments; no shell. A name is looked up in PATH, a path is relative to the workspace.", "type": "array", "items": { "type": "string" }, "minItems": 1 },
        "timeout": { "description": "Time limit, at most `1h`. Then the command and everything that it started is killed.", "$ref": "#/$defs/duration", "default": "2m" },
        "env": { "description": "Environment variables to pass, besides `PATH`, `LANG`, `LC_ALL`, `TZ` and those that point to toolchains.", "type": "array", "items": { "type": "string" } },
        "cwd": { "description": "The folder that the command runs in. Default: the root of the workspace.", "type": "string" },
        "network": { "description": "Allow the network.", "type": "boolean", "default": false },
        "workspace": { "description": "Whether the command may change the workspace.", "enum": ["read-only", "read-write"], "default": "read-only" },
        "read": { "description": "More readable paths: in the workspace, absolute, or `~/…`.", "type": "array", "items": { "type": "string", "minLength": 1 } },
        "write": { "description": "More writable paths, as above. A missing folder in the workspace is created; symlinks in the workspace are not followed.", "type": "array", "items": { "type": "string", "minLength": 1 } },
        "min_sandbox": { "description": "The sandbox level without which the command does not run.", "enum": ["none", "landlock", "namespaces"], "default": "none" },
        "fixes": { "description": "The command fixes files. It runs in a copy of the workspace, and each file that it would change becomes a finding with a fix.", "type": "boolean", "default": false },
    })
}

pub(super) fn model() -> Value {
    json!({
        "api": { "description": "The protocol; `openai` is any compatible server.", "enum": ["anthropic", "openai", "command"] },
        "model": { "description": "The name of the model in the API.", "type": "string" },
        "key_env": { "description": "The environment variable that holds the key.", "type": "string" },
        "url": { "description": "The base URL. Default: `https://api.anthropic.com`, `https://api.openai.com/v1`. Only `https`, except on this machine or without a key.", "type": "string" },
        "command": { "description": "For `api = \"command\"`: the `[command.NAME]` that reads the question from stdin and prints the answer.", "type": "string" },
        "max_tokens": { "description": "Tokens of one answer.", "type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 4_096 },
        "max_requests": { "description": "Requests per run.", "type": "integer", "minimum": 1, "maximum": 1_000, "default": 16 },
        "max_run_tokens": { "description": "Tokens per run, input and output together.", "type": "integer", "minimum": 1, "maximum": 1_000_000_000, "default": 1_000_000 },
        "max_run_bytes": { "description": "Bytes per run, sent and received.", "$ref": "#/$defs/size", "default": "16MiB" },
        "max_run_time": { "description": "Time per run, all requests together.", "$ref": "#/$defs/duration", "default": "30m" },
        "timeout": { "description": "Time limit of one answer with all retries; at most `10m`.", "$ref": "#/$defs/duration", "default": "3m" },
        "family": { "description": "The family of the model, for `independent` votes and the record.", "type": "string", "minLength": 1 },
        "price": {
            "description": "The price of a million tokens, for the costs in the record.",
            "type": "object",
            "properties": {
                "input": { "description": "The price of input tokens.", "type": "number", "minimum": 0, "maximum": 1_000_000 },
                "output": { "description": "The price of output tokens.", "type": "number", "minimum": 0, "maximum": 1_000_000 }
            },
            "required": ["input", "output"],
            "additionalProperties": false
        },
        "distinct": { "description": "Do not ask the model that did the work, if the submission or the answer names it.", "type": "boolean", "default": true },
    })
}
