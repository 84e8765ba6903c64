//! The keys of gates and checks.

use crate::config::{MAX_VOTERS, MAX_WEIGHT};
use serde_json::{Value, json};

pub(super) const RULES: [&str; 5] = ["tiers", "all", "any", "not", "vote"];

pub(super) fn weight() -> Value {
    json!({ "description": "The weight of the ballot; members of a vote only.", "type": "integer", "minimum": 1, "maximum": MAX_WEIGHT })
}

/// Returns the keys that every member can have.
pub(super) fn terms() -> Value {
    json!({
        "when": {
            "description": "Run when any condition holds: `phase-boundary`, `every N`, `final`. Otherwise it is skipped, and the report says when it is next due. If a condition cannot be evaluated, it runs.",
            "type": "array",
            "items": { "type": "string", "pattern": "^(phase-boundary|final|every [1-9][0-9]*)$" },
            "minItems": 1,
        },
        "tier": { "description": "Skipped if the task asks for a lower tier (`--tier`).", "type": "integer", "minimum": 1, "maximum": 1_000 },
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

pub(super) fn rules() -> Value {
    json!({
        "tiers": { "description": "Members in order; the first one that does not pass decides.", "$ref": "#/$defs/members" },
        "all": { "description": "Every member must pass.", "$ref": "#/$defs/members" },
        "any": { "description": "One member must pass.", "$ref": "#/$defs/members" },
        "not": { "description": "The member must fail.", "$ref": "#/$defs/member" },
        "vote": {
            "description": "Members that vote: one name with `voters`, or a list.",
            "anyOf": [{ "type": "string", "minLength": 1 }, { "$ref": "#/$defs/members" }],
        },
        "voters": { "description": "How many times a single member votes.", "type": "integer", "minimum": 1, "maximum": MAX_VOTERS },
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

pub(super) fn check() -> Value {
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
                "time": { "description": "Time, also for `describe`; `10s` by default.", "$ref": "#/$defs/duration" },
                "memory": { "description": "Memory and tables together; `256MiB` by default.", "$ref": "#/$defs/size" },
                "transfer": { "description": "Data copied between the host and the verifier.", "$ref": "#/$defs/size" },
                "random": { "description": "Random bytes.", "$ref": "#/$defs/size" },
                "input": { "description": "Size of the file or the submission.", "$ref": "#/$defs/size" },
                "log": { "description": "Size of the log.", "$ref": "#/$defs/size" },
                "table_elements": { "description": "Elements of all tables.", "type": "integer", "minimum": 1, "maximum": 10_000_000 },
                "handles": { "description": "Open handles.", "type": "integer", "minimum": 1, "maximum": 10_000_000 },
                "hostcalls": { "description": "Calls from the verifier to the host.", "type": "integer", "minimum": 1, "maximum": 1_000_000_000 },
                "findings": { "description": "Findings that are kept; the worst first.", "type": "integer", "minimum": 1, "maximum": 10_000_000 },
            },
            "additionalProperties": false,
        },
    })
}
