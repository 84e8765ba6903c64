//! Which key of its configuration may help a command that failed: read off what it printed.
//!
//! It is advice for a person and decides nothing: the author of the work decides what a command prints and with which
//! code it exits, and must not be able to turn a failure into an error, which a gate may be told to tolerate.

use super::{Captured, Ending};
use crate::config::Command;
use regex::Regex;
use std::sync::LazyLock;

/// As much is looked at of the end of an output: an error is said last.
const LOOKED_AT: usize = 64 << 10;

static READ_ONLY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)read-only file system|\bEROFS\b").ok());
static QUOTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"['‘"`]([^'‘’"`]+)['’"`]|(?:create|open|write) (\S+): "#).ok());
static NO_NETWORK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = [
        "could not resolve host",
        "couldn't resolve host",
        "temporary failure in name resolution",
        "name or service not known",
        "network is unreachable",
        "getaddrinfo (?:EAI_AGAIN|ENOTFOUND)",
        "dial tcp: lookup ",
        "failed to lookup address",
        "no address associated with hostname",
    ];
    Regex::new(&format!("(?i){}", words.join("|"))).ok()
});
static MISSING_PROGRAM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)([^\s:`']+)[`']?: (?:command )?not found").ok());
static UNSET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)not set|unset|unbound variable|not found|undefined|missing|required|environment|KeyError").ok()
});
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[A-Z][A-Z0-9_]{2,}\b").ok());

/// What may help the command `name`, if anything that is known does.
pub(super) fn advice(
    name: &str,
    command: &Command,
    ending: Ending,
    outputs: [&Captured; 2],
    is_set: impl Fn(&str) -> bool,
) -> Option<String> {
    let Ending::Exited(code @ 1..) = ending else { return None };
    let texts = outputs.map(end_of);
    let lines = || texts.iter().rev().flat_map(|text| text.lines());
    let matching = |pattern: &'static LazyLock<Option<Regex>>| {
        lines().filter_map(move |line| pattern.as_ref().filter(|pattern| pattern.is_match(line)).map(|_| line))
    };
    if let Some(line) = matching(&READ_ONLY).next() {
        let what = match named(line) {
            Some(path) => format!("`{path}` could not be written"),
            None => "something could not be written".to_owned(),
        };
        return Some(format!(
            "{what}: the command sees it read-only; if it is to write there, add the folder to `write` of \
             `[command.{name}]`"
        ));
    }
    if !command.network && matching(&NO_NETWORK).next().is_some() {
        return Some(format!(
            "the command has no network; fetch what it needs beforehand, or set `network = true` in `[command.{name}]`"
        ));
    }
    let unset = matching(&UNSET).find_map(|line| {
        let mut words = VARIABLE.as_ref()?.find_iter(line).map(|word| word.as_str());
        words.find(|word| is_set(word) && !command.env.iter().any(|seen| seen == word))
    });
    if let Some(variable) = unset {
        return Some(format!("the command does not see `{variable}`; add it to `env` of `[command.{name}]`"));
    }
    match code {
        127 => {
            let program = matching(&MISSING_PROGRAM)
                .next()
                .and_then(|line| Some(MISSING_PROGRAM.as_ref()?.captures(line)?[1].to_owned()));
            let what = program
                .map_or("a program".to_owned(), |program| format!("`{}`", crate::text::clean_line(&program, 60)));
            Some(format!(
                "exit code 127: {what} was not found; install it in a folder of `PATH`, and if it needs files in your \
                 home, add them to `read` of `[command.{name}]`"
            ))
        }
        126 => Some(format!(
            "exit code 126: a program could not be executed; is it executable, and its interpreter in a folder that \
             the command sees? Otherwise add that to `read` of `[command.{name}]`"
        )),
        _ => None,
    }
}

/// The path that a line is about.
fn named(line: &str) -> Option<String> {
    let found = QUOTED.as_ref()?.captures(line)?;
    let path = found.get(1).or_else(|| found.get(2))?;
    Some(crate::text::clean_line(path.as_str(), 200))
}

fn end_of(captured: &Captured) -> String {
    let end = if captured.tail.is_empty() { &captured.head } else { &captured.tail };
    String::from_utf8_lossy(&end[end.len().saturating_sub(LOOKED_AT)..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Access, Sandbox};
    use std::time::Duration;

    fn captured(text: &str) -> Captured {
        Captured { head: text.into(), length: text.len() as u64, ..Captured::default() }
    }

    fn command() -> Command {
        Command {
            run: Vec::new(),
            from_task: None,
            timeout: Duration::ZERO,
            env: vec!["SEEN_TOKEN".to_owned()],
            cwd: None,
            network: false,
            workspace: Access::ReadOnly,
            read: Vec::new(),
            write: Vec::new(),
            min_sandbox: Sandbox::None,
        }
    }

    fn advised(code: i32, printed: &str) -> Option<String> {
        let is_set = |name: &str| ["DATABASE_URL", "SEEN_TOKEN"].contains(&name);
        advice("t", &command(), Ending::Exited(code), [&captured(""), &captured(printed)], is_set)
    }

    #[test]
    fn the_key_that_helps_is_named() {
        for (code, printed, expected) in [
            (
                1,
                "touch: cannot touch 'a/b.txt': Read-only file system\n",
                "`a/b.txt` could not be written: the command",
            ),
            (1, "sh: 1: cannot create b.txt: Read-only file system\n", "`b.txt` could not be written"),
            (2, "OSError: [Errno 30] Read-only file system: '/w/.cache'\n", "`/w/.cache` could not be written"),
            (1, "Error: EROFS: read-only file system, open '/w/.eslintcache'", "`/w/.eslintcache` could not be"),
            (1, "Read-only file system (os error 30)", "add the folder to `write` of `[command.t]`"),
            (101, "curl: (6) Could not resolve host: x.example\n", "set `network = true` in `[command.t]`"),
            (1, "npm error getaddrinfo EAI_AGAIN registry.example", "has no network"),
            (1, "sh: 1: DATABASE_URL: parameter not set", "add it to `env` of `[command.t]`"),
            (1, "KeyError: 'DATABASE_URL'", "does not see `DATABASE_URL`"),
            (127, "sh: 1: eslint: not found\n", "exit code 127: `eslint` was not found"),
            (127, "bash: line 1: eslint: command not found\n", "`eslint` was not found"),
            (127, "", "exit code 127: a program was not found"),
            (126, "sh: 1: ./x: Permission denied\n", "exit code 126: "),
        ] {
            let advice = advised(code, printed).unwrap_or_default();
            assert!(advice.contains(expected), "{printed}: {advice}");
        }
    }

    #[test]
    fn nothing_is_advised_where_nothing_is_known() {
        assert_eq!(advised(0, "Read-only file system"), None);
        assert_eq!(advised(1, "1 test failed"), None);
        assert_eq!(advised(1, "SEEN_TOKEN not set, OTHER not set"), None);
        let late = advice("t", &command(), Ending::TimedOut, [&captured("EROFS"), &captured("")], |_| true);
        assert_eq!(late, None);
        let online = Command { network: true, ..command() };
        let said = captured("Could not resolve host: x");
        assert_eq!(advice("t", &online, Ending::Exited(1), [&said, &said], |_| false), None);
    }
}
