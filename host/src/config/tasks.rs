//! Reads `[plan]` and `[evaluator]`: the file of the tasks, and the command that evaluates the work in a loop.

use super::command::{self, CommandConfig, SandboxLevel};
use super::read::Table;
use std::path::{Component, Path};
use std::time::Duration;

/// The default and the longest time limit of an evaluator.
const EVALUATOR_TIMEOUT: (Duration, Duration) = (Duration::from_secs(3 * 60), Duration::from_secs(10 * 60));

/// Reads `[plan]`: the file with the tasks, relative to gate.toml.
pub(super) fn plan(table: Table<'_>) -> Option<String> {
    file(table, "the plan of tasks, such as `\"tasks.md\"`")
}

fn file(mut table: Table<'_>, what: &str) -> Option<String> {
    let file = table.need("file", what).and_then(|value| {
        let text = value.text("a path")?;
        let inside = Path::new(&text).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if inside { Some(text) } else { value.expected("a path inside the folder of gate.toml") }
    });
    table.finish();
    file
}

/// Reads `[evaluator]`: a command that only reads the workspace and never runs without a sandbox.
pub(super) fn evaluator(mut table: Table<'_>) -> CommandConfig {
    for key in ["workspace", "from", "allow", "fixes"] {
        if let Some(value) = table.get(key) {
            value.problem(format!("expected no `{key}`: an evaluator is a command that only reads the workspace"));
        }
    }
    let command = command::read_with(table, EVALUATOR_TIMEOUT);
    CommandConfig { min_sandbox: command.min_sandbox.max(SandboxLevel::Landlock), ..command }
}
