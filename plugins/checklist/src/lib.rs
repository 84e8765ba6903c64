//! `checklist`: the number of checked items of a Markdown checklist fits the index of the task in the plan.
//!
//! After the task with index `n`, counted from 0, exactly `n + 1` items must be checked. If the task has an identifier, every
//! item that starts with it must be checked too. An item is a list item with a box, `- [ ]` or `- [x]`, outside fenced code
//! and comments. Indented items are parts of another item and do not count by default. Needs the grant `workspace`. Without an
//! index, and without an item of the task's name, the verifier abstains.

use gatehost_sdk::markdown::{self, Line, Visibility};
use gatehost_sdk::submission::Task;
use gatehost_sdk::workspace::{self, Error};
use gatehost_sdk::{Finding, Place, Rule, Submission, Verdict};

gatehost_sdk::settings! {
    struct Settings {
        /// The path of the checklist.
        file: String = "tasks.md" => { minLength: 1, maxLength: 1000 },
        /// How many items must be checked: `exactly` as many as the task's index says, `at-least` as many, or `any` number.
        count: Count = Count::Exactly,
        /// Whether indented items count.
        nested: bool = false,
    }
}

gatehost_sdk::settings! {
    enum Count {
        Exactly = "exactly",
        AtLeast = "at-least",
        Any = "any",
    }
}

gatehost_sdk::submission_verifier!(
    check,
    summary: "The task is checked off in the checklist, and the number of checked items matches its index in the plan.",
    settings: Settings,
    rules: [
        Rule::error("task-not-checked", "The item of the task is not checked.").help("Check the item when it is done: `[x]`."),
        Rule::error("wrong-count", "The number of checked items does not match the index of the task.")
            .help("After the task with index n, counted from 0, n + 1 items must be checked."),
        Rule::error("no-checklist", "The checklist does not exist.")
            .help("Create the file, or name another one in `file`."),
        Rule::error("not-text", "The checklist is not UTF-8."),
    ],
);

fn check(submission: &Submission, settings: Settings) -> Verdict {
    judge(submission.task.as_ref(), workspace::read(&settings.file), &settings)
}

fn judge(task: Option<&Task>, list: Result<Vec<u8>, Error>, settings: &Settings) -> Verdict {
    let file = settings.file.as_str();
    let Some(task) = task else { return Verdict::abstain("the submission has no task") };
    let text = match list {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                return failed(Finding::error("not-text", format!("`{file}` is not UTF-8")).at(Place::file(file)));
            }
        },
        Err(Error::NotFound) => {
            return failed(Finding::error("no-checklist", format!("the checklist `{file}` does not exist")));
        }
        Err(Error::BadPath) => return Verdict::abstain(format!("`{file}` is outside the workspace")),
        Err(Error::WrongKind(_)) => return failed(Finding::error("no-checklist", format!("`{file}` is not a file"))),
        Err(Error::TooLarge(size)) => {
            return Verdict::abstain(format!("`{file}` has {size} bytes, which is too large to read"));
        }
        Err(Error::Changed) => return Verdict::abstain(format!("`{file}` changed while it was read")),
        Err(Error::Unreadable(why)) => return Verdict::abstain(format!("`{file}` cannot be read: {why}")),
    };
    let items: Vec<Item<'_>> = items(&text).collect();
    let own: Vec<&Item<'_>> = items.iter().filter(|item| !task.id.is_empty() && item.is_of(&task.id)).collect();
    let index = task.index.filter(|_| settings.count != Count::Any);
    if own.is_empty() && index.is_none() {
        return Verdict::abstain("the task has no index, and no item of the checklist starts with its identifier");
    }
    let mut findings = Vec::new();
    for item in own.iter().filter(|item| !item.checked) {
        let message = format!("task {} is not checked in `{file}`", task.id);
        let finding = Finding::error("task-not-checked", message).at(Place::file(file).position(item.line, 1));
        findings.push(finding.hint("check it when it is done: `[x]`"));
    }
    if let Some(index) = index {
        let expected = u64::from(index) + 1;
        let checked = items.iter().filter(|item| item.checked && (settings.nested || !item.nested)).count() as u64;
        let right = checked == expected || (settings.count == Count::AtLeast && checked > expected);
        if !right {
            let at_least = if settings.count == Count::AtLeast { "at least " } else { "" };
            let items = if checked == 1 { "item" } else { "items" };
            let message = format!(
                "`{file}` has {checked} checked {items}; expected {at_least}{expected} because the task has index {index}"
            );
            findings.push(Finding::error("wrong-count", message).at(Place::file(file)));
        }
    }
    if findings.is_empty() { Verdict::pass() } else { Verdict::fail("the checklist does not match the task", findings) }
}

fn failed(finding: Finding) -> Verdict {
    Verdict::fail("the checklist does not match the task", vec![finding])
}

struct Item<'a> {
    line: u32,
    nested: bool,
    checked: bool,
    text: &'a str,
}

impl Item<'_> {
    /// Whether the item starts with the identifier: `2.3` is not that of `2.30`, nor of `2.3.1`.
    fn is_of(&self, id: &str) -> bool {
        let text = self.text.trim_start_matches(['*', '_', '`', '[', '#', ' ']);
        text.strip_prefix(id).is_some_and(|rest| {
            let mut rest = rest.chars();
            match rest.next() {
                None => true,
                Some('.' | '-') => rest.next().is_none_or(|next| !next.is_alphanumeric()),
                Some(next) => !next.is_alphanumeric() && next != '_',
            }
        })
    }
}

fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    let shown = markdown::lines(text)
        .into_iter()
        .filter(|line| !matches!(line.visibility, Visibility::Quoted | Visibility::Hidden));
    shown.filter_map(|Line { number, text: whole, .. }| {
        let line = u32::try_from(number).unwrap_or(u32::MAX);
        let start = whole.trim_start();
        let nested = whole.len() - start.len() > 1;
        let digits = start.trim_start_matches(|mark: char| mark.is_ascii_digit());
        let rest = match start.strip_prefix(['-', '*', '+']) {
            Some(rest) => rest,
            None if digits.len() < start.len() => digits.strip_prefix(['.', ')'])?,
            None => return None,
        };
        let boxed = rest.strip_prefix([' ', '\t'])?.trim_start().strip_prefix('[')?;
        let (checked, text) = match boxed.strip_prefix(['x', 'X']) {
            Some(text) => (true, text),
            None => (false, boxed.strip_prefix(' ')?),
        };
        let text = text.strip_prefix(']').filter(|text| text.is_empty() || text.starts_with([' ', '\t']))?;
        Some(Item { line, nested, checked, text: text.trim() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehost_sdk::{Status, SubmissionVerifier};

    const LIST: &str = "# Tasks\n\n- [x] 1.1 First\n  - [x] a part\n- [X] **1.2** Second\n\n```\n- [x] 9.9 Example\n```\n\n\
                        * [ ] 2.1 Third\n1. [ ] 2.10 Fourth\n- [link](x) 5.5\n- [y] 6.6\n";

    fn task(id: &str, index: Option<u32>) -> Task {
        Task { id: id.to_owned(), index, ..Task::default() }
    }

    fn outcome(task: Option<&Task>, list: Result<Vec<u8>, Error>, settings: &str) -> (Status, Vec<String>) {
        let settings: Settings = serde_json::from_str(settings).expect("settings");
        let verdict = judge(task, list, &settings);
        assert_eq!(<TheVerifier as SubmissionVerifier>::ABOUT.undeclared(&verdict), [""; 0]);
        (verdict.status, verdict.findings.into_iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn the_list_must_agree_with_the_task() {
        use Status::{Abstain, Fail, Pass};
        for (id, index, settings, status, codes) in [
            ("1.2", Some(1), "{}", Pass, &[][..]),
            ("", Some(1), "{}", Pass, &[]),
            ("1.2", None, "{}", Pass, &[]),
            ("7.7", Some(1), "{}", Pass, &[]),
            ("2.1", Some(2), "{}", Fail, &["task-not-checked", "wrong-count"]),
            ("2.1", None, "{}", Fail, &["task-not-checked"]),
            ("1.1", Some(0), "{}", Fail, &["wrong-count"]),
            ("1.1", Some(0), r#"{"count": "at-least"}"#, Pass, &[]),
            ("1.1", Some(2), r#"{"count": "at-least"}"#, Fail, &["wrong-count"]),
            ("1.1", Some(7), r#"{"count": "any"}"#, Pass, &[]),
            ("1.1", Some(2), r#"{"nested": true}"#, Pass, &[]),
            ("2", None, "{}", Abstain, &[]),
            ("9.9", None, "{}", Abstain, &[]),
            ("5.5", None, "{}", Abstain, &[]),
            ("", None, "{}", Abstain, &[]),
            ("1.2", Some(u32::MAX), "{}", Fail, &["wrong-count"]),
        ] {
            let codes: Vec<String> = codes.iter().map(|&code| code.to_owned()).collect();
            let found = outcome(Some(&task(id, index)), Ok(LIST.into()), settings);
            assert_eq!(found, (status, codes), "{id} {index:?} {settings}");
        }
    }

    #[test]
    fn every_item_of_the_task_must_be_checked_and_comments_are_none() {
        for (list, id, index, codes) in [
            ("- [x] 1 a\n\n## Phase 2\n\n- [ ] 1 b\n", "1", None, &["task-not-checked"][..]),
            ("- [ ] 1 a\n- [ ] 1 b\n", "1", None, &["task-not-checked", "task-not-checked"]),
            ("<!--\n- [x] 1.1 done\n-->\n- [ ] 1.1 real\n", "1.1", Some(0), &["task-not-checked", "wrong-count"]),
            ("<!-- old -->\n- [x] 1.1 real\n", "1.1", Some(0), &[]),
            ("\u{FEFF}- [x] 1.1 a\n", "1.1", Some(0), &[]),
            ("- [x] 1.1 a\r- [ ] 1.2 b\r", "1.2", Some(1), &["task-not-checked", "wrong-count"]),
        ] {
            assert_eq!(outcome(Some(&task(id, index)), Ok(list.into()), "{}").1, codes, "{list:?}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_never_passes() {
        let task = task("1.1", Some(0));
        assert_eq!(outcome(Some(&task), Err(Error::NotFound), "{}").1, ["no-checklist"]);
        assert_eq!(outcome(Some(&task), Ok(b"- [x] \xFF".to_vec()), "{}").1, ["not-text"]);
        assert_eq!(outcome(Some(&task), Ok(Vec::new()), "{}").1, ["wrong-count"]);
        assert_eq!(outcome(Some(&task), Err(Error::TooLarge(1 << 40)), "{}").0, Status::Abstain);
        assert_eq!(outcome(Some(&task), Err(Error::BadPath), "{}").0, Status::Abstain);
        assert_eq!(outcome(None, Ok(LIST.into()), "{}").0, Status::Abstain);
    }
}
