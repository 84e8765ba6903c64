//! Writes into the work itself: fix tasks, the progress file, the commit.

use super::attempt::Done;
use super::record::{LoopEnd, LoopRecord, State};
use super::{Driver, commit, progress, review};
use crate::error::Error;
use crate::taskplan;
use crate::text;
use crate::verdict::Status;
use std::fs;
use std::io::Write;
use std::path::Path;

impl Driver<'_> {
    /// Returns tasks that fix the findings of a reviewer. Also inserts them into the plan that the caller names.
    pub(super) fn fix_tasks(&self, record: &LoopRecord, done: &Done) -> Result<Vec<String>, Error> {
        let (Some(task), Some(judged)) = (&self.request.submission.task, &done.record) else { return Ok(Vec::new()) };
        let earlier = record.attempts.iter().map(|attempt| attempt.fix_tasks.len()).sum::<usize>();
        let earlier = u32::try_from(earlier).unwrap_or(u32::MAX);
        let Some(file) = self.wanted.insert_fix_tasks.as_ref().map(|file| self.request.folder.join(file)) else {
            return Ok(review::fix_tasks(Some(task), judged, earlier.saturating_add(1)));
        };
        let cannot = |error| Error::host(format_args!("cannot insert tasks into `{}`", file.display())).because(error);
        let plan = fs::read_to_string(&file).map_err(cannot)?;
        let first = taskplan::fix_tasks(&plan, &task.id).max(earlier).saturating_add(1);
        let tasks = review::fix_tasks(Some(task), judged, first);
        if tasks.is_empty() {
            return Ok(tasks);
        }
        let Some(plan) = taskplan::insert(&plan, &task.id, &tasks.concat()) else {
            let id = text::clean_line(&task.id, 60);
            return Err(Error::usage(format_args!("`{}` has no Markdown block of the task `{id}`", file.display())));
        };
        // As a whole or not at all.
        let folder = file.parent().unwrap_or(Path::new("."));
        let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
        temporary.write_all(plan.as_bytes()).map_err(cannot)?;
        if let Ok(about) = fs::metadata(&file) {
            fs::set_permissions(temporary.path(), about.permissions()).map_err(cannot)?;
        }
        temporary.persist(&file).map_err(|error| cannot(error.error))?;
        Ok(tasks)
    }

    /// Appends the reviews of an attempt to the progress file, if one is configured.
    pub(super) fn append_progress(&self, done: &Done, ended: Option<&LoopEnd>) -> Result<(), Error> {
        let (Some(file), Some(judged)) = (self.progress_file(), &done.record) else { return Ok(()) };
        let task = self.request.submission.task.as_ref();
        let index = task.and_then(|task| task.index).map(|index| index.to_string());
        let task = index.or_else(|| task.map(|task| task.id.clone())).unwrap_or_else(|| "-".to_owned());
        let action = match ended {
            _ if judged.status == Status::Pass => "proceeded",
            Some(LoopEnd { state: State::Completed, .. }) => "warnings appended, proceeded",
            Some(_) => "stopped",
            None if done.summary.fix_tasks.is_empty() => "sent back",
            None => "fix task added",
        };
        progress::review(&file, &task, done.summary.review.max(1), judged, action)?;
        match ended {
            Some(ended) if !done.suggestions.is_empty() || !ended.warnings.is_empty() => {
                let told = if ended.warnings.is_empty() { &done.suggestions } else { &ended.warnings };
                progress::suggestions(&file, told)
            }
            _ => Ok(()),
        }
    }

    /// Commits the work under the message of its task.
    pub(super) fn commit(&self, record: &LoopRecord) -> Result<String, Error> {
        let task = self.request.submission.task.as_ref();
        let title = task.map(|task| text::clean_line(&task.title, 200)).filter(|title| !title.is_empty());
        let message = task.and_then(|task| task.commit.clone()).or(title);
        let message = message.unwrap_or_else(|| format!("Work that passed the gate {}", record.gate));
        let judged = record.record.as_ref();
        let run = judged.map(|record| record.run.as_str()).unwrap_or_default();
        let weak = if judged.is_some_and(|record| !record.marks.is_empty()) { "Gate-Marks: weak\n" } else { "" };
        let message = format!("{}\n\nGate-Run: {run}\n{weak}", message.trim());
        // The work must be unchanged since the check, except for files that the loop wrote.
        let there =
            crate::session::digest_of(&self.request.folder, &self.request.selection, &self.request.environment)?.0;
        let own = self.own_files();
        if own.is_empty() && there != judged.and_then(|record| record.tree.clone()) {
            return Err(Error::host("the work changed after it was checked, so it was not committed"));
        }
        let tree = self.tree().ok_or_else(|| Error::host("the work can no longer be read"))?;
        let commit = commit::commit(&self.request, self.base(), &tree, &message, &own)?;
        self.entries.commit(&commit)?;
        Ok(commit)
    }
}
