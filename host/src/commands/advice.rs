//! Finds the configuration key that may help a command that failed, from its output and its exit code.
//!
//! If a command failed because of the sandbox or a missing dependency, that says nothing about the work. But the author of
//! the work decides what a command prints and how it exits, so such an error is never ignored: [`ErrorKind::is_by_output`].

use super::{Advice, Captured, CommandEnding};
use crate::config::CommandConfig;
use crate::text::clean_line;
use crate::verdict::ErrorKind;
use regex::Regex;
use std::path::Path;
use std::sync::LazyLock;

/// How many bytes of the end of an output are searched. The error is usually last.
const LOOKED_AT: usize = 64 << 10;

static READ_ONLY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)read-only file system|\bEROFS\b").ok());
/// Warnings, after which a program continues.
static WARNING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)warn").ok());
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
/// Groups: a Python module; a Node package; a gem; a Go package; a crate.
static NO_DEPENDENCY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let ways = [
        r"No module named '?([A-Za-z0-9_]+)",
        r"Cannot find (?:module|package) '([^./'][^']*)'",
        r"Could not find (?:gem )?'?([A-Za-z0-9_-]+)[^\n]* in (?:locally installed gems|any of the sources)",
        r"cannot load such file -- ([A-Za-z0-9_-]+)",
        r"no required module provides package ([^\s;]+)",
        r"no matching package named `([^`]+)` found",
        r"(?:node_modules (?:is )?missing|Couldn't find the node_modules state file|run `?(?:bundle|yarn|pnpm|npm) (?:install|ci))()",
    ];
    Regex::new(&ways.join("|")).ok()
});
static MISSING_PROGRAM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)([^\s:`']+)[`']?: (?:command )?not found").ok());
static UNSET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)not set|unset|unbound variable|not found|undefined|missing|required|environment|KeyError").ok()
});
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[A-Z][A-Z0-9_]{2,}\b").ok());

/// Returns the advice for the command `name`, which ran in `root`, if there is any.
pub(super) fn advice(
    name: &str,
    command: &CommandConfig,
    root: &Path,
    ending: CommandEnding,
    outputs: [&Captured; 2],
    is_set: impl Fn(&str) -> bool,
) -> Option<Advice> {
    let CommandEnding::Exited(code @ 1..) = ending else { return None };
    let texts = outputs.map(end_of);
    let lines = || texts.iter().rev().flat_map(|text| text.lines());
    let matching = |pattern: &'static LazyLock<Option<Regex>>| {
        lines().filter_map(move |line| pattern.as_ref().filter(|pattern| pattern.is_match(line)).map(|_| line))
    };
    let warns = |line: &&str| WARNING.as_ref().is_some_and(|pattern| pattern.is_match(line));
    let advice = |kind, what: String, hint: String| Some(Advice { kind, what, hint });
    if let Some(line) = matching(&READ_ONLY).find(|line| !warns(line)) {
        let what = match named(line) {
            Some(path) => format!("`{path}` could not be written: the command sees it read-only"),
            None => "something could not be written: the command sees it read-only".to_owned(),
        };
        let hint = format!("to let it write there, add the folder to `write` of `[command.{name}]`");
        return advice(ErrorKind::CommandReadOnly, what, hint);
    }
    if !command.network && matching(&NO_NETWORK).next().is_some() {
        let hint = format!("fetch what it needs beforehand, or set `network = true` in `[command.{name}]`");
        return advice(ErrorKind::CommandOffline, "the command has no network".to_owned(), hint);
    }
    let unset = matching(&UNSET).find_map(|line| {
        let mut words = VARIABLE.as_ref()?.find_iter(line).map(|word| word.as_str());
        words.find(|word| is_set(word) && !command.env.iter().any(|seen| seen == word))
    });
    if let Some(variable) = unset {
        let what = format!("the command does not see `{variable}`");
        return advice(ErrorKind::CommandUnset, what, format!("add it to `env` of `[command.{name}]`"));
    }
    match code {
        127 => {
            let program = matching(&MISSING_PROGRAM)
                .next()
                .and_then(|line| Some(MISSING_PROGRAM.as_ref()?.captures(line)?[1].to_owned()));
            let what = program.map_or("a program".to_owned(), |program| format!("`{}`", clean_line(&program, 60)));
            let hint = format!(
                "install it in a folder of `PATH`, and if it needs files in your home, add them to `read` of \
                 `[command.{name}]`"
            );
            return advice(ErrorKind::CommandNoProgram, format!("exit code 127: {what} was not found"), hint);
        }
        126 => {
            let hint = format!(
                "is it executable, and its interpreter in a folder that the command sees? Otherwise add that to `read` \
                 of `[command.{name}]`"
            );
            let what = "exit code 126: a program could not be executed".to_owned();
            return advice(ErrorKind::CommandNoProgram, what, hint);
        }
        _ => {}
    }
    let missing = matching(&NO_DEPENDENCY).find_map(|line| {
        let found = NO_DEPENDENCY.as_ref()?.captures(line)?;
        let package = found.iter().skip(1).flatten().next()?.as_str();
        // If the package belongs to the workspace, the work is at fault.
        (!is_of_the_work(root, package)).then(|| clean_line(package, 60))
    });
    missing.and_then(|package| {
        let what = match package.as_str() {
            "" => "the dependencies are not installed".to_owned(),
            package => format!("the dependency `{package}` is not installed where the command sees it"),
        };
        let hint = format!(
            "install the dependencies first; if they are in your home, add their folder to `read` of `[command.{name}]`"
        );
        advice(ErrorKind::CommandNoDependency, what, hint)
    })
}

