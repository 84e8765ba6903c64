//! The JSON Schemas of what people write and programs read: `gate.toml`, the submission, the report.

mod shape;

pub use shape::differences;

use crate::event::Event;
use crate::looping::LoopRecord;
use crate::record::{MistakeDocument, Record};
use crate::runtime::{BUNDLED, ProgramInput, ProgramOutput};
use crate::submission::Submission;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of the submission document.
pub fn submission() -> Value {
    let schema = schemars::schema_for!(Submission);
    let mut schema = schema.to_value();
    schema["title"] = json!("Gatehost submission");
    schema
}

/// A submission document to start from.
pub const EXAMPLE_SUBMISSION: &str = include_str!("schema/submission.example.json");

/// An evaluator's transcript, as `--evaluator` reads it.
pub const EXAMPLE_TRANSCRIPT: &str = include_str!("schema/transcript.example.jsonl");

/// The prompt of the bundled reviewer: a template to start from, for its setting `prompt`.
pub fn example_prompt() -> String {
    let reviewer = BUNDLED.iter().find(|bundled| bundled.name == "review-verdict");
    let schema = reviewer.map(|reviewer| reviewer.description().settings_schema);
    let schema = schema.and_then(|schema| serde_json::from_str::<Value>(&schema).ok()).unwrap_or_default();
    schema["properties"]["prompt"]["default"].as_str().unwrap_or_default().to_owned()
}

/// The schema of the record that `--format json` prints.
pub fn record() -> Value {
    written::<Record>("Gatehost record")
}

/// The schema of what `--format json` prints where the caller made a mistake.
pub fn mistake() -> Value {
    written::<MistakeDocument>("Gatehost mistake")
}

/// The schema of one line of `--events`.
pub fn event() -> Value {
    written::<Event>("Gatehost event")
}

/// The schema of the record that `gate loop --format json` prints.
pub fn loop_record() -> Value {
    written::<LoopRecord>("Gatehost loop")
}

/// The schema of what is written as this type.
fn written<T: schemars::JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = json!(title);
    schema
}

/// The schema of what a program reads that is used as a verifier.
pub fn program_input() -> Value {
    written::<ProgramInput<'_>>("Gatehost program input")
}

/// The schema of what such a program prints.
pub fn program_output() -> Value {
    let mut schema = schemars::schema_for!(ProgramOutput).to_value();
    schema["title"] = json!("Gatehost program output");
    schema
}

