//! Finds mistakes in a plan before anybody follows it: criteria that cannot fail, commands that prove nothing, cyclic
//! dependencies.

use super::PlannedTask;
use crate::submission::Task;
use crate::text::clean_line;
use crate::verdict::Level;
use std::collections::{BTreeMap, BTreeSet};

/// One problem of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    /// The line of the task, from 1.
    pub line: u32,
    /// The task.
    pub task: String,
    /// `error` if the task cannot be verified, `warning` if it hardly can.
    pub level: Level,
    /// Its stable name.
    pub code: &'static str,
    /// What is wrong, and what is expected.
    pub message: String,
}

/// Vague words in criteria.
const VAGUE: [&str; 14] = [
    "task complete",
    "task completed",
    "task is complete",
    "complete",
    "completed",
    "done",
    "it works",
    "works",
    "works as expected",
    "everything works",
    "implemented",
    "finished",
    "ready",
    "looks good",
];
/// Programs that exit with 0 whatever the work is.
const VACUOUS: [&str; 9] = ["echo", "printf", "true", ":", "cat", "ls", "pwd", "sleep", "head"];

/// Words after a file that say that it exists already.
const EXISTING: [&str; 6] = ["(modif", "(updat", "(edit", "(exist", "(extend", "(chang"];

/// Returns the problems of a plan. `exists` says whether a file exists before the work starts.
pub fn check(tasks: &[PlannedTask], exists: impl Fn(&str) -> bool) -> Vec<PlanProblem> {
    let mut problems = Vec::new();
    let listed: BTreeSet<&str> =
        tasks.iter().flat_map(|planned| &planned.task.files).map(|file| file.trim_start_matches("./")).collect();
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let known: BTreeSet<&str> = tasks.iter().map(|planned| planned.task.id.as_str()).collect();
    for planned in tasks {
        let task = &planned.task;
        let mut note = |level, code, message: String| {
            problems.push(PlanProblem { line: planned.line, task: task.id.clone(), level, code, message });
        };
        if let Some(line) = seen.insert(&task.id, planned.line) {
            note(
                Level::Error,
                "duplicate-id",
                format!("expected a unique id, found `{}`, which line {line} has too", shown(&task.id)),
            );
        }
        if task.done_criteria.is_empty() {
            note(
                Level::Error,
                "no-done",
                "expected a criterion for when it is done (`Done when`, `<done>`), found none".to_owned(),
            );
        }
        for criterion in task.done_criteria.iter().filter(|criterion| is_vague(criterion)) {
            let expected = "expected a measurable criterion, such as `all 5 tests pass`";
            note(Level::Error, "vague-done", format!("{expected}, found `{}`", shown(criterion)));
        }
        match &task.verify {
            None => note(Level::Error, "no-verify", "expected a command (`Verify`, `<verify>`), found none".to_owned()),
            Some(command) if is_vacuous(command) => {
                let expected = "expected a command that fails when the work is wrong";
                note(Level::Error, "vacuous-verify", format!("{expected}, found `{}`", shown(command)));
            }
            Some(_) => {}
        }
        if task.files.is_empty() {
            note(
                Level::Warning,
                "no-files",
                "expected the files that it may change (`Files`, `<files>`), found none".to_owned(),
            );
        }
        for file in task.files.iter().filter(|file| is_existing(task, file) && !is_pattern(file)) {
            if !made.contains(file.as_str()) && !exists(file) {
                let message = format!("expected an existing file to change, found no `{}`", shown(file));
                note(Level::Error, "missing-file", message);
            }
        }
        for path in task.verify.iter().flat_map(|command| paths(command)) {
            if !listed.contains(path.trim_start_matches("./")) && !exists(path) {
                let expected = "expected files that exist or that a task lists";
                note(Level::Warning, "missing-file", format!("{expected}, and the command names `{}`", shown(path)));
            }
        }
        made.extend(task.files.iter().map(String::as_str));
        for other in task.depends_on.iter().filter(|other| !known.contains(other.as_str())) {
            note(
                Level::Error,
                "unknown-dependency",
                format!("expected the id of a task of this plan, found `{}`", shown(other)),
            );
        }
    }
    problems.extend(cycle(tasks));
    problems.sort_by(|a, b| (a.line, a.code).cmp(&(b.line, b.code)));
    problems
}

fn shown(text: &str) -> String {
    clean_line(text, 120)
}

/// Returns whether the task says that a file exists already: `src/a.rs (modify)`.
fn is_existing(task: &Task, file: &str) -> bool {
    let behind = task.description.match_indices(file).map(|(at, _)| &task.description[at + file.len()..]);
    behind
        .map(|text| text.trim_start_matches('`').trim_start().to_lowercase())
        .any(|text| EXISTING.iter().any(|word| text.starts_with(word)))
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// Returns the words of a command that are paths of source files: relative, with a folder and an extension.
fn paths(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"', '`']));
    words.filter(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let plain = word.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c));
        let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty());
        plain && has_ending && word.contains('/') && !word.starts_with(['-', '/']) && !word.contains("..")
    })
}

fn is_vague(criterion: &str) -> bool {
    let plain = criterion.trim().trim_end_matches(['.', '!']).to_lowercase();
    VAGUE.contains(&plain.as_str())
}

