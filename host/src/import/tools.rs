//! Hooks and tools that are known: the bundled verifier that replaces one, or the command that judges the whole work.

use super::Check;

/// Hooks that a bundled verifier replaces.
const BUNDLED: &[(&str, &str)] = &[
    ("check-json", "json-syntax"),
    ("check-yaml", "yaml-syntax"),
    ("check-toml", "toml-syntax"),
    ("check-xml", "xml-syntax"),
    ("check-ast", "python-syntax"),
    ("check-merge-conflict", "merge-markers"),
    ("detect-private-key", "secrets"),
    ("detect-aws-credentials", "secrets"),
    ("detect-secrets", "secrets"),
    ("gitleaks", "secrets"),
];

/// Tools that can judge the whole work without changing it: how they begin in a command, their hooks, and the command.
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

/// What replaces a hook of this name.
pub(super) fn of_hook(id: &str) -> Option<Check> {
    let bundled = BUNDLED.iter().find(|(hook, _)| *hook == id).map(|(_, verifier)| Check::Bundled(verifier));
    bundled.or_else(|| COMMANDS.iter().find(|(_, hooks, _)| hooks.contains(&id)).map(|(.., command)| check(command)))
}

/// What replaces a command that is handed a list of files.
pub(super) fn of_command(line: &str) -> Option<Check> {
    // Runners that start a tool are no part of its name.
    let mut line = line.trim();
    for runner in ["npx ", "uv run ", "poetry run ", "pnpm exec ", "yarn ", "bunx "] {
        line = line.strip_prefix(runner).unwrap_or(line);
    }
    COMMANDS.iter().find(|(start, ..)| line.starts_with(start)).map(|(.., command)| check(command))
}

fn check(command: &[&str]) -> Check {
    Check::Command(command.iter().map(|word| (*word).to_owned()).collect())
}
