//! Decides whether a member is due: for this task, at this tier, with these files.
//!
//! If a condition cannot be evaluated, the member runs.

use crate::config::{FileSet, When};
use crate::outcome::SkipReason;
use crate::submission::{Submission, Task, TaskSource};
use std::collections::BTreeSet;
use tokio::time::Instant;

/// What is known about the task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Its position in the plan, from 0.
    pub index: Option<u32>,
    /// How many tasks the plan has.
    pub total: Option<u32>,
    /// Its phase.
    pub phase: Option<String>,
    /// The phase of the task before it.
    pub previous_phase: Option<String>,
    /// The highest tier that the task asks for.
    pub tier: Option<u32>,
    /// The positions of later tasks that start a phase, if the plan is known.
    pub boundaries: Vec<u32>,
    /// Whether a task before this one has no pass in the ledger. Then nothing is skipped.
    pub predecessor_unpassed: bool,
    /// Whether the caller vouches for these facts, not only the author of the change.
    pub is_vouched_for: bool,
}

impl From<&Task> for TaskFacts {
    fn from(task: &Task) -> Self {
        Self {
            index: task.index,
            total: task.total,
            phase: task.phase.clone(),
            previous_phase: task.previous_phase.clone(),
            tier: task.tier,
            boundaries: task.boundaries.clone(),
            predecessor_unpassed: false,
            is_vouched_for: task.source != TaskSource::Author,
        }
    }
}

/// The circumstances of a run that decide which members run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// What is known about the task.
    pub facts: TaskFacts,
    /// The changed paths, if they are known.
    pub changed: Option<Vec<String>>,
    /// Whether the members of `all` run one after the other, and none after the first that fails.
    pub fail_fast: bool,
    /// The checks that the caller excluded, by name.
    pub left_out: BTreeSet<String>,
    /// Whether the caller knows that nothing was done. Then the gate does not pass, unless `on_nothing` allows it.
    pub nothing_done: bool,
    /// Whether there is an evaluator's answer that only the author of the change vouches for.
    pub evaluator_by_author: bool,
    /// When the gate must end; unset, the deadline of the plan counts from the start of the gate.
    pub deadline: Option<Instant>,
}

impl Circumstances {
    /// Returns the circumstances of a submission. If it names no change, the changed paths are unknown.
    pub fn of(submission: &Submission) -> Self {
        let changes = submission.changes.iter();
        let paths = changes.flat_map(|change| [Some(&change.path), change.old_path.as_ref()]).flatten().cloned();
        Self {
            facts: submission.task.as_ref().map(TaskFacts::from).unwrap_or_default(),
            changed: (!submission.changes.is_empty()).then(|| paths.collect()),
            fail_fast: false,
            left_out: BTreeSet::new(),
            nothing_done: false,
            evaluator_by_author: submission.evaluator.as_ref().is_some_and(|said| said.source == TaskSource::Author),
            deadline: None,
        }
    }
}

/// Why a member is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipCause {
    /// The reason as a word; `None` if an earlier member made this one superfluous.
    pub word: Option<SkipReason>,
    /// The reason in words.
    pub reason: String,
    /// The index of the next task for which the member will run, if it is known.
    pub next_due: Option<u32>,
}

impl SkipCause {
    pub(super) fn new(word: SkipReason, reason: impl Into<String>) -> Self {
        Self { word: Some(word), reason: reason.into(), next_due: None }
    }

    /// Returns the cause for a member that was not reached.
    pub(super) fn unreached() -> Self {
        Self { word: None, reason: String::new(), next_due: None }
    }
}

/// Returns a cause if this tier is above the tier that the task asks for.
pub fn above_tier(tier: Option<u32>, facts: &TaskFacts) -> Option<SkipCause> {
    let (tier, asked) = tier.zip(facts.tier)?;
    let word = if facts.is_vouched_for { SkipReason::AboveTier } else { SkipReason::AboveTierByAuthor };
    (asked < tier).then(|| SkipCause::new(word, format!("tier {tier}; the task asks for tier {asked} only")))
}

/// Returns a cause if none of these conditions holds for the task.
pub fn not_due(when: &[When], facts: &TaskFacts) -> Option<SkipCause> {
    // All conditions can be evaluated, and none holds.
    let holds = |when: &When| match when {
        When::PhaseBoundary => facts.phase.as_ref().zip(facts.previous_phase.as_ref()).map(|(now, then)| now != then),
        When::Every(n) => facts.index.map(|index| index.checked_rem(*n).is_none_or(|rest| rest == 0)),
        When::Final => facts.index.zip(facts.total).map(|(index, total)| index >= total.saturating_sub(1)),
    };
    if when.is_empty() || facts.predecessor_unpassed || when.iter().any(|when| holds(when) != Some(false)) {
        return None;
    }
    let next_due = facts.index.and_then(|index| when.iter().filter_map(|when| next(*when, index, facts)).min());
    let reason = next_due.map_or_else(|| "not due for this task".to_owned(), |next| format!("next at task {next}"));
    let word = if facts.is_vouched_for { SkipReason::NotDue } else { SkipReason::NotDueByAuthor };
    Some(SkipCause { word: Some(word), reason, next_due })
}

/// Returns the index of the first task after `index` for which the condition is known to hold.
fn next(when: When, index: u32, facts: &TaskFacts) -> Option<u32> {
    let total = facts.total;
    let later = match when {
        When::PhaseBoundary => facts.boundaries.iter().copied().filter(|later| *later > index).min(),
        When::Every(n) => index.checked_div(n)?.checked_add(1)?.checked_mul(n),
        When::Final => total?.checked_sub(1).filter(|last| *last > index),
    };
    later.filter(|later| total.is_none_or(|total| *later < total))
}

