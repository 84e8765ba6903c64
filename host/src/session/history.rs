//! The host keeps the history, not the executor: what the ledger knows about a task outranks what a submission says.

use crate::error::Error;
use crate::ledger::history::{self, TaskHistory};
use crate::ledger::{Ledger, Project};
use crate::record::TaskRecord;
use crate::submission::Submission;

/// Refuses to run while a person is waited for.
pub(super) fn refuse_while_halted(ledger: &dyn Ledger, project: &Project) -> Result<(), Error> {
    let Some(halted) = history::halted(ledger, project)? else { return Ok(()) };
    let why = format!("the project has been halted since entry {}: {}", halted.entry.seq, halted.escalation.why);
    let hint = "decide with `gate resume --retry`, `--skip` or `--investigate`";
    Err(Error::host(why).hint(hint.to_owned()))
}

/// Fills in what the ledger knows about the task: the attempt, and what was found wanting before.
///
/// A submission may say the number of the attempt itself. It must be that of the next one, or of the last one, which may be
/// judged again; anything else contradicts the ledger.
pub(super) fn apply(ledger: &dyn Ledger, project: &Project, said: &mut Submission) -> Result<(), Error> {
    let Some(task) = said.task.as_ref().filter(|task| !task.id.is_empty()) else { return Ok(()) };
    let history = TaskHistory::read(ledger, project, &task.id)?;
    if history.runs.is_empty() {
        return Ok(());
    }
    let known = history.attempts();
    match said.attempt {
        0 => said.attempt = known.saturating_add(1),
        attempt if attempt == known.max(1) || attempt == known + 1 => {}
        attempt => {
            let what = format!("attempt {attempt} of the task `{}`, but the ledger has {known}", task.id);
            return Err(mismatch(&what));
        }
    }
    let before: Vec<&TaskRecord> = history.records().filter_map(|record| record.task.as_ref()).collect();
    same(&before, &TaskRecord::from(task))?;
    if history.records().next().is_some() {
        said.prior_findings = history.prior_findings();
    }
    Ok(())
}

/// A task does not move within its plan between attempts.
fn same(before: &[&TaskRecord], now: &TaskRecord) -> Result<(), Error> {
    type Part = fn(&TaskRecord) -> Option<String>;
    let parts: [(&str, Part); 3] = [
        ("the position", |task| task.index.map(|index| index.to_string())),
        ("the phase", |task| task.phase.clone()),
        ("the group", |task| task.group.clone()),
    ];
    for (what, part) in parts {
        let before = before.iter().rev().find_map(|task| part(task));
        if let (Some(before), Some(now)) = (before, part(now))
            && before != now
        {
            return Err(mismatch(&format!("{what} `{now}`, but the ledger has `{before}`")));
        }
    }
    Ok(())
}

fn mismatch(what: &str) -> Error {
    Error::host(format_args!("the submission says {} (task.mismatch)", crate::text::clean_line(what, 500))).hint(
        "remove these fields from the submission, or give the task another `id`; `gate log --task ID` shows its runs"
            .to_owned(),
    )
}
