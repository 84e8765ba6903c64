//! The tasks of `gate run` and `gate loop`: one of a plan, several as a batch, all that are open, or a description.

use crate::args::Global;
use crate::error::{Error, Make as _};
use crate::loop_::LoopArgs;
use anyhow::{Context, anyhow};
use gatehost::ledger::Project;
use gatehost::looping::{self, InterruptedLoop};
use gatehost::session::{self, Request};
use gatehost::submission::{Task, TaskSource};
use gatehost::taskplan::{self, PlannedTask};
use gatehost::text::clean_line;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A loop to run.
pub(crate) struct LoopJob {
    pub(crate) task: Option<Task>,
    /// The interrupted loop to continue.
    pub(crate) resume: Option<String>,
}

/// Returns the loops to run, in order, and whether they follow a plan.
pub(crate) fn jobs(
    global: &Global,
    command: &LoopArgs,
    request: &Request,
    resume: Option<&InterruptedLoop>,
) -> Result<(Vec<LoopJob>, bool), Error> {
    let named = command.plan.as_ref().and_then(Option::as_ref);
    let by_plan = command.plan.is_some() || command.batch.is_some();
    let id = resume.map(|resume| resume.id.clone());
    if let Some(wanted) = &command.task {
        let task = task(global, request, wanted, named.map(PathBuf::as_path), by_plan)?;
        return Ok((vec![LoopJob { task: Some(with_tier(task, command)), resume: id }], false));
    }
    if !by_plan {
        let task = command.tier.map(|tier| Task { tier: Some(tier), source: TaskSource::Caller, ..Task::default() });
        return Ok((vec![LoopJob { task, resume: id }], false));
    }
    let plan = match named {
        Some(plan) => plan.clone(),
        None => session::plan_file(request)?.ok_or_else(no_plan)?,
    };
    let planned = session::planned_tasks(request, &plan)?;
    let ledger = request.ledger.open(&request.environment)?;
    let project = Project::of(&request.folder, &request.environment)?;
    let open = looping::open_tasks(ledger.as_deref(), &project, &planned)?;
    if let Some(ids) = &command.batch {
        let members: Vec<&PlannedTask> = match (ids.as_slice(), resume) {
            ([], None) => taskplan::next_batch(&open.iter().collect::<Vec<_>>()),
            ([], Some(resume)) => {
                batch_of(&resume.task.split('+').map(str::to_owned).collect::<Vec<_>>(), &planned, &plan)?
            }
            (ids, _) => batch_of(ids, &planned, &plan)?,
        };
        let task = taskplan::batch(&members).ok_or_else(|| all_done(&plan))?;
        return Ok((vec![LoopJob { task: Some(with_tier(task, command)), resume: id }], false));
    }
    let begun = resume.map(|resume| resume.task.as_str());
    let mut jobs: Vec<LoopJob> = Vec::new();
    let of = |planned: &PlannedTask, resume| LoopJob { task: Some(with_tier(planned.task.clone(), command)), resume };
    jobs.extend(
        planned.iter().filter(|planned| Some(planned.task.id.as_str()) == begun).map(|planned| of(planned, id.clone())),
    );
    jobs.extend(open.iter().filter(|planned| Some(planned.task.id.as_str()) != begun).map(|planned| of(planned, None)));
    if jobs.is_empty() {
        return Err(all_done(&plan));
    }
    Ok((jobs, true))
}

/// Returns the task of `--task`: an id of the plan, a file with a task, or a description. `plan` is the plan that the caller
/// names; by default, that of the configuration. If there is a plan, a single word that is neither an id nor a file is
/// refused: it is most likely a mistake, and such a task would have no criteria.
pub(crate) fn task(
    global: &Global,
    request: &Request,
    wanted: &str,
    plan: Option<&Path>,
    must_be_planned: bool,
) -> Result<Task, Error> {
    let plan = match plan {
        Some(plan) => Some(plan.to_owned()),
        None => session::plan_file(request)?,
    };
    let Some(plan) = plan else {
        return if must_be_planned { Err(no_plan()) } else { described(global, wanted) };
    };
    let is_id = !wanted.trim().contains(char::is_whitespace) && !global.directory.join(wanted).is_file();
    let planned = match session::planned_tasks(request, &plan) {
        Err(error) if must_be_planned || is_id => return Err(error),
        planned => planned.unwrap_or_default(),
    };
    let found: Vec<&PlannedTask> = planned.iter().filter(|planned| planned.task.id == wanted).collect();
    match found.as_slice() {
        [one] => Ok(one.task.clone()),
        [] if !must_be_planned && !is_id => described(global, wanted),
        found => Err(not_one(wanted, found.len(), &planned, &plan)),
    }
}

fn with_tier(task: Task, command: &LoopArgs) -> Task {
    Task { tier: command.tier.or(task.tier), ..task }
}

fn no_plan() -> Error {
    Error::mistake(anyhow!("there is no plan"))
        .hint("name one: `--plan FILE`, or `[plan] file` in gate.toml".to_owned())
}

fn all_done(plan: &Path) -> Error {
    let plan = clean_line(&plan.display().to_string(), 500);
    Error::mistake(anyhow!("every task of the plan `{plan}` is done"))
        .hint("work on one again by its id: `--task ID`".to_owned())
}

fn not_one(id: &str, count: usize, planned: &[PlannedTask], plan: &Path) -> Error {
    let plan = clean_line(&plan.display().to_string(), 500);
    let ids: Vec<&str> = planned.iter().map(|planned| planned.task.id.as_str()).take(50).collect();
    let message = format!("expected one task `{}` in the plan `{plan}`, found {count}", clean_line(id, 60));
    Error::mistake(anyhow!(message)).hint(format!("its tasks are: {}", clean_line(&ids.join(", "), 500)))
}

fn batch_of<'p>(ids: &[String], planned: &'p [PlannedTask], plan: &Path) -> Result<Vec<&'p PlannedTask>, Error> {
    let find = |id: &String| {
        let found: Vec<&PlannedTask> = planned.iter().filter(|planned| planned.task.id == *id).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            found => Err(not_one(id, found.len(), planned, plan)),
        }
    };
    let mut members: Vec<&PlannedTask> = ids.iter().map(find).collect::<Result<_, _>>()?;
    members.sort_by_key(|planned| planned.task.index);
    Ok(members)
}

/// Returns a task from a file of its own, or from a description.
fn described(global: &Global, wanted: &str) -> Result<Task, Error> {
    let path = global.directory.join(wanted);
    let text = if wanted.len() < 1_000 && path.is_file() {
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(taskplan::MAX_BYTES).read_to_string(&mut text));
        read.with_context(|| format!("cannot read the task `{}`", path.display())).map_err(Error::mistake)?;
        text
    } else {
        wanted.to_owned()
    };
    let mut tasks = taskplan::parse(&text);
    let task = match (tasks.pop(), tasks.is_empty()) {
        (Some(only), true) => Task { index: None, total: None, ..only.task },
        _ => Task { description: text, ..Task::default() },
    };
    Ok(Task { source: TaskSource::Caller, ..task })
}
