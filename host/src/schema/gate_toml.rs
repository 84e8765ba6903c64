//! The JSON Schema of `gate.toml`, with the description of every key.

mod members;
mod programs;

use crate::config::MAX_MEMBERS;
use members::{RULES, check, rules, terms, weight};
use programs::{command, evaluator, model, with_a_program};
use serde_json::{Value, json};

/// Returns the schema of `[hook]`.
fn hook() -> Value {
    let gate = |what: &str| json!({ "description": what, "type": "string", "minLength": 1 });
    json!({
        "description": "The gates that hooks run, and how many times a coding agent is sent back.",
        "type": "object",
        "properties": {
            "stop": gate("The gate that runs when an agent wants to stop. Default: the gate of `gate run`."),
            "task_completed": gate("The gate that runs when a task is declared complete. Default: that of `stop`."),
            "post_tool_use": gate("The gate for each file that an agent edits. Default: none."),
            "pre_commit": gate("The gate for the staged files, before a commit."),
            "commit_msg": gate("The gate for commit messages; the message is the claim. Default: none."),
            "pre_push": gate("The gate for the commits, before a push."),
            "bounces": {
                "description": "How many times an agent is sent back.",
                "type": "integer", "minimum": 0, "maximum": 20, "default": 2
            },
        },
        "additionalProperties": false,
    })
}

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the schema of `gate.toml`: keys, types and words. `gate plan` also checks that names exist and numbers fit.
pub fn gate_toml() -> Value {
    let table = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let named = |what: &str, schema: &str| {
        json!({
            "description": what,
            "type": "object",
            "additionalProperties": { "$ref": schema },
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,64}$" },
        })
    };
    let gate = merged(&[
        &terms(),
        &rules(),
        &json!({ "name": { "description": "The name of the member in reports.", "type": "string" }, "weight": weight() }),
    ]);
    let one_rule = json!(RULES.map(|rule| json!({ "required": [rule] })));
    let with_one_rule = |mut gate: Value| {
        gate["oneOf"] = one_rule.clone();
        gate
    };
    let used = merged(&[
        &terms(),
        &json!({
            "use": { "description": "The name of a gate or a check.", "type": "string" },
            "name": { "description": "The name of the member in reports.", "type": "string" },
            "weight": weight(),
        }),
    ]);
    let mut root = table(
        json!({
            "deadline": { "description": "Time limit of the whole run, from the request on, without compiling: `30m` by default, longer for a long command, at most `2h`.", "$ref": "#/$defs/duration" },
            "require_trusted": {
                "description": "Do not pass if a check was skipped because the author of the change said so.",
                "type": "boolean",
                "default": false
            },
            "gate": named("Gates: rules over checks and other gates.", "#/$defs/gate"),
            "check": named("Checks: uses of verifiers.", "#/$defs/check"),
            "command": named("Commands that checks can be granted.", "#/$defs/command"),
            "model": named("Models that checks can be granted.", "#/$defs/model"),
            "retry": retry(),
            "escalation": escalation(),
            "overrides": overrides(),
            "files": { "description": "The files that file checks may match, whatever their own patterns. Default: all.", "$ref": "#/$defs/globs" },
            "exclude": { "description": "Files that no file check matches.", "$ref": "#/$defs/globs" },
            "protected": {
                "description": "Files, such as tests, whose changes need human review. In a repository, they are compared with the base commit, and commands see the version of that commit.",
                "$ref": "#/$defs/globs",
            },
            "hook": hook(),
            "loop": { "description": "Budgets of `gate loop`.", "$ref": "#/$defs/loop" },
            "plan": file_of("The plan of tasks that `gate loop --plan` and `--task ID` read from the base commit."),
            "progress": file_of("A log of reviews for people. `gate` appends to it and never reads it."),
            "limits": limits(),
            "evaluator": evaluator(),
        }),
        &["gate"],
    );
    root["$schema"] = json!(DRAFT);
    root["title"] = json!("gate.toml");
    root["$defs"] = json!({
        "duration": { "type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$", "examples": ["500ms", "2m", "1h30m"] },
        "size": { "type": ["string", "integer"], "examples": ["64MiB", "10MB", 1048576] },
        "globs": { "type": "array", "items": { "type": "string", "minLength": 1 } },
        "leniency": { "enum": ["block", "warn", "escalate"] },
        "gate": with_one_rule(table(merged(&[&terms(), &rules(), &of_gates_alone()]), &[])),
        "loop": table(budgets(), &[]),
        "member": {
            "anyOf": [
                { "description": "The name of a gate or a check.", "type": "string", "minLength": 1 },
                table(used, &["use"]),
                with_one_rule(table(gate, &[])),
            ],
        },
        "members": { "type": "array", "items": { "$ref": "#/$defs/member" }, "minItems": 1, "maxItems": MAX_MEMBERS },
        "check": table(merged(&[&terms(), &check()]), &["verifier"]),
        "command": with_a_program(table(command(), &[])),
        "model": table(model(), &["api"]),
    });
    root
}

