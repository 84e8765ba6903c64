//! Suggests a command or a flag for an unknown one.

use crate::error::{Error, Make as _};
use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use gatehost::text::clean_line;

/// Commands of other programs, and their equivalents.
const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["check", "lint", "exec", "verify-files", "all", "pre-commit"],
        "`gate run` checks what changed; `gate run --all-files` checks everything",
    ),
    (&["setup", "hooks", "add-hook"], "`gate install` puts gates into coding agents, git hooks and CI"),
    (&["validate", "config", "show"], "`gate plan` shows what gate.toml means"),
    (&["ls", "gates", "checks"], "`gate list` lists the gates and checks"),
    (&["verifiers", "plugins"], "`gate inspect` lists the bundled verifiers"),
    (&["create", "generate"], "`gate init` writes a gate.toml; `gate new` starts a verifier"),
    (&["history", "runs"], "`gate log` shows the entries of the ledger"),
    (&["autofix", "format", "fmt"], "`gate fix` applies the fixes that verifiers offer"),
];

/// Flags of other programs, and their equivalents.
const FLAGS: &[(&[&str], &str)] = &[
    (&["--json"], "`--format json`"),
    (&["--all", "-a"], "`--all-files`"),
    (&["--file", "--path", "--paths"], "`--files PATH…`"),
    (&["--cached", "--index"], "`--staged`"),
    (&["--exclude", "--ignore"], "`--skip CHECK…` leaves out checks; `exclude` in gate.toml leaves out files"),
    (&["--hook-stage"], "the name of a gate, such as in `gate run push`"),
];

/// Returns an error with a suggestion, if there is one; otherwise clap's.
pub(crate) fn instead(error: &clap::Error, command: &clap::Command) -> Option<Error> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (what, typed, hint) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = text(ContextKind::InvalidSubcommand)?;
            let names: Vec<&str> = command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(clap::Command::get_name)
                .collect();
            let near = hint_for(COMMANDS, typed)
                .or_else(|| near(typed, &names).map(|name| format!("did you mean `gate {name}`?")));
            ("command", typed, near.or(Some("`gate --help` lists the commands".to_owned())))
        }
        ErrorKind::UnknownArgument => {
            let typed = text(ContextKind::InvalidArg)?;
            let flag = typed.split('=').next().unwrap_or(typed);
            let names = flags(command);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let near = near(flag, &names).map(|name| format!("did you mean `{name}`?"));
            ("flag", typed, Some(hint_for(FLAGS, flag).map(|flag| format!("use {flag}")).or(near)?))
        }
        _ => return None,
    };
    Some(Error::mistake(anyhow!("there is no {what} `{}`", clean_line(typed, 60))).hint(hint))
}

fn hint_for(table: &[(&[&str], &str)], typed: &str) -> Option<String> {
    table.iter().find(|(words, _)| words.contains(&typed)).map(|(_, hint)| (*hint).to_owned())
}

/// Returns the flags of the typed command, which is the one that clap built last.
fn flags(command: &clap::Command) -> Vec<String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let mut here = command;
    for word in typed.iter().filter(|word| !word.starts_with('-')) {
        if let Some(below) = here.find_subcommand(word) {
            here = below;
        }
    }
    let of = |command: &clap::Command| -> Vec<String> {
        command.get_arguments().filter_map(|argument| argument.get_long().map(|long| format!("--{long}"))).collect()
    };
    of(here).into_iter().chain(of(command)).collect()
}

/// Returns the nearest name: few letters differ, or some are missing.
fn near<'n>(typed: &str, names: &[&'n str]) -> Option<&'n str> {
    let word = typed.to_lowercase();
    let distance = |name: &&&str| strsim::damerau_levenshtein(&word, name);
    let closest = names.iter().min_by_key(distance).filter(|name| distance(name) <= word.chars().count().div_ceil(3));
    let is_short_for = |name: &&&str| {
        let mut letters = name.chars();
        word.len() >= 3 && word.chars().all(|letter| letters.any(|other| other == letter))
    };
    closest.or_else(|| names.iter().filter(is_short_for).min_by_key(|name| name.len())).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["run", "loop", "plan", "report", "install", "init", "list"];
        for (typed, expected) in [
            ("rnu", Some("run")),
            ("rum", Some("run")),
            ("instal", Some("install")),
            ("rprt", Some("report")),
            ("xyzzy", None),
        ] {
            assert_eq!(near(typed, &names), expected, "{typed}");
        }
        assert_eq!(near("--fmt", &["--files", "--format", "--from-ref"]), Some("--format"));
        assert_eq!(near("--form-ref", &["--files", "--format", "--from-ref"]), Some("--from-ref"));
    }
}
