//! Several tasks of a plan that run in parallel and are checked as one.

use super::PlannedTask;
use crate::submission::Task;

/// The mark of a task that may run in parallel.
const PARALLEL: &str = "[P]";

/// Merges tasks into one: all descriptions, the union of their files, the position of the first, and their number.
///
/// The verify command, the commit message and the group are kept only if all tasks have the same.
pub fn batch(tasks: &[&PlannedTask]) -> Option<Task> {
    let first = tasks.first()?;
    let all = || tasks.iter().map(|planned| &planned.task);
    let union = |list: fn(&Task) -> &Vec<String>| {
        let mut union: Vec<String> = Vec::new();
        for item in all().flat_map(list) {
            if !union.contains(item) {
                union.push(item.clone());
            }
        }
        union
    };
    let shared = |part: fn(&Task) -> &Option<String>| {
        let value = part(&first.task);
        value.clone().filter(|_| all().all(|task| part(task) == value))
    };
    let joined =
        |part: fn(&Task) -> &String, by: &str| all().map(part).map(|text| text.trim_end()).collect::<Vec<_>>().join(by);
    let ids: Vec<&String> = all().map(|task| &task.id).collect();
    Some(Task {
        id: joined(|task| &task.id, "+"),
        title: joined(|task| &task.title, "; "),
        description: joined(|task| &task.description, "\n\n") + "\n",
        acceptance_criteria: union(|task| &task.acceptance_criteria),
        done_criteria: union(|task| &task.done_criteria),
        verify: shared(|task| &task.verify),
        expected_outputs: union(|task| &task.expected_outputs),
        files: union(|task| &task.files),
        tier: all().filter_map(|task| task.tier).max(),
        group: shared(|task| &task.group),
        depends_on: union(|task| &task.depends_on).into_iter().filter(|id| !ids.contains(&id)).collect(),
        size: Some(u32::try_from(tasks.len()).unwrap_or(u32::MAX)),
        commit: shared(|task| &task.commit),
        ..first.task.clone()
    })
}

/// Returns the next open tasks that may run in parallel: the group of the first, or the tasks marked `[P]` that directly
/// follow it.
pub fn next_batch<'p>(open: &[&'p PlannedTask]) -> Vec<&'p PlannedTask> {
    let Some((first, rest)) = open.split_first() else { return Vec::new() };
    let marked = |planned: &PlannedTask| planned.task.title.starts_with(PARALLEL);
    let mut batch = vec![*first];
    match &first.task.group {
        Some(group) => batch.extend(rest.iter().filter(|other| other.task.group.as_ref() == Some(group))),
        None if marked(first) => {
            let follows = |other: &&&PlannedTask| marked(other) && other.task.phase == first.task.phase;
            batch.extend(rest.iter().take_while(follows));
        }
        None => {}
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taskplan::parse;

    const PLAN: &str = "\
## Phase 1: Base
- [x] 1.1 Begin
- [ ] 1.2 [P] Left
  - **Files**: a.rs, shared.rs
  - **Done when**: 2 tests pass
  - **Verify**: `make test`
- [ ] 1.3 [P] Right
  - **Files**: b.rs, shared.rs
  - **Done when**: 3 tests pass
  - **Verify**: `make test`
  - **Depends on**: 1.1, 1.2
- [ ] 1.4 End
";

    #[test]
    fn a_batch_has_all_blocks_and_the_first_position() {
        let tasks = parse(PLAN);
        let open: Vec<&PlannedTask> = tasks.iter().filter(|planned| !planned.checked).collect();
        let members = next_batch(&open);
        assert_eq!(members.iter().map(|planned| planned.task.id.as_str()).collect::<Vec<_>>(), ["1.2", "1.3"]);
        let task = batch(&members).expect("a batch");
        assert_eq!((task.id.as_str(), task.index, task.total, task.size), ("1.2+1.3", Some(1), Some(4), Some(2)));
        assert_eq!(task.files, ["a.rs", "shared.rs", "b.rs"]);
        assert_eq!(task.done_criteria, ["2 tests pass", "3 tests pass"]);
        assert_eq!((task.verify.as_deref(), &task.depends_on[..]), (Some("make test"), &["1.1".to_owned()][..]));
        assert!(task.description.contains("1.2 [P] Left") && task.description.contains("1.3 [P] Right"));
        assert_eq!(batch(&[]), None);
    }

    #[test]
    fn a_task_without_a_mark_is_alone() {
        let tasks = parse(PLAN);
        let last: Vec<&PlannedTask> = tasks.iter().skip(3).collect();
        assert_eq!(next_batch(&last).len(), 1);
        let grouped =
            parse("<task id=\"1\" wave=\"w\">x</task>\n<task id=\"2\">y</task>\n<task id=\"3\" wave=\"w\">z</task>");
        let all: Vec<&PlannedTask> = grouped.iter().collect();
        assert_eq!(next_batch(&all).iter().map(|planned| planned.task.id.as_str()).collect::<Vec<_>>(), ["1", "3"]);
    }
}
