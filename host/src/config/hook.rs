//! `[hook]`: which gate runs when a coding agent wants to stop, and in git hooks.

use super::GateConfig;
use super::problem::nearest;
use super::read::{Table, TomlValue};
use std::collections::BTreeMap;

/// The settings of `[hook]`. Without a gate name, the gate is chosen as by `gate run`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookConfig {
    /// The gate for an agent that wants to stop.
    pub stop: Option<String>,
    /// The gate for a task that is declared complete; by default, that of `stop`.
    pub task_completed: Option<String>,
    /// The gate for a file that a tool changed; by default, none runs.
    pub post_tool_use: Option<String>,
    /// How often an agent is sent back.
    pub bounces: Option<u32>,
    /// The gate for a commit.
    pub pre_commit: Option<String>,
    /// The gate for a commit message, which is its claim; by default, none runs.
    pub commit_msg: Option<String>,
    /// The gate for a push.
    pub pre_push: Option<String>,
}

pub(super) fn read(mut table: Table<'_>, gates: &BTreeMap<String, GateConfig>) -> HookConfig {
    let gate = |value: TomlValue<'_>| {
        let name = value.text("the name of a gate")?;
        if !gates.contains_key(&name) {
            let shown = crate::text::clean_line(&name, 60);
            value.problem_with(format!("there is no gate `{shown}`"), nearest(&name, gates.keys().map(String::as_str)));
        }
        Some(name)
    };
    let hook = HookConfig {
        stop: table.get("stop").and_then(gate),
        task_completed: table.get("task_completed").and_then(gate),
        post_tool_use: table.get("post_tool_use").and_then(gate),
        pre_commit: table.get("pre_commit").and_then(gate),
        commit_msg: table.get("commit_msg").and_then(gate),
        pre_push: table.get("pre_push").and_then(gate),
        bounces: table.get("bounces").and_then(|value| value.small(0..=20)),
    };
    table.finish();
    hook
}