/// Returns whether a module or package belongs to the workspace, by its name.
fn is_of_the_work(root: &Path, package: &str) -> bool {
    if package.is_empty() {
        return false;
    }
    let first = package.split(['.', '/']).next().unwrap_or(package);
    let names = [first.to_owned(), format!("{first}.py"), format!("{first}.rb")];
    ["", "src", "lib"].iter().any(|folder| names.iter().any(|name| root.join(folder).join(name).exists()))
}

/// Returns the path that a line is about.
fn named(line: &str) -> Option<String> {
    let found = QUOTED.as_ref()?.captures(line)?;
    let path = found.get(1).or_else(|| found.get(2))?;
    Some(clean_line(path.as_str(), 200))
}

fn end_of(captured: &Captured) -> String {
    let end = if captured.tail.is_empty() { &captured.head } else { &captured.tail };
    String::from_utf8_lossy(&end[end.len().saturating_sub(LOOKED_AT)..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Access, SandboxLevel};
    use std::time::Duration;

    fn captured(text: &str) -> Captured {
        Captured { head: text.into(), length: text.len() as u64, ..Captured::default() }
    }

    fn command() -> CommandConfig {
        CommandConfig {
            run: Vec::new(),
            from_task: None,
            timeout: Duration::ZERO,
            env: vec!["SEEN_TOKEN".to_owned()],
            cwd: None,
            network: false,
            workspace: Access::ReadOnly,
            read: Vec::new(),
            write: Vec::new(),
            min_sandbox: SandboxLevel::None,
            fixes: false,
        }
    }

    fn advised(code: i32, printed: &str) -> Option<String> {
        let is_set = |name: &str| ["DATABASE_URL", "SEEN_TOKEN"].contains(&name);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let outputs = [&captured(""), &captured(printed)];
        let advice = advice("t", &command(), root, CommandEnding::Exited(code), outputs, is_set)?;
        assert!(advice.kind.is_by_output());
        Some(format!("{}: {advice}", advice.kind))
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
            (1, "ModuleNotFoundError: No module named 'blinker'", "command.no-dependency: the dependency `blinker`"),
            (1, "/usr/bin/python3: No module named pytest", "`pytest` is not installed"),
            (1, "Error: Cannot find module 'eslint/bin'", "`eslint/bin` is not installed"),
            (1, "no required module provides package golang.org/x/text; to add it:", "`golang.org/x/text` is not"),
            (1, "Could not find rake-13.0 in locally installed gems", "command.no-dependency: "),
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
        assert_eq!(advised(1, "PytestCacheWarning: [Errno 30] Read-only file system: '/w/.pytest_cache'"), None);
        for own in ["No module named 'src'", "Cannot find module './helper'", "Cannot find module '/w/x.js'"] {
            assert_eq!(advised(1, own), None, "{own}: what the work lacks is its own fault");
        }
        assert_eq!(advised(1, "No module named 'benches'"), None, "it is in the work");
        let root = Path::new("/");
        let late =
            advice("t", &command(), root, CommandEnding::TimedOut, [&captured("EROFS"), &captured("")], |_| true);
        assert_eq!(late, None);
        let online = CommandConfig { network: true, ..command() };
        let said = captured("Could not resolve host: x");
        assert_eq!(advice("t", &online, root, CommandEnding::Exited(1), [&said, &said], |_| false), None);
    }
}
