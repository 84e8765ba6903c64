//! Finds the command that proves the work: the one that `proof` names, or else the task's `verify`, if the caller or the plan
//! vouches for the task. It must have run on the work with exit code 0, and it must be able to fail.

use gatehost_sdk::submission::{CommandEvidence, Task, TaskSource};
use gatehost_sdk::vacuous::{is_vacuous, runs};
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
            (None, Some(verify)) => {
                format!("no earlier tier ran the task's verify command `{verify}` with exit code 0")
            }
            (None, None) => {
                "neither the setting `proof` nor the task names the command that proves the work".to_owned()
            }
        };
        let hint = "add a check that runs the verify command to an earlier tier and name the command in `proof`, or set \
                    `verify_evidence = false`";
        return Some(Finding::error("no-verify-evidence", message).hint(hint));
    };
    is_vacuous(&command.argv).then(|| {
        let message = format!("`{}` succeeds whatever the work is, so it proves nothing", command.argv.join(" "));
        Finding::error("vacuous-proof", message).hint("run a command that fails when the work is wrong")
    })
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
}
