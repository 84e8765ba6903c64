//! The JSON Schema of `gate.toml`, with the description of every key.

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
            "deadline": { "description": "Time limit of the whole gate: `30m` by default, longer for a long command, at most `2h`.", "$ref": "#/$defs/duration" },
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
        "members": { "type": "array", "items": { "$ref": "#/$defs/member" }, "minItems": 1 },
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

const RULES: [&str; 5] = ["tiers", "all", "any", "not", "vote"];

fn weight() -> Value {
    json!({ "description": "The weight of the ballot; members of a vote only.", "type": "integer", "minimum": 1 })
}

/// Returns the keys that every member can have.
fn terms() -> Value {
    json!({
        "when": {
            "description": "Run when any condition holds: `phase-boundary`, `every N`, `final`. Otherwise it is skipped, and the report says when it is next due. If a condition cannot be evaluated, it runs.",
            "type": "array",
            "items": { "type": "string", "pattern": "^(phase-boundary|final|every [1-9][0-9]*)$" },
            "minItems": 1,
        },
        "tier": { "description": "Skipped if the task asks for a lower tier (`--tier`).", "type": "integer", "minimum": 1 },
        "files": {
            "description": "For a check: the files to check. For a gate: it runs only if one of them changed. Not allowed on a check of submissions.",
            "$ref": "#/$defs/globs",
        },
        "exclude": { "description": "Files to leave out of `files`.", "$ref": "#/$defs/globs" },
        "enabled": { "description": "`false` skips it.", "type": "boolean", "default": true },
        "timeout": {
            "description": "Time limit. Of a check, over all its files: `2m` by default, at most `5m`; with a model `3m` and `10m`; with a command, as long as the command may take.",
            "$ref": "#/$defs/duration",
        },
        "attempts": {
            "description": "How many times a verifier is called if it returns no verdict. A verdict is never retried.",
            "type": "integer", "minimum": 1, "maximum": 10,
        },
        "flaky": {
            "description": "Run the check several times, and mark it if the runs disagree.",
            "type": "object",
            "properties": {
                "runs": { "description": "The number of runs.", "type": "integer", "minimum": 2, "maximum": 20 },
                "pass_if": { "description": "Whether all runs must pass, or any.", "enum": ["all", "any"], "default": "all" },
            },
            "required": ["runs"],
            "additionalProperties": false,
        },
        "on_error": { "description": "What an error does: it blocks, it warns and does not count, or it needs human review.", "$ref": "#/$defs/leniency", "default": "block" },
        "on_abstain": { "description": "What an abstention does: it blocks, it warns and does not count, or it needs human review.", "$ref": "#/$defs/leniency", "default": "block" },
        "on_not_applicable": {
            "description": "What `not-applicable` does: `skip` counts it neither way, `block` makes it an abstention.",
            "enum": ["skip", "block"],
            "default": "skip"
        },
        "on_nothing": {
            "description": "What a gate does if no check applies to the change: it passes, or it abstains. `gate loop` blocks by default.",
            "enum": ["pass", "block"],
            "default": "pass"
        },
        "mode": { "description": "`shadow` runs it and reports its result, which does not count.", "enum": ["enforce", "shadow"], "default": "enforce" },
        "min_confidence": { "description": "A pass with a lower confidence, or without one, is an abstention.", "type": "number", "minimum": 0, "maximum": 1 },
        "escalate_below": { "description": "A pass that reports a lower confidence is an abstention that needs human review.", "type": "number", "minimum": 0, "maximum": 1 },
    })
}

