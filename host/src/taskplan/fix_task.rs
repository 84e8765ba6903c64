//! A task that fixes a reviewer's finding about another task, as a Markdown block of the same plan.

use super::{BLOCK, parse};
use crate::submission::Task;
use crate::text::{clean_line, markdown};

/// The finding of a fix task.
#[derive(Clone, Copy, Debug)]
pub struct ReviewFinding<'f> {
    /// One line.
    pub summary: &'f str,
    /// The full text.
    pub finding: &'f str,
}

/// The most characters of a summary.
const MAX_SUMMARY: usize = 200;
/// The most characters of a finding.
const MAX_FINDING: usize = 1_000;

/// Writes the block of the fix task with this number, from 1.
pub fn fix_task(task: &Task, number: u32, found: ReviewFinding<'_>) -> String {
    let id = line(&task.id, 60);
    let summary = line(found.summary, MAX_SUMMARY);
    let finding = line(found.finding, MAX_FINDING);
    let files: Vec<String> = task.files.iter().map(|file| line(file, 200)).collect();
    let files = if files.is_empty() { "those of the task".to_owned() } else { files.join(", ") };
    let verify =
        task.verify.as_deref().map_or_else(|| "none".to_owned(), |command| format!("`{}`", line(command, 500)));
    let scope = scope(task);
    format!(
        "\
- [ ] {id}.{number} [FIX {id}] Fix: {summary}
  - **Do**: Address reviewer finding: {finding}
    1. Review the finding details
    2. Implement the suggested fix
    3. Verify alignment with design.md
  - **Files**: {files}
  - **Done when**: Reviewer finding \"{summary}\" addressed
  - **Verify**: {verify}
  - **Commit**: `fix({scope}): address review finding from task {id}`
"
    )
}

/// Returns how many fix tasks of a task a plan has.
pub fn fix_tasks(plan: &str, task: &str) -> u32 {
    let mark = format!("[FIX {task}]");
    let count = parse(plan).iter().filter(|planned| planned.task.title.starts_with(&mark)).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Inserts blocks after a task and its earlier fix tasks. `None` if the plan has no Markdown block of the task.
pub fn insert(plan: &str, task: &str, blocks: &str) -> Option<String> {
    let block = BLOCK.as_ref()?;
    let mark = format!("[FIX {task}]");
    let lines: Vec<&str> = plan.split_inclusive('\n').collect();
    let mut end = None;
    let mut inside = false;
    for (index, text) in lines.iter().enumerate() {
        let bare = text.trim_end_matches(['\r', '\n']);
        if let Some(found) = block.captures(bare) {
            inside = &found[2] == task || (end.is_some() && found[3].starts_with(&mark));
        } else if !bare.trim().is_empty() && !bare.starts_with([' ', '\t']) {
            inside = false;
        }
        if inside && !bare.trim().is_empty() {
            end = Some(index + 1);
        }
    }
    let end = end?;
    let mut text: String = lines[..end].concat();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(blocks);
    text.push_str(&lines[end..].concat());
    Some(text)
}

/// Returns the scope of the task's own commit message, such as `parse` in `feat(parse): add it`.
fn scope(task: &Task) -> String {
    let of_commit = task.commit.as_deref().and_then(|commit| commit.split_once('(')?.1.split_once(')'));
    of_commit.map_or_else(|| "review".to_owned(), |(scope, _)| line(scope, 60))
}

/// Returns text on one line, without characters that would end a code span.
fn line(text: &str, most: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    markdown(&clean_line(&joined, most)).replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
- [x] 1.1 Build it
  - **Files**: src/a.rs
  - **Verify**: `cargo test a`
  - **Commit**: `feat(core): build`

- [ ] 1.2 Go on
";

    #[test]
    fn the_block_follows_the_template() {
        let task = parse(PLAN)[0].task.clone();
        let found = ReviewFinding { summary: "no error\nhandling", finding: "src/a.rs:3: `open` is not checked" };
        let expected = "\
- [ ] 1.1.1 [FIX 1.1] Fix: no error handling
  - **Do**: Address reviewer finding: src/a.rs:3: 'open' is not checked
    1. Review the finding details
    2. Implement the suggested fix
    3. Verify alignment with design.md
  - **Files**: src/a.rs
  - **Done when**: Reviewer finding \"no error handling\" addressed
  - **Verify**: `cargo test a`
  - **Commit**: `fix(core): address review finding from task 1.1`
";
        assert_eq!(fix_task(&task, 1, found), expected);
    }

    #[test]
    fn blocks_are_inserted_behind_the_task_and_its_fixes() {
        let task = parse(PLAN)[0].task.clone();
        let found = ReviewFinding { summary: "s", finding: "f" };
        let once = insert(PLAN, "1.1", &fix_task(&task, fix_tasks(PLAN, "1.1") + 1, found)).expect("inserted");
        assert_eq!(fix_tasks(&once, "1.1"), 1);
        let twice = insert(&once, "1.1", &fix_task(&task, fix_tasks(&once, "1.1") + 1, found)).expect("inserted");
        let ids: Vec<String> = parse(&twice).into_iter().map(|planned| planned.task.id).collect();
        assert_eq!(ids, ["1.1", "1.1.1", "1.1.2", "1.2"]);
        let fix = &parse(&twice)[1].task;
        assert_eq!((fix.files.as_slice(), fix.verify.as_deref()), (&["src/a.rs".to_owned()][..], Some("cargo test a")));
        assert_eq!(insert(PLAN, "9", "x"), None);
        assert_eq!(insert("<task id=\"1\"></task>", "1", "x"), None);
    }
}
