//! Which command proves the work: the one that the policy names in `proof`, or else the task's `verify`, where somebody else
//! than the author vouches for the task. It must have run on the work and ended with 0, and it must be able to fail.

use gatehost_sdk::submission::{CommandEvidence, Task, TaskSource};
use gatehost_sdk::{Finding, Submission};

/// What is missing for a proof, if something is.
pub(crate) fn missing(submission: &Submission, proof: Option<&str>) -> Option<Finding> {
    let vouched = submission.task.as_ref().filter(|task| task.source != TaskSource::Author);
    let verify = vouched.and_then(|task: &Task| task.verify.as_deref()).filter(|verify| !verify.trim().is_empty());
    let commands = || submission.evidence.iter().flat_map(|check| &check.commands);
    let named = |command: &&CommandEvidence| match (proof, verify) {
        (Some(name), _) => command.name == name,
        (None, Some(verify)) => runs(&command.argv, verify),
        (None, None) => false,
    };
    let passed = |command: &&CommandEvidence| command.exit_code == Some(0) && !command.on_base;
    let Some(command) = commands().filter(named).find(passed) else {
        let message = match (proof, verify) {
            (Some(name), _) => format!("no earlier tier ran the command `{name}` on the work with exit code 0"),
            (None, Some(verify)) => format!("no earlier tier ran `{verify}`, as the task asks, with exit code 0"),
            (None, None) => "nothing says which command proves the work".to_owned(),
        };
        let hint = "put a check that runs the verify command into an earlier tier and name the command in `proof`, or set \
                    `verify_evidence = false`";
        return Some(Finding::error("no-verify-evidence", message).hint(hint));
    };
    is_vacuous(&command.argv).then(|| {
        let message = format!("`{}` succeeds whatever the work is, and so proves nothing", command.argv.join(" "));
        Finding::error("vacuous-proof", message).hint("run a command that fails when the work is wrong")
    })
}

/// Whether a command is the one that a task writes, perhaps through a shell.
fn runs(argv: &[String], verify: &str) -> bool {
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

/// Whether a command succeeds whatever the work is: `true`, `echo …`, or a script that ends in one of them.
fn is_vacuous(argv: &[String]) -> bool {
    match script(argv) {
        Some(script) => is_vacuous_script(script),
        None => is_vacuous_command(&argv.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn is_vacuous_script(script: &str) -> bool {
    let script = script.trim().trim_end_matches([';', ' ', '\n']);
    // With `set -e`, each step must succeed.
    let strict = script.starts_with("set -") && script.split([';', '\n']).next().is_some_and(|set| set.contains('e'));
    let steps: Vec<&str> = script.split([';', '\n']).map(str::trim).filter(|step| !step.is_empty()).collect();
    let deciding = if strict { &steps[1..] } else { steps.last().map_or(&[][..], std::slice::from_ref) };
    // `if npm test; then echo ok; fi` ends with 0 where no branch says otherwise.
    let says_otherwise = ["exit ", "false", "return "].iter().any(|word| script.contains(word));
    if steps.first().is_some_and(|step| step.starts_with("if ")) && steps.last() == Some(&"fi") && !says_otherwise {
        return true;
    }
    let piped = !script.contains("pipefail");
    deciding.iter().all(|step| {
        let fallback = step.rsplit_once("||").is_some_and(|(_, last)| is_vacuous_line(last));
        // The last of a pipeline decides, and what runs beside it decides nothing.
        let passed_on = step
            .rsplit_once('|')
            .filter(|_| piped && !fallback)
            .is_some_and(|(before, last)| !before.ends_with('|') && is_filter(last));
        let beside = step.ends_with('&') && !step.ends_with("&&");
        fallback || passed_on || beside || step.split("&&").all(is_vacuous_line)
    })
}

/// Whether a command only passes on what it reads, whatever that is.
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
        ["exit"] | ["exit", "0"] => true,
        [program, ..] => matches!(base(program), "true" | ":" | "echo" | "printf" | "sleep" | "pwd" | "date"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::submission::Evidence;

    fn argv(shown: &str) -> Vec<String> {
        match shown.split_once(" -c ") {
            Some((shell, script)) => vec![shell.to_owned(), "-c".to_owned(), script.to_owned()],
            None => shown.split_whitespace().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn only_the_command_that_is_named_proves() {
        use TaskSource::{Author, Caller, Plan};
        for (name, run, exit, proof, verify, source, code) in [
            ("tests", "npm test", Some(0), Some("tests"), None, Author, ""),
            ("lint", "npm run lint", Some(0), Some("tests"), None, Author, "no-verify-evidence"),
            ("tests", "npm test", Some(1), Some("tests"), None, Author, "no-verify-evidence"),
            ("tests", "npm test", None, Some("tests"), None, Author, "no-verify-evidence"),
            ("tests", "npm test", Some(0), None, None, Plan, "no-verify-evidence"),
            ("tests", "npm test", Some(0), None, Some("npm  test"), Plan, ""),
            ("tests", "sh -c npm test", Some(0), None, Some("npm test"), Caller, ""),
            ("tests", "npm test", Some(0), None, Some("npm test"), Author, "no-verify-evidence"),
            ("lint", "npm run lint", Some(0), None, Some("npm test"), Plan, "no-verify-evidence"),
            ("tests", "true", Some(0), Some("tests"), None, Author, "vacuous-proof"),
            ("tests", "echo ok", Some(0), None, Some("echo ok"), Plan, "vacuous-proof"),
        ] {
            let command =
                CommandEvidence { name: name.into(), argv: argv(run), exit_code: exit, ..CommandEvidence::default() };
            let submission = Submission {
                task: Some(Task { verify: verify.map(str::to_owned), source, ..Task::default() }),
                evidence: vec![Evidence { commands: vec![command], ..Evidence::default() }],
                ..Submission::default()
            };
            let found = missing(&submission, proof).map_or(String::new(), |finding| finding.code);
            assert_eq!(found, code, "{name} {run} {proof:?} {verify:?}");
        }
    }

    #[test]
    fn what_ran_on_the_base_proves_nothing() {
        let command =
            CommandEvidence { name: "t".into(), exit_code: Some(0), on_base: true, ..CommandEvidence::default() };
        let evidence = vec![Evidence { commands: vec![command], ..Evidence::default() }];
        assert!(missing(&Submission { evidence, ..Submission::default() }, Some("t")).is_some());
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
        ] {
            assert!(!is_vacuous(&argv(real)), "{real}");
        }
    }
}
