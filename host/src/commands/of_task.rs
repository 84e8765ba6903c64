//! The verify command of a task: split into words without a shell, and run only if the configuration allows it.

use crate::config::{CommandConfig, words};
use crate::submission::{Task, TaskSource};
use crate::text::clean_line;

/// Returns the command with the task's own program and arguments, or why it cannot be run.
///
/// Only a task from a plan in the base commit counts, because the author of the change could have written any other.
pub(super) fn resolved(command: &CommandConfig, task: Option<&Task>) -> Result<CommandConfig, String> {
    let Some(allowed) = &command.from_task else { return Ok(command.clone()) };
    let task = task.ok_or_else(|| "it is the verify command of the task, and there is no task".to_owned())?;
    let id = clean_line(&task.id, 60);
    if task.source != TaskSource::Plan {
        return Err(
            "it is the verify command of a task, and the task does not come from a plan in the base commit".to_owned()
        );
    }
    let Some(line) = task.verify.as_deref() else { return Err(format!("the task `{id}` has no verify command")) };
    let shown = clean_line(line, 200);
    let run = words(line).map_err(|why| format!("the verify command `{shown}` of the task `{id}`: {why}"))?;
    if !allowed.iter().any(|pattern| allows(pattern, &run)) {
        return Err(format!("no pattern of `allow` matches the verify command `{shown}` of the task `{id}`"));
    }
    Ok(CommandConfig { run, ..command.clone() })
}

/// Returns whether a pattern allows a command, word by word. `*` in a word matches any characters; `*` as the last word
/// matches one or more words.
fn allows(pattern: &str, run: &[String]) -> bool {
    let mut patterns: Vec<&str> = pattern.split_whitespace().collect();
    let open = patterns.len() > 1 && patterns.last() == Some(&"*");
    if open {
        patterns.pop();
        if run.len() <= patterns.len() {
            return false;
        }
    } else if run.len() != patterns.len() {
        return false;
    }
    !patterns.is_empty() && patterns.iter().zip(run).all(|(pattern, word)| fits(pattern, word))
}

fn fits(pattern: &str, word: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == word };
    let Some(mut word) = word.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = word.find(part) else { return false };
        word = &word[at + part.len()..];
    }
    word.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_matched_word_by_word() {
        for (pattern, line, expected) in [
            ("npm test -- *", "npm test -- PlannerId", true),
            ("npm test -- *", "npm test -- a b", true),
            ("npm test -- *", "npm test --", false),
            ("npm test -- *", "npm test", false),
            ("npm test -- *", "npm run evil", false),
            ("cargo test", "cargo test", true),
            ("cargo test", "cargo test x", false),
            ("grep -c * src/*.ts", "grep -c 'export class Foo' src/Foo.ts", true),
            ("grep -c * src/*.ts", "grep -c x /etc/passwd", false),
            ("*", "rm", true),
            ("*", "rm -rf x", false),
            ("./check-*-of-*", "./check-a-of-b", true),
            ("./check-*-of-*", "./check-a", false),
        ] {
            assert_eq!(allows(pattern, &words(line).expect("words")), expected, "{pattern} {line}");
        }
    }

    #[test]
    fn only_a_task_of_a_plan_in_the_base_names_a_command() {
        let text = b"[gate.g]\nall=[\"c\"]\n[check.c]\nverifier=\"command\"\ngrants=[\"command:verify\"]\n[command.verify]\nfrom=\"task\"\nallow=[\"npm test -- *\"]\n";
        let command = crate::config::parse(text).expect("a configuration").commands["verify"].clone();
        let task = |source, verify: Option<&str>| Task {
            id: "1".to_owned(),
            source,
            verify: verify.map(str::to_owned),
            ..Task::default()
        };
        let run = |task: Option<Task>| resolved(&command, task.as_ref()).map(|command| command.run.join(" "));
        assert_eq!(run(Some(task(TaskSource::Plan, Some("npm test -- a")))).as_deref(), Ok("npm test -- a"));
        for (task, why) in [
            (None, "there is no task"),
            (Some(task(TaskSource::Author, Some("npm test -- a"))), "does not come from a plan"),
            (Some(task(TaskSource::Caller, Some("npm test -- a"))), "does not come from a plan"),
            (Some(task(TaskSource::Plan, None)), "has no verify command"),
            (Some(task(TaskSource::Plan, Some("echo done"))), "no pattern of `allow` matches"),
            (Some(task(TaskSource::Plan, Some("npm test -- a && true"))), "needs a shell"),
        ] {
            let found = run(task).expect_err(why);
            assert!(found.contains(why), "{found}");
        }
    }
}
