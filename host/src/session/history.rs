//! Applies the history of a task to a submission. The ledger outranks what the submission says, because the executor may
//! have written it.

use crate::error::Error;
use crate::ledger::history::{self, TaskHistory};
use crate::ledger::{Ledger, Project};
use crate::record::TaskRecord;
use crate::submission::{ReviewRound, Submission, Task, TaskSource};

/// How many reviews a task may take by default.
const REVIEWS: u32 = 3;

/// Refuses to run while the project is halted and waits for a person.
pub(super) fn refuse_while_halted(ledger: &dyn Ledger, project: &Project) -> Result<(), Error> {
    let Some(halted) = history::halted(ledger, project)? else { return Ok(()) };
    let why = format!("the project has been halted since entry {}: {}", halted.entry.seq, halted.escalation.why);
    let hint = "decide with `gate resume --retry`, `--skip` or `--investigate`";
    Err(Error::host(why).hint(hint.to_owned()))
}

/// Fills in what the ledger knows about the task: its place in the plan, the attempt number, the review number and earlier
/// findings.
///
/// A submission may contain these fields, but `gate` refuses one that contradicts the ledger. The number of an attempt or a
/// review must be that of the next one, or of the last one, which may be checked again.
pub(super) fn apply(ledger: &dyn Ledger, project: &Project, submission: &mut Submission) -> Result<(), Error> {
    let Some(task) = submission.task.as_mut().filter(|task| !task.id.is_empty()) else { return Ok(()) };
    let history = TaskHistory::read(ledger, project, &task.id)?;
    if history.runs.is_empty() {
        return Ok(());
    }
    let before: Vec<&TaskRecord> = history.records().filter_map(|record| record.task.as_ref()).collect();
    place(&before, task)?;
    let known = history.attempts();
    match submission.attempt {
        0 => submission.attempt = known.saturating_add(1),
        attempt if attempt == known.max(1) || attempt == known + 1 => {}
        attempt => {
            let what = format!("attempt {attempt} of the task `{}`, but the ledger has {known}", task.id);
            return Err(mismatch(&what));
        }
    }
    let reviews = history.reviews();
    match submission.review {
        Some(round) if round.number == reviews.max(1) || round.number == reviews + 1 => {}
        Some(round) => {
            let what = format!("review {} of the task `{}`, but the ledger has {reviews}", round.number, task.id);
            return Err(mismatch(&what));
        }
        None if reviews > 0 => {
            let allowed = submission.attempts_allowed.unwrap_or(REVIEWS).max(reviews + 1);
            submission.review = Some(ReviewRound { number: reviews + 1, allowed });
        }
        None => {}
    }
    if history.records().next().is_some() {
        submission.prior_findings = history.prior_findings();
    }
    Ok(())
}

/// Checks that a task keeps its place in the plan between attempts. Fields that the submission leaves out are filled in.
fn place(before: &[&TaskRecord], task: &mut Task) -> Result<(), Error> {
    let last = |part: fn(&TaskRecord) -> Option<String>| before.iter().rev().find_map(|task| part(task));
    for (what, known, now) in [
        ("the phase", last(|task| task.phase.clone()), &mut task.phase),
        ("the previous phase", last(|task| task.previous_phase.clone()), &mut task.previous_phase),
        ("the group", last(|task| task.group.clone()), &mut task.group),
    ] {
        agree(what, known, now)?;
    }
    let mut index = task.index.map(|index| index.to_string());
    agree("the position", last(|task| task.index.map(|index| index.to_string())), &mut index)?;
    task.index = index.and_then(|index| index.parse().ok());
    Ok(())
}

fn agree(what: &str, known: Option<String>, now: &mut Option<String>) -> Result<(), Error> {
    match (known, now) {
        (Some(known), Some(now)) if known != *now => {
            Err(mismatch(&format!("{what} `{now}`, but the ledger has `{known}`")))
        }
        (Some(known), now @ None) => {
            *now = Some(known);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether a predecessor of this task has no pass: the task before it in the plan, or a task that it depends on.
/// Fills in the phase of the former, or compares it with the submission.
pub(super) fn predecessor_unpassed(
    ledger: &dyn Ledger,
    project: &Project,
    submission: &mut Submission,
) -> Result<bool, Error> {
    let Some(task) = submission.task.as_mut() else { return Ok(false) };
    let mut unpassed = !unpassed(ledger, project, &task.depends_on)?.is_empty();
    if let Some(before) = task.index.and_then(|index| index.checked_sub(1)) {
        match history::passed_at(ledger, project, before)? {
            None => unpassed = true,
            // A plan that the caller vouches for needs no check against the ledger.
            Some(before) if task.source == TaskSource::Author => {
                agree("the previous phase", before.phase, &mut task.previous_phase)?;
            }
            Some(_) => {}
        }
    }
    Ok(unpassed)
}

/// Returns those of these tasks that have no pass.
pub(super) fn unpassed(ledger: &dyn Ledger, project: &Project, tasks: &[String]) -> Result<Vec<String>, Error> {
    let mut unpassed = Vec::new();
    for task in tasks {
        if !history::has_passed(ledger, project, task)? {
            unpassed.push(task.clone());
        }
    }
    Ok(unpassed)
}

fn mismatch(what: &str) -> Error {
    Error::host(format_args!("the submission says {} (task.mismatch)", crate::text::clean_line(what, 500))).hint(
        "remove these fields from the submission, or give the task another `id`; `gate log --task ID` shows its runs"
            .to_owned(),
    )
}
