//! Known hooks and tools: the bundled verifier that replaces one, or the command that checks the whole workspace.

use super::CheckAction;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Hooks that a bundled verifier replaces.
const BUNDLED: &[(&str, &str)] = &[
    ("check-json", "json-syntax"),
    ("check-yaml", "yaml-syntax"),
    ("check-toml", "toml-syntax"),
    ("check-xml", "xml-syntax"),
    ("check-ast", "python-syntax"),
    ("check-merge-conflict", "merge-markers"),
    ("detect-aws-credentials", "secrets"),
    ("detect-secrets", "secrets"),
    ("gitleaks", "secrets"),
];

/// Hooks that the verifier `hygiene` covers.
const HYGIENE: &[(&str, &str)] = &[
    ("trailing-whitespace", "trailing-whitespace"),
    ("end-of-file-fixer", "end-of-file"),
    ("mixed-line-ending", "mixed-line-endings"),
    ("check-byte-order-marker", "byte-order-mark"),
    ("fix-byte-order-marker", "byte-order-mark"),
    ("check-added-large-files", "large-file"),
    ("check-executables-have-shebangs", "executable-without-shebang"),
    ("check-shebang-scripts-are-executable", "shebang-not-executable"),
    ("check-symlinks", "broken-symlink"),
    ("debug-statements", "debug-statement"),
    ("detect-private-key", "private-key"),
];

/// Tools that can check the whole workspace without changing it: how they start in a command, their hooks, and the command.
const COMMANDS: &[(&str, &[&str], &[&str])] = &[
    ("ruff check", &["ruff", "ruff-check"], &["ruff", "check", "."]),
    ("ruff format", &["ruff-format"], &["ruff", "format", "--check", "."]),
    ("black", &["black"], &["black", "--check", "."]),
    ("isort", &["isort"], &["isort", "--check-only", "."]),
    ("flake8", &["flake8"], &["flake8"]),
    ("mypy", &["mypy"], &["mypy", "."]),
    ("prettier", &["prettier"], &["prettier", "--check", "."]),
    ("eslint", &["eslint"], &["eslint", "."]),
    ("cargo fmt", &["fmt", "cargo-fmt"], &["cargo", "fmt", "--all", "--check"]),
    ("cargo clippy", &["clippy", "cargo-clippy"], &["cargo", "clippy", "--all-targets", "--", "-D", "warnings"]),
    ("cargo check", &["cargo-check"], &["cargo", "check"]),
    ("golangci-lint", &["golangci-lint"], &["golangci-lint", "run"]),
    ("terraform fmt", &["terraform_fmt"], &["terraform", "fmt", "-check", "-recursive"]),
];

/// Returns the replacement for a hook with these arguments.
pub(super) fn of_hook(id: &str, arguments: &[String]) -> Option<CheckAction> {
    if let Some((_, verifier)) = BUNDLED.iter().find(|(hook, _)| *hook == id) {
        return Some(CheckAction::Verifier(verifier, BTreeMap::new()));
    }
    if let Some((_, check)) = HYGIENE.iter().find(|(hook, _)| *hook == id) {
        let mut settings: BTreeMap<&str, Value> = BTreeMap::from([("checks", json!([check]))]);
        let size = arguments.iter().find_map(|argument| argument.strip_prefix("--maxkb=")?.parse::<u32>().ok());
        if let Some(size) = size.filter(|size| id == "check-added-large-files" && *size > 0) {
            settings.insert("max_kilobytes", json!(size));
        }
        return Some(CheckAction::Verifier("hygiene", settings));
    }
    COMMANDS.iter().find(|(_, hooks, _)| hooks.contains(&id)).map(|(.., command)| self::command(command))
}

/// Returns the replacement for a command that takes a list of files.
pub(super) fn of_command(line: &str) -> Option<CheckAction> {
    // Runners that start a tool are not part of its name.
    let mut line = line.trim();
    for runner in ["npx ", "uv run ", "poetry run ", "pnpm exec ", "yarn ", "bunx "] {
        line = line.strip_prefix(runner).unwrap_or(line);
    }
    COMMANDS.iter().find(|(start, ..)| line.starts_with(start)).map(|(.., command)| self::command(command))
}

fn command(command: &[&str]) -> CheckAction {
    CheckAction::Command(command.iter().map(|word| (*word).to_owned()).collect())
}
