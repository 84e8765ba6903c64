//! Sorts the findings of reviewers: fix tasks for the executor, and findings that the executor cannot fix.

use crate::outcome::{Node, NodeKind, Outcome};
use crate::record::Record;
use crate::submission::Task;
use crate::taskplan::{ReviewFinding, fix_task};
use crate::text::clean_line;
use crate::verdict::{Category, Class, Finding, Level};

/// The most fix tasks of one review.
const MAX_TASKS: usize = 5;
/// The most findings that are listed.
const MAX_LISTED: usize = 50;

/// Returns the findings because of which a gate did not pass.
fn faults(record: &Record) -> impl Iterator<Item = (&Node, &Finding)> {
    let failed =
        record.checks().filter(|node| !node.shadow && matches!(node.outcome, Outcome::Fail | Outcome::Abstain));
    failed.flat_map(|node| {
        let findings = node.verdict.iter().flat_map(|verdict| &verdict.findings);
        findings.filter(|finding| finding.level == Level::Error).map(move |finding| (node, finding))
    })
}

/// Returns the findings that the work cannot fix, if there are no others: nothing is left for the executor to do.
pub(super) fn suggestions(record: &Record) -> Vec<String> {
    let all_found = record
        .checks()
        .filter(|node| !node.shadow && matches!(node.outcome, Outcome::Fail | Outcome::Abstain | Outcome::Error))
        .all(|node| faults(record).any(|(other, _)| std::ptr::eq(node, other)));
    if !all_found || faults(record).any(|(_, finding)| finding.category == Category::Work) {
        return Vec::new();
    }
    faults(record).take(MAX_LISTED).map(|(_, finding)| line(finding)).collect()
}

/// Returns everything because of which a gate did not pass, one line each.
pub(super) fn outstanding(record: &Record) -> Vec<String> {
    faults(record).take(MAX_LISTED).map(|(_, finding)| line(finding)).collect()
}

/// Returns tasks that fix the findings of a reviewer, numbered from `first`.
pub(super) fn fix_tasks(task: Option<&Task>, record: &Record, first: u32) -> Vec<String> {
    let Some(task) = task.filter(|task| !task.id.is_empty()) else { return Vec::new() };
    let rejected = |node: &Node| node.class == Some(Class::ReviewRejection);
    let found = faults(record).filter(|(node, finding)| rejected(node) && finding.category == Category::Work);
    let tasks = (first..).zip(found.take(MAX_TASKS));
    tasks
        .map(|(number, (_, finding))| {
            fix_task(task, number, ReviewFinding { summary: &finding.message, finding: &line(finding) })
        })
        .collect()
}

/// Returns the reviews of a run, and whether each passed.
pub(super) fn reviews(record: &Record) -> Vec<(&Node, bool)> {
    let is_review = |node: &&Node| {
        let name = node.verifier.as_ref().map_or("", |verifier| verifier.name.as_str());
        node.kind == NodeKind::Check
            && !node.shadow
            && (name.starts_with("review-") || !node.models.is_empty() || node.class == Some(Class::ReviewRejection))
    };
    let ran = record.gate.walk().filter(is_review);
    ran.filter(|node| node.outcome.status().is_some()).map(|node| (node, node.outcome == Outcome::Pass)).collect()
}

/// Returns the next task for which a skipped review will run.
pub(super) fn next_review(record: &Record) -> Option<u32> {
    record.gate.walk().filter(|node| node.outcome == Outcome::Skipped).filter_map(|node| node.next_due).min()
}

/// Returns a finding in one line.
pub(super) fn line(finding: &Finding) -> String {
    let place = finding.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let hint = finding.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    clean_line(&format!("{place}{}{hint}", finding.message), 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Status, Verdict};

    fn record(outcome: Outcome, findings: &[(Category, &str)]) -> Record {
        let finding = |(category, message): &(Category, &str)| Finding {
            category: *category,
            ..Finding::new("code", Level::Error, *message)
        };
        let verdict = Verdict { findings: findings.iter().map(finding).collect(), ..Verdict::of(Status::Fail) };
        let review = Node {
            verdict: Some(verdict),
            class: Some(Class::ReviewRejection),
            ..Node::new("review", NodeKind::Check, outcome)
        };
        Record::of(Node { children: vec![review], ..Node::new("g", NodeKind::All, outcome) })
    }

    #[test]
    fn what_the_work_cannot_repair_is_a_suggestion_only_where_it_is_alone() {
        let (work, spec, manual) = ((Category::Work, "w"), (Category::Specification, "s"), (Category::Manual, "m"));
        for (findings, expected) in [
            (vec![spec], vec!["s"]),
            (vec![spec, manual], vec!["s", "m"]),
            (vec![spec, work], vec![]),
            (vec![work], vec![]),
            // It failed without a word: nobody knows that it is not the work.
            (vec![], vec![]),
        ] {
            assert_eq!(suggestions(&record(Outcome::Fail, &findings)), expected, "{findings:?}");
        }
        assert!(suggestions(&record(Outcome::Error, &[spec])).is_empty());
    }

    #[test]
    fn each_rejected_finding_is_a_task() {
        let task = Task { id: "1.2".to_owned(), ..Task::default() };
        let record =
            record(Outcome::Fail, &[(Category::Work, "a"), (Category::Specification, "s"), (Category::Work, "b")]);
        let tasks = fix_tasks(Some(&task), &record, 3);
        assert_eq!(tasks.len(), 2);
        assert!(
            tasks[0].starts_with("- [ ] 1.2.3 [FIX 1.2] Fix: a\n")
                && tasks[1].starts_with("- [ ] 1.2.4 [FIX 1.2] Fix: b\n")
        );
        assert!(fix_tasks(None, &record, 1).is_empty());
    }
}