/// Returns a cause if no changed file matches. If the time is over before that is known, there is none.
pub fn not_touched(
    files: &[String],
    exclude: &[String],
    changed: Option<&[String]>,
    is_late: impl Fn() -> bool,
) -> Option<SkipCause> {
    let changed = changed.filter(|_| !(files.is_empty() && exclude.is_empty()))?;
    // Invalid patterns match everything; the configuration has refused them already.
    let set = FileSet::new(files, exclude).ok()?;
    (!changed.iter().any(|path| is_late() || set.contains(path)))
        .then(|| SkipCause::new(SkipReason::NoChangedFile, "no changed file matches"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use When::{Every, Final, PhaseBoundary};

    fn facts(index: Option<u32>, total: Option<u32>, phases: Option<(&str, &str)>) -> TaskFacts {
        let phase = |phase: &str| phase.to_owned();
        TaskFacts {
            index,
            total,
            previous_phase: phases.map(|(then, _)| phase(then)),
            phase: phases.map(|(_, now)| phase(now)),
            is_vouched_for: true,
            ..TaskFacts::default()
        }
    }

    #[test]
    fn any_condition_makes_it_run_and_otherwise_the_next_is_told() {
        let same = Some(("1", "1"));
        let seed = vec![PhaseBoundary, Every(5), Final];
        for (when, facts, expected) in [
            (seed.clone(), facts(Some(0), Some(12), same), None),
            (seed.clone(), facts(Some(3), Some(12), same), Some(Some(5))),
            (seed.clone(), facts(Some(3), Some(12), Some(("1", "2"))), None),
            (seed.clone(), facts(Some(5), Some(12), same), None),
            (seed.clone(), facts(Some(10), Some(12), same), None),
            (seed.clone(), facts(Some(11), Some(12), same), None),
            (seed.clone(), facts(Some(6), Some(9), same), Some(Some(8))),
            (seed, facts(Some(15), Some(12), same), None),
            (vec![Every(5)], facts(Some(6), Some(9), None), Some(None)),
            (vec![Every(5)], facts(Some(6), None, None), Some(Some(10))),
            (vec![Every(1)], facts(Some(6), None, None), None),
            (vec![Final], facts(Some(6), Some(9), None), Some(Some(8))),
            (vec![Final], facts(Some(8), Some(9), None), None),
            (vec![Final], facts(Some(0), Some(0), None), None),
            (vec![PhaseBoundary], facts(Some(6), Some(9), same), Some(None)),
            (vec![Every(u32::MAX)], facts(Some(u32::MAX - 1), None, None), Some(Some(u32::MAX))),
            (vec![Every(3)], facts(Some(u32::MAX - 1), None, None), Some(Some(u32::MAX))),
            (vec![Every(7)], facts(Some(u32::MAX - 1), None, None), Some(None)),
            (vec![], facts(Some(6), Some(9), same), None),
        ] {
            assert_eq!(not_due(&when, &facts).map(|skip| skip.next_due), expected, "{when:?} {facts:?}");
        }
        let known = TaskFacts { boundaries: vec![2, 7, 9], ..facts(Some(3), Some(12), same) };
        assert_eq!(not_due(&[PhaseBoundary], &known).and_then(|skip| skip.next_due), Some(7));
        assert_eq!(not_due(&[PhaseBoundary, Every(5)], &known).and_then(|skip| skip.next_due), Some(5));
        let unpassed = TaskFacts { predecessor_unpassed: true, ..known };
        assert_eq!(not_due(&[PhaseBoundary, Every(5)], &unpassed), None, "the task before it has no pass");
        let skip = not_due(&[Every(5)], &facts(Some(6), None, None)).expect("skipped");
        assert_eq!(skip.reason, "next at task 10");
    }

    #[test]
    fn a_missing_fact_never_skips() {
        for (when, facts) in [
            (PhaseBoundary, facts(Some(3), Some(9), None)),
            (Every(5), facts(None, Some(9), Some(("1", "1")))),
            (Final, facts(None, Some(9), Some(("1", "1")))),
            (Final, facts(Some(3), None, Some(("1", "1")))),
        ] {
            assert_eq!(not_due(&[when], &facts), None, "{when:?}");
        }
        assert_eq!(above_tier(Some(3), &TaskFacts::default()), None);
        assert_eq!(not_touched(&["*.rs".to_owned()], &[], None, || false), None);
        assert_eq!(not_touched(&["*.rs".to_owned()], &[], Some(&["a".to_owned()]), || true), None, "not known in time");
        assert_eq!(Circumstances::of(&Submission::default()), Circumstances::default());
    }

    #[test]
    fn a_task_may_ask_for_fewer_tiers() {
        for (tier, asked, skipped) in [(2, 1, true), (2, 2, false), (2, 3, false), (1, 0, true)] {
            let facts = TaskFacts { tier: Some(asked), ..TaskFacts::default() };
            assert_eq!(above_tier(Some(tier), &facts).is_some(), skipped, "{tier} {asked}");
            assert_eq!(above_tier(None, &facts), None);
        }
    }

    #[test]
    fn a_gate_of_files_runs_when_one_of_them_changed() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (files, exclude, changed, skipped) in [
            ("**/*.rs", "", "a.rs b.py", false),
            ("**/*.rs", "", "b.py", true),
            ("**/*.rs", "gen/**", "gen/a.rs", true),
            ("", "gen/**", "gen/a.rs", true),
            ("", "gen/**", "gen/a.rs b", false),
            ("", "", "", false),
            ("**", "", "", true),
        ] {
            let skip = not_touched(&words(files), &words(exclude), Some(&words(changed)), || false);
            assert_eq!(skip.is_some(), skipped, "{files} without {exclude}: {changed}");
        }
    }
}
