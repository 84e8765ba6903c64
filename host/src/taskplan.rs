//! Reads plans of tasks as people and planning agents write them: Markdown task blocks, or tags.
//!
//! ```text
//! ## Phase 1: Base
//! - [ ] 1.1 Create the parser            <task id="3">
//!   - **Files**: src/parse.rs              <name>Create the parser</name>
//!   - **Done when**: 5 tests pass          <files>src/parse.rs</files>
//!   - **Verify**: `cargo test parse`       <verify>cargo test parse</verify>
//!   - **Commit**: `feat: parse`            <done>5 tests pass</done>
//!   - **Depends on**: 1.0                </task>
//! ```

mod batch;
mod check;
mod fix_task;

pub use batch::{batch, next_batch};
pub use check::{PlanProblem, check};
pub use fix_task::{ReviewFinding, fix_task, fix_tasks, insert};

use crate::submission::{Task, TaskSource};
use crate::text::clean;
use regex::Regex;
use std::sync::LazyLock;

/// Longer plans are not read.
pub const MAX_BYTES: u64 = 4 << 20;

/// One task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTask {
    /// The task; its index is its position in the plan.
    pub task: Task,
    /// Whether it is marked as done.
    pub checked: bool,
    /// The line on which it begins, from 1.
    pub line: u32,
}

