//! Writes into the work itself: fix tasks, the progress file, the commit.

use super::attempt::Done;
use super::record::{LoopEnd, LoopRecord, State};
use super::{Driver, commit, progress, review};
use crate::error::Error;
use crate::regular_file::{self, Symlinks};
use crate::taskplan;
use crate::text;
use crate::verdict::Status;
use crate::workspace::{Workspace, WorkspaceError};
use crate::writer::{self, Beneath, Expected, WriteError};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

impl Driver<'_> {
    /// Returns tasks that fix the findings of a reviewer. Also inserts them into the plan that the caller names.
    pub(super) fn fix_tasks(&self, record: &LoopRecord, done: &Done) -> Result<Vec<String>, Error> {
        let (Some(task), Some(judged)) = (&self.request.submission.task, &done.record) else { return Ok(Vec::new()) };
        let earlier = record.attempts.iter().map(|attempt| attempt.fix_tasks.len()).sum::<usize>();
        let earlier = u32::try_from(earlier).unwrap_or(u32::MAX);
        let Some(file) = self.wanted.insert_fix_tasks.as_ref().map(|file| self.request.folder.join(file)) else {
            return Ok(review::fix_tasks(Some(task), judged, earlier.saturating_add(1)));
        };
        let cannot = |error: WriteError| {
            Error::host(format_args!("cannot insert tasks into `{}`", file.display())).because(error)
        };
        let plan = read(&file).map_err(cannot)?;
        let first = taskplan::fix_tasks(&plan, &task.id).max(earlier).saturating_add(1);
        let tasks = review::fix_tasks(Some(task), judged, first);
        if tasks.is_empty() {
            return Ok(tasks);
        }
        let Some(with_tasks) = taskplan::insert(&plan, &task.id, &tasks.concat()) else {
            let id = text::clean_line(&task.id, 60);
            return Err(Error::usage(format_args!("`{}` has no Markdown block of the task `{id}`", file.display())));
        };
        self.write_tasks(&file, &plan, &with_tasks).map_err(cannot)?;
        Ok(tasks)
    }

    /// Replaces the list of tasks. In the work, which the executor writes, a symlink leads to no file outside it.
    fn write_tasks(&self, file: &Path, before: &str, after: &str) -> Result<(), WriteError> {
        let (expected, after) = (Expected::Content(before.as_bytes()), writer::with_line_endings_of(before, after));
        match self.inside_work(file) {
            Some((root, path)) => {
                let path = Workspace::open(&root)?.follow(&path)?;
                Beneath::open(&root)?.replace(&path, expected, after.as_bytes(), writer::PLAIN)
            }
            None => writer::replace(file, expected, after.as_bytes(), writer::PLAIN),
        }
    }

    /// Returns the root of the work, and a path relative to it, for a path that is inside by its name or behind its symlinks.
    fn inside_work(&self, file: &Path) -> Option<(PathBuf, String)> {
        let work = self.request.work_folder().ok()?;
        let named =
            file.strip_prefix(&self.request.folder).map_or_else(|_| file.to_owned(), |inside| work.folder.join(inside));
        let named: PathBuf = named.components().filter(|part| *part != Component::CurDir).collect();
        let real = || Some(file.parent()?.canonicalize().ok()?.join(file.file_name()?));
        let root = work.project();
        let path = [Some(named), real()].into_iter().flatten().find_map(|path| {
            let inside = path.strip_prefix(root).ok()?.to_str()?.to_owned();
            (!inside.split('/').any(|part| part == "..")).then_some(inside)
        });
        Some((root.to_owned(), path?))
    }

    /// Appends the reviews of an attempt to the progress file, if one is configured.
    pub(super) fn append_progress(&self, done: &Done, ended: Option<&LoopEnd>) -> Result<(), Error> {
        let (Some(file), Some(judged)) = (&self.progress_file(), &done.record) else { return Ok(()) };
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
        progress::review(file, &task, done.summary.review.max(1), judged, action)?;
        match ended {
            Some(ended) if !done.suggestions.is_empty() || !ended.warnings.is_empty() => {
                let told = if ended.warnings.is_empty() { &done.suggestions } else { &ended.warnings };
                progress::suggestions(file, told)
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

/// Reads a list of tasks. An executor may have put something else in its place.
fn read(file: &Path) -> Result<String, WriteError> {
    let found = regular_file::open(file, Symlinks::Follow)?;
    let size = found.metadata()?.len();
    if size > taskplan::MAX_BYTES {
        return Err(WorkspaceError::TooLarge(size).into());
    }
    let mut tasks = String::new();
    found.take(taskplan::MAX_BYTES).read_to_string(&mut tasks)?;
    Ok(tasks)
}