/// Returns the schema of `[retry]`.
fn retry() -> Value {
    let retries = json!({
        "description": "A number of retries, or `{ times = 1, after = \"30s\" }`.",
        "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 100 },
            {
                "type": "object",
                "properties": {
                    "times": { "description": "The number of retries.", "type": "integer", "minimum": 0, "maximum": 100 },
                    "after": { "description": "The pause before each retry.", "$ref": "#/$defs/duration" },
                },
                "additionalProperties": false,
            },
        ],
    });
    let classes = ["execution-failure", "verify-failure", "review-rejection", "timeout", "malformed", "infra"];
    let properties: serde_json::Map<_, _> =
        classes.map(|class| (class.to_owned(), retries.clone())).into_iter().collect();
    json!({
        "description": "How many times a failure of each class is retried before a person is needed.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Returns the schema of `[escalation]`.
fn escalation() -> Value {
    let number = |what: &str, default: u32| json!({ "description": what, "type": "integer", "minimum": 0, "maximum": 100, "default": default });
    json!({
        "description": "When a person is needed; 0 means never.",
        "type": "object",
        "properties": {
            "same_task": number("After this many failures of the same task.", 3),
            "rejections": number("After this many rejections by reviewers in a row.", 2),
            "timeouts": number("After this many timeouts of the same task.", 2),
            "group": number("After this many failed tasks of a group; the project halts.", 3),
            "notify": {
                "description": "The `[command.NAME]` to run when human review is needed. It gets one JSON document on stdin.",
                "type": "string", "minLength": 1,
            },
        },
        "additionalProperties": false,
    })
}

/// Returns the schema of `[overrides]`.
fn overrides() -> Value {
    json!({
        "description": "Who may override a gate, and for how long.",
        "type": "object",
        "properties": {
            "signers": {
                "description": "Lines of an SSH `allowed_signers` file: a name and a public key.",
                "type": "array",
                "items": { "type": "string", "minLength": 1 },
            },
            "accept": {
                "description": "Whether `gate verify` accepts overrides.",
                "type": "boolean",
                "default": false,
            },
            "longest": { "description": "The longest duration of an override.", "$ref": "#/$defs/duration" },
        },
        "additionalProperties": false,
    })
}

/// Returns the keys that only a named gate can have.
fn of_gates_alone() -> Value {
    json!({ "loop": { "description": "Budgets for loops of this gate; they override `[loop]`.", "$ref": "#/$defs/loop" } })
}

fn budgets() -> Value {
    json!({
        "max_bounces": {
            "description": "How many times the work is sent back.",
            "type": "integer", "minimum": 0, "maximum": 1_000, "default": 2,
        },
        "executor_timeout": {
            "description": "Time limit of one attempt, at most `15m`.",
            "$ref": "#/$defs/duration", "default": "5m",
        },
        "stop_when_unchanged": {
            "description": "End the loop if an attempt fails exactly like the previous one.",
            "type": "boolean", "default": true,
        },
        "review_iterations": {
            "description": "How many times a reviewer may reject the work.",
            "type": "integer", "minimum": 1, "maximum": 1_000, "default": 3,
        },
        "max_iterations": {
            "description": "How many times the work is built and evaluated.",
            "type": "integer", "minimum": 1, "maximum": 1_000, "default": 3,
        },
        "max_tokens": {
            "description": "The most tokens that all attempts may use together, as reported by transcripts and models.",
            "type": "integer", "minimum": 1, "maximum": 1_000_000_000_000_u64,
        },
        "max_cost": {
            "description": "The most that all attempts may cost together, as reported by transcripts and configured prices.",
            "type": "number", "minimum": 0,
        },
        "on_spec_finding": {
            "description": "What happens to findings that the executor cannot fix: human review is needed, or they become suggestions.",
            "enum": ["block", "suggest"], "default": "block",
        },
        "on_review_limit": {
            "description": "What happens to work that a reviewer rejected in every iteration: it does not pass, or it completes with warnings.",
            "enum": ["block", "proceed"], "default": "block",
        },
        "fix": {
            "description": "Apply the fixes that verifiers offer before the work is sent back.",
            "type": "boolean", "default": false,
        },
    })
}

/// Returns the schema of `[limits]`.
fn limits() -> Value {
    let size = |what: &str, default: &str| json!({ "description": what, "$ref": "#/$defs/size", "default": default });
    json!({
        "description": "How much of the inputs and of the answers of commands and models is stored with a run, before it is compressed. The record says what was cut.",
        "type": "object",
        "properties": {
            "stored": size("For the whole run, at most `256MiB`.", "64MiB"),
            "stored_per_check": size("For one check.", "16MiB"),
        },
        "additionalProperties": false,
    })
}

/// Returns the schema of a table with the path of a file.
fn file_of(description: &str) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": { "file": { "description": "Its path, relative to gate.toml.", "type": "string", "minLength": 1 } },
        "required": ["file"],
        "additionalProperties": false,
    })
}

fn merged(parts: &[&Value]) -> Value {
    let all = parts.iter().filter_map(|part| part.as_object()).flatten();
    Value::Object(all.map(|(key, value)| (key.clone(), value.clone())).collect())
}