static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^#{1,6}\s+(.*\S)\s*$").ok());
static BLOCK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*[-*]\s+\[([ xX])\]\s+(\d+(?:\.\d+)*)\.?\s*(.*)$").ok());
static FIELD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s+[-*]\s+\*\*([^*]+?):?\*\*\s*:?\s*(.*)$").ok());
static TASK_TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?s)<task\b([^>]*)>(.*?)</task>"#).ok());
static ATTRIBUTE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"([\w-]+)\s*=\s*"([^"]*)""#).ok());

/// Reads the tasks of a plan, in order.
pub fn parse(text: &str) -> Vec<PlannedTask> {
    let mut tasks = blocks(text);
    tasks.extend(tags(text));
    tasks.sort_by_key(|task| task.line);
    let total = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    let mut before: Option<String> = None;
    for (index, planned) in (0..).zip(&mut tasks) {
        planned.task.index = Some(index);
        planned.task.total = Some(total);
        planned.task.source = TaskSource::Plan;
        planned.task.previous_phase.clone_from(&before);
        before.clone_from(&planned.task.phase);
    }
    let begins =
        |planned: &&PlannedTask| planned.task.index > Some(0) && planned.task.phase != planned.task.previous_phase;
    let begins: Vec<u32> = tasks.iter().filter(begins).filter_map(|planned| planned.task.index).collect();
    for planned in &mut tasks {
        planned.task.boundaries = begins.iter().copied().filter(|later| Some(*later) > planned.task.index).collect();
    }
    tasks
}

/// Reads Markdown task blocks.
fn blocks(text: &str) -> Vec<PlannedTask> {
    let (Some(heading), Some(block), Some(field)) = (&*HEADING, &*BLOCK, &*FIELD) else { return Vec::new() };
    let mut tasks: Vec<PlannedTask> = Vec::new();
    let mut phase: Option<String> = None;
    let mut open = false;
    let mut last = String::new();
    for (line, content) in (1..).zip(text.lines()) {
        if let Some(found) = heading.captures(content) {
            phase = Some(found[1].to_owned()).filter(|title| title.to_lowercase().starts_with("phase"));
            open = false;
        } else if let Some(found) = block.captures(content) {
            let id = found[2].to_owned();
            let of_id = id.split_once('.').map(|(phase, _)| phase.to_owned());
            let task = Task { title: plain(&found[3]), phase: phase.clone().or(of_id), id, ..Task::default() };
            tasks.push(PlannedTask { task, checked: &found[1] != " ", line });
            open = true;
            last.clear();
        } else if open && !content.trim().is_empty() && !content.starts_with([' ', '\t']) {
            open = false;
        }
        let Some(planned) = tasks.last_mut().filter(|_| open) else { continue };
        planned.task.description.push_str(content);
        planned.task.description.push('\n');
        match field.captures(content) {
            Some(found) => {
                last = found[1].trim().to_lowercase();
                set(&mut planned.task, &last, &found[2]);
            }
            // Lines that are indented below a field continue it.
            None if planned.line != line && !last.is_empty() => {
                set(&mut planned.task, &last, content.trim().trim_start_matches(['-', '*']))
            }
            None => {}
        }
    }
    tasks
}

/// Reads tags.
fn tags(text: &str) -> Vec<PlannedTask> {
    let (Some(tag), Some(attribute)) = (&*TASK_TAG, &*ATTRIBUTE) else { return Vec::new() };
    let mut tasks = Vec::new();
    for found in tag.captures_iter(text) {
        let start = found.get(0).map_or(0, |whole| whole.start());
        let line = u32::try_from(text[..start].matches('\n').count() + 1).unwrap_or(u32::MAX);
        let mut task = Task { description: found[2].trim().to_owned(), ..Task::default() };
        for part in attribute.captures_iter(&found[1]) {
            match &part[1] {
                "id" => task.id = part[2].to_owned(),
                "phase" => task.phase = Some(part[2].to_owned()),
                "wave" | "group" => task.group = Some(part[2].to_owned()),
                "depends" | "depends_on" => set(&mut task, "depends on", &part[2]),
                _ => {}
            }
        }
        for (name, field) in [
            ("name", "title"),
            ("files", "files"),
            ("verify", "verify"),
            ("done", "done when"),
            ("commit", "commit"),
            ("depends", "depends on"),
        ] {
            let inside =
                found[2].split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once(&format!("</{name}>")));
            if let Some((value, _)) = inside {
                value.lines().for_each(|value| set(&mut task, field, value.trim()));
            }
        }
        if task.id.is_empty() {
            task.id = numbered(&task.title).unwrap_or_else(|| (tasks.len() + 1).to_string());
        }
        tasks.push(PlannedTask { task, checked: false, line });
    }
    tasks
}

/// Returns the number of a title such as `Task 3: Create it`.
fn numbered(title: &str) -> Option<String> {
    let rest = title.strip_prefix("Task ")?;
    let id: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    Some(id.trim_end_matches('.').to_owned()).filter(|id| !id.is_empty())
}

fn set(task: &mut Task, field: &str, value: &str) {
    let value = plain(value);
    if value.is_empty() {
        return;
    }
    let list = |value: &str| {
        let parts = value.split([',', ';']).map(|part| part.trim().trim_matches('`').trim());
        let named = parts.map(|part| part.split(" (").next().unwrap_or(part).trim().trim_matches('`'));
        named.filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    match field {
        "title" => task.title = value,
        "files" => task.files.extend(list(&value)),
        "done when" | "done" => task.done_criteria.push(value),
        "verify" if task.verify.is_none() => task.verify = Some(value.trim_matches('`').to_owned()),
        "commit" if task.commit.is_none() => task.commit = Some(value.trim_matches('`').to_owned()),
        "depends on" | "depends" => task.depends_on.extend(list(&value)),
        "group" | "wave" => task.group = Some(value),
        _ => {}
    }
}

fn plain(text: &str) -> String {
    clean(text.trim(), 4_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKDOWN: &str = "\
# Tasks

## Phase 1: Base
- [x] 1.1 Create the parser
  - **Do**: Write it
    1. First
  - **Files**: `src/parse.rs`, src/lib.rs (modified)
  - **Done when**: all 5 tests of the parser pass
  - **Verify**: `cargo test parse`
  - **Commit**: `feat(parse): add it`

Some words.

## Phase 2: More
- [ ] 2.1 [P] Use the parser
  - **Files**: src/main.rs
  - **Depends on**: 1.1
  - **Done when**:
    - `gate` prints a tree
    - the test `prints` passes
";

    const TAGS: &str = "<plan>\n<task id=\"3\" wave=\"w1\" depends=\"1, 2\">\n<name>Task 3: Create PlannerId</name>\n<files>src/a.ts, src/b.ts</files>\n\
        <action>Do it</action>\n<verify>npm test -- PlannerId</verify>\n<done>all 5 tests pass</done>\n</task>\n\
        <task type=\"auto\"><name>Task 4: More</name></task></plan>\n";

    #[test]
    fn markdown_blocks_are_read() {
        let tasks = parse(MARKDOWN);
        assert_eq!(tasks.len(), 2);
        let first = &tasks[0].task;
        assert_eq!(
            (first.id.as_str(), first.title.as_str(), tasks[0].checked, tasks[0].line),
            ("1.1", "Create the parser", true, 4)
        );
        assert_eq!(first.files, ["src/parse.rs", "src/lib.rs"]);
        assert_eq!(
            (first.verify.as_deref(), first.commit.as_deref()),
            (Some("cargo test parse"), Some("feat(parse): add it"))
        );
        assert_eq!(first.done_criteria, ["all 5 tests of the parser pass"]);
        assert_eq!((first.phase.as_deref(), first.previous_phase.as_deref()), (Some("Phase 1: Base"), None));
        assert!(!first.description.contains("Some words"), "{}", first.description);
        let second = &tasks[1].task;
        assert_eq!(
            (second.index, second.total, second.previous_phase.as_deref()),
            (Some(1), Some(2), Some("Phase 1: Base"))
        );
        assert_eq!(second.depends_on, ["1.1"]);
        assert_eq!(second.done_criteria, ["`gate` prints a tree", "the test `prints` passes"]);
    }

    #[test]
    fn tags_are_read() {
        let tasks = parse(TAGS);
        assert_eq!(tasks.len(), 2);
        let task = &tasks[0].task;
        assert_eq!((task.id.as_str(), task.group.as_deref(), tasks[0].line), ("3", Some("w1"), 2));
        assert_eq!((task.files.len(), task.verify.as_deref()), (2, Some("npm test -- PlannerId")));
        assert_eq!(
            (&task.depends_on[..], &task.done_criteria[..]),
            (&["1".to_owned(), "2".to_owned()][..], &["all 5 tests pass".to_owned()][..])
        );
        assert_eq!(tasks[1].task.id, "4");
        assert_eq!(parse("no task here"), Vec::new());
    }
}
