//! `gate check-plan`: finds mistakes in a plan before anybody follows it.

use crate::args::{Global, OutputFormat};
use crate::error::{Error, Make as _};
use crate::{Exit, terminal};
use anyhow::{Context, anyhow};
use clap::Args;
use gatehost::taskplan::{self, PlannedTask};
use gatehost::text::{clean_line, write_json};
use gatehost::verdict::Level;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a Markdown file of task blocks (`- [ ] 1.1 TITLE` with **Files**, **Done when**, **Verify**, **Commit** and \
**Depends on** below it) or of tags (`<task id=\"1\">` with <name>, <files>, <verify>, <done>, <depends>). Vague \
criteria, commands that cannot fail, duplicate ids and cyclic dependencies are errors: exit code 1.

Example:
  gate check-plan tasks.md")]
pub(crate) struct CheckPlanArgs {
    /// The plan
    pub(crate) file: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

pub(crate) fn run(global: &Global, command: &CheckPlanArgs) -> Result<Exit, Error> {
    let tasks = read(global, &command.file)?;
    let problems = taskplan::check(&tasks, |path| global.directory.join(path).symlink_metadata().is_ok());
    let name = clean_line(&command.file.display().to_string(), 1_000);
    let mut out = terminal::stdout();
    if command.format == OutputFormat::Json {
        let problem = |problem: &taskplan::PlanProblem| {
            serde_json::json!({
                "line": problem.line, "task": problem.task, "level": problem.level.to_string(),
                "code": problem.code, "message": problem.message,
            })
        };
        let document = serde_json::json!({
            "version": 1, "tasks": tasks.len(), "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        });
        write_json(&mut out, &document)?;
    } else {
        terminal::noted(&mut out, |out| {
            for problem in &problems {
                let (line, level, code) = (problem.line, problem.level, problem.code);
                let (task, message) = (clean_line(&problem.task, 60), &problem.message);
                writeln!(out, "{name}:{line}: {level} [{code}] task {task}: {message}")?;
            }
            let (tasks, problems) = (tasks.len(), problems.len());
            writeln!(out, "{name}: {}, {}", terminal::count(tasks, "task"), terminal::count(problems, "problem"))
        })?;
    }
    out.flush()?;
    let failed = problems.iter().any(|problem| problem.level == Level::Error);
    Ok(if failed { Exit::Fail } else { Exit::Pass })
}

/// Reads the tasks of a plan. A plan without tasks is an error, because otherwise a misspelt plan would look correct.
pub(crate) fn read(global: &Global, path: &Path) -> Result<Vec<PlannedTask>, Error> {
    let name = path.display();
    let mut text = String::new();
    let read = File::open(global.directory.join(path))
        .and_then(|file| file.take(taskplan::MAX_BYTES).read_to_string(&mut text));
    read.with_context(|| format!("cannot read the plan `{name}`")).map_err(Error::mistake)?;
    let tasks = taskplan::parse(&text);
    if tasks.is_empty() {
        let none = anyhow!("the plan `{name}` has no task");
        let hint = "a task begins as `- [ ] 1.1 TITLE`, or is in `<task id=\"1\">…</task>`";
        return Err(Error::mistake(none).hint(hint.to_owned()));
    }
    Ok(tasks)
}