fn rules() -> Value {
    json!({
        "tiers": { "description": "Members in order; the first one that does not pass decides.", "$ref": "#/$defs/members" },
        "all": { "description": "Every member must pass.", "$ref": "#/$defs/members" },
        "any": { "description": "One member must pass.", "$ref": "#/$defs/members" },
        "not": { "description": "The member must fail.", "$ref": "#/$defs/member" },
        "vote": {
            "description": "Members that vote: one name with `voters`, or a list.",
            "anyOf": [{ "type": "string", "minLength": 1 }, { "$ref": "#/$defs/members" }],
        },
        "voters": { "description": "How many times a single member votes.", "type": "integer", "minimum": 1 },
        "threshold": {
            "description": "How many ballots must be in favour.",
            "anyOf": [{ "enum": ["majority", "two-thirds", "unanimous"] }, { "type": "integer", "minimum": 1 }],
            "default": "majority",
        },
        "quorum": { "description": "How many ballots must be cast. Default: all members that apply.", "type": "integer", "minimum": 1 },
        "independent": { "description": "Count ballots of the same component with the same model as one voice.", "type": "boolean", "default": false },
        "on_divergence": { "description": "What a divided vote does: it needs human review, or it fails.", "enum": ["escalate", "fail"], "default": "escalate" },
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
            "description": "The most tokens of all attempts together, as reported by transcripts and models.",
            "type": "integer", "minimum": 1,
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

/// Returns the schema of `[evaluator]`.
fn evaluator() -> Value {
    let mut keys = command();
    if let Some(keys) = keys.as_object_mut() {
        ["workspace", "from", "allow", "fixes"].iter().for_each(|key| drop(keys.remove(*key)));
    }
    keys["min_sandbox"]["default"] = json!("landlock");
    keys["timeout"]["default"] = json!("3m");
    keys["timeout"]["description"] =
        json!("Then the evaluator and everything that it started is killed; at most `10m`.");
    json!({
        "description": "The command that evaluates the work after each attempt of `gate loop`. It can only read the work, and runs at least under Landlock.",
        "type": "object",
        "properties": keys,
        "required": ["run"],
        "additionalProperties": false,
    })
}

fn check() -> Value {
    json!({
        "verifier": {
            "description": "A bundled verifier, or the path of a component; `@sha256:HEX` after it pins the bytes.",
            "type": "string", "minLength": 1,
        },
        "settings": { "description": "The settings of the verifier; `gate inspect` shows its schema.", "type": "object" },
        "settings_files": {
            "description": "Settings that are read from text files; paths are relative to gate.toml.",
            "type": "object",
            "additionalProperties": { "type": "string", "minLength": 1 },
        },
        "grants": {
            "description": "Capabilities: `workspace`, `command:NAME`, `model:NAME`. Default: none.",
            "type": "array",
            "items": { "type": "string", "pattern": "^(workspace|command:.+|model:.+)$" },
        },
        "red_green": {
            "description": "Require the commands of the check to fail on the base commit, to prove that the change makes them succeed.",
            "type": "boolean", "default": false,
        },
        "limits": {
            "description": "Limits of one call.",
            "type": "object",
            "properties": {
                "time": { "description": "Time; `10s` by default.", "$ref": "#/$defs/duration" },
                "memory": { "description": "Memory and tables together; `256MiB` by default.", "$ref": "#/$defs/size" },
                "transfer": { "description": "Data copied between the host and the verifier.", "$ref": "#/$defs/size" },
                "random": { "description": "Random bytes.", "$ref": "#/$defs/size" },
                "input": { "description": "Size of the file or the submission.", "$ref": "#/$defs/size" },
                "log": { "description": "Size of the log.", "$ref": "#/$defs/size" },
                "table_elements": { "description": "Elements of all tables.", "type": "integer", "minimum": 1 },
                "handles": { "description": "Open handles.", "type": "integer", "minimum": 1 },
                "hostcalls": { "description": "Calls of the host.", "type": "integer", "minimum": 1 },
                "findings": { "description": "Findings that are kept; the worst first.", "type": "integer", "minimum": 1 },
            },
            "additionalProperties": false,
        },
    })
}

/// Returns the schema of a command: with `run`, or with `from = "task"`.
fn with_a_program(mut command: Value) -> Value {
    command["oneOf"] = json!([{ "required": ["run"] }, { "required": ["from", "allow"] }]);
    command
}

fn command() -> Value {
    json!({
        "from": { "description": "Run the verify command of the task, which must come from a plan in the base commit.", "enum": ["task"] },
        "allow": {
            "description": "The verify commands that a task may name; `*` in a word stands for any characters, as the last word for one or more.",
            "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 1,
        },
        "run": { "description": "The program and its arguments; no shell. A name is looked up in PATH, a path is relative to the workspace.", "type": "array", "items": { "type": "string" }, "minItems": 1 },
        "timeout": { "description": "Then the command and everything that it started is killed; at most `1h`.", "$ref": "#/$defs/duration", "default": "2m" },
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

fn model() -> Value {
    json!({
        "api": { "description": "The protocol; `openai` is any compatible server.", "enum": ["anthropic", "openai", "command"] },
        "model": { "description": "The name of the model in the API.", "type": "string" },
        "key_env": { "description": "The environment variable that holds the key.", "type": "string" },
        "url": { "description": "The base URL. Default: `https://api.anthropic.com`, `https://api.openai.com/v1`. Only `https`, except on this machine or without a key.", "type": "string" },
        "command": { "description": "For `api = \"command\"`: the `[command.NAME]` that reads the question from stdin and prints the answer.", "type": "string" },
        "max_tokens": { "description": "Tokens of one answer.", "type": "integer", "minimum": 1, "default": 4_096 },
        "max_requests": { "description": "Requests per run.", "type": "integer", "minimum": 1, "default": 16 },
        "max_run_tokens": { "description": "Tokens per run, input and output together.", "type": "integer", "minimum": 1, "default": 1_000_000 },
        "max_run_bytes": { "description": "Bytes per run, sent and received.", "$ref": "#/$defs/size", "default": "16MiB" },
        "max_run_time": { "description": "Time per run, all requests together.", "$ref": "#/$defs/duration", "default": "30m" },
        "timeout": { "description": "Time limit of one answer with all retries; at most `10m`.", "$ref": "#/$defs/duration", "default": "3m" },
        "family": { "description": "The family of the model, for `independent` votes and the record.", "type": "string", "minLength": 1 },
        "price": {
            "description": "The price of a million tokens, for the costs in the record.",
            "type": "object",
            "properties": {
                "input": { "description": "Of input tokens.", "type": "number", "minimum": 0, "maximum": 1_000_000 },
                "output": { "description": "Of output tokens.", "type": "number", "minimum": 0, "maximum": 1_000_000 }
            },
            "required": ["input", "output"],
            "additionalProperties": false
        },
        "distinct": { "description": "Do not ask the model that did the work, if the submission or the answer names it.", "type": "boolean", "default": true },
    })
}

fn merged(parts: &[&Value]) -> Value {
    let all = parts.iter().filter_map(|part| part.as_object()).flatten();
    Value::Object(all.map(|(key, value)| (key.clone(), value.clone())).collect())
}