/// Returns whether no part of a command can fail.
fn is_vacuous(command: &str) -> bool {
    let parts = command.split("&&").flat_map(|part| part.split(';'));
    let mut parts = parts.map(str::trim).filter(|part| !part.is_empty()).peekable();
    let ends_well = command.trim_end().ends_with("|| true") || command.trim_end().ends_with("|| :");
    let idle = |part: &str| {
        let program = part.split_whitespace().next().unwrap_or_default();
        // The output of a pipe may be checked by the next program.
        !part.contains('|') && (VACUOUS.contains(&program) || part == "exit 0")
    };
    ends_well || parts.peek().is_none() || parts.all(idle)
}

/// Returns tasks that depend on each other: the first of each cycle.
fn cycle(tasks: &[PlannedTask]) -> Vec<PlanProblem> {
    let waits: BTreeMap<&str, Vec<&str>> = tasks
        .iter()
        .map(|planned| (planned.task.id.as_str(), planned.task.depends_on.iter().map(String::as_str).collect()))
        .collect();
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for planned in tasks {
        let start = planned.task.id.as_str();
        let mut ahead = vec![vec![start]];
        let mut visited = BTreeSet::new();
        while let Some(path) = ahead.pop() {
            let last = path.last().copied().unwrap_or(start);
            for next in waits.get(last).into_iter().flatten() {
                if *next == start {
                    let members: BTreeSet<&str> = path.iter().copied().collect();
                    if seen.insert(members) {
                        let names: Vec<String> =
                            path.iter().chain([next]).map(|name| format!("`{}`", shown(name))).collect();
                        let message = format!("the tasks form a cycle: {}", names.join(" → "));
                        let task = planned.task.id.clone();
                        problems.push(PlanProblem {
                            line: planned.line,
                            task,
                            level: Level::Error,
                            code: "cycle",
                            message,
                        });
                    }
                } else if visited.insert(*next) {
                    ahead.push([path.as_slice(), &[*next]].concat());
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<String> {
        let problems = check(&crate::taskplan::parse(text), |path| path == "src/there.rs");
        problems.iter().map(|problem| format!("{} {}", problem.task, problem.code)).collect()
    }

    #[test]
    fn what_nothing_can_fail_is_named() {
        let task = |id: u32, done: &str, verify: &str| {
            format!("- [ ] {id} T\n  - **Files**: a\n  - **Done when**: {done}\n  - **Verify**: `{verify}`\n")
        };
        for (done, verify, expected) in [
            ("all 5 tests pass", "cargo test parse", vec![]),
            ("It works.", "cargo test parse", vec!["1 vague-done"]),
            ("all 5 tests pass", "echo done", vec!["1 vacuous-verify"]),
            ("all 5 tests pass", "cat src/a.rs; true", vec!["1 vacuous-verify"]),
            ("all 5 tests pass", "npm test || true", vec!["1 vacuous-verify"]),
            ("all 5 tests pass", "cat a | grep -q x", vec![]),
            ("all 5 tests pass", "echo go && npm test", vec![]),
        ] {
            assert_eq!(codes(&task(1, done, verify)), expected, "{done} {verify}");
        }
        assert_eq!(
            codes("- [ ] 1 T\n- [ ] 1 U\n"),
            ["1 no-done", "1 no-files", "1 no-verify", "1 duplicate-id", "1 no-done", "1 no-files", "1 no-verify"]
        );
    }

    #[test]
    fn a_file_that_is_to_be_changed_must_be_there() {
        let task = |id: u32, files: &str, verify: &str| {
            format!(
                "- [ ] {id} T\n  - **Files**: {files}\n  - **Done when**: 2 tests pass\n  - **Verify**: `{verify}`\n"
            )
        };
        for (plan, expected) in [
            (task(1, "src/new.rs", "cargo test"), vec![]),
            (task(1, "`src/there.rs` (modify)", "cargo test"), vec![]),
            (task(1, "`src/gone.rs` (modify)", "cargo test"), vec!["1 missing-file"]),
            (task(1, "src/new.rs", "cargo test") + &task(2, "src/new.rs (modified)", "cargo test"), vec![]),
            (task(1, "src/new.rs", "grep -c x src/new.rs"), vec![]),
            (task(1, "src/new.rs", "grep -c x src/other.rs"), vec!["1 missing-file"]),
            (task(1, "src/new.rs", "npm test -- --config=x/y.js src/**/*.ts"), vec![]),
        ] {
            assert_eq!(codes(&plan), expected, "{plan}");
        }
    }

    #[test]
    fn tasks_that_wait_for_each_other_are_named_once() {
        let task = |id: u32, on: &str| {
            format!(
                "- [ ] {id} T\n  - **Files**: a\n  - **Done when**: 2 tests pass\n  - **Verify**: `t {id}`\n  - **Depends on**: {on}\n"
            )
        };
        let plan: String = [task(1, "3"), task(2, "1"), task(3, "2"), task(4, "1, 9")].concat();
        assert_eq!(codes(&plan), ["1 cycle", "4 unknown-dependency"]);
        let own = [task(1, "1")].concat();
        assert_eq!(codes(&own), ["1 cycle"]);
    }
}