/// `[hook]`: which gate `gate hook` runs.
fn hook() -> Value {
    let gate = |what: &str| json!({ "description": what, "type": "string", "minLength": 1 });
    json!({
        "description": "Which gate `gate hook` runs, and how often a coding agent is sent back.",
        "type": "object",
        "properties": {
            "stop": gate("The gate for an agent that wants to stop."),
            "task_completed": gate("The gate for a task that is declared complete; without one, that of `stop`."),
            "post_tool_use": gate("The gate for the file that a tool changed; without one, nothing is run."),
            "pre_commit": gate("The gate for what is about to be committed."),
            "commit_msg": gate("The gate for the message of a commit, which it gets as the claim; without one, nothing is run."),
            "pre_push": gate("The gate for what is about to be pushed."),
            "bounces": {
                "description": "How often an agent is sent back.",
                "type": "integer", "minimum": 0, "maximum": 20, "default": 2
            },
        },
        "additionalProperties": false,
    })
}

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of `gate.toml`. It knows shapes and words; that names exist and numbers fit is for `gate plan` to say.
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
    let gate = merged(&[&terms(), &rules(), &json!({ "name": { "type": "string" }, "weight": weight() })]);
    let one_rule = json!(RULES.map(|rule| json!({ "required": [rule] })));
    let with_one_rule = |mut gate: Value| {
        gate["oneOf"] = one_rule.clone();
        gate
    };
    let used = merged(&[
        &terms(),
        &json!({
            "use": { "description": "The gate or check that is meant.", "type": "string" },
            "name": { "type": "string" },
            "weight": weight(),
        }),
    ]);
    let mut root = table(
        json!({
            "deadline": { "description": "How long the whole gate may take.", "$ref": "#/$defs/duration" },
            "require_trusted": {
                "description": "Refuse a pass for which a check was skipped by the word of the author of the change.",
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
            "files": { "description": "The files that checks of files look at, whatever they are for; all, if it is not given.", "$ref": "#/$defs/globs" },
            "exclude": { "description": "Files that no check of files looks at.", "$ref": "#/$defs/globs" },
            "protected": {
                "description": "Files, such as tests, that a change may not touch without a person; checked where the configuration comes from a commit.",
                "$ref": "#/$defs/globs",
            },
            "hook": hook(),
            "loop": { "description": "Budgets of `gate loop`.", "$ref": "#/$defs/loop" },
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
        "members": { "type": "array", "items": { "$ref": "#/$defs/member" }, "minItems": 1 },
        "check": table(merged(&[&terms(), &check()]), &["verifier"]),
        "command": table(command(), &["run"]),
        "model": table(model(), &["api"]),
    });
    root
}

/// How often a failure of each class is tried again.
fn retry() -> Value {
    let retries = json!({
        "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 100 },
            {
                "type": "object",
                "properties": {
                    "times": { "type": "integer", "minimum": 0, "maximum": 100 },
                    "after": { "$ref": "#/$defs/duration" },
                },
                "additionalProperties": false,
            },
        ],
    });
    let classes = ["execution-failure", "verify-failure", "review-rejection", "timeout", "malformed", "infra"];
    let properties: serde_json::Map<_, _> =
        classes.map(|class| (class.to_owned(), retries.clone())).into_iter().collect();
    json!({
        "description": "How often a failure of a class is tried again before a person is told.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// When a person is needed.
fn escalation() -> Value {
    let number = |what: &str, default: u32| json!({ "description": what, "type": "integer", "minimum": 0, "maximum": 100, "default": default });
    json!({
        "description": "From which number on a person is needed; 0 for never.",
        "type": "object",
        "properties": {
            "same_task": number("The same task failed so often.", 3),
            "rejections": number("A reviewer rejected it so often in a row.", 2),
            "timeouts": number("So many time-outs on the same task.", 2),
            "group": number("So many tasks of a group failed; everything halts.", 3),
        },
        "additionalProperties": false,
    })
}

/// Who may let something through.
fn overrides() -> Value {
    json!({
        "description": "Who may let something through without a pass, and for how long.",
        "type": "object",
        "properties": {
            "signers": {
                "description": "Lines as in an `allowed_signers` file of SSH: a name, then a public key.",
                "type": "array",
                "items": { "type": "string", "minLength": 1 },
            },
            "accept": {
                "description": "Whether `gate verify` accepts what was let through.",
                "type": "boolean",
                "default": false,
            },
            "longest": { "description": "How long an override holds at most.", "$ref": "#/$defs/duration" },
        },
        "additionalProperties": false,
    })
}

const RULES: [&str; 5] = ["tiers", "all", "any", "not", "vote"];

fn weight() -> Value {
    json!({ "description": "How much the ballot counts; members of a vote only.", "type": "integer", "minimum": 1 })
}

/// What can be said of every member.
fn terms() -> Value {
    json!({
        "when": {
            "description": "It runs when any of these holds; otherwise it is skipped.",
            "type": "array",
            "items": { "type": "string", "pattern": "^(phase-boundary|final|every [1-9][0-9]*)$" },
            "minItems": 1,
        },
        "tier": { "description": "Skipped when the task asks for a lower tier.", "type": "integer", "minimum": 1 },
        "files": {
            "description": "For a check, the files that it judges; for a gate, it runs only if one changed. Not for a check that judges the submission.",
            "$ref": "#/$defs/globs",
        },
        "exclude": { "description": "Files that do not count, likewise.", "$ref": "#/$defs/globs" },
        "enabled": { "type": "boolean", "default": true },
        "timeout": { "$ref": "#/$defs/duration" },
        "attempts": {
            "description": "How often a verifier that gave no answer is asked in all.",
            "type": "integer", "minimum": 1, "maximum": 10,
        },
        "flaky": {
            "type": "object",
            "properties": {
                "runs": { "type": "integer", "minimum": 2, "maximum": 20 },
                "pass_if": { "enum": ["all", "any"], "default": "all" },
            },
            "required": ["runs"],
            "additionalProperties": false,
        },
        "on_error": { "$ref": "#/$defs/leniency", "default": "block" },
        "on_abstain": { "$ref": "#/$defs/leniency", "default": "block" },
        "on_not_applicable": {
            "description": "What becomes of inputs that a verifier says are none of its business: `skip` counts them neither way, `block` makes them an abstention.",
            "enum": ["skip", "block"],
            "default": "skip"
        },
        "on_nothing": {
            "description": "What becomes of a gate when the change holds nothing that any of its checks is for: it passes, or it abstains.",
            "enum": ["pass", "block"],
            "default": "pass"
        },
        "mode": { "enum": ["enforce", "shadow"], "default": "enforce" },
        "min_confidence": { "description": "A pass below it is an abstention.", "type": "number", "minimum": 0, "maximum": 1 },
    })
}

fn rules() -> Value {
    json!({
        "tiers": { "description": "In order; the first that does not pass decides.", "$ref": "#/$defs/members" },
        "all": { "description": "Every member must pass.", "$ref": "#/$defs/members" },
        "any": { "description": "One member must pass.", "$ref": "#/$defs/members" },
        "not": { "description": "The member must fail.", "$ref": "#/$defs/member" },
        "vote": {
            "description": "Members that vote: one name with `voters`, or a list.",
            "anyOf": [{ "type": "string", "minLength": 1 }, { "$ref": "#/$defs/members" }],
        },
        "voters": { "description": "How often a single member votes.", "type": "integer", "minimum": 1 },
        "threshold": {
            "anyOf": [{ "enum": ["majority", "two-thirds", "unanimous"] }, { "type": "integer", "minimum": 1 }],
            "default": "majority",
        },
        "quorum": { "description": "How many ballots must be cast; without it, those of all that apply.", "type": "integer", "minimum": 1 },
        "independent": { "description": "Ballots of one component with one model are one voice.", "type": "boolean", "default": false },
        "on_divergence": { "enum": ["escalate", "fail"], "default": "escalate" },
    })
}

/// What can be said of a gate with a name, and not of one that is written in place.
fn of_gates_alone() -> Value {
    json!({ "loop": { "description": "What differs from `[loop]` where a loop runs this gate.", "$ref": "#/$defs/loop" } })
}

fn budgets() -> Value {
    json!({
        "max_bounces": {
            "description": "How often the work is sent back.",
            "type": "integer", "minimum": 0, "maximum": 1_000, "default": 2,
        },
        "executor_timeout": {
            "description": "How long one attempt of the executor may take, at most `15m`.",
            "$ref": "#/$defs/duration", "default": "5m",
        },
        "stop_when_unchanged": {
            "description": "Whether the loop ends when an attempt fails exactly as the one before it.",
            "type": "boolean", "default": true,
        },
    })
}

fn check() -> Value {
    json!({
        "verifier": {
            "description": "A bundled name, or the path of a component; `@sha256:HEX` behind it pins the bytes.",
            "type": "string", "minLength": 1,
        },
        "settings": { "description": "What the verifier takes; see `gate inspect`.", "type": "object" },
        "settings_files": {
            "description": "Settings whose text stands in a file, by its path relative to gate.toml.",
            "type": "object",
            "additionalProperties": { "type": "string", "minLength": 1 },
        },
        "grants": {
            "type": "array",
            "items": { "type": "string", "pattern": "^(workspace|command:.+|model:.+)$" },
        },
        "limits": {
            "description": "What one call may use.",
            "type": "object",
            "properties": {
                "time": { "$ref": "#/$defs/duration" },
                "memory": { "$ref": "#/$defs/size" },
                "transfer": { "$ref": "#/$defs/size" },
                "random": { "$ref": "#/$defs/size" },
                "input": { "$ref": "#/$defs/size" },
                "log": { "$ref": "#/$defs/size" },
                "table_elements": { "type": "integer", "minimum": 1 },
                "handles": { "type": "integer", "minimum": 1 },
                "hostcalls": { "type": "integer", "minimum": 1 },
                "findings": { "type": "integer", "minimum": 1 },
            },
            "additionalProperties": false,
        },
    })
}

fn command() -> Value {
    json!({
        "run": { "description": "The program and its arguments. The argument `{files}` stands for the files of the check.", "type": "array", "items": { "type": "string" }, "minItems": 1 },
        "timeout": { "$ref": "#/$defs/duration" },
        "env": { "description": "The environment variables that it sees.", "type": "array", "items": { "type": "string" } },
        "cwd": { "type": "string" },
        "network": { "type": "boolean", "default": false },
        "workspace": { "enum": ["read-only", "read-write"], "default": "read-only" },
        "read": { "description": "What it sees besides: paths, relative to the work or to `~/`.", "type": "array", "items": { "type": "string", "minLength": 1 } },
        "write": { "description": "What it may change besides: paths as above.", "type": "array", "items": { "type": "string", "minLength": 1 } },
        "min_sandbox": { "enum": ["none", "landlock", "namespaces"], "default": "none" },
        "fixes": { "description": "It repairs files: it runs in a copy of the work, and what it would change becomes findings with fixes.", "type": "boolean", "default": false },
    })
}

fn model() -> Value {
    json!({
        "api": { "enum": ["anthropic", "openai", "command"] },
        "model": { "type": "string" },
        "key_env": { "description": "The environment variable that holds the key.", "type": "string" },
        "url": { "description": "Where the API is; without it, at its usual address.", "type": "string" },
        "command": { "description": "The command that is asked, for `api = \"command\"`.", "type": "string" },
        "max_tokens": { "description": "The most tokens of one answer.", "type": "integer", "minimum": 1, "default": 4_096 },
        "max_requests": { "description": "The most questions of one run.", "type": "integer", "minimum": 1, "default": 16 },
        "max_run_tokens": { "description": "The most tokens of one run, in and out.", "type": "integer", "minimum": 1, "default": 1_000_000 },
        "max_run_bytes": { "description": "The most bytes of one run, sent and received.", "$ref": "#/$defs/size", "default": "16MiB" },
        "max_run_time": { "description": "The most time of one run, of all questions together.", "$ref": "#/$defs/duration", "default": "30m" },
        "timeout": { "description": "How long an answer may take, with all retries.", "$ref": "#/$defs/duration", "default": "3m" },
        "family": { "description": "The family that the model belongs to, for `independent` votes and the record.", "type": "string", "minLength": 1 },
        "price": {
            "description": "What a million tokens cost, so that the record can say what a run cost.",
            "type": "object",
            "properties": {
                "input": { "type": "number", "minimum": 0, "maximum": 1_000_000 },
                "output": { "type": "number", "minimum": 0, "maximum": 1_000_000 }
            },
            "required": ["input", "output"],
            "additionalProperties": false
        },
        "distinct": { "description": "Refuse the model that did the work.", "type": "boolean", "default": true },
    })
}

fn merged(parts: &[&Value]) -> Value {
    let all = parts.iter().filter_map(|part| part.as_object()).flatten();
    Value::Object(all.map(|(key, value)| (key.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_are_what_they_say() {
        let said = crate::input::parse(EXAMPLE_SUBMISSION.as_bytes()).expect("a submission");
        assert!(said.task.is_some() && said.claim.is_some() && !said.tool_calls.is_empty());
        assert!(crate::input::transcript(EXAMPLE_TRANSCRIPT.as_bytes()).expect("a transcript").completed);
        assert!(example_prompt().contains("{{changes}}"), "{}", example_prompt());
    }
}
