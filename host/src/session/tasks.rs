//! Reads the tasks of a plan from the base commit, so that the author of a change cannot edit the tasks that apply to it.

use super::Request;
use super::configured::settled;
use crate::changes;
use crate::error::Error;
use crate::taskplan::{self, PlannedTask};
use crate::text::clean_line;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the plan of tasks that the configuration of a request names.
pub fn plan_file(request: &Request) -> Result<Option<PathBuf>, Error> {
    let found = settled(request)?;
    // The folder of a configuration that is read from a commit is a copy.
    let folder = found.path.as_deref().and_then(Path::parent).unwrap_or(&request.folder);
    Ok(found.config.plan_file.as_ref().map(|file| folder.join(file)))
}

/// Reads the tasks of a plan from the base: the commit that the selection of the request is relative to. A plan without a
/// task is a mistake: otherwise, a plan in a format that is not understood would look as if everything were done.
pub fn planned_tasks(request: &Request, plan: &Path) -> Result<Vec<PlannedTask>, Error> {
    let shown = clean_line(&plan.display().to_string(), 500);
    let cannot = |error| Error::input(format_args!("cannot read the plan `{shown}`")).because(error);
    let path = request.folder.join(plan);
    let (parent, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name());
    let folder = parent.canonicalize().map_err(cannot)?;
    let no_repository = || {
        Error::usage(format_args!("the plan `{shown}` is not in a git repository"))
            .hint("commit the plan before the work starts".to_owned())
    };
    let root = changes::repository(&folder, &request.environment)?.ok_or_else(no_repository)?;
    let inside = name.map(|name| folder.join(name));
    let inside = inside.as_deref().and_then(|path| path.strip_prefix(&root).ok()).and_then(Path::to_str);
    let inside = inside.ok_or_else(no_repository)?;
    let not_there = || {
        Error::usage(format_args!("the plan `{shown}` is not in the commit that the work is compared with"))
            .hint("commit the plan before the work starts".to_owned())
    };
    let base = changes::base(&root, &request.selection, &request.environment)?.ok_or_else(not_there)?;
    let stored = changes::stored(&root, &base, &BTreeSet::from([inside]), &request.environment)?;
    let file = stored.path().join(inside);
    if !file.symlink_metadata().is_ok_and(|about| about.is_file()) {
        return Err(not_there());
    }
    let mut text = String::new();
    File::open(&file).and_then(|file| file.take(taskplan::MAX_BYTES).read_to_string(&mut text)).map_err(cannot)?;
    let tasks = taskplan::parse(&text);
    if tasks.is_empty() {
        return Err(Error::usage(format_args!("the plan `{shown}` has no task"))
            .hint("a task begins as `- [ ] 1.1 TITLE`, or is in `<task id=\"1\">…</task>`".to_owned()));
    }
    Ok(tasks)
}
