//! Detects commands that always succeed, and compares a command with the one that a task names.

/// Returns whether a command is the one that a task names, possibly run by a shell.
pub fn runs(argv: &[String], verify: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    argv == words(verify) || script(argv).is_some_and(|script| words(script) == words(verify))
}

/// The script of `sh -c SCRIPT`.
fn script(argv: &[String]) -> Option<&str> {
    let [shell, options @ .., script] = argv else { return None };
    let is_shell = ["sh", "bash", "dash", "zsh", "ksh", "ash"].contains(&base(shell));
    let takes_script = options.last().is_some_and(|option| option.starts_with('-') && option.ends_with('c'));
    (is_shell && takes_script).then_some(script)
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a command succeeds whatever the work is: `true`, `echo …`, or a script that ends with one of them.
pub fn is_vacuous(argv: &[String]) -> bool {
    match script(argv) {
        Some(script) => is_vacuous_script(script),
        None => is_vacuous_command(&argv.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

/// Like [`is_vacuous`], for a script or a command line.
pub fn is_vacuous_script(script: &str) -> bool {
    let script = script.trim().trim_end_matches([';', ' ', '\n']);
    // With `set -e`, each step must succeed.
    let strict = script.starts_with("set -") && script.split([';', '\n']).next().is_some_and(|set| set.contains('e'));
    let is_step = |step: &&str| !step.is_empty() && !step.starts_with('#');
    let steps: Vec<&str> = script.split([';', '\n']).map(str::trim).filter(is_step).collect();
    // The trap sets the exit code, whatever failed before.
    if steps.iter().any(|step| step.starts_with("trap ") && step.contains("exit 0") && step.ends_with("EXIT")) {
        return true;
    }
    let deciding = if strict { &steps[1..] } else { steps.last().map_or(&[][..], std::slice::from_ref) };
    // `if npm test; then echo ok; fi` exits with 0 unless a branch says otherwise.
    let says_otherwise = ["exit ", "false", "return "].iter().any(|word| script.contains(word));
    if steps.first().is_some_and(|step| step.starts_with("if ")) && steps.last() == Some(&"fi") && !says_otherwise {
        return true;
    }
    let piped = !script.contains("pipefail");
    deciding.iter().all(|step| {
        let fallback = step.rsplit_once("||").is_some_and(|(_, last)| is_vacuous_line(last));
        // The exit code is that of the last command of a pipeline. A command in the background does not count.
        let passed_on = step
            .rsplit_once('|')
            .filter(|_| piped && !fallback)
            .is_some_and(|(before, last)| !before.ends_with('|') && is_filter(last));
        let beside = step.ends_with('&') && !step.ends_with("&&");
        // `npm test & true`: the exit code is that of the command after the background command.
        let followed = step.rsplit_once(" & ").is_some_and(|(_, last)| is_vacuous_line(last));
        fallback || passed_on || beside || followed || step.split("&&").all(is_vacuous_line)
    })
}

/// Whether a command only passes its input on.
fn is_filter(line: &str) -> bool {
    const FILTERS: &[&str] =
        &["tee", "cat", "head", "tail", "sort", "uniq", "wc", "sed", "awk", "tr", "cut", "less", "more", "ts", "nl"];
    line.trim_start_matches('&').split_whitespace().next().is_some_and(|program| FILTERS.contains(&base(program)))
}

fn is_vacuous_line(line: &str) -> bool {
    is_vacuous_command(&line.split_whitespace().collect::<Vec<_>>())
}

fn is_vacuous_command(words: &[&str]) -> bool {
    match words {
        [] => true,
        ["exit"] | ["exit", "0"] | ["!", "false"] => true,
        // Commands that only look a program up.
        [_, "--version" | "--help" | "-V"] => true,
        // `CI=1 npm test`
        [set, rest @ ..] if set.contains('=') && !rest.is_empty() => is_vacuous_command(rest),
        // Programs that start another one.
        ["env" | "command" | "builtin" | "exec" | "nice" | "nohup" | "time", rest @ ..] => is_vacuous_command(rest),
        ["timeout", _, rest @ ..] if !rest.is_empty() => is_vacuous_command(rest),
        [shell, option, rest @ ..]
            if ["sh", "bash", "dash", "zsh"].contains(&base(shell)) && option.ends_with('c') && !rest.is_empty() =>
        {
            is_vacuous_script(rest.join(" ").trim_matches(['\'', '"']))
        }
        [program, ..] => matches!(base(program), "true" | ":" | "echo" | "printf" | "sleep" | "pwd" | "date"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(shown: &str) -> Vec<String> {
        match shown.split_once(" -c ") {
            Some((shell, script)) => vec![shell.to_owned(), "-c".to_owned(), script.to_owned()],
            None => shown.split_whitespace().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn a_command_that_cannot_fail_is_vacuous() {
        for vacuous in [
            "true",
            "/bin/true",
            ":",
            "echo all tests pass",
            "sh -c exit 0",
            "bash -c echo ok",
            "sh -c npm test || true",
            "sh -c npm test; exit 0",
            "sh -c npm test; true;",
            "sh -c echo a && echo b",
            "sh -c npm test\necho done",
            "sh -c set -e; echo ok",
            "sh -c npm test | tee log",
            "sh -c npm test |& cat",
            "sh -c npm test 2>&1 | sed s/a/b/",
            "sh -c npm test &",
            "sh -c if npm test; then echo ok; fi",
            "sh -c ",
            "sh -c sh -c 'exit 0'",
            "sh -c bash -c \"npm test || true\"",
            "sh -c npm test & true",
            "sh -c ! false",
            "sh -c # npm test",
            "sh -c trap 'exit 0' EXIT; npm test",
            "env CI=1 true",
            "timeout 1 true",
            "npm --version",
        ] {
            assert!(is_vacuous(&argv(vacuous)), "{vacuous}");
        }
        for real in [
            "npm test",
            "sh -c npm test",
            "sh -c npm test && echo ok",
            "sh -c echo start; npm test",
            "sh -c set -e; npm test; echo ok",
            "sh -c npm test; code=$?; cat r.xml; exit $code",
            "test -f a",
            "sh -c set -o pipefail; npm test | tee log",
            "sh -c npm test | grep -q ok",
            "sh -c if npm test; then echo ok; else exit 1; fi",
            "sh -c npm test || exit 1",
            "sh -c set -eu\nnpm test\necho ok",
            "sh -c # what it does\nnpm test",
            "sh -c server & npm test",
            "sh -c bash -c 'npm test'",
            "sh -c trap 'rm -rf a' EXIT; npm test",
            "env CI=1 npm test",
            "timeout 60 npm test",
            "npm test --verbose",
        ] {
            assert!(!is_vacuous(&argv(real)), "{real}");
        }
    }
}
